#include "pcie_endpoint/tables.h"

#include <iterator>

#include "common/error.h"

namespace carillon {

std::uint32_t number_pool::take() {
  if (!free_.empty()) {
    const std::uint32_t number = *free_.begin();
    free_.erase(free_.begin());
    return number;
  }
  return next_ < end_ ? next_++ : 0;
}

std::optional<std::uint32_t> run_pool::take(std::uint32_t count) {
  for (auto run = free_.begin(); run != free_.end(); ++run) {
    const auto [first, length] = *run;
    if (length < count) {
      continue;
    }
    free_.erase(run);
    if (length > count) {
      free_.emplace(first + count, length - count);
    }
    return first;
  }
  return std::nullopt;
}

void run_pool::give_back(std::uint32_t first, std::uint32_t count) {
  if (count == 0) {
    return;
  }
  auto after = free_.lower_bound(first);
  CARILLON_CHECK(after == free_.end() || first + count <= after->first,
                 "pcie_endpoint: translation lines from {} on are given back twice", first);
  if (after != free_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == first) {
      first = before->first;
      count += before->second;
      free_.erase(before);
    }
  }
  if (after != free_.end() && first + count == after->first) {
    count += after->second;
    free_.erase(after);
  }
  free_.emplace(first, count);
}

}  // namespace carillon
