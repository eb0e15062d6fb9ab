// Where packets go and what their Ethernet, IP, UDP and base transport headers say. Each case is
// named after its rule. "RoCE rules" are those of the RoCEv2 annex and its public implementations,
// "mlx5" is the public driver interface: address path of the QP, GID table, datagram segment.
#include <algorithm>
#include <gtest/gtest.h>

#include "tb/common/peer_bench.h"

namespace carillon {
namespace {

using bench::bytes_t;
using bench::OwnPsn;
using bench::pattern;
using bench::peer_bench;
using bench::PeerMac;
using bench::PeerPsn;
using bench::PeerQpn;
using bench::seen_packet;

constexpr std::uint32_t PeerIpv4 = 0x0a000002;
constexpr gid OwnIpv6 = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x02, 0x11, 0x22, 0xff, 0xfe, 0x33, 0x44, 1};
constexpr gid PeerIpv6 = {0xfd, 0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0xab, 0xcd};

/// An end of the NIC's path.
struct path {
  connection_options connection;
  queue_pair_options qp;
  source_address own{gid_of_ipv4(0x0a000001), {}};  ///< of GID entry connection.gid_index
  queue_pair_address peer{PeerQpn, PeerPsn, PeerMac, gid_of_ipv4(PeerIpv4), 0};
};

path plain() {
  path wanted;
  wanted.connection.mtu = mtu_code::Mtu1024;
  wanted.connection.ack_timeout = 0;
  wanted.connection.psn = OwnPsn;
  return wanted;
}

path over_ipv6() {
  path wanted = plain();
  wanted.connection.gid_index = 1;
  wanted.own.address = OwnIpv6;
  wanted.peer.address = PeerIpv6;
  return wanted;
}

task<> connect(peer_bench& b, cpu& core, const path& wanted) {
  co_await b.driver.open(core);
  co_await b.driver.set_address(core, wanted.connection.gid_index, wanted.own);
  b.pd = co_await b.driver.alloc_pd(core);
  b.uar = co_await b.driver.alloc_uar(core);
  b.send_cq = co_await completion_queue::create(b.driver, core, *b.uar, 6);
  b.receive_cq = co_await completion_queue::create(b.driver, core, *b.uar, 6);
  b.buffer = co_await b.driver.register_memory(core, b.pd, b.host.allocate(65536, 4096), 65536);
  b.qp = co_await queue_pair::create(b.driver, core, b.pd, *b.uar, *b.send_cq, *b.receive_cq,
                                     wanted.qp);
  co_await b.qp->to_init(core, wanted.connection);
  co_await b.qp->to_rtr(core, wanted.peer, wanted.connection);
  co_await b.qp->to_rts(core, wanted.connection);
}

/// What the NIC sends over that path: a SEND of 4 bytes.
seen_packet sends(peer_bench& b, const path& wanted) {
  b.acknowledges_everything();
  b.run([&wanted](peer_bench& bench, cpu& core) -> task<> {
    co_await connect(bench, core, wanted);
    bench.put(0, {1, 2, 3, 4});
    co_await bench.post(core, bench.request(wqe_opcode::Send, 4));
    co_await bench.send_completions(core);
  });
  return b.packets.at(0);
}

seen_packet sends(const path& wanted) {
  peer_bench b;
  return sends(b, wanted);
}

/// Bytes [from, from + count) of a frame.
bytes_t part(const seen_packet& of, std::size_t from, std::size_t count) {
  const auto at = of.frame.begin() + static_cast<std::ptrdiff_t>(from);
  return {at, at + static_cast<std::ptrdiff_t>(count)};
}

// Whole headers -----------------------------------------------------------------------------------

// RoCE rules, frame: Ethernet II, IPv4 without options, unfragmentable, UDP to port 4791 without a
// checksum, BTH, payload, ICRC. The traffic class is DSCP 24 with ECT(0); the source port is that
// of QPs 2 and 0xabcd: 2 * 0xabcd = 0x1579a, (0x179a ^ 5) | 0xc000.
TEST(address_rules, an_ipv4_packet_has_these_bytes) {
  const seen_packet got = sends(plain());
  EXPECT_EQ(part(got, 0, 14), (bytes_t{2, 0, 0, 0, 0, 0xfe, 2, 0, 0, 0, 0, 1, 0x08, 0x00}));
  // 20 + 8 + 12 + 4 + 4 bytes; the header's words but the checksum add up to 0xd9a6 = ~0x2659.
  EXPECT_EQ(part(got, 14, 20), (bytes_t{0x45, 0x62, 0,  48, 0, 0, 0x40, 0, 64, 17,
                                        0x26, 0x59, 10, 0,  0, 1, 10,   0, 0,  2}));
  EXPECT_EQ(part(got, 34, 8), (bytes_t{0xd7, 0x9f, 0x12, 0xb7, 0, 28, 0, 0}));
  EXPECT_EQ(part(got, 42, 12),
            (bytes_t{0x04, 0x40, 0xff, 0xff, 0, 0, 0xab, 0xcd, 0x80, 0, 0x02, 0}));
  EXPECT_EQ(part(got, 54, 4), (bytes_t{1, 2, 3, 4}));
}

TEST(address_rules, an_ipv6_packet_has_these_bytes) {
  path wanted = over_ipv6();
  wanted.connection.flow_label = 0xabcde;
  wanted.connection.hop_limit = 9;
  const seen_packet got = sends(wanted);
  EXPECT_EQ(part(got, 12, 2), (bytes_t{0x86, 0xdd}));
  // Version 6, traffic class 0x62, flow label; 8 + 12 + 4 + 4 bytes, UDP, hop limit.
  EXPECT_EQ(part(got, 14, 8), (bytes_t{0x66, 0x2a, 0xbc, 0xde, 0, 28, 17, 9}));
  EXPECT_EQ(part(got, 22, 16), bytes_t(OwnIpv6.begin(), OwnIpv6.end()));
  EXPECT_EQ(part(got, 38, 16), bytes_t(PeerIpv6.begin(), PeerIpv6.end()));
  // (0xabcde & 0x3fff) ^ 0x2a = 0x3cf4
  EXPECT_EQ(part(got, 54, 8), (bytes_t{0xfc, 0xf4, 0x12, 0xb7, 0, 28, 0, 0}));
  EXPECT_EQ(part(got, 74, 4), (bytes_t{1, 2, 3, 4}));
}

// mlx5: a GID entry with a VLAN makes tagged frames; the priority of the path is the PCP, DEI is 0.
TEST(address_rules, the_gid_entry_brings_its_vlan_tag) {
  path wanted = plain();
  wanted.own.vlan = 0xabc;
  wanted.connection.priority = 5;
  const seen_packet got = sends(wanted);
  EXPECT_EQ(part(got, 12, 6), (bytes_t{0x81, 0x00, 0xaa, 0xbc, 0x08, 0x00}));
  EXPECT_EQ(part(got, 18, 2), (bytes_t{0x45, 0x62}));
}

TEST(address_rules, a_vlan_tag_goes_before_ipv6_too) {
  path wanted = over_ipv6();
  wanted.own.vlan = 1;
  wanted.connection.priority = 7;
  const seen_packet got = sends(wanted);
  EXPECT_EQ(part(got, 12, 6), (bytes_t{0x81, 0x00, 0xe0, 0x01, 0x86, 0xdd}));
}

TEST(address_rules, without_a_vlan_the_priority_is_not_on_the_wire) {
  path wanted = plain();
  wanted.connection.priority = 5;
  const seen_packet got = sends(wanted);
  EXPECT_EQ(part(got, 12, 4), (bytes_t{0x08, 0x00, 0x45, 0x62}));
}

// mlx5: the path names an entry of the GID table, which has the source address.
TEST(address_rules, the_source_is_the_chosen_entry_of_the_gid_table) {
  path wanted = plain();
  wanted.connection.gid_index = 3;
  wanted.own.address = gid_of_ipv4(0xc0a80105);
  const seen_packet got = sends(wanted);
  EXPECT_EQ(part(got, 26, 8), (bytes_t{192, 168, 1, 5, 10, 0, 0, 2}));
}

TEST(address_rules, an_unused_entry_of_the_gid_table_is_refused) {
  peer_bench b;
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    path wanted = plain();
    co_await connect(bench, core, wanted);
    co_await bench.qp->to_reset(core);
    wanted.connection.gid_index = 2;
    co_await bench.qp->to_init(core, wanted.connection);
    bool refused = false;
    try {
      co_await bench.qp->to_rtr(core, wanted.peer, wanted.connection);
    } catch (const command_refused& why) {
      refused = why.status == command_status::BadIndex;
    }
    EXPECT_TRUE(refused);
  });
}

