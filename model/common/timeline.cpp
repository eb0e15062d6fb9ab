#include "common/timeline.h"

#include <algorithm>

#include "common/clock.h"
#include "common/error.h"

namespace carillon {

timed::timed(timeline& line) : rank_(line.ranks_++) {}

timeline::timeline(const sc_core::sc_module_name& name) : due_process(name) {
  require_picosecond_resolution();
}

void timeline::at(ps_t when, timed& who, std::uint64_t what) {
  add(when, who, what, false);
}

void timeline::timer(ps_t when, timed& who, std::uint64_t what) {
  add(when, who, what, true);
}

inline void timeline::add(ps_t when, timed& who, std::uint64_t what, bool timer) {
  CARILLON_CHECK(when >= now_ps(), "timeline: asked for {} ps at {} ps", when, now_ps());
  heap_.push_back({when, sequence_++, &who, what, who.rank_, timer});
  std::push_heap(heap_.begin(), heap_.end(), comes_later{});
  if (!running_) {
    schedule(when);
  }
}

void timeline::run_due() {
  running_ = true;
  const ps_t now = now_ps();
  while (!heap_.empty() && heap_.front().when == now) {
    std::pop_heap(heap_.begin(), heap_.end(), comes_later{});
    const entry due = heap_.back();
    heap_.pop_back();
    ++callbacks_;
    last_ = due.timer ? last_ : now;
    due.who->on_time(now, due.what);
  }
  running_ = false;
  if (!heap_.empty()) {
    schedule(heap_.front().when);
  }
}

}  // namespace carillon
