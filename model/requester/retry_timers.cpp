#include "requester/retry_timers.h"

namespace carillon {

void retry_timers::set(std::uint32_t qpn, cycle_t deadline) {
  queue_timer& timer = queues_[qpn];
  timer.deadline = deadline;
  if (timer.at == None) {
    heap_.push_back({deadline, qpn});
    rise(heap_.size() - 1);
  } else if (deadline < heap_[timer.at].cycle) {
    heap_[timer.at].cycle = deadline;
    rise(timer.at);
  }
}

cycle_t retry_timers::earliest() {
  while (!heap_.empty()) {
    const place first = heap_.front();
    const cycle_t deadline = queues_[first.qpn].deadline;
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

bool retry_timers::take_due(cycle_t t, std::uint32_t& qpn) {
  if (earliest() > t) {
    return false;
  }
  qpn = heap_.front().qpn;
  queues_[qpn].deadline = NeverCycle;
  drop_first();
  return true;
}

void retry_timers::put(std::size_t at, const place& what) {
  heap_[at] = what;
  queues_[what.qpn].at = static_cast<std::uint32_t>(at);
}

void retry_timers::rise(std::size_t at) {
  const place what = heap_[at];
  while (at != 0 && what < heap_[(at - 1) / 2]) {
    put(at, heap_[(at - 1) / 2]);
    at = (at - 1) / 2;
  }
  put(at, what);
}

void retry_timers::sink(std::size_t at) {
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

void retry_timers::drop_first() {
  queues_[heap_.front().qpn].at = None;
  const place last = heap_.back();
  heap_.pop_back();
  if (!heap_.empty()) {
    put(0, last);
    sink(0);
  }
}

}  // namespace carillon
