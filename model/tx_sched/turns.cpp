// tx_sched: the turns of functions.
#include <algorithm>

#include "common/packet_opcode.h"
#include "tx_sched.h"

namespace carillon {

void tx_sched::look_at_vports(cycle_t t) {
  const std::uint64_t changes = ports_.vports.changes(t);
  if (changes == vports_seen_) {
    return;
  }
  vports_seen_ = changes;
  const vport_table& table = ports_.vports.read(t);
  CARILLON_CHECK(table.size() == senders_.size(), "{}: {} functions have become {} in cycle {}",
                 path(), senders_.size(), table.size(), t);
  for (std::uint16_t i = 0; i < senders_.size(); ++i) {
    if (functions_.throttled(i)) {
      fronts_wait_for(t, i, weight_reason_);
    }
  }
  functions_.configure(t, table);
  for (std::uint16_t i = 0; i < senders_.size(); ++i) {
    if (functions_.throttled(i)) {
      fronts_wait_for(t, i, rate_reason_);
    } else {
      leave_if_done(i);
    }
  }
}

/// Those come back whose rate lets them.
void tx_sched::let_in(cycle_t t) {
  for (std::uint32_t i = functions_.take_opened(t); i != NoNumber; i = functions_.take_opened(t)) {
    const auto function = static_cast<std::uint16_t>(i);
    fronts_wait_for(t, function, weight_reason_);
    if (!senders_[function].empty()) {
      enter(t, function);
    }
  }
}

bool tx_sched::grant_function(cycle_t t) {
  next_work_ = NeverCycle;
  std::uint16_t granted = 0;
  const bool any = functions_.serve(t, [this, t, &granted](std::uint16_t function) {
    granted = function;
    return offer(t, function);
  });
  if (!any) {
    if (next_work_ != NeverCycle) {
      wake(next_work_);
    }
    return false;
  }
  leave_if_done(granted);
  if (functions_.throttled(granted)) {
    fronts_wait_for(t, granted, rate_reason_);
  }
  return true;
}

/// It is the function's turn: bytes on the wire, -1 if it has nothing that can go.
std::int64_t tx_sched::offer(cycle_t t, std::uint16_t function) {
  sender& from = senders_[function];
  std::int64_t sent = grant_read(t, from);
  if (sent < 0) {
    sent = grant_request(t, from);
  }
  if (sent < 0) {
    leave_if_done(function);
  }
  return sent;
}

void tx_sched::enter(cycle_t t, std::uint16_t function) {
  if (functions_.enter(t, function)) {
    fronts_wait_for(t, function, rate_reason_);
  }
}

void tx_sched::leave_if_done(std::uint16_t function) {
  if (senders_[function].empty()) {
    functions_.leave(function);
  }
}

/// Those whose turn it would be wait for the function; the ones behind them for their turn.
void tx_sched::fronts_wait_for(cycle_t t, std::uint16_t function, name_id reason) {
  const sender& from = senders_[function];
  if (!from.reads.empty() && !responses_[from.reads.first].empty()) {
    responses_[from.reads.first].front().history.waits_for(context_, site(), t, reason);
  }
  if (!from.requests.empty()) {
    queues_[from.requests.first].works.front().next.waits_for(context_, site(), t, reason);
  }
}

/// Bytes on the wire, if they matter.
std::uint32_t tx_sched::cost_of(const packet_item& packet) const {
  if (!functions_.charged(packet.function)) {
    return 0;
  }
  const sched_queue& queue = queues_[packet.qpn];
  return wire_bytes(packet, queue.ipv6, queue.tagged || functions_.tagged(packet.function));
}

}  // namespace carillon
