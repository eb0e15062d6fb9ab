// tx_sched: what the responder wants to send.
#include <algorithm>
#include <utility>

#include "tx_sched/tx_sched_rules.h"

namespace carillon {

namespace {

namespace spec = stage_spec::tx_sched;

}  // namespace

void tx_sched_rules::hold_response(cycle_t t, const response_item& item) {
  if (queues_[item.qpn].reset) {
    return;
  }
  CARILLON_CHECK(item.function < functions_.size(), "{}: an answer of function {} in cycle {}",
                 ports_.acknowledges.name(), item.function, t);
  sched_responses& waiting = responses_[item.qpn];
  const name_id reason = waiting.empty() ? weight_reason_ : order_reason_;
  if (!waiting.add(item, held_history(item.trace, t, reason))) {
    nic_.counters.add(counter::AcksCoalesced);
    return;
  }
  ++responses_held_;
  line_up(t, item.qpn);
}

/// Puts the QP in line if its next response may go; else its packets in payload_dma will.
void tx_sched_rules::line_up(cycle_t t, std::uint32_t qpn) {
  const sched_responses& waiting = responses_[qpn];
  if (line_for(t, qpn) == response_line::reads && reads_.push(waiting.function, qpn)) {
    enter(t, waiting.function);
  }
}

/// The line that the QP joins; that of READ data the caller has to put it in.
response_line tx_sched_rules::line_for(cycle_t t, std::uint32_t qpn) {
  sched_responses& waiting = responses_[qpn];
  if (waiting.in != response_line::none || waiting.empty() || waiting.stopped) {
    return response_line::none;
  }
  if (!waiting.grantable()) {
    waiting.front().history.waits_for(context_, site(), t, overtake_reason_);
    return response_line::none;
  }
  waiting.front().history.waits_for(context_, site(), t, weight_reason_);
  if (!waiting.reads()) {
    waiting.in = response_line::controls;
    controls_.push(qpn);
    return waiting.in;
  }
  if (rate_closed(t, qpn)) {
    waiting.front().history.waits_for(context_, site(), t, rate_reason_);
    return response_line::none;
  }
  waiting.in = response_line::reads;
  waiting.function = waiting.front().item.function;
  return waiting.in;
}

/// What it stood in line for is gone.
void tx_sched_rules::leave_line(std::uint32_t qpn) {
  sched_responses& waiting = responses_[qpn];
  if (waiting.in == response_line::reads) {
    waiting.in = response_line::none;
    reads_.erase(qpn);
    doubtful_.push(waiting.function);
  }
}

/// The QP was reset.
void tx_sched_rules::forget_responses(std::uint32_t qpn) {
  sched_responses& waiting = responses_[qpn];
  responses_held_ -= waiting.size();
  ends_ -= waiting.ends();
  waiting.reset();
  leave_line(qpn);
}

/// The responder can be told of it when its answer has left.
bool tx_sched_rules::room_to_answer(std::uint32_t qpn) const {
  const sched_responses& waiting = responses_[qpn];
  return !waiting.front().item.saved || !waiting.ending() || ends_ + answered_.size() < spec::Saved;
}

packet_item tx_sched_rules::response_of(cycle_t t, std::uint32_t qpn) {
  sched_responses& waiting = responses_[qpn];
  held_response& front = waiting.front();
  const response_item item = front.item;
  packet_item packet;
  packet.trace = front.history.wait_until(context_, site(), t);
  packet.order = order_++;
  packet.life = static_cast<std::uint8_t>(queues_[qpn].lives);
  // The next packet waited for those before it, now for its turn.
  if (waiting.cut(packet)) {
    --responses_held_;
  } else {
    front.history = held_history(packet.trace, t, weight_reason_);
  }
  if (packet.payload != 0) {
    const bool ends = item.saved && packet.last;
    waiting.to_payload(ends, item.generation);
    ++reads_inside_;
    ends_ += ends ? 1 : 0;
  } else if (item.saved) {
    answered_.push({{}, qpn, item.generation});
  }
  return packet;
}

/// True if the cycle is used: by an answer, by a QP that has to stop, or by one that had stood in
/// line in a former life.
bool tx_sched_rules::grant_control(cycle_t t) {
  if (controls_.empty()) {
    return false;
  }
  const std::uint32_t qpn = controls_.front();
  sched_responses& waiting = responses_[qpn];
  if (waiting.empty() || waiting.reads() || !waiting.grantable()) {  // it was reset
    controls_.pop();
    waiting.in = response_line::none;
    line_up(t, qpn);
    return true;
  }
  if (paused(t, qpn, waiting.front().item.function)) {
    controls_.pop();
    stop_responses(t, qpn);
    return true;
  }
  if (!ports_.direct.has_credit(t)) {
    ports_.direct.ask_credit(t);
    waiting.front().history.waits_for(context_, site(), t, direct_reason_);
    return false;
  }
  if (!room_to_answer(qpn)) {
    waiting.front().history.waits_for(context_, site(), t, answered_reason_);
    return false;
  }
  packet_item packet = response_of(t, qpn);
  functions_.charge(t, packet.function, cost_of(packet));
  ports_.direct.reserve(t, 1);
  direct.push({std::move(packet), t, t + spec::Latency});
  controls_.pop();
  waiting.in = response_line::none;
  line_up(t, qpn);
  return true;
}

/// Bytes on the wire; -1 if the function has no READ data that can go. The first QP in line that
/// can send does.
std::int64_t tx_sched_rules::grant_read(cycle_t t, std::uint16_t function) {
  std::uint32_t behind = NoNumber;
  for (std::uint32_t qpn = reads_.first(function); qpn != NoNumber; qpn = behind) {
    behind = reads_.behind(qpn);
    const std::int64_t bytes = try_read(t, qpn, function);
    if (bytes >= 0) {
      return bytes;
    }
  }
  return -1;
}

std::int64_t tx_sched_rules::try_read(cycle_t t, std::uint32_t qpn, std::uint16_t function) {
  sched_responses& waiting = responses_[qpn];
  held_response& front = waiting.front();
  if (rate_closed(t, qpn)) {
    reads_.erase(qpn);
    waiting.in = response_line::none;
    front.history.waits_for(context_, site(), t, rate_reason_);
    return -1;
  }
  const bool fetched = front.item.length != 0;
  stream<packet_item>& output = fetched ? ports_.payload : ports_.direct;
  if (!output.has_credit(t)) {
    output.ask_credit(t);
    front.history.waits_for(context_, site(), t, fetched ? payload_reason_ : direct_reason_);
    return -1;
  }
  const unsigned may_fail = std::min(reads_inside_, stage_spec::payload_dma::LeftDepth);
  if (!room_to_answer(qpn) || may_fail + failures_.size() >= spec::Failures) {
    front.history.waits_for(context_, site(), t, answered_reason_);
    return -1;
  }
  if (paused(t, qpn, function)) {
    reads_.erase(qpn);
    stop_responses(t, qpn);
    return 0;
  }
  packet_item packet = response_of(t, qpn);
  const std::uint32_t cost = cost_of(packet);
  charge_rate(t, packet);
  output.reserve(t, 1);
  (fetched ? payload : direct).push({std::move(packet), t, t + spec::Latency});
  nic_.counters.add(counter::TxReadResponses);
  reads_.erase(qpn);
  waiting.in = response_line::none;
  line_up(t, qpn);
  return cost;
}

void tx_sched_rules::report_answered(cycle_t t) {
  if (answered_.empty()) {
    return;
  }
  if (!ports_.answered.has_credit(t)) {
    ports_.answered.ask_credit(t);
    return;
  }
  ports_.answered.reserve(t, 1);
  const bool full = ends_ + answered_.size() >= spec::Saved;
  answered.push({answered_.pop(), t, t + 1});
  if (full || !answered_.empty()) {
    wake(t + 1);
  }
}

void tx_sched_rules::report_failures(cycle_t t) {
  if (failures_.empty()) {
    return;
  }
  if (!ports_.failures.has_credit(t)) {
    ports_.failures.ask_credit(t);
    return;
  }
  ports_.failures.reserve(t, 1);
  failures.push({failures_.pop(), t, t + 1});
  if (!failures_.empty()) {
    wake(t + 1);
  }
}

}  // namespace carillon
