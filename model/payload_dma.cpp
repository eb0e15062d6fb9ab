#include "payload_dma.h"

#include <algorithm>
#include <utility>

#include "gen/stages.h"

namespace carillon {

namespace {

namespace spec = stage_spec::payload_dma;
namespace dma = stage_spec::dma_engine;

}  // namespace

payload_dma::payload_dma(const sc_core::sc_module_name& name, nic_shared& nic,
                         const ports& connected)
    : stage(name, nic.context, Row), ports_(connected), rules_(nic, site(), connected) {
  ports_.key_reads.from(*this, site());
  ports_.key_lines.to(*this, site());
  ports_.packets.to(*this, site());
  ports_.reads.from(*this, site());
  ports_.done.to(*this, site());
  ports_.filled.from(*this, site());
  ports_.left.from(*this, site());
  for (auto& [input, blockers] : rules_.waits()) {
    watch(*input, std::move(blockers));
  }
}

void payload_dma::evaluate(cycle_t t) {
  if (ports_.done.takeable(t)) {
    ports_.done.take(t);
  }
  if (ports_.key_lines.takeable(t)) {
    ports_.key_lines.take(t);
  }
  rules_.issue_translated(t);
  take_packet(t);
  rules_.settle(t);
  send_reads(t);
  send_packets(t);
  if (rules_.lookup_ended_in(t) && !ports_.packets.empty()) {
    wake(t + 1);  // its slot is free from then on
  }
}

void payload_dma::take_packet(cycle_t t) {
  if (!ports_.packets.takeable(t) || rules_.packet_slots_full()) {
    return;  // an answer that completes a packet wakes this stage
  }
  if (!ports_.filled.has_credit(t, spec::MaxBeats)) {
    ports_.filled.ask_credit(t, spec::MaxBeats);
    return;
  }
  if (!ports_.reads.has_credit(t, MaxSge)) {
    ports_.reads.ask_credit(t, MaxSge);
    return;
  }
  if (!ports_.left.has_credit(t)) {
    ports_.left.ask_credit(t);
    return;
  }
  if (rules_.lookup_slots_full(t)) {
    return;  // so does a lookup that ends
  }
  ports_.packets.take(t);
}

void payload_dma::send_reads(cycle_t t) {
  auto& issued = rules_.issued();
  while (!issued.empty()) {
    const cycle_t visible = std::max(t + spec::Issue + dma::RequestHop, ports_.reads.port_free());
    dma_read read = std::move(issued.front().read);
    const auto [history, begin] = rules_.departs(ports::Reads, visible);
    read.trace = history;
    ports_.reads.push_reserved(begin, static_cast<unsigned>(visible - begin), std::move(read));
  }
  if (rules_.any_translated()) {
    if (ports_.reads.has_credit(t)) {
      wake(t + 1);
    } else {
      ports_.reads.ask_credit(t);
    }
  }
  if (auto& asked = rules_.asked(); !asked.empty()) {
    const context_read read = asked.front();
    const auto [history, begin] = rules_.departs(ports::KeyReads, t + 1);
    ports_.key_reads.push_reserved(begin, 1, read);
  }
  if (rules_.any_lookup()) {
    if (ports_.key_reads.has_credit(t)) {
      wake(t + 1);
    } else {
      ports_.key_reads.ask_credit(t);
    }
  }
}

void payload_dma::send_packets(cycle_t t) {
  auto& released = rules_.released();
  while (!released.empty()) {
    const cycle_t visible = std::max<cycle_t>(t + spec::Release, ports_.filled.port_free());
    const dma_status status = released.front().status;
    packet_item packet = std::move(released.front().packet);
    const auto [history, begin] = rules_.departs(ports::Filled, visible);
    packet.trace = history;
    payload_left note;
    note.qpn = packet.qpn;
    note.response = packet.source == packet_source::read_response;
    note.psn = packet.psn;
    note.status = status;
    const unsigned beats = beats_of(packet.payload);
    ports_.filled.push_reserved(begin, static_cast<unsigned>(visible - begin), std::move(packet),
                                beats);
    // Behind other packets at the port it is still inside: nothing of its QP may pass it by before
    // it is visible.
    const cycle_t told = std::max(visible, ports_.left.port_free());
    ports_.left.push_reserved(told - 1, 1, note);
  }
}

}  // namespace carillon
