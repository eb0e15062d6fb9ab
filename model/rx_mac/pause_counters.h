// The counters of PFC by priority.
#pragma once

#include <array>

#include "common/pfc_frame.h"
#include "gen/counters.h"

namespace carillon {

using priority_counter = std::array<counter, PriorityCount>;

inline constexpr priority_counter RxPause = {
    counter::RxPrio0Pause, counter::RxPrio1Pause, counter::RxPrio2Pause, counter::RxPrio3Pause,
    counter::RxPrio4Pause, counter::RxPrio5Pause, counter::RxPrio6Pause, counter::RxPrio7Pause};

inline constexpr priority_counter RxPauseTransition = {
    counter::RxPrio0PauseTransition, counter::RxPrio1PauseTransition,
    counter::RxPrio2PauseTransition, counter::RxPrio3PauseTransition,
    counter::RxPrio4PauseTransition, counter::RxPrio5PauseTransition,
    counter::RxPrio6PauseTransition, counter::RxPrio7PauseTransition};

inline constexpr priority_counter RxPauseDuration = {
    counter::RxPrio0PauseDuration, counter::RxPrio1PauseDuration, counter::RxPrio2PauseDuration,
    counter::RxPrio3PauseDuration, counter::RxPrio4PauseDuration, counter::RxPrio5PauseDuration,
    counter::RxPrio6PauseDuration, counter::RxPrio7PauseDuration};

inline constexpr priority_counter TxPause = {
    counter::TxPrio0Pause, counter::TxPrio1Pause, counter::TxPrio2Pause, counter::TxPrio3Pause,
    counter::TxPrio4Pause, counter::TxPrio5Pause, counter::TxPrio6Pause, counter::TxPrio7Pause};

inline constexpr priority_counter TxPauseDuration = {
    counter::TxPrio0PauseDuration, counter::TxPrio1PauseDuration, counter::TxPrio2PauseDuration,
    counter::TxPrio3PauseDuration, counter::TxPrio4PauseDuration, counter::TxPrio5PauseDuration,
    counter::TxPrio6PauseDuration, counter::TxPrio7PauseDuration};

/// Adds a time to a counter of microseconds; `rest` keeps what is less than one.
inline std::uint64_t whole_microseconds(std::uint64_t& rest, ps_t time) {
  constexpr std::uint64_t PsPerUs = 1'000'000;
  rest += time;
  const std::uint64_t whole = rest / PsPerUs;
  rest %= PsPerUs;
  return whole;
}

}  // namespace carillon
