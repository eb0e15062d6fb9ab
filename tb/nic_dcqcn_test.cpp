// DCQCN on the wire: one NIC and a peer that marks and notifies. The line has 100 Gb/s, 12.5 bytes
// a nanosecond. A packet of 4096 bytes in the middle of a WRITE takes 14 + 20 + 8 + 12 + 4096 + 4
// bytes of frame, 4 of FCS and 20 of preamble and gap: 4178 bytes of wire.
#include <array>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "gen/bytes.h"
#include "gen/registers.h"
#include "tb/common/peer_bench.h"

namespace carillon::bench {
namespace {

constexpr double WireBytes = 4178;
constexpr double LineRate = 12.5;  // bytes a nanosecond
constexpr std::uint32_t Mtu = 4096;
constexpr std::uint32_t Packets = 40;

/// The published rule, alpha 0.5 at the start: the first CNP cuts to 3/4.
parameters paper() {
  parameters params;
  params.wire.rate_gbps = 100;
  params.dcqcn.rule = dcqcn_rule::Paper;
  params.dcqcn.alpha = 0.5;
  params.dcqcn.min_time_between_cnps = 1;
  return params;
}

peer_bench::options roomy() {
  peer_bench::options result;
  result.buffer_bytes = 2 * Packets * Mtu;
  return result;
}

packet_description cnp_for(const peer_bench& b, std::uint32_t qpn) {
  packet_description cnp = b.packet(bth_opcode::Cnp, 0);
  cnp.dest_qpn = qpn;
  cnp.ack_request = 0;
  cnp.becn = 1;
  cnp.dscp = 48;
  return cnp;
}

void notify(peer_bench& b, std::uint32_t qpn) {
  b.send(cnp_for(b, qpn), bytes_t(16));
}

/// The first ones may go at once, since the bucket was full, and leave as fast as the line lets
/// them until the sixth is there.
constexpr std::size_t Burst = 8;

/// Nanoseconds between the packets of full length that the NIC has sent, without the burst at the
/// beginning.
std::vector<double> distances(const peer_bench& b) {
  std::vector<ps_t> times;
  for (const seen_packet& each : b.packets) {
    if (each.parsed.payload == Mtu) {
      times.push_back(each.arrived);
    }
  }
  std::vector<double> result;
  for (std::size_t i = Burst; i < times.size(); ++i) {
    result.push_back(static_cast<double>(times[i] - times[i - 1]) / 1000);
  }
  return result;
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double each : values) {
    sum += each;
  }
  return sum / static_cast<double>(values.size());
}

/// A WRITE of many packets, to its completion.
task<> write(peer_bench& b, cpu& core) {
  co_await b.post(core, b.request(wqe_opcode::RdmaWrite, Packets * Mtu));
  co_await b.send_completions(core);
}

task<std::uint32_t> rate_register(peer_bench& b, cpu& core, std::uint64_t which) {
  std::array<std::uint8_t, 4> word{};
  bytes::store_be<4>(word.data(), b.qp->qpn());
  core.store_uncached(b.slot.function(0).bar0 + bar0::RpQpn, word);
  co_return static_cast<std::uint32_t>(co_await core.load(b.slot.function(0).bar0 + which, 4));
}

// The reaction point
// -----------------------------------------------------------------------------

/// 3/4 of 12.5 B/ns: 4178 / 9.375 = 445.65 ns.
TEST(nic_dcqcn, a_cnp_cuts_the_rate_of_its_qp_to_three_quarters_on_the_wire) {
  peer_bench b(paper());
  b.acknowledges_everything();
  b.run([](peer_bench& at, cpu& core) -> task<> {
    co_await at.connect(core, roomy());
    notify(at, at.qp->qpn());
    co_await at.wait_ns(core, 2000);
    co_await write(at, core);
  });
  const std::vector<double> seen = distances(b);
  ASSERT_EQ(seen.size(), Packets - Burst);
  for (const double each : seen) {
    EXPECT_NEAR(each, WireBytes / (LineRate * 3 / 4), 1.01);  // grants are on core edges
  }
  EXPECT_NEAR(mean(seen), WireBytes / (LineRate * 3 / 4), 0.05);
  EXPECT_EQ(b.count(counter::RpCnpHandled), 1U);
  EXPECT_EQ(b.count(counter::RpCnpIgnored), 0U);
}

TEST(nic_dcqcn, without_a_cnp_packets_are_as_close_as_the_line_lets_them) {
  peer_bench b(paper());
  b.acknowledges_everything();
  b.run([](peer_bench& at, cpu& core) -> task<> {
    co_await at.connect(core, roomy());
    co_await write(at, core);
  });
  EXPECT_NEAR(mean(distances(b)), WireBytes / LineRate, 0.05);
}

/// 55 us after the cut half of the way back to 100 Gb/s, and after 110 us half of the rest: 87.5
/// and 93.75 Gb/s.
TEST(nic_dcqcn, recovers_by_half_of_the_way_each_period_of_the_timer) {
  peer_bench b(paper());
  b.acknowledges_everything();
  b.run([](peer_bench& at, cpu& core) -> task<> {
    co_await at.connect(core, roomy());
    notify(at, at.qp->qpn());
    co_await at.wait_ns(core, 60'000);
    co_await write(at, core);
    co_await at.wait_ns(core, 40'000);
    co_await write(at, core);
  });
  // The burst at the beginning is over when the line has caught up: the closer the rate is to the
  // line's, the later.
  const std::vector<double> all = distances(b);
  const auto last = [](auto end) { return mean(std::vector<double>(end - 10, end)); };
  const auto first_end = all.begin() + (Packets - Burst);
  EXPECT_NEAR(last(first_end), WireBytes / (LineRate * 7 / 8), 0.1);
  EXPECT_NEAR(last(all.end()), WireBytes / (LineRate * 15 / 16), 0.1);
}

/// What the peer reads is data of the QP, too.
TEST(nic_dcqcn, the_data_of_read_responses_keeps_to_the_rate) {
  peer_bench b(paper());
  b.run([](peer_bench& at, cpu& core) -> task<> {
    co_await at.connect(core, roomy());
    notify(at, at.qp->qpn());
    co_await at.wait_ns(core, 2000);
    at.send(at.remote(bth_opcode::RcReadRequest, PeerPsn, Packets * Mtu));
    co_await at.wait_ns(core, 30'000);
  });
  const std::vector<double> seen = distances(b);
  ASSERT_EQ(seen.size(), Packets - Burst);
  // The last one has an AETH of 4 bytes.
  EXPECT_NEAR(mean(seen), WireBytes / (LineRate * 3 / 4), 0.1);
}

TEST(nic_dcqcn, other_qps_keep_their_rate) {
  peer_bench b(paper());
  b.acknowledges_everything();
  b.run([](peer_bench& at, cpu& core) -> task<> {
    co_await at.connect(core, roomy());
    auto other = co_await queue_pair::create(at.driver, core, at.pd, *at.uar, *at.send_cq,
                                             *at.receive_cq, {});
    notify(at, other->qpn());
    // It exists, but it does not send.
    co_await at.wait_ns(core, 2000);
    co_await write(at, core);
  });
  EXPECT_NEAR(mean(distances(b)), WireBytes / LineRate, 0.05);
  EXPECT_EQ(b.count(counter::RpCnpIgnored), 1U);
}

TEST(nic_dcqcn, two_qps_have_a_rate_each) {
  parameters params = paper();
  params.dcqcn.alpha = 1;  // each CNP cuts to a half
  peer_bench b(params);
  std::uint32_t own = 0;
  b.acknowledges_everything();
  b.run([&](peer_bench& at, cpu& core) -> task<> {
    co_await at.connect(core, roomy());
    own = at.qp->qpn();
    connection_options connection;
    connection.psn = OwnPsn;
    auto other = co_await queue_pair::create(at.driver, core, at.pd, *at.uar, *at.send_cq,
                                             *at.receive_cq, {});
    co_await other->to_init(core, connection);
    queue_pair_address peer;
    peer.qpn = PeerQpn + 1;
    peer.mac = PeerMac;
    peer.address = gid_of_ipv4(0x0a000002);
    co_await other->to_rtr(core, peer, connection);
    co_await other->to_rts(core, connection);
    at.answer = [&at, &other](const seen_packet& got) {
      if (got.parsed.base.ack_req != 0) {
        packet_description ack = at.acknowledge(got.psn());
        ack.dest_qpn = got.parsed.base.dest_qpn == PeerQpn ? at.qp->qpn() : other->qpn();
        at.send(ack);
      }
    };
    notify(at, own);
    notify(at, other->qpn());
    notify(at, other->qpn());
    co_await at.wait_ns(core, 2000);
    co_await at.post(core, at.request(wqe_opcode::RdmaWrite, Packets * Mtu));
    EXPECT_TRUE(co_await other->post_send(core, at.request(wqe_opcode::RdmaWrite, Packets * Mtu)));
    co_await at.send_completions(core, 2);
  });
  // 50 Gb/s have the one, and 25 the other: alpha stays at 1.
  std::array<std::vector<ps_t>, 2> times;
  for (const seen_packet& each : b.packets) {
    if (each.parsed.payload == Mtu) {
      times[each.parsed.base.dest_qpn - PeerQpn].push_back(each.arrived);
    }
  }
  ASSERT_EQ(times[0].size(), Packets);
  ASSERT_EQ(times[1].size(), Packets);
  const auto distance = [](const std::vector<ps_t>& at) {
    return static_cast<double>(at[Burst + 20] - at[Burst]) / 20 / 1000;
  };
  // Each may have waited for one packet of the other.
  const double slack = WireBytes / LineRate / 20;
  EXPECT_NEAR(distance(times[0]), WireBytes / (LineRate / 2), slack);
  EXPECT_NEAR(distance(times[1]), WireBytes / (LineRate / 4), slack);
}

TEST(nic_dcqcn, rp_current_shows_the_rate) {
  peer_bench b(paper());
  std::vector<std::uint32_t> seen;
  b.run([&](peer_bench& at, cpu& core) -> task<> {
    co_await at.connect(core);
    seen.push_back(co_await rate_register(at, core, bar0::RpCurrent));
    notify(at, at.qp->qpn());
    co_await at.wait_ns(core, 2000);
    seen.push_back(co_await rate_register(at, core, bar0::RpCurrent));
    seen.push_back(co_await rate_register(at, core, bar0::RpTarget));
  });
  // Bytes a nanosecond, 24 bits behind the point.
  EXPECT_THAT(seen, testing::ElementsAre(25U << 23, 75U << 21, 25U << 23));
}

TEST(nic_dcqcn, a_write_of_rp_current_sets_the_rate) {
  peer_bench b(paper());
  b.acknowledges_everything();
  b.run([](peer_bench& at, cpu& core) -> task<> {
    co_await at.connect(core, roomy());
    co_await rate_register(at, core, bar0::RpCurrent);
    std::array<std::uint8_t, 4> word{};
    bytes::store_be<4>(word.data(), 25U << 22);  // 50 Gb/s
    core.store_uncached(at.slot.function(0).bar0 + bar0::RpCurrent, word);
    co_await at.wait_ns(core, 2000);
    co_await write(at, core);
  });
  EXPECT_NEAR(mean(distances(b)), WireBytes / (LineRate / 2), 0.05);
}

TEST(nic_dcqcn, a_reset_of_the_qp_ends_its_rate) {
  peer_bench b(paper());
  b.acknowledges_everything();
  std::uint32_t after = 0;
  b.run([&](peer_bench& at, cpu& core) -> task<> {
    co_await at.connect(core, roomy());
    notify(at, at.qp->qpn());
    co_await at.wait_ns(core, 2000);
    co_await at.qp->to_reset(core);
    connection_options connection;
    connection.psn = OwnPsn;
    co_await at.qp->to_init(core, connection);
    queue_pair_address peer;
    peer.qpn = PeerQpn;
    peer.psn = PeerPsn;
    peer.mac = PeerMac;
    peer.address = gid_of_ipv4(0x0a000002);
    co_await at.qp->to_rtr(core, peer, connection);
    co_await at.qp->to_rts(core, connection);
    after = co_await rate_register(at, core, bar0::RpCurrent);
    co_await write(at, core);
  });
  EXPECT_EQ(after, 25U << 23);
  EXPECT_NEAR(mean(distances(b)), WireBytes / LineRate, 0.05);
}

TEST(nic_dcqcn, without_a_rule_a_cnp_is_ignored) {
  parameters params = paper();
  params.dcqcn.rule = dcqcn_rule::Off;
  peer_bench b(params);
  b.acknowledges_everything();
  b.run([](peer_bench& at, cpu& core) -> task<> {
    co_await at.connect(core, roomy());
    notify(at, at.qp->qpn());
    co_await at.wait_ns(core, 2000);
    co_await write(at, core);
  });
  EXPECT_NEAR(mean(distances(b)), WireBytes / LineRate, 0.05);
  EXPECT_EQ(b.count(counter::RpCnpIgnored), 1U);
}

// The notification point
// -------------------------------------------------------------------------

/// The peer's WRITEs, a frame each 250 ns, all of them marked.
task<> marked_writes(peer_bench& at, cpu& core, unsigned count, ecn_code mark = ecn_code::Ce) {
  for (unsigned i = 0; i < count; ++i) {
    packet_description request = at.remote(bth_opcode::RcWriteOnly, PeerPsn + i, 64);
    request.ecn = mark;
    request.ack_request = 0;
    at.send(request, pattern(64), i * 250);
  }
  co_await at.wait_ns(core, count * 250 + 5000);
}

TEST(nic_dcqcn, a_marked_packet_is_answered_by_a_cnp) {
  peer_bench b(paper());
  b.run([](peer_bench& at, cpu& core) -> task<> {
    co_await at.connect(core);
    co_await marked_writes(at, core, 1);
  });
  ASSERT_EQ(b.packets.size(), 1U);
  const seen_packet& cnp = b.packets.front();
  EXPECT_EQ(cnp.opcode(), bth_opcode::Cnp);
  EXPECT_EQ(cnp.parsed.base.becn, 1U);
  EXPECT_EQ(cnp.parsed.base.fecn, 0U);
  EXPECT_EQ(cnp.parsed.base.ack_req, 0U);
  EXPECT_EQ(cnp.parsed.base.dest_qpn, PeerQpn);
  EXPECT_EQ(cnp.psn(), 0U);
  EXPECT_EQ(cnp.parsed.dscp, 48U);
  EXPECT_EQ(cnp.payload(), bytes_t(16));
  // As scapy 2.5 writes it: Ether / IP(tos=48<<2|2, id=0, flags="DF", ttl=64) / UDP(sport=0xd79f,
  // dport=4791, chksum=0) / BTH(opcode=0x81, migreq=1, becn=1, dqpn=0xabcd) / 16 zero bytes.
  const std::string expected =
      "0200000000fe020000000001080045c2003c00004000401125ed0a0000010a000002d79f12b700280000"
      "8140ffff4000abcd0000000000000000000000000000000000000000e830d650";
  std::string hex;
  for (const std::uint8_t byte : cnp.frame) {
    hex += fmt::format("{:02x}", byte);
  }
  EXPECT_EQ(hex, expected);
  // 14 of Ethernet, 20 of IPv4, 8 of UDP, 12 of BTH, 16 zero bytes, 4 of ICRC.
  EXPECT_EQ(cnp.frame.size(), 74U);
  EXPECT_EQ(b.count(counter::NpCnpSent), 1U);
  EXPECT_EQ(b.count(counter::RxEcnMarked), 1U);
}

TEST(nic_dcqcn, cnps_are_an_interval_apart_at_least) {
  peer_bench b(paper());
  b.run([](peer_bench& at, cpu& core) -> task<> {
    co_await at.connect(core);
    co_await marked_writes(at, core, 20);
  });
  // Marks at 0, 250, ... 4750 ns: at 0, 1000, 2000, 3000 and 4000 ns the interval is over.
  ASSERT_EQ(b.packets.size(), 5U);
  for (std::size_t i = 1; i < b.packets.size(); ++i) {
    EXPECT_GE(b.packets[i].arrived - b.packets[i - 1].arrived, 1'000'000U);
  }
  EXPECT_EQ(b.count(counter::NpCnpSent), 5U);
  EXPECT_EQ(b.count(counter::RxEcnMarked), 20U);
}

TEST(nic_dcqcn, a_packet_that_is_only_capable_gets_no_cnp) {
  peer_bench b(paper());
  b.run([](peer_bench& at, cpu& core) -> task<> {
    co_await at.connect(core);
    co_await marked_writes(at, core, 4, ecn_code::Ect0);
  });
  EXPECT_TRUE(b.packets.empty());
}

TEST(nic_dcqcn, a_cnp_that_is_marked_gets_no_cnp) {
  peer_bench b(paper());
  b.run([](peer_bench& at, cpu& core) -> task<> {
    co_await at.connect(core);
    packet_description cnp = cnp_for(at, at.qp->qpn());
    cnp.ecn = ecn_code::Ce;
    at.send(cnp, bytes_t(16));
    co_await at.wait_ns(core, 5000);
  });
  EXPECT_TRUE(b.packets.empty());
  EXPECT_EQ(b.count(counter::RpCnpHandled), 1U);
}

TEST(nic_dcqcn, a_marked_read_response_is_answered_by_a_cnp) {
  peer_bench b(paper());
  b.answer = [&b](const seen_packet& got) {
    if (got.opcode() == bth_opcode::RcReadRequest) {
      packet_description response = b.packet(bth_opcode::RcReadResponseOnly, got.psn());
      response.ecn = ecn_code::Ce;
      response.ack_request = 0;
      response.acknowledge = make_aeth(0x1f, 1);
      b.send(response, pattern(64));
    }
  };
  b.run([](peer_bench& at, cpu& core) -> task<> {
    co_await at.connect(core);
    co_await at.post(core, at.request(wqe_opcode::RdmaRead, 64));
    co_await at.send_completions(core);
    co_await at.wait_ns(core, 2000);
  });
  ASSERT_EQ(b.packets.size(), 2U);
  EXPECT_EQ(b.packets.back().opcode(), bth_opcode::Cnp);
}

TEST(nic_dcqcn, without_a_rule_marked_packets_are_only_counted) {
  parameters params = paper();
  params.dcqcn.rule = dcqcn_rule::Off;
  peer_bench b(params);
  b.run([](peer_bench& at, cpu& core) -> task<> {
    co_await at.connect(core);
    co_await marked_writes(at, core, 3);
  });
  EXPECT_TRUE(b.packets.empty());
  EXPECT_EQ(b.count(counter::RxEcnMarked), 3U);
}

TEST(nic_dcqcn, does_not_depend_on_the_order_of_evaluation) {
  peer_bench b(paper(), 7);
  b.acknowledges_everything();
  b.run([](peer_bench& at, cpu& core) -> task<> {
    co_await at.connect(core, roomy());
    notify(at, at.qp->qpn());
    co_await marked_writes(at, core, 4);
    co_await write(at, core);
  });
  const std::vector<double> got = distances(b);
  EXPECT_NEAR(mean(got), WireBytes / (LineRate * 3 / 4), 0.05);
}

}  // namespace
}  // namespace carillon::bench
