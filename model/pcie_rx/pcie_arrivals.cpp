#include "pcie_rx/pcie_arrivals.h"

#include <algorithm>

#include "common/due_process.h"
#include "common/error.h"
#include "common/items.h"
#include "gen/stages.h"

namespace carillon {

namespace {

namespace spec = stage_spec::pcie_rx;

}  // namespace

pcie_arrivals::pcie_arrivals(sim_context& context, const std::string& name, pcie_port& link,
                             std::function<void()> on_credits)
    : context_(context),
      on_credits_(std::move(on_credits)),
      tlps_(context, name, spec::TlpDepth, spec::MaxBeats) {
  link.listen(*this);
  tlps_.from(*this, context.trace.site(name, "pcie_rx"));
  // What comes over the link is not the stage's own: the trace shows it in the spans of the items.
  tlps_.keep_private();
}

void pcie_arrivals::on_tlp(tlp* packet) {
  const core_clock& clock = context_.clock;
  CARILLON_CHECK(packet->first_symbol >= gone_by_,
                 "{}: a TLP arrives at {} ps, when the one before has symbols until {} ps", path(),
                 packet->first_symbol, gone_by_);
  gone_by_ = packet->last_symbol;
  tlp_arrival arrival{{},
                      tlp_ref(packet),
                      clock.first_edge(packet->first_symbol),
                      clock.entry(packet->last_symbol)};
  const cycle_t t = now_ps() / clock.period();
  if (!further_.empty()) {
    further_.push(std::move(arrival));
  } else if (!push(t, arrival)) {
    tlps_.ask_credit(t, beats_of(packet->payload_bytes));
    further_.push(std::move(arrival));
  }
}

void pcie_arrivals::on_cycle(cycle_t t) {
  while (!further_.empty()) {
    if (!push(t, further_.front())) {
      tlps_.ask_credit(t, beats_of(further_.front().packet->payload_bytes));
      return;
    }
    further_.pop();
  }
}

/// Whether there was room.
bool pcie_arrivals::push(cycle_t t, tlp_arrival& arrival) {
  const unsigned beats = beats_of(arrival.packet->payload_bytes);
  if (!tlps_.has_credit(t, beats)) {
    return false;
  }
  // Behind the beats of the TLP before it is only seen: its count begins at its entry.
  const cycle_t visible = std::max({arrival.entry, tlps_.port_free(), t + 1});
  tlps_.push(t, static_cast<unsigned>(visible - t), std::move(arrival), beats);
  return true;
}

}  // namespace carillon
