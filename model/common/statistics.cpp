#include "common/statistics.h"

#include <algorithm>
#include <iterator>

namespace carillon {

namespace {

constexpr std::size_t SmallestTable = 16;

}  // namespace

distribution::bin& distribution::find(std::uint64_t value) {
  std::size_t at = place_of(value);
  while (table_[at].count != 0 && table_[at].value != value) {
    at = (at + 1) & (table_.size() - 1);
  }
  return table_[at];
}

void distribution::grow() {
  std::vector<bin> old(std::max(SmallestTable, table_.size() * 2));
  table_.swap(old);
  for (const bin& each : old) {
    if (each.count != 0) {
      find(each.value) = each;
    }
  }
}

void distribution::add_elsewhere(std::uint64_t value) {
  if (used_ * 2 >= table_.size()) {
    grow();
  }
  bin& here = find(value);
  used_ += here.count == 0 ? 1 : 0;
  here.value = value;
  ++here.count;
}

const std::vector<distribution::bin>& distribution::sorted() const {
  if (sorted_samples_ != count_) {
    sorted_.clear();
    std::copy_if(table_.begin(), table_.end(), std::back_inserter(sorted_),
                 [](const bin& each) { return each.count != 0; });
    std::sort(sorted_.begin(), sorted_.end(),
              [](const bin& a, const bin& b) { return a.value < b.value; });
    sorted_samples_ = count_;
  }
  return sorted_;
}

double distribution::mean() const {
  return count_ == 0 ? 0.0 : static_cast<double>(sum_) / static_cast<double>(count_);
}

std::uint64_t distribution::min() const {
  return count_ == 0 ? 0 : sorted().front().value;
}

std::uint64_t distribution::max() const {
  return count_ == 0 ? 0 : sorted().back().value;
}

std::uint64_t distribution::percentile(std::uint64_t numerator, std::uint64_t denominator) const {
  if (count_ == 0) {
    return 0;
  }
  const std::uint64_t rank =
      std::max<std::uint64_t>(1, (count_ * numerator + denominator - 1) / denominator);
  std::uint64_t below = 0;
  for (const bin& each : sorted()) {
    below += each.count;
    if (below >= rank) {
      return each.value;
    }
  }
  return sorted().back().value;
}

}  // namespace carillon
