// payload_dma and its twin in lockstep, the twin in the model's place, and the checkers that watch
// over both.

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
  options.stage = "payload_dma";
  options.transactions = transactions;
  options.seed = seed;
  return options;
}

class payload_dma_lockstep
    : public testing::TestWithParam<std::tuple<bench_pattern, bench_pattern>> {};

TEST_P(payload_dma_lockstep, agrees_in_every_cycle) {
  lockstep_options options = traffic(20000);
  std::tie(options.source, options.sink) = GetParam();
  EXPECT_EQ(run_lockstep(options).transactions, 20000);
}

INSTANTIATE_TEST_SUITE_P(patterns, payload_dma_lockstep,
                         testing::Combine(testing::ValuesIn(Patterns), testing::ValuesIn(Patterns)),
                         [](const auto& run) {
                           return std::string(to_string(std::get<0>(run.param))) + "_to_" +
                                  to_string(std::get<1>(run.param));
                         });

TEST(payload_dma_lockstep_run, covers_every_bin) {
  const lockstep_report report = run_lockstep(traffic(50000, 2));
  EXPECT_THAT(report.uncovered(), testing::IsEmpty());
}

TEST(payload_dma_lockstep_run, order_of_evaluation_does_not_matter) {
  lockstep_options options = traffic(5000, 3);
  options.shuffle_seed = 17;
  EXPECT_EQ(run_lockstep(options).transactions, 5000);
}

TEST(payload_dma_lockstep_run, a_run_of_nothing_is_visible) {
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
class payload_dma_in_place
    : public testing::TestWithParam<std::tuple<bench_pattern, bench_pattern>> {};

TEST_P(payload_dma_in_place, writes_the_same_traces) {
  lockstep_options options = traffic(10000, 5);
  std::tie(options.source, options.sink) = GetParam();
  const std::string model = run_in_child([&] { return result_of(as(impl_kind::model, options)); });
  EXPECT_EQ(result_of(as(impl_kind::rtl, options)), model);
}

INSTANTIATE_TEST_SUITE_P(patterns, payload_dma_in_place,
                         testing::Combine(testing::ValuesIn(Patterns), testing::ValuesIn(Patterns)),
                         [](const auto& run) {
                           return std::string(to_string(std::get<0>(run.param))) + "_to_" +
                                  to_string(std::get<1>(run.param));
                         });

TEST(payload_dma_in_place_run, order_of_evaluation_does_not_matter) {
  lockstep_options options = traffic(10000, 6);
  const std::string model = run_in_child([&] { return result_of(as(impl_kind::model, options)); });
  options.shuffle_seed = 99;
  EXPECT_EQ(result_of(as(impl_kind::rtl, options)), model);
}

TEST(payload_dma_in_place_run, lockstep_writes_the_models_traces) {
  const lockstep_options options = traffic(10000, 7);
  const std::string model = run_in_child([&] { return result_of(as(impl_kind::model, options)); });
  EXPECT_EQ(result_of(options), model);
}

TEST(payload_dma_in_place_run, a_clock_that_never_stops_changes_nothing) {
  lockstep_options options = as(impl_kind::rtl, traffic(5000, 8));
  options.source = bench_pattern::every_4th;
  const std::string gated = run_in_child([&] { return result_of(options); });
  options.rtl_clock_always = true;
  EXPECT_EQ(result_of(options), gated);
}

TEST(payload_dma_in_place_run, a_gated_clock_saves_edges) {
  lockstep_options options = as(impl_kind::rtl, traffic(1000, 8));
  options.source = bench_pattern::every_4th;
  const auto edges = [&] { return std::to_string(run_lockstep(options).edges); };
  const std::uint64_t gated = std::stoull(run_in_child(edges));
  options.rtl_clock_always = true;
  EXPECT_LT(gated, std::stoull(edges()));
}

// busy_o
// ------------------------------------------------------------------------------------------------

TEST(payload_dma_audit, idle_edges_change_nothing) {
  lockstep_options options = traffic(3000, 4);
  options.audit = true;
  EXPECT_EQ(run_lockstep(options).transactions, 3000);
}

TEST(payload_dma_audit, catches_a_block_that_is_busy_and_denies_it) {
  register_mutants();
  lockstep_options options = traffic(1000, 4);
  options.audit = true;
  options.variant = "busy";
  try {
    run_lockstep(options);
    FAIL() << "the lie went unnoticed";
  } catch (const rtl_error& error) {
    // The first to show is a read in the last cycle before its stream.
    EXPECT_THAT(error.what(), HasSubstr("busy_o was 0, but in cycle"));
    EXPECT_THAT(error.what(), HasSubstr("a beat enters output reads"));
  }
}

TEST(payload_dma_audit, a_clock_that_never_stops_catches_it_too) {
  register_mutants();
  lockstep_options options = as(impl_kind::rtl, traffic(1000, 1));
  // With nobody in the way, a read falls into a pause of the source, which must be longer than the
  // read's way to the stream.
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

class payload_dma_mutant : public testing::TestWithParam<planted> {};

TEST_P(payload_dma_mutant, is_caught_and_named) {
  register_mutants();
  lockstep_options options = traffic(20000, 11);
  options.variant = GetParam().variant;
  try {
    run_lockstep(options);
    FAIL() << "the planted bug went unnoticed";
  } catch (const lockstep_mismatch& mismatch) {
    const lockstep_mismatch::place& where = mismatch.where();
    EXPECT_EQ(where.stage, "payload_dma");
    EXPECT_THAT(GetParam().places, testing::Contains(where.port + "." + where.field))
        << mismatch.what();
    EXPECT_NE(where.model, where.rtl);
    EXPECT_THAT(mismatch.what(),
                HasSubstr(fmt::format("in cycle {} at port {}", where.cycle, where.port)));
    EXPECT_THAT(mismatch.what(), HasSubstr("last transfers:"));
    EXPECT_THAT(
        mismatch.what(),
        HasSubstr(
            "seed 11; to repeat: carillon lockstep payload_dma --transactions 20000 --seed 11"));
  }
}

INSTANTIATE_TEST_SUITE_P(
    planted, payload_dma_mutant,
    testing::Values(planted{"content_bytes", {"filled.data"}},
                    planted{"content_skip", {"reads.address", "reads.length"}},
                    planted{"far", {"reads.address"}},
                    planted{"two_lines",
                            {"reads.valid", "reads.visible", "reads.trace_id", "reads.address",
                             "packets.ready"}},
                    planted{"behalf", {"key_reads.function_id"}},
                    planted{"status", {"left.status"}}, planted{"first_failure", {"left.status"}},
                    planted{"timing", {"filled.valid", "filled.visible", "left.valid"}},
                    planted{"backpressure", {"packets.ready"}}, planted{"slots", {"packets.ready"}},
                    planted{"lookups", {"packets.ready"}}, planted{"busy", {"reads.valid"}}),
    [](const auto& run) { return std::string(run.param.variant); });

}  // namespace
}  // namespace carillon
