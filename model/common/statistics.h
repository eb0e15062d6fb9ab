// Exact statistics of integer samples.
//
// Percentiles are nearest-rank values of all samples, never estimates. Samples are kept as (value,
// count) pairs: a simulation repeats its values, so a million messages usually cost a few hundred
// pairs.
#pragma once

#include <cstdint>
#include <vector>

namespace carillon {

class distribution {
 public:
  void add(std::uint64_t value) {
    ++count_;
    sum_ += value;
    pending_.push_back(value);
    if (pending_.size() >= threshold_) {
      fold();
    }
  }

  [[nodiscard]] std::uint64_t count() const { return count_; }

  [[nodiscard]] std::uint64_t sum() const { return sum_; }

  /// The integer sum over the count; 0 without samples, like all that follow.
  [[nodiscard]] double mean() const;

  [[nodiscard]] std::uint64_t min() const;
  [[nodiscard]] std::uint64_t max() const;

  /// The smallest sample such that at least numerator/denominator of all samples are not larger:
  /// rank ceil(count * numerator / denominator), at least 1.
  [[nodiscard]] std::uint64_t percentile(std::uint64_t numerator, std::uint64_t denominator) const;

  [[nodiscard]] std::uint64_t p50() const { return percentile(50, 100); }

  [[nodiscard]] std::uint64_t p99() const { return percentile(99, 100); }

  [[nodiscard]] std::uint64_t p999() const { return percentile(999, 1000); }

 private:
  struct bin {
    std::uint64_t value;
    std::uint64_t count;
  };

  void fold() const;

  static constexpr std::size_t SmallestThreshold = 4096;

  std::uint64_t count_ = 0;
  std::uint64_t sum_ = 0;
  mutable std::size_t threshold_ = SmallestThreshold;
  mutable std::vector<std::uint64_t> pending_;
  mutable std::vector<bin> bins_;  ///< by value
  mutable std::vector<bin> merged_;
};

}  // namespace carillon