// Traffic class -----------------------------------------------------------------------------------

class traffic_class : public testing::TestWithParam<unsigned> {};

// RoCE rules: DSCP in bits 7:2, ECN in bits 1:0; the second byte of the IPv4 header.
TEST_P(traffic_class, is_the_type_of_service_of_ipv4) {
  path wanted = plain();
  wanted.connection.traffic_class = static_cast<std::uint8_t>(GetParam());
  const seen_packet got = sends(wanted);
  EXPECT_EQ(got.frame.at(15), GetParam());
}

TEST_P(traffic_class, is_the_traffic_class_of_ipv6) {
  path wanted = over_ipv6();
  wanted.connection.traffic_class = static_cast<std::uint8_t>(GetParam());
  const seen_packet got = sends(wanted);
  EXPECT_EQ(got.frame.at(14), 0x60U | GetParam() >> 4);
  EXPECT_EQ(got.frame.at(15) >> 4, GetParam() & 0xf);
}

// Not ECN capable, ECT(1), ECT(0), CE; DSCP 0, 26, 32, 63.
INSTANTIATE_TEST_SUITE_P(byte, traffic_class, testing::Values(0x00U, 0x69U, 0x82U, 0xffU));

// Hop limit ---------------------------------------------------------------------------------------

class hop_limit : public testing::TestWithParam<unsigned> {};

