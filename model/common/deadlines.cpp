#include "common/deadlines.h"

namespace carillon {

void deadlines::set(std::uint32_t number, cycle_t deadline) {
  queue_deadline& timer = queues_[number];
  timer.deadline = deadline;
  if (deadline < timer.listed) {
    timer.listed = deadline;
    list_.push({deadline, number});
  }
}

cycle_t deadlines::earliest() {
  while (!list_.empty()) {
    const place top = list_.top();
    queue_deadline& timer = queues_[top.number];
    if (timer.listed == top.cycle && timer.deadline == top.cycle) {
      return top.cycle;
    }
    list_.pop();
    if (timer.listed == top.cycle) {
      timer.listed = timer.deadline;
      if (timer.deadline != NeverCycle) {
        list_.push({timer.deadline, top.number});
      }
    }
  }
  return NeverCycle;
}

bool deadlines::take_due(cycle_t t, std::uint32_t& number) {
  if (earliest() > t) {
    return false;
  }
  number = list_.top().number;
  list_.pop();
  queues_[number] = {};
  return true;
}

}  // namespace carillon
