// How long a switch takes, where frames go, and what it makes of their priorities.
#include <algorithm>
#include <set>

#include "common/error.h"
#include "fabric/switch/forwarding_table.h"
#include "tb/common/switch_bench.h"

namespace carillon::bench {

namespace {

using switch_forwarding_rules = switch_bench;

/// The switch's share of a message's history.
std::vector<ps_t> spans_of(const sim_context& context, std::uint32_t message) {
  std::vector<ps_t> result;
  for (const span& each : context.trace.record(message)->spans) {
    if (each.end != each.begin) {
      result.push_back(each.end - each.begin);
    }
  }
  return result;
}

switch_settings cutting_through(unsigned ports) {
  switch_settings settings = switch_bench::of_ports(ports);
  settings.forwarding = switch_forwarding::cut_through;
  return settings;
}

}  // namespace

// 25 ns + 1002 bytes (80.16 ns) + 200 ns + 100 ns + 25 ns.
TEST_F(switch_forwarding_rules, a_stored_frame_leaves_its_delays_after_its_last_bit) {
  one_switch(2);
  at(0).send({.to = 1}, 0);
  run_to(Microsecond);
  ASSERT_EQ(at(1).arrivals.size(), 1U);
  EXPECT_EQ(at(1).arrivals[0].first_bit, 430'160U);
  EXPECT_EQ(at(1).arrivals[0].last_bit, 430'160U + Lasts);
  net->check_drained();
}

// 25 ns + 64 bytes (5.12 ns) + 200 ns + 100 ns + 25 ns, whatever its length.
TEST_F(switch_forwarding_rules, a_frame_that_is_cut_through_leaves_its_delays_after_its_header) {
  one_switch(cutting_through(2));
  at(0).send({.to = 1}, 0);
  at(0).send({.to = 1, .length = 4000}, Microsecond);
  run_to(3 * Microsecond);
  EXPECT_THAT(at(1).first_bits(), testing::ElementsAre(355'120U, Microsecond + 355'120U));
  EXPECT_EQ(at(1).arrivals[0].last_bit, 355'120U + Lasts);
}

// 60 bytes and FCS are the 64 that are waited for.
TEST_F(switch_forwarding_rules, the_smallest_frame_is_there_when_its_header_is) {
  one_switch(cutting_through(2));
  at(0).send({.to = 1, .length = 58}, 0);
  run_to(Microsecond);
  EXPECT_THAT(at(1).first_bits(), testing::ElementsAre(355'120U));
}

TEST_F(switch_forwarding_rules, a_frame_for_a_faster_port_is_stored_even_when_cutting_through) {
  switch_settings settings = cutting_through(2);
  settings.ports[1].rate_gbps = 400;
  one_switch(settings);
  at(0).send({.to = 1}, 0);
  at(1).send({.to = 0}, 0);
  run_to(Microsecond);
  EXPECT_THAT(at(1).first_bits(), testing::ElementsAre(StoredAndForwarded));
  // The other way 64 bytes take 1.28 ns.
  EXPECT_THAT(at(0).first_bits(), testing::ElementsAre(25'000U + 1'280 + 300'000 + 25'000));
}

// Two frames come together: the second leaves when the wire is free again.
TEST_F(switch_forwarding_rules, frames_for_one_port_follow_each_other_without_a_gap) {
  one_switch(3);
  at(0).send({.to = 2}, 0);
  at(1).send({.to = 2}, 0);
  run_to(Microsecond);
  EXPECT_THAT(at(2).first_bits(),
              testing::ElementsAre(StoredAndForwarded, StoredAndForwarded + Slot));
  EXPECT_EQ(at(2).arrivals[0].source(), address(0));
}

TEST_F(switch_forwarding_rules, the_history_of_a_stored_frame_has_no_hole) {
  one_switch(3);
  const trace_ref message = context.trace.open(0, {});
  frame_item frame = make_frame(pool, 0, {.to = 2});
  frame.trace = message;
  at(0).send({.to = 2}, 0);
  at(0).wire.send(frame, 0);
  at(1).send({.to = 2}, Slot);
  run_to(2 * Microsecond);
  const received& last = at(2).arrivals[1];
  EXPECT_EQ(context.trace.end_of(last.frame.trace), last.last_bit);
  // Wait before it was sent, wire, cable, look-up, egress, wire, cable.
  EXPECT_THAT(spans_of(context, message.message),
              testing::ElementsAre(Slot, Lasts, Cable, IngressDelay, EgressDelay, Lasts, Cable));
}

// Cut through, behind another one: 64 bytes, look-up and egress, then one slot of the other frame.
TEST_F(switch_forwarding_rules, the_history_of_a_frame_that_is_cut_through_has_no_hole) {
  one_switch(cutting_through(3));
  const trace_ref message = context.trace.open(0, {});
  frame_item frame = make_frame(pool, 1, {.to = 2});
  frame.trace = message;
  at(0).send({.to = 2}, 0);
  at(1).wire.send(frame, 0);
  run_to(2 * Microsecond);
  const received& last = at(2).arrivals[1];
  EXPECT_EQ(last.source(), address(1));
  EXPECT_EQ(last.first_bit, 355'120U + Slot);
  EXPECT_EQ(context.trace.end_of(last.frame.trace), last.last_bit);
  EXPECT_THAT(
      spans_of(context, message.message),
      testing::ElementsAre(Lasts, Cable, 64 * ByteTime + IngressDelay, Slot, EgressDelay, Cable));
}

TEST_F(switch_forwarding_rules, milestones_of_the_wire_are_those_of_the_sender) {
  one_switch(2);
  const trace_ref message = context.trace.open(0, {});
  frame_item frame = make_frame(pool, 0, {.to = 1});
  frame.trace = message;
  frame.first = true;
  frame.last = true;
  at(0).wire.send(frame, 0);
  run_to(Microsecond);
  EXPECT_EQ(context.trace.record(message.message)->time_of(milestone::last_bit), Lasts);
}

TEST_F(switch_forwarding_rules, a_damaged_frame_is_dropped_when_stored) {
  ethernet_switch& under_test = one_switch(2);
  frame_item frame = make_frame(pool, 0, {.to = 1});
  frame.fcs ^= 1;
  frame.fcs_known = false;
  at(0).wire.send(frame, 0);
  run_to(Microsecond);
  EXPECT_TRUE(at(1).arrivals.empty());
  EXPECT_EQ(under_test.counters(0).rx_crc_errors, 1U);
}

TEST_F(switch_forwarding_rules, a_damaged_frame_that_is_cut_through_stays_damaged) {
  switch_settings settings = cutting_through(2);
  settings.priorities[0].ecn = true;
  ethernet_switch& under_test = one_switch(settings);
  frame_item frame = make_frame(pool, 0, {.to = 1});
  frame.fcs ^= 1;
  frame.fcs_known = false;
  at(0).wire.send(frame, 0);
  run_to(Microsecond);
  ASSERT_EQ(at(1).arrivals.size(), 1U);
  const received& got = at(1).arrivals[0];
  EXPECT_NE(got.frame.fcs, fcs_of_frame(got.bytes(), got.frame.length));
  EXPECT_EQ(under_test.counters(0).rx_crc_errors, 1U);
}

// 4222 bytes with FCS are the largest.
TEST_F(switch_forwarding_rules, a_frame_beyond_the_largest_is_dropped) {
  ethernet_switch& under_test = one_switch(2);
  frame_item fits = make_frame(pool, 0, {.to = 1, .length = 4218});
  ASSERT_EQ(fits.length, 4218U);
  at(0).wire.send(fits, 0);
  at(0).send({.to = 1, .length = 4222}, 0);
  run_to(2 * Microsecond);
  EXPECT_EQ(at(1).arrivals.size(), 1U);
  EXPECT_EQ(under_test.counters(0).rx_oversize, 1U);
}

// Where frames go ---------------------------------------------------------------------------------

TEST_F(switch_forwarding_rules, an_unknown_address_is_flooded_until_it_is_learned) {
  switch_settings settings = of_ports(3);
  net.emplace(topology::star(context, "switch", settings));
  for (unsigned i = 0; i < 3; ++i) {
    stations.push_back(std::make_unique<station>(context, pool, i, settings.ports[i]));
    stations.back()->wire.connect(net->host_port(i));
  }
  at(0).send({.to = 1}, 0);
  run_to(Microsecond);
  EXPECT_EQ(at(1).frames_received, 1U);
  EXPECT_EQ(at(2).frames_received, 1U);
  at(1).send({.to = 0}, Microsecond);
  run_to(2 * Microsecond);
  EXPECT_EQ(at(0).frames_received, 1U);
  EXPECT_EQ(at(2).frames_received, 1U);
  at(0).send({.to = 1}, 2 * Microsecond);
  run_to(3 * Microsecond);
  EXPECT_EQ(at(1).frames_received, 2U);
  EXPECT_EQ(at(2).frames_received, 1U);
}

TEST_F(switch_forwarding_rules, without_flooding_an_unknown_address_is_nowhere) {
  switch_settings settings = of_ports(2);
  settings.flood = false;
  ethernet_switch& under_test = one_switch(settings);
  at(0).send({.to = 7}, 0);
  run_to(Microsecond);
  EXPECT_TRUE(at(1).arrivals.empty());
  EXPECT_EQ(under_test.counters(0).rx_no_route, 1U);
}

TEST_F(switch_forwarding_rules, a_frame_is_never_sent_back_where_it_came_from) {
  ethernet_switch& under_test = one_switch(2);
  at(0).send({.to = 0}, 0);
  run_to(Microsecond);
  EXPECT_TRUE(at(0).arrivals.empty());
  EXPECT_EQ(under_test.counters(0).rx_same_port, 1U);
}

TEST(forwarding_table, static_entries_are_not_learned_over) {
  forwarding_table table(0);
  table.set(address(1), {5});
  table.learn(address(1), 2);
  table.learn(address(2), 2);
  table.learn(address(2), 3);
  EXPECT_EQ(table.find(address(1), 0), 5U);
  EXPECT_EQ(table.find(address(2), 0), 3U);
  EXPECT_FALSE(table.find(address(3), 0));
}

TEST(forwarding_table, finds_everything_when_it_has_grown) {
  forwarding_table table(0);
  for (unsigned i = 0; i < 5000; ++i) {
    table.learn(address(i), i);
  }
  EXPECT_EQ(table.size(), 5000U);
  for (unsigned i = 0; i < 5000; ++i) {
    ASSERT_EQ(table.find(address(i), 0), i);
  }
}

TEST(forwarding_table, a_group_address_is_nobodys) {
  forwarding_table table(0);
  EXPECT_THROW(table.set(PfcDestination, {1}), config_error);
  EXPECT_THROW(table.set(address(0), {}), config_error);
  table.learn(PfcDestination, 1);
  EXPECT_EQ(table.size(), 0U);
}

// Of 16384 flows, a quarter each: binomial, sigma 55; five of them.
TEST(forwarding_table, flows_spread_evenly_over_equal_paths_and_stay_there) {
  forwarding_table table(1);
  table.set(address(0), {4, 5, 6, 7});
  std::array<unsigned, 8> flows{};
  for (unsigned port = UdpSourcePortBase; port < 0x10000; ++port) {
    const auto udp_source = static_cast<std::uint16_t>(port);
    const std::uint32_t chosen = table.find(address(0), udp_source).value();
    ++flows.at(chosen);
    EXPECT_EQ(table.find(address(0), udp_source), chosen);
  }
  for (unsigned path = 4; path < 8; ++path) {
    EXPECT_NEAR(flows[path], 4096, 277);
  }
}

TEST(forwarding_table, another_seed_spreads_flows_differently) {
  forwarding_table one(1);
  forwarding_table other(2);
  unsigned alike = 0;
  for (unsigned port = UdpSourcePortBase; port < 0x10000; ++port) {
    alike += one.choice(static_cast<std::uint16_t>(port), 4) ==
                     other.choice(static_cast<std::uint16_t>(port), 4)
                 ? 1
                 : 0;
  }
  EXPECT_NEAR(alike, 4096, 277);
}

// Trust maps --------------------------------------------------------------------------------------

namespace {

struct trust_map : testing::Test {
  buffer_pool pool;
  switch_settings settings = switch_bench::of_ports(1);

  unsigned priority(const flow& what) {
    const frame_item frame = make_frame(pool, 0, what);
    return priority_of(read_headers(frame.bytes.data() + frame.offset, frame.length), settings,
                       settings.ports[0]);
  }
};

}  // namespace

// AF31 and CS3 are the DSCPs of RoCE; traffic class 128 is DSCP 32; 48 is the CNP's.
TEST_F(trust_map, a_trusted_dscp_gives_its_class_selector) {
  EXPECT_EQ(priority({.dscp = 0}), 0U);
  EXPECT_EQ(priority({.dscp = 24}), 3U);
  EXPECT_EQ(priority({.dscp = 26}), 3U);
  EXPECT_EQ(priority({.dscp = 128 >> 2}), 4U);
  EXPECT_EQ(priority({.dscp = 48}), 6U);
  EXPECT_EQ(priority({.dscp = 63}), 7U);
}

TEST_F(trust_map, a_dscp_goes_before_a_tag_when_it_is_trusted) {
  EXPECT_EQ(priority({.dscp = 24, .pcp = 5}), 3U);
}

TEST_F(trust_map, a_map_can_say_otherwise) {
  settings.dscp_to_priority[10] = 5;
  EXPECT_EQ(priority({.dscp = 10}), 5U);
  EXPECT_EQ(priority({.dscp = 11}), 1U);
}

TEST_F(trust_map, a_trusted_pcp_is_the_priority_and_untagged_frames_get_the_ports) {
  settings.ports[0].trust = switch_trust::pcp;
  settings.ports[0].default_priority = 2;
  EXPECT_EQ(priority({.dscp = 24, .pcp = 5}), 5U);
  EXPECT_EQ(priority({.dscp = 24}), 2U);
  settings.pcp_to_priority[5] = 1;
  EXPECT_EQ(priority({.pcp = 5}), 1U);
}

TEST_F(trust_map, what_is_no_ip_gets_the_priority_of_the_port) {
  settings.ports[0].default_priority = 4;
  std::array<std::uint8_t, MinFrameBytes> arp{};
  arp[12] = 0x08;
  arp[13] = 0x06;
  EXPECT_EQ(priority_of(read_headers(arp.data(), arp.size()), settings, settings.ports[0]), 4U);
}

TEST_F(trust_map, a_port_that_trusts_nothing_gives_its_own_priority) {
  settings.ports[0].trust = switch_trust::port;
  settings.ports[0].default_priority = 3;
  EXPECT_EQ(priority({.dscp = 48, .pcp = 1}), 3U);
}

}  // namespace carillon::bench
