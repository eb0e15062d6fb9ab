#include "rx_mac/received_pauses.h"

#include <algorithm>

#include "rx_mac/pause_counters.h"

namespace carillon {

namespace {

/// A byte at 1 Gb/s takes 8 ns.
constexpr std::uint64_t PsOfByteAtOneGbps = 8000;

}  // namespace

received_pauses::received_pauses(const parameters& params, counter_block& counters)
    : counters_(counters),
      with_pfc_(static_cast<std::uint8_t>(params.nic.pfc_priorities)),
      gbps_(static_cast<std::uint64_t>(params.wire.rate_gbps)),
      period_(static_cast<ps_t>(params.core.clock_period_ps)) {}

void received_pauses::apply(cycle_t t, const pfc& request) {
  for (unsigned i = 0; i < PriorityCount; ++i) {
    if ((request.enable >> i & 1) == 0) {
      continue;
    }
    counters_.add(RxPause[i]);
    if ((with_pfc_ >> i & 1) == 0) {
      continue;
    }
    const ps_t time = pause_bytes(request.quanta[i]) * PsOfByteAtOneGbps / gbps_;
    if (time == 0) {
      end(t, i);
      continue;
    }
    pauses_[i].until = t + (time + period_ - 1) / period_;
    if ((paused_ >> i & 1) == 0) {
      counters_.add(RxPauseTransition[i]);
      pauses_[i].since = t;
      paused_ |= static_cast<std::uint8_t>(1U << i);
    }
  }
}

void received_pauses::end(cycle_t t, unsigned priority) {
  if ((paused_ >> priority & 1) != 0) {
    pause& over = pauses_[priority];
    counters_.add(RxPauseDuration[priority],
                  whole_microseconds(over.counted_ps, (t - over.since) * period_));
    paused_ &= static_cast<std::uint8_t>(~(1U << priority));
  }
}

void received_pauses::expire(cycle_t t) {
  for (unsigned i = 0; paused_ != 0 && i < PriorityCount; ++i) {
    if (pauses_[i].until <= t) {
      end(t, i);
    }
  }
}

cycle_t received_pauses::next() const {
  cycle_t first = NeverCycle;
  for (unsigned i = 0; i < PriorityCount; ++i) {
    if ((paused_ >> i & 1) != 0) {
      first = std::min(first, pauses_[i].until);
    }
  }
  return first;
}

}  // namespace carillon
