// Exact statistics of integer samples.
//
// Percentiles are nearest-rank values of all samples, never estimates. Samples are kept as (value,
// count) pairs in a hash table: a simulation repeats its values, so a million messages usually cost
// a few hundred pairs. They are sorted when somebody asks.
#pragma once

#include <cstdint>
#include <vector>

namespace carillon {

class distribution {
 public:
  void add(std::uint64_t value) {
    ++count_;
    sum_ += value;
    if (!table_.empty()) {
      bin& first = table_[place_of(value)];
      if (first.value == value && first.count != 0) [[likely]] {
        ++first.count;
        return;
      }
    }
    add_elsewhere(value);
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

  /// Where to look for a value first.
  [[nodiscard]] std::size_t place_of(std::uint64_t value) const {
    return (value * 0x9e3779b97f4a7c15ULL >> 32) & (table_.size() - 1);
  }

  void add_elsewhere(std::uint64_t value);
  [[nodiscard]] bin& find(std::uint64_t value);
  void grow();
  const std::vector<bin>& sorted() const;

  std::uint64_t count_ = 0;
  std::uint64_t sum_ = 0;
  std::vector<bin> table_;  ///< a power of two of places, at most half of them used; count 0: free
  std::size_t used_ = 0;
  mutable std::vector<bin> sorted_;
  mutable std::uint64_t sorted_samples_ = 0;  ///< how many samples were sorted
};

}  // namespace carillon
