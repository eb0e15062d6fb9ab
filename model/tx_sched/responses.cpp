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
  if (waiting.listed || waiting.empty()) {
    return;
  }
  if (!waiting.grantable()) {
    waiting.front().history.waits_for(context_, site(), t, overtake_reason_);
    return;
  }
  waiting.front().history.waits_for(context_, site(), t, weight_reason_);
  waiting.listed = true;
  (waiting.reads() ? reads_ : controls_).push(qpn);
}

bool tx_sched::grant_control(cycle_t t) {
  while (!controls_.empty()) {
    const std::uint32_t qpn = controls_.front();
    sched_responses& waiting = responses_[qpn];
    if (waiting.empty() || waiting.reads()) {  // it was reset
      controls_.pop();
      waiting.listed = false;
      line_up(t, qpn);
      continue;
    }
    if (!ports_.direct.has_credit(t)) {
      ports_.direct.ask_credit(t);
      waiting.front().history.waits_for(context_, site(), t, direct_reason_);
      return false;
    }
    packet_item packet;
    packet.trace = waiting.front().history.wait_until(context_, site(), t);
    packet.order = order_++;
    waiting.cut(packet);
    ports_.direct.push(t, spec::Latency, std::move(packet));
    controls_.pop();
    waiting.listed = false;
    line_up(t, qpn);
    return true;
  }
  return false;
}

bool tx_sched::grant_read(cycle_t t) {
  while (!reads_.empty()) {
    const std::uint32_t qpn = reads_.front();
    sched_responses& waiting = responses_[qpn];
    if (waiting.empty() || !waiting.reads() || !waiting.grantable()) {  // reset, or it failed
      reads_.pop();
      waiting.listed = false;
      line_up(t, qpn);
      continue;
    }
    held_response& front = waiting.front();
    const bool fetched = front.item.length != 0;
    stream<packet_item>& output = fetched ? ports_.payload : ports_.direct;
    if (!output.has_credit(t)) {
      output.ask_credit(t);
      front.history.waits_for(context_, site(), t, fetched ? payload_reason_ : direct_reason_);
      return false;
    }
    packet_item packet;
    packet.trace = front.history.wait_until(context_, site(), t);
    packet.order = order_++;
    // The next packet waited for those before it, now for its turn.
    if (!waiting.cut(packet)) {
      front.history = held_history(packet.trace, t, weight_reason_);
    }
    output.push(t, spec::Latency, std::move(packet));
    if (fetched) {
      waiting.to_payload();
    }
    nic_.counters.add(counter::TxReadResponses);
    reads_.pop();
    waiting.listed = false;
    line_up(t, qpn);
    return true;
  }
  return false;
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
