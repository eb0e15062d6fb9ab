// pcie_rx and its twin in lockstep, the twin in the model's place, and planted bugs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <tuple>
#include <vector>

#include "cli/subprocess.h"
#include "cosim/lockstep.h"
#include "cosim/lockstep_bench.h"
#include "tb/common/mutant_blocks.h"

namespace carillon {
namespace {

using ::testing::HasSubstr;

constexpr auto Patterns = {bench_pattern::none, bench_pattern::every_4th, bench_pattern::random};

lockstep_options traffic(std::uint64_t transactions, std::uint64_t seed = 1) {
  lockstep_options options;
  options.stage = "pcie_rx";
  options.transactions = transactions;
  options.seed = seed;
  return options;
}

lockstep_options as(impl_kind impl, lockstep_options options) {
  options.impl = impl;
  return options;
}

class pcie_rx_lockstep : public testing::TestWithParam<std::tuple<bench_pattern, bench_pattern>> {};

TEST_P(pcie_rx_lockstep, agrees_in_every_cycle) {
  lockstep_options options = traffic(20000);
  std::tie(options.source, options.sink) = GetParam();
  EXPECT_EQ(run_lockstep(options).transactions, 20000);
}

INSTANTIATE_TEST_SUITE_P(patterns, pcie_rx_lockstep,
                         testing::Combine(testing::ValuesIn(Patterns), testing::ValuesIn(Patterns)),
                         [](const auto& run) {
                           return std::string(to_string(std::get<0>(run.param))) + "_to_" +
                                  to_string(std::get<1>(run.param));
                         });

class pcie_rx_lockstep_seeds : public testing::TestWithParam<std::uint64_t> {};

TEST_P(pcie_rx_lockstep_seeds, agree_in_every_cycle) {
  EXPECT_EQ(run_lockstep(traffic(10000, GetParam())).transactions, 10000);
}

INSTANTIATE_TEST_SUITE_P(seeds, pcie_rx_lockstep_seeds, testing::Range<std::uint64_t>(20, 32));

TEST(pcie_rx_lockstep_run, covers_every_bin) {
  const lockstep_report report = run_lockstep(traffic(50000, 2));
  EXPECT_THAT(report.uncovered(), testing::IsEmpty());
}

TEST(pcie_rx_lockstep_run, order_of_evaluation_does_not_matter) {
  lockstep_options options = traffic(5000, 3);
  options.shuffle_seed = 17;
  EXPECT_EQ(run_lockstep(options).transactions, 5000);
}

TEST(pcie_rx_lockstep_run, a_run_of_nothing_is_visible) {
  const lockstep_report report = run_lockstep(traffic(0));
  EXPECT_EQ(report.transactions, 0);
  EXPECT_EQ(report.uncovered().size(), report.coverage.size());
}

// The twin in the model's place
// -------------------------------------------------------------------------

/// What identity claims cover: every transfer, every span, the length of the run.
std::string result_of(const lockstep_options& options) {
  const lockstep_report report = run_lockstep(options);
  return fmt::format("digest {:016x}, {} cycles, {} transactions", report.trace_digest,
                     report.cycles, report.transactions);
}

/// Each case compares one way to run the traffic with the model's; the model runs in a process of
/// its own.
class pcie_rx_in_place : public testing::TestWithParam<std::tuple<bench_pattern, bench_pattern>> {};

TEST_P(pcie_rx_in_place, writes_the_same_traces) {
  lockstep_options options = traffic(10000, 5);
  std::tie(options.source, options.sink) = GetParam();
  const std::string model = run_in_child([&] { return result_of(as(impl_kind::model, options)); });
  EXPECT_EQ(result_of(as(impl_kind::rtl, options)), model);
}

INSTANTIATE_TEST_SUITE_P(patterns, pcie_rx_in_place,
                         testing::Combine(testing::ValuesIn(Patterns), testing::ValuesIn(Patterns)),
                         [](const auto& run) {
                           return std::string(to_string(std::get<0>(run.param))) + "_to_" +
                                  to_string(std::get<1>(run.param));
                         });

TEST(pcie_rx_in_place_run, order_of_evaluation_does_not_matter) {
  lockstep_options options = traffic(10000, 6);
  const std::string model = run_in_child([&] { return result_of(as(impl_kind::model, options)); });
  options.shuffle_seed = 99;
  EXPECT_EQ(result_of(as(impl_kind::rtl, options)), model);
}

TEST(pcie_rx_in_place_run, lockstep_writes_the_models_traces) {
  const lockstep_options options = traffic(10000, 7);
  const std::string model = run_in_child([&] { return result_of(as(impl_kind::model, options)); });
  EXPECT_EQ(result_of(options), model);
}

TEST(pcie_rx_in_place_run, a_clock_that_never_stops_changes_nothing) {
  lockstep_options options = as(impl_kind::rtl, traffic(5000, 8));
  options.source = bench_pattern::every_4th;
  const std::string gated = run_in_child([&] { return result_of(options); });
  options.rtl_clock_always = true;
  EXPECT_EQ(result_of(options), gated);
}

// busy_o
// ------------------------------------------------------------------------------------------------

TEST(pcie_rx_audit, idle_edges_change_nothing) {
  lockstep_options options = traffic(3000, 4);
  options.audit = true;
  EXPECT_EQ(run_lockstep(options).transactions, 3000);
}

// Planted bugs
// ------------------------------------------------------------------------------------------

struct planted {
  const char* variant;
  // cppcheck-suppress unusedStructMember; read through GetParam()
  std::vector<std::string> places;  ///< port.field at which it may show first
};

void PrintTo(const planted& bug, std::ostream* out) {
  *out << bug.variant;
}

class pcie_rx_mutant : public testing::TestWithParam<planted> {};

TEST_P(pcie_rx_mutant, is_caught_and_named) {
  register_mutants();
  lockstep_options options = traffic(20000, 11);
  options.variant = GetParam().variant;
  try {
    run_lockstep(options);
    FAIL() << "the planted bug went unnoticed";
  } catch (const lockstep_mismatch& mismatch) {
    const lockstep_mismatch::place& where = mismatch.where();
    EXPECT_EQ(where.stage, "pcie_rx");
    EXPECT_THAT(GetParam().places, testing::Contains(where.port + "." + where.field))
        << mismatch.what();
    EXPECT_NE(where.model, where.rtl);
    EXPECT_THAT(
        mismatch.what(),
        HasSubstr("seed 11; to repeat: carillon lockstep pcie_rx --transactions 20000 --seed 11"));
  }
}

INSTANTIATE_TEST_SUITE_P(
    planted, pcie_rx_mutant,
    testing::Values(planted{"content_lead", {"register_write.data", "uar_write.data"}},
                    planted{"holes", {"error.valid", "tlp.ready"}},
                    planted{"enables", {"error.valid", "tlp.ready", "uar_write.valid"}},
                    planted{"resetting", {"error.function_id", "error.valid", "tlp.ready"}},
                    planted{"byte_count", {"refusal.length"}},
                    planted{"other_tag", {"refusal.tag"}},
                    planted{"timing", {"completion.valid", "completion.visible"}},
                    planted{"tail",
                            {"completion.valid", "register_write.valid", "uar_write.valid",
                             "completion.visible", "register_write.visible", "uar_write.visible"}},
                    planted{"backpressure", {"tlp.ready"}},
                    planted{"busy",
                            {"register_write.valid", "uar_write.valid", "completion.valid"}}),
    [](const auto& run) { return std::string(run.param.variant); });

}  // namespace
}  // namespace carillon
