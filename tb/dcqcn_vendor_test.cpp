// The reaction point by the vendor's parameters (names, defaults and meaning as in the vendor's
// documents on congestion control): alpha moves once a period, the rate is cut once a period at
// most. Expected values are computed by hand from those.
#include <gtest/gtest.h>

#include "common/dcqcn_bench.h"

namespace carillon {
namespace {

dcqcn_settings shipped() {
  return vendor_settings(vendor_defaults(), LineMbps);
}

double value_of(fraction f) {
  return static_cast<double>(f) / FractionOne;
}

// ln 2 / ln(1024 / 1019) is 141.6.
TEST(dcqcn_vendor, alpha_halves_in_142_periods_of_the_default) {
  dcqcn_bench qp(shipped());
  qp.cnp(0);
  ASSERT_EQ(qp.alpha(), 0xffc000U) << "1023 / 1024";
  qp.until(141);
  EXPECT_GT(qp.alpha(), 0xffc000U / 2);
  qp.until(142);
  EXPECT_LT(qp.alpha(), 0xffc000U / 2);
}

// Four alpha periods from 1023/1024 on, the last of them at the time of the cut:
// 0.999023 * 0.995117^4 = 0.979654, and 100 * (1 - 0.979654 / 2).
TEST(dcqcn_vendor, the_cut_comes_at_the_end_of_the_monitor_period) {
  dcqcn_bench qp(shipped());
  qp.cnp(10);
  EXPECT_EQ(qp.due(), 14);
  qp.until(13);
  EXPECT_EQ(qp.rate(), gbps(100));
  qp.until(14);
  EXPECT_NEAR(value_of(qp.alpha()), 0.979654, 1e-6);
  EXPECT_NEAR(qp.rate_gbps(), 51.0173, 1e-4);
}

TEST(dcqcn_vendor, there_is_one_cut_a_monitor_period_at_most) {
  dcqcn_bench qp(shipped());
  qp.cnp(10);
  qp.cnp(11);
  qp.cnp(13);
  qp.until(14);
  const wire_rate once = qp.rate();
  qp.until(17);
  EXPECT_EQ(qp.rate(), once);
  qp.cnp(17);
  EXPECT_EQ(qp.rate(), once);
  qp.until(18);
  EXPECT_LT(qp.rate(), once) << "the period after the one of the cut";
}

TEST(dcqcn_vendor, after_a_quiet_period_a_cnp_begins_a_new_one) {
  dcqcn_bench qp(shipped());
  qp.cnp(10);
  qp.until(15);
  qp.cnp(101);
  EXPECT_EQ(qp.due(), 105);
}

TEST(dcqcn_vendor, without_a_monitor_period_each_cnp_cuts_at_once) {
  roce_ecn_rp r = vendor_defaults();
  r.rate_reduce_monitor_period = 0;
  dcqcn_bench qp(vendor_settings(r, LineMbps));
  qp.cnp(10);
  EXPECT_NEAR(qp.rate_gbps(), 100 * (1 - 1023.0 / 2048), 1e-4);
}

// In a period with CNPs alpha goes to 1019/1024 * alpha + 5/1024, however many they are.
TEST(dcqcn_vendor, alpha_rises_at_the_end_of_a_period_with_cnps) {
  roce_ecn_rp r = vendor_defaults();
  r.initial_alpha_value = 512;
  r.dce_tcp_rtt = 10;
  dcqcn_bench qp(vendor_settings(r, LineMbps));
  qp.cnp(0);
  qp.cnp(1);
  qp.cnp(5);
  EXPECT_EQ(qp.alpha(), 0x800000U);
  qp.until(10);
  EXPECT_EQ(value_of(qp.alpha()), (512 * 1019.0 / 1024 + 5) / 1024);
  qp.until(20);
  EXPECT_NEAR(value_of(qp.alpha()), (512 * 1019.0 / 1024 + 5) / 1024 * 1019 / 1024, 1e-7);
}

TEST(dcqcn_vendor, dce_tcp_g_can_be_the_weight_of_the_notification) {
  roce_ecn_rp r = vendor_defaults();
  r.dce_tcp_g = 64;
  const dcqcn_settings s = vendor_settings(r, LineMbps, gain_reading::Notification);
  EXPECT_EQ(s.gain_rise, FractionOne / 16);
  EXPECT_EQ(s.gain_decay, FractionOne / 16);
}

TEST(dcqcn_vendor, or_of_old_alpha_when_it_rises_and_of_what_it_loses_when_it_falls) {
  const dcqcn_settings s = vendor_settings(vendor_defaults(), LineMbps, gain_reading::Split);
  EXPECT_EQ(value_of(s.gain_rise), 5.0 / 1024);
  EXPECT_EQ(value_of(s.gain_decay), 1019.0 / 1024);
}

TEST(dcqcn_vendor, rpg_gd_10_cuts_by_alpha_and_11_by_half_of_it) {
  roce_ecn_rp r = vendor_defaults();
  r.rate_reduce_monitor_period = 0;
  r.initial_alpha_value = 256;
  r.rpg_min_dec_fac = 0;
  r.rpg_gd = 10;
  dcqcn_bench whole(vendor_settings(r, LineMbps));
  whole.cnp(0);
  EXPECT_EQ(whole.rate(), gbps(75));
  r.rpg_gd = 11;
  dcqcn_bench half(vendor_settings(r, LineMbps));
  half.cnp(0);
  EXPECT_EQ(half.rate(), line_parts(7, 8));
  r.rpg_gd = 7;
  dcqcn_bench all(vendor_settings(r, LineMbps));
  all.cnp(0);
  EXPECT_EQ(all.rate(), rate_of_mbps(1)) << "8 * alpha is more than there is";
}

TEST(dcqcn_vendor, rpg_min_dec_fac_is_what_a_cut_leaves_at_least) {
  roce_ecn_rp r = vendor_defaults();
  r.rate_reduce_monitor_period = 0;
  r.rpg_gd = 10;
  r.rpg_min_dec_fac = 25;
  dcqcn_bench qp(vendor_settings(r, LineMbps));
  qp.cnp(0);
  EXPECT_EQ(qp.rate(), gbps(25));
}

TEST(dcqcn_vendor, the_first_cnp_sets_alpha_and_the_rate) {
  roce_ecn_rp r = vendor_defaults();
  r.rate_to_set_on_first_cnp = 40'000;
  dcqcn_bench qp(vendor_settings(r, LineMbps));
  qp.cnp(10);
  EXPECT_EQ(qp.rate(), gbps(40)) << "at once; the cut follows at the end of the period";
  EXPECT_EQ(qp.target(), gbps(40));
  qp.until(14);
  EXPECT_NEAR(qp.rate_gbps(), 0.4 * 51.0173, 1e-4);
}

TEST(dcqcn_vendor, a_released_limiter_takes_its_next_cnp_for_the_first) {
  dcqcn_bench qp(shipped());
  qp.cnp(0);
  qp.until(500);
  ASSERT_LT(qp.alpha(), 0x800000U);
  qp.does(rate_op::Current, gbps(100), 501);
  qp.cnp(502);
  EXPECT_EQ(qp.alpha(), 0xffc000U);
}

TEST(dcqcn_vendor, rpg_max_rate_is_the_highest_if_it_is_set) {
  roce_ecn_rp r = vendor_defaults();
  EXPECT_EQ(vendor_settings(r, LineMbps).max_rate, gbps(100));
  r.rpg_max_rate = 60'000;
  EXPECT_EQ(vendor_settings(r, LineMbps).max_rate, gbps(60));
  r.rpg_max_rate = 200'000;
  EXPECT_EQ(vendor_settings(r, LineMbps).max_rate, gbps(100));
}

TEST(dcqcn_vendor, fields_have_the_widths_of_the_vendors_registers) {
  roce_ecn_rp r = vendor_defaults();
  r.rpg_byte_reset = 32768 + 5;
  r.rpg_threshold = 32 + 3;
  r.rpg_gd = 16 + 9;
  const dcqcn_settings s = vendor_settings(r, LineMbps);
  EXPECT_EQ(s.byte_reset, 5U);
  EXPECT_EQ(s.threshold, 3);
  EXPECT_EQ(s.cut_shift, 9);
}

// When a cut makes the old rate the target. 20 Gb/s on the way to 80: after a byte event or a timer
// event the rate is 50.
struct clamp_case {
  bool always;
  bool after_time;
  bool byte_event;
  bool time_event;
  bool moves;
};

class dcqcn_clamp : public testing::TestWithParam<clamp_case> {};

TEST_P(dcqcn_clamp, the_target_moves_at_a_cut) {
  const clamp_case& c = GetParam();
  dcqcn_settings s = paper_settings(LineMbps);
  s.clamp_target = c.always;
  s.clamp_after_time = c.after_time;
  dcqcn_bench qp(s);
  qp.does(rate_op::Current, gbps(20), 0);
  qp.does(rate_op::Target, gbps(80), 0);
  if (c.byte_event) {
    qp.sends(s.byte_reset, 1);
  }
  qp.sends(1000, 2);
  if (c.time_event) {
    qp.until(55);
  }
  const wire_rate before = qp.rate();
  qp.cnp(56 - (c.time_event ? 0 : 10));
  EXPECT_EQ(qp.target(), c.moves ? before : gbps(80));
  EXPECT_EQ(qp.qp().sent, c.moves ? 0U : 1000U) << "the byte counter is reset with it alone";
  EXPECT_EQ(qp.qp().byte_stage, 0);
  EXPECT_EQ(qp.qp().time_stage, 0);
}

INSTANTIATE_TEST_SUITE_P(options, dcqcn_clamp,
                         testing::Values(clamp_case{true, false, false, false, true},
                                         clamp_case{false, false, false, false, false},
                                         clamp_case{false, false, false, true, false},
                                         clamp_case{false, false, true, false, true},
                                         clamp_case{false, true, false, false, false},
                                         clamp_case{false, true, false, true, true},
                                         clamp_case{false, true, true, false, true}));

}  // namespace
}  // namespace carillon
