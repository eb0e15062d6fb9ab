// Loads firmware into a device that has none, through BAR4 of its physical function.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "host/cpu.h"
#include "host/task.h"

namespace carillon {

/// A stand-in for an image: the device checks it and runs nothing of it.
std::vector<std::uint8_t> firmware_image();

/// Stores `image` through the window and has it checked. Throws config_error if the device refuses
/// it. Nothing happens if firmware runs.
task<> load_firmware(cpu& core, std::uint64_t bar4, std::span<const std::uint8_t> image);

}  // namespace carillon
