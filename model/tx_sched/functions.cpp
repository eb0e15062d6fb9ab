#include "tx_sched/functions.h"

#include <algorithm>

namespace carillon {

sched_functions::sched_functions(const std::vector<port_share>& shares, std::uint32_t largest,
                                 ps_t period)
    : largest_(largest),
      period_(period),
      functions_(shares.size(), participant(largest)),
      links_(shares.size()) {
  waiting_.reserve(shares.size());
  configure(0, shares);
}

std::vector<std::uint16_t> sched_functions::configure(cycle_t t,
                                                      const std::vector<port_share>& shares) {
  bool rearranged = lanes_.empty();
  std::vector<std::uint8_t> urgencies;
  for (std::size_t i = 0; i < functions_.size(); ++i) {
    rearranged = rearranged || functions_[i].urgency != shares[i].urgency;
    urgencies.push_back(shares[i].urgency);
  }
  std::sort(urgencies.begin(), urgencies.end());
  urgencies.erase(std::unique(urgencies.begin(), urgencies.end()), urgencies.end());
  // A bucket's rate may be another one, so who waits for it looks again.
  std::vector<std::uint16_t> entering;
  for (std::uint16_t i = 0; i < functions_.size(); ++i) {
    if (throttled(i) || (rearranged && functions_[i].at != place::out)) {
      entering.push_back(i);
      leave(i);
      functions_[i].at = place::out;
    }
  }
  waiting_.clear();
  if (rearranged) {
    lanes_.assign(urgencies.size(), lane{});
  }
  std::size_t enabled = 0;
  for (std::uint16_t i = 0; i < functions_.size(); ++i) {
    const port_share& share = shares[i];
    participant& each = functions_[i];
    enabled += share.enabled ? 1 : 0;
    each.tagged = share.tagged;
    each.urgency = share.urgency;
    each.lane = static_cast<std::uint8_t>(
        std::lower_bound(urgencies.begin(), urgencies.end(), each.urgency) - urgencies.begin());
    each.quantum = std::int64_t{largest_} * share.weight;
    each.balance = std::min(each.balance, rearranged ? 0 : each.quantum);
    each.round = rearranged ? 0 : each.round;
    each.bucket.set_rate(t * period_, share.max_rate_mbps);
  }
  alone_ = enabled <= 1;
  return entering;
}

bool sched_functions::enter(cycle_t t, std::uint16_t number) {
  participant& each = functions_[number];
  if (each.at != place::out) {
    return each.at == place::throttled;
  }
  if (each.bucket.limited()) {
    each.bucket.refill(t * period_);
    if (!each.bucket.open()) {
      throttle(number);
      return true;
    }
  }
  top_up(lanes_[each.lane], each);
  line_up(number);
  return false;
}

void sched_functions::leave(std::uint16_t number) {
  participant& each = functions_[number];
  if (each.at == place::due || each.at == place::spent) {
    take_out(number);
  }
  // Who waits for its rate keeps waiting for it: it would have to, should it come back.
}

void sched_functions::charge(cycle_t t, std::uint16_t number, std::uint32_t bytes) {
  participant& each = functions_[number];
  if (!each.bucket.limited()) {
    return;
  }
  each.bucket.refill(t * period_);
  each.bucket.charge(bytes);
  if (!each.bucket.open() && (each.at == place::due || each.at == place::spent)) {
    take_out(number);
    throttle(number);
  }
}

std::uint32_t sched_functions::take_opened(cycle_t t) {
  while (!waiting_.empty() && waiting_.front().cycle <= t) {
    std::pop_heap(waiting_.begin(), waiting_.end());
    const std::uint16_t number = waiting_.back().function;
    waiting_.pop_back();
    participant& each = functions_[number];
    each.at = place::out;
    each.bucket.refill(t * period_);
    if (each.bucket.open()) {
      return number;
    }
    throttle(number);  // something went out of turn meanwhile
  }
  return NoNumber;
}

// Rounds ----

/// It gets the quantum of the lane's round, once. Nothing is saved up over rounds.
void sched_functions::top_up(const lane& rounds, participant& each) {
  if (each.round != rounds.round) {
    each.round = rounds.round;
    each.balance = std::min(each.balance + each.quantum, each.quantum);
  }
}

void sched_functions::begin_rounds() {
  for (lane& each : lanes_) {
    if (each.due.empty() && !each.spent.empty()) {
      begin_round(each);
    }
  }
}

bool sched_functions::rounds_end() const {
  return std::any_of(lanes_.begin(), lanes_.end(),
                     [](const lane& each) { return each.due.empty() && !each.spent.empty(); });
}

/// Nobody has anything left of this one.
void sched_functions::begin_round(lane& rounds) {
  rounds.due = rounds.spent;
  rounds.spent = {};
  ++rounds.round;
  for (std::uint32_t i = rounds.due.first; i != NoNumber; i = links_.behind(i)) {
    functions_[i].at = place::due;
  }
}

/// It has sent, in its turn or because those whose turn it is could not. The latter begins a round
/// of its own.
void sched_functions::settle(cycle_t t, std::uint16_t number, std::uint32_t bytes) {
  participant& each = functions_[number];
  top_up(lanes_[each.lane], each);
  if (each.at == place::spent) {
    each.balance = std::min(each.balance + each.quantum, each.quantum);
  }
  each.balance -= bytes;
  if (each.bucket.limited()) {
    each.bucket.refill(t * period_);
    each.bucket.charge(bytes);
  }
  take_out(number);
  if (each.bucket.open()) {
    line_up(number);
  } else {
    throttle(number);
  }
}

void sched_functions::line_up(std::uint16_t number) {
  participant& each = functions_[number];
  lane& rounds = lanes_[each.lane];
  each.at = each.balance > 0 ? place::due : place::spent;
  links_.push(each.balance > 0 ? rounds.due : rounds.spent, number);
  ++listed_;
}

void sched_functions::take_out(std::uint16_t number) {
  participant& each = functions_[number];
  lane& rounds = lanes_[each.lane];
  links_.erase(each.at == place::due ? rounds.due : rounds.spent, number);
  each.at = place::out;
  --listed_;
}

void sched_functions::throttle(std::uint16_t number) {
  participant& each = functions_[number];
  each.at = place::throttled;
  const ps_t opens = each.bucket.opens();
  waiting_.push_back({(opens + period_ - 1) / period_, number});
  std::push_heap(waiting_.begin(), waiting_.end());
}

}  // namespace carillon
