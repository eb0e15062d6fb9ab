// Something that is busy now and then, for reasons outside the model: other work on a core, other
// traffic on a link, other holders of a lock. Busy times are drawn from a seed, lazily: nothing
// happens in simulated time.
#pragma once

#include <cstdint>
#include <deque>
#include <string_view>

#include "common/random.h"
#include "common/types.h"

namespace carillon {

struct busy_times {
  ps_t gap = 0;       ///< mean from the end of one to the begin of the next; exponential
  ps_t duration = 0;  ///< mean of one
  double tail = 2.0;  ///< exponent of their Pareto distribution, above 1: the less, the heavier
};

/// -log2 of a number drawn uniformly from (0, 1], the same on every machine.
double draw_minus_log2(random_stream& random);

/// Exponential with this mean.
ps_t draw_exponential(random_stream& random, ps_t mean);

/// Pareto with this mean and exponent; at most ten thousand means.
ps_t draw_pareto(random_stream& random, ps_t mean, double tail);

class busy_process {
 public:
  /// `path` names the stream of random numbers.
  busy_process(std::uint64_t seed, std::string_view path, const busy_times& times);

  /// The earliest time from `at` on at which it is not busy. Questions may come in any order, but
  /// none is about a time before `forget`.
  ps_t free_from(ps_t at);

  /// Nobody will ask about earlier times.
  void forget(ps_t before);

 private:
  struct busy {
    ps_t begin;
    ps_t end;
  };

  random_stream random_;
  const busy_times times_;
  std::deque<busy> drawn_;
  ps_t drawn_until_ = 0;
};

}  // namespace carillon