TEST_P(hop_limit, is_the_time_to_live) {
  path wanted = plain();
  wanted.connection.hop_limit = static_cast<std::uint8_t>(GetParam());
  EXPECT_EQ(sends(wanted).frame.at(22), GetParam());
}

INSTANTIATE_TEST_SUITE_P(byte, hop_limit, testing::Values(1U, 255U));

// UDP source port ---------------------------------------------------------------------------------

struct port_row {
  std::uint32_t label;
  std::uint32_t local;
  std::uint32_t remote;
  unsigned port;
};

void PrintTo(const port_row& row, std::ostream* out) {
  *out << fmt::format("label {:#x} of {:#x} and {:#x}", row.label, row.local, row.remote);
}

class source_port : public testing::TestWithParam<port_row> {};

// The rule of kernel and rdma-core: p = (fl & 0x3fff) ^ (fl >> 14), or 0xc000; without a label one
// is mixed from the product of the QP numbers.
TEST_P(source_port, follows_the_published_rule) {
  const port_row row = GetParam();
  EXPECT_EQ(udp_source_port(row.label, row.local, row.remote), row.port);
}

INSTANTIATE_TEST_SUITE_P(golden, source_port,
                         testing::Values(port_row{0x4000, 1, 1, 0xc001},
                                         port_row{0xfffff, 1, 1, 0xffc0}, port_row{0, 0, 0, 0xc000},
                                         port_row{0, 1, 1, 0xc001},
                                         port_row{0, 1, 0xffffff, 0xffcf},
                                         port_row{0, 0xffffff, 0xffffff, 0xff21},
                                         port_row{0, 0x123456, 0xabcdef, 0xc3c8}));

