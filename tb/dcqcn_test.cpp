// The reaction point by the published algorithm (Zhu et al., SIGCOMM 2015): the cut and alpha.
// Expected rates are computed by hand from the rule; 1 Gb/s is 2097152 units of the chip.
#include <gtest/gtest.h>

#include "common/dcqcn_bench.h"
#include "common/error.h"

namespace carillon {
namespace {

constexpr fraction Half = 0x800000;

dcqcn_settings paper_with_alpha(fraction alpha) {
  dcqcn_settings s = paper_settings(LineMbps);
  s.alpha = alpha;
  return s;
}

TEST(dcqcn_formats, rates_of_the_examples_are_exact) {
  EXPECT_EQ(rate_of_mbps(100'000), 0x0c800000U) << "12.5 bytes a nanosecond";
  EXPECT_EQ(rate_of_mbps(75'000), 0x09600000U) << "9.375";
  EXPECT_EQ(rate_of_mbps(50'000), 0x06400000U) << "6.25";
  EXPECT_EQ(rate_of_mbps(1), 2097U) << "2097.152";
  EXPECT_EQ(rate_of_mbps(3'000'000), RateMax);
}

TEST(dcqcn_formats, products_are_truncated_and_increases_rounded_up) {
  EXPECT_EQ(truncated(3, FractionOne / 2, FractionBits), 1U);
  EXPECT_EQ(rounded_up(3, FractionOne / 2, FractionBits), 2U);
  EXPECT_EQ(rounded_up(4, FractionOne / 2, FractionBits), 2U);
}

TEST(dcqcn_paper, a_qp_begins_at_the_line_rate_with_alpha_1) {
  const dcqcn_bench qp(paper_settings(LineMbps));
  EXPECT_EQ(qp.rate(), gbps(100));
  EXPECT_EQ(qp.target(), gbps(100));
  EXPECT_EQ(qp.alpha(), FractionMax);
  EXPECT_TRUE(qp.rests());
}

// 100 * (1 - 0.5 / 2), then alpha = 255/256 * 0.5 + 1/256.
TEST(dcqcn_paper, a_cnp_cuts_by_half_of_alpha_and_then_alpha_rises) {
  dcqcn_bench qp(paper_with_alpha(Half));
  qp.cnp(10);
  EXPECT_EQ(qp.rate(), gbps(75));
  EXPECT_EQ(qp.target(), gbps(100));
  EXPECT_EQ(qp.alpha(), 0x808000U) << "0.501953125";
}

// alpha is 0.501953125 by then: 100 * (1 - 0.2509765625).
TEST(dcqcn_paper, or_alpha_rises_first) {
  dcqcn_settings s = paper_with_alpha(Half);
  s.update_first = true;
  dcqcn_bench qp(s);
  qp.cnp(10);
  EXPECT_EQ(qp.rate(), line_parts(767, 1024)) << "0.7490234375 of the line";
  EXPECT_NEAR(qp.rate_gbps(), 74.902, 0.0005);
  EXPECT_EQ(qp.alpha(), 0x808000U);
}

// The largest fraction is 1 - 2^-24: half of the line and 209715200 / 2^25 = 6.25 units, truncated.
TEST(dcqcn_paper, alpha_1_halves_the_rate) {
  dcqcn_bench qp(paper_settings(LineMbps));
  qp.cnp(0);
  EXPECT_EQ(qp.rate(), gbps(50) + 6);
  EXPECT_EQ(qp.alpha(), FractionMax) << "1 stays 1";
}

TEST(dcqcn_paper, alpha_decays_by_g_after_each_alpha_period_without_a_cnp) {
  dcqcn_bench qp(paper_with_alpha(Half));
  qp.cnp(10);
  qp.until(64);
  EXPECT_EQ(qp.alpha(), 0x808000U);
  qp.until(65);
  EXPECT_EQ(qp.alpha(), 8388480U) << "0x808000 * 255/256";
  qp.until(120);
  EXPECT_EQ(qp.alpha(), 8355712U) << "8388480 * 255/256, truncated from 8355712.5";
}

TEST(dcqcn_paper, a_cnp_restarts_the_alpha_timer) {
  dcqcn_bench qp(paper_with_alpha(Half));
  qp.cnp(0);
  qp.cnp(50);
  const fraction risen = qp.alpha();
  qp.until(104);
  EXPECT_EQ(qp.alpha(), risen);
  qp.until(105);
  EXPECT_LT(qp.alpha(), risen);
}

// With 10 bits and rounding it would stop at 0.125, where alpha / 256 is half a unit.
TEST(dcqcn_paper, alpha_decays_to_nothing_and_its_timer_rests) {
  dcqcn_bench qp(paper_with_alpha(Half));
  qp.cnp(0);
  qp.until(55 * 356);
  EXPECT_LT(qp.alpha(), FractionOne / 8) << "0.50195 * (255/256)^356 = 0.1246";
  qp.until(55 * 5000);
  EXPECT_EQ(qp.alpha(), 0U);
  EXPECT_FALSE(qp.qp().alpha_runs);
}

TEST(dcqcn_paper, a_late_look_finds_what_an_early_one_finds) {
  dcqcn_bench often(paper_settings(LineMbps));
  dcqcn_bench once(paper_settings(LineMbps));
  for (dcqcn_bench* each : {&often, &once}) {
    each->cnp(3);
    each->cnp(60);
  }
  for (std::uint64_t us = 61; us <= 900; ++us) {
    often.until(us);
  }
  once.until(900);
  EXPECT_EQ(often.qp(), once.qp());
}

TEST(dcqcn_paper, a_cut_resets_timer_byte_counter_and_both_stages) {
  dcqcn_bench qp(paper_settings(LineMbps));
  qp.cnp(0);
  qp.sends(10'000'000, 10);
  qp.sends(4'000'000, 20);
  qp.until(130);
  ASSERT_EQ(qp.qp().byte_stage, 1);
  ASSERT_EQ(qp.qp().time_stage, 2);
  ASSERT_EQ(qp.qp().sent, 4'000'000U);
  qp.cnp(131);
  EXPECT_EQ(qp.qp().byte_stage, 0);
  EXPECT_EQ(qp.qp().time_stage, 0);
  EXPECT_EQ(qp.qp().sent, 0U);
  EXPECT_EQ(qp.due(), 131 + 55);
}

TEST(dcqcn_paper, a_cut_makes_the_old_rate_the_target) {
  dcqcn_bench qp(paper_with_alpha(Half));
  qp.cnp(0);
  ASSERT_EQ(qp.target(), gbps(100));
  qp.cnp(1);
  EXPECT_EQ(qp.target(), gbps(75));
}

TEST(dcqcn_limits, the_rate_never_goes_below_the_lowest) {
  dcqcn_settings s = paper_settings(LineMbps);
  s.min_rate = gbps(10);
  dcqcn_bench qp(s);
  for (std::uint64_t us = 0; us < 3; ++us) {
    qp.cnp(us);
  }
  EXPECT_GT(qp.rate(), gbps(12));
  qp.cnp(3);
  EXPECT_EQ(qp.rate(), gbps(10)) << "100, 50, 25, 12.5, and not 6.25";
}

TEST(dcqcn_limits, at_the_highest_rate_the_limiter_is_released) {
  dcqcn_settings s = paper_settings(LineMbps);
  s.max_rate = gbps(80);
  dcqcn_bench qp(s);
  qp.cnp(0);
  EXPECT_FALSE(qp.rests());
  qp.until(100'000);
  EXPECT_EQ(qp.rate(), gbps(80));
  EXPECT_EQ(qp.target(), gbps(80));
  EXPECT_TRUE(qp.rests());
  const auto stage = qp.qp().byte_stage;
  qp.sends(20'000'000, 100'001);
  EXPECT_EQ(qp.qp().byte_stage, stage) << "nothing counts bytes now";
}

// 50 % of 100 where alpha 0.9 and a cut by alpha would leave 10.
TEST(dcqcn_limits, a_cut_leaves_the_share_of_the_minimum_decrease) {
  dcqcn_settings s = paper_with_alpha(fraction_of(9, 10));
  s.cut_shift = 10;
  s.min_decrease = FractionOne / 2;
  dcqcn_bench qp(s);
  qp.cnp(0);
  EXPECT_EQ(qp.rate(), gbps(50));
  s.min_decrease = FractionOne;
  dcqcn_bench never(s);
  never.cnp(0);
  EXPECT_EQ(never.rate(), gbps(100)) << "100 % is no cut";
}

TEST(dcqcn_limits, the_first_cnp_starts_from_its_own_rate) {
  dcqcn_settings s = paper_with_alpha(Half);
  s.first_rate = gbps(40);
  dcqcn_bench qp(s);
  qp.cnp(0);
  EXPECT_EQ(qp.rate(), gbps(30)) << "40 * (1 - 0.5 / 2)";
  EXPECT_EQ(qp.target(), gbps(40));
  qp.cnp(1);
  EXPECT_LT(qp.rate(), gbps(30)) << "only the first";
}

TEST(dcqcn_limits, settings_that_make_no_rate_are_refused) {
  dcqcn_settings s = paper_settings(LineMbps);
  s.min_rate = 0;
  EXPECT_THROW(check_settings(s), model_error);
  s.min_rate = s.max_rate + 1;
  EXPECT_THROW(check_settings(s), model_error);
}

TEST(dcqcn_registers, a_written_rate_holds_within_the_limits_and_then_rises) {
  dcqcn_bench qp(paper_settings(LineMbps));
  qp.does(rate_op::Current, gbps(20), 5);
  EXPECT_EQ(qp.rate(), gbps(20));
  EXPECT_EQ(qp.due(), 60);
  qp.until(60);
  EXPECT_EQ(qp.rate(), gbps(60)) << "half the way to the target";
  qp.does(rate_op::Current, 0, 61);
  EXPECT_EQ(qp.rate(), rate_of_mbps(1));
  qp.does(rate_op::Current, gbps(200), 62);
  EXPECT_EQ(qp.rate(), gbps(100));
  EXPECT_TRUE(qp.rests());
}

TEST(dcqcn_registers, rp_timer_is_the_period_of_this_qp_in_microseconds) {
  dcqcn_bench qp(paper_settings(LineMbps));
  qp.does(rate_op::Timer, 7, 0);
  qp.cnp(10);
  EXPECT_EQ(qp.due(), 17);
}

// As the chip is set up: register by register.
TEST(dcqcn_registers, shared_registers_hold_all_settings) {
  dcqcn_settings vendor = vendor_settings(vendor_defaults(), LineMbps);
  vendor.cut_shift = 10;
  vendor.first_rate = gbps(7);
  for (const dcqcn_settings& s :
       {paper_settings(LineMbps), description_settings(LineMbps), vendor}) {
    check_settings(s);
    dcqcn_settings written = cleared_settings();
    for (unsigned i = 0; i <= static_cast<unsigned>(rate_setting::ByteReset); ++i) {
      const auto which = static_cast<rate_setting>(i);
      write_setting(written, which, setting_of(s, which));
    }
    EXPECT_EQ(written, s);
  }
}

}  // namespace
}  // namespace carillon
