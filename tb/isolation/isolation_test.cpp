// The isolation suite in short: every bin a few times. The long runs are isolation_slow_test.
#include <algorithm>
#include <cstdlib>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iostream>

#include "tb/isolation/campaign.h"

namespace carillon::isolation {
namespace {

campaign_report run(std::uint64_t seed, std::uint64_t shuffle = 0) {
  campaign_options options;
  options.seed = seed;
  options.shuffle = shuffle;
  if (const char* only = std::getenv("ISOLATION_ONLY")) {
    options.only = only;
  }
  const campaign_report report = campaign(options).run();
  if (std::getenv("ISOLATION_TABLE") != nullptr) {
    std::cout << report.table();
  }
  return report;
}

TEST(isolation, refuses_counts_and_reports_every_kind_of_operation) {
  const campaign_report report = run(1);
  EXPECT_TRUE(report.ended) << "a program waits for ever";
  EXPECT_EQ(report.failed, 0U);
  EXPECT_THAT(report.failures, testing::IsEmpty());
  EXPECT_GE(*std::min_element(report.done.begin(), report.done.end()), 5U);
  EXPECT_GT(report.victim_messages, 100U);
  RecordProperty("digest", std::to_string(report.digest));
}

}  // namespace
}  // namespace carillon::isolation
