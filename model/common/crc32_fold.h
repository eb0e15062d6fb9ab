// CRC-32 of long strings by carry-less multiplication, where the processor has it: several times
// faster than by tables.
#pragma once

#include <cstddef>
#include <cstdint>

namespace carillon::crc32_fold {

/// Shorter strings are not for add(), nor would they gain.
inline constexpr std::size_t LeastBytes = 128;

/// Whether this processor can.
[[nodiscard]] bool available();

/// As crc32_add(); only of LeastBytes and more, and only where available().
std::uint32_t add(std::uint32_t before, const std::uint8_t* data, std::size_t bytes);

}  // namespace carillon::crc32_fold
