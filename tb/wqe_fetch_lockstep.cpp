// wqe_fetch and its twin in lockstep, the twin in the model's place, and the checkers that watch
// over both.

#include "wqe_fetch.h"

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
  options.stage = "wqe_fetch";
  options.transactions = transactions;
  options.seed = seed;
  return options;
}

class wqe_fetch_lockstep : public testing::TestWithParam<std::tuple<bench_pattern, bench_pattern>> {
};

TEST_P(wqe_fetch_lockstep, agrees_in_every_cycle) {
  lockstep_options options = traffic(20000);
  std::tie(options.source, options.sink) = GetParam();
  EXPECT_EQ(run_lockstep(options).transactions, 20000);
}

INSTANTIATE_TEST_SUITE_P(patterns, wqe_fetch_lockstep,
                         testing::Combine(testing::ValuesIn(Patterns), testing::ValuesIn(Patterns)),
                         [](const auto& run) {
                           return std::string(to_string(std::get<0>(run.param))) + "_to_" +
                                  to_string(std::get<1>(run.param));
                         });

TEST(wqe_fetch_lockstep_run, covers_every_bin) {
  const lockstep_report report = run_lockstep(traffic(50000));
  EXPECT_THAT(report.uncovered(), testing::IsEmpty());
}

TEST(wqe_fetch_lockstep_run, order_of_evaluation_does_not_matter) {
  lockstep_options options = traffic(5000, 3);
  options.shuffle_seed = 17;
  EXPECT_EQ(run_lockstep(options).transactions, 5000);
}

TEST(wqe_fetch_lockstep_run, a_run_of_nothing_is_visible) {
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
class wqe_fetch_in_place : public testing::TestWithParam<std::tuple<bench_pattern, bench_pattern>> {
};

TEST_P(wqe_fetch_in_place, writes_the_same_traces) {
  lockstep_options options = traffic(10000, 5);
  std::tie(options.source, options.sink) = GetParam();
  const std::string model = run_in_child([&] { return result_of(as(impl_kind::model, options)); });
  EXPECT_EQ(result_of(as(impl_kind::rtl, options)), model);
}

INSTANTIATE_TEST_SUITE_P(patterns, wqe_fetch_in_place,
                         testing::Combine(testing::ValuesIn(Patterns), testing::ValuesIn(Patterns)),
                         [](const auto& run) {
                           return std::string(to_string(std::get<0>(run.param))) + "_to_" +
                                  to_string(std::get<1>(run.param));
                         });

TEST(wqe_fetch_in_place_run, order_of_evaluation_does_not_matter) {
  lockstep_options options = traffic(10000, 6);
  const std::string model = run_in_child([&] { return result_of(as(impl_kind::model, options)); });
  options.shuffle_seed = 99;
  EXPECT_EQ(result_of(as(impl_kind::rtl, options)), model);
}

TEST(wqe_fetch_in_place_run, lockstep_writes_the_models_traces) {
  const lockstep_options options = traffic(10000, 7);
  const std::string model = run_in_child([&] { return result_of(as(impl_kind::model, options)); });
  EXPECT_EQ(result_of(options), model);
}

TEST(wqe_fetch_in_place_run, a_clock_that_never_stops_changes_nothing) {
  lockstep_options options = as(impl_kind::rtl, traffic(5000, 8));
  options.source = bench_pattern::every_4th;
  const std::string gated = run_in_child([&] { return result_of(options); });
  options.rtl_clock_always = true;
  EXPECT_EQ(result_of(options), gated);
}

TEST(wqe_fetch_in_place_run, a_gated_clock_saves_edges) {
  lockstep_options options = as(impl_kind::rtl, traffic(1000, 8));
  options.source = bench_pattern::every_4th;
  const auto edges = [&] { return std::to_string(run_lockstep(options).edges); };
  const std::uint64_t gated = std::stoull(run_in_child(edges));
  options.rtl_clock_always = true;
  EXPECT_LT(gated, std::stoull(edges()));
}

// busy_o
// ------------------------------------------------------------------------------------------------

TEST(wqe_fetch_audit, idle_edges_change_nothing) {
  lockstep_options options = traffic(3000, 4);
  options.audit = true;
  EXPECT_EQ(run_lockstep(options).transactions, 3000);
}

TEST(wqe_fetch_audit, catches_a_block_that_is_busy_and_denies_it) {
  register_mutants();
  lockstep_options options = traffic(1000, 4);
  options.audit = true;
  options.variant = "busy";
  try {
    run_lockstep(options);
    FAIL() << "the lie went unnoticed";
  } catch (const rtl_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("busy_o is 0 after cycle"));
    EXPECT_THAT(error.what(), HasSubstr("changes wqe_fetch.u_line"));
  }
}

