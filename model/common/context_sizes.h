// How many context lines there are of each kind, and what memory they take: of the chip, and of a
// function's partition.
#pragma once

#include <array>
#include <cstdint>

#include "common/items.h"
#include "common/partition.h"
#include "gen/params.h"

namespace carillon {

struct context_sizes {
  std::array<std::uint32_t, ContextKinds> lines{};

  static context_sizes of(const parameters& params);

  /// Of a function's partition; of all lines if the chip has not been divided.
  [[nodiscard]] context_sizes of(const partition_table& partitions, std::uint16_t function) const;

  [[nodiscard]] std::uint32_t count(context_kind kind) const {
    return lines[static_cast<std::size_t>(kind)];
  }

  [[nodiscard]] bool valid(context_kind kind, std::uint32_t index) const {
    return index < count(kind);
  }

  /// The number of a kind's first line if all lie one behind the other, in the order of the kinds.
  [[nodiscard]] std::uint64_t first(context_kind kind) const;
  [[nodiscard]] std::uint64_t total() const;

  [[nodiscard]] std::uint64_t bytes(context_kind kind) const {
    return std::uint64_t{count(kind)} * BeatBytes;
  }

  [[nodiscard]] std::uint64_t total_bytes() const { return total() * BeatBytes; }

  bool operator==(const context_sizes&) const = default;
};

}  // namespace carillon
