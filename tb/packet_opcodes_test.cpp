// What each kind of work request and response looks like on the wire: the opcode and the extension
// headers that the RoCEv2 opcode table asks for, byte by byte.
#include <gtest/gtest.h>
#include <vector>

#include "packet_builder.h"

namespace carillon {
namespace {

using bytes_t = std::vector<std::uint8_t>;

constexpr std::uint32_t HeadersEnd = 128;
/// Ethernet 14, IPv4 20, UDP 8.
constexpr std::size_t BthAt = 42;
constexpr std::size_t ExtensionAt = BthAt + 12;

qpc_address path() {
  qpc_address line;
  line.ip_version = 4;
  line.rmac = 0x0200000000fe;
  line.src_ip = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 0, 0, 1};
  line.dst_ip = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 0, 0, 2};
  line.hop_limit = 64;
  line.pkey = 0xffff;
  line.udp_sport = 0xc123;
  line.remote_qpn = 0xabcdef;
  return line;
}

/// The headers of the packet, from Ethernet on.
bytes_t headers(const packet_item& packet) {
  vport port;
  port.mac = 0x020000000001;
  const packet_description frame = describe(packet, path(), port);
  bytes_t buffer(HeadersEnd);
  const header_place place = build_headers(frame, buffer.data(), HeadersEnd);
  return {buffer.begin() + place.offset, buffer.end()};
}

packet_item request(std::uint8_t wqe_opcode, bool first, bool last, std::uint8_t service = 0) {
  packet_item packet;
  packet.wqe_opcode = wqe_opcode;
  packet.service = service;
  packet.first = first;
  packet.last = last;
  packet.psn = 0x123456;
  packet.remote_address = 0x1122334455667788;
  packet.rkey = 0x99aabbcc;
  packet.dma_length = 0x00010203;
  packet.imm = 0xdeadbeef;
  packet.swap_add = 0x0102030405060708;
  packet.compare = 0x1112131415161718;
  packet.syndrome = 0x1f;
  packet.msn = 0x000777;
  return packet;
}

bytes_t extensions(const packet_item& packet) {
  const bytes_t all = headers(packet);
  return {all.begin() + ExtensionAt, all.end()};
}

std::uint8_t opcode(const packet_item& packet) {
  return headers(packet)[BthAt];
}

const bytes_t Reth = {0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88,
                      0x99, 0xaa, 0xbb, 0xcc, 0x00, 0x01, 0x02, 0x03};

// RoCEv2 opcode table: SEND with invalidate is 0x16 as last, 0x17 as only packet, with the key.
TEST(packet_opcodes, send_with_invalidate_carries_the_key_in_its_last_packet) {
  EXPECT_EQ(opcode(request(0x01, true, false)), 0x00);
  EXPECT_EQ(opcode(request(0x01, false, false)), 0x01);
  EXPECT_EQ(opcode(request(0x01, false, true)), 0x16);
  EXPECT_EQ(opcode(request(0x01, true, true)), 0x17);
  EXPECT_EQ(extensions(request(0x01, false, true)), (bytes_t{0xde, 0xad, 0xbe, 0xef}));
  EXPECT_TRUE(extensions(request(0x01, true, false)).empty());
}

// 0x0c with RETH.
TEST(packet_opcodes, a_read_request_is_one_packet_with_the_range_it_wants) {
  EXPECT_EQ(opcode(request(0x10, true, true)), 0x0c);
  EXPECT_EQ(extensions(request(0x10, true, true)), Reth);
}

// 0x13 and 0x14 with AtomicETH: address, key, swap or add, compare.
TEST(packet_opcodes, atomics_carry_address_key_and_operands) {
  const bytes_t expected = {0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa,
                            0xbb, 0xcc, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,
                            0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18};
  EXPECT_EQ(opcode(request(0x11, true, true)), 0x13);
  EXPECT_EQ(extensions(request(0x11, true, true)), expected);
  EXPECT_EQ(opcode(request(0x12, true, true)), 0x14);
  EXPECT_EQ(extensions(request(0x12, true, true)), expected);
}

// 0x0d to 0x10; AETH on all but MIDDLE.
TEST(packet_opcodes, read_responses_are_labelled_by_their_place) {
  packet_item packet = request(0, true, false);
  packet.source = packet_source::read_response;
  const bytes_t aeth = {0x1f, 0x00, 0x07, 0x77};
  EXPECT_EQ(opcode(packet), 0x0d);
  EXPECT_EQ(extensions(packet), aeth);
  packet.first = false;
  EXPECT_EQ(opcode(packet), 0x0e);
  EXPECT_TRUE(extensions(packet).empty());
  packet.last = true;
  EXPECT_EQ(opcode(packet), 0x0f);
  EXPECT_EQ(extensions(packet), aeth);
  packet.first = true;
  EXPECT_EQ(opcode(packet), 0x10);
  EXPECT_EQ(extensions(packet), aeth);
}

