// tx_sched and its twin in lockstep, the twin in the model's place, and the checkers that watch
// over both.

#include "tx_sched.h"

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
  options.stage = "tx_sched";
  options.transactions = transactions;
  options.seed = seed;
  return options;
}

class tx_sched_lockstep : public testing::TestWithParam<std::tuple<bench_pattern, bench_pattern>> {
};

TEST_P(tx_sched_lockstep, agrees_in_every_cycle) {
  lockstep_options options = traffic(5000);
  std::tie(options.source, options.sink) = GetParam();
  EXPECT_EQ(run_lockstep(options).transactions, 5000);
}

INSTANTIATE_TEST_SUITE_P(patterns, tx_sched_lockstep,
                         testing::Combine(testing::ValuesIn(Patterns), testing::ValuesIn(Patterns)),
                         [](const auto& run) {
                           return std::string(to_string(std::get<0>(run.param))) + "_to_" +
                                  to_string(std::get<1>(run.param));
                         });

TEST(tx_sched_lockstep_run, covers_every_bin) {
  const lockstep_report report = run_lockstep(traffic(20000, 2));
  EXPECT_THAT(report.uncovered(), testing::IsEmpty());
}

TEST(tx_sched_lockstep_run, order_of_evaluation_does_not_matter) {
  lockstep_options options = traffic(2000, 3);
  options.shuffle_seed = 17;
  EXPECT_EQ(run_lockstep(options).transactions, 2000);
}

TEST(tx_sched_lockstep_run, a_run_of_nothing_is_visible) {
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

lockstep_options as(impl_kind impl, lockstep_options options) {
  options.impl = impl;
  return options;
}

/// Each case compares one way to run the traffic with the model's; the model runs in a process of
/// its own.
class tx_sched_in_place : public testing::TestWithParam<bench_pattern> {};

TEST_P(tx_sched_in_place, writes_the_same_traces) {
  lockstep_options options = traffic(3000, 5);
  options.source = GetParam();
  options.sink = bench_pattern::random;
  const std::string model = run_in_child([&] { return result_of(as(impl_kind::model, options)); });
  EXPECT_EQ(result_of(as(impl_kind::rtl, options)), model);
}

INSTANTIATE_TEST_SUITE_P(patterns, tx_sched_in_place, testing::ValuesIn(Patterns),
                         [](const auto& run) { return std::string(to_string(run.param)); });

TEST(tx_sched_in_place_run, order_of_evaluation_does_not_matter) {
  lockstep_options options = traffic(2000, 6);
  const std::string model = run_in_child([&] { return result_of(as(impl_kind::model, options)); });
  options.shuffle_seed = 99;
  EXPECT_EQ(result_of(as(impl_kind::rtl, options)), model);
}

TEST(tx_sched_in_place_run, lockstep_writes_the_models_traces) {
  const lockstep_options options = traffic(2000, 7);
  const std::string model = run_in_child([&] { return result_of(as(impl_kind::model, options)); });
  EXPECT_EQ(result_of(options), model);
}

TEST(tx_sched_in_place_run, a_clock_that_never_stops_changes_nothing) {
  lockstep_options options = as(impl_kind::rtl, traffic(1000, 8));
  const std::string gated = run_in_child([&] { return result_of(options); });
  options.rtl_clock_always = true;
  EXPECT_EQ(result_of(options), gated);
}

// busy_o
// ------------------------------------------------------------------------------------------------

TEST(tx_sched_audit, idle_edges_change_nothing) {
  lockstep_options options = traffic(300, 4);
  options.audit = true;
  EXPECT_EQ(run_lockstep(options).transactions, 300);
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

class tx_sched_mutant : public testing::TestWithParam<planted> {};

TEST_P(tx_sched_mutant, is_caught_and_named) {
  register_mutants();
  lockstep_options options = traffic(5000, 11);
  options.variant = GetParam().variant;
  try {
    run_lockstep(options);
    FAIL() << "the planted bug went unnoticed";
  } catch (const lockstep_mismatch& mismatch) {
    const lockstep_mismatch::place& where = mismatch.where();
    EXPECT_EQ(where.stage, "tx_sched");
    EXPECT_THAT(GetParam().places, testing::Contains(where.port + "." + where.field))
        << mismatch.what();
    EXPECT_NE(where.model, where.rtl);
    EXPECT_THAT(
        mismatch.what(),
        HasSubstr("seed 11; to repeat: carillon lockstep tx_sched --transactions 5000 --seed 11"));
  }
}

INSTANTIATE_TEST_SUITE_P(
    planted, tx_sched_mutant,
    testing::Values(planted{"content",
                            {"payload.ack_request", "direct.ack_request", "sent.ack_request"}},
                    planted{"timing", {"direct.valid", "direct.visible"}},
                    planted{"backpressure", {"work.ready"}},
                    planted{"cost", {"payload.valid", "payload.visible", "charges.bytes"}},
                    // A cycle that somebody else uses shows first at what a limited QP sends.
                    planted{"pause_port", {"payload.valid", "direct.valid", "sent.valid"}},
                    planted{"pause_order", {"payload.valid", "direct.valid", "charges.valid"}},
                    planted{"busy", {"payload.valid", "direct.valid", "sent.visible"}},
                    planted{"bucket", {"payload.valid", "payload.visible", "charges.valid"}},
                    planted{"wake", {"payload.valid", "direct.valid", "charges.valid"}},
                    planted{"charge", {"charges.bytes"}}, planted{"cnp", {"direct.psn"}},
                    planted{"cnp_pause", {"direct.valid", "charges.valid"}}),
    [](const auto& run) { return std::string(run.param.variant); });

// The twin's limits
// -----------------------------------------------------------------------------

std::string refusal(const parameters& params) {
  sim_context context(params, 1, 0);
  tlp_pool tlps;
  nic_shared nic(context, "nic", tlps);
  try {
    tx_sched::check_twin(nic);
  } catch (const config_error& error) {
    return error.what();
  }
  return "";
}

TEST(tx_sched_twin, has_room_for_the_default_chip) {
  EXPECT_EQ(refusal(parameters{}), "");
}

TEST(tx_sched_twin, is_refused_for_more_QPs_than_it_has_rows) {
  parameters params;
  ++params.nic.log_max_qp;
  EXPECT_THAT(refusal(params), HasSubstr("nic.log_max_qp 13: the RTL of tx_sched has room for 12"));
}

TEST(tx_sched_twin, is_refused_for_more_functions_than_it_has_turns) {
  parameters params;
  params.nic.total_vfs = 129;
  EXPECT_THAT(refusal(params),
              HasSubstr("nic.total_vfs 129: the RTL of tx_sched has room for 128"));
}

}  // namespace
}  // namespace carillon
