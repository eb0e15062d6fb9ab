// Tells a queue that is paused for a while from one that is paused for too long.
//
// A queue that waits with frames, paused without a break, for the detection time is in a storm:
// somebody out there stopped listening, or everybody waits for everybody. The storm lasts until no
// pause was in force for the restoration time. What is done meanwhile is the queue's affair.
#pragma once

#include <cstdint>

#include "common/types.h"

namespace carillon {

class pause_watchdog {
 public:
  pause_watchdog(bool enabled, ps_t detection, ps_t restoration)
      : enabled_(enabled), detection_(detection), restoration_(restoration) {}

  [[nodiscard]] bool storm() const { return storm_; }

  /// What the queue looks like now; `progress`: it has just sent, or was not paused for a moment.
  /// Returns whether look() must be called at due().
  bool observe(ps_t now, bool stuck, bool progress);

  enum class finding : std::uint8_t { nothing, storm, restored };

  /// `paused_until`: the end of the last pause that was asked for, which may lie behind.
  finding look(ps_t now, ps_t paused_until);

  /// When to look next; NeverPs if there is no need to.
  [[nodiscard]] ps_t due() const { return due_; }

 private:
  bool enabled_;
  ps_t detection_;
  ps_t restoration_;
  bool storm_ = false;
  ps_t stuck_since_ = NeverPs;
  ps_t due_ = NeverPs;
};

}  // namespace carillon
