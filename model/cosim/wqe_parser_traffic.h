// Constrained-random WQEs for the bench of wqe_parser: legal ones of every operation and service,
// each way to be refused, and the corners of both.
#pragma once

#include <cstdint>

#include "common/buffer.h"
#include "common/items.h"
#include "common/random.h"
#include "cosim/bench_parts.h"
#include "cosim/wqe_parser_contexts.h"
#include "gen/wqe.h"

namespace carillon {

class wqe_parser_traffic {
 public:
  wqe_parser_traffic(const wqe_parser_contexts& what, buffer_pool& buffers, std::uint64_t seed,
                     coverage& cover)
      : what_(what), buffers_(buffers), random_(seed, "wqe_parser_bench/wqe"), cover_(cover) {}

  wqe_item make();

 private:
  /// A WQE in the making.
  struct draft {
    wqe_item wqe;
    ctrl_seg control;
    qp_service service = qp_service::Rc;
    std::uint64_t mtu = 0;
    unsigned units = 1;
    bool datagram = false;
    bool writes = false;  ///< its response goes to its data segments

    [[nodiscard]] std::uint8_t* end() const {
      std::uint8_t* const bytes = wqe.bytes.data();
      return bytes + units * SegmentBytes;
    }
  };

  wqe_opcode pick_opcode(qp_service service);
  std::uint32_t pick_key(std::uint32_t qpn);
  [[nodiscard]] std::uint32_t key_value(unsigned index) const;
  std::uint32_t key_to_invalidate(std::uint32_t qpn);

  void add_fixed(draft& of);
  void add_data(draft& of);
  void add_inline(draft& of);
  void add_pointers(draft& of);
  void add_longest(draft& of);
  void add_atomic_data(draft& of);
  std::uint64_t datagram_bytes(const draft& of);
  data_seg good_segment(std::uint32_t qpn);
  void put(draft& of, const data_seg& segment);
  void spoil_segment(const draft& of, data_seg& segment);
  void spoil(draft& of);
  void sign(draft& of);

  const wqe_parser_contexts& what_;
  buffer_pool& buffers_;
  random_stream random_;
  coverage& cover_;
};

}  // namespace carillon
