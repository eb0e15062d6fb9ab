// tx_sched: what rate control says of a QP, and what it is told.
#include <cstring>
#include <utility>

#include "common/packet_opcode.h"
#include "gen/wire.h"
#include "tx_sched/tx_sched_rules.h"

namespace carillon {

namespace {

namespace spec = stage_spec::tx_sched;

}  // namespace

void tx_sched_rules::limit(cycle_t t, const rate_limit& item) {
  if (item.kind == limit_kind::cnp) {
    cnps_.push(item);
    return;
  }
  sched_queue& queue = queues_[item.qpn];
  CARILLON_CHECK(
      queue.rate_slot == item.slot || (item.rate != 0 && queue.rate_slot == qp_rates::NoSlot),
      "{}: QP {} has its rate in context {}, and is told of {} in cycle {}", ports_.limits->name(),
      item.qpn, queue.rate_slot, item.slot, t);
  if (item.rate != 0) {
    queue.rate_slot = item.slot;
    rates_.set(t, item.slot, item.qpn, item.rate);
    return;
  }
  queue.rate_slot = qp_rates::NoSlot;
  if (rates_.release(item.slot)) {
    back_ = item.qpn;
  }
}

/// The QP's rate keeps it from sending now: it waits for that.
bool tx_sched_rules::rate_closed(cycle_t t, std::uint32_t qpn) {
  const std::uint16_t slot = queues_[qpn].rate_slot;
  if (slot == qp_rates::NoSlot || !rates_.closed(t, slot)) {
    return false;
  }
  rates_.wait(t, slot);
  return true;
}

/// What the QP sends counts for its rate.
void tx_sched_rules::charge_rate(cycle_t t, const packet_item& packet) {
  const sched_queue& queue = queues_[packet.qpn];
  if (queue.rate_slot == qp_rates::NoSlot) {
    return;
  }
  const std::uint32_t bytes = wire_bytes_of(packet);
  rates_.charge(t, queue.rate_slot, bytes);
  ports_.charges->reserve(t, 1);
  charges.push({{{}, queue.rate_slot, packet.qpn, bytes}, t, t + 1});
}

/// One QP a cycle comes back that has stood aside: that has lost its rate, whose priority may send
/// again, or whose rate lets it go on. For that the buckets count as they are before the grant.
void tx_sched_rules::choose_back(cycle_t t) {
  if (back_ == NoNumber && (stopped_ & ~halted(t)) == 0) {
    back_ = rates_.take_opened(t);
  }
}

/// It stands behind those that wait for a place; who waited for its rate with its requests and its
/// READ responses.
void tx_sched_rules::come_back(cycle_t t) {
  const std::uint32_t qpn = std::exchange(back_, NoNumber);
  if (qpn == NoNumber) {
    let_go(t);
    return;
  }
  if (line_for(t, qpn) == response_line::reads) {
    reads_.queue(responses_[qpn].function, qpn);
  }
  if (unpark(t, qpn)) {
    requests_.queue(queues_[qpn].function, qpn);
  }
  wake(t + 1);
}

/// CNPs go before everything, unless their priority is paused. True if the cycle is used.
bool tx_sched_rules::grant_cnp(cycle_t t) {
  if (cnps_.empty() || (halted(t) >> cnps_.front().priority & 1) != 0) {
    return false;
  }
  if (!ports_.direct.has_credit(t)) {
    ports_.direct.ask_credit(t);
    return false;
  }
  const rate_limit item = cnps_.pop();
  const sched_queue& queue = queues_[item.qpn];
  if (queue.reset) {
    return true;
  }
  packet_item packet;
  packet.source = packet_source::acknowledge;
  packet.wqe_opcode = static_cast<std::uint8_t>(bth_opcode::Cnp);
  packet.order = order_++;
  packet.function = item.function;
  packet.qpn = item.qpn;
  packet.life = static_cast<std::uint8_t>(queue.lives);
  packet.first = true;
  packet.last = true;
  packet.syndrome = item.dscp;
  packet.msn = item.priority;
  packet.payload = CnpPayloadBytes;
  packet.is_inline = true;
  packet.body = nic_.buffers.take();
  std::memset(packet.body.data(), 0, CnpPayloadBytes);
  functions_.charge(t, packet.function, cost_of(packet));
  nic_.counters.add_for(packet.function, counter::NpCnpSent);
  ports_.direct.reserve(t, 1);
  direct.push({std::move(packet), t, t + spec::Latency});
  return true;
}

}  // namespace carillon
