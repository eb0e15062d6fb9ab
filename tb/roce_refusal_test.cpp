// What parse_frame refuses, and why: every single-bit error, every cut, every reason.

#include <algorithm>
#include <gtest/gtest.h>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "common/random.h"
#include "common/roce_packet.h"
#include "tb/common/reference_crc.h"
#include "tb/common/roce_vectors.h"

namespace carillon {

using test::frame_bytes;
using test::ip_at;
using test::is_ipv6;
using test::tagged;
using test::udp_at;
using test::vector_named;

namespace {

// Offsets here are typed from the header layouts, not taken from the generated constants, so that a
// wrong constant shows.
constexpr std::size_t UdpBytes = 8;
constexpr std::size_t IcrcSize = 4;

parsed_frame parse(const frame_bytes& frame) {
  return parse_frame(frame.data(), frame.size());
}

}  // namespace

// Single-bit errors -------------------------------------------------------------------------------

namespace {

/// What the header FSM may say when one bit of a byte is wrong, by what the byte means; empty for
/// bytes that steer nothing.
std::set<parse_error> steering(const frame_bytes& frame, std::size_t byte, unsigned bit) {
  const std::size_t type = tagged(frame) ? 16 : 12;
  const std::size_t ip = ip_at(frame);
  const std::size_t udp = udp_at(frame);
  const std::size_t bth = udp + UdpBytes;
  if (byte == type || byte == type + 1 || (tagged(frame) && (byte == 12 || byte == 13))) {
    return {parse_error::eth_type, parse_error::roce_v1};
  }
  if (is_ipv6(frame)) {
    if (byte == ip && bit >= 4) {
      return {parse_error::ip_version};
    }
    if (byte == ip + 4 || byte == ip + 5) {
      return {parse_error::ip_length, parse_error::udp_length};
    }
    if (byte == ip + 6) {
      return {parse_error::ip_protocol};
    }
  } else {
    if (byte == ip) {
      return {bit >= 4 ? parse_error::ip_version : parse_error::ip_options};
    }
    if (byte == ip + 2 || byte == ip + 3) {
      return {parse_error::ip_length, parse_error::udp_length};
    }
    if ((byte == ip + 6 && bit < 6) || byte == ip + 7) {
      return {parse_error::ip_fragment};
    }
    if (byte == ip + 9) {
      return {parse_error::ip_protocol};
    }
  }
  if (byte == udp + 2 || byte == udp + 3) {
    return {parse_error::udp_port};
  }
  if (byte == udp + 4 || byte == udp + 5) {
    return {parse_error::udp_length};
  }
  if (byte == bth) {
    return {parse_error::bth_opcode, parse_error::bth_length, parse_error::bth_pad,
            parse_error::icrc};
  }
  if (byte == bth + 1 && bit < 4) {
    return {parse_error::bth_version};
  }
  if (byte == bth + 1 && bit < 6) {
    return {parse_error::bth_pad, parse_error::icrc};
  }
  return {};
}

}  // namespace

// Every bit of every golden frame, flipped: refused for what it steers, otherwise for the ICRC,
// unless the specification lets it change on the way (or it stands in front of the IP header, where
// the FCS guards it).
TEST(roce_refusal, single_bit_flips) {
  std::uint64_t accepted = 0;
  std::uint64_t by_icrc = 0;
  std::uint64_t by_header = 0;
  std::uint64_t bits = 0;
  for (const auto& each : test::positive_vectors()) {
    const std::size_t ip = ip_at(each.frame);
    const bool v6 = is_ipv6(each.frame);
    bits += 8 * each.frame.size();
    for (std::size_t byte = 0; byte < each.frame.size(); ++byte) {
      for (unsigned bit = 0; bit < 8; ++bit) {
        frame_bytes frame = each.frame;
        frame[byte] = static_cast<std::uint8_t>(frame[byte] ^ 1U << bit);
        const parse_error said = parse(frame).error;
        const auto where = [&] {
          return each.name + " byte " + std::to_string(byte) + " bit " + std::to_string(bit) +
                 ": " + to_string(said);
        };
        const auto allowed = steering(each.frame, byte, bit);
        if (!allowed.empty()) {
          ASSERT_TRUE(allowed.contains(said)) << where();
          ++by_header;
        } else if (byte < ip || test::is_masked(v6, byte - ip, bit)) {
          ASSERT_EQ(said, parse_error::none) << where();
          ++accepted;
        } else {
          ASSERT_EQ(said, parse_error::icrc) << where();
          ++by_icrc;
        }
      }
    }
  }
  // 32 frames over IPv4 (two of them tagged: 16 more bits of tag, 16 more of type) and 5 over IPv6.
  // Free to change: the MAC addresses and 56 or 60 masked bits. Steering: 108 or 90 bits of types,
  // versions, lengths, protocol, fragment, port, opcode, pad.
  EXPECT_EQ(accepted, 32U * (96 + 56) + 2U * 16 + 5U * (96 + 60));
  EXPECT_EQ(by_header, 32U * 108 + 2U * 16 + 5U * 90);
  EXPECT_EQ(accepted + by_header + by_icrc, bits);
}

// Frames cut short --------------------------------------------------------------------------------

// Each cut is parsed in memory of exactly its size, so that a sanitizer sees any byte read too
// many.
TEST(roce_refusal, refuses_every_cut_and_reads_nothing_behind_it) {
  for (const auto& each : test::positive_vectors()) {
    for (std::size_t length = 0; length < each.frame.size(); ++length) {
      const frame_bytes cut(each.frame.begin(), each.frame.begin() + static_cast<long>(length));
      const parse_error said = parse(cut).error;
      const std::size_t ip = ip_at(each.frame);
      const parse_error expected = length < ip                   ? parse_error::eth_truncated
                                   : length < udp_at(each.frame) ? parse_error::ip_truncated
                                                                 : parse_error::ip_length;
      ASSERT_EQ(said, expected) << each.name << " cut to " << length << ": " << to_string(said);
    }
  }
}

// Random bytes in the headers of real frames must never be read out of bounds, whatever they claim.
TEST(roce_refusal, survives_rubbish) {
  random_stream random(7, "roce_refusal_test");
  const auto frames = test::positive_vectors();
  for (int i = 0; i < 50000; ++i) {
    frame_bytes frame = frames[random.below(frames.size())].frame;
    frame.resize(random.below(frame.size() + 1));
    for (std::uint64_t n = random.below(6); n > 0 && !frame.empty(); --n) {
      frame[random.below(std::min<std::size_t>(frame.size(), 80))] =
          static_cast<std::uint8_t>(random.next());
    }
    const parsed_frame seen = parse_frame(frame.data(), frame.size(), icrc_check::trust);
    if (seen.good()) {
      ASSERT_LE(std::size_t{seen.payload_offset} + seen.payload + seen.base.pad_count,
                seen.icrc_offset);
      ASSERT_LE(seen.icrc_offset + IcrcSize, frame.size());
    }
  }
}

// One reason each ---------------------------------------------------------------------------------

namespace {

/// `write_only`, or another golden frame, with bytes replaced.
frame_bytes changed(std::string_view name,
                    std::initializer_list<std::pair<std::size_t, int>> edits) {
  frame_bytes frame = vector_named(name).frame;
  for (const auto& [at, value] : edits) {
    frame[at] = static_cast<std::uint8_t>(value);
  }
  return frame;
}

parse_error refusal(std::string_view name,
                    std::initializer_list<std::pair<std::size_t, int>> edits) {
  return parse(changed(name, edits)).error;
}

}  // namespace

TEST(roce_refusal, names_what_is_wrong_with_ethernet) {
  EXPECT_EQ(refusal("write_only", {{12, 0x08}, {13, 0x06}}), parse_error::eth_type);  // ARP
  EXPECT_EQ(refusal("write_only", {{12, 0x88}, {13, 0x08}}), parse_error::eth_type);  // pause
  EXPECT_EQ(refusal("write_only", {{12, 0x89}, {13, 0x15}}), parse_error::roce_v1);
  EXPECT_EQ(refusal("vlan_ack", {{16, 0x81}, {17, 0x00}}), parse_error::eth_type);  // two tags
  EXPECT_EQ(refusal("write_only", {{12, 0x86}, {13, 0xdd}}), parse_error::ip_version);
}

TEST(roce_refusal, names_what_is_wrong_with_ip) {
  EXPECT_EQ(refusal("write_only", {{14, 0x65}}), parse_error::ip_version);
  EXPECT_EQ(refusal("write_only", {{14, 0x46}}), parse_error::ip_options);
  EXPECT_EQ(refusal("write_only", {{20, 0x20}}), parse_error::ip_fragment);    // more fragments
  EXPECT_EQ(refusal("write_only", {{21, 0x01}}), parse_error::ip_fragment);    // not the first
  EXPECT_EQ(refusal("write_only", {{23, 6}}), parse_error::ip_protocol);       // TCP
  EXPECT_EQ(refusal("ipv6_send_only", {{20, 43}}), parse_error::ip_protocol);  // a routing header
  EXPECT_EQ(refusal("write_only", {{16, 0x10}}), parse_error::ip_length);  // longer than the frame
  EXPECT_EQ(refusal("write_only", {{16, 0}, {17, 27}}), parse_error::ip_length);
  EXPECT_EQ(refusal("ipv6_send_only", {{19, 7}}), parse_error::ip_length);
}

TEST(roce_refusal, names_what_is_wrong_with_udp) {
  EXPECT_EQ(refusal("write_only", {{37, 0xb8}}), parse_error::udp_port);
  EXPECT_EQ(refusal("write_only", {{39, 0x67}}), parse_error::udp_length);
}

TEST(roce_refusal, names_what_is_wrong_with_the_transport) {
  // IP and UDP agree on 15 bytes: one too few for BTH and ICRC.
  EXPECT_EQ(refusal("write_only", {{16, 0}, {17, 43}, {38, 0}, {39, 23}}),
            parse_error::bth_truncated);
  EXPECT_EQ(refusal("write_only", {{43, 0x41}}), parse_error::bth_version);
  EXPECT_EQ(refusal("write_only", {{42, 0x15}}), parse_error::bth_opcode);  // reserved
  EXPECT_EQ(refusal("write_only", {{42, 0x40}}), parse_error::bth_opcode);  // reliable datagram
  // 16 bytes behind UDP: a WRITE's RETH is missing.
  EXPECT_EQ(refusal("write_only", {{16, 0}, {17, 44}, {38, 0}, {39, 24}}), parse_error::bth_length);
  // Not whole dwords.
  EXPECT_EQ(refusal("write_only", {{16, 0}, {17, 0x7b}, {38, 0}, {39, 0x67}}),
            parse_error::bth_length);
  // An acknowledge with data.
  EXPECT_EQ(refusal("write_only", {{42, 0x11}}), parse_error::bth_length);
  // A pad without data.
  EXPECT_EQ(refusal("send_only_empty", {{43, 0x70}}), parse_error::bth_pad);
}

}  // namespace carillon
