#include "common/crc32.h"

#include <array>
#include <libdeflate.h>
#include <zlib.h>

#include "common/buffer.h"

namespace carillon {

namespace {

/// x^(8 * bytes) modulo the polynomial. It is invertible, hence never 0: 0 means "not computed
/// yet".
std::uint32_t shift_operator(std::size_t bytes) {
  static std::array<std::uint32_t, BufferBytes + 1> known{};
  if (bytes >= known.size()) {
    return static_cast<std::uint32_t>(crc32_combine_gen(static_cast<z_off_t>(bytes)));
  }
  std::uint32_t& op = known[bytes];
  if (op == 0) {
    op = static_cast<std::uint32_t>(crc32_combine_gen(static_cast<z_off_t>(bytes)));
  }
  return op;
}

}  // namespace

std::uint32_t crc32_add(std::uint32_t before, const std::uint8_t* data, std::size_t bytes) {
  if (bytes == 0) {
    return before;  // a null pointer means "give me the initial value"
  }
  // It multiplies without carry where the processor can, which zlib does not.
  return libdeflate_crc32(before, data, bytes);
}

std::uint32_t crc32_join(std::uint32_t first, std::uint32_t second, std::size_t second_bytes) {
  if (second_bytes == 0) {
    return first;
  }
  return static_cast<std::uint32_t>(crc32_combine_op(first, second, shift_operator(second_bytes)));
}

}  // namespace carillon
