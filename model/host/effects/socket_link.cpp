#include "host/effects/socket_link.h"

#include <algorithm>

namespace carillon {

namespace {

constexpr std::uint64_t GigabitPs = 8000;  // of a byte at 1 Gb/s

}  // namespace

socket_link::socket_link(sim_context& context, const std::string& name)
    : context_(context),
      place_(context.trace.intern(name)),
      queue_reason_(context.trace.intern("socket_queue")),
      directions_{shared_server(static_cast<ps_t>(context.params.numa.queue_ps)),
                  shared_server(static_cast<ps_t>(context.params.numa.queue_ps))} {
  const auto& numa = context.params.numa;
  if (numa.load_permille == 0) {
    return;
  }
  burst_stream load;
  load.peak = static_cast<std::uint32_t>(numa.burst_peak);
  load.length.least = static_cast<ps_t>(numa.burst_ps);
  load.length.most = static_cast<ps_t>(std::max(numa.burst_max_ps, numa.burst_ps));
  load.length.shape = static_cast<std::uint32_t>(numa.burst_shape);
  load.mean_gap =
      burst_stream::gap_for(load.length, load.peak, static_cast<std::uint32_t>(numa.load_permille));
  directions_[0].add(load, context.seed, name + "/from_nic");
  directions_[1].add(load, context.seed, name + "/to_nic");
}

socket_link::passage socket_link::cross(socket_direction direction, ps_t when,
                                        std::uint64_t bytes) {
  const auto& numa = context_.params.numa;
  const auto rate = static_cast<std::uint64_t>(numa.link_gbps);
  const ps_t work = (bytes * GigabitPs + rate - 1) / rate;
  passage way;
  way.begin = directions_[static_cast<std::size_t>(direction)].enter(when, work);
  way.end = way.begin + work + static_cast<ps_t>(numa.hop_ps);
  return way;
}

trace_ref socket_link::book(trace_ref history, name_id row, ps_t when, const passage& way) {
  const trace_site site{place_, row};
  history = context_.trace.wait(history, site, queue_reason_, when, way.begin);
  return context_.trace.flight(history, site, way.begin, way.end);
}

ps_t socket_link::cross(socket_direction direction, ps_t when, std::uint64_t bytes, name_id row,
                        trace_ref& history) {
  const passage way = cross(direction, when, bytes);
  history = book(history, row, when, way);
  return way.end;
}

}  // namespace carillon
