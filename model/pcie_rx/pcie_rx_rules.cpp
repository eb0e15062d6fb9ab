#include "pcie_rx/pcie_rx_rules.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/error.h"
#include "gen/stages.h"

namespace carillon {

namespace {

namespace spec = stage_spec::pcie_rx;
using port = pcie_rx_ports;

/// From the entry of a TLP's last symbol to its last beat: what is left of the pipeline behind the
/// deserializer.
constexpr cycle_t TailCycles = spec::Latency - 2;

constexpr const char* OutputReason = "credit:output";

/// Only requests of one or two dwords may leave bytes out in the middle; a BAR takes whole ranges.
bool has_holes(const tlp_header& write, const byte_range& range) {
  if (write.length_dw > 2) {
    return false;
  }
  const auto lead = static_cast<std::uint32_t>(range.address & 3);
  for (std::uint32_t i = 0; i < range.bytes; ++i) {
    if (!enabled(write, lead + i)) {
      return true;
    }
  }
  return false;
}

/// Answered "unsupported request".
void refuse(tlp_verdict& verdict) {
  verdict.output = port::Refusals;
  verdict.reported = true;
  verdict.missed = verdict.header.kind == tlp_kind::memory_read && !verdict.hit.hit;
  verdict.unsupported = !verdict.missed;
}

}  // namespace

pcie_rx_rules::pcie_rx_rules(nic_shared& nic, trace_site site, const pcie_rx_ports& io, bool rtl)
    : nic_(nic),
      site_(site),
      io_(io),
      outputs_(io.all()),
      clock_sync_(nic.context.trace.intern("clock_sync")),
      order_(nic.context.trace.intern("order")),
      output_(nic.context.trace.intern(OutputReason)) {
  if (rtl) {
    io_.tlps.tap(this);
  }
}

std::vector<twin_rules::wait_list> pcie_rx_rules::waits() {
  return {{&io_.tlps, {blocker::condition(OutputReason, [this](cycle_t t) {
             return !room(t, judge(t, *io_.tlps.front().packet));
           })}}};
}

tlp_verdict pcie_rx_rules::judge(cycle_t t, const tlp& packet) const {
  tlp_verdict verdict;
  tlp_header& header = verdict.header;
  header = decode(packet);
  if (!header.valid()) {
    // Not even its kind is known, so nobody can be answered.
    verdict.unsupported = true;
    return verdict;
  }
  switch (header.kind) {
    case tlp_kind::completion:
      verdict.output = port::Completions;
      verdict.beats = beats_of(packet.payload_bytes);
      break;
    case tlp_kind::memory_write:
      verdict.range = touched(header);
      verdict.hit = io_.functions.read(t).find(verdict.range.address);
      if (!verdict.hit.hit || header.poisoned || has_holes(header, verdict.range)) {
        verdict.missed = !verdict.hit.hit;
        verdict.unsupported = verdict.hit.hit;
        verdict.reported = true;
      } else {
        verdict.output = verdict.hit.bar == 2 ? port::UarWrites : port::RegisterWrites;
      }
      break;
    case tlp_kind::memory_read:
      verdict.range = touched(header);
      verdict.hit = io_.functions.read(t).find(verdict.range.address);
      if (!verdict.hit.hit || header.poisoned ||
          (verdict.range.bytes != 4 && verdict.range.bytes != 8)) {
        refuse(verdict);
      } else {
        verdict.output = verdict.hit.bar == 2 ? port::UarReads : port::RegisterReads;
      }
      break;
    case tlp_kind::message:
      verdict.unsupported = true;
      verdict.reported = true;
      break;
    case tlp_kind::config_read:
    case tlp_kind::config_write:
      if (header.poisoned) {
        refuse(verdict);
      } else {
        verdict.output = port::Configs;
      }
      break;
    case tlp_kind::other:
      refuse(verdict);
      break;
  }
  return verdict;
}

bool pcie_rx_rules::room(cycle_t t, const tlp_verdict& verdict) const {
  return !verdict.leaves() || outputs_[verdict.output]->has_credit(t, verdict.beats);
}

trace_ref pcie_rx_rules::account(cycle_t t, const tlp_arrival& taken, const tlp_verdict& verdict) {
  tlp& packet = *taken.packet;
  counter_block& counters = nic_.counters;
  counters.add(counter::PcieRxTlps);
  // Of a message nobody looks at the data.
  if (verdict.header.valid() && verdict.header.poisoned &&
      verdict.header.kind != tlp_kind::message) {
    counters.add(counter::PcieRxPoisoned);
  }
  if (verdict.unsupported) {
    counters.add(counter::PcieRxUnsupported);
  }
  if (verdict.missed) {
    counters.add(counter::PcieRxBarMisses);
  }
  io_.link.consumed(packet.flow, packet.payload_bytes);

  const cycle_t waiting_from = waiting_from_;
  waiting_from_ = t + beats_of(packet.payload_bytes);
  if (!verdict.leaves()) {
    return {};
  }
  if (verdict.output == port::UarWrites) {
    nic_.context.trace.mark(packet.trace, milestone::doorbell);
    packet.row = site_.row;
  }
  tracer& trace = nic_.context.trace;
  const core_clock& clock = nic_.context.clock;
  const trace_site booked = booked_for(packet);
  trace_ref history = trace.wait(packet.trace, booked, clock_sync_, packet.first_symbol,
                                 clock.time_of(taken.entry));
  if (t > taken.entry) {
    // Behind an earlier TLP's beats, or for a credit of its output.
    const cycle_t free = std::clamp(waiting_from, taken.entry, t);
    history = trace.wait(history, booked, order_, clock.time_of(taken.entry), clock.time_of(free));
    history = trace.wait(history, booked, output_, clock.time_of(free), clock.time_of(t));
  }
  return history;
}

cycle_t pcie_rx_rules::visible(cycle_t t, const tlp_arrival& taken, unsigned beats) {
  const cycle_t whole = taken.last + TailCycles;
  return std::max(t + spec::Latency, whole > beats - 1 ? whole - (beats - 1) : 0);
}

pcie_error pcie_rx_rules::error_of(const tlp_verdict& verdict) {
  pcie_error error;
  error.function = verdict.hit.function;
  error.kind = verdict.header.poisoned ? pcie_error_kind::poisoned_request
                                       : pcie_error_kind::unsupported_request;
  return error;
}

buffer_ref pcie_rx_rules::body_of(const tlp& packet) const {
  if (packet.payload_bytes == 0) {
    return {};
  }
  buffer_ref body = nic_.buffers.take();
  std::memcpy(body.data(), packet.payload.data(), packet.payload_bytes);
  return body;
}

// The RTL's
// -------------------------------------------------------------------------------------------

void pcie_rx_rules::on_take(cycle_t t, const tlp_arrival& item) {
  const tlp_verdict verdict = judge(t, *item.packet);
  leaving next{account(t, item, verdict), booked_for(*item.packet), t, {}};
  if (verdict.reported) {
    io_.errors.reserve(t, 1);
    leaving_[port::Errors].push({{}, site_, t, {}});
  }
  if (verdict.leaves()) {
    outputs_[verdict.output]->reserve(t, verdict.beats);
    if (verdict.output == port::Completions) {
      next.body = body_of(*item.packet);
    }
    leaving_[verdict.output].push(std::move(next));
  }
}

twin_rules::departure pcie_rx_rules::departs(unsigned port, cycle_t visible) {
  CARILLON_CHECK(!leaving_[port].empty(), "{}: an item leaves in cycle {} that never came",
                 outputs_[port]->name(), visible);
  leaving out = leaving_[port].pop();
  departed_ = std::move(out.body);
  const core_clock& clock = nic_.context.clock;
  const trace_ref history = nic_.context.trace.service(
      out.history, out.site, clock.time_of(out.taken), clock.time_of(visible));
  return {history, out.taken};
}

}  // namespace carillon
