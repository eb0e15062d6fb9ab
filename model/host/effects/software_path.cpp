#include "host/effects/software_path.h"

namespace carillon {

software_path::software_path(sim_context& context, const std::string& name)
    : context_(context),
      place_(context.trace.intern(name)),
      queue_reason_(context.trace.intern("software_queue")) {
  const auto& software = context.params.software;
  if (software.load_permille == 0) {
    return;
  }
  const auto service = static_cast<ps_t>(software.service_ps);
  burst_stream others;
  others.length = {service, service, 200};
  others.mean_gap = burst_stream::gap_for(others.length, others.peak,
                                          static_cast<std::uint32_t>(software.load_permille));
  packets_.add(others, context.seed, name + "/others");
}

ps_t software_path::pass(ps_t when, name_id row, trace_ref& history) {
  const trace_site site{place_, row};
  const auto service = static_cast<ps_t>(context_.params.software.service_ps);
  const ps_t begin = packets_.enter(when, service);
  history = context_.trace.wait(history, site, queue_reason_, when, begin);
  history = context_.trace.service(history, site, begin, begin + service);
  return begin + service;
}

}  // namespace carillon
