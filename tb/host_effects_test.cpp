// What sockets, translation, noise, sharing and software do to a message on the whole model: how
// often it meets each, by hand. simulate() checks that every picosecond of every message is
// explained.
#include <gtest/gtest.h>
#include <string>

#include "cli/perftest_options.h"
#include "cli/perftest_settings.h"
#include "cli/runner.h"
#include "cli/scenario_loader.h"

namespace carillon {
namespace {

constexpr double HopNs = 150;

run_point point_of(const std::string& command) {
  run_point point = parse_scenario("[workload]\nscoreboard = false\n", "s.toml").points.front();
  apply_perftest(parse_perftest_line(command), point);
  return point;
}

/// The summary of a test; once a process.
json run(const run_point& point) {
  scenario what;
  what.name = "host_effects";
  what.report_path = "one_way";
  what.points = {point};
  run_options options;
  options.progress = false;
  return simulate(what, point, options);
}

/// Mean ns of a one-way trip at a component of either host: each trip meets the sender's and the
/// receiver's, and half of the trips go each way.
double at(const json& summary, const std::string& component, const char* kind) {
  double sum = 0;
  for (const char* host : {"host0", "host1"}) {
    const std::string name = std::string(host) + "." + component;
    if (summary["places"].contains(name)) {
      sum += summary["places"][name][kind].get<double>();
    }
  }
  return sum;
}

double waits(const json& summary, const std::string& reason) {
  const json& all = summary["path"]["waits"];
  return all.contains(reason) ? all[reason].get<double>() : 0.0;
}

/// Cores and memory on the other socket; a link so fast that bytes take next to no time.
run_point across_sockets(const std::string& command) {
  run_point point = point_of(command);
  point.params.host.core_node = 1;
  point.params.host.memory_node = 1;
  point.params.numa.hop_ps = 150'000;
  point.params.numa.link_gbps = 100'000;
  return point;
}

TEST(sockets, cost_nothing_on_the_nics_own) {
  EXPECT_EQ(at(run(point_of("ib_write_lat -n 20")), "socket_link", "flight"), 0);
}

TEST(sockets, a_blueflame_write_crosses_twice) {
  // The store to the device, and the payload's write into memory.
  const json summary = run(across_sockets("ib_write_lat -n 20"));
  EXPECT_NEAR(at(summary, "socket_link", "flight"), 2 * HopNs, 0.1);
}

TEST(sockets, a_doorbell_write_crosses_four_times) {
  // Two more for the read of the WQE: there and back.
  const json summary = run(across_sockets("ib_write_lat -n 20 --doorbell"));
  EXPECT_NEAR(at(summary, "socket_link", "flight"), 4 * HopNs, 0.1);
}

TEST(sockets, a_payload_by_pointer_crosses_six_times) {
  const json summary = run(across_sockets("ib_write_lat -n 20 --doorbell -I 0"));
  EXPECT_NEAR(at(summary, "socket_link", "flight"), 6 * HopNs, 0.1);
}

TEST(sockets, cores_beside_the_nic_fetch_what_was_written_to_far_memory) {
  // The payload's write into memory; then the poll's request and its data. The store is near.
  run_point point = across_sockets("ib_write_lat -n 20");
  point.params.host.core_node = 0;
  EXPECT_NEAR(at(run(point), "socket_link", "flight"), 3 * HopNs, 0.1);
}

TEST(sockets, others_make_messages_wait) {
  run_point point = across_sockets("ib_write_lat -n 2000");
  point.params.numa.load_permille = 200;
  const json summary = run(point);
  EXPECT_GT(waits(summary, "socket_queue"), 0);
  const json& result = summary["perftest"]["result"];
  EXPECT_GT(result["p999"].get<double>(), result["t_min"].get<double>() + 0.5);
}

TEST(sockets, carry_long_reads_and_writes) {
  EXPECT_EQ(run(across_sockets("ib_read_lat -n 20 -s 65536"))["messages"], 20);
}

run_point over_switches(const std::string& command, std::int64_t count) {
  run_point point = point_of(command);
  point.params.pcie.switches = count;
  point.params.pcie.switch_latency_ps = 100'000;
  return point;
}

/// On both kinds of span, as a switch keeps a TLP and sends it on.
double at_switch(const json& summary, const std::string& name) {
  return at(summary, name, "service") + at(summary, name, "flight");
}

TEST(switches, cost_a_blueflame_write_their_latency_twice) {
  // The store to the device, and at the receiver the payload's write.
  EXPECT_NEAR(at_switch(run(over_switches("ib_write_lat -n 20", 1)), "pcie_switch0"), 200, 0.1);
}

TEST(switches, cost_a_doorbell_write_twice_more) {
  // The read of the WQE: there and back.
  const json summary = run(over_switches("ib_write_lat -n 20 --doorbell", 1));
  EXPECT_NEAR(at_switch(summary, "pcie_switch0"), 400, 0.1);
}

TEST(switches, cost_each_the_same) {
  const json summary = run(over_switches("ib_write_lat -n 20 --doorbell", 2));
  EXPECT_NEAR(at_switch(summary, "pcie_switch0"), 400, 0.1);
  EXPECT_NEAR(at_switch(summary, "pcie_switch1"), 400, 0.1);
}

TEST(switches, carry_long_reads_and_writes) {
  EXPECT_EQ(run(over_switches("ib_read_lat -n 20 -s 65536", 3))["messages"], 20);
}

/// The summary of WRITEs of a page, from post to CQE, one after the other from the same buffer.
json run_not_pinned(const std::string& workload) {
  const std::string text =
      "[workload]\nscoreboard = false\ninline = false\nsize = 4096\n" + workload;
  scenario what = parse_scenario(text, "s.toml");
  what.report_path = "post_to_cqe";
  what.points.front().params.host.pinned = false;
  what.points.front().params.host.page_fault_ps = 50'000'000;
  run_options options;
  options.progress = false;
  return simulate(what, what.points.front(), options);
}

TEST(page_faults, are_met_by_the_first_message_from_a_page) {
  // The mean of 20 messages has a twentieth of it. The CQE does not wait for the receiver's page.
  const json summary = run_not_pinned("messages = 20\n");
  EXPECT_NEAR(at(summary, "page_fault", "service"), 50'000.0 / 20, 1e-6);
}

TEST(page_faults, are_met_by_no_later_message) {
  const json summary = run_not_pinned("messages = 20\nwarmup = 1\n");
  EXPECT_EQ(at(summary, "page_fault", "service"), 0);
}

run_point translated(const std::string& command) {
  run_point point = point_of(command);
  point.params.iommu.enabled = true;
  point.params.iommu.lookup_ps = 5'000;
  return point;
}

TEST(translation, a_hit_costs_each_access_of_the_device) {
  // Read of the WQE and write of the payload: 2 * 5 ns, when all pages are known.
  const json summary = run(translated("ib_write_lat -n 20 -N 20 --doorbell"));
  EXPECT_NEAR(at(summary, "iommu", "service"), 10, 1e-6);
}

TEST(translation, walks_pages_that_are_not_known_again_and_again) {
  run_point point = translated("ib_write_lat -n 50 -N 5 -s 65536");
  point.params.iommu.iotlb_entries = 8;
  // At least one read of a table at each end.
  EXPECT_GT(at(run(point), "iommu", "service"), 2 * 29.8);
}

TEST(translation, large_pages_save_the_walks) {
  run_point point = translated("ib_write_lat -n 50 -N 5 -s 65536");
  point.params.iommu.iotlb_entries = 8;
  point.params.host.page_bytes = 2 * 1024 * 1024;
  EXPECT_LT(at(run(point), "iommu", "service"), 29.8) << "lookups only";
}

TEST(noise, is_in_the_breakdown_and_in_the_tail) {
  run_point point = point_of("ib_write_lat -n 2000");
  point.params.cpu.noise = true;
  point.params.cpu.noise_interval_ps = 10'000'000;
  point.params.cpu.noise_duration_ps = 500'000;
  point.params.cpu.noise_shape = 200;
  const json summary = run(point);
  EXPECT_GT(waits(summary, "os_noise"), 0);
  const json& result = summary["perftest"]["result"];
  EXPECT_GT(result["p999"].get<double>(), 2 * result["t_typical"].get<double>());
}

run_point shared(const std::string& command) {
  run_point point = point_of(command);
  point.params.sharing.tenants = 15;
  point.params.sharing.switch_ps = 100'000;
  return point;
}

TEST(shared_device, costs_a_switch_for_each_post) {
  run_point point = shared("ib_write_lat -n 20");
  point.params.sharing.interval_ps = 1'000'000'000'000;  // nobody else posts
  const json summary = run(point);
  EXPECT_NEAR(at(summary, "shared_device", "service"), 100, 1e-6);
  EXPECT_EQ(waits(summary, "device_lock"), 0);
}

TEST(shared_device, makes_posts_wait_for_others) {
  run_point point = shared("ib_write_lat -n 2000");
  point.params.sharing.preempted_permille = 20;
  const json summary = run(point);
  EXPECT_GT(waits(summary, "device_lock"), 0);
  const json& result = summary["perftest"]["result"];
  EXPECT_GT(result["p999"].get<double>(), result["t_typical"].get<double>() + 1);
}

TEST(software, handles_a_message_once_at_each_end) {
  run_point point = point_of("ib_write_lat -n 20");
  point.params.software.service_ps = 15'000'000;
  EXPECT_NEAR(at(run(point), "software_path", "service"), 2 * 15'000.0, 1e-6);
}

TEST(cache, a_wqe_that_the_core_has_just_written_is_read_faster) {
  const auto read_time = [](const json& summary) { return at(summary, "memory", "service"); };
  run_point point = point_of("ib_write_lat -n 20 --doorbell");
  point.params.host.memory_read_ps = 200'000;
  point.params.host.llc_bytes = 1 << 20;
  // DDIO writes 20 ns; the read 200 less 70.
  EXPECT_NEAR(read_time(run(point)), 20 + 130, 1e-6);
}

}  // namespace
}  // namespace carillon
