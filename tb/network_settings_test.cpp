// [network] in scenarios: what is understood, and what is refused where and why.

#include "cli/network_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "cli/flow_workload.h"
#include "cli/scenario_loader.h"
#include "cli/summary_network.h"
#include "common/error.h"

namespace carillon {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

run_point point_of(const std::string& text, const scenario_overrides& overrides = {}) {
  return parse_scenario(text, "s.toml", overrides).points.front();
}

std::string error_of(const std::string& text, const scenario_overrides& overrides = {}) {
  try {
    parse_scenario(text, "s.toml", overrides);
  } catch (const config_error& error) {
    return error.what();
  }
  return "";
}

TEST(network_settings, without_any_two_hosts_are_on_one_cable) {
  const run_point point = point_of("[workload]\n");
  EXPECT_EQ(point.network.shape, network_shape::direct);
  EXPECT_EQ(point.network.hosts, 2U);
  EXPECT_TRUE(switches_of(point).empty());
}

// 5 ns a metre.
TEST(network_settings, of_a_star_reach_its_switch) {
  const run_point point = point_of(R"(
[network]
topology = "star"
hosts = 9
cable_m = 10

[parameters.wire]
rate_gbps = 100

[network.switch]
buffer_bytes = 2000000
forwarding = "cut_through"
watchdog = "drop"
watchdog_detection_ps = 100000000000
trust = "pcp"
default_priority = 2
lossless = [3]
ecn = []
ingress_alpha = 0.5
xon_offset_bytes = 1000
dscp_to_priority = { 26 = 5 }

[network.switch.prio3]
kmin_bytes = 5000
kmax_bytes = 200000
pmax = 0.01
weight = 7
ingress_alpha = 0.25
)");
  EXPECT_EQ(point.params.wire.delay_ps, 50000);
  const switch_settings found = switches_of(point).front();
  ASSERT_EQ(found.ports.size(), 9U);
  EXPECT_EQ(found.ports[8].rate_gbps, 100U);
  EXPECT_EQ(found.ports[8].cable_delay_ps, 50000U);
  EXPECT_EQ(found.ports[8].trust, switch_trust::pcp);
  EXPECT_EQ(found.ports[8].default_priority, 2U);
  EXPECT_EQ(found.buffer_bytes, 2000000U);
  EXPECT_EQ(found.forwarding, switch_forwarding::cut_through);
  EXPECT_EQ(found.watchdog, watchdog_action::drop);
  EXPECT_EQ(found.watchdog_detection_ps, 100'000'000'000U);
  EXPECT_EQ(found.dscp_to_priority[26], 5);
  EXPECT_EQ(found.dscp_to_priority[24], 3);
  EXPECT_TRUE(found.priorities[3].lossless);
  EXPECT_FALSE(found.priorities[4].lossless);
  EXPECT_FALSE(found.priorities[3].ecn);
  EXPECT_EQ(found.priorities[3].kmin_bytes, 5000U);
  EXPECT_EQ(found.priorities[3].kmax_bytes, 200000U);
  EXPECT_EQ(found.priorities[3].pmax, 0.01);
  EXPECT_EQ(found.priorities[3].weight, 7U);
  EXPECT_EQ(found.priorities[3].ingress_alpha, 0.25);  // its own, wherever it stands
  EXPECT_EQ(found.priorities[0].ingress_alpha, 0.5);
  EXPECT_EQ(found.priorities[0].xon_offset_bytes, 1000U);
}

TEST(network_settings, of_two_tiers_have_leaves_and_spines) {
  const run_point point = point_of(R"(
[network]
topology = "leaf_spine"
hosts = 12
leaves = 3
spines = 2
uplink_m = 100
uplink_gbps = 800
)");
  const std::vector<switch_settings> found = switches_of(point);
  ASSERT_EQ(found.size(), 2U);
  ASSERT_EQ(found[0].ports.size(), 6U);  // four hosts and two spines
  EXPECT_EQ(found[0].ports[3].rate_gbps, 400U);
  EXPECT_EQ(found[0].ports[4].rate_gbps, 800U);
  EXPECT_EQ(found[0].ports[4].cable_delay_ps, 500'000U);
  EXPECT_EQ(found[1].ports.size(), 3U);
}

TEST(network_settings, can_be_set_from_the_command_line) {
  scenario_overrides overrides;
  overrides.set = {"network.hosts=5", "network.switch.buffer_bytes=3000000",
                   "network.switch.prio3.kmin_bytes=7", "network.switch.egress_alpha=0.125"};
  const run_point point = point_of("[network]\ntopology = \"star\"\n", overrides);
  EXPECT_EQ(point.network.hosts, 5U);
  EXPECT_EQ(point.network.switches.buffer_bytes, 3000000U);
  EXPECT_EQ(point.network.switches.priorities[3].kmin_bytes, 7U);
  EXPECT_EQ(point.network.switches.priorities[2].egress_alpha, 0.125);
}

TEST(network_settings, differ_between_points) {
  const scenario what = parse_scenario(R"(
[network]
topology = "star"
hosts = 4

[[points]]
label = "small"
network = { switch = { buffer_bytes = 2000000 } }

[[points]]
label = "large"
network = { hosts = 8 }
)",
                                       "s.toml");
  EXPECT_EQ(what.points[0].network.switches.buffer_bytes, 2000000U);
  EXPECT_EQ(what.points[0].network.hosts, 4U);
  EXPECT_EQ(what.points[1].network.switches.buffer_bytes, 16'000'000U);
  EXPECT_EQ(what.points[1].network.hosts, 8U);
}

TEST(network_settings, name_receivers_that_are_stuck) {
  const run_point point = point_of(R"(
[network]
topology = "star"

[[network.storm]]
host = 1
priority = 3
from_us = 50
to_us = 200050
)");
  ASSERT_EQ(point.network.storms.size(), 1U);
  EXPECT_EQ(point.network.storms[0].host, 1U);
  EXPECT_EQ(point.network.storms[0].priority, 3);
  EXPECT_EQ(point.network.storms[0].from, 50'000'000U);
  EXPECT_EQ(point.network.storms[0].to, 200'050'000'000U);
}

// What is refused ---------------------------------------------------------------------------------

TEST(network_errors, name_file_line_key_and_what_would_be_right) {
  EXPECT_THAT(error_of("[network]\ntopology = \"starr\"\n"),
              AllOf(HasSubstr("s.toml:2: network.topology"), HasSubstr("`starr`"),
                    HasSubstr("direct, star, leaf_spine or ring")));
  EXPECT_THAT(error_of("[network]\nhosst = 3\n"),
              AllOf(HasSubstr("s.toml:2: network.hosst"), HasSubstr("`hosts`")));
  EXPECT_THAT(
      error_of("[network.switch]\nbufer_bytes = 3\n"),
      AllOf(HasSubstr("s.toml:2: network.switch.bufer_bytes"), HasSubstr("`buffer_bytes`")));
  EXPECT_THAT(error_of("[network]\nhosts = 65\n"),
              AllOf(HasSubstr("network.hosts"), HasSubstr("2 to 64")));
  EXPECT_THAT(error_of("[network.switch.prio3]\nkmn_bytes = 3\n"),
              AllOf(HasSubstr("network.switch.prio3.kmn_bytes"), HasSubstr("`kmin_bytes`")));
  EXPECT_THAT(error_of("[network.switch]\nlossless = [8]\n"),
              AllOf(HasSubstr("network.switch.lossless"), HasSubstr("0 to 7")));
  EXPECT_THAT(error_of("[network.switch]\npmax = 1.5\n"),
              AllOf(HasSubstr("network.switch.pmax"), HasSubstr("0 to 1")));
  EXPECT_THAT(error_of("[network.switch]\ndscp_to_priority = { 64 = 1 }\n"),
              AllOf(HasSubstr("dscp_to_priority.64"), HasSubstr("0 to 63")));
}

TEST(network_errors, combinations_that_cannot_be) {
  EXPECT_THAT(error_of("[network]\nhosts = 3\n"),
              AllOf(HasSubstr("s.toml:2: network.hosts"), HasSubstr("star")));
  EXPECT_THAT(error_of("[network]\ntopology = \"leaf_spine\"\nhosts = 5\n"),
              AllOf(HasSubstr("network.leaves"), HasSubstr("5 hosts"), HasSubstr("2 leaves")));
  EXPECT_THAT(error_of("[network]\ntopology = \"star\"\nspines = 2\n"),
              AllOf(HasSubstr("s.toml:3: network.spines"), HasSubstr("leaf_spine")));
  EXPECT_THAT(error_of("[network.switch]\nbuffer_bytes = 2000000\n"),
              AllOf(HasSubstr("network.switch.buffer_bytes"), HasSubstr("star")));
  EXPECT_THAT(
      error_of("[network]\ntopology = \"star\"\n[[network.storm]]\nhost = 2\npriority = 3\n"),
      AllOf(HasSubstr("network.storm.0.host"), HasSubstr("0 to 1")));
  EXPECT_THAT(error_of("[network]\ntopology = \"star\"\n[[network.storm]]\nhost = 1\n"),
              AllOf(HasSubstr("s.toml:3"), HasSubstr("needs `priority`")));
  EXPECT_THAT(error_of("[network]\ntopology = \"star\"\n[[network.storm]]\nhost = 1\npriority = 3\n"
                       "from_us = 5\nto_us = 5\n"),
              AllOf(HasSubstr("s.toml:7: network.storm.0.to_us"), HasSubstr("not after")));
}

// Nine ports of two lossless priorities need more than 90 kB of headroom each at 400 Gb/s.
TEST(network_errors, a_buffer_without_room_for_the_headrooms) {
  EXPECT_THAT(error_of("[network]\ntopology = \"star\"\nhosts = 9\n"
                       "[network.switch]\nbuffer_bytes = 500000\n"),
              AllOf(HasSubstr("s.toml:5"), HasSubstr("headroom")));
}

TEST(network_errors, flows_have_writes_and_no_more) {
  const std::string star = "[network]\ntopology = \"star\"\nhosts = 4\n[workload]\n";
  EXPECT_EQ(error_of(star + "kind = \"incast\"\n"), "");
  EXPECT_THAT(error_of(star + "kind = \"incast\"\nopcode = \"send\"\n"),
              AllOf(HasSubstr("workload.opcode"), HasSubstr("incast")));
  EXPECT_THAT(error_of(star + "kind = \"shift\"\nstride = 4\n"),
              AllOf(HasSubstr("workload.stride"), HasSubstr("4 hosts")));
  EXPECT_THAT(error_of(star + "kind = \"stream\"\nduration_ns = 5\n"),
              AllOf(HasSubstr("workload.duration_ns"), HasSubstr("incast")));
}

// Flows -------------------------------------------------------------------------------------------

TEST(network_settings, hosts_begin_when_the_list_says_and_are_measured_later) {
  const workload_spec workload = point_of(
                                     "[network]\ntopology = \"star\"\nhosts = 4\n"
                                     "[workload]\nkind = \"incast\"\nduration_ns = 9000\n"
                                     "starts_ns = [0, 0, 500]\nmeasure_from_ns = 8999\n")
                                     .workload;
  EXPECT_THAT(workload.starts_ns, ElementsAre(0, 0, 500));
  EXPECT_EQ(workload.measure_from_ns, 8999U);
}

TEST(network_errors, what_is_measured_and_begins_later_needs_an_end) {
  const std::string star =
      "[network]\ntopology = \"star\"\nhosts = 4\n[workload]\nkind = \"incast\"\n";
  EXPECT_THAT(error_of(star + "starts_ns = [0, 5]\n"),
              AllOf(HasSubstr("workload.starts_ns"), HasSubstr("duration_ns")));
  EXPECT_THAT(error_of(star + "measure_from_ns = 5\n"),
              AllOf(HasSubstr("workload.measure_from_ns"), HasSubstr("duration_ns")));
  EXPECT_THAT(error_of(star + "duration_ns = 5\nmeasure_from_ns = 5\n"),
              HasSubstr("must be before the end"));
  EXPECT_THAT(error_of("[workload]\nkind = \"stream\"\nstarts_ns = [5]\n"),
              AllOf(HasSubstr("workload.starts_ns"), HasSubstr("incast")));
}

TEST(flows, of_an_incast_go_to_host_0) {
  workload_spec workload;
  workload.kind = workload_kind::incast;
  EXPECT_THAT(flows_of(workload, 4), ElementsAre(Pair(1, 0), Pair(2, 0), Pair(3, 0)));
}

TEST(flows, of_all_to_all_are_all_pairs) {
  workload_spec workload;
  workload.kind = workload_kind::all_to_all;
  EXPECT_THAT(flows_of(workload, 3),
              ElementsAre(Pair(0, 1), Pair(0, 2), Pair(1, 0), Pair(1, 2), Pair(2, 0), Pair(2, 1)));
}

TEST(flows, of_a_shift_go_some_hosts_on) {
  workload_spec workload;
  workload.kind = workload_kind::shift;
  workload.stride = 2;
  EXPECT_THAT(flows_of(workload, 3), ElementsAre(Pair(0, 2), Pair(1, 0), Pair(2, 1)));
}

// R. Jain, "A quantitative measure of fairness and discrimination for resource allocation", 1984:
// (sum x)^2 / (n sum x^2).
TEST(fairness, is_jains_index) {
  EXPECT_DOUBLE_EQ(fairness({3, 3, 3}), 1);
  EXPECT_DOUBLE_EQ(fairness({5, 0, 0, 0}), 0.25);
  EXPECT_DOUBLE_EQ(fairness({1, 3}), 16.0 / 20);
  EXPECT_DOUBLE_EQ(fairness({0, 0}), 1);
}

}  // namespace
}  // namespace carillon
