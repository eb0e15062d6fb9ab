#include "common/roce_packet.h"

#include <algorithm>
#include <array>
#include <gtest/gtest.h>

#include "common/buffer.h"
#include "common/error.h"
#include "common/icrc.h"
#include "common/random.h"
#include "tb/common/reference_crc.h"
#include "tb/common/roce_vectors.h"

namespace carillon {

using test::frame_bytes;
using test::ip_at;
using test::roce_vector;
using test::udp_at;
using test::vector_named;
using test::word;

namespace {

// Offsets below are typed from the header layouts, not taken from the generated constants, so that
// a wrong constant shows.
constexpr std::size_t IcrcSize = 4;
constexpr std::uint32_t BuildAt = 128;

parsed_frame parse(const frame_bytes& frame) {
  return parse_frame(frame.data(), frame.size());
}

/// A description that says what a frame says. What the parser does not report is read from the
/// bytes.
packet_description describe(const frame_bytes& frame, const parsed_frame& seen) {
  const std::size_t ip = ip_at(frame);
  packet_description d;
  d.mac_destination = seen.mac_destination;
  d.mac_source = seen.mac_source;
  d.tagged = seen.tagged;
  d.pcp = seen.pcp;
  d.dei = seen.dei;
  d.vid = seen.vid;
  d.ipv6 = seen.ipv6;
  d.source = seen.source;
  d.destination = seen.destination;
  d.dscp = seen.dscp;
  d.ecn = seen.ecn;
  d.ttl = seen.ttl;
  if (seen.ipv6) {
    d.flow_label = (frame[ip + 1] & 0xfU) << 16 | word(frame, ip + 2);
  } else {
    d.ip_id = word(frame, ip + 4);
    d.ip_df = frame[ip + 6] >> 6 & 1;
  }
  d.udp_source = seen.udp_source;
  d.udp_checksum = word(frame, udp_at(frame) + 6);
  d.opcode = seen.base.opcode;
  d.solicited = seen.base.se;
  d.migreq = seen.base.migreq;
  d.pkey = seen.base.pkey;
  d.fecn = seen.base.fecn;
  d.becn = seen.base.becn;
  d.dest_qpn = seen.base.dest_qpn;
  d.ack_request = seen.base.ack_req;
  d.psn = seen.base.psn;
  d.datagram = seen.datagram;
  d.remote = seen.remote;
  d.acknowledge = seen.acknowledge;
  d.atomic = seen.atomic;
  d.atomic_result = seen.atomic_result;
  d.immediate = seen.immediate;
  d.invalidate_rkey = seen.invalidate_rkey;
  d.payload = seen.payload;
  return d;
}

struct built {
  frame_bytes frame;
  std::uint32_t fcs = 0;
  header_place headers;
};

/// Builds into a buffer full of rubbish, as a pooled one is.
built build(const packet_description& d, const frame_bytes& payload) {
  frame_bytes buffer(BufferBytes, 0xee);
  std::copy(payload.begin(), payload.end(), buffer.begin() + BuildAt);
  built result;
  result.headers = build_headers(d, buffer.data(), BuildAt);
  const finished_frame done =
      finish_frame(buffer.data(), result.headers, static_cast<std::uint32_t>(payload.size()));
  result.frame.assign(buffer.begin() + done.offset, buffer.begin() + done.offset + done.length);
  result.fcs = done.fcs;
  EXPECT_EQ(buffer[done.offset - 1], 0xee);
  EXPECT_EQ(buffer[done.offset + done.length], 0xee);
  return result;
}

frame_bytes payload_of(const frame_bytes& frame, const parsed_frame& seen) {
  const auto begin = frame.begin() + seen.payload_offset;
  return {begin, begin + seen.payload};
}

}  // namespace

// Golden frames -----------------------------------------------------------------------------------

TEST(roce_packet, accepts_every_golden_frame) {
  ASSERT_EQ(test::positive_vectors().size(), 37U);
  for (const auto& each : test::positive_vectors()) {
    const parsed_frame seen = parse(each.frame);
    EXPECT_EQ(seen.error, parse_error::none) << each.name << ": " << to_string(seen.error);
    EXPECT_EQ(seen.icrc_offset, each.frame.size() - IcrcSize) << each.name;
  }
}

TEST(roce_packet, refuses_what_is_not_rocev2) {
  EXPECT_EQ(parse(vector_named("v1_write_only").frame).error, parse_error::roce_v1);
  EXPECT_EQ(parse(vector_named("v1_ack").frame).error, parse_error::roce_v1);
  EXPECT_EQ(parse(vector_named("negative_ack").frame).error, parse_error::udp_port);

  // Its ports put right, the wrong ICRC is what remains.
  frame_bytes frame = vector_named("negative_ack").frame;
  frame[36] = 0x12;
  frame[37] = 0xb7;
  EXPECT_EQ(parse(frame).error, parse_error::icrc);
  EXPECT_EQ(parse_frame(frame.data(), frame.size(), icrc_check::trust).error, parse_error::none);
}

TEST(roce_packet, rebuilds_every_golden_frame_byte_for_byte) {
  for (const auto& each : test::positive_vectors()) {
    const parsed_frame seen = parse(each.frame);
    const built again = build(describe(each.frame, seen), payload_of(each.frame, seen));
    frame_bytes expected = each.frame;
    if (expected.size() < 60) {
      expected.resize(60);  // the captures show frames as they were before the MAC filled them up
    }
    EXPECT_EQ(again.frame, expected) << each.name;
    EXPECT_EQ(again.fcs, test::reference_crc(expected)) << each.name;
  }
}

// Fields worked out by hand from the bytes of the frames.
TEST(roce_packet, reads_a_read_request) {
  const auto& frame = vector_named("read_request").frame;
  const parsed_frame seen = parse(frame);
  EXPECT_EQ(seen.mac_destination, 0x020000000002U);
  EXPECT_EQ(seen.mac_source, 0x020000000001U);
  EXPECT_FALSE(seen.tagged);
  EXPECT_FALSE(seen.ipv6);
  EXPECT_EQ(ipv4_of_gid(seen.source), 0x0a010001U);
  EXPECT_EQ(ipv4_of_gid(seen.destination), 0x0a010002U);
  EXPECT_TRUE(is_ipv4_gid(seen.source));
  EXPECT_EQ(seen.dscp, 26);
  EXPECT_EQ(seen.ecn, ecn_code::Ect0);
  EXPECT_EQ(seen.ttl, 64);
  EXPECT_EQ(seen.udp_source, 0xc1a5);
  EXPECT_EQ(seen.base.opcode, bth_opcode::RcReadRequest);
  EXPECT_EQ(seen.base.migreq, 1);
  EXPECT_EQ(seen.base.pkey, 0xffff);
  EXPECT_EQ(seen.base.dest_qpn, 0x123U);
  EXPECT_EQ(seen.base.ack_req, 1);
  EXPECT_EQ(seen.base.psn, 12U);
  EXPECT_EQ(seen.remote.va, 0x2000U);
  EXPECT_EQ(seen.remote.rkey, 0x1122U);
  EXPECT_EQ(seen.remote.dma_length, 517U);
  EXPECT_EQ(seen.ip_offset, 14U);
  EXPECT_EQ(seen.udp_offset, 34U);
  EXPECT_EQ(seen.bth_offset, 42U);
  EXPECT_EQ(seen.extension_offset, 54U);
  EXPECT_EQ(seen.payload_offset, 70U);
  EXPECT_EQ(seen.payload, 0U);
  EXPECT_EQ(seen.icrc_offset, 70U);
}

TEST(roce_packet, reads_immediate_behind_reth_and_removes_the_pad) {
  const auto& frame = vector_named("write_only_immediate").frame;
  const parsed_frame seen = parse(frame);
  EXPECT_EQ(seen.remote.va, 0x1000U);
  EXPECT_EQ(seen.remote.dma_length, 3U);
  EXPECT_EQ(seen.immediate, 0xdeadbeefU);
  EXPECT_EQ(seen.base.pad_count, 1);
  EXPECT_EQ(payload_of(frame, seen), (frame_bytes{0, 1, 2}));
}

TEST(roce_packet, reads_an_atomic) {
  const parsed_frame seen = parse(vector_named("compare_swap").frame);
  EXPECT_EQ(seen.atomic.va, 0x3000U);
  EXPECT_EQ(seen.atomic.rkey, 0x1122U);
  EXPECT_EQ(seen.atomic.swap_add, 0x1111111122222222U);
  EXPECT_EQ(seen.atomic.compare, 0x3333333344444444U);
  const parsed_frame answer = parse(vector_named("atomic_acknowledge").frame);
  EXPECT_EQ(syndrome_of(answer.acknowledge), 0x1f);
  EXPECT_EQ(answer.acknowledge.msn, 10U);
  EXPECT_EQ(answer.atomic_result.original, 0x0123456789abcdefU);
}

TEST(roce_packet, reads_acknowledges) {
  const parsed_frame ack = parse(vector_named("vlan_ack").frame);
  EXPECT_TRUE(ack.tagged);
  EXPECT_EQ(ack.vid, 1);
  EXPECT_EQ(ack.pcp, 0);
  EXPECT_EQ(ack.ip_offset, 18U);
  EXPECT_EQ(ack.base.dest_qpn, 0xdeadedU);
  EXPECT_EQ(ack.base.psn, 0xcf7bf7U);
  EXPECT_EQ(syndrome_of(ack.acknowledge), 0x00);
  EXPECT_EQ(ack.acknowledge.msn, 2U);
  EXPECT_TRUE(ack.opcode->is_response);
  EXPECT_EQ(syndrome_of(parse(vector_named("ipv6_nak_sequence").frame).acknowledge), 0x60);
  EXPECT_EQ(syndrome_of(parse(vector_named("ipv6_nak_invalid").frame).acknowledge), 0x61);
  EXPECT_EQ(syndrome_of(parse(vector_named("ipv6_rnr_nak_25").frame).acknowledge), 0x39);
  EXPECT_EQ(parse(vector_named("ipv6_nak_sequence").frame).acknowledge.msn, 0x445566U);
}

TEST(roce_packet, reads_datagrams_over_ipv6) {
  const parsed_frame seen = parse(vector_named("ud_immediate_ipv6").frame);
  EXPECT_TRUE(seen.ipv6);
  EXPECT_EQ(seen.dscp, 0x6a >> 2);
  EXPECT_EQ(seen.source, (gid{0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}));
  EXPECT_FALSE(is_ipv4_gid(seen.source));
  EXPECT_EQ(seen.datagram.qkey, 0x11111111U);
  EXPECT_EQ(seen.datagram.src_qpn, 0x77U);
  EXPECT_EQ(seen.immediate, 0xdeadbeefU);
  EXPECT_EQ(seen.payload, 32U);
}

TEST(roce_packet, reads_invalidate_and_notification) {
  const parsed_frame seen = parse(vector_named("send_last_invalidate").frame);
  EXPECT_EQ(seen.invalidate_rkey, 0x00abcd42U);
  EXPECT_EQ(seen.payload, 7U);
  const parsed_frame cnp = parse(vector_named("cnp").frame);
  EXPECT_EQ(cnp.base.opcode, bth_opcode::Cnp);
  EXPECT_EQ(cnp.base.becn, 1);
  EXPECT_EQ(cnp.dscp, 48);
  EXPECT_EQ(cnp.payload, 16U);
  EXPECT_EQ(parse(vector_named("cnp_without_becn").frame).base.becn, 0);
}

// Builder -----------------------------------------------------------------------------------------

TEST(roce_packet, defaults_are_what_the_documentation_says) {
  packet_description d;
  d.source = gid_of_ipv4(0x0a000001);
  d.destination = gid_of_ipv4(0x0a000002);
  d.opcode = bth_opcode::RcSendOnly;
  const built made = build(d, {});
  const frame_bytes& f = made.frame;
  EXPECT_EQ(f.size(), 60U);
  EXPECT_EQ(word(f, 16), 44);      // total length: 20 + 8 + 12 + 4
  EXPECT_EQ(word(f, 18), 0);       // identification
  EXPECT_EQ(word(f, 20), 0x4000);  // do not fragment
  EXPECT_EQ(f[22], 64);            // time to live
  // 4500 + 002c + 4000 + 4011 + 0a00 + 0001 + 0a00 + 0002 = d940, and no carry
  EXPECT_EQ(word(f, 24), 0xffff - 0xd940);
  EXPECT_EQ(word(f, 34), 0xc000);
  EXPECT_EQ(word(f, 36), 4791);
  EXPECT_EQ(word(f, 38), 24);
  EXPECT_EQ(word(f, 40), 0);  // no UDP checksum
  EXPECT_EQ(f[43], 0x40);     // migration bit, no pad, version 0
  EXPECT_EQ(word(f, 44), 0xffff);
  EXPECT_EQ(word(f, 58), 0);  // padded to the smallest frame
  EXPECT_TRUE(parse(f).good());
}

// All payload lengths around dword edges and the largest one: one payload CRC, two right sums.
TEST(roce_packet, both_sums_come_out_right_for_every_length) {
  random_stream random(9, "roce_packet_test");
  for (const bool six : {false, true}) {
    for (const bool tag : {false, true}) {
      for (std::uint32_t length : {0, 1, 2, 3, 4, 5, 63, 64, 65, 255, 256, 1024, 4095, 4096}) {
        packet_description d;
        d.ipv6 = six;
        d.tagged = tag;
        d.opcode = bth_opcode::RcWriteOnlyImmediate;
        d.remote = {0x1122334455667788, 0x99aabbcc, length};
        d.immediate = 0x01020304;
        d.payload = length;
        frame_bytes payload(length);
        for (auto& byte : payload) {
          byte = static_cast<std::uint8_t>(random.next());
        }
        const built made = build(d, payload);
        ASSERT_EQ(made.fcs, test::reference_crc(made.frame));
        ASSERT_EQ(made.fcs, fcs_of_frame(made.frame.data(), made.frame.size()));
        const parsed_frame seen = parse(made.frame);
        ASSERT_TRUE(seen.good()) << to_string(seen.error);
        ASSERT_EQ(payload_of(made.frame, seen), payload);
        const frame_bytes covered(made.frame.begin() + seen.ip_offset,
                                  made.frame.begin() + seen.icrc_offset);
        ASSERT_EQ(load_icrc(made.frame.data() + seen.icrc_offset),
                  test::reference_icrc(covered, six));
      }
    }
  }
}

// The longest WRITE of one packet: 14 + 20 + 8 + 12 + 16 + 4096 + 4.
TEST(roce_packet, longest_write_has_4170_bytes) {
  packet_description d;
  d.opcode = bth_opcode::RcWriteOnly;
  d.payload = 4096;
  EXPECT_EQ(build(d, frame_bytes(4096)).frame.size(), 4170U);
}

// After three hops a switch marks the packet: the golden frame of that, checksum and all.
TEST(roce_packet, a_congestion_mark_touches_nothing_else) {
  frame_bytes frame = vector_named("write_only_marked").frame;
  frame[15] = 0x6a;  // as it was before: Ect0, and another checksum
  frame[24] = frame[25] = 0;
  set_ecn(frame.data() + 14, false, ecn_code::Ce);
  EXPECT_EQ(frame, vector_named("write_only_marked").frame);

  frame_bytes six = vector_named("ipv6_send_only").frame;  // traffic class 0x2a
  set_ecn(six.data() + 14, true, ecn_code::Ce);
  const parsed_frame seen = parse(six);
  EXPECT_TRUE(seen.good());
  EXPECT_EQ(seen.ecn, ecn_code::Ce);
  six[15] = static_cast<std::uint8_t>(six[15] ^ 0x10);  // Ce back to Ect0: the only bit changed
  EXPECT_EQ(six, vector_named("ipv6_send_only").frame);
}

TEST(roce_packet, refuses_to_build_nonsense) {
  frame_bytes buffer(BufferBytes);
  packet_description d;
  d.opcode = bth_opcode::RcAcknowledge;
  d.payload = 4;
  EXPECT_THROW(build_headers(d, buffer.data(), BuildAt), model_error);
  d.payload = 0;
  EXPECT_THROW(build_headers(d, buffer.data(), 40), model_error);
  d.opcode = static_cast<bth_opcode>(0x15);
  EXPECT_THROW(build_headers(d, buffer.data(), BuildAt), model_error);
}

TEST(roce_packet, syndromes_travel_whole) {
  for (unsigned syndrome = 0; syndrome < 256; ++syndrome) {
    const aeth header = make_aeth(static_cast<std::uint8_t>(syndrome), 0x123456);
    std::array<std::uint8_t, 4> bytes{};
    header.pack(bytes.data());
    EXPECT_EQ(bytes[0], syndrome);
    EXPECT_EQ(syndrome_of(aeth::unpack(bytes.data())), syndrome);
  }
}

// Published values of the kernel's rule.
TEST(roce_packet, udp_source_port_follows_the_published_rule) {
  EXPECT_EQ(udp_source_port(0x4000, 5, 6), 0xc001);
  EXPECT_EQ(udp_source_port(0xfffff, 5, 6), 0xffc0);
  EXPECT_EQ(udp_source_port(0, 0, 0), 0xc000);
  EXPECT_EQ(udp_source_port(0, 1, 1), 0xc001);
  EXPECT_EQ(udp_source_port(0, 1, 0xffffff), 0xffcf);
  EXPECT_EQ(udp_source_port(0, 0xffffff, 0xffffff), 0xff21);
  EXPECT_EQ(udp_source_port(0, 0x123456, 0xabcdef), 0xc3c8);
}

}  // namespace carillon
