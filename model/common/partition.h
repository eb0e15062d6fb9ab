// Which part of the context RAM belongs to which function: a level from pcie_endpoint, read by
// qpc_ram. The PF reaches everything, a VF its own ranges only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/items.h"

namespace carillon {

struct partition_table {
  struct range {
    std::uint32_t first = 0;
    std::uint32_t count = 0;

    bool operator==(const range&) const = default;
  };

  std::vector<std::array<range, ContextKinds>> functions;

  [[nodiscard]] bool reaches(std::uint16_t function, context_kind kind, std::uint32_t index) const {
    if (function == 0) {
      return true;
    }
    if (function >= functions.size()) {
      return false;
    }
    const range& own = functions[function][static_cast<std::size_t>(kind)];
    return index >= own.first && index - own.first < own.count;
  }

  bool operator==(const partition_table&) const = default;
};

}  // namespace carillon
