#include "common/crc32.h"

#include <array>
#include <zlib.h>

#include "common/buffer.h"
#include "common/crc32_fold.h"

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
    return before;  // zlib takes a null pointer for "give me the initial value"
  }
  if (bytes >= crc32_fold::LeastBytes && crc32_fold::available()) {
    return crc32_fold::add(before, data, bytes);
  }
  return static_cast<std::uint32_t>(crc32_z(before, data, bytes));
}

std::uint32_t crc32_join(std::uint32_t first, std::uint32_t second, std::size_t second_bytes) {
  if (second_bytes == 0) {
    return first;
  }
  return static_cast<std::uint32_t>(crc32_combine_op(first, second, shift_operator(second_bytes)));
}

}  // namespace carillon
