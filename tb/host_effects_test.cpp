// What a second socket, translation, noise and neighbours do to a message: hops and walks by hand,
// on the whole model.

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

/// The summary of a test; once a process. simulate() checks that every message's time is explained.
json run(const run_point& point) {
  scenario what;
  what.name = "host_effects";
  what.report_path = "one_way";
  what.points = {point};
  run_options options;
  options.progress = false;
  return simulate(what, point, options);
}

/// Mean ns of a one-way trip at a component of either host: each trip meets the sender's once and
/// the receiver's once, and half of the trips go each way.
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

run_point across_sockets(const std::string& command) {
  run_point point = point_of(command);
  point.params.host.cpu_node = 1;
  return point;
}

TEST(numa, costs_nothing_on_the_nics_own_socket) {
  const json summary = run(point_of("ib_write_lat -n 20"));
  EXPECT_EQ(at(summary, "socket_link", "flight"), 0);
}

TEST(numa, a_blueflame_write_crosses_twice) {
  // The store to the device, and the payload's write into memory.
  const json summary = run(across_sockets("ib_write_lat -n 20"));
  EXPECT_NEAR(at(summary, "socket_link", "flight"), 2 * HopNs, 1e-6);
}

TEST(numa, a_doorbell_write_crosses_four_times) {
  // Two more for the read of the WQE: there and back.
  const json summary = run(across_sockets("ib_write_lat -n 20 --doorbell"));
  EXPECT_NEAR(at(summary, "socket_link", "flight"), 4 * HopNs, 1e-6);
}

TEST(numa, a_payload_by_pointer_crosses_six_times) {
  const json summary = run(across_sockets("ib_write_lat -n 20 --doorbell -I 0"));
  EXPECT_NEAR(at(summary, "socket_link", "flight"), 6 * HopNs, 1e-6);
}

TEST(numa, others_make_messages_wait) {
  run_point point = across_sockets("ib_write_lat -n 2000");
  point.params.host.socket_load = 0.2;
  const json summary = run(point);
  EXPECT_GT(waits(summary, "socket_link"), 0);
  const json& result = summary["perftest"]["result"];
  EXPECT_GT(result["p999"].get<double>(), result["t_min"].get<double>() + 0.5);
}

TEST(numa, carries_long_messages_and_reads) {
  const json summary = run(across_sockets("ib_read_lat -n 20 -s 65536"));
  EXPECT_EQ(summary["messages"], 20);
}

TEST(iommu, a_hit_costs_each_access_of_the_device) {
  // Read of the WQE and write of the payload: 2 * 5 ns, when all pages are known.
  run_point point = point_of("ib_write_lat -n 20 -N 20 --doorbell");
  point.params.host.iommu = true;
  const json summary = run(point);
  EXPECT_NEAR(at(summary, "iommu", "service"), 10, 1e-6);
  EXPECT_EQ(waits(summary, "page_walk"), 0);
}

TEST(iommu, walks_when_pages_are_not_known) {
  run_point point = point_of("ib_write_lat -n 50 -N 5 -s 65536");
  point.params.host.iommu = true;
  point.params.host.iotlb_entries = 8;
  const json summary = run(point);
  EXPECT_GT(waits(summary, "page_walk"), 0);
}

TEST(iommu, large_pages_save_the_walks) {
  run_point point = point_of("ib_write_lat -n 50 -N 5 -s 65536");
  point.params.host.iommu = true;
  point.params.host.iotlb_entries = 8;
  point.params.host.page_bytes = 2 * 1024 * 1024;
  EXPECT_EQ(waits(run(point), "page_walk"), 0);
}

TEST(os_noise, is_in_the_breakdown) {
  run_point point = point_of("ib_write_lat -n 2000");
  point.params.cpu.noise = true;
  point.params.cpu.noise_interval_ps = 10'000'000;
  point.params.cpu.noise_duration_ps = 500'000;
  point.params.cpu.noise_tail = 2.0;
  const json summary = run(point);
  EXPECT_GT(waits(summary, "os_noise"), 0);
  const json& result = summary["perftest"]["result"];
  EXPECT_GT(result["p999"].get<double>(), 2 * result["t_typical"].get<double>());
}

TEST(device_sharing, costs_a_switch_for_each_post) {
  // Neighbours that hold the lock for no time: only the switch of 100 ns is left.
  run_point point = point_of("ib_write_lat -n 20");
  point.params.cpu.neighbours = 15;
  point.params.cpu.neighbour_hold_ps = 0;
  const json summary = run(point);
  EXPECT_NEAR(at(summary, "device_sharing", "service"), 100, 1e-6);
  EXPECT_EQ(waits(summary, "tenant_lock"), 0);
}

TEST(device_sharing, makes_posts_wait_for_the_lock) {
  run_point point = point_of("ib_write_lat -n 2000");
  point.params.cpu.neighbours = 15;
  const json summary = run(point);
  EXPECT_GT(waits(summary, "tenant_lock"), 0);
}

}  // namespace
}  // namespace carillon
