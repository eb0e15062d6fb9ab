// Random times whose distribution has a name. Integer arithmetic only, so that every machine draws
// the same numbers.
#pragma once

#include <cstdint>

#include "common/random.h"
#include "common/types.h"

namespace carillon {

/// Numbers with 32 bits behind the point.
using fixed32 = std::uint64_t;

inline constexpr fixed32 FixedOne = fixed32{1} << 32;

/// log2 of `value` * 2^-64, negated: of a uniform 64-bit number, how unlikely so small a one is.
/// `value` is not 0.
fixed32 minus_log2(std::uint64_t value);

/// `least` * 2^`exponent`, but at most `most`.
ps_t scaled(ps_t least, fixed32 exponent, ps_t most);

/// Exponential: times between events that do not know of each other.
ps_t draw_exponential(random_stream& random, ps_t mean);

/// Pareto from `least` on with the shape in hundredths; draws above `most` are `most`.
struct pareto {
  ps_t least = 1;
  ps_t most = 1;
  std::uint32_t shape = 150;  ///< above 100

  [[nodiscard]] ps_t draw(random_stream& random) const;
  [[nodiscard]] ps_t mean() const;
};

}  // namespace carillon
