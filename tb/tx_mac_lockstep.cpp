// tx_mac and its twin in lockstep, the twin in the model's place, and the checkers that watch
// over both.

#include "tx_mac.h"

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
  options.stage = "tx_mac";
  options.transactions = transactions;
  options.seed = seed;
  return options;
}

class tx_mac_lockstep : public testing::TestWithParam<std::tuple<bench_pattern, bench_pattern>> {};

TEST_P(tx_mac_lockstep, agrees_in_every_cycle) {
  lockstep_options options = traffic(20000);
  std::tie(options.source, options.sink) = GetParam();
  EXPECT_EQ(run_lockstep(options).transactions, 20000);
}

INSTANTIATE_TEST_SUITE_P(patterns, tx_mac_lockstep,
                         testing::Combine(testing::ValuesIn(Patterns), testing::ValuesIn(Patterns)),
                         [](const auto& run) {
                           return std::string(to_string(std::get<0>(run.param))) + "_to_" +
                                  to_string(std::get<1>(run.param));
                         });

TEST(tx_mac_lockstep_run, covers_every_bin) {
  const lockstep_report report = run_lockstep(traffic(50000, 2));
  EXPECT_THAT(report.uncovered(), testing::IsEmpty());
}

TEST(tx_mac_lockstep_run, order_of_evaluation_does_not_matter) {
  lockstep_options options = traffic(5000, 3);
  options.shuffle_seed = 17;
  EXPECT_EQ(run_lockstep(options).transactions, 5000);
}

TEST(tx_mac_lockstep_run, a_run_of_nothing_is_visible) {
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
class tx_mac_in_place : public testing::TestWithParam<std::tuple<bench_pattern, bench_pattern>> {};

TEST_P(tx_mac_in_place, writes_the_same_traces) {
  lockstep_options options = traffic(10000, 5);
  std::tie(options.source, options.sink) = GetParam();
  const std::string model = run_in_child([&] { return result_of(as(impl_kind::model, options)); });
  EXPECT_EQ(result_of(as(impl_kind::rtl, options)), model);
}

INSTANTIATE_TEST_SUITE_P(patterns, tx_mac_in_place,
                         testing::Combine(testing::ValuesIn(Patterns), testing::ValuesIn(Patterns)),
                         [](const auto& run) {
                           return std::string(to_string(std::get<0>(run.param))) + "_to_" +
                                  to_string(std::get<1>(run.param));
                         });

TEST(tx_mac_in_place_run, order_of_evaluation_does_not_matter) {
  lockstep_options options = traffic(10000, 6);
  const std::string model = run_in_child([&] { return result_of(as(impl_kind::model, options)); });
  options.shuffle_seed = 99;
  EXPECT_EQ(result_of(as(impl_kind::rtl, options)), model);
}

TEST(tx_mac_in_place_run, lockstep_writes_the_models_traces) {
  const lockstep_options options = traffic(10000, 7);
  const std::string model = run_in_child([&] { return result_of(as(impl_kind::model, options)); });
  EXPECT_EQ(result_of(options), model);
}

TEST(tx_mac_in_place_run, a_clock_that_never_stops_changes_nothing) {
  lockstep_options options = as(impl_kind::rtl, traffic(5000, 8));
  options.source = bench_pattern::every_4th;
  const std::string gated = run_in_child([&] { return result_of(options); });
  options.rtl_clock_always = true;
  EXPECT_EQ(result_of(options), gated);
}

TEST(tx_mac_in_place_run, a_gated_clock_saves_edges) {
  lockstep_options options = as(impl_kind::rtl, traffic(1000, 8));
  options.source = bench_pattern::every_4th;
  const auto edges = [&] { return std::to_string(run_lockstep(options).edges); };
  const std::uint64_t gated = std::stoull(run_in_child(edges));
  options.rtl_clock_always = true;
  EXPECT_LT(gated, std::stoull(edges()));
}

// busy_o
// ------------------------------------------------------------------------------------------------

TEST(tx_mac_audit, idle_edges_change_nothing) {
  lockstep_options options = traffic(3000, 4);
  options.audit = true;
  EXPECT_EQ(run_lockstep(options).transactions, 3000);
}

TEST(tx_mac_audit, catches_a_block_that_is_busy_and_denies_it) {
  register_mutants();
  lockstep_options options = traffic(1000, 4);
  options.audit = true;
  options.variant = "busy";
  try {
    run_lockstep(options);
    FAIL() << "the lie went unnoticed";
  } catch (const rtl_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("busy_o is 0 after cycle"));
    EXPECT_THAT(error.what(), HasSubstr("changes tx_mac.u_pacer.owed_q"));
  }
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

class tx_mac_mutant : public testing::TestWithParam<planted> {};

TEST_P(tx_mac_mutant, is_caught_and_named) {
  register_mutants();
  lockstep_options options = traffic(20000, 11);
  // A slow wire: it is often busy long after the last beat has left.
  options.sink = bench_pattern::every_4th;
  options.variant = GetParam().variant;
  try {
    run_lockstep(options);
    FAIL() << "the planted bug went unnoticed";
  } catch (const lockstep_mismatch& mismatch) {
    const lockstep_mismatch::place& where = mismatch.where();
    EXPECT_EQ(where.stage, "tx_mac");
    EXPECT_THAT(GetParam().places, testing::Contains(where.port + "." + where.field))
        << mismatch.what();
    EXPECT_NE(where.model, where.rtl);
    EXPECT_THAT(mismatch.what(),
                HasSubstr(fmt::format("in cycle {} at port {}", where.cycle, where.port)));
    EXPECT_THAT(mismatch.what(), HasSubstr("last transfers:"));
    EXPECT_THAT(
        mismatch.what(),
        HasSubstr("seed 11; to repeat: carillon lockstep tx_mac --transactions 20000 --seed 11"));
  }
}

INSTANTIATE_TEST_SUITE_P(
    planted, tx_mac_mutant,
    testing::Values(planted{"fcs_length", {"wire.fcs"}}, planted{"fcs_seed", {"wire.fcs"}},
                    planted{"content", {"wire.last_packet"}}, planted{"timing", {"wire.valid"}},
                    planted{"backpressure", {"frame.ready", "control.ready"}},
                    planted{"gap", {"frame.ready", "control.ready", "wire.valid"}},
                    planted{"busy", {"frame.ready", "control.ready", "wire.valid"}},
                    planted{"overtaken", {"frame.ready"}}, planted{"paused", {"frame.ready"}},
                    planted{"control", {"control.ready"}}, planted{"room", {"frame.ready"}},
                    planted{"turn", {"wire.trace_id", "wire.length", "wire.data"}}),
    [](const auto& run) { return std::string(run.param.variant); });

// In place of the model a frame is known from what came in, and every beat must agree.
TEST(tx_mac_in_place_run, a_wrong_beat_ends_the_run) {
  register_mutants();
  lockstep_options options = as(impl_kind::rtl, traffic(20000, 11));
  options.variant = "fcs_length";
  try {
    run_lockstep(options);
    FAIL() << "a wrong FCS went to the wire";
  } catch (const model_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("bench.leaving: beat"));
    EXPECT_THAT(error.what(), HasSubstr("is another one than what its inputs say"));
  }
}

}  // namespace
}  // namespace carillon
