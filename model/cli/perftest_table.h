// What a perftest test prints: the head, the columns and the units of linux-rdma/perftest, and the
// same as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/perftest_spec.h"
#include "cli/perftest_statistics.h"
#include "cli/summary.h"
#include "common/roce_packet.h"

namespace carillon {

/// One end of a queue pair.
struct perftest_end {
  unsigned host = 0;  ///< 0 is the local one
  std::uint32_t qpn = 0;
  std::uint32_t psn = 0;
  std::uint32_t rkey = 0;
  std::uint64_t address = 0;
  gid source{};
};

/// What a test has found.
struct perftest_facts {
  const perftest_spec* spec = nullptr;
  std::uint32_t mtu = 0;
  bool relaxed_ordering = false;
  const std::vector<ps_t>* laps = nullptr;
  std::vector<const bandwidth_record*> records;  ///< of each sender
  std::vector<perftest_end> ends;
};

/// The key `perftest` of a summary: `info`, `ends` and `result`.
json perftest_json(const perftest_facts& facts);

/// The lines above the table, its headings included.
std::string perftest_head(const json& test);
/// One line of the table.
std::string perftest_row(const json& test);
std::string perftest_rule();

/// What --out_json writes: `test_info` and a result for each size.
json perftest_document(const std::vector<json>& tests);

}  // namespace carillon
