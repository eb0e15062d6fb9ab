// Packet sequence numbers: 24 bits, compared within half their space.
#pragma once

#include <cstdint>

namespace carillon {

inline constexpr std::uint32_t PsnMask = 0xffffff;
inline constexpr std::uint32_t PsnHalf = 0x800000;

constexpr std::uint32_t psn_add(std::uint32_t psn, std::uint32_t packets) {
  return (psn + packets) & PsnMask;
}

/// From `from` on to `to`.
constexpr std::uint32_t psn_distance(std::uint32_t from, std::uint32_t to) {
  return (to - from) & PsnMask;
}

/// a before b.
constexpr bool psn_before(std::uint32_t a, std::uint32_t b) {
  return psn_distance(b, a) >= PsnHalf;
}

}  // namespace carillon
