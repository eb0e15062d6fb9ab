#include "common/icrc.h"

#include <array>
#include <gtest/gtest.h>

#include "common/crc32.h"
#include "gen/wire.h"
#include "tb/common/reference_crc.h"
#include "tb/common/roce_vectors.h"

namespace carillon {

using test::frame_bytes;
using test::roce_vector;

namespace {

bool has_ip(const roce_vector& each) {
  return each.rocev2 || !each.icrc_ok;
}

}  // namespace

TEST(icrc, equals_the_golden_value_of_every_frame) {
  unsigned seen = 0;
  for (const roce_vector& each : test::roce_vectors()) {
    const auto found = icrc_of_frame(each.frame.data(), each.frame.size());
    ASSERT_EQ(found.has_value(), has_ip(each)) << each.name;
    if (found) {
      EXPECT_EQ(found->computed, load_icrc(each.icrc.data())) << each.name;
      EXPECT_EQ(found->good(), each.icrc_ok) << each.name;
      EXPECT_EQ(found->offset, each.frame.size() - 4) << each.name;
      ++seen;
    }
  }
  EXPECT_EQ(seen, 38U);
}

// The definition, applied bit by bit, agrees with the golden values too; so the masks that other
// tests take from it are the right ones.
TEST(icrc, reference_of_the_tests_agrees) {
  for (const roce_vector& each : test::roce_vectors()) {
    if (has_ip(each)) {
      const std::size_t ip = test::ip_at(each.frame);
      const frame_bytes packet(each.frame.begin() + static_cast<long>(ip), each.frame.end() - 4);
      EXPECT_EQ(test::reference_icrc(packet, test::is_ipv6(each.frame)),
                load_icrc(each.icrc.data()))
          << each.name;
    }
  }
}

TEST(icrc, seed_is_the_register_after_eight_bytes_of_ones) {
  const std::array<std::uint8_t, 8> ones = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
  EXPECT_EQ(~IcrcSeed, crc32_of(ones.data(), ones.size()));
}

// Three hops and a congestion mark later.
TEST(icrc, survives_what_routers_change) {
  const auto& before = test::vector_named("write_only").frame;
  const auto& after = test::vector_named("write_only_marked").frame;
  ASSERT_NE(before, after);
  EXPECT_EQ(icrc_of_frame(before.data(), before.size())->computed,
            icrc_of_frame(after.data(), after.size())->computed);
}

TEST(icrc, goes_on_the_wire_least_significant_byte_first) {
  std::array<std::uint8_t, 4> bytes{};
  store_icrc(bytes.data(), 0x12345678);
  EXPECT_EQ(bytes, (std::array<std::uint8_t, 4>{0x78, 0x56, 0x34, 0x12}));
  EXPECT_EQ(load_icrc(bytes.data()), 0x12345678U);
}

// Cut anywhere, it is no frame any more; and no byte behind the cut is read (checked with
// sanitizers, as the copy has exactly that size).
TEST(icrc, never_reads_behind_the_frame) {
  for (const char* name : {"write_only", "vlan_ack", "ipv6_nak_invalid"}) {
    const auto& frame = test::vector_named(name).frame;
    for (std::size_t length = 0; length < frame.size(); ++length) {
      const frame_bytes cut(frame.begin(), frame.begin() + static_cast<long>(length));
      EXPECT_FALSE(icrc_of_frame(cut.data(), cut.size()).has_value()) << name << " " << length;
    }
  }
}

TEST(icrc, ignores_ethernet_padding) {
  auto frame = test::vector_named("send_only_empty").frame;
  const std::size_t end = frame.size();
  frame.resize(60);
  const auto found = icrc_of_frame(frame.data(), frame.size());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->offset, end - 4);
  EXPECT_TRUE(found->good());
}

}  // namespace carillon
