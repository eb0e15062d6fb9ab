#include "cli/perftest_statistics.h"

#include <algorithm>
#include <cmath>

namespace carillon {

namespace {

constexpr double PsPerUs = 1e6;
constexpr double PsPerSecond = 1e12;
/// Laps at the upper end that are taken to be accidents.
constexpr std::size_t Tail = 2;

}  // namespace

latency_figures figures_of(std::vector<ps_t> laps, unsigned parts) {
  latency_figures result;
  if (laps.empty()) {
    return result;
  }
  std::sort(laps.begin(), laps.end());
  const auto time_of = [&](double lap) { return lap / parts / PsPerUs; };
  const auto time_at = [&](std::size_t rank) {
    return time_of(static_cast<double>(laps[std::min(rank, laps.size() - 1)]));
  };
  const std::size_t count = laps.size() > Tail ? laps.size() - Tail : laps.size();
  const double half = static_cast<double>(laps[count / 2]);
  result.typical =
      time_of(count % 2 != 0 ? half : (half + static_cast<double>(laps[count / 2 - 1])) / 2);
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    sum += static_cast<double>(laps[i]);
  }
  const double average = sum / static_cast<double>(count);
  double squares = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double off = static_cast<double>(laps[i]) - average;
    squares += off * off;
  }
  const auto rank_of = [count](double share) {
    return static_cast<std::size_t>(std::ceil(static_cast<double>(count) * share));
  };
  result.min = time_at(0);
  result.max = time_at(count);
  result.average = time_of(average);
  result.deviation = time_of(std::sqrt(squares / static_cast<double>(count)));
  result.p99 = time_at(rank_of(0.99));
  result.p999 = time_at(rank_of(0.999));
  result.worst = time_of(static_cast<double>(laps.back()));
  return result;
}

double shortest_message_time(const std::vector<ps_t>& posted, const std::vector<ps_t>& completed) {
  // The slope from (i, posted[i]) to (j + 1, completed[j]), least over i <= j. For each j the best
  // i lies on the upper hull of the points so far.
  const std::size_t count = std::min(posted.size(), completed.size());
  std::vector<std::size_t> hull;
  const auto slope = [&](std::size_t a, std::size_t b) {
    return (static_cast<double>(posted[b]) - static_cast<double>(posted[a])) /
           static_cast<double>(b - a);
  };
  double best = 0;
  for (std::size_t j = 0; j < count; ++j) {
    while (hull.size() >= 2 && slope(hull[hull.size() - 2], hull.back()) <= slope(hull.back(), j)) {
      hull.pop_back();
    }
    hull.push_back(j);
    const auto to_here = [&](std::size_t at) {
      return (static_cast<double>(completed[j]) - static_cast<double>(posted[hull[at]])) /
             static_cast<double>(j + 1 - hull[at]);
    };
    // Along the hull the time first falls, then rises.
    std::size_t low = 0;
    std::size_t high = hull.size() - 1;
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      if (to_here(middle) <= to_here(middle + 1)) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    const double here = to_here(low);
    if (j == 0 || here < best) {
      best = here;
    }
  }
  return best;
}

bandwidth_figures figures_of(const bandwidth_record& record, std::uint64_t bytes) {
  bandwidth_figures result;
  if (record.messages == 0 || record.to <= record.from) {
    return result;
  }
  const double seconds = static_cast<double>(record.to - record.from) / PsPerSecond;
  result.messages_per_second = static_cast<double>(record.messages) / seconds;
  result.average = result.messages_per_second * static_cast<double>(bytes);
  const double shortest = shortest_message_time(record.posted, record.completed);
  if (shortest > 0) {
    result.peak = static_cast<double>(bytes) * PsPerSecond / shortest;
  }
  return result;
}

}  // namespace carillon
