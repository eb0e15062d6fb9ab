// Time and identity types shared by every layer.
#pragma once

#include <cstdint>
#include <limits>

namespace carillon {

/// A core clock cycle, counted from the start of the run. Cycle n begins at n * period.
using cycle_t = std::uint64_t;

/// Absolute time or a duration in picoseconds, the time base of the whole simulation.
using ps_t = std::uint64_t;

/// "No such cycle is known": what a component without anything to wait for re-arms to.
inline constexpr cycle_t NeverCycle = std::numeric_limits<cycle_t>::max();

/// "No such time is known".
inline constexpr ps_t NeverPs = std::numeric_limits<ps_t>::max();

}  // namespace carillon
