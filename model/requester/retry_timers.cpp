#include "requester/retry_timers.h"

namespace carillon {

void retry_timers::set(std::uint32_t qpn, cycle_t deadline) {
  queue_timer& timer = queues_[qpn];
  timer.deadline = deadline;
  if (deadline < timer.listed) {
    timer.listed = deadline;
    list_.push({deadline, qpn});
  }
}

cycle_t retry_timers::earliest() {
  while (!list_.empty()) {
    const place top = list_.top();
    queue_timer& timer = queues_[top.qpn];
    if (timer.listed == top.cycle && timer.deadline == top.cycle) {
      return top.cycle;
    }
    list_.pop();
    if (timer.listed == top.cycle) {
      timer.listed = timer.deadline;
      if (timer.deadline != NeverCycle) {
        list_.push({timer.deadline, top.qpn});
      }
    }
  }
  return NeverCycle;
}

bool retry_timers::take_due(cycle_t t, std::uint32_t& qpn) {
  if (earliest() > t) {
    return false;
  }
  qpn = list_.top().qpn;
  list_.pop();
  queues_[qpn] = {};
  return true;
}

}  // namespace carillon