TEST(address_rules, a_flow_label_chooses_the_source_port) {
  path wanted = plain();
  wanted.connection.flow_label = 0x4000;
  EXPECT_EQ(part(sends(wanted), 34, 2), (bytes_t{0xc0, 0x01}));
}

TEST(address_rules, the_largest_flow_label_chooses_its_source_port) {
  path wanted = over_ipv6();
  wanted.connection.flow_label = 0xfffff;
  EXPECT_EQ(part(sends(wanted), 54, 2), (bytes_t{0xff, 0xc0}));
}

// QPs 2 and 0xffffff: v = 0x1fffffe, v ^ v >> 20 = 0x1ffffe1, so the label is 0xfffe1, the port
// (0x3fe1 ^ 0x3f) | 0xc000.
TEST(address_rules, without_a_flow_label_the_queue_pairs_choose_the_source_port) {
  path wanted = over_ipv6();
  wanted.peer.qpn = 0xffffff;
  const seen_packet got = sends(wanted);
  EXPECT_EQ(part(got, 54, 2), (bytes_t{0xff, 0xde}));
  EXPECT_EQ(part(got, 14, 4), (bytes_t{0x66, 0x20, 0, 0})) << "no label on the wire";
}

// Base transport header ---------------------------------------------------------------------------

TEST(address_rules, all_24_bits_of_the_peers_queue_pair_are_in_the_packet) {
  path wanted = plain();
  wanted.peer.qpn = 0xfedcba;
  EXPECT_EQ(part(sends(wanted), 46, 4), (bytes_t{0, 0xfe, 0xdc, 0xba}));
}

/// The peer's SEND with that P_Key to a QP that has a receive WQE.
void receives_with_pkey(peer_bench& b, std::uint16_t pkey) {
  b.run([pkey](peer_bench& bench, cpu& core) -> task<> {
    const path wanted = plain();
    co_await connect(bench, core, wanted);
    co_await bench.post_receive(core, 64);
    packet_description what = bench.packet(bth_opcode::RcSendOnly, PeerPsn);
    what.pkey = pkey;
    bench.send(what, pattern(64));
    co_await bench.wait_ns(core, 5000);
  });
}

class foreign_pkey : public testing::TestWithParam<unsigned> {};

// RoCE rules: a packet of another partition is dropped without a word. Two P_Keys match if their
// low 15 bits do and one at least is of a full member (bit 15); the QP's is 0xffff.
TEST_P(foreign_pkey, is_dropped) {
  peer_bench b;
  receives_with_pkey(b, static_cast<std::uint16_t>(GetParam()));
  EXPECT_TRUE(b.packets.empty());
  EXPECT_FALSE(b.receive_cq->ready());
  EXPECT_EQ(b.get(0x8000, 64), bytes_t(64));
  EXPECT_EQ(b.count(counter::RxDropPkey), 1U);
}

INSTANTIATE_TEST_SUITE_P(key, foreign_pkey, testing::Values(0x0000U, 0x8001U, 0xfffeU, 0x7ffeU));

TEST(address_rules, a_limited_member_talks_to_a_full_one) {
  peer_bench b;
  receives_with_pkey(b, 0x7fff);
  ASSERT_EQ(b.packets.size(), 1U);
  EXPECT_EQ(b.packets[0].syndrome(), 0x1f);
  EXPECT_EQ(b.packets[0].parsed.base.pkey, 0xffffU) << "its own, not the peer's";
  EXPECT_EQ(b.count(counter::RxDropPkey), 0U);
}

// An acknowledge of another partition is none.
TEST(address_rules, a_foreign_acknowledge_is_dropped) {
  peer_bench b;
  b.answer = [&b](const seen_packet& got) {
    packet_description out = b.acknowledge(got.psn());
    out.pkey = 0x8001;
    b.send(out);
    b.send(b.acknowledge(got.psn()), {}, 50000);
  };
  ps_t completed = 0;
  b.run([&completed](peer_bench& bench, cpu& core) -> task<> {
    const path wanted = plain();
    co_await connect(bench, core, wanted);
    co_await bench.post(core, bench.request(wqe_opcode::Send, 4));
    co_await bench.send_completions(core);
    completed = core.time();
  });
  EXPECT_GT(completed, b.packets[0].arrived + 50000000);
  EXPECT_EQ(b.count(counter::RxDropPkey), 1U);
}

