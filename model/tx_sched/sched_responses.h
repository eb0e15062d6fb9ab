// The responses of one QP that wait for a grant, without time: in the order in which the responder
// gave them. A peer takes a response beyond an unanswered READ for the loss of that READ's, so
// nothing of a QP overtakes its READ data.
#pragma once

#include <cstdint>

#include "common/held_history.h"
#include "common/items.h"
#include "common/ring.h"

namespace carillon {

struct held_response {
  response_item item;
  std::uint32_t granted = 0;  ///< packets of a READ
  held_history history;       ///< of its next packet
};

/// Where a QP stands that has responses to send.
enum class response_line : std::uint8_t { none, controls, reads };

class sched_responses {
 public:
  /// False: it took the place of the ACK behind which it would have queued.
  bool add(const response_item& item, const held_history& history);

  [[nodiscard]] bool empty() const { return waiting_.empty(); }

  [[nodiscard]] unsigned size() const { return static_cast<unsigned>(waiting_.size()); }

  /// Saved READs whose last packet is in payload_dma.
  [[nodiscard]] unsigned ends() const { return static_cast<unsigned>(ends_.size()); }

  /// The next packet is the last of what is in front.
  [[nodiscard]] bool ending() const;

  [[nodiscard]] held_response& front() { return waiting_.front(); }

  [[nodiscard]] const held_response& front() const { return waiting_.front(); }

  /// The front is the data of a READ: it goes packet by packet, behind all others' acknowledges.
  [[nodiscard]] bool reads() const { return waiting_.front().item.kind == response_kind::read; }

  /// The front may be granted: what passes payload_dma by waits for the QP's packets inside it.
  [[nodiscard]] bool grantable() const {
    return in_payload_ == 0 || (reads() && waiting_.front().item.length != 0);
  }

  /// The front's next packet. True if the front is done with it and gone.
  bool cut(packet_item& packet);

  /// A packet was given to payload_dma. With `ends` a saved READ ends, which the responder knows by
  /// `generation`.
  void to_payload(bool ends, std::uint8_t generation) {
    ++in_payload_;
    ++given_;
    if (ends) {
      ends_.push({given_, generation});
    }
  }

  /// A packet has left payload_dma. True if a saved READ ended with it.
  bool left_payload(std::uint8_t& generation) {
    --in_payload_;
    if (stale_ != 0) {
      --stale_;
    }
    if (ends_.empty() || ends_.front().packet != given_ - in_payload_) {
      return false;
    }
    generation = ends_.pop().generation;
    return true;
  }

  /// A packet that left just now belongs to a QP that was reset since.
  [[nodiscard]] bool stale() const { return stale_ != 0; }

  /// The packet of that PSN could not be read: nothing more of its READ is sent. True if something
  /// was left of it.
  bool fail(std::uint32_t psn);

  /// What waits is forgotten, what is on its way goes on.
  void reset() {
    waiting_.clear();
    ends_.clear();
    stale_ = in_payload_;
  }

  response_line in = response_line::none;
  std::uint16_t function = 0;  ///< ... of which it stands in line
  bool stopped = false;        ///< in none, because its priority is paused

 private:
  struct end_of_read {
    std::uint32_t packet = 0;  ///< of all that were ever given to payload_dma
    std::uint8_t generation = 0;
  };

  ring<held_response> waiting_;
  ring<end_of_read> ends_;
  std::uint32_t given_ = 0;  ///< packets, to payload_dma
  std::uint32_t in_payload_ = 0;
  std::uint32_t stale_ = 0;
};

}  // namespace carillon
