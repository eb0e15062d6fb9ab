#include "rx_mac/asked_pauses.h"

#include <algorithm>
#include <bit>

#include "gen/stages.h"
#include "rx_mac/pause_counters.h"

namespace carillon {

namespace {

/// A byte at 1 Gb/s takes 8 ns.
constexpr std::uint64_t PsOfByteAtOneGbps = 8000;
constexpr std::uint64_t PsPerMs = 1'000'000'000;
constexpr std::uint64_t WarningPercent = 85;
/// From the decision to the first bit: the hop to tx_mac, and what that takes.
constexpr cycle_t OwnCycles = 1 + stage_spec::tx_mac::Latency;

constexpr std::uint8_t bit_of(unsigned priority) {
  return static_cast<std::uint8_t>(1U << priority);
}

}  // namespace

std::uint64_t nic_headroom_bytes(const parameters& params) {
  constexpr std::uint64_t Gap = PreambleBytes + InterPacketGapBytes;
  const std::uint64_t frame =
      static_cast<std::uint64_t>(params.wire.ethernet_mtu) + eth::Size + vlan_tag::Size + FcsBytes;
  const auto gbps = static_cast<std::uint64_t>(params.wire.rate_gbps);
  const ps_t times = 2 * static_cast<ps_t>(params.wire.delay_ps) +
                     OwnCycles * static_cast<ps_t>(params.core.clock_period_ps);
  return frame + 2 * (frame + Gap) + MinFrameBytes + FcsBytes +
         pause_bytes(standard_response_quanta(gbps)) +
         (times * gbps + PsOfByteAtOneGbps - 1) / PsOfByteAtOneGbps;
}

asked_pauses::asked_pauses(const parameters& params, counter_block& counters)
    : counters_(counters),
      with_pfc_(static_cast<std::uint8_t>(params.nic.pfc_priorities)),
      period_(static_cast<ps_t>(params.core.clock_period_ps)),
      buffer_(static_cast<std::uint64_t>(params.nic.rx_buffer_bytes)),
      refresh_(pause_bytes(LongestPause) * PsOfByteAtOneGbps /
               static_cast<std::uint64_t>(params.wire.rate_gbps) / 2 / period_) {
  const auto sharers = static_cast<std::uint64_t>(std::popcount(with_pfc_));
  if (sharers != 0) {
    const std::uint64_t share = buffer_ / sharers;
    const auto xoff = static_cast<std::uint64_t>(params.nic.pfc_xoff_bytes);
    xoff_ = xoff != 0 ? xoff : share - std::min(nic_headroom_bytes(params), share / 2);
    reserve_ = share > xoff_ ? share - xoff_ : 0;
    all_reserves_ = sharers * reserve_;
    const auto xon = static_cast<std::uint64_t>(params.nic.pfc_xon_bytes);
    xon_ = xon != 0 ? std::min(xon, xoff_) : xoff_ / 2;
  }
  if (params.nic.pfc_stall_ms != 0) {
    stall_ = static_cast<std::uint64_t>(params.nic.pfc_stall_ms) * PsPerMs / period_;
    warning_ = stall_ * WarningPercent / 100;
  }
}

bool asked_pauses::has_room(unsigned priority, std::uint64_t bytes, std::uint64_t held) const {
  if (has_pfc(priority)) {
    return held + bytes <= buffer_;
  }
  std::uint64_t kept = 0;
  for (unsigned i = 0; full_ != 0 && i < PriorityCount; ++i) {
    if ((full_ & bit_of(i)) != 0) {
      kept += xoff_ + reserve_ - std::min(of_[i].held, xoff_ + reserve_);
    }
  }
  return held + bytes + kept <= buffer_;
}

void asked_pauses::add(unsigned priority, std::uint64_t bytes, std::uint64_t held) {
  if (!has_pfc(priority)) {
    return;
  }
  of_[priority].held += bytes;
  if (of_[priority].held >= xoff_ || held + all_reserves_ > buffer_) {
    full_ |= bit_of(priority);
  }
}

void asked_pauses::remove(unsigned priority, std::uint64_t bytes, std::uint64_t held) {
  if (has_pfc(priority)) {
    of_[priority].held -= bytes;
  }
  for (unsigned i = 0; full_ != 0 && i < PriorityCount; ++i) {
    if ((full_ & bit_of(i)) != 0 && of_[i].held <= xon_ && held + all_reserves_ <= buffer_) {
      full_ &= static_cast<std::uint8_t>(~bit_of(i));
    }
  }
}

void asked_pauses::force(unsigned priority, cycle_t from, cycle_t to) {
  storms_.push_back({priority, from, to});
}

void asked_pauses::look(cycle_t t) {
  forced_ = 0;
  for (const storm& each : storms_) {
    forced_ |= each.from <= t && t < each.to ? bit_of(each.priority) : 0;
  }
  given_up_ &= static_cast<std::uint8_t>(full_ | forced_);
  for (unsigned i = 0; wanted() != 0 && i < PriorityCount; ++i) {
    asked& of = of_[i];
    if ((wanted() & told_ & bit_of(i)) == 0) {
      continue;
    }
    if (!of.warned && t - of.since >= warning_) {
      of.warned = true;
      counters_.add(counter::TxPauseStormWarningEvents);
    }
    if (t - of.since >= stall_) {
      given_up_ |= bit_of(i);
      counters_.add(counter::TxPauseStormErrorEvents);
    }
  }
}

std::optional<pfc> asked_pauses::due(cycle_t t) const {
  const std::uint8_t want = wanted();
  std::uint8_t about = want ^ told_;
  if (refresh_at_ <= t) {
    about |= want;
  }
  if (about == 0) {
    return std::nullopt;
  }
  pfc request;
  request.enable = about;
  for (unsigned i = 0; i < PriorityCount; ++i) {
    request.quanta[i] = (want & about & bit_of(i)) != 0 ? LongestPause : 0;
  }
  return request;
}

void asked_pauses::sent(cycle_t t, const pfc& request) {
  for (unsigned i = 0; i < PriorityCount; ++i) {
    if ((request.enable >> i & 1) == 0) {
      continue;
    }
    counters_.add(TxPause[i]);
    asked& of = of_[i];
    const bool was = (told_ & bit_of(i)) != 0;
    const bool now = request.quanta[i] != 0;
    if (now && !was) {
      of.since = t;
      of.warned = false;
      told_ |= bit_of(i);
    } else if (!now && was) {
      counters_.add(TxPauseDuration[i],
                    whole_microseconds(of.counted_ps, (t - of.since) * period_));
      told_ &= static_cast<std::uint8_t>(~bit_of(i));
    }
  }
  // All that are paused are asked for again together.
  if (told_ == 0) {
    refresh_at_ = NeverCycle;
  } else if (refresh_at_ == NeverCycle || refresh_at_ <= t) {
    refresh_at_ = t + refresh_;
  }
}

cycle_t asked_pauses::next(cycle_t t) const {
  cycle_t first = refresh_at_ > t ? refresh_at_ : NeverCycle;  // one that is due waits for credits
  for (const storm& each : storms_) {
    if (each.from > t) {
      first = std::min(first, each.from);
    } else if (each.to > t) {
      first = std::min(first, each.to);
    }
  }
  for (unsigned i = 0; i < PriorityCount; ++i) {
    if ((wanted() & told_ & bit_of(i)) != 0 && stall_ != NeverCycle) {
      first = std::min(first, of_[i].since + (of_[i].warned ? stall_ : warning_));
    }
  }
  return first;
}

}  // namespace carillon
