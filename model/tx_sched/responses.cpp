// tx_sched: what the responder wants to send.
#include <utility>

#include "tx_sched.h"

namespace carillon {

namespace {

namespace spec = stage_spec::tx_sched;

}  // namespace

void tx_sched::take_response(cycle_t t) {
  if (!ports_.acknowledges.takeable(t)) {
    return;
  }
  // Never refused: a responder has a bounded number of READs and atomics, and ACKs join.
  const response_item item = ports_.acknowledges.take(t);
  if (queues_[item.qpn].reset) {
    return;
  }
  CARILLON_CHECK(item.function < senders_.size(), "{}: an answer of function {} in cycle {}",
                 path(), item.function, t);
  sched_responses& waiting = responses_[item.qpn];
  const name_id reason = waiting.empty() ? weight_reason_ : order_reason_;
  if (!waiting.add(item, held_history(item.trace, t, reason))) {
    nic_.counters.add(counter::AcksCoalesced);
    return;
  }
  line_up(t, item.qpn);
}

/// Puts the QP in line if its next response may go; else its packets in payload_dma will.
void tx_sched::line_up(cycle_t t, std::uint32_t qpn) {
  sched_responses& waiting = responses_[qpn];
  if (waiting.in != response_line::none || waiting.empty()) {
    return;
  }
  if (!waiting.grantable()) {
    waiting.front().history.waits_for(context_, site(), t, overtake_reason_);
    return;
  }
  waiting.front().history.waits_for(context_, site(), t, weight_reason_);
  if (!waiting.reads()) {
    waiting.in = response_line::controls;
    controls_.push(qpn);
    return;
  }
  waiting.in = response_line::reads;
  waiting.function = waiting.front().item.function;
  reads_.push(senders_[waiting.function].reads, qpn);
  enter(t, waiting.function);
}

/// The QP was reset.
void tx_sched::forget_responses(std::uint32_t qpn) {
  sched_responses& waiting = responses_[qpn];
  waiting.reset();
  if (waiting.in == response_line::reads) {
    waiting.in = response_line::none;
    reads_.erase(senders_[waiting.function].reads, qpn);
    leave_if_done(waiting.function);
  }
}

packet_item tx_sched::response_of(cycle_t t, std::uint32_t qpn) {
  sched_responses& waiting = responses_[qpn];
  held_response& front = waiting.front();
  const response_item item = front.item;
  packet_item packet;
  packet.trace = front.history.wait_until(context_, site(), t);
  packet.order = order_++;
  packet.life = static_cast<std::uint8_t>(queues_[qpn].lives);
  // The next packet waited for those before it, now for its turn.
  if (!waiting.cut(packet)) {
    front.history = held_history(packet.trace, t, weight_reason_);
  }
  if (packet.payload != 0) {
    waiting.to_payload(item.saved && packet.last, item.generation);
  } else if (item.saved) {
    answered_.push({{}, qpn, item.generation});
  }
  return packet;
}

bool tx_sched::grant_control(cycle_t t) {
  while (!controls_.empty()) {
    const std::uint32_t qpn = controls_.front();
    sched_responses& waiting = responses_[qpn];
    if (waiting.empty() || waiting.reads()) {  // it was reset
      controls_.pop();
      waiting.in = response_line::none;
      line_up(t, qpn);
      continue;
    }
    if (!ports_.direct.has_credit(t)) {
      ports_.direct.ask_credit(t);
      waiting.front().history.waits_for(context_, site(), t, direct_reason_);
      return false;
    }
    packet_item packet = response_of(t, qpn);
    functions_.charge(t, packet.function, cost_of(packet));
    ports_.direct.push(t, spec::Latency, std::move(packet));
    controls_.pop();
    waiting.in = response_line::none;
    line_up(t, qpn);
    return true;
  }
  return false;
}

/// Bytes on the wire; -1 if the function has no READ data that can go.
std::int64_t tx_sched::grant_read(cycle_t t, sender& from) {
  while (!from.reads.empty()) {
    const std::uint32_t qpn = from.reads.first;
    sched_responses& waiting = responses_[qpn];
    if (waiting.empty() || !waiting.reads() || !waiting.grantable()) {  // it failed
      reads_.erase(from.reads, qpn);
      waiting.in = response_line::none;
      line_up(t, qpn);
      continue;
    }
    held_response& front = waiting.front();
    const bool fetched = front.item.length != 0;
    stream<packet_item>& output = fetched ? ports_.payload : ports_.direct;
    if (!output.has_credit(t)) {
      output.ask_credit(t);
      front.history.waits_for(context_, site(), t, fetched ? payload_reason_ : direct_reason_);
      return -1;
    }
    packet_item packet = response_of(t, qpn);
    const std::uint32_t cost = cost_of(packet);
    output.push(t, spec::Latency, std::move(packet));
    nic_.counters.add(counter::TxReadResponses);
    reads_.erase(from.reads, qpn);
    waiting.in = response_line::none;
    line_up(t, qpn);
    return cost;
  }
  return -1;
}

void tx_sched::report_answered(cycle_t t) {
  if (answered_.empty()) {
    return;
  }
  if (!ports_.answered.has_credit(t)) {
    ports_.answered.ask_credit(t);
    return;
  }
  ports_.answered.push(t, 1, answered_.pop());
  if (!answered_.empty()) {
    wake(t + 1);
  }
}

void tx_sched::report_failures(cycle_t t) {
  if (failures_.empty()) {
    return;
  }
  if (!ports_.failures.has_credit(t)) {
    ports_.failures.ask_credit(t);
    return;
  }
  ports_.failures.push(t, 1, failures_.pop());
  if (!failures_.empty()) {
    wake(t + 1);
  }
}

}  // namespace carillon
