// The counters of one device, named in docs/spec/counters.toml: of the chip, and of each function
// those that can be put down to one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gen/counters.h"

namespace carillon {

class counter_block {
 public:
  /// Counts for the chip alone.
  void add(counter which, std::uint64_t amount = 1) {
    values_[static_cast<std::size_t>(which)] += amount;
  }

  /// Counts for the chip and for the function that caused it.
  void add_for(std::uint16_t function, counter which, std::uint64_t amount = 1) {
    add(which, amount);
    attribute(function, which, amount);
  }

  /// Puts down to a function what the chip has counted before its function was known.
  void attribute(std::uint16_t function, counter which, std::uint64_t amount = 1) {
    of(function)[static_cast<std::size_t>(which)] += amount;
  }

  [[nodiscard]] std::uint64_t value(counter which) const {
    return values_[static_cast<std::size_t>(which)];
  }

  [[nodiscard]] std::uint64_t value_for(std::uint16_t function, counter which) const {
    return function < functions_.size() ? functions_[function][static_cast<std::size_t>(which)] : 0;
  }

  /// A function starts afresh; the chip's totals stay.
  void reset(std::uint16_t function) {
    if (function < functions_.size()) {
      functions_[function] = {};
    }
  }

 private:
  using block = std::array<std::uint64_t, CounterCount>;

  block& of(std::uint16_t function) {
    if (function >= functions_.size()) {
      functions_.resize(function + std::size_t{1});
    }
    return functions_[function];
  }

  block values_{};
  std::vector<block> functions_;
};

}  // namespace carillon
