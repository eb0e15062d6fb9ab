// Frames that are not what they should be: each is dropped without an answer, counted by its own
// counter, and harms nobody: nothing is written, and the next good packet is taken as if the bad
// one had not been there. "RoCE rules" are the frame formats of the RoCEv2 annex and its public
// implementations. Every frame is right but for what its case names: ICRC and FCS fit its bytes.
#include <algorithm>
#include <gtest/gtest.h>

#include "common/buffer.h"
#include "gen/bytes.h"
#include "tb/common/peer_bench.h"
#include "tb/common/reference_crc.h"

namespace carillon {
namespace {

using bench::bytes_t;
using bench::pattern;
using bench::peer_bench;
using bench::PeerPsn;
using bench::seen_packet;

constexpr std::uint8_t Untouched = 0x77;
constexpr std::size_t Payload = 64;

// Where the parts of an untagged IPv4 frame are.
constexpr std::size_t Ip = 14;
constexpr std::size_t Udp = Ip + 20;
constexpr std::size_t Bth = Udp + 8;
constexpr std::size_t Reth = Bth + 12;
constexpr std::size_t Data = Reth + 16;
constexpr std::size_t Icrc = Data + Payload;
constexpr std::size_t Ip6Udp = Ip + 40;

peer_bench::options plain() {
  peer_bench::options wanted;
  wanted.connection.mtu = mtu_code::Mtu1024;
  wanted.connection.ack_timeout = 0;
  return wanted;
}

bytes_t write_frame(const peer_bench& b, std::uint32_t psn = PeerPsn) {
  return b.frame_of(b.remote(bth_opcode::RcWriteOnly, psn, Payload), pattern(Payload));
}

bytes_t send_frame(const peer_bench& b) {
  return b.frame_of(b.packet(bth_opcode::RcSendOnly, PeerPsn), pattern(Payload));
}

bytes_t ipv6_frame(const peer_bench& b) {
  packet_description what = b.remote(bth_opcode::RcWriteOnly, PeerPsn, Payload);
  what.ipv6 = true;
  return b.frame_of(what, pattern(Payload));
}

bytes_t tagged_frame(const peer_bench& b) {
  packet_description what = b.remote(bth_opcode::RcWriteOnly, PeerPsn, Payload);
  what.tagged = true;
  what.vid = 5;
  return b.frame_of(what, pattern(Payload));
}

bytes_t cut(bytes_t frame, std::size_t length) {
  frame.resize(length);
  return frame;
}

/// The frame with one byte replaced.
bytes_t with(bytes_t frame, std::size_t at, unsigned value) {
  frame.at(at) = static_cast<std::uint8_t>(value);
  return frame;
}

bytes_t with16(bytes_t frame, std::size_t at, unsigned value) {
  return with(with(std::move(frame), at, value >> 8), at + 1, value & 0xff);
}

/// Makes the ICRC in the frame's last four bytes right, worked out from its definition.
bytes_t sealed(bytes_t frame, std::size_t ip = Ip, bool ipv6 = false) {
  const std::size_t end = frame.size() - 4;
  const std::uint32_t icrc =
      test::reference_icrc({frame.begin() + static_cast<std::ptrdiff_t>(ip),
                            frame.begin() + static_cast<std::ptrdiff_t>(end)},
                           ipv6);
  for (unsigned i = 0; i < 4; ++i) {
    frame[end + i] = static_cast<std::uint8_t>(icrc >> (8 * i));
  }
  return frame;
}

/// An IPv4 frame whose UDP payload is the first `bytes` of the frame's own and an ICRC that fits;
/// lengths say so.
bytes_t shortened(bytes_t frame, std::size_t bytes) {
  frame = with16(cut(std::move(frame), Bth + bytes), Ip + 2, static_cast<unsigned>(28 + bytes));
  return sealed(with16(std::move(frame), Udp + 4, static_cast<unsigned>(8 + bytes)));
}

/// `extra` bytes more between payload and ICRC, in all lengths.
bytes_t lengthened(bytes_t frame, std::size_t extra) {
  frame.insert(frame.end() - 4, extra, std::uint8_t{0});
  const auto udp_bytes = static_cast<unsigned>(frame.size() - Udp);
  frame = with16(std::move(frame), Ip + 2, 20 + udp_bytes);
  return sealed(with16(std::move(frame), Udp + 4, udp_bytes));
}

struct frame_row {
  const char* name;
  counter which;
  bytes_t (*make)(const peer_bench&);
};

void PrintTo(const frame_row& row, std::ostream* out) {
  *out << row.name;
}

/// All frames dropped before a QP has seen them.
std::uint64_t drops(const peer_bench& b) {
  std::uint64_t sum = 0;
  for (auto each = static_cast<unsigned>(counter::RxDropFcs);
       each <= static_cast<unsigned>(counter::RxDropPkey); ++each) {
    sum += b.count(static_cast<counter>(each));
  }
  return sum;
}

/// Lets `bad` happen to a QP that could take it, then sends a good WRITE with the expected PSN.
void survives(peer_bench& b, const peer_bench::options& wanted,
              const std::function<void(peer_bench&)>& bad) {
  b.run([&](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, wanted);
    bench.put(0, bytes_t(256, Untouched));
    bench.put(0x8000, bytes_t(256, Untouched));
    co_await bench.post_receive(core, 256);
    const std::uint64_t writes = bench.count(counter::DmaWrites);
    bad(bench);
    co_await bench.wait_ns(core, 20000);
    EXPECT_TRUE(bench.packets.empty());
    EXPECT_EQ(bench.get(0, 256), bytes_t(256, Untouched));
    EXPECT_EQ(bench.get(0x8000, 256), bytes_t(256, Untouched));
    EXPECT_EQ(bench.count(counter::DmaWrites), writes);
    EXPECT_FALSE(bench.receive_cq->ready());
    bench.send_frame(write_frame(bench));
    co_await bench.wait_ns(core, 5000);
  });
  ASSERT_EQ(b.packets.size(), 1U);
  EXPECT_EQ(b.packets[0].psn(), PeerPsn);
  EXPECT_EQ(b.packets[0].syndrome(), 0x1f);
  EXPECT_EQ(b.get(0, Payload), pattern(Payload));
}

class bad_frame : public testing::TestWithParam<frame_row> {};

TEST_P(bad_frame, is_dropped_and_counted) {
  const frame_row row = GetParam();
  peer_bench b;
  survives(b, plain(), [&row](peer_bench& bench) { bench.send_frame(row.make(bench)); });
  EXPECT_EQ(b.count(row.which), 1U);
  EXPECT_EQ(drops(b), 1U);
}

const auto FrameName = [](const auto& each) { return std::string(each.param.name); };

// Ethernet ----------------------------------------------------------------------------------------

INSTANTIATE_TEST_SUITE_P(
    ethernet, bad_frame,
    testing::Values(
        frame_row{"one_byte", counter::RxDropTruncated,
                  [](const peer_bench& b) { return cut(write_frame(b), 1); }},
        frame_row{"a_byte_short_of_its_ethernet_header", counter::RxDropTruncated,
                  [](const peer_bench& b) { return cut(write_frame(b), Ip - 1); }},
        frame_row{"a_byte_short_of_its_vlan_tag", counter::RxDropTruncated,
                  [](const peer_bench& b) { return cut(tagged_frame(b), Ip + 3); }},
        frame_row{"arp", counter::RxDropEthertype,
                  [](const peer_bench& b) { return with16(write_frame(b), 12, 0x0806); }},
        frame_row{"a_length_in_place_of_the_type", counter::RxDropEthertype,
                  [](const peer_bench& b) { return with16(write_frame(b), 12, 124); }},
        frame_row{"roce_v1", counter::RxDropRoceV1,
                  [](const peer_bench& b) { return with16(write_frame(b), 12, 0x8915); }},
        frame_row{"roce_v1_in_a_vlan", counter::RxDropRoceV1,
                  [](const peer_bench& b) { return with16(tagged_frame(b), 16, 0x8915); }},
        frame_row{"two_vlan_tags", counter::RxDropEthertype,
                  [](const peer_bench& b) {
                    bytes_t frame = tagged_frame(b);
                    const bytes_t tag(frame.begin() + 12, frame.begin() + 16);
                    frame.insert(frame.begin() + 12, tag.begin(), tag.end());
                    return frame;
                  }},
        frame_row{"a_service_tag", counter::RxDropEthertype,
                  [](const peer_bench& b) { return with16(tagged_frame(b), 12, 0x88a8); }}),
    FrameName);

// IP ----------------------------------------------------------------------------------------------

/// Four bytes of options (no operation) behind the IPv4 header.
bytes_t with_options(const peer_bench& b) {
  bytes_t frame = write_frame(b);
  frame.insert(frame.begin() + Udp, 4, std::uint8_t{1});
  frame = with(std::move(frame), Ip, 0x46);
  return with16(std::move(frame), Ip + 2, static_cast<unsigned>(frame.size() - Ip));
}

INSTANTIATE_TEST_SUITE_P(
    ip, bad_frame,
    testing::Values(
        frame_row{"a_byte_short_of_its_header", counter::RxDropTruncated,
                  [](const peer_bench& b) { return cut(write_frame(b), Udp - 1); }},
        frame_row{"a_byte_short_of_its_ipv6_header", counter::RxDropTruncated,
                  [](const peer_bench& b) { return cut(ipv6_frame(b), Ip6Udp - 1); }},
        frame_row{"version_6_in_ipv4", counter::RxDropIpVersion,
                  [](const peer_bench& b) { return sealed(with(write_frame(b), Ip, 0x65)); }},
        frame_row{
            "version_4_in_ipv6", counter::RxDropIpVersion,
            [](const peer_bench& b) { return sealed(with(ipv6_frame(b), Ip, 0x45), Ip, true); }},
        frame_row{"options", counter::RxDropIpOptions, with_options},
        frame_row{"header_length_4", counter::RxDropIpOptions,
                  [](const peer_bench& b) { return sealed(with(write_frame(b), Ip, 0x44)); }},
        frame_row{"more_fragments", counter::RxDropIpFragment,
                  [](const peer_bench& b) { return sealed(with(write_frame(b), Ip + 6, 0x20)); }},
        frame_row{"fragment_offset", counter::RxDropIpFragment,
                  [](const peer_bench& b) { return sealed(with(write_frame(b), Ip + 7, 1)); }},
        frame_row{"largest_fragment_offset", counter::RxDropIpFragment,
                  [](const peer_bench& b) { return sealed(with(write_frame(b), Ip + 6, 0x50)); }},
        frame_row{"tcp", counter::RxDropProtocol,
                  [](const peer_bench& b) { return sealed(with(write_frame(b), Ip + 9, 6)); }},
        frame_row{
            "ipv6_hop_by_hop_options", counter::RxDropProtocol,
            [](const peer_bench& b) { return sealed(with(ipv6_frame(b), Ip + 6, 0), Ip, true); }},
        frame_row{
            "ipv6_fragment_header", counter::RxDropProtocol,
            [](const peer_bench& b) { return sealed(with(ipv6_frame(b), Ip + 6, 44), Ip, true); }},
        frame_row{"longer_than_the_frame", counter::RxDropIpLength,
                  [](const peer_bench& b) {
                    return sealed(with16(write_frame(b), Ip + 2, Icrc + 4 - Ip + 1));
                  }},
        frame_row{"too_short_for_udp", counter::RxDropIpLength,
                  [](const peer_bench& b) { return sealed(with16(write_frame(b), Ip + 2, 27)); }},
        frame_row{"of_length_0", counter::RxDropIpLength,
                  [](const peer_bench& b) { return sealed(with16(write_frame(b), Ip + 2, 0)); }},
        frame_row{"ipv6_longer_than_the_frame", counter::RxDropIpLength,
                  [](const peer_bench& b) {
                    return sealed(with16(ipv6_frame(b), Ip + 4, Icrc + 4 - Udp + 1), Ip, true);
                  }},
        frame_row{"ipv6_too_short_for_udp", counter::RxDropIpLength,
                  [](const peer_bench& b) {
                    return sealed(with16(ipv6_frame(b), Ip + 4, 7), Ip, true);
                  }}),
    FrameName);

// UDP ---------------------------------------------------------------------------------------------

constexpr unsigned UdpBytes = Icrc + 4 - Udp;

INSTANTIATE_TEST_SUITE_P(
    udp, bad_frame,
    testing::Values(
        frame_row{
            "the_port_below", counter::RxDropUdpPort,
            [](const peer_bench& b) { return sealed(with16(write_frame(b), Udp + 2, 4790)); }},
        frame_row{"ports_exchanged", counter::RxDropUdpPort,
                  [](const peer_bench& b) {
                    return sealed(with16(with16(write_frame(b), Udp, 4791), Udp + 2, 0xc000));
                  }},
        frame_row{"longer_than_ip_says", counter::RxDropUdpLength,
                  [](const peer_bench& b) {
                    return sealed(with16(write_frame(b), Udp + 4, UdpBytes + 4));
                  }},
        frame_row{"shorter_than_ip_says", counter::RxDropUdpLength,
                  [](const peer_bench& b) {
                    return sealed(with16(write_frame(b), Udp + 4, UdpBytes - 4));
                  }},
        frame_row{"of_length_0", counter::RxDropUdpLength,
                  [](const peer_bench& b) { return sealed(with16(write_frame(b), Udp + 4, 0)); }},
        frame_row{"longer_than_ipv6_says", counter::RxDropUdpLength,
                  [](const peer_bench& b) {
                    return sealed(with16(ipv6_frame(b), Ip6Udp + 4, UdpBytes + 4), Ip, true);
                  }}),
    FrameName);

// BTH and what follows it -------------------------------------------------------------------------

bytes_t with_opcode(const peer_bench& b, unsigned opcode) {
  return sealed(with(write_frame(b), Bth, opcode));
}

/// A packet that carries none, with four bytes of payload.
bytes_t with_payload(const peer_bench& b, bth_opcode opcode) {
  packet_description what = b.remote(opcode, PeerPsn, 8);
  what.acknowledge = make_aeth(0x1f, 0);
  bytes_t frame = b.frame_of(what, {});
  const std::size_t udp_bytes = bytes::load_be<2>(frame.data() + Udp + 4);
  return lengthened(cut(std::move(frame), Udp + udp_bytes), 4);
}

INSTANTIATE_TEST_SUITE_P(
    bth, bad_frame,
    testing::Values(
        frame_row{"without_room_for_it", counter::RxDropBthTruncated,
                  [](const peer_bench& b) { return shortened(write_frame(b), 12); }},
        frame_row{"without_room_for_its_icrc", counter::RxDropBthTruncated,
                  [](const peer_bench& b) { return shortened(write_frame(b), 15); }},
        frame_row{"without_its_reth", counter::RxDropBthLength,
                  [](const peer_bench& b) { return shortened(write_frame(b), 12 + 4); }},
        frame_row{"four_bytes_short_of_its_reth", counter::RxDropBthLength,
                  [](const peer_bench& b) { return shortened(write_frame(b), 12 + 12 + 4); }},
        frame_row{"not_of_whole_dwords", counter::RxDropBthLength,
                  [](const peer_bench& b) { return shortened(write_frame(b), 12 + 16 + 6 + 4); }},
        frame_row{"version_1", counter::RxDropBthVersion,
                  [](const peer_bench& b) { return sealed(with(write_frame(b), Bth + 1, 0x41)); }},
        frame_row{"version_15", counter::RxDropBthVersion,
                  [](const peer_bench& b) { return sealed(with(write_frame(b), Bth + 1, 0x4f)); }},
        frame_row{"reserved_opcode_15", counter::RxDropOpcode,
                  [](const peer_bench& b) { return with_opcode(b, 0x15); }},
        frame_row{"reserved_opcode_18", counter::RxDropOpcode,
                  [](const peer_bench& b) { return with_opcode(b, 0x18); }},
        frame_row{"flush", counter::RxDropOpcode,
                  [](const peer_bench& b) { return with_opcode(b, 0x1c); }},
        frame_row{"atomic_write", counter::RxDropOpcode,
                  [](const peer_bench& b) { return with_opcode(b, 0x1d); }},
        frame_row{"reliable_datagram", counter::RxDropOpcode,
                  [](const peer_bench& b) { return with_opcode(b, 0x44); }},
        frame_row{"uc_read_request", counter::RxDropOpcode,
                  [](const peer_bench& b) { return with_opcode(b, 0x2c); }},
        frame_row{"vendor_opcode", counter::RxDropOpcode,
                  [](const peer_bench& b) { return with_opcode(b, 0xff); }},
        frame_row{"more_pad_than_payload", counter::RxDropPad,
                  [](const peer_bench& b) {
                    bytes_t frame = shortened(send_frame(b), 12 + 4);
                    return sealed(with(std::move(frame), Bth + 1, 0x50));
                  }},
        frame_row{"payload_on_an_acknowledge", counter::RxDropBthLength,
                  [](const peer_bench& b) { return with_payload(b, bth_opcode::RcAcknowledge); }},
        frame_row{"payload_on_a_read_request", counter::RxDropBthLength,
                  [](const peer_bench& b) { return with_payload(b, bth_opcode::RcReadRequest); }},
        frame_row{"payload_on_an_atomic", counter::RxDropBthLength,
                  [](const peer_bench& b) { return with_payload(b, bth_opcode::RcFetchAdd); }}),
    FrameName);

// Checksums ---------------------------------------------------------------------------------------

INSTANTIATE_TEST_SUITE_P(
    icrc, bad_frame,
    testing::Values(frame_row{"of_other_bytes", counter::RxDropIcrc,
                              [](const peer_bench& b) {
                                return with(write_frame(b), Data + 9, 0xee);
                              }},
                    frame_row{"with_one_bit_changed", counter::RxDropIcrc,
                              [](const peer_bench& b) {
                                const bytes_t frame = write_frame(b);
                                return with(frame, Icrc + 3, frame[Icrc + 3] ^ 0x80U);
                              }},
                    frame_row{"most_significant_byte_first", counter::RxDropIcrc,
                              [](const peer_bench& b) {
                                bytes_t frame = write_frame(b);
                                std::reverse(frame.begin() + Icrc, frame.begin() + Icrc + 4);
                                return frame;
                              }},
                    frame_row{"of_zero", counter::RxDropIcrc,
                              [](const peer_bench& b) {
                                bytes_t frame = write_frame(b);
                                std::fill(frame.begin() + Icrc, frame.begin() + Icrc + 4,
                                          std::uint8_t{0});
                                return frame;
                              }}),
    FrameName);

/// Hands the NIC a frame whose FCS is `wrong` bits off.
void deliver(peer_bench& b, buffer_pool& pool, const bytes_t& frame, std::uint32_t wrong) {
  frame_item item;
  item.bytes = pool.take();
  item.length = static_cast<std::uint32_t>(frame.size());
  std::copy(frame.begin(), frame.end(), item.bytes.data());
  item.fcs = fcs_of_frame(frame.data(), frame.size()) ^ wrong;
  b.adapter.on_frame(std::move(item), b.now() + 10000, b.now() + 20000);
}

TEST(frame_rules, a_frame_with_a_wrong_fcs_is_dropped_and_counted) {
  buffer_pool pool;
  peer_bench b;
  survives(b, plain(),
           [&pool](peer_bench& bench) { deliver(bench, pool, write_frame(bench), 0x00000001); });
  EXPECT_EQ(b.count(counter::RxDropFcs), 1U);
  EXPECT_EQ(drops(b), 1U);
}

// Whatever bit of the packet has changed on the way, in spite of a right FCS, it does no harm. The
// bits that routers change do not belong to the ICRC.
TEST(frame_rules, no_changed_byte_of_a_packet_goes_unnoticed) {
  constexpr std::size_t Free[] = {Ip + 1, Ip + 8, Ip + 10, Ip + 11, Udp + 6, Udp + 7, Bth + 4};
  peer_bench b;
  std::uint64_t sent = 0;
  survives(b, plain(), [&](peer_bench& bench) {
    const bytes_t good = write_frame(bench);
    for (std::size_t at = Ip; at < good.size(); ++at) {
      if (std::find(std::begin(Free), std::end(Free), at) == std::end(Free)) {
        bench.send_frame(with(good, at, good[at] ^ 1U << at % 8));
        ++sent;
      }
    }
  });
  EXPECT_EQ(drops(b), sent);
}

TEST(frame_rules, a_packet_cut_anywhere_is_dropped) {
  peer_bench b;
  std::uint64_t sent = 0;
  survives(b, plain(), [&](peer_bench& bench) {
    const bytes_t good = write_frame(bench);
    for (std::size_t length = 1; length < good.size(); ++length) {
      bench.send_frame(cut(good, length));
      ++sent;
    }
  });
  EXPECT_EQ(drops(b), sent);
}

// Lengths -----------------------------------------------------------------------------------------

/// A good packet with Ethernet padding up to `bytes` behind the Ethernet header.
bytes_t padded(bytes_t frame, std::size_t header, std::size_t bytes) {
  frame.resize(header + bytes);
  return frame;
}

// The MTU counts what follows the Ethernet header (and the tag).
INSTANTIATE_TEST_SUITE_P(
    mtu, bad_frame,
    testing::Values(
        frame_row{"a_byte_longer", counter::RxDropOversize,
                  [](const peer_bench& b) { return padded(write_frame(b), Ip, 4200 + 1); }},
        frame_row{"a_byte_longer_in_a_vlan", counter::RxDropOversize,
                  [](const peer_bench& b) { return padded(tagged_frame(b), Ip + 4, 4200 + 1); }},
        frame_row{"much_longer", counter::RxDropOversize,
                  [](const peer_bench& b) { return padded(write_frame(b), Ip, 4300); }}),
    FrameName);

/// The good packet arrives in that form.
void arrives(const std::function<bytes_t(const peer_bench&)>& make) {
  peer_bench b;
  b.run([&make](peer_bench& bench, cpu& core) -> task<> {
    const peer_bench::options wanted = plain();
    co_await bench.connect(core, wanted);
    bench.send_frame(make(bench));
    co_await bench.wait_ns(core, 5000);
  });
  EXPECT_EQ(b.get(0, Payload), pattern(Payload));
  EXPECT_EQ(b.packets.size(), 1U);
  EXPECT_EQ(drops(b), 0U);
}

TEST(frame_rules, a_frame_of_exactly_the_mtu_is_taken) {
  arrives([](const peer_bench& b) { return padded(write_frame(b), Ip, 4200); });
}

TEST(frame_rules, a_tagged_frame_of_exactly_the_mtu_is_taken) {
  arrives([](const peer_bench& b) { return padded(tagged_frame(b), Ip + 4, 4200); });
}

// Bytes behind the IP packet are Ethernet padding, whatever they are.
TEST(frame_rules, bytes_behind_the_packet_do_not_matter) {
  arrives([](const peer_bench& b) {
    bytes_t frame = write_frame(b);
    frame.insert(frame.end(), {0xde, 0xad, 0xbe, 0xef, 1});
    return frame;
  });
}

// Reserved bits are ignored by the receiver, and a UDP checksum is not looked at: some senders set
// them.
TEST(frame_rules, reserved_bits_and_a_udp_checksum_do_not_matter) {
  arrives([](const peer_bench& b) {
    bytes_t frame = with(with(write_frame(b), Bth + 4, 0x3f), Bth + 8, 0xff);
    return sealed(with16(std::move(frame), Udp + 6, 0x1234));
  });
}

// Queue pairs -------------------------------------------------------------------------------------

bytes_t to_queue_pair(const peer_bench& b, std::uint32_t qpn) {
  packet_description what = b.remote(bth_opcode::RcWriteOnly, PeerPsn, Payload);
  what.dest_qpn = qpn;
  return b.frame_of(what, pattern(Payload));
}

bytes_t datagram(const peer_bench& b) {
  packet_description what = b.packet(bth_opcode::UdSendOnly, PeerPsn);
  what.datagram.qkey = 0x11111111;
  what.datagram.src_qpn = 5;
  return b.frame_of(what, pattern(Payload));
}

// RoCE rules: a packet to a QP that does not exist, or of another transport service, is dropped
// silently. QPs 0 and 1 are for management, which is not here.
INSTANTIATE_TEST_SUITE_P(
    queue_pair, bad_frame,
    testing::Values(
        frame_row{"number_0", counter::RxDropNoQp,
                  [](const peer_bench& b) { return to_queue_pair(b, 0); }},
        frame_row{"number_1", counter::RxDropNoQp,
                  [](const peer_bench& b) { return to_queue_pair(b, 1); }},
        frame_row{"that_was_never_created", counter::RxDropNoQp,
                  [](const peer_bench& b) { return to_queue_pair(b, b.qp->qpn() + 1); }},
        frame_row{"beyond_the_table", counter::RxDropNoQp,
                  [](const peer_bench& b) { return to_queue_pair(b, 0x800000 | b.qp->qpn()); }},
        frame_row{"the_largest_number", counter::RxDropNoQp,
                  [](const peer_bench& b) { return to_queue_pair(b, 0xffffff); }},
        frame_row{"an_unreliable_send", counter::RxDropBadState,
                  [](const peer_bench& b) {
                    return b.frame_of(b.packet(bth_opcode::UcSendOnly, PeerPsn), pattern(Payload));
                  }},
        frame_row{"an_unreliable_write", counter::RxDropBadState,
                  [](const peer_bench& b) {
                    return b.frame_of(b.remote(bth_opcode::UcWriteOnly, PeerPsn, Payload),
                                      pattern(Payload));
                  }},
        frame_row{"a_datagram", counter::RxDropBadState, datagram}),
    FrameName);

class other_service : public testing::TestWithParam<qpc_service> {};

TEST_P(other_service, takes_no_packet_of_a_reliable_connection) {
  peer_bench b;
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    peer_bench::options wanted = plain();
    wanted.qp.service = GetParam();
    co_await bench.connect(core, wanted);
    bench.put(0x8000, bytes_t(256, Untouched));
    co_await bench.post_receive(core, 256);
    bench.send_frame(send_frame(bench));
    bench.send_frame(write_frame(bench));
    co_await bench.wait_ns(core, 5000);
    EXPECT_FALSE(bench.receive_cq->ready());
  });
  EXPECT_TRUE(b.packets.empty());
  EXPECT_EQ(b.get(0, Payload), bytes_t(Payload, 0));
  EXPECT_EQ(b.get(0x8000, 256), bytes_t(256, Untouched));
  EXPECT_EQ(b.count(counter::RxDropBadState), 2U);
}

INSTANTIATE_TEST_SUITE_P(service, other_service, testing::Values(qpc_service::Uc, qpc_service::Ud),
                         [](const auto& each) { return std::string(to_string(each.param)); });

}  // namespace
}  // namespace carillon
