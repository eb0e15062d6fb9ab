#include "common/stage.h"

#include <algorithm>

namespace carillon {

void port_monitor::watch(stream_base& input, std::vector<blocker> blockers) {
  watched added{&input, std::move(blockers), {}};
  for (const blocker& each : added.blockers) {
    added.reasons.push_back(context_.trace.intern(each.name));
  }
  inputs_.push_back(std::move(added));
}

bool port_monitor::holds(const blocker& each, cycle_t t) {
  switch (each.kind) {
    case blocker::kind_e::arbiter:
      return each.port->transferring(t);
    case blocker::kind_e::credit:
      return !each.port->has_credit(t, each.beats);
    case blocker::kind_e::condition:
      return each.holds(t);
  }
  return false;
}

bool port_monitor::any_condition(const watched& each, cycle_t t) {
  return std::any_of(each.blockers.begin(), each.blockers.end(), [t](const blocker& one) {
    return one.kind == blocker::kind_e::condition && one.holds(t);
  });
}

void port_monitor::check_kept(cycle_t t) const {
  for (const watched& each : inputs_) {
    if (each.kept_by == nullptr || !each.port_bound) {
      continue;
    }
    // Credits and transfers of cycle t-1 are settled; a condition may have come and gone since,
    // then it wakes us itself.
    const bool kept =
        std::any_of(each.blockers.begin(), each.blockers.end(), [t](const blocker& one) {
          return one.kind != blocker::kind_e::condition && holds(one, t - 1);
        });
    CARILLON_CHECK(kept || any_condition(each, t),
                   "{}: unexplained cycle {}: what its front item waited for ({}) was over, but "
                   "nobody looked",
                   each.input->name(), t - 1, each.kept_by->name);
  }
}

cycle_t port_monitor::explain(cycle_t t) {
  cycle_t next = NeverCycle;
  port_bound_ = false;
  for (watched& each : inputs_) {
    each.kept_by = nullptr;
    const cycle_t takeable = each.input->next_take();
    if (takeable > t) {
      next = std::min(next, takeable);
    } else {
      explain(each, t);
    }
  }
  return next;
}

void port_monitor::explain(watched& each, cycle_t t) {
  for (std::size_t i = 0; i < each.blockers.size(); ++i) {
    if (holds(each.blockers[i], t)) {
      each.input->explain(t, each.reasons[i]);
      each.kept_by = &each.blockers[i];
      break;
    }
  }
  CARILLON_CHECK(each.kept_by != nullptr,
                 "{}: unexplained cycle {}: its front item could move and did not",
                 each.input->name(), t);
  each.port_bound = each.kept_by->kind != blocker::kind_e::condition && !any_condition(each, t);
  port_bound_ |= each.port_bound;
}

}  // namespace carillon
