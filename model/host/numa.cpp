#include "host/numa.h"

#include "common/clock.h"

namespace carillon {

socket_link::socket_link(sim_context& context, const std::string& host)
    : context_(context),
      crossed_(context.params.host.cpu_node != context.params.host.nic_node),
      hop_(static_cast<ps_t>(context.params.host.socket_hop_ps)),
      place_(context.trace.intern(host + ".socket_link")),
      busy_reason_(context.trace.intern("socket_link")) {
  const auto& params = context.params.host;
  if (!crossed_ || params.socket_load <= 0) {
    return;
  }
  busy_times times;
  times.duration = static_cast<ps_t>(params.socket_burst_ps);
  times.tail = params.socket_burst_tail;
  times.gap = static_cast<ps_t>(static_cast<double>(times.duration) * (1 - params.socket_load) /
                                params.socket_load);
  constexpr std::array<const char*, 2> Names = {".to_memory", ".to_device"};
  for (std::size_t way = 0; way < load_.size(); ++way) {
    load_[way] =
        std::make_unique<busy_process>(context.seed, host + ".socket_link" + Names[way], times);
  }
}

ps_t socket_link::cross(direction way, trace_ref& history, name_id row, ps_t now) {
  const trace_site here{place_, row};
  ps_t begin = now;
  if (const auto& load = load_[static_cast<std::size_t>(way)]; load != nullptr) {
    load->forget(now_ps());
    begin = load->free_from(now);
    history = context_.trace.wait(history, here, busy_reason_, now, begin);
  }
  history = context_.trace.flight(history, here, begin, begin + hop_);
  return begin + hop_;
}

}  // namespace carillon
