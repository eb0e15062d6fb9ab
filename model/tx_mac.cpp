#include "tx_mac.h"

#include <algorithm>
#include <utility>

namespace carillon {

namespace {

namespace spec = stage_spec::tx_mac;

}  // namespace

// The rules
// -------------------------------------------------------------------------------------------

tx_mac_rules::tx_mac_rules(nic_shared& nic, trace_site site, const tx_mac_ports& io, bool rtl)
    : nic_(nic), site_(site), io_(io), rtl_(rtl), pacer_(nic.context.params) {
  const parameters& params = nic.context.params;
  const std::int64_t core_gbps = std::int64_t{BeatBytes} * 8 * 1000 / params.core.clock_period_ps;
  if (params.wire.rate_gbps > core_gbps) {
    throw config_error(
        fmt::format("{}: wire.rate_gbps {} is more than the core delivers; allowed: at most {} (64 "
                    "bytes every {} ps)",
                    nic.context.trace.name(site.place), params.wire.rate_gbps, core_gbps,
                    params.core.clock_period_ps));
  }
  io_.frames.tap(this);
}

bool tx_mac_rules::wire_busy(cycle_t t) const {
  return rtl_ ? pacer_.busy(t)
              : io_.wire.free_at() >= nic_.context.clock.time_of(t + spec::Latency + 1);
}

std::vector<twin_rules::wait_list> tx_mac_rules::waits() {
  return {{&io_.frames, {blocker::condition("wire", [this](cycle_t t) { return wire_busy(t); })}}};
}

void tx_mac_rules::on_take(cycle_t t, const frame_item& item) {
  nic_.counters.add_for(item.function, counter::TxPackets);
  nic_.counters.add_for(item.function, counter::TxBytes, item.length);
  if (rtl_) {
    pacer_.take(t, item.length);
    io_.leaving->reserve(t, beats_of(item.length));
    under_way_.push({item, t});
  }
}

twin_rules::departure tx_mac_rules::departs(unsigned /*port*/, cycle_t visible) {
  CARILLON_CHECK(!under_way_.empty(), "{}: a frame leaves in cycle {} that never came",
                 nic_.context.trace.name(site_.place), visible);
  taken_frame out = under_way_.pop();
  departed_ = std::move(out.frame);
  return {departed_.trace, out.taken};
}

// The stage
// -------------------------------------------------------------------------------------------

tx_mac::tx_mac(const sc_core::sc_module_name& name, nic_shared& nic, const ports& connected)
    : stage(name, nic.context, Row), ports_(connected), rules_(nic, site(), connected, false) {
  ports_.frames.to(*this, site());
  if (ports_.leaving != nullptr) {
    ports_.leaving->from(*this, site());
  }
  for (auto& [input, blockers] : rules_.waits()) {
    watch(*input, std::move(blockers));
  }
}

void tx_mac::evaluate(cycle_t t) {
  if (!ports_.frames.takeable(t)) {
    return;
  }
  if (rules_.wire_busy(t)) {
    const cycle_t free = ports_.wire.free_at() / context_.clock.period();
    wake(std::max(t + 1, free - spec::Latency));
    return;
  }
  const unsigned beats = ports_.frames.front_beats();
  frame_item frame = ports_.frames.take(t);
  const ps_t first_bit = time_of(t + spec::Latency);
  frame.trace = context_.trace.service(frame.trace, site(), time_of(t), first_bit);
  if (ports_.leaving != nullptr) {
    ports_.leaving->push_booked(t, spec::Latency, frame, beats);
  }
  ports_.wire.send(std::move(frame), first_bit);
}

}  // namespace carillon