// mlx5: the QP names an entry of the P_Key table; the device has one.
TEST(address_rules, an_entry_beyond_the_pkey_table_is_refused) {
  peer_bench b;
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    path wanted = plain();
    co_await connect(bench, core, wanted);
    co_await bench.qp->to_reset(core);
    wanted.connection.pkey_index = bench.driver.capabilities().num_pkeys;
    bool refused = false;
    try {
      co_await bench.qp->to_init(core, wanted.connection);
    } catch (const command_refused& why) {
      refused = why.status == command_status::BadIndex;
    }
    EXPECT_TRUE(refused);
  });
}

// Answers -----------------------------------------------------------------------------------------

/// The peer's packet over its own idea of the path: other traffic class, port and hop limit.
packet_description from_peer(const peer_bench& b, bth_opcode opcode, std::uint32_t psn) {
  packet_description what = b.remote(opcode, psn, 64);
  what.ipv6 = true;
  what.source = PeerIpv6;
  what.destination = OwnIpv6;
  what.tagged = true;
  what.vid = 77;
  what.pcp = 1;
  what.dscp = 1;
  what.ecn = ecn_code::Ect1;
  what.ttl = 3;
  what.flow_label = 0x11111;
  what.udp_source = 0xc123;
  what.atomic.rkey = 0;  // refused
  return what;
}

// RoCE rules: answers go the way of the QP's own requests, whatever the way of the peer's was.
TEST(address_rules, answers_take_the_path_of_requests) {
  path wanted = over_ipv6();
  wanted.own.vlan = 77;
  wanted.connection.priority = 4;
  wanted.connection.traffic_class = 0x82;
  wanted.connection.flow_label = 0x4000;
  wanted.connection.hop_limit = 33;
  wanted.connection.remote_atomic = true;
  peer_bench b;
  b.run([&wanted](peer_bench& bench, cpu& core) -> task<> {
    co_await connect(bench, core, wanted);
    co_await bench.post(core, bench.request(wqe_opcode::Send, 4));
    co_await bench.wait_ns(core, 5000);
    bench.send(from_peer(bench, bth_opcode::RcWriteOnly, PeerPsn), pattern(64));
    bench.send(from_peer(bench, bth_opcode::RcReadRequest, PeerPsn + 1));
    bench.send(from_peer(bench, bth_opcode::RcFetchAdd, PeerPsn + 2));
    co_await bench.wait_ns(core, 8000);
  });
  ASSERT_EQ(b.packets.size(), 4U);
  EXPECT_EQ(b.packets[1].opcode(), bth_opcode::RcAcknowledge);
  EXPECT_EQ(b.packets[2].opcode(), bth_opcode::RcReadResponseOnly);
  EXPECT_EQ(b.packets[3].syndrome(), 0x62);
  constexpr std::size_t Ip = 18;
  for (const seen_packet& each : b.packets) {
    EXPECT_EQ(part(each, 0, Ip),
              (bytes_t{2, 0, 0, 0, 0, 0xfe, 2, 0, 0, 0, 0, 1, 0x81, 0x00, 0x80, 77, 0x86, 0xdd}));
    EXPECT_EQ(part(each, Ip, 4), (bytes_t{0x68, 0x20, 0x40, 0x00}));
    EXPECT_EQ(part(each, Ip + 6, 2), (bytes_t{17, 33}));
    EXPECT_EQ(part(each, Ip + 8, 16), bytes_t(OwnIpv6.begin(), OwnIpv6.end()));
    EXPECT_EQ(part(each, Ip + 24, 16), bytes_t(PeerIpv6.begin(), PeerIpv6.end()));
    EXPECT_EQ(part(each, Ip + 40, 4), (bytes_t{0xc0, 0x01, 0x12, 0xb7}));
    // MigReq as the real parts send it, no pad, version 0; the default partition; the peer's QP.
    EXPECT_EQ(part(each, Ip + 49, 7), (bytes_t{0x40, 0xff, 0xff, 0, 0, 0xab, 0xcd}));
  }
}

