// What a function-level reset makes of a function's objects: they go one after another as if the
// function destroyed them itself, those that refer to others first.
#pragma once

#include <cstdint>

#include "pcie_endpoint/commands.h"

namespace carillon {

/// Takes away one of the things that a function has; the core's effects are what must be written
/// and told of it. False if nothing was left.
bool reset_one_object(command_core& core, std::uint16_t function);

}  // namespace carillon
