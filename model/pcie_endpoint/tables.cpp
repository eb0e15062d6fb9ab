#include "pcie_endpoint/tables.h"

#include <iterator>

#include "common/error.h"

namespace carillon {

std::optional<std::uint32_t> number_pool::take_run(std::uint32_t count) {
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

bool number_pool::take_at(std::uint32_t first, std::uint32_t count) {
  if (count == 0) {
    return true;
  }
  auto run = free_.upper_bound(first);
  if (run == free_.begin()) {
    return false;
  }
  --run;
  const auto [start, length] = *run;
  const std::uint32_t before = first - start;
  if (before > length || count > length - before) {
    return false;
  }
  free_.erase(run);
  if (before != 0) {
    free_.emplace(start, before);
  }
  if (length - before > count) {
    free_.emplace(first + count, length - before - count);
  }
  return true;
}

void number_pool::give_back(std::uint32_t first, std::uint32_t count) {
  if (count == 0) {
    return;
  }
  auto after = free_.lower_bound(first);
  CARILLON_CHECK(after == free_.end() || first + count <= after->first,
                 "pcie_endpoint: the numbers from {} on are given back twice", first);
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
