// The isolation suite at length: 1,000,000 hostile operations, at least 100 in every bin of each of
// four shards, which differ by their seed. ISOLATION_SEED moves all four seeds.
#include <algorithm>
#include <cstdlib>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "tb/isolation/shard.h"

namespace carillon::isolation {
namespace {

constexpr std::uint64_t Operations = 250'000;
constexpr unsigned Least = 100;

class isolation_shard : public testing::TestWithParam<std::uint64_t> {};

TEST_P(isolation_shard, refuses_a_quarter_of_a_million_operations) {
  campaign_options options;
  const char* base = std::getenv("ISOLATION_SEED");
  options.seed = (base != nullptr ? std::strtoull(base, nullptr, 10) : 0) * 4 + GetParam();
  options.operations = Operations;
  options.least = Least;
  const campaign_report report = run_campaign(options);
  EXPECT_TRUE(report.ended) << "a program waits for ever";
  EXPECT_EQ(report.failed, 0U);
  EXPECT_THAT(report.failures, testing::IsEmpty());
  EXPECT_EQ(report.operations, Operations);
  EXPECT_GE(*std::min_element(report.done.begin(), report.done.end()), Least);
  EXPECT_GT(report.victim_messages, Operations / 10);
}

INSTANTIATE_TEST_SUITE_P(seeds, isolation_shard, testing::Values(1, 2, 3, 4));

}  // namespace
}  // namespace carillon::isolation
