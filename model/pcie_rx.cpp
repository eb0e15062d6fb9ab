#include "pcie_rx.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/error.h"
#include "gen/registers.h"
#include "gen/stages.h"

namespace carillon {

namespace {

namespace spec = stage_spec::pcie_rx;

/// From the entry of a TLP's last symbol to its last beat: what is left of the pipeline behind the
/// deserializer.
constexpr cycle_t TailCycles = spec::Latency - 2;

constexpr std::uint16_t DwordBytes = 4;

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

}  // namespace

pcie_rx::pcie_rx(const sc_core::sc_module_name& name, nic_shared& nic, ports connected)
    : stage(name, nic.context, "pcie_rx"),
      nic_(nic),
      ports_(std::move(connected)),
      clock_sync_(nic.context.trace.intern("clock_sync")),
      order_(nic.context.trace.intern("order")),
      output_(nic.context.trace.intern("credit:output")) {
  ports_.link.listen(*this);
  ports_.uar_writes.from(*this, site());
  ports_.uar_reads.from(*this, site());
  ports_.register_writes.from(*this, site());
  ports_.register_reads.from(*this, site());
  // Completions are on the account of the stage that reads: the span is booked when the row is
  // known.
  ports_.completions.from(*this, site());
  ports_.refusals.from(*this, site());
  ports_.configs.from(*this, site());
  ports_.errors.from(*this, site());
}

void pcie_rx::on_tlp(tlp* packet) {
  const core_clock& clock = context_.clock;
  arrivals_.push_back(
      {packet, clock.first_edge(packet->first_symbol), clock.entry(packet->last_symbol)});
  if (arrivals_.size() == 1) {
    wake(std::max(arrivals_.front().entry, busy_until_));
  }
}

void pcie_rx::evaluate(cycle_t t) {
  if (arrivals_.empty()) {
    return;
  }
  arrival& front = arrivals_.front();
  if (front.entry > t || busy_until_ > t) {
    wake(std::max(front.entry, busy_until_));
    return;
  }
  route(t, front);
  if (!arrivals_.empty()) {
    // A front that lacks credit is woken by its output.
    const cycle_t next = std::max(arrivals_.front().entry, busy_until_);
    if (next > t) {
      wake(next);
    }
  }
}

void pcie_rx::route(cycle_t t, const arrival& front) {
  const tlp_header header = decode(*front.packet);
  if (!header.valid()) {
    // Not even its kind is known, so nobody can be answered.
    nic_.counters.add(counter::PcieRxUnsupported);
    retire(t, 1);
    return;
  }
  switch (header.kind) {
    case tlp_kind::completion:
      route_completion(t, front, header);
      return;
    case tlp_kind::memory_write:
      route_write(t, front, header);
      return;
    case tlp_kind::memory_read:
      route_read(t, front, header);
      return;
    case tlp_kind::message:
      nic_.counters.add(counter::PcieRxUnsupported);
      report(t, header, 0);
      retire(t, beats_of(front.packet->payload_bytes));
      return;
    case tlp_kind::config_read:
    case tlp_kind::config_write:
      route_config(t, front, header);
      return;
    case tlp_kind::other:
      refuse(t, front, header, 0);
      return;
  }
}

template <class Item>
void pcie_rx::forward(cycle_t t, const arrival& front, stream<Item>& output, Item item,
                      unsigned beats) {
  if (!output.has_credit(t, beats)) {
    output.ask_credit(t, beats);
    return;
  }
  const tlp& packet = *front.packet;
  tracer& trace = context_.trace;
  const trace_site booked{site().place, packet.row};
  trace_ref history = packet.trace;
  history = trace.wait(history, booked, clock_sync_, packet.first_symbol, time_of(front.entry));
  if (t > front.entry) {
    // Behind an earlier TLP's beats, or for a credit of its output.
    const cycle_t free = std::clamp(waiting_from_, front.entry, t);
    history = trace.wait(history, booked, order_, time_of(front.entry), time_of(free));
    history = trace.wait(history, booked, output_, time_of(free), time_of(t));
  }
  const cycle_t whole = front.last + TailCycles;
  cycle_t visible = std::max(t + spec::Latency, whole > beats - 1 ? whole - (beats - 1) : 0);
  visible = std::max(visible, output.port_free());
  item.trace = trace.service(history, booked, time_of(t), time_of(visible));
  output.push_booked(t, static_cast<unsigned>(visible - t), std::move(item), beats);
  retire(t, beats_of(packet.payload_bytes));
}

void pcie_rx::retire(cycle_t t, unsigned beats) {
  tlp* packet = arrivals_.front().packet;
  nic_.counters.add(counter::PcieRxTlps);
  ports_.link.consumed(packet->flow, packet->payload_bytes);
  packet->release();
  arrivals_.pop_front();
  busy_until_ = t + beats;
  waiting_from_ = busy_until_;
}

void pcie_rx::route_write(cycle_t t, const arrival& front, const tlp_header& header) {
  tlp& packet = *front.packet;
  const byte_range range = touched(header);
  const bar_hit hit = ports_.functions.read(t).find(range.address);
  const unsigned lead = range.address & 3;
  if (!hit.hit || header.poisoned || has_holes(header, range)) {
    if (header.poisoned) {
      nic_.counters.add(counter::PcieRxPoisoned);
    }
    nic_.counters.add(hit.hit ? counter::PcieRxUnsupported : counter::PcieRxBarMisses);
    report(t, header, hit.function);
    retire(t, beats_of(packet.payload_bytes));
    return;
  }
  mmio_write item;
  item.function = hit.function;
  item.bar = hit.bar;
  item.offset = hit.offset;
  item.length = static_cast<std::uint16_t>(range.bytes);
  std::memcpy(item.data.data(), packet.payload.data() + lead,
              std::min<std::size_t>(range.bytes, item.data.size()));
  if (hit.bar == 2) {
    context_.trace.mark(packet.trace, milestone::doorbell);
    packet.row = site().row;
  }
  forward(t, front, hit.bar == 2 ? ports_.uar_writes : ports_.register_writes, item);
}

void pcie_rx::route_read(cycle_t t, const arrival& front, const tlp_header& header) {
  const byte_range range = touched(header);
  const bar_hit hit = ports_.functions.read(t).find(range.address);
  if (!hit.hit || header.poisoned || (range.bytes != 4 && range.bytes != 8)) {
    refuse(t, front, header, hit.function);
    return;
  }
  mmio_read item;
  item.function = hit.function;
  item.bar = hit.bar;
  item.offset = hit.offset;
  item.length = static_cast<std::uint16_t>(range.bytes);
  item.requester = header.requester;
  item.tag = header.tag;
  forward(t, front, hit.bar == 2 ? ports_.uar_reads : ports_.register_reads, item);
}

void pcie_rx::refuse(cycle_t t, const arrival& front, const tlp_header& header,
                     std::uint16_t function) {
  if (!ports_.refusals.has_credit(t)) {
    ports_.refusals.ask_credit(t);
    return;
  }
  const bool read = header.kind == tlp_kind::memory_read;
  const bool miss = read && !ports_.functions.read(t).find(touched(header).address).hit;
  if (header.poisoned) {
    nic_.counters.add(counter::PcieRxPoisoned);
  }
  nic_.counters.add(miss ? counter::PcieRxBarMisses : counter::PcieRxUnsupported);
  report(t, header, function);
  mmio_answer refusal;
  refusal.function = function;
  refusal.requester = header.requester;
  refusal.tag = header.tag;
  refusal.status = static_cast<std::uint8_t>(completion_status::UnsupportedRequest);
  // What is no memory read is answered with the count of one dword.
  refusal.length = read ? static_cast<std::uint16_t>(total_byte_count(header)) : DwordBytes;
  refusal.lower_address = read ? first_lower_address(header) : 0;
  forward(t, front, ports_.refusals, refusal);
}

/// A refused request, for the function's status registers.
void pcie_rx::report(cycle_t t, const tlp_header& header, std::uint16_t function) {
  CARILLON_CHECK(ports_.errors.has_credit(t), "{}: {} has no room for an error, cycle {}", path(),
                 ports_.errors.name(), t);
  pcie_error error;
  error.function = function;
  error.kind =
      header.poisoned ? pcie_error_kind::poisoned_request : pcie_error_kind::unsupported_request;
  ports_.errors.push(t, 1, error);
}

void pcie_rx::route_config(cycle_t t, const arrival& front, const tlp_header& header) {
  if (header.poisoned) {
    refuse(t, front, header, 0);
    return;
  }
  config_request item;
  item.destination = header.destination;
  item.local = !header.other_bus;
  item.write = header.kind == tlp_kind::config_write;
  item.offset = header.config_register;
  item.enables = header.first_be;
  item.requester = header.requester;
  item.tag = header.tag;
  if (item.write) {
    for (unsigned i = 0; i < DwordBytes; ++i) {
      item.value |= std::uint32_t{front.packet->payload[i]} << (8 * i);
    }
  }
  forward(t, front, ports_.configs, item);
}

void pcie_rx::route_completion(cycle_t t, const arrival& front, const tlp_header& header) {
  const tlp& packet = *front.packet;
  const unsigned beats = beats_of(packet.payload_bytes);
  if (!ports_.completions.has_credit(t, beats)) {
    ports_.completions.ask_credit(t, beats);
    return;
  }
  if (header.poisoned) {
    nic_.counters.add(counter::PcieRxPoisoned);
  }
  read_completion item;
  item.tag = header.tag;
  item.status = static_cast<std::uint8_t>(header.status);
  item.poisoned = header.poisoned;
  item.byte_count = header.byte_count;
  item.lower_address = header.lower_address;
  item.length = packet.payload_bytes;
  if (packet.payload_bytes != 0) {
    item.data = nic_.buffers.take();
    std::memcpy(item.data.data(), packet.payload.data(), packet.payload_bytes);
  }
  forward(t, front, ports_.completions, std::move(item), beats);
}

}  // namespace carillon
