#include "common/statistics.h"

#include <algorithm>

namespace carillon {

void distribution::fold() const {
  if (pending_.empty()) {
    return;
  }
  std::sort(pending_.begin(), pending_.end());
  merged_.clear();
  std::size_t at = 0;
  const auto append = [this](std::uint64_t value, std::uint64_t count) {
    if (!merged_.empty() && merged_.back().value == value) {
      merged_.back().count += count;
    } else {
      merged_.push_back({value, count});
    }
  };
  for (const std::uint64_t value : pending_) {
    while (at < bins_.size() && bins_[at].value <= value) {
      append(bins_[at].value, bins_[at].count);
      ++at;
    }
    append(value, 1);
  }
  for (; at < bins_.size(); ++at) {
    append(bins_[at].value, bins_[at].count);
  }
  bins_.swap(merged_);
  pending_.clear();
  // Folding touches every bin, so it waits for a number of samples in proportion to the bins.
  threshold_ = std::max(SmallestThreshold, bins_.size() / 2);
}

double distribution::mean() const {
  return count_ == 0 ? 0.0 : static_cast<double>(sum_) / static_cast<double>(count_);
}

std::uint64_t distribution::min() const {
  fold();
  return bins_.empty() ? 0 : bins_.front().value;
}

std::uint64_t distribution::max() const {
  fold();
  return bins_.empty() ? 0 : bins_.back().value;
}

std::uint64_t distribution::percentile(std::uint64_t numerator, std::uint64_t denominator) const {
  fold();
  if (bins_.empty()) {
    return 0;
  }
  const std::uint64_t rank =
      std::max<std::uint64_t>(1, (count_ * numerator + denominator - 1) / denominator);
  std::uint64_t below = 0;
  for (const bin& each : bins_) {
    below += each.count;
    if (below >= rank) {
      return each.value;
    }
  }
  return bins_.back().value;
}

}  // namespace carillon
