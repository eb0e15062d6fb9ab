#include "host/busy_process.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "common/error.h"

namespace carillon {

namespace {

constexpr unsigned FractionBits = 40;
constexpr double Ln2 = 0.69314718055994530942;
constexpr double Longest = 10000;

/// log2 of a number in [1, 2), bit by bit: squaring doubles the logarithm. Only products and
/// halves, which are the same on every machine, as functions of a library need not be.
double log2_of_mantissa(double x) {
  double result = 0;
  double bit = 0.5;
  for (unsigned i = 0; i < FractionBits; ++i) {
    x *= x;
    if (x >= 2) {
      x /= 2;
      result += bit;
    }
    bit /= 2;
  }
  return result;
}

/// 2 to the power of a number that is not negative; square roots are exact to the last bit.
double power_of_two(double exponent) {
  static const std::array<double, FractionBits> Roots = [] {
    std::array<double, FractionBits> roots{};
    double root = 2;
    for (double& each : roots) {
      root = std::sqrt(root);
      each = root;
    }
    return roots;
  }();
  const double whole = std::floor(exponent);
  double rest = exponent - whole;
  double result = std::ldexp(1.0, static_cast<int>(whole));
  for (const double root : Roots) {
    rest *= 2;
    if (rest >= 1) {
      rest -= 1;
      result *= root;
    }
  }
  return result;
}

}  // namespace

double draw_minus_log2(random_stream& random) {
  // n / 2^53 with n in 1..2^53.
  constexpr unsigned Bits = 53;
  const std::uint64_t drawn = (random.next() >> (64 - Bits)) + 1;
  const int whole = static_cast<int>(std::bit_width(drawn)) - 1;
  const double mantissa = std::ldexp(static_cast<double>(drawn), -whole);
  return static_cast<double>(static_cast<int>(Bits) - whole) - log2_of_mantissa(mantissa);
}

ps_t draw_exponential(random_stream& random, ps_t mean) {
  return static_cast<ps_t>(draw_minus_log2(random) * Ln2 * static_cast<double>(mean));
}

ps_t draw_pareto(random_stream& random, ps_t mean, double tail) {
  const double least = static_cast<double>(mean) * (tail - 1) / tail;
  const double drawn = least * power_of_two(draw_minus_log2(random) / tail);
  return static_cast<ps_t>(std::min(drawn, Longest * static_cast<double>(mean)));
}

busy_process::busy_process(std::uint64_t seed, std::string_view path, const busy_times& times)
    : random_(seed, path), times_(times) {
  CARILLON_CHECK(times_.tail > 1 && times_.gap != 0, "busy times of tail {} and gap {}",
                 times_.tail, times_.gap);
}

ps_t busy_process::free_from(ps_t at) {
  while (drawn_until_ <= at) {
    const ps_t begin = drawn_until_ + draw_exponential(random_, times_.gap);
    const ps_t end = begin + draw_pareto(random_, times_.duration, times_.tail);
    drawn_.push_back({begin, end});
    drawn_until_ = end;
  }
  ps_t free = at;
  for (const busy& each : drawn_) {
    if (free < each.begin) {
      break;
    }
    free = std::max(free, each.end);
  }
  return free;
}

void busy_process::forget(ps_t before) {
  while (!drawn_.empty() && drawn_.front().end <= before) {
    drawn_.pop_front();
  }
}

}  // namespace carillon