// 0x12 with AETH and the original value.
TEST(packet_opcodes, an_atomic_acknowledge_returns_the_original_value) {
  packet_item packet = request(0, true, true);
  packet.source = packet_source::atomic_acknowledge;
  EXPECT_EQ(opcode(packet), 0x12);
  EXPECT_EQ(extensions(packet),
            (bytes_t{0x1f, 0x00, 0x07, 0x77, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08}));
}

// UC opcodes are those of RC plus 0x20.
TEST(packet_opcodes, unreliable_connections_use_their_own_group) {
  EXPECT_EQ(opcode(request(0x0a, true, true, 1)), 0x24);
  EXPECT_EQ(opcode(request(0x0a, true, false, 1)), 0x20);
  EXPECT_EQ(opcode(request(0x0a, false, false, 1)), 0x21);
  EXPECT_EQ(opcode(request(0x0a, false, true, 1)), 0x22);
  EXPECT_EQ(opcode(request(0x0b, false, true, 1)), 0x23);
  EXPECT_EQ(opcode(request(0x0b, true, true, 1)), 0x25);
  EXPECT_EQ(opcode(request(0x08, true, true, 1)), 0x2a);
  EXPECT_EQ(opcode(request(0x09, true, true, 1)), 0x2b);
  EXPECT_EQ(extensions(request(0x08, true, false, 1)), Reth);
}

/// A UD work request's address, mlx5's datagram segment typed by hand.
packet_item datagram(std::uint8_t wqe_opcode, buffer_pool& buffers, bool ipv6 = false) {
  packet_item packet = request(wqe_opcode, true, true, 2);
  packet.qpn = 0x31;
  packet.body = buffers.take();
  const bytes_t segment = {0x11, 0x22, 0x33, 0x44, 0,    0,    0,    0,     // qkey
                           0x00, 0x00, 0x98, 0x76, 0x06, 0x00, 0xd0, 0x01,  // QP, sl 3 << 1, port
                           0,    0,    0,    0,    0x0a, 0x0b, 0x0c, 0x0d,  // MAC
                           0x0e, 0x0f, 0x6a, 0x20, 0x00, 0x01, 0x23, 0x45,  // class, hops, label
                           0,    0,    0,    0,    0,    0,    0,    0,
                           0,    0,    0xff, 0xff, 10,   1,    2,    3};
  std::copy(segment.begin(), segment.end(), packet.body.data());
  if (ipv6) {
    packet.body.data()[32] = 0xfd;
    packet.body.data()[47] = 0x99;
  }
  return packet;
}

TEST(packet_opcodes, a_datagram_goes_where_its_work_request_says) {
  buffer_pool buffers;
  const bytes_t frame = headers(datagram(0x0a, buffers));
  EXPECT_EQ(bytes_t(frame.begin(), frame.begin() + 6),
            (bytes_t{0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f}));
  EXPECT_EQ(frame[15], 0x6a);  // type of service
  EXPECT_EQ(frame[22], 0x20);  // TTL
  EXPECT_EQ(bytes_t(frame.begin() + 30, frame.begin() + 34), (bytes_t{10, 1, 2, 3}));
  EXPECT_EQ(bytes_t(frame.begin() + 34, frame.begin() + 36), (bytes_t{0xd0, 0x01}));
  EXPECT_EQ(frame[BthAt], 0x64);
  EXPECT_EQ(bytes_t(frame.begin() + BthAt + 5, frame.begin() + BthAt + 8),
            (bytes_t{0x00, 0x98, 0x76}));
  // DETH: queue key, the sender's number.
  EXPECT_EQ(bytes_t(frame.begin() + ExtensionAt, frame.end()),
            (bytes_t{0x11, 0x22, 0x33, 0x44, 0x00, 0x00, 0x00, 0x31}));
}

TEST(packet_opcodes, a_datagram_with_immediate_has_both_headers) {
  buffer_pool buffers;
  const bytes_t frame = headers(datagram(0x0b, buffers));
  EXPECT_EQ(frame[BthAt], 0x65);
  EXPECT_EQ(bytes_t(frame.begin() + ExtensionAt + 8, frame.end()),
            (bytes_t{0xde, 0xad, 0xbe, 0xef}));
}

TEST(packet_opcodes, a_datagram_to_an_ipv6_address_is_an_ipv6_packet) {
  buffer_pool buffers;
  const bytes_t frame = headers(datagram(0x0a, buffers, true));
  EXPECT_EQ(bytes_t(frame.begin() + 12, frame.begin() + 14), (bytes_t{0x86, 0xdd}));
  // Version 6, traffic class 6a, flow label 12345.
  EXPECT_EQ(bytes_t(frame.begin() + 14, frame.begin() + 18), (bytes_t{0x66, 0xa1, 0x23, 0x45}));
  EXPECT_EQ(frame[21], 0x20);  // hop limit
  EXPECT_EQ(frame[38], 0xfd);  // destination
  EXPECT_EQ(frame[53], 0x99);
}

}  // namespace
}  // namespace carillon
