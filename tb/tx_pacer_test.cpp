// tx_pacer says of the serializer what the wire's own says, for every rate, and forever.
#include "common/tx_pacer.h"

#include <algorithm>
#include <gtest/gtest.h>

#include "common/random.h"
#include "fabric/wire_link.h"
#include "gen/stages.h"

namespace carillon {
namespace {

parameters at(std::int64_t gbps, std::int64_t period_ps) {
  parameters params;
  params.wire.rate_gbps = gbps;
  params.core.clock_period_ps = period_ps;
  return params;
}

class pacing : public testing::TestWithParam<std::pair<std::int64_t, std::int64_t>> {};

TEST_P(pacing, is_that_of_the_wires_serializer) {
  const auto [gbps, period] = GetParam();
  tx_pacer pacer(at(gbps, period));
  frame_serializer serializer(wire_speed::of_gbps(gbps));
  random_stream random(7, "pacing");
  const auto time_of = [p = static_cast<ps_t>(period)](cycle_t t) { return t * p; };
  unsigned waited = 0;
  for (cycle_t t = 1; t < 200000; ++t) {
    const cycle_t due = t + stage_spec::tx_mac::Latency;
    const bool busy = serializer.free_at() >= time_of(due + 1);
    ASSERT_EQ(pacer.busy(t), busy) << "cycle " << t;
    waited += busy ? 1 : 0;
    // Stretches in which there is always a frame, and some in which there is hardly any.
    if (!busy && random.chance(1, t / 1000 % 2 == 0 ? 1 : 300)) {
      const std::uint64_t length = random.between(1, 4198);
      serializer.take(time_of(due), length);
      pacer.take(t, length);
    }
  }
  EXPECT_GT(waited, 1000U);
}

INSTANTIATE_TEST_SUITE_P(rates, pacing,
                         testing::Values(std::pair(10, 1000), std::pair(400, 1000),
                                         std::pair(512, 1000), std::pair(333, 1024),
                                         std::pair(401, 990), std::pair(100, 5000)));

// 400 Gb/s: a byte takes 20 ps, a cycle of 1 ns is worth 50 of them.
TEST(tx_pacer, has_no_more_digits_than_it_needs) {
  const tx_pacer pacer(at(400, 1000));
  EXPECT_EQ(pacer.byte_cost(), 20U);
  EXPECT_EQ(pacer.cycle_credit(), 1000U);
}

// 60 bytes, FCS 4, preamble 8, gap 12: 84 bytes of 20 ps, 1.68 cycles.
TEST(tx_pacer, owes_for_the_frame_and_what_the_wire_adds) {
  tx_pacer pacer(at(400, 1000));
  EXPECT_FALSE(pacer.owes(10));
  pacer.take(10, 60);
  EXPECT_TRUE(pacer.busy(10));
  EXPECT_FALSE(pacer.busy(11));
  EXPECT_TRUE(pacer.owes(11));
  EXPECT_FALSE(pacer.owes(12));
}

}  // namespace
}  // namespace carillon
