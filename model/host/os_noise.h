// What an operating system takes from the program of a core: timer ticks, interrupts of other
// devices, other threads. A seeded process for each core.
//
// With cpu.noise_tail = 0 both the time between interruptions and their length are uniform from 0
// to twice their mean. Above 1 the times between are exponential and the lengths Pareto with that
// exponent: most are short, some are very long.
#pragma once

#include <cstdint>
#include <string_view>

#include "common/random.h"
#include "common/types.h"
#include "gen/params.h"

namespace carillon {

class os_noise {
 public:
  os_noise(std::uint64_t seed, std::string_view path, const parameters& params);

  [[nodiscard]] bool active() const { return active_; }

  /// The interruption that ends after `now`, or the first one behind it.
  void advance(ps_t now);

  [[nodiscard]] ps_t begin() const { return begin_; }

  [[nodiscard]] ps_t end() const { return end_; }

 private:
  void draw();

  random_stream random_;
  const bool active_;
  const ps_t interval_;
  const ps_t duration_;
  const double tail_;
  ps_t begin_ = 0;
  ps_t end_ = 0;
};

}  // namespace carillon
