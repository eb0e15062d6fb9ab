#include "fabric/switch/pause_watchdog.h"

#include <algorithm>

namespace carillon {

bool pause_watchdog::observe(ps_t now, bool stuck, bool progress) {
  if (!enabled_ || storm_) {
    return false;
  }
  if (!stuck) {
    stuck_since_ = NeverPs;
    return false;
  }
  if (stuck_since_ == NeverPs || progress) {
    stuck_since_ = now;
  }
  // One look is under way at most: it finds out by itself when it comes too early.
  if (due_ != NeverPs) {
    return false;
  }
  due_ = stuck_since_ + detection_;
  return true;
}

pause_watchdog::finding pause_watchdog::look(ps_t now, ps_t paused_until) {
  due_ = NeverPs;
  if (storm_) {
    if (now >= paused_until + restoration_) {
      storm_ = false;
      stuck_since_ = NeverPs;
      return finding::restored;
    }
    due_ = paused_until + restoration_;
    return finding::nothing;
  }
  if (stuck_since_ == NeverPs) {
    return finding::nothing;
  }
  if (now < stuck_since_ + detection_) {
    due_ = stuck_since_ + detection_;
    return finding::nothing;
  }
  storm_ = true;
  due_ = std::max(now, paused_until) + restoration_;
  return finding::storm;
}

}  // namespace carillon
