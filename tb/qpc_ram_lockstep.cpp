// qpc_ram and its twin in lockstep, the twin in the model's place, what both remember when a run
// has ended, and planted bugs.

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <tuple>
#include <vector>

#include "cli/subprocess.h"
#include "cosim/lockstep.h"
#include "cosim/lockstep_bench.h"
#include "cosim/twin_driver.h"
#include "tb/common/mutant_blocks.h"

namespace carillon {
namespace {

using ::testing::HasSubstr;

constexpr auto Patterns = {bench_pattern::none, bench_pattern::every_4th, bench_pattern::random};

lockstep_options traffic(std::uint64_t transactions, std::uint64_t seed = 1) {
  lockstep_options options;
  options.stage = "qpc_ram";
  options.transactions = transactions;
  options.seed = seed;
  return options;
}

lockstep_options as(impl_kind impl, lockstep_options options) {
  options.impl = impl;
  return options;
}

class qpc_ram_lockstep : public testing::TestWithParam<std::tuple<bench_pattern, bench_pattern>> {};

TEST_P(qpc_ram_lockstep, agrees_in_every_cycle) {
  lockstep_options options = traffic(20000);
  std::tie(options.source, options.sink) = GetParam();
  EXPECT_EQ(run_lockstep(options).transactions, 20000);
}

INSTANTIATE_TEST_SUITE_P(patterns, qpc_ram_lockstep,
                         testing::Combine(testing::ValuesIn(Patterns), testing::ValuesIn(Patterns)),
                         [](const auto& run) {
                           return std::string(to_string(std::get<0>(run.param))) + "_to_" +
                                  to_string(std::get<1>(run.param));
                         });

/// The settings change with the seed: sizes of the tables, shape of the cache, misses under way.
class qpc_ram_lockstep_settings : public testing::TestWithParam<std::uint64_t> {};

TEST_P(qpc_ram_lockstep_settings, agree_in_every_cycle) {
  EXPECT_EQ(run_lockstep(traffic(20000, GetParam())).transactions, 20000);
}

INSTANTIATE_TEST_SUITE_P(seeds, qpc_ram_lockstep_settings, testing::Range<std::uint64_t>(20, 40));

TEST(qpc_ram_lockstep_run, covers_every_bin) {
  const lockstep_report report = run_lockstep(traffic(50000, 21));
  EXPECT_THAT(report.uncovered(), testing::IsEmpty());
}

TEST(qpc_ram_lockstep_run, order_of_evaluation_does_not_matter) {
  lockstep_options options = traffic(5000, 3);
  options.shuffle_seed = 17;
  EXPECT_EQ(run_lockstep(options).transactions, 5000);
}

TEST(qpc_ram_lockstep_run, a_run_of_nothing_is_visible) {
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
class qpc_ram_in_place : public testing::TestWithParam<std::tuple<bench_pattern, bench_pattern>> {};

TEST_P(qpc_ram_in_place, writes_the_same_traces) {
  lockstep_options options = traffic(10000, 5);
  std::tie(options.source, options.sink) = GetParam();
  const std::string model = run_in_child([&] { return result_of(as(impl_kind::model, options)); });
  EXPECT_EQ(result_of(as(impl_kind::rtl, options)), model);
}

INSTANTIATE_TEST_SUITE_P(patterns, qpc_ram_in_place,
                         testing::Combine(testing::ValuesIn(Patterns), testing::ValuesIn(Patterns)),
                         [](const auto& run) {
                           return std::string(to_string(std::get<0>(run.param))) + "_to_" +
                                  to_string(std::get<1>(run.param));
                         });

TEST(qpc_ram_in_place_run, order_of_evaluation_does_not_matter) {
  lockstep_options options = traffic(10000, 6);
  const std::string model = run_in_child([&] { return result_of(as(impl_kind::model, options)); });
  options.shuffle_seed = 99;
  EXPECT_EQ(result_of(as(impl_kind::rtl, options)), model);
}

TEST(qpc_ram_in_place_run, lockstep_writes_the_models_traces) {
  const lockstep_options options = traffic(10000, 7);
  const std::string model = run_in_child([&] { return result_of(as(impl_kind::model, options)); });
  EXPECT_EQ(result_of(options), model);
}

TEST(qpc_ram_in_place_run, a_clock_that_never_stops_changes_nothing) {
  lockstep_options options = as(impl_kind::rtl, traffic(5000, 8));
  options.source = bench_pattern::every_4th;
  const std::string gated = run_in_child([&] { return result_of(options); });
  options.rtl_clock_always = true;
  EXPECT_EQ(result_of(options), gated);
}

// busy_o
// ------------------------------------------------------------------------------------------------

TEST(qpc_ram_audit, idle_edges_change_nothing) {
  lockstep_options options = traffic(3000, 4);
  options.audit = true;
  EXPECT_EQ(run_lockstep(options).transactions, 3000);
}

TEST(qpc_ram_audit, catches_a_block_that_is_busy_and_denies_it) {
  register_mutants();
  lockstep_options options = traffic(1000, 4);
  options.audit = true;
  options.variant = "busy";
  try {
    run_lockstep(options);
    FAIL() << "the lie went unnoticed";
  } catch (const rtl_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("busy_o is 0 after cycle"));
    EXPECT_THAT(error.what(), HasSubstr("changes qpc_ram."));
  }
}

// Planted bugs
// ------------------------------------------------------------------------------------------

struct planted {
  const char* variant;
  // cppcheck-suppress unusedStructMember; read through GetParam()
  std::vector<std::string> places;  ///< how the port.field may end at which it shows first
};

void PrintTo(const planted& bug, std::ostream* out) {
  *out << bug.variant;
}

class qpc_ram_mutant : public testing::TestWithParam<planted> {};

TEST_P(qpc_ram_mutant, is_caught_and_named) {
  register_mutants();
  lockstep_options options = traffic(20000, 21);
  options.variant = GetParam().variant;
  try {
    run_lockstep(options);
    FAIL() << "the planted bug went unnoticed";
  } catch (const lockstep_mismatch& mismatch) {
    const lockstep_mismatch::place& where = mismatch.where();
    EXPECT_EQ(where.stage, "qpc_ram");
    const std::string seen = where.port + "." + where.field;
    EXPECT_TRUE(std::any_of(GetParam().places.begin(), GetParam().places.end(),
                            [&](const std::string& place) { return seen.ends_with(place); }))
        << mismatch.what();
    EXPECT_NE(where.model, where.rtl);
    EXPECT_THAT(
        mismatch.what(),
        HasSubstr("seed 21; to repeat: carillon lockstep qpc_ram --transactions 20000 --seed 21"));
  }
}

INSTANTIATE_TEST_SUITE_P(
    planted, qpc_ram_mutant,
    testing::Values(
        planted{"backpressure", {"_read.ready"}},
        planted{"busy", {"icm_fetch.valid", "_line.valid", "icm_done.ready"}},
        planted{"content", {"_line.data"}},
        planted{"denied",
                {"parser_line.valid", "parser_line.data", "parser_read.ready", "_read.ready"}},
        planted{"dirty", {"icm_store.valid", "icm_store.visible", "content.dirty"}},
        planted{"error", {"_line.data", "content.error"}},
        planted{"fail", {"_line.valid", "_read.ready", "icm_fetch.valid", "_line.visible"}},
        planted{"forward", {"_line.data"}},
        planted{"going", {"icm_fetch.valid", "icm_fetch.visible"}},
        planted{"lru",
                {"icm_store.address", "icm_store.valid", "_read.ready", "_line.valid",
                 "icm_fetch.valid", "icm_store.data"}},
        planted{"outdated",
                {"icm_fetch.valid", "_line.valid", "_line.data", "_read.ready", "icm_store.valid",
                 "icm_fetch.address"}},
        planted{"ports", {"_read.ready", "_line.valid"}},
        planted{"spare", {"_read.ready", "_write.ready", "icm_fetch.valid"}},
        planted{"strike", {"_line.data", "content.struck"}},
        planted{"timing", {"_line.trace_id", "_line.valid", "_line.visible"}},
        planted{"unread", {"content.data"}}),
    [](const auto& run) { return std::string(run.param.variant); });

}  // namespace
}  // namespace carillon
