// packet_builder and its twin in lockstep, the twin in the model's place, and the checkers that
// watch over both.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <tuple>
#include <vector>

#include "cli/subprocess.h"
#include "cosim/lockstep.h"
#include "cosim/lockstep_bench.h"
#include "cosim/rtl_domain.h"
#include "cosim/twin_driver.h"
#include "tb/common/mutant_blocks.h"

namespace carillon {
namespace {

using ::testing::HasSubstr;

constexpr auto Patterns = {bench_pattern::none, bench_pattern::every_4th, bench_pattern::random};

lockstep_options traffic(std::uint64_t transactions, std::uint64_t seed = 1) {
  lockstep_options options;
  options.stage = "packet_builder";
  options.transactions = transactions;
  options.seed = seed;
  return options;
}

class packet_builder_lockstep
    : public testing::TestWithParam<std::tuple<bench_pattern, bench_pattern>> {};

TEST_P(packet_builder_lockstep, agrees_in_every_cycle) {
  lockstep_options options = traffic(20000);
  std::tie(options.source, options.sink) = GetParam();
  EXPECT_EQ(run_lockstep(options).transactions, 20000);
}

INSTANTIATE_TEST_SUITE_P(patterns, packet_builder_lockstep,
                         testing::Combine(testing::ValuesIn(Patterns), testing::ValuesIn(Patterns)),
                         [](const auto& run) {
                           return std::string(to_string(std::get<0>(run.param))) + "_to_" +
                                  to_string(std::get<1>(run.param));
                         });

TEST(packet_builder_lockstep_run, covers_every_bin) {
  const lockstep_report report = run_lockstep(traffic(50000, 2));
  EXPECT_THAT(report.uncovered(), testing::IsEmpty());
}

TEST(packet_builder_lockstep_run, order_of_evaluation_does_not_matter) {
  lockstep_options options = traffic(5000, 3);
  options.shuffle_seed = 17;
  EXPECT_EQ(run_lockstep(options).transactions, 5000);
}

TEST(packet_builder_lockstep_run, a_run_of_nothing_is_visible) {
  lockstep_options options = traffic(0);
  const lockstep_report report = run_lockstep(options);
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

lockstep_options as(impl_kind impl, lockstep_options options) {
  options.impl = impl;
  return options;
}

/// Each case compares one way to run the traffic with the model's; the model runs in a process of
/// its own.
class packet_builder_in_place
    : public testing::TestWithParam<std::tuple<bench_pattern, bench_pattern>> {};

TEST_P(packet_builder_in_place, writes_the_same_traces) {
  lockstep_options options = traffic(10000, 5);
  std::tie(options.source, options.sink) = GetParam();
  const std::string model = run_in_child([&] { return result_of(as(impl_kind::model, options)); });
  EXPECT_EQ(result_of(as(impl_kind::rtl, options)), model);
}

INSTANTIATE_TEST_SUITE_P(patterns, packet_builder_in_place,
                         testing::Combine(testing::ValuesIn(Patterns), testing::ValuesIn(Patterns)),
                         [](const auto& run) {
                           return std::string(to_string(std::get<0>(run.param))) + "_to_" +
                                  to_string(std::get<1>(run.param));
                         });

TEST(packet_builder_in_place_run, order_of_evaluation_does_not_matter) {
  lockstep_options options = traffic(10000, 6);
  const std::string model = run_in_child([&] { return result_of(as(impl_kind::model, options)); });
  options.shuffle_seed = 99;
  EXPECT_EQ(result_of(as(impl_kind::rtl, options)), model);
}

TEST(packet_builder_in_place_run, lockstep_writes_the_models_traces) {
  const lockstep_options options = traffic(10000, 7);
  const std::string model = run_in_child([&] { return result_of(as(impl_kind::model, options)); });
  EXPECT_EQ(result_of(options), model);
}

TEST(packet_builder_in_place_run, a_clock_that_never_stops_changes_nothing) {
  lockstep_options options = as(impl_kind::rtl, traffic(5000, 8));
  options.source = bench_pattern::every_4th;
  const std::string gated = run_in_child([&] { return result_of(options); });
  options.rtl_clock_always = true;
  EXPECT_EQ(result_of(options), gated);
}

TEST(packet_builder_in_place_run, a_gated_clock_saves_edges) {
  lockstep_options options = as(impl_kind::rtl, traffic(1000, 8));
  options.source = bench_pattern::every_4th;
  const auto edges = [&] { return std::to_string(run_lockstep(options).edges); };
  const std::uint64_t gated = std::stoull(run_in_child(edges));
  options.rtl_clock_always = true;
  EXPECT_LT(gated, std::stoull(edges()));
}

// busy_o
// ------------------------------------------------------------------------------------------------

TEST(packet_builder_audit, idle_edges_change_nothing) {
  lockstep_options options = traffic(3000, 4);
  options.audit = true;
  EXPECT_EQ(run_lockstep(options).transactions, 3000);
}

TEST(packet_builder_audit, catches_a_block_that_is_busy_and_denies_it) {
  register_mutants();
  lockstep_options options = traffic(1000, 4);
  options.audit = true;
  options.variant = "busy";
  try {
    run_lockstep(options);
    FAIL() << "the lie went unnoticed";
  } catch (const rtl_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("busy_o is 0 after cycle"));
    EXPECT_THAT(error.what(), HasSubstr("changes packet_builder.ahead_q"));
  }
}

TEST(packet_builder_audit, a_clock_that_never_stops_catches_it_too) {
  register_mutants();
  lockstep_options options = as(impl_kind::rtl, traffic(1000, 2));
  // With nobody in the way, a beat falls into a pause in which no packet waits for its path.
  options.source = bench_pattern::random;
  options.sink = bench_pattern::none;
  options.rtl_clock_always = true;
  options.variant = "busy";
  EXPECT_THROW(run_lockstep(options), rtl_error);
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

class packet_builder_mutant : public testing::TestWithParam<planted> {};

TEST_P(packet_builder_mutant, is_caught_and_named) {
  register_mutants();
  lockstep_options options = traffic(20000, 11);
  options.variant = GetParam().variant;
  try {
    run_lockstep(options);
    FAIL() << "the planted bug went unnoticed";
  } catch (const lockstep_mismatch& mismatch) {
    const lockstep_mismatch::place& where = mismatch.where();
    EXPECT_EQ(where.stage, "packet_builder");
    EXPECT_THAT(GetParam().places, testing::Contains(where.port + "." + where.field))
        << mismatch.what();
    EXPECT_NE(where.model, where.rtl);
    EXPECT_THAT(mismatch.what(),
                HasSubstr(fmt::format("in cycle {} at port {}", where.cycle, where.port)));
    EXPECT_THAT(mismatch.what(), HasSubstr("last transfers:"));
    EXPECT_THAT(
        mismatch.what(),
        HasSubstr(
            "seed 11; to repeat: carillon lockstep packet_builder --transactions 20000 --seed 11"));
  }
}

/// Where a frame shows that is missing, one too many, or at the wrong output, and what follows.
const std::vector<std::string> AnyOutput = {"frame.valid",      "loopback.valid", "frame.visible",
                                            "loopback.visible", "filled.ready",   "direct.ready"};
const std::vector<std::string> Bytes = {"frame.data", "loopback.data"};
const std::vector<std::string> Ready = {"filled.ready", "direct.ready"};

INSTANTIATE_TEST_SUITE_P(
    planted, packet_builder_mutant,
    testing::Values(planted{"masks", Bytes}, planted{"last_line", Bytes}, planted{"store", Bytes},
                    planted{"cnp", Bytes},
                    planted{"version",
                            {"frame.length", "loopback.length", "frame.data", "loopback.data",
                             "filled.ready", "direct.ready"}},
                    planted{"spoof", AnyOutput}, planted{"stale", AnyOutput},
                    planted{"route", AnyOutput}, planted{"order", Ready},
                    planted{"timing",
                            {"frame.valid", "loopback.valid", "frame.visible", "loopback.visible"}},
                    planted{"backpressure", Ready}, planted{"late_return", Ready},
                    planted{"ahead", Ready}, planted{"busy", {"frame.valid", "loopback.valid"}}),
    [](const auto& run) { return std::string(run.param.variant); });

}  // namespace
}  // namespace carillon
