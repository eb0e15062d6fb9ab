// What a packet takes on the wire: frame by the RoCEv2 formats, FCS 4, preamble 8 and gap 12.
#include <gtest/gtest.h>

#include "common/packet_opcode.h"

namespace carillon {
namespace {

// mlx5 opcodes of work requests.
constexpr std::uint8_t Send = 0x0a;
constexpr std::uint8_t SendImmediate = 0x0b;
constexpr std::uint8_t Write = 0x08;
constexpr std::uint8_t WriteImmediate = 0x09;
constexpr std::uint8_t Read = 0x10;
constexpr std::uint8_t FetchAdd = 0x12;
constexpr std::uint8_t Ud = 2;

// Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4, and around the frame 24.
constexpr std::uint32_t Around = 82;

packet_item request(std::uint8_t opcode, std::uint32_t payload, bool first = true,
                    bool last = true) {
  packet_item packet;
  packet.wqe_opcode = opcode;
  packet.payload = payload;
  packet.first = first;
  packet.last = last;
  return packet;
}

packet_item answer(packet_source source, std::uint32_t payload = 0, bool first = true,
                   bool last = true) {
  packet_item packet = request(0, payload, first, last);
  packet.source = source;
  return packet;
}

TEST(packet_length, is_that_of_all_headers_of_its_opcode) {
  const auto bytes = [](const packet_item& packet) { return wire_bytes(packet, false, false); };
  EXPECT_EQ(bytes(request(Write, 4096)), Around + 16 + 4096);  // RETH
  EXPECT_EQ(bytes(request(Write, 4096, false, false)), Around + 4096);
  EXPECT_EQ(bytes(request(WriteImmediate, 100, false, true)), Around + 4 + 100);
  EXPECT_EQ(bytes(request(Send, 1024)), Around + 1024);
  EXPECT_EQ(bytes(request(SendImmediate, 1024)), Around + 4 + 1024);
  EXPECT_EQ(bytes(request(Read, 0)), Around + 16);
  EXPECT_EQ(bytes(request(FetchAdd, 0)), Around + 28);  // AtomicETH
  packet_item datagram = request(Send, 1024);
  datagram.service = Ud;
  EXPECT_EQ(bytes(datagram), Around + 8 + 1024);  // DETH
  EXPECT_EQ(bytes(answer(packet_source::atomic_acknowledge)), Around + 4 + 8);
  EXPECT_EQ(bytes(answer(packet_source::read_response, 1024)), Around + 4 + 1024);
  EXPECT_EQ(bytes(answer(packet_source::read_response, 1024, false, false)), Around + 1024);
}

TEST(packet_length, of_a_small_write_is_the_published_one) {
  EXPECT_EQ(wire_bytes(request(Write, 28), false, false), 126U);
  EXPECT_EQ(wire_bytes(request(Write, 29), false, false), 130U) << "padded to 32";
}

TEST(packet_length, counts_pad_the_longer_headers_and_the_smallest_frame) {
  EXPECT_EQ(wire_bytes(request(Write, 4094), false, false), Around + 16 + 4096);
  EXPECT_EQ(wire_bytes(request(Write, 4096), true, false), Around + 20 + 16 + 4096);
  EXPECT_EQ(wire_bytes(request(Write, 4096), false, true), Around + 4 + 16 + 4096);
  // A SEND of nothing would have 58 bytes: padded to 60.
  EXPECT_EQ(wire_bytes(request(Send, 0), false, false), 60U + 24U);
}

TEST(packet_length, is_bounded_by_that_of_a_write_with_immediate) {
  EXPECT_EQ(wire_bytes(request(WriteImmediate, 4096), true, true), longest_wire_bytes(4096));
  EXPECT_EQ(longest_wire_bytes(4096), 4198U + 4U + 20U);
}

}  // namespace
}  // namespace carillon
