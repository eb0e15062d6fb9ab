// The reaction point by the hardware description: once a slice a cut by alpha, a share of the way
// to the target, or a step. Expected rates are computed by hand from that rule.
#include <gtest/gtest.h>

#include "common/dcqcn_bench.h"

namespace carillon {
namespace {

constexpr std::uint64_t Slice = 55;
constexpr fraction Half = 0x800000;

dcqcn_bench described() {
  return dcqcn_bench(description_settings(LineMbps));
}

// 100 * (1 - 0.5)
TEST(dcqcn_description, a_slice_with_a_cnp_cuts_by_alpha) {
  dcqcn_bench qp = described();
  qp.cnp(10);
  qp.until(10 + Slice - 1);
  EXPECT_EQ(qp.rate(), gbps(100));
  qp.until(10 + Slice);
  EXPECT_EQ(qp.rate(), gbps(50));
}

TEST(dcqcn_description, several_cnps_in_a_slice_cut_once) {
  dcqcn_bench qp = described();
  qp.cnp(10);
  qp.cnp(20);
  qp.cnp(64);
  qp.until(65);
  EXPECT_EQ(qp.rate(), gbps(50));
  qp.cnp(66);
  qp.until(10 + 2 * Slice);
  EXPECT_EQ(qp.rate(), gbps(25)) << "slices follow each other";
}

TEST(dcqcn_description, alpha_and_target_stay_as_they_are) {
  dcqcn_bench qp = described();
  qp.cnp(0);
  qp.until(Slice);
  EXPECT_EQ(qp.target(), gbps(100));
  qp.until(100 * Slice);
  EXPECT_EQ(qp.alpha(), Half);
}

TEST(dcqcn_description, a_slice_without_a_cnp_goes_beta_of_the_way_to_the_target) {
  dcqcn_bench qp = described();
  qp.cnp(0);
  qp.until(Slice);
  qp.until(2 * Slice);
  EXPECT_EQ(qp.rate(), gbps(75));
  qp.until(3 * Slice);
  EXPECT_EQ(qp.rate(), line_parts(7, 8));
}

// From 50 to 80 are 62914560 units, fewer than 2^26: 26 halvings, rounded up, leave nothing.
TEST(dcqcn_description, the_target_is_reached_exactly) {
  dcqcn_bench qp = described();
  qp.does(rate_op::Target, gbps(80), 0);
  qp.does(rate_op::Current, gbps(50), 0);
  qp.until(25 * Slice);
  EXPECT_EQ(qp.rate(), gbps(80) - 1);
  qp.until(26 * Slice);
  EXPECT_EQ(qp.rate(), gbps(80));
}

TEST(dcqcn_description, beta_0_still_moves_by_one_unit) {
  dcqcn_settings s = description_settings(LineMbps);
  s.beta = 0;
  dcqcn_bench qp(s);
  qp.does(rate_op::Current, gbps(50), 0);
  qp.until(3 * Slice);
  EXPECT_EQ(qp.rate(), gbps(50) + 3);
}

TEST(dcqcn_description, from_the_target_on_it_steps_by_rp_rate_up_to_the_line) {
  dcqcn_bench qp = described();
  qp.does(rate_op::Target, gbps(80), 0);
  qp.does(rate_op::Current, gbps(80), 0);
  qp.does(rate_op::Slope, gbps(8), 0);
  qp.until(Slice);
  EXPECT_EQ(qp.rate(), gbps(88));
  qp.until(2 * Slice);
  EXPECT_EQ(qp.rate(), gbps(96));
  qp.until(3 * Slice);
  EXPECT_EQ(qp.rate(), gbps(100));
  EXPECT_TRUE(qp.rests());
}

// 40 Mb/s
TEST(dcqcn_description, without_rp_rate_the_step_is_that_of_all) {
  dcqcn_bench qp = described();
  qp.does(rate_op::Target, gbps(10), 0);
  qp.does(rate_op::Current, gbps(10), 0);
  qp.until(Slice);
  EXPECT_EQ(qp.rate(), gbps(10) + 83886);
}

TEST(dcqcn_description, rp_timer_is_the_length_of_a_slice) {
  dcqcn_bench qp = described();
  qp.does(rate_op::Timer, 5, 0);
  qp.cnp(100);
  EXPECT_EQ(qp.due(), 105);
  qp.until(105);
  EXPECT_EQ(qp.rate(), gbps(50));
  EXPECT_EQ(qp.due(), 110);
}

TEST(dcqcn_description, the_rate_never_goes_below_the_lowest) {
  dcqcn_bench qp = described();
  for (std::uint64_t i = 0; i < 40; ++i) {
    qp.cnp(i * Slice);
  }
  qp.until(40 * Slice);
  EXPECT_EQ(qp.rate(), rate_of_mbps(1));
}

TEST(dcqcn_description, bytes_are_not_counted) {
  dcqcn_settings s = description_settings(LineMbps);
  s.byte_reset = 1000;
  dcqcn_bench qp(s);
  qp.does(rate_op::Current, gbps(50), 0);
  qp.sends(100'000, 1);
  EXPECT_EQ(qp.rate(), gbps(50));
}

}  // namespace
}  // namespace carillon
