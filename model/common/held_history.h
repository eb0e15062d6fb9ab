// The history of an item that a stage holds for longer than its fixed latency.
//
// While it is held, the stage says in each evaluation what the item waits for; a span of waiting is
// written whenever the reason changes. Where the item itself is worked on, the stage adds a service
// span. The parts meet, so the partition of the item's time has no hole.
#pragma once

#include "common/context.h"
#include "common/tracer.h"
#include "common/types.h"

namespace carillon {

class held_history {
 public:
  held_history() = default;

  /// The item's history so far ends in cycle `since`; from then on it waits for `reason` until
  /// something else is said.
  held_history(trace_ref history, cycle_t since, name_id reason)
      : history_(history), since_(since), reason_(reason) {}

  /// From cycle t on it waits for `reason`.
  void waits_for(sim_context& context, trace_site site, cycle_t t, name_id reason) {
    if (reason != reason_) {
      wait_until(context, site, t);
      reason_ = reason;
    }
  }

  /// It was worked on until cycle t, which may lie ahead.
  void served_until(sim_context& context, trace_site site, cycle_t t) {
    if (t > since_) {
      history_ = context.trace.service(history_, site, context.clock.time_of(since_),
                                       context.clock.time_of(t));
      since_ = t;
    }
  }

  /// The history up to cycle t, waits included.
  trace_ref wait_until(sim_context& context, trace_site site, cycle_t t) {
    if (t > since_) {
      history_ = context.trace.wait(history_, site, reason_, context.clock.time_of(since_),
                                    context.clock.time_of(t));
      since_ = t;
    }
    return history_;
  }

  [[nodiscard]] cycle_t since() const { return since_; }

 private:
  trace_ref history_;
  cycle_t since_ = 0;
  name_id reason_ = 0;
};

}  // namespace carillon
