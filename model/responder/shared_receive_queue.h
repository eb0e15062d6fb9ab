// What the responder knows of one shared receive queue: a linked list of WQEs in host memory, used
// by many QPs.
//
// A WQE that is taken has a sequence number; which WQE that is (its index) is known when all before
// it were read, because each names its successor. They are read one after the other, a few ahead of
// what is taken, and kept until the message that took them is done. Counters are modulo 2^16.
#pragma once

#include <cstdint>
#include <vector>

#include "common/items.h"
#include "common/ring.h"
#include "gen/contexts.h"

namespace carillon {

struct shared_wqe {
  std::uint16_t index = 0;
  bool arrived = false;
  bool done = false;  ///< its message is
  dma_status status = dma_status::ok;
  buffer_ref bytes;
};

class shared_wqe_queue {
 public:
  static constexpr unsigned Ahead = 8;  ///< WQEs read before they are taken

  /// An SRQ was created: empty, its list begins at WQE 0.
  void start(const srq_line& line);

  [[nodiscard]] bool has_credit() const { return producer_ != consumer_ && !broken_; }

  /// WQEs posted and not taken, as far as the doorbell record was read.
  [[nodiscard]] std::uint16_t available() const {
    return static_cast<std::uint16_t>(producer_ - consumer_);
  }

  void set_producer(std::uint16_t producer) { producer_ = producer; }

  [[nodiscard]] std::uint32_t stride() const { return stride_; }

  /// Takes the next WQE; returns its sequence number.
  std::uint16_t consume();

  /// There is a WQE to read now. One at a time: the next one's place is in it.
  [[nodiscard]] bool wants_read() const;

  /// Of the WQE to read: its sequence number, and where it is.
  [[nodiscard]] std::uint16_t next_sequence() const;

  [[nodiscard]] std::uint64_t next_address() const {
    return base_ + std::uint64_t{next_index_} * stride_;
  }

  void begin_read(buffer_ref into);
  void end_read(dma_status status);

  /// A read failed, or named a successor that does not exist: the list ends here for good.
  [[nodiscard]] bool broken() const { return broken_; }

  /// The WQE with that sequence number; nullptr while it was not asked for.
  [[nodiscard]] const shared_wqe* find(std::uint16_t sequence) const;

  /// The message that took it is done; called in any order.
  void finished(std::uint16_t sequence);

 private:
  std::uint64_t base_ = 0;
  std::uint32_t stride_ = 16;
  std::uint32_t size_ = 1;
  std::uint16_t producer_ = 0;
  std::uint16_t consumer_ = 0;
  std::uint16_t next_index_ = 0;
  bool reading_ = false;
  bool broken_ = false;
  std::uint16_t first_ = 0;           ///< sequence number of the oldest in `wqes_`
  ring<shared_wqe> wqes_;             ///< asked for, oldest first
  shared_wqe lost_;                   ///< stands for those that a broken list does not lead to
  std::vector<std::uint16_t> early_;  ///< done before they were asked for: their QP was reset
};

}  // namespace carillon
