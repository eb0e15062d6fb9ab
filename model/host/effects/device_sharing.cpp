#include "host/effects/device_sharing.h"

#include <algorithm>

namespace carillon {

namespace {

constexpr ps_t Whole = 1000;

}  // namespace

device_sharing::device_sharing(sim_context& context, const std::string& name)
    : context_(context),
      place_(context.trace.intern(name)),
      lock_reason_(context.trace.intern("device_lock")) {
  const auto& sharing = context.params.sharing;
  // Of many independent tenants the posts together come at random.
  const ps_t between = std::max<ps_t>(
      static_cast<ps_t>(sharing.interval_ps) / static_cast<ps_t>(sharing.tenants), 1);
  const auto preempted = static_cast<ps_t>(sharing.preempted_permille);
  const auto hold = static_cast<ps_t>(sharing.hold_ps + context.params.cpu.lock_handover_ps);
  burst_stream ordinary;
  ordinary.length = {hold, hold, 200};
  if (preempted != Whole) {
    ordinary.mean_gap = between * Whole / (Whole - preempted);
    lock_.add(ordinary, context.seed, name + "/posts");
  }
  if (preempted != 0) {
    burst_stream long_ones;
    long_ones.length.least = static_cast<ps_t>(sharing.preempted_ps) + hold;
    long_ones.length.most =
        static_cast<ps_t>(std::max(sharing.preempted_max_ps, sharing.preempted_ps)) + hold;
    long_ones.length.shape = static_cast<std::uint32_t>(sharing.preempted_shape);
    long_ones.mean_gap = between * Whole / preempted;
    lock_.add(long_ones, context.seed, name + "/preempted");
  }
}

ps_t device_sharing::enter(ps_t when, name_id row, trace_ref& history) {
  const auto& sharing = context_.params.sharing;
  const trace_site site{place_, row};
  const auto taking = static_cast<ps_t>(sharing.switch_ps);
  const ps_t begin = lock_.enter(when, taking + static_cast<ps_t>(sharing.hold_ps));
  history = context_.trace.wait(history, site, lock_reason_, when, begin);
  history = context_.trace.service(history, site, begin, begin + taking);
  return begin + taking;
}

}  // namespace carillon
