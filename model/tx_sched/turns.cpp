// tx_sched: the turns of functions.
#include <algorithm>
#include <utility>
#include <vector>

#include "common/packet_opcode.h"
#include "tx_sched/tx_sched_rules.h"

namespace carillon {

void tx_sched_rules::look_at_vports(cycle_t t) {
  const std::uint64_t changes = ports_.vports.changes(t);
  if (changes == vports_seen_) {
    return;
  }
  vports_seen_ = changes;
  const vport_table& table = ports_.vports.read(t);
  CARILLON_CHECK(table.size() == functions_.size(), "{}: {} functions have become {} in cycle {}",
                 ports_.work.name(), functions_.size(), table.size(), t);
  std::vector<port_share> shares = shares_of(table);
  if (shares == shares_) {
    return;
  }
  shares_ = std::move(shares);
  for (std::uint16_t i = 0; i < functions_.size(); ++i) {
    if (functions_.throttled(i)) {
      fronts_wait_for(t, i, weight_reason_);
    }
  }
  for (const std::uint16_t i : functions_.configure(t, shares_)) {
    if (!nothing_of(i)) {
      enter(t, i);
    }
  }
  for (std::uint16_t i = 0; i < functions_.size(); ++i) {
    if (functions_.throttled(i)) {
      fronts_wait_for(t, i, rate_reason_);
    }
  }
}

/// Those come back whose rate lets them.
void tx_sched_rules::let_in(cycle_t t) {
  for (std::uint32_t i = functions_.take_opened(t); i != NoNumber; i = functions_.take_opened(t)) {
    const auto function = static_cast<std::uint16_t>(i);
    fronts_wait_for(t, function, weight_reason_);
    if (!nothing_of(function)) {
      enter(t, function);
    }
  }
}

bool tx_sched_rules::grant_function(cycle_t t) {
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
std::int64_t tx_sched_rules::offer(cycle_t t, std::uint16_t function) {
  std::int64_t bytes = grant_read(t, function);
  if (bytes < 0) {
    bytes = grant_request(t, function);
  }
  if (bytes < 0) {
    leave_if_done(function);
  }
  return bytes;
}

void tx_sched_rules::enter(cycle_t t, std::uint16_t function) {
  if (functions_.enter(t, function)) {
    fronts_wait_for(t, function, rate_reason_);
  }
}

void tx_sched_rules::leave_if_done(std::uint16_t function) {
  if (nothing_of(function)) {
    functions_.leave(function);
  }
}

/// Functions that have lost what they had to send.
void tx_sched_rules::sweep() {
  while (!doubtful_.empty()) {
    leave_if_done(doubtful_.pop());
  }
}

/// Those whose turn it would be wait for the function; the ones behind them for their turn.
void tx_sched_rules::fronts_wait_for(cycle_t t, std::uint16_t function, name_id reason) {
  if (!reads_.empty(function) && !responses_[reads_.first(function)].empty()) {
    responses_[reads_.first(function)].front().history.waits_for(context_, site(), t, reason);
  }
  if (!requests_.empty(function)) {
    queues_[requests_.first(function)].works.front().next.waits_for(context_, site(), t, reason);
  }
}

/// Who waits outside comes in, one a cycle.
void tx_sched_rules::admit(cycle_t t) {
  for (turn_lists* each : {&requests_, &reads_}) {
    if (!each->admits()) {
      continue;
    }
    if (const std::uint32_t qpn = each->admit(); qpn != NoNumber) {
      enter(t, each->owner_of(qpn));
    }
    wake(t + 1);
  }
}

/// Bytes on the wire, if they matter.
std::uint32_t tx_sched_rules::cost_of(const packet_item& packet) const {
  if (!functions_.charged(packet.function)) {
    return 0;
  }
  return wire_bytes_of(packet);
}

std::uint32_t tx_sched_rules::wire_bytes_of(const packet_item& packet) const {
  const sched_queue& queue = queues_[packet.qpn];
  return wire_bytes(packet, queue.ipv6, queue.tagged || functions_.tagged(packet.function));
}

}  // namespace carillon