TEST(wqe_fetch_audit, a_clock_that_never_stops_catches_it_too) {
  register_mutants();
  lockstep_options options = as(impl_kind::rtl, traffic(1000, 4));
  // With nobody in the way, a QP comes into line in the pause between two doorbells.
  options.source = bench_pattern::every_4th;
  options.sink = bench_pattern::none;
  options.rtl_clock_always = true;
  options.variant = "busy";
  // The rules, which know when a read is due, may be first to see it.
  EXPECT_THROW(run_lockstep(options), model_error);
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

class wqe_fetch_mutant : public testing::TestWithParam<planted> {};

TEST_P(wqe_fetch_mutant, is_caught_and_named) {
  register_mutants();
  lockstep_options options = traffic(20000, 11);
  options.variant = GetParam().variant;
  try {
    run_lockstep(options);
    FAIL() << "the planted bug went unnoticed";
  } catch (const lockstep_mismatch& mismatch) {
    const lockstep_mismatch::place& where = mismatch.where();
    EXPECT_EQ(where.stage, "wqe_fetch");
    EXPECT_THAT(GetParam().places, testing::Contains(where.port + "." + where.field))
        << mismatch.what();
    EXPECT_NE(where.model, where.rtl);
    EXPECT_THAT(mismatch.what(),
                HasSubstr(fmt::format("in cycle {} at port {}", where.cycle, where.port)));
    EXPECT_THAT(mismatch.what(), HasSubstr("last transfers:"));
    EXPECT_THAT(
        mismatch.what(),
        HasSubstr(
            "seed 11; to repeat: carillon lockstep wqe_fetch --transactions 20000 --seed 11"));
  }
}

INSTANTIATE_TEST_SUITE_P(
    planted, wqe_fetch_mutant,
    testing::Values(planted{"content_page", {"reads.length", "reads.valid"}},
                    planted{"content_epoch", {"wqes.epoch"}},
                    planted{"timing", {"reads.valid", "reads.visible"}},
                    planted{"backpressure", {"reads.valid", "doorbells.ready"}},
                    planted{"arbiter", {"refetches.ready"}},
                    planted{"stale",
                            {"reads.visible", "reads.valid", "wqes.valid", "wqes.function_id"}},
                    planted{"unfinished",
                            {"reads.valid", "reads.visible", "reads.address", "wqes.valid",
                             "context_reads.valid"}},
                    planted{"last_read", {"context_reads.valid", "wqes.valid"}},
                    planted{"busy", {"reads.valid"}}),
    [](const auto& run) { return std::string(run.param.variant); });

// The twin's limits
// -----------------------------------------------------------------------------

TEST(wqe_fetch_twin, is_refused_for_a_chip_with_more_QPs_than_it_has_entries) {
  parameters params;
  ++params.nic.log_max_qp;
  sim_context context(params, 1, 0);
  tlp_pool tlps;
  nic_shared nic(context, "nic", tlps);
  stream<doorbell> doorbells(context, "doorbells", 16);
  stream<context_read> context_reads(context, "context_reads", 8);
  stream<context_line> context_lines(context, "context_lines", 16);
  stream<dma_read> reads(context, "reads", 32);
  stream<dma_read_done> done(context, "done", 32);
  stream<qp_command> commands(context, "commands", 8);
  stream<refetch> refetches(context, "refetches", 16);
  stream<wqe_item> wqes(context, "wqes", 32, 16);
  rtl_domain domain(context, {});
  try {
    make_twin<wqe_fetch>(
        "wqe_fetch", nic,
        {doorbells, context_reads, context_lines, reads, done, commands, refetches, wqes},
        impl_kind::rtl, &domain);
    FAIL();
  } catch (const config_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("nic.log_max_qp = 12, not 13"));
  }
}

}  // namespace
}  // namespace carillon
