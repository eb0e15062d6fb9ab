// CRC-32 of Ethernet's FCS and of RoCE's ICRC, in the usual finalised form (as zlib's crc32 returns
// it), so that the CRC of nothing is 0.
//
// The CRC of two byte strings in a row follows from the CRC of each and the length of the second. A
// packet's payload is therefore read once: its CRC is joined to that of the masked headers for the
// ICRC and to that of the headers as they are for the FCS.
#pragma once

#include <cstddef>
#include <cstdint>

namespace carillon {

/// The CRC of everything in `before` followed by these bytes.
std::uint32_t crc32_add(std::uint32_t before, const std::uint8_t* data, std::size_t bytes);

inline std::uint32_t crc32_of(const std::uint8_t* data, std::size_t bytes) {
  return crc32_add(0, data, bytes);
}

/// The CRC of A followed by B, where `second` is the CRC of B alone and B has `second_bytes` bytes.
/// The shift operators of all lengths up to a frame's are kept once they were needed.
std::uint32_t crc32_join(std::uint32_t first, std::uint32_t second, std::size_t second_bytes);

}  // namespace carillon
