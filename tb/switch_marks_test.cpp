// Marks on the wire, shares of the wire, and what must not matter.
#include <map>

#include "tb/common/reference_crc.h"
#include "tb/common/switch_bench.h"

namespace carillon::bench {

namespace {

using switch_marks = switch_bench;
using switch_shares = switch_bench;

}  // namespace

// Marks -------------------------------------------------------------------------------------------

namespace {

switch_settings step(std::uint64_t threshold, std::uint64_t shift = 0) {
  switch_settings settings = switch_bench::of_ports(2);
  settings.priorities[3].kmin_bytes = threshold;
  settings.priorities[3].kmax_bytes = threshold;
  settings.priorities[3].average_shift = shift;
  return settings;
}

/// One's complement sum of an IPv4 header, 0xffff if its checksum is right (RFC 1071).
std::uint32_t sum_of_header(const std::uint8_t* ip) {
  std::uint32_t sum = 0;
  for (int i = 0; i < 20; i += 2) {
    sum += static_cast<std::uint32_t>(ip[i] << 8 | ip[i + 1]);
  }
  return (sum & 0xffff) + (sum >> 16);
}

std::vector<ecn_code> marks(const station& at) {
  std::vector<ecn_code> result;
  for (const received& each : at.arrivals) {
    result.push_back(each.parsed().ecn);
  }
  return result;
}

}  // namespace

// Ten frames wait for the end of a pause. When the first is taken nine are left: 9018 bytes; behind
// the fifth there are 5010, behind the sixth 4008.
TEST_F(switch_marks, are_made_when_a_frame_leaves_by_what_it_leaves_behind) {
  ethernet_switch& under_test = one_switch(step(5000));
  at(1).ask_pause(3, 2000, 0);
  for (int i = 0; i < 10; ++i) {
    at(0).send({.to = 1, .dscp = Lossless, .ecn = ecn_code::Ect0}, Microsecond);
  }
  run_to(20 * Microsecond);
  std::vector<ecn_code> expected(5, ecn_code::Ce);
  expected.insert(expected.end(), 5, ecn_code::Ect0);
  EXPECT_EQ(marks(at(1)), expected);
  EXPECT_EQ(under_test.counters(1).priorities[3].tx_ecn_marked, 5U);
}

TEST_F(switch_marks, leave_a_frame_right_in_every_respect) {
  one_switch(step(0));
  at(1).ask_pause(3, 2000, 0);
  at(0).send({.to = 1, .dscp = Lossless, .ecn = ecn_code::Ect0, .ipv6 = true}, Microsecond);
  at(0).send({.to = 1, .dscp = Lossless, .ecn = ecn_code::Ect1, .pcp = 3}, Microsecond);
  at(0).send({.to = 1, .dscp = Lossless, .ecn = ecn_code::Ect0}, Microsecond);
  at(0).send({.to = 1, .dscp = Lossless, .ecn = ecn_code::Ect0}, Microsecond);
  run_to(20 * Microsecond);
  ASSERT_EQ(marks(at(1)), (std::vector{ecn_code::Ce, ecn_code::Ce, ecn_code::Ce, ecn_code::Ect0}));
  for (const received& each : at(1).arrivals) {
    const parsed_frame parsed = parse_frame(each.bytes(), each.frame.length, icrc_check::verify);
    EXPECT_TRUE(parsed.good()) << to_string(parsed.error);
    EXPECT_EQ(parsed.dscp, Lossless);
    if (!parsed.ipv6) {
      EXPECT_EQ(sum_of_header(each.bytes() + parsed.ip_offset), 0xffffU);
    }
    EXPECT_EQ(each.frame.fcs,
              test::reference_crc({each.bytes(), each.bytes() + each.frame.length}));
  }
}

TEST_F(switch_marks, are_made_on_capable_frames_only) {
  ethernet_switch& under_test = one_switch(step(0));
  at(1).ask_pause(3, 2000, 0);
  at(0).send({.to = 1, .dscp = Lossless, .ecn = ecn_code::NotEct}, Microsecond);
  at(0).send({.to = 1, .dscp = Lossless, .ecn = ecn_code::Ce}, Microsecond);
  at(0).send({.to = 1, .dscp = Lossless, .ecn = ecn_code::NotEct}, Microsecond);
  run_to(20 * Microsecond);
  EXPECT_EQ(marks(at(1)), (std::vector{ecn_code::NotEct, ecn_code::Ce, ecn_code::NotEct}));
  EXPECT_EQ(under_test.counters(1).priorities[3].tx_ecn_marked, 0U);
}

TEST_F(switch_marks, are_left_out_where_ecn_is_off) {
  switch_settings settings = step(0);
  settings.priorities[3].ecn = false;
  one_switch(settings);
  at(1).ask_pause(3, 2000, 0);
  at(0).send({.to = 1, .dscp = Lossless, .ecn = ecn_code::Ect0}, Microsecond);
  at(0).send({.to = 1, .dscp = Lossless, .ecn = ecn_code::Ect0}, Microsecond);
  run_to(20 * Microsecond);
  EXPECT_EQ(marks(at(1)), (std::vector{ecn_code::Ect0, ecn_code::Ect0}));
}

// With a weight of one half the average of queues of 0, 1002, ..., 9018 bytes that frames find is
// 8020 in the end: above 5000 whatever leaves, though the last ones leave less behind.
TEST_F(switch_marks, follow_the_average_where_that_is_asked_for) {
  one_switch(step(5000, 1));
  at(1).ask_pause(3, 2000, 0);
  for (int i = 0; i < 10; ++i) {
    at(0).send({.to = 1, .dscp = Lossless, .ecn = ecn_code::Ect0}, Microsecond);
  }
  run_to(20 * Microsecond);
  EXPECT_EQ(marks(at(1)), std::vector<ecn_code>(10, ecn_code::Ce));
}

TEST_F(switch_marks, on_one_copy_of_a_flooded_frame_are_not_on_the_others) {
  switch_settings settings = step(0);
  settings.ports.resize(3, settings.ports[0]);
  one_switch(settings);
  at(1).ask_pause(3, 2000, 0);
  at(0).send({.to = 77, .dscp = Lossless, .ecn = ecn_code::Ect0}, Microsecond);
  at(0).send({.to = 77, .dscp = Lossless, .ecn = ecn_code::Ect0}, Microsecond);
  run_to(20 * Microsecond);
  EXPECT_EQ(marks(at(1)), (std::vector{ecn_code::Ce, ecn_code::Ect0}));
  EXPECT_EQ(marks(at(2)), (std::vector{ecn_code::Ect0, ecn_code::Ect0}));
}

// Shares of the wire ------------------------------------------------------------------------------

TEST_F(switch_shares, weights_share_an_overloaded_port) {
  switch_settings settings = of_ports(3);
  settings.priorities[0].weight = 1;
  settings.priorities[1].weight = 3;
  settings.priorities[0].egress_alpha = 0.125;
  settings.priorities[1].egress_alpha = 0.125;
  one_switch(settings);
  at(0).stream({.to = 2, .dscp = 0 << 3}, 0);
  at(1).stream({.to = 2, .dscp = 1 << 3, .length = 4218}, 0);
  run_to(Millisecond);
  std::map<std::uint64_t, double> bytes;
  for (const received& each : at(2).arrivals) {
    bytes[each.source()] += wire_bytes(each.frame.length);
  }
  EXPECT_NEAR(bytes[address(1)] / bytes[address(0)], 3.0, 0.01);
}

TEST_F(switch_shares, a_strict_priority_takes_what_it_wants) {
  switch_settings settings = of_ports(3);
  settings.priorities[0].egress_alpha = 0.125;
  one_switch(settings);
  at(0).stream({.to = 2, .dscp = 0}, 0);
  at(1).stream({.to = 2, .dscp = 48}, 0);
  run_to(100 * Microsecond);
  std::map<std::uint64_t, unsigned> frames;
  for (const received& each : at(2).arrivals) {
    ++frames[each.source()];
  }
  EXPECT_LE(frames[address(0)], 1U);
  EXPECT_GT(frames[address(1)], 1000U);
}

// Nothing depends on the order in which things are said -------------------------------------------

TEST_F(switch_shares, results_do_not_depend_on_the_order_of_announcements) {
  switch_settings settings = crowded(5, 20'000);
  settings.priorities[0].ingress_alpha = 0.25;
  settings.priorities[3].ecn = true;
  settings.priorities[3].kmin_bytes = 3000;
  settings.priorities[3].kmax_bytes = 3000;
  settings.priorities[0].egress_alpha = 0.25;
  net.emplace(topology::star(context, "one", settings));
  topology other = topology::star(context, "other", settings);
  std::vector<topology*> both = {&*net, &other};
  for (topology* each : both) {
    for (unsigned i = 0; i < 5; ++i) {
      stations.push_back(std::make_unique<station>(context, pool, i, settings.ports[i],
                                                   each == &other ? "twin" : "station"));
      stations.back()->wire.connect(each->host_port(i));
      each->add_address(i, address(i));
    }
  }
  random_stream random(1, "announcements");
  for (int round = 0; round < 300; ++round) {
    const ps_t when = round * Slot;
    std::array<flow, 4> flows;
    for (unsigned i = 0; i < 4; ++i) {
      flows[i] = {.to = 4,
                  .dscp = random.chance(1, 2) ? Lossless : Lossy,
                  .length = 58 + 4 * static_cast<std::uint32_t>(random.below(200)),
                  .ecn = ecn_code::Ect0};
    }
    run_to(when);
    for (unsigned i = 0; i < 4; ++i) {
      at(i).send(flows[i], when);
      at(5 + 3 - i).send(flows[3 - i], when);
    }
  }
  run_to(Millisecond);
  ASSERT_EQ(at(4).frames_received, at(9).frames_received);
  EXPECT_GT(discards(net->at(0)), 0U);
  EXPECT_GT(net->at(0).counters(4).priorities[3].tx_ecn_marked, 0U);
  for (std::size_t i = 0; i < at(4).arrivals.size(); ++i) {
    const received& a = at(4).arrivals[i];
    const received& b = at(9).arrivals[i];
    ASSERT_EQ(a.source(), b.source()) << i;
    ASSERT_EQ(a.first_bit, b.first_bit) << i;
    ASSERT_EQ(a.frame.fcs, b.frame.fcs) << i;
  }
}

// Counters ----------------------------------------------------------------------------------------

TEST_F(switch_shares, counters_have_the_names_that_users_know) {
  ethernet_switch& under_test = one_switch(2);
  at(0).send({.to = 1, .dscp = Lossless}, 0);
  at(1).ask_pause(3, 200, 10 * Microsecond);
  run_to(20 * Microsecond);
  using entry = std::pair<std::string, std::uint64_t>;
  EXPECT_THAT(listed(under_test.counters(0)),
              testing::ElementsAre(entry{"rx_prio3_packets", 1}, entry{"rx_prio3_bytes", 1002},
                                   entry{"rx_prio3_max_buffer_bytes", 1002}));
  EXPECT_THAT(
      listed(under_test.counters(1)),
      testing::ElementsAre(entry{"rx_prio3_pause", 1}, entry{"rx_prio3_pause_transition", 1},
                           entry{"rx_prio3_pause_duration", 1}, entry{"tx_prio3_packets", 1},
                           entry{"tx_prio3_bytes", 1002}, entry{"tx_prio3_max_queue_bytes", 1002}));
}

}  // namespace carillon::bench
