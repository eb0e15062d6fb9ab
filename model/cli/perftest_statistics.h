// The figures of a perftest table, by perftest's own definitions.
#pragma once

#include <cstdint>
#include <vector>

#include "common/types.h"

namespace carillon {

/// In microseconds.
struct latency_figures {
  double min = 0;
  double max = 0;
  double typical = 0;  ///< the median
  double average = 0;
  double deviation = 0;
  double p99 = 0;
  double p999 = 0;
  double worst = 0;  ///< the largest of all
};

/// `laps` are the times between one post and the next, `parts` how many messages each has: 2 for
/// one each way, of which half is reported. Of n laps the two largest are left out of everything
/// but the maximum, which is the second largest; the percentiles are the laps of rank
/// ceil(0.99 * (n - 2)) and ceil(0.999 * (n - 2)), counted from 0. With fewer than three laps none
/// is left out.
latency_figures figures_of(std::vector<ps_t> laps, unsigned parts);

/// The completions of one sender. What one CQE completes has one time.
struct bandwidth_record {
  std::vector<ps_t> posted;     ///< of every message, if there is to be a peak; else of the first
  std::vector<ps_t> completed;  ///< likewise; else of the last
  std::uint64_t messages = 0;
  ps_t from = 0;  ///< the first post
  ps_t to = 0;    ///< the last completion
};

struct bandwidth_figures {
  double peak = 0;     ///< bytes/s
  double average = 0;  ///< bytes/s
  double messages_per_second = 0;
};

/// The average is over the time from the first post to the last completion, the peak the best of
/// any stretch of messages from the post of its first to the completion of its last.
bandwidth_figures figures_of(const bandwidth_record& record, std::uint64_t bytes);

/// The shortest time a message over all stretches i..j: (completed[j] - posted[i]) / (j - i + 1).
/// Both are sorted. 0 if there are none.
double shortest_message_time(const std::vector<ps_t>& posted, const std::vector<ps_t>& completed);

}  // namespace carillon
