// Which of a port's queues sends next: strict ones first, the highest of them; then the weighted
// ones by deficit round robin (Shreedhar and Varghese, "Efficient fair queuing using deficit round
// robin", 1996), a visit being worth the weight times the largest frame, so that one round is
// enough.
#pragma once

#include <array>
#include <cstdint>

#include "common/pfc_frame.h"
#include "fabric/switch/switch_settings.h"

namespace carillon {

class queue_scheduler {
 public:
  explicit queue_scheduler(const switch_settings& settings);

  using queue_mask = std::uint8_t;
  /// Bytes on the wire of each queue's first frame.
  using front_bytes = std::array<std::uint32_t, PriorityCount>;

  /// One of `ready`, which is not empty; the frame counts as sent. A queue that is not ready keeps
  /// what it had left.
  unsigned pick(queue_mask ready, const front_bytes& fronts);

  /// The queue has nothing more to send: what it had left is gone.
  void emptied(unsigned queue) { deficits_[queue] = 0; }

 private:
  queue_mask strict_ = 0;
  std::array<std::uint64_t, PriorityCount> quanta_{};
  std::array<std::uint64_t, PriorityCount> deficits_{};
  unsigned turn_ = 0;
  bool paid_ = false;  ///< the queue whose turn it is has got its quantum
};

}  // namespace carillon
