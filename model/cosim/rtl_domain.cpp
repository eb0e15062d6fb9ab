#include "cosim/rtl_domain.h"

#include <algorithm>
#include <utility>

#include "cosim/lockstep.h"
#include "cosim/rtl_adapter.h"

namespace carillon {

rtl_domain::rtl_domain(sim_context& context, rtl_options options)
    : context_(context), options_(std::move(options)) {
  evaluate_late();
}

std::unique_ptr<clocked> rtl_domain::replace(twin_request request) {
  return std::make_unique<rtl_adapter>(*this, std::move(request));
}

std::unique_ptr<clocked> rtl_domain::accompany(twin_request request) {
  return std::make_unique<lockstep>(*this, request);
}

void rtl_domain::request() {
  if (!running_) {
    context_.clock.wake_late(*this);
  }
}

void rtl_domain::leave(const twin_driver& driver) {
  std::erase(drivers_, &driver);
}

std::uint64_t rtl_domain::edges() const {
  std::uint64_t sum = 0;
  for (const twin_driver* each : drivers_) {
    sum += each->edges();
  }
  return sum;
}

void rtl_domain::on_cycle(cycle_t t) {
  running_ = true;
  try {
    run(t);
  } catch (...) {
    failure_ = std::current_exception();
    throw;
  }
  running_ = false;
}

void rtl_domain::run(cycle_t t) {
  if (options_.always) {
    for (twin_driver* each : drivers_) {
      each->catch_up(t);
    }
  }
  // A block of which the others take something becomes due on the way.
  const auto for_all_due = [&](auto&& step) {
    for (twin_driver* each : drivers_) {
      if (options_.always || each->due(t)) {
        step(*each);
      }
    }
  };
  for_all_due([&](twin_driver& each) { each.settle(t); });
  for_all_due([&](twin_driver& each) { each.transfer(t); });
  bool busy = false;
  for_all_due([&](twin_driver& each) { busy |= each.clock(t, options_.always); });
  busy_cycles_ += busy ? 1 : 0;
  if (options_.audit) {
    for (twin_driver* each : drivers_) {
      each->audit(t);
    }
  }
  // After all edges, since one block's output is another's input.
  cycle_t next = NeverCycle;
  for (twin_driver* each : drivers_) {
    next = std::min(next, options_.always || each->due(t) ? each->rest(t) : each->due_at());
  }
  if (next != NeverCycle) {
    context_.clock.wake(*this, next);
  }
}

void rtl_domain::finish() {
  for (twin_driver* each : drivers_) {
    each->finish();
  }
}

void rtl_domain::stop() {
  for (twin_driver* each : drivers_) {
    each->stop();
  }
}

}  // namespace carillon
