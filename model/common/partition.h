// Which part of the context RAM each function has: a level from pcie_endpoint, which computes it
// from what the PF's driver decides, to qpc_ram, which keeps to it.
#pragma once

#include <algorithm>
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

    [[nodiscard]] bool holds(std::uint32_t index) const {
      return index >= first && index - first < count;
    }

    bool operator==(const range&) const = default;
  };

  /// By function and kind. The PF's row says what it has beside the VFs; it reaches everything. A
  /// table without rows bounds nobody: the chip has not been divided.
  std::vector<std::array<range, ContextKinds>> functions;

  /// The four lines of a QP share one range.
  static constexpr context_kind shared(context_kind kind) {
    return kind < context_kind::cqc ? context_kind::qpc_common : kind;
  }

  /// Adds rows as needed.
  void set(std::uint16_t function, context_kind kind, range part) {
    functions.resize(std::max<std::size_t>(functions.size(), function + std::size_t{1}));
    functions[function][static_cast<std::size_t>(shared(kind))] = part;
  }

  [[nodiscard]] range of(std::uint16_t function, context_kind kind) const {
    return function < functions.size()
               ? functions[function][static_cast<std::size_t>(shared(kind))]
               : range{};
  }

  [[nodiscard]] bool reaches(std::uint16_t function, context_kind kind, std::uint32_t index) const {
    return function == 0 || functions.empty() || of(function, kind).holds(index);
  }

  bool operator==(const partition_table&) const = default;
};

}  // namespace carillon
