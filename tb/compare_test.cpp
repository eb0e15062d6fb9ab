// compare: what differs, in which direction, and what of it is a regression.

#include "cli/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "common/error.h"

namespace carillon {
namespace {

using testing::HasSubstr;

findings run(const std::map<std::string, double>& figures) {
  return {"run", {{"", figures}}};
}

/// The verdict on one figure that went from `before` to `after`.
std::string verdict(const std::string& name, double before, double after, double tolerance = 0) {
  const comparison found = compare(run({{name, before}}), run({{name, after}}), tolerance);
  return found.differences.empty() ? "same" : to_string(found.differences.front().verdict);
}

bool regressed(const std::string& name, double before, double after, double tolerance = 0) {
  return compare(run({{name, before}}), run({{name, after}}), tolerance).regressed();
}

TEST(compare, slower_is_worse) {
  EXPECT_EQ(verdict("latency.one_way.p50", 100, 101), "worse");
  EXPECT_EQ(verdict("latency.one_way.p50", 100, 99), "better");
  EXPECT_EQ(verdict("latency.one_way.p50", 100, 100), "same");
  EXPECT_EQ(verdict("stages.uar.service.mean", 10, 11), "worse");
}

TEST(compare, less_is_worse) {
  EXPECT_EQ(verdict("rates.goodput_gbps", 390, 380), "worse");
  EXPECT_EQ(verdict("rates.goodput_gbps", 380, 390), "better");
  EXPECT_EQ(verdict("latency.one_way.count", 200, 100), "worse");
  EXPECT_EQ(verdict("messages", 200, 100), "worse");
}

TEST(compare, counters_and_waits_of_a_stage_only_change) {
  EXPECT_EQ(verdict("counters.nic0.doorbells", 1, 2), "changed");
  EXPECT_FALSE(regressed("counters.nic0.doorbells", 1, 2));
  EXPECT_EQ(verdict("stages.uar.wait.mean", 10, 11), "changed");
}

TEST(compare, failures_are_regressions) {
  EXPECT_TRUE(regressed("checks.failed_completions", 0, 1, 50));
  EXPECT_TRUE(regressed("expect.failed", 0, 1, 50));
  EXPECT_FALSE(regressed("checks.failed_completions", 1, 0));
}

TEST(compare, the_tolerance_is_percent_of_before_and_included) {
  EXPECT_EQ(verdict("latency.one_way.p50", 200, 204, 2), "within tolerance");
  EXPECT_FALSE(regressed("latency.one_way.p50", 200, 204, 2));
  EXPECT_TRUE(regressed("latency.one_way.p50", 200, 204.1, 2));
  EXPECT_FALSE(regressed("rates.goodput_gbps", 200, 196, 2));
  EXPECT_TRUE(regressed("rates.goodput_gbps", 200, 195.9, 2));
}

TEST(compare, a_figure_that_is_gone_is_a_regression_unless_it_means_nothing) {
  const comparison gone =
      compare(run({{"latency.one_way.p50", 1}, {"counters.nic0.doorbells", 1}}), run({}), 100);
  EXPECT_EQ(gone.count(change_verdict::gone), 2);
  EXPECT_TRUE(gone.regressed());
  EXPECT_FALSE(compare(run({{"counters.nic0.doorbells", 1}}), run({}), 0).regressed());
  EXPECT_FALSE(compare(run({}), run({{"latency.one_way.p50", 1}}), 0).regressed());
}

TEST(compare, points_are_compared_by_their_labels) {
  const findings before{"a", {{"x", {{"messages", 1}}}, {"y", {{"messages", 2}}}}};
  const findings after{"b", {{"y", {{"messages", 3}}}, {"z", {{"messages", 1}}}}};
  const comparison found = compare(before, after, 0);
  ASSERT_EQ(found.differences.size(), 3);
  EXPECT_EQ(found.differences[0].point, "x");
  EXPECT_EQ(found.differences[0].verdict, change_verdict::gone);
  EXPECT_EQ(found.differences[1].percent, 50.0);
  EXPECT_EQ(found.differences[2].verdict, change_verdict::added);
}

TEST(compare, the_table_and_the_document_say_the_same) {
  const findings before = run({{"latency.one_way.p50", 200}, {"messages", 5}});
  const findings after = run({{"latency.one_way.p50", 210}, {"messages", 5}});
  const comparison found = compare(before, after, 1);
  const std::string text = render_comparison(before, after, found, false);
  EXPECT_THAT(text, HasSubstr("latency.one_way.p50"));
  EXPECT_THAT(text, HasSubstr("+5.00 %"));
  EXPECT_THAT(text, HasSubstr("1 of 2 figures differ: 1 worse"));
  EXPECT_THAT(text, HasSubstr("regression beyond 1 %"));
  const auto document = comparison_json(before, after, found);
  EXPECT_EQ(document["regressed"], true);
  EXPECT_EQ(document["differences"][0]["percent"], 5.0);
  EXPECT_EQ(document["differences"][0]["verdict"], "worse");
}

TEST(compare, a_file_that_is_no_summary_is_refused) {
  EXPECT_THROW(load_findings("scenarios/README.md"), config_error);
  EXPECT_THROW(load_findings("absent"), config_error);
}

}  // namespace
}  // namespace carillon
