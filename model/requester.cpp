#include "requester.h"

#include <algorithm>
#include <utility>

#include "gen/contexts.h"
#include "gen/wqe.h"

namespace carillon {
namespace {

constexpr std::uint32_t PsnMask = 0xffffff;
constexpr std::uint32_t PsnHalf = 0x800000;
constexpr unsigned Latency = stage_spec::requester::Ack;

aeth_kind kind_of(std::uint8_t syndrome) {
  return static_cast<aeth_kind>(syndrome >> 5);
}

nak_code code_of(std::uint8_t syndrome) {
  return static_cast<nak_code>(syndrome & 0x1f);
}

}  // namespace

bool psn_before(std::uint32_t a, std::uint32_t b) {
  return ((a - b) & PsnMask) >= PsnHalf;
}

void send_window::send(const sent_packet& packet, const held_history& history) {
  if (packet.syndrome == 0) {
    if (!any_sent) {
      any_sent = true;
      first_psn = packet.psn;
    }
    last_sent = packet.psn;
  }
  if (packet.last || packet.syndrome != 0) {
    outstanding_wqe wqe;
    wqe.last_psn = packet.psn;
    wqe.wqe_index = packet.wqe_index;
    wqe.opcode = packet.opcode;
    wqe.syndrome = packet.syndrome;
    wqe.signaled = packet.signaled;
    wqe.length = packet.length;
    wqe.send_cqn = packet.send_cqn;
    wqe.history = history;
    wqe.sent = packet.trace;
    wqes.push(wqe);
  }
}

bool send_window::advances(std::uint32_t psn) const {
  if (!any_sent || psn_before(last_sent, psn)) {
    return false;  // nothing of the kind was sent
  }
  return any_acked ? psn_before(last_acked, psn) : !psn_before(psn, first_psn);
}

std::size_t send_window::acknowledge(std::uint32_t psn, std::size_t& from) {
  any_acked = true;
  last_acked = psn;
  from = 0;
  while (from < wqes.size() && wqes[from].completable()) {
    ++from;
  }
  std::size_t covered = 0;
  for (std::size_t i = from; i < wqes.size(); ++i) {
    if (wqes[i].syndrome != 0) {
      continue;
    }
    if (psn_before(psn, wqes[i].last_psn)) {
      break;
    }
    wqes[i].acknowledged = true;
    covered = i + 1 - from;
  }
  return covered;
}

cqe_item cqe_of(std::uint32_t qpn, const outstanding_wqe& wqe) {
  cqe_item item;
  item.cqn = wqe.send_cqn;
  item.qpn = qpn;
  item.cqe_opcode = static_cast<std::uint8_t>(wqe.syndrome == 0 ? cqe_opcode::Requester
                                                                : cqe_opcode::RequesterError);
  item.wqe_opcode = wqe.opcode;
  item.syndrome = wqe.syndrome;
  item.wqe_counter = wqe.wqe_index;
  item.byte_count = wqe.length;
  item.point = milestone::cqe_written;
  return item;
}

requester::requester(const sc_core::sc_module_name& name, nic_shared& shared, const ports& io)
    : stage(name, shared.context, "requester"),
      shared_(shared),
      io_(io),
      order_(context_.trace.intern("order")),
      acknowledge_(context_.trace.intern("acknowledge")),
      cqe_credit_(context_.trace.intern("credit:" + io.cqes.name())) {
  io_.sent.to(*this, site());
  io_.responses.to(*this, site());
  io_.commands.to(*this, site());
  io_.cqes.from(*this, site());
  watch(io_.commands, {});
  watch(io_.sent, {});
  watch(io_.responses, {});
}

void requester::evaluate(cycle_t t) {
  if (io_.commands.takeable(t)) {
    const qp_command command = io_.commands.take(t);
    if (command.state == static_cast<std::uint8_t>(qp_state::Reset)) {
      send_window& window = windows_[command.qpn];
      const bool queued = window.queued;
      window = {};
      window.queued = queued;
    }
  }
  take_sent(t);
  take_response(t);
  complete(t);
}

void requester::enqueue(std::uint32_t qpn, send_window& window) {
  if (!window.queued && !window.wqes.empty() && window.wqes.front().completable()) {
    window.queued = true;
    completable_.push(qpn);
  }
}

void requester::take_sent(cycle_t t) {
  if (!io_.sent.takeable(t)) {
    return;
  }
  const sent_packet packet = io_.sent.take(t);
  send_window& window = windows_[packet.qpn];
  window.send(packet, held_history(packet.trace, t, order_));
  enqueue(packet.qpn, window);
}

void requester::refuse(const rx_packet& response) {
  switch (kind_of(response.syndrome)) {
    case aeth_kind::RnrNak:
      shared_.counters.add(counter::RnrNakRetryErr);
      return;
    case aeth_kind::Nak:
      switch (code_of(response.syndrome)) {
        case nak_code::PsnSequenceError:
          shared_.counters.add(counter::PacketSeqErr);
          return;
        case nak_code::InvalidRequest:
          shared_.counters.add(counter::ReqRemoteInvalidRequest);
          return;
        case nak_code::RemoteAccessError:
          shared_.counters.add(counter::ReqRemoteAccessErrors);
          return;
        case nak_code::RemoteOperationalError:
          break;
      }
      break;
    case aeth_kind::Ack:
      break;
  }
  shared_.counters.add(counter::ReqBadResponse);
}

trace_ref requester::join(trace_ref sent, trace_ref acknowledge, cycle_t t) {
  trace_ref joined;
  if (sent.message == acknowledge.message) {
    joined = context_.trace.later(sent, acknowledge);
  } else {
    // An acknowledge of a later message covers this one too: it lived through that one's way.
    joined = context_.trace.adopt(sent, acknowledge, milestone::first_bit, site(), acknowledge_);
  }
  const ps_t end = context_.trace.end_of(joined);
  return context_.trace.wait(joined, site(), acknowledge_, end, std::max(end, time_of(t)));
}

void requester::take_response(cycle_t t) {
  if (!io_.responses.takeable(t)) {
    return;
  }
  const rx_packet response = io_.responses.take(t);
  if (response.verdict != rx_verdict::response) {
    return;  // counted where the verdict was given
  }
  if (response.bth_opcode != static_cast<std::uint8_t>(bth_opcode::RcAcknowledge) ||
      kind_of(response.syndrome) != aeth_kind::Ack) {
    refuse(response);
    return;
  }
  shared_.counters.add(counter::AcksReceived);
  const auto found = windows_.find(response.qpn);
  if (found == windows_.end() || !found->second.advances(response.psn)) {
    return;  // of something acknowledged before, or never sent
  }
  send_window& window = found->second;
  std::size_t from = 0;
  const std::size_t covered = window.acknowledge(response.psn, from);
  for (std::size_t i = from; i < from + covered; ++i) {
    outstanding_wqe& wqe = window.wqes[i];
    if (wqe.syndrome == 0) {
      wqe.history = held_history(join(wqe.sent, response.trace, t), t, order_);
    }
  }
  enqueue(response.qpn, window);
}

void requester::complete(cycle_t t) {
  if (completed_any_ && last_completed_ == t) {
    return;
  }
  while (!completable_.empty()) {
    const std::uint32_t qpn = completable_.front();
    send_window& window = windows_[qpn];
    // What nobody asked to be told of completes silently.
    while (!window.wqes.empty() && window.wqes.front().completable() &&
           !window.wqes.front().reports()) {
      window.wqes.pop();
    }
    if (window.wqes.empty() || !window.wqes.front().completable()) {
      window.queued = false;
      completable_.pop();
      continue;
    }
    if (!io_.cqes.has_credit(t)) {
      window.wqes.front().history.waits_for(context_, site(), t, cqe_credit_);
      io_.cqes.ask_credit(t);
      return;
    }
    outstanding_wqe wqe = window.wqes.pop();
    cqe_item item = cqe_of(qpn, wqe);
    item.trace = wqe.history.wait_until(context_, site(), t);
    io_.cqes.push(t, Latency, item);
    last_completed_ = t;
    completed_any_ = true;
    wake(t + 1);
    return;
  }
}

}  // namespace carillon
