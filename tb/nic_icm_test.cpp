// Two whole NICs whose contexts are in host memory, behind caches of any size.
#include <gtest/gtest.h>

#include "common/nic_run.h"

namespace carillon {
namespace {

/// A cache of fully associative lines.
std::vector<std::string> cache_of(unsigned lines, std::vector<std::string> more = {}) {
  const std::string count = std::to_string(lines);
  std::vector<std::string> set = {"nic.icm=host_memory", "nic.icm_cache_lines=" + count,
                                  "nic.icm_cache_ways=" + (lines > 64 ? "8" : count)};
  set.insert(set.end(), more.begin(), more.end());
  return set;
}

std::uint64_t counted(const json& summary, const char* which) {
  return summary.at("counters").at("nic0").at(which).get<std::uint64_t>();
}

TEST(nic_icm, a_cache_that_holds_everything_takes_the_reference_path_s_470_cycles) {
  const json summary = run_with("doorbell_to_wire", cache_of(32768));
  EXPECT_EQ(total(summary), 470);
  EXPECT_EQ(summary.at("latency").at("doorbell_to_wire").at("max").get<double>(), 470);
  EXPECT_GT(counted(summary, "icm_hits"), 0U);
}

// With one line, three lookups of a message miss: the QP (uar; those behind it find the line), the
// payload's key, the path. Each waits for a read of 64 B, which takes 126 cycles from its request
// on like that of the WQE (microarchitecture of the reference: 5 + 10 + 126 + 9).
TEST(nic_icm, a_miss_adds_one_read_of_host_memory_to_the_stage_that_asked) {
  const json summary = run_with("doorbell_to_wire", cache_of(1));
  EXPECT_EQ(cycles(summary, "uar"), 10 + 126);
  EXPECT_EQ(cycles(summary, "wqe_fetch"), 150);
  EXPECT_EQ(cycles(summary, "qpc_ram"), 5);
  EXPECT_EQ(cycles(summary, "wqe_parser"), 10 + 126);
  EXPECT_EQ(cycles(summary, "packet_builder"), 30 + 126);
  EXPECT_EQ(total(summary), 470 + 3 * 126);
  for (const char* stage : {"uar", "wqe_parser", "packet_builder"}) {
    EXPECT_EQ(summary.at("stages").at(stage).at("waits").at("icm_miss").get<double>(), 126)
        << stage;
  }
}

TEST(nic_icm, on_the_chip_nothing_of_it_is_there) {
  const json summary = run_with("doorbell_to_wire", {"nic.icm=on_chip"});
  EXPECT_EQ(counted(summary, "icm_hits") + counted(summary, "icm_misses"), 0U);
}

class nic_icm_soak : public testing::TestWithParam<std::tuple<unsigned, int>> {};

// Loss, reordering and broken packets on the wire, every kind of operation, judged by the
// independent reference; every wait is explained, or the run would fail.
TEST_P(nic_icm_soak, every_message_arrives_once_and_whole_with_few_lines) {
  const auto [lines, shuffle] = GetParam();
  const json summary =
      run_with("soak", cache_of(lines, {"workload.messages=3000", "nic.icm_misses=4"}), {},
               static_cast<std::uint64_t>(shuffle));
  EXPECT_EQ(summary.at("checks").at("judged_failures").get<int>(), 0);
  EXPECT_EQ(summary.at("checks").at("failed_completions").get<int>(), 0);
  EXPECT_EQ(summary.at("messages").get<int>(), 3000);
  EXPECT_GT(counted(summary, "icm_misses"), 100U);
  EXPECT_GT(counted(summary, "icm_write_backs"), 10U);
  EXPECT_EQ(counted(summary, "icm_errors"), 0U);
}

INSTANTIATE_TEST_SUITE_P(lines, nic_icm_soak,
                         testing::Combine(testing::Values(1U, 16U), testing::Range(0, 3)));

}  // namespace
}  // namespace carillon
