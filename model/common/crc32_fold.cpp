#include "common/crc32_fold.h"

#include <zlib.h>

#include "common/error.h"

// A string is a polynomial over GF(2), and its CRC the rest that the CRC's polynomial P leaves. A
// block of 128 bits that stands n bits before the end may be replaced by anything congruent to it,
// in particular by (its high half) * (x^(n+64) mod P) + (its low half) * (x^n mod P), which is
// short enough to be added to the block n bits further on. So the string is folded into its last
// blocks, in four lanes to keep the multiplier busy, then in one; zlib does what is left. See Gopal
// et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction" (2009).

#if defined(__x86_64__)

#include <immintrin.h>

namespace carillon::crc32_fold {

namespace {

constexpr std::size_t BlockBytes = 16;
constexpr std::size_t Lanes = 4;
static_assert(LeastBytes >= 2 * Lanes * BlockBytes);

/// x^n mod P. The bits of a byte, and so those of P, are in reverse: bit 31 is that of x^0. The
/// product of two reversed numbers comes out one bit too low, which the shift makes up for.
constexpr std::int64_t power_of_x(unsigned n) {
  constexpr std::uint32_t P = 0xedb88320;
  std::uint32_t rest = 0x80000000;
  for (unsigned i = 0; i < n; ++i) {
    rest = (rest >> 1) ^ ((rest & 1) != 0 ? P : 0);
  }
  return static_cast<std::int64_t>(std::uint64_t{rest} << 1);
}

// The halves of a block lie 64 bits apart, and the product of a half, a polynomial of degree 63,
// with one of degree 31 is 32 bits shorter than a block: hence the 32.
constexpr unsigned LaneBits = Lanes * BlockBytes * 8;
constexpr unsigned BlockBits = BlockBytes * 8;
constexpr std::int64_t LanesHigh = power_of_x(LaneBits + 32);
constexpr std::int64_t LanesLow = power_of_x(LaneBits - 32);
constexpr std::int64_t BlockHigh = power_of_x(BlockBits + 32);
constexpr std::int64_t BlockLow = power_of_x(BlockBits - 32);
// As published there, in its appendix for the reversed polynomial of Ethernet.
static_assert(LanesHigh == 0x154442bd4 && LanesLow == 0x1c6e41596);
static_assert(BlockHigh == 0x1751997d0 && BlockLow == 0x0ccaa009e);

#define CARILLON_FOLDS __attribute__((target("pclmul,sse4.1")))

CARILLON_FOLDS inline __m128i load(const std::uint8_t* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}

/// What `block` is congruent to further on, where `next` stands, and that added.
CARILLON_FOLDS inline __m128i fold(__m128i block, __m128i by, __m128i next) {
  const __m128i high = _mm_clmulepi64_si128(block, by, 0x00);
  const __m128i low = _mm_clmulepi64_si128(block, by, 0x11);
  return _mm_xor_si128(next, _mm_xor_si128(high, low));
}

}  // namespace

bool available() {
  static const bool known = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
  return known;
}

CARILLON_FOLDS std::uint32_t add(std::uint32_t before, const std::uint8_t* data,
                                 std::size_t bytes) {
  const std::uint8_t* const end = data + bytes;
  // The register before the string is added to its first bits; it is kept inverted outside.
  __m128i lane[Lanes];
  for (std::size_t i = 0; i < Lanes; ++i) {
    lane[i] = load(data + i * BlockBytes);
  }
  lane[0] = _mm_xor_si128(lane[0], _mm_cvtsi32_si128(static_cast<int>(~before)));
  data += Lanes * BlockBytes;
  const __m128i by_lanes = _mm_set_epi64x(LanesLow, LanesHigh);
  for (; static_cast<std::size_t>(end - data) >= Lanes * BlockBytes; data += Lanes * BlockBytes) {
    for (std::size_t i = 0; i < Lanes; ++i) {
      lane[i] = fold(lane[i], by_lanes, load(data + i * BlockBytes));
    }
  }
  const __m128i by_block = _mm_set_epi64x(BlockLow, BlockHigh);
  __m128i block = lane[0];
  for (std::size_t i = 1; i < Lanes; ++i) {
    block = fold(block, by_block, lane[i]);
  }
  for (; static_cast<std::size_t>(end - data) >= BlockBytes; data += BlockBytes) {
    block = fold(block, by_block, load(data));
  }
  // The string that is left: the block, its register 0, and less than a block more.
  std::uint8_t rest[2 * BlockBytes];
  _mm_storeu_si128(reinterpret_cast<__m128i*>(rest), block);
  std::size_t length = BlockBytes;
  while (data != end) {
    rest[length++] = *data++;
  }
  return static_cast<std::uint32_t>(crc32_z(0xffffffff, rest, length));
}

}  // namespace carillon::crc32_fold

#else

namespace carillon::crc32_fold {

bool available() {
  return false;
}

std::uint32_t add(std::uint32_t /*before*/, const std::uint8_t* /*data*/, std::size_t /*bytes*/) {
  CARILLON_CHECK(false, "crc32: this processor cannot multiply without carry");
  return 0;
}

}  // namespace carillon::crc32_fold

#endif
