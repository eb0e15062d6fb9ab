#include "host/effects/heavy_tail.h"

#include <algorithm>
#include <array>
#include <bit>

namespace carillon {

namespace {

constexpr unsigned Bits = 32;
constexpr std::uint64_t One31 = std::uint64_t{1} << 31;
constexpr std::uint64_t Ln2 = 2977044472;  // 0.693147180559945 * 2^32
constexpr std::uint64_t Percent = 100;

constexpr std::uint64_t square_root(std::uint64_t of) {
  std::uint64_t root = 0;
  for (std::uint64_t bit = std::uint64_t{1} << 31; bit != 0; bit >>= 1) {
    const std::uint64_t tried = root | bit;
    if (tried * tried <= of) {
      root = tried;
    }
  }
  return root;
}

/// 2^(1/2), 2^(1/4), ... with 31 bits behind the point.
constexpr std::array<std::uint64_t, Bits> roots_of_two() {
  std::array<std::uint64_t, Bits> roots{};
  std::uint64_t last = 2 * One31;
  for (std::uint64_t& each : roots) {
    last = square_root(last * One31);
    each = last;
  }
  return roots;
}

constexpr std::array<std::uint64_t, Bits> Roots = roots_of_two();

/// a * b where b has 32 bits behind the point; a below 2^40, b below 2^39.
std::uint64_t times(std::uint64_t a, fixed32 b) {
  constexpr unsigned Dropped = 9;
  const std::uint64_t fraction = (b & (FixedOne - 1)) >> Dropped;
  return a * (b >> Bits) + (a * fraction >> (Bits - Dropped));
}

}  // namespace

fixed32 minus_log2(std::uint64_t value) {
  const auto zeros = static_cast<unsigned>(std::countl_zero(value));
  std::uint64_t mantissa = value << zeros >> Bits;  // from 2^31 on: 1 to 2
  fixed32 logarithm = 0;
  for (unsigned bit = Bits; bit-- != 0;) {
    mantissa = mantissa * mantissa >> 31;
    if (mantissa >= 2 * One31) {
      mantissa >>= 1;
      logarithm |= fixed32{1} << bit;
    }
  }
  return (fixed32{zeros} + 1) * FixedOne - logarithm;
}

ps_t scaled(ps_t least, fixed32 exponent, ps_t most) {
  constexpr unsigned Dropped = 12;
  std::uint64_t mantissa = One31;
  for (unsigned bit = 0; bit < Bits; ++bit) {
    if ((exponent >> (Bits - 1 - bit) & 1) != 0) {
      mantissa = mantissa * Roots[bit] >> 31;
    }
  }
  const ps_t value = least * (mantissa >> Dropped) >> (31 - Dropped);
  const std::uint64_t doublings = exponent >> Bits;
  if (doublings >= 40 || value > most >> doublings) {
    return most;
  }
  return std::min(value << doublings, most);
}

ps_t draw_exponential(random_stream& random, ps_t mean) {
  const fixed32 octaves = minus_log2(random.next() | 1);
  // Two factors of less than 2^33: in steps that fit.
  const fixed32 nats = (octaves >> 8) * (Ln2 >> 1) >> 23;
  return times(mean, nats);
}

ps_t pareto::draw(random_stream& random) const {
  return scaled(least, minus_log2(random.next() | 1) * Percent / shape, most);
}

/// least * (shape - (least / most)^(shape - 1)) / (shape - 1): what is cut off counts as `most`.
ps_t pareto::mean() const {
  if (most <= least) {
    return most;
  }
  const fixed32 octaves = minus_log2(least) - minus_log2(most);
  // (most / least)^(shape - 1), with 20 bits behind the point; beyond 2^40 the ratio is as good as
  // 0.
  constexpr ps_t Unit = ps_t{1} << 20;
  const ps_t power = scaled(Unit, octaves * (shape - Percent) / Percent, Unit << 20);
  const ps_t ratio = Unit * Unit / power;
  const ps_t numerator = shape * Unit - Percent * ratio;
  return times(least, numerator * (FixedOne / Unit) / (shape - Percent));
}

}  // namespace carillon
