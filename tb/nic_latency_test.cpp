// The numbers of the stage table come from mechanisms: a change of one of them moves the stages
// that use it and no other.
#include <gtest/gtest.h>
#include <map>
#include <string>

#include "common/nic_run.h"

namespace carillon {
namespace {

/// The reference description's table: cycles of a 4 KiB WRITE by doorbell on an idle NIC at 1 GHz.
const std::map<std::string, double> Reference = {
    {"pcie_rx", 40},    {"uar", 10},     {"wqe_fetch", 150},   {"qpc_ram", 5},
    {"wqe_parser", 10}, {"tx_sched", 5}, {"payload_dma", 200}, {"packet_builder", 30},
    {"tx_mac", 20},
};

void expect_others_unchanged(const json& summary, const std::map<std::string, double>& changed) {
  for (const auto& [stage, budget] : Reference) {
    if (!changed.contains(stage)) {
      EXPECT_EQ(cycles(summary, stage), budget) << stage;
    }
  }
}

TEST(nic_latency, the_reference_path_takes_470_cycles_and_each_stage_its_budget) {
  const json summary = run_with("doorbell_to_wire");
  expect_others_unchanged(summary, {});
  EXPECT_EQ(total(summary), 470);
}

TEST(nic_latency, a_root_complex_100_ns_slower_costs_100_cycles_in_each_stage_that_reads_the_host) {
  const json summary = run_with("doorbell_to_wire", {"host.root_complex_ps=125000"});
  EXPECT_EQ(cycles(summary, "wqe_fetch"), 250);
  EXPECT_EQ(cycles(summary, "payload_dma"), 300);
  expect_others_unchanged(summary, {{"wqe_fetch", 0}, {"payload_dma", 0}});
}

TEST(nic_latency, gen4_doubles_the_serialization_of_what_crosses_the_link) {
  // 64 B: 24 + 84 bytes at half the rate, 1.9 ns more. 4 KiB: eight completions of 532 bytes, 74.7
  // ns more.
  const json summary = run_with("doorbell_to_wire", {"pcie.generation=4"});
  EXPECT_GE(cycles(summary, "wqe_fetch"), 151);
  EXPECT_LE(cycles(summary, "wqe_fetch"), 152);
  EXPECT_GE(cycles(summary, "payload_dma"), 267);
  EXPECT_LE(cycles(summary, "payload_dma"), 275);
  expect_others_unchanged(summary, {{"wqe_fetch", 0}, {"payload_dma", 0}});
}

TEST(nic_latency, a_payload_of_1_kib_saves_six_completions) {
  // 6 * 532 B * 8 / 458.5 Gb/s = 55.7 ns.
  const json summary = run_with("doorbell_to_wire", {"workload.size=1024"});
  EXPECT_NEAR(cycles(summary, "payload_dma"), 200 - 55.7, 1.0);
  expect_others_unchanged(summary, {{"payload_dma", 0}});
}

TEST(nic_latency, three_busy_qps_lengthen_named_waits_and_no_service) {
  // A host read's service is its round trip, whose last cycle depends on where the answer falls
  // between two edges.
  const json summary = run_with(
      "doorbell_to_wire",
      {"workload.messages=200", "workload.background={ qps = 3, size = 4096, outstanding = 8 }"});
  for (const auto& [stage, budget] : Reference) {
    const double tolerance = stage == "wqe_fetch" || stage == "payload_dma" ? 1.0 : 0.0;
    EXPECT_NEAR(cycles(summary, stage, "service"), budget, tolerance) << stage;
  }
  double waited = 0;
  for (const auto& [stage, account] : summary.at("stages").items()) {
    for (const auto& [reason, sum] : account.at("waits").items()) {
      EXPECT_FALSE(reason.empty()) << stage;
      waited += sum.get<double>();
    }
  }
  EXPECT_GT(waited, 0);
}

TEST(nic_latency, a_blueflame_wqe_with_inline_data_takes_120_cycles) {
  const json summary = run_with("blueflame_to_wire");
  EXPECT_EQ(total(summary), 40 + 10 + 5 + 10 + 5 + 30 + 20);
  EXPECT_EQ(cycles(summary, "wqe_fetch"), 0);
  EXPECT_EQ(cycles(summary, "payload_dma"), 0);
}

TEST(nic_latency, off_the_clock_edge_only_the_sync_wait_of_less_than_a_cycle_is_added) {
  const json summary = run_with("doorbell_to_wire", {"workload.align_doorbell=false"});
  const double sync = cycles(summary, "pcie_rx", "wait");
  EXPECT_GT(sync, 0);
  EXPECT_LT(sync, 1);
  EXPECT_DOUBLE_EQ(total(summary), 470 + sync);
}

}  // namespace
}  // namespace carillon
