// Where the BARs of a device's functions lie: a level from pcie_endpoint, read by pcie_rx.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace carillon {

/// BAR0 registers, BAR2 UAR pages, BAR4 debug, in this order.
inline constexpr std::array<std::uint8_t, 3> BarNumbers = {0, 2, 4};

struct bar_window {
  std::uint64_t base = 0;
  std::uint64_t bytes = 0;  ///< 0: not there

  [[nodiscard]] bool holds(std::uint64_t address) const {
    return address >= base && address - base < bytes;
  }

  bool operator==(const bar_window&) const = default;
};

struct function_bars {
  std::array<bar_window, BarNumbers.size()> bars{};
  bool memory_enable = false;

  bool operator==(const function_bars&) const = default;
};

/// By function number.
using bar_map = std::vector<function_bars>;

struct bar_hit {
  bool hit = false;
  std::uint16_t function = 0;
  std::uint8_t bar = 0;
  std::uint64_t offset = 0;
};

inline bar_hit find_bar(const bar_map& map, std::uint64_t address) {
  for (std::size_t function = 0; function < map.size(); ++function) {
    if (!map[function].memory_enable) {
      continue;
    }
    for (std::size_t i = 0; i < BarNumbers.size(); ++i) {
      const bar_window& window = map[function].bars[i];
      if (window.holds(address)) {
        return {true, static_cast<std::uint16_t>(function), BarNumbers[i], address - window.base};
      }
    }
  }
  return {};
}

}  // namespace carillon
