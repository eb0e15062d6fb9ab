// Who has counted what: the counters of the chip and of each function before and after an
// operation.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gen/counters.h"
#include "tb/isolation/tenants.h"

namespace carillon::isolation {

/// Where something is counted: a function, or the chip alone.
inline constexpr std::uint16_t Chip = Functions;

/// A refusal as it is counted. Of a function, the chip counts it, too.
struct count_move {
  std::uint16_t where = Chip;
  counter which = counter::CommandErrors;
  std::uint64_t by = 1;
};

/// Counters of work that was done, as opposed to work that was refused or went wrong.
bool counts_work(counter which);

class counter_watch {
 public:
  explicit counter_watch(tenant_house& house);

  /// What differs from the rule: a refusal is counted exactly as `expected` says, and nowhere else;
  /// work only for the functions that `worked` names. The present values are the next ones to
  /// compare with.
  std::optional<std::string> wrong(const std::vector<count_move>& expected,
                                   std::array<bool, Functions> worked);

  [[nodiscard]] std::uint64_t refusals() const;  ///< counted so far, all functions and the chip

 private:
  using row = std::array<std::uint64_t, CounterCount>;

  [[nodiscard]] std::uint64_t value(std::uint16_t where, std::size_t which) const;

  tenant_house& house_;
  std::array<row, Functions + 1> before_{};
};

}  // namespace carillon::isolation
