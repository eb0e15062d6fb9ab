// When the wire's serializer can take another frame, in cycles: for the twin of tx_mac, which knows
// of the serializer only what it sent itself.
//
// A byte takes cost / credit cycles. What is owed is a number of credits, so nothing is rounded.
#pragma once

#include <cstdint>
#include <numeric>

#include "common/types.h"
#include "gen/params.h"
#include "gen/wire.h"

namespace carillon {

class tx_pacer {
 public:
  explicit tx_pacer(const parameters& params)
      : tx_pacer(static_cast<std::uint32_t>(params.wire.rate_gbps),
                 static_cast<std::uint32_t>(params.core.clock_period_ps)) {}

  [[nodiscard]] std::uint32_t byte_cost() const { return byte_cost_; }

  [[nodiscard]] std::uint32_t cycle_credit() const { return cycle_credit_; }

  /// A frame whose first beat is taken in cycle t would find the serializer busy in the whole cycle
  /// of its first bit.
  [[nodiscard]] bool busy(cycle_t t) const { return owed(t) >= cycle_credit_; }

  /// The serializer is not free by the very time of the first bit.
  [[nodiscard]] bool owes(cycle_t t) const { return owed(t) != 0; }

  /// The first beat of a frame of `length` bytes is taken in cycle t.
  void take(cycle_t t, std::uint64_t length) {
    owed_ = owed(t) + (length + Overhead) * byte_cost_;
    since_ = t;
  }

 private:
  /// A byte at 1 Gb/s takes 8 ns.
  static constexpr std::uint32_t PsOfByteAtOneGbps = 8000;
  static constexpr std::uint64_t Overhead = FcsBytes + PreambleBytes + InterPacketGapBytes;

  tx_pacer(std::uint32_t rate_gbps, std::uint32_t period_ps)
      : byte_cost_(PsOfByteAtOneGbps / std::gcd(PsOfByteAtOneGbps, rate_gbps)),
        cycle_credit_(rate_gbps / std::gcd(PsOfByteAtOneGbps, rate_gbps) * period_ps) {}

  [[nodiscard]] std::uint64_t owed(cycle_t t) const {
    const std::uint64_t paid = (t - since_) * cycle_credit_;
    return owed_ > paid ? owed_ - paid : 0;
  }

  std::uint32_t byte_cost_;
  std::uint32_t cycle_credit_;
  std::uint64_t owed_ = 0;
  cycle_t since_ = 0;
};

}  // namespace carillon
