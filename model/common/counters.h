// The counters of one device, named in docs/spec/counters.toml.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "gen/counters.h"

namespace carillon {

class counter_block {
 public:
  void add(counter which, std::uint64_t amount = 1) {
    values_[static_cast<std::size_t>(which)] += amount;
  }

  [[nodiscard]] std::uint64_t value(counter which) const {
    return values_[static_cast<std::size_t>(which)];
  }

 private:
  std::array<std::uint64_t, CounterCount> values_{};
};

}  // namespace carillon
