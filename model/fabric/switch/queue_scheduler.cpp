#include "fabric/switch/queue_scheduler.h"

#include <bit>

#include "common/error.h"
#include "gen/wire.h"

namespace carillon {

queue_scheduler::queue_scheduler(const switch_settings& settings) {
  const std::uint64_t largest = settings.max_frame_bytes + PreambleBytes + InterPacketGapBytes;
  for (unsigned i = 0; i < PriorityCount; ++i) {
    if (settings.priorities[i].strict) {
      strict_ |= static_cast<queue_mask>(1U << i);
    }
    quanta_[i] = settings.priorities[i].weight * largest;
  }
}

unsigned queue_scheduler::pick(queue_mask ready, const front_bytes& fronts) {
  CARILLON_CHECK(ready != 0, "switch: no queue to choose from");
  if (const unsigned strict = ready & strict_; strict != 0) {
    return static_cast<unsigned>(std::bit_width(strict)) - 1;
  }
  while (true) {
    if ((ready >> turn_ & 1) != 0) {
      if (!paid_) {
        deficits_[turn_] += quanta_[turn_];
        paid_ = true;
      }
      if (deficits_[turn_] >= fronts[turn_]) {
        deficits_[turn_] -= fronts[turn_];
        return turn_;
      }
    }
    turn_ = (turn_ + 1) % PriorityCount;
    paid_ = false;
  }
}

}  // namespace carillon
