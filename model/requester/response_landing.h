// Data of READ responses and results of atomics on their way to memory, without time: which bytes
// go where. Packets land in the order in which they came.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/buffer.h"
#include "common/held_history.h"
#include "gen/stages.h"

namespace carillon {

/// A part of a packet for one data segment.
struct landing_part {
  std::uint64_t address = 0;
  std::uint32_t lkey = 0;
  std::uint32_t length = 0;
  std::uint32_t from = 0;  ///< first byte in the packet's payload
};

/// The parts of bytes [offset, offset + length) of a message whose scatter list is `count` mlx5
/// data segments. Appends to `parts`.
void cut_scatter_list(const std::uint8_t* segments, unsigned count, std::uint32_t offset,
                      std::uint32_t length, std::vector<landing_part>& parts);

struct response_landing {
  std::uint32_t qpn = 0;
  std::uint32_t life = 0;  ///< of the QP: after a reset nothing of it lands
  std::uint16_t wqe_index = 0;
  std::uint16_t function = 0;
  std::uint8_t epoch = 0;  ///< of the queue, when it came
  bool last = false;       ///< the WQE has its answer when it has landed
  bool fault = false;      ///< a key does not serve
  unsigned missing = 0;    ///< parts whose address is being looked up
  std::size_t written = 0;
  std::vector<landing_part> parts;   ///< by data segment
  std::vector<landing_part> pieces;  ///< of IOVA space
  buffer_ref bytes;
  std::uint32_t offset = 0;  ///< of the payload in `bytes`
  held_history history;
};

class landing_queue {
 public:
  static constexpr unsigned Slots = stage_spec::requester::Outstanding;

  [[nodiscard]] bool full() const { return count_ == Slots; }

  [[nodiscard]] bool empty() const { return count_ == 0; }

  [[nodiscard]] response_landing& front() { return slots_[head_]; }

  [[nodiscard]] response_landing& slot(std::size_t id) { return slots_[id]; }

  /// The slot of a new last one.
  std::size_t add();

  void pop();

 private:
  std::array<response_landing, Slots> slots_;
  std::size_t head_ = 0;
  std::size_t count_ = 0;
};

}  // namespace carillon
