// Switches that are cabled by the builder: who reaches whom, by which way, and in which order.
#include <map>
#include <set>

#include "common/error.h"
#include "tb/common/switch_bench.h"

namespace carillon::bench {

namespace {

struct fabric : switch_bench {
  void two_tiers(const leaf_spine& shape, const switch_settings& settings = {}) {
    net.emplace(topology::two_tiers(context, "net", shape, settings));
    attach({shape.host_port});
  }

  static leaf_spine shape(unsigned leaves, unsigned spines, unsigned hosts) {
    leaf_spine result{leaves, spines, hosts, {}, {}};
    result.host_port.cable_delay_ps = Cable;
    result.uplink_port.cable_delay_ps = 2 * Cable;
    return result;
  }
};

}  // namespace

TEST_F(fabric, a_star_connects_everybody_with_everybody) {
  one_switch(5);
  for (unsigned from = 0; from < 5; ++from) {
    for (unsigned to = 0; to < 5; ++to) {
      if (to != from) {
        at(from).send({.to = to}, from * Microsecond);
      }
    }
  }
  run_to(20 * Microsecond);
  for (unsigned i = 0; i < 5; ++i) {
    std::set<std::uint64_t> sources;
    for (const received& each : at(i).arrivals) {
      EXPECT_EQ(each.parsed().mac_destination, address(i));
      sources.insert(each.source());
    }
    EXPECT_EQ(at(i).frames_received, 4U);
    EXPECT_EQ(sources.size(), 4U);
  }
  net->check_drained();
}

TEST_F(fabric, two_tiers_connect_everybody_with_everybody) {
  two_tiers(shape(4, 2, 3));
  ASSERT_EQ(net->hosts(), 12U);
  ASSERT_EQ(net->switches(), 6U);
  for (unsigned from = 0; from < 12; ++from) {
    for (unsigned to = 0; to < 12; ++to) {
      if (to != from) {
        at(from).send({.to = to}, 0);
      }
    }
  }
  run_to(50 * Microsecond);
  for (unsigned i = 0; i < 12; ++i) {
    EXPECT_EQ(at(i).frames_received, 11U);
  }
  net->check_drained();
}

// On one leaf: two cables of 25 ns and one switch. Between leaves: two cables more of 50 ns each,
// and two more switches, each of which stores 1002 bytes.
TEST_F(fabric, the_way_is_the_shortest) {
  two_tiers(shape(2, 2, 2));
  at(0).send({.to = 1}, 0);
  at(0).send({.to = 2}, Microsecond);
  run_to(10 * Microsecond);
  constexpr ps_t Hop = Lasts + IngressDelay + EgressDelay;
  EXPECT_THAT(at(1).first_bits(), testing::ElementsAre(2 * Cable + Hop));
  EXPECT_THAT(at(2).first_bits(), testing::ElementsAre(Microsecond + 6 * Cable + 3 * Hop));
}

// 1024 flows over four spines: 256 each, sigma 13.9; five of them.
TEST_F(fabric, flows_spread_over_the_spines) {
  two_tiers(shape(2, 4, 1));
  for (unsigned i = 0; i < 1024; ++i) {
    at(0).send({.to = 1, .udp_source = static_cast<std::uint16_t>(UdpSourcePortBase + i)}, 0);
  }
  run_to(Millisecond);
  EXPECT_EQ(at(1).frames_received, 1024U);
  for (unsigned spine = 0; spine < 4; ++spine) {
    EXPECT_NEAR(static_cast<double>(net->at(2 + spine).counters(0).priorities[0].rx_packets), 256,
                69);
  }
}

TEST_F(fabric, packets_of_a_flow_stay_in_order) {
  two_tiers(shape(2, 4, 2));
  for (unsigned i = 0; i < 400; ++i) {
    at(0).send({.to = 2,
                .length = i % 2 == 0 ? 4002U : 58U,
                .udp_source = static_cast<std::uint16_t>(UdpSourcePortBase + i % 16)},
               0);
  }
  run_to(Millisecond);
  std::map<std::uint16_t, std::uint32_t> last;
  ASSERT_EQ(at(2).frames_received, 400U);
  for (const received& each : at(2).arrivals) {
    const parsed_frame packet = each.parsed();
    const auto before = last.find(packet.udp_source);
    if (before != last.end()) {
      EXPECT_LT(before->second, packet.base.psn);
    }
    last[packet.udp_source] = packet.base.psn;
  }
}

TEST_F(fabric, an_address_that_nobody_has_goes_nowhere) {
  two_tiers(shape(2, 2, 1));
  at(0).send({.to = 77}, 0);
  run_to(10 * Microsecond);
  EXPECT_EQ(net->leaf_of(0).counters(0).rx_no_route, 1U);
  EXPECT_EQ(at(1).frames_received, 0U);
}

// Seven hosts of three leaves send to one of a fourth by two spines: nothing is lost on the way,
// and the pauses reach the senders through three switches.
TEST_F(fabric, a_lossless_priority_is_lossless_across_three_switches) {
  switch_settings settings;
  settings.buffer_bytes = 800'000;
  leaf_spine what = shape(4, 2, 3);
  two_tiers(what, settings);
  constexpr std::uint64_t Each = 300;
  for (unsigned from = 0; from < 7; ++from) {
    at(from).stream({.to = 9,
                     .dscp = Lossless,
                     .length = 4218,
                     .udp_source = static_cast<std::uint16_t>(UdpSourcePortBase + from)},
                    from, Each);
  }
  run_to(3 * Millisecond);
  EXPECT_EQ(at(9).frames_received, 7 * Each);
  unsigned paused = 0;
  for (unsigned from = 0; from < 7; ++from) {
    paused += at(from).requests.empty() ? 0 : 1;
  }
  EXPECT_GT(paused, 0U);
  net->check_drained();
}

TEST_F(fabric, sixty_four_hosts_are_no_more_than_a_larger_number) {
  switch_settings settings;
  leaf_spine what = shape(8, 4, 8);
  what.uplink_port.rate_gbps = 400;
  two_tiers(what, settings);
  for (unsigned from = 0; from < 64; ++from) {
    at(from).stream({.to = (from + 8) % 64, .dscp = Lossless}, 0, 50);
  }
  run_to(Millisecond);
  for (unsigned i = 0; i < 64; ++i) {
    EXPECT_EQ(at(i).frames_received, 50U);
  }
}

TEST_F(fabric, a_shape_without_leaves_is_refused) {
  EXPECT_THROW(two_tiers(shape(0, 2, 2)), config_error);
  EXPECT_THROW(two_tiers(shape(2, 0, 2)), config_error);
}

}  // namespace carillon::bench
