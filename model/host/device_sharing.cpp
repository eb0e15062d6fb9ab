#include "host/device_sharing.h"

#include <algorithm>

#include "common/clock.h"
#include "host/cpu.h"

namespace carillon {

device_sharing::device_sharing(sim_context& context, const std::string& host)
    : context_(context),
      lock_reason_(context.trace.intern("tenant_lock")),
      switch_place_(context.trace.intern(host + ".device_sharing")),
      switch_row_(context.trace.intern("cpu")),
      switch_(static_cast<ps_t>(context.params.cpu.neighbour_switch_ps)) {
  const auto& params = context.params.cpu;
  if (params.neighbours == 0) {
    return;
  }
  busy_times times;
  times.gap = std::max<ps_t>(
      1, static_cast<ps_t>(params.neighbour_interval_ps) / static_cast<ps_t>(params.neighbours));
  times.duration = static_cast<ps_t>(params.neighbour_hold_ps);
  times.tail = params.neighbour_hold_tail;
  others_ = std::make_unique<busy_process>(context.seed, host + ".device_sharing", times);
}

trace_ref device_sharing::enter(cpu& core, trace_ref history) {
  history = core.caught_up(history);
  others_->forget(now_ps());
  const ps_t asked = core.time();
  const ps_t free = others_->free_from(asked);
  history = context_.trace.wait(history, core.site(), lock_reason_, asked, free);
  history = context_.trace.service(history, {switch_place_, switch_row_}, free, free + switch_);
  core.idle_until(free + switch_);
  return history;
}

}  // namespace carillon
