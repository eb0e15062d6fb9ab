// Which priorities the other end of the cable has paused, and until when; without a clock of its
// own.
#pragma once

#include <array>
#include <cstdint>

#include "common/counters.h"
#include "common/pfc_frame.h"
#include "common/types.h"
#include "gen/params.h"

namespace carillon {

class received_pauses {
 public:
  received_pauses(const parameters& params, counter_block& counters);

  /// A PFC frame acts in cycle t. One without PFC for a priority changes nothing of it.
  void apply(cycle_t t, const pfc& request);

  /// Ends what is over in cycle t.
  void expire(cycle_t t);

  /// Bit n: priority n must not send.
  [[nodiscard]] std::uint8_t paused() const { return paused_; }

  /// When the next pause is over; NeverCycle if there is none.
  [[nodiscard]] cycle_t next() const;

 private:
  void end(cycle_t t, unsigned priority);

  struct pause {
    cycle_t since = 0;
    cycle_t until = 0;
    std::uint64_t counted_ps = 0;  ///< less than a microsecond, of pauses that are over
  };

  counter_block& counters_;
  std::uint8_t with_pfc_;
  std::uint64_t gbps_;
  ps_t period_;
  std::uint8_t paused_ = 0;
  std::array<pause, PriorityCount> pauses_{};
};

}  // namespace carillon