// RoCE rules: routers change traffic class, hop limit and marks on the way; the packet is the same.
TEST(address_rules, a_packet_is_taken_whatever_routers_have_done_to_it) {
  peer_bench b;
  const path wanted = plain();
  b.run([&wanted](peer_bench& bench, cpu& core) -> task<> {
    co_await connect(bench, core, wanted);
    packet_description what = bench.remote(bth_opcode::RcWriteOnly, PeerPsn, 64);
    bytes_t frame = bench.frame_of(what, pattern(64));
    frame[15] = 0xff;  // type of service, congestion experienced
    frame[22] = 1;     // time to live
    frame[24] = 0x12;  // header checksum
    bench.send_frame(frame);
    co_await bench.wait_ns(core, 5000);
  });
  ASSERT_EQ(b.packets.size(), 1U);
  EXPECT_EQ(b.get(0, 64), pattern(64));
  EXPECT_EQ(b.count(counter::RxEcnMarked), 1U);
}

// Datagrams ---------------------------------------------------------------------------------------

// mlx5, datagram segment: each work request has its own destination MAC and GID, QP, Q_Key, traffic
// class, hop limit, flow label and source port; the source is the QP's GID entry.
TEST(address_rules, a_datagram_goes_where_its_work_request_says) {
  path wanted = over_ipv6();
  wanted.qp.service = qpc_service::Ud;
  peer_bench b;
  b.run([&wanted](peer_bench& bench, cpu& core) -> task<> {
    co_await connect(bench, core, wanted);
    for (unsigned i = 0; i < 2; ++i) {
      work_request what = bench.request(wqe_opcode::Send, 4);
      what.to.mac = 0x0200000000a0 + i;
      what.to.address = PeerIpv6;
      what.to.address[15] = static_cast<std::uint8_t>(i);
      what.to.qpn = 0xfedc00 + i;
      what.to.qkey = 0x12345678 + i;
      what.to.gid_index = 1;
      what.to.traffic_class = static_cast<std::uint8_t>(0x40 + i);
      what.to.hop_limit = static_cast<std::uint8_t>(10 + i);
      what.to.flow_label = 0x4000 * (i + 1);
      co_await bench.post(core, what);
    }
    co_await bench.send_completions(core, 2);
  });
  ASSERT_EQ(b.packets.size(), 2U);
  for (std::uint8_t i = 0; i < 2; ++i) {
    const seen_packet& each = b.packets[i];
    EXPECT_EQ(part(each, 0, 6), (bytes_t{2, 0, 0, 0, 0, static_cast<std::uint8_t>(0xa0 + i)}));
    EXPECT_EQ(part(each, 14, 4), (bytes_t{0x64, static_cast<std::uint8_t>(i << 4),
                                          static_cast<std::uint8_t>(0x40 + 0x40 * i), 0}));
    EXPECT_EQ(each.frame[21], 10 + i);
    EXPECT_EQ(part(each, 22, 16), bytes_t(OwnIpv6.begin(), OwnIpv6.end()));
    EXPECT_EQ(each.frame[53], i);
    EXPECT_EQ(part(each, 54, 2), (bytes_t{0xc0, static_cast<std::uint8_t>(1 + i)}));
    EXPECT_EQ(part(each, 62, 8), (bytes_t{0x64, 0x40, 0xff, 0xff, 0, 0xfe, 0xdc, i}));
    // DETH: Q_Key, own QP.
    EXPECT_EQ(part(each, 74, 8),
              (bytes_t{0x12, 0x34, 0x56, static_cast<std::uint8_t>(0x78 + i), 0, 0, 0, 2}));
  }
}

}  // namespace
}  // namespace carillon
