// What counts of a virtual port for whoever shares the wire between functions.
#pragma once

#include <cstdint>
#include <vector>

#include "common/vport.h"

namespace carillon {

struct port_share {
  bool enabled = false;
  bool tagged = false;
  std::uint16_t weight = 0;
  std::uint8_t urgency = 0;
  std::uint8_t priority = 0;  ///< of its tag
  std::uint32_t max_rate_mbps = 0;

  bool operator==(const port_share&) const = default;
};

/// ... of all of them: weights and urgencies only if the arbitration asks for them.
std::vector<port_share> shares_of(const vport_table& table);

/// Bits behind the point of a rate in bytes a nanosecond.
inline constexpr unsigned RateFraction = 24;

/// A rate in Mb/s as such a fixed point number: what it adds in a picosecond, in thousandths of the
/// last bit of a byte.
constexpr std::int64_t rate_parts(std::uint32_t mbps) {
  constexpr std::uint64_t MbpsPerByteNs = 8000;
  return static_cast<std::int64_t>(((std::uint64_t{mbps} << RateFraction) + MbpsPerByteNs / 2) /
                                   MbpsPerByteNs);
}

}  // namespace carillon
