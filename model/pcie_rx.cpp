#include "pcie_rx.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/error.h"

namespace carillon {

namespace {

constexpr std::uint16_t DwordBytes = 4;

}  // namespace

pcie_rx::pcie_rx(const sc_core::sc_module_name& name, nic_shared& nic, const ports& connected)
    : stage(name, nic.context, Row), ports_(connected), rules_(nic, site(), connected, false) {
  ports_.tlps.to(*this, site());
  // Completions are on the account of the stage that reads: the span is booked when the row is
  // known.
  for (unsigned port = ports::UarWrites; port < ports::count_; ++port) {
    rules_.output(port).from(*this, site());
  }
  for (auto& [input, blockers] : rules_.waits()) {
    watch(*input, std::move(blockers));
  }
  // A TLP that waits for an output may be another function's, or nobody's, by now.
  ports_.functions.wakes(*this);
}

void pcie_rx::evaluate(cycle_t t) {
  if (!ports_.tlps.takeable(t)) {
    return;
  }
  const tlp_verdict verdict = rules_.judge(t, *ports_.tlps.front().packet);
  if (!rules_.room(t, verdict)) {
    rules_.output(verdict.output).ask_credit(t, verdict.beats);
    return;
  }
  const tlp_arrival taken = ports_.tlps.take(t);
  const trace_ref history = rules_.account(t, taken, verdict);
  if (verdict.reported) {
    CARILLON_CHECK(ports_.errors.has_credit(t), "{}: {} has no room for an error, cycle {}", path(),
                   ports_.errors.name(), t);
    ports_.errors.push(t, 1, rules::error_of(verdict));
  }
  send_on({t, taken, verdict, history});
}

void pcie_rx::send_on(const outcome& what) {
  switch (what.verdict.output) {
    case ports::UarWrites:
      forward(what, ports_.uar_writes, write_of(what));
      return;
    case ports::UarReads:
      forward(what, ports_.uar_reads, read_of(what));
      return;
    case ports::RegisterWrites:
      forward(what, ports_.register_writes, write_of(what));
      return;
    case ports::RegisterReads:
      forward(what, ports_.register_reads, read_of(what));
      return;
    case ports::Completions:
      forward(what, ports_.completions, completion_of(what));
      return;
    case ports::Refusals:
      forward(what, ports_.refusals, refusal_of(what));
      return;
    case ports::Configs:
      forward(what, ports_.configs, config_of(what));
      return;
    case ports::Tlps:
    case ports::Errors:
    case ports::count_:
      return;  // dropped
  }
}

template <class Item>
void pcie_rx::forward(const outcome& what, stream<Item>& output, Item item) {
  const cycle_t visible = rules::visible(what.t, what.taken, what.verdict.beats);
  item.trace = context_.trace.service(what.history, rules_.booked_for(*what.taken.packet),
                                      time_of(what.t), time_of(visible));
  output.push_booked(what.t, static_cast<unsigned>(visible - what.t), std::move(item),
                     what.verdict.beats);
}

mmio_write pcie_rx::write_of(const outcome& what) {
  const byte_range& range = what.verdict.range;
  mmio_write item;
  item.function = what.verdict.hit.function;
  item.bar = what.verdict.hit.bar;
  item.offset = what.verdict.hit.offset;
  item.length = static_cast<std::uint16_t>(range.bytes);
  std::memcpy(item.data.data(), what.taken.packet->payload.data() + (range.address & 3),
              std::min<std::size_t>(range.bytes, item.data.size()));
  return item;
}

mmio_read pcie_rx::read_of(const outcome& what) {
  mmio_read item;
  item.function = what.verdict.hit.function;
  item.bar = what.verdict.hit.bar;
  item.offset = what.verdict.hit.offset;
  item.length = static_cast<std::uint16_t>(what.verdict.range.bytes);
  item.requester = what.verdict.header.requester;
  item.tag = what.verdict.header.tag;
  return item;
}

mmio_answer pcie_rx::refusal_of(const outcome& what) {
  const tlp_header& header = what.verdict.header;
  const bool read = header.kind == tlp_kind::memory_read;
  mmio_answer refusal;
  refusal.function = what.verdict.hit.function;
  refusal.requester = header.requester;
  refusal.tag = header.tag;
  refusal.status = static_cast<std::uint8_t>(completion_status::UnsupportedRequest);
  // What is no memory read is answered with the count of one dword.
  refusal.length = read ? static_cast<std::uint16_t>(total_byte_count(header)) : DwordBytes;
  refusal.lower_address = read ? first_lower_address(header) : 0;
  return refusal;
}

config_request pcie_rx::config_of(const outcome& what) {
  const tlp_header& header = what.verdict.header;
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
      item.value |= std::uint32_t{what.taken.packet->payload[i]} << (8 * i);
    }
  }
  return item;
}

read_completion pcie_rx::completion_of(const outcome& what) const {
  const tlp_header& header = what.verdict.header;
  read_completion item;
  item.tag = header.tag;
  item.status = static_cast<std::uint8_t>(header.status);
  item.poisoned = header.poisoned;
  item.byte_count = header.byte_count;
  item.lower_address = header.lower_address;
  item.length = what.taken.packet->payload_bytes;
  item.data = rules_.body_of(*what.taken.packet);
  return item;
}

}  // namespace carillon
