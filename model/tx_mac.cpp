#include "tx_mac.h"

#include <algorithm>
#include <utility>

namespace carillon {

namespace {

namespace spec = stage_spec::tx_mac;

}  // namespace

tx_mac::tx_mac(const sc_core::sc_module_name& name, nic_shared& nic, const ports& connected)
    : stage(name, nic.context, "tx_mac"), nic_(nic), ports_(connected) {
  const parameters& params = nic.context.params;
  const std::int64_t core_gbps = std::int64_t{BeatBytes} * 8 * 1000 / params.core.clock_period_ps;
  if (params.wire.rate_gbps > core_gbps) {
    throw config_error(
        fmt::format("{}: wire.rate_gbps {} is more than the core delivers; allowed: at most {} (64 "
                    "bytes every {} ps)",
                    path(), params.wire.rate_gbps, core_gbps, params.core.clock_period_ps));
  }
  ports_.frames.to(*this, site());
  watch(ports_.frames, {blocker::condition("wire", [this](cycle_t t) { return wire_busy(t); })});
}

bool tx_mac::wire_busy(cycle_t t) const {
  return ports_.wire.free_at() >= time_of(t + spec::Latency + 1);
}

void tx_mac::evaluate(cycle_t t) {
  if (!ports_.frames.takeable(t)) {
    return;
  }
  if (wire_busy(t)) {
    const cycle_t free = ports_.wire.free_at() / context_.clock.period();
    wake(std::max(t + 1, free - spec::Latency));
    return;
  }
  frame_item frame = ports_.frames.take(t);
  nic_.counters.add_for(frame.function, counter::TxPackets);
  nic_.counters.add_for(frame.function, counter::TxBytes, frame.length);
  const ps_t first_bit = time_of(t + spec::Latency);
  frame.trace = context_.trace.service(frame.trace, site(), time_of(t), first_bit);
  ports_.wire.send(std::move(frame), first_bit);
}

}  // namespace carillon
