// What a function-level reset makes of a function's objects: the commands that destroy them, one
// after another, so that those that refer to others go first.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "gen/contexts.h"
#include "pcie_endpoint/commands.h"

namespace carillon {

/// A command that nobody has given.
struct teardown_step {
  std::uint16_t function = 0;
  std::array<std::uint8_t, cmd_in::Size> input{};

  /// Our own error if it is refused.
  void execute(command_core& core) const;
};

/// The next one, nothing if the function has nothing left and is as it was at power-up.
std::optional<teardown_step> next_teardown(const command_tables& tables, std::uint16_t function);

}  // namespace carillon
