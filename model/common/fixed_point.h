// The numbers of rate control as the chip holds them. Products are truncated toward zero, increases
// are rounded up.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace carillon {

/// Bytes a nanosecond with 24 bits behind the point: 0.477 kb/s apart, up to 2.05 Tb/s.
using wire_rate = std::uint32_t;

/// 24 bits behind the point and none before it: 1 is the largest of them.
using fraction = std::uint32_t;

inline constexpr unsigned FractionBits = 24;
inline constexpr std::uint32_t FractionOne = 1U << FractionBits;  ///< a weight may be 1
inline constexpr fraction FractionMax = FractionOne - 1;
inline constexpr wire_rate RateMax = std::numeric_limits<wire_rate>::max();

/// To the nearest; what is beyond the format is its largest.
constexpr wire_rate rate_of_mbps(std::uint64_t mbps) {
  constexpr std::uint64_t MbpsPerByteNs = 8000;
  constexpr std::uint64_t Highest = std::uint64_t{MbpsPerByteNs} << 8;
  if (mbps >= Highest) {
    return RateMax;
  }
  return static_cast<wire_rate>(((mbps << FractionBits) + MbpsPerByteNs / 2) / MbpsPerByteNs);
}

constexpr double mbps_of(wire_rate rate) {
  return rate * 8000.0 / FractionOne;
}

/// `part` of `whole`, to the nearest; the whole is 1, or the largest fraction.
constexpr fraction fraction_of(std::uint64_t part, std::uint64_t whole) {
  const std::uint64_t nearest = ((part << FractionBits) + whole / 2) / whole;
  return static_cast<fraction>(std::min<std::uint64_t>(nearest, FractionMax));
}

constexpr std::uint32_t truncated(std::uint64_t factor, std::uint64_t other, unsigned bits) {
  return static_cast<std::uint32_t>((factor * other) >> bits);
}

constexpr std::uint32_t rounded_up(std::uint64_t factor, std::uint64_t other, unsigned bits) {
  return static_cast<std::uint32_t>((factor * other + ((std::uint64_t{1} << bits) - 1)) >> bits);
}

constexpr wire_rate saturated(std::uint64_t rate) {
  return static_cast<wire_rate>(std::min<std::uint64_t>(rate, RateMax));
}

}  // namespace carillon
