#include "common/deadlines.h"

namespace carillon {

void deadlines::set(std::uint32_t number, cycle_t deadline) {
  queue_deadline& timer = queues_[number];
  timer.deadline = deadline;
  if (timer.at == None) {
    heap_.push_back({deadline, number});
    rise(heap_.size() - 1);
  } else if (deadline < heap_[timer.at].cycle) {
    heap_[timer.at].cycle = deadline;
    rise(timer.at);
  }
}

cycle_t deadlines::earliest() {
  while (!heap_.empty()) {
    const place first = heap_.front();
    const cycle_t deadline = queues_[first.number].deadline;
    if (deadline == first.cycle) {
      return deadline;
    }
    if (deadline == NeverCycle) {
      drop_first();
    } else {
      heap_.front().cycle = deadline;
      sink(0);
    }
  }
  return NeverCycle;
}

bool deadlines::take_due(cycle_t t, std::uint32_t& number) {
  if (earliest() > t) {
    return false;
  }
  number = heap_.front().number;
  queues_[number].deadline = NeverCycle;
  drop_first();
  return true;
}

void deadlines::put(std::size_t at, const place& what) {
  heap_[at] = what;
  queues_[what.number].at = static_cast<std::uint32_t>(at);
}

void deadlines::rise(std::size_t at) {
  const place what = heap_[at];
  while (at != 0 && what < heap_[(at - 1) / 2]) {
    put(at, heap_[(at - 1) / 2]);
    at = (at - 1) / 2;
  }
  put(at, what);
}

void deadlines::sink(std::size_t at) {
  const place what = heap_[at];
  for (std::size_t child = 2 * at + 1; child < heap_.size(); child = 2 * at + 1) {
    if (child + 1 < heap_.size() && heap_[child + 1] < heap_[child]) {
      ++child;
    }
    if (!(heap_[child] < what)) {
      break;
    }
    put(at, heap_[child]);
    at = child;
  }
  put(at, what);
}

void deadlines::drop_first() {
  queues_[heap_.front().number].at = None;
  const place last = heap_.back();
  heap_.pop_back();
  if (!heap_.empty()) {
    put(0, last);
    sink(0);
  }
}

}  // namespace carillon
