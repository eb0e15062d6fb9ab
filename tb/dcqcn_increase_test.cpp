// How the rate comes back: fast recovery, additive and hyper increase, by the timer and by bytes.
// Expected rates are computed by hand from the published rule (Zhu et al., SIGCOMM 2015).
#include <gtest/gtest.h>

#include "common/dcqcn_bench.h"

namespace carillon {
namespace {

constexpr wire_rate Additive = 83886;  // 40 Mb/s
constexpr wire_rate Hyper = 419430;    // 200 Mb/s
constexpr std::uint32_t ByteReset = 10'000'000;
constexpr std::uint64_t Period = 55;

// 75 Gb/s with a target of 100 from time 0 on.
dcqcn_bench after_a_cut() {
  dcqcn_settings s = paper_settings(LineMbps);
  s.alpha = fraction_of(1, 2);
  dcqcn_bench qp(s);
  qp.cnp(0);
  return qp;
}

// 10 Gb/s with a target of 10: what follows is increase alone.
dcqcn_bench level_at_10(const dcqcn_settings& s) {
  dcqcn_bench qp(s);
  qp.does(rate_op::Current, gbps(10), 0);
  qp.does(rate_op::Target, gbps(10), 0);
  return qp;
}

TEST(dcqcn_increase, fast_recovery_halves_the_way_to_the_target_each_period) {
  dcqcn_bench qp = after_a_cut();
  qp.until(Period - 1);
  EXPECT_EQ(qp.rate(), gbps(75));
  qp.until(Period);
  EXPECT_EQ(qp.rate(), line_parts(7, 8));
  qp.until(2 * Period);
  EXPECT_EQ(qp.rate(), line_parts(15, 16));
  qp.until(3 * Period);
  EXPECT_EQ(qp.rate(), line_parts(31, 32));
  qp.until(4 * Period);
  EXPECT_EQ(qp.rate(), line_parts(63, 64));
  EXPECT_EQ(qp.target(), gbps(100));
}

TEST(dcqcn_increase, bytes_do_what_the_timer_does) {
  dcqcn_bench qp = after_a_cut();
  qp.sends(ByteReset - 1, 1);
  EXPECT_EQ(qp.rate(), gbps(75));
  qp.sends(1, 2);
  EXPECT_EQ(qp.rate(), line_parts(7, 8));
  EXPECT_EQ(qp.qp().sent, 0U);
  EXPECT_EQ(qp.due(), Period) << "the timer runs on";
}

TEST(dcqcn_increase, bytes_beyond_the_reset_value_count_for_the_next_event) {
  dcqcn_bench qp = after_a_cut();
  qp.sends(ByteReset + 300, 1);
  EXPECT_EQ(qp.qp().byte_stage, 1);
  EXPECT_EQ(qp.qp().sent, 300U);
}

TEST(dcqcn_increase, one_packet_raises_the_rate_once_however_small_the_reset_value) {
  dcqcn_settings s = paper_settings(LineMbps);
  s.byte_reset = 150;
  dcqcn_bench qp(s);
  qp.cnp(0);
  qp.sends(4170, 1);
  EXPECT_EQ(qp.qp().byte_stage, 1);
  EXPECT_EQ(qp.qp().sent, 149U);
}

TEST(dcqcn_increase, a_reset_value_of_0_counts_no_bytes) {
  dcqcn_settings s = paper_settings(LineMbps);
  s.byte_reset = 0;
  dcqcn_bench qp(s);
  qp.cnp(0);
  qp.sends(4'000'000'000, 1);
  EXPECT_EQ(qp.qp().byte_stage, 0);
}

// The fifth event: target 100.04, the rate half the way from 98.4375, rounded up.
TEST(dcqcn_increase, additive_increase_begins_when_the_timer_has_f_stages) {
  dcqcn_bench qp = after_a_cut();
  qp.until(5 * Period);
  EXPECT_EQ(qp.target(), gbps(100) + Additive);
  EXPECT_EQ(qp.rate(), (gbps(100) + Additive + line_parts(63, 64) + 1) / 2);
}

TEST(dcqcn_increase, or_when_the_byte_counter_has) {
  dcqcn_bench qp = after_a_cut();
  for (std::uint64_t i = 1; i <= 4; ++i) {
    qp.sends(ByteReset, i);
  }
  EXPECT_EQ(qp.target(), gbps(100));
  qp.sends(ByteReset, 5);
  EXPECT_EQ(qp.target(), gbps(100) + Additive);
}

TEST(dcqcn_increase, four_stages_of_each_are_still_fast_recovery) {
  dcqcn_bench qp = level_at_10(paper_settings(LineMbps));
  for (std::uint64_t i = 1; i <= 4; ++i) {
    qp.sends(ByteReset, i);
  }
  qp.until(4 * Period);
  EXPECT_EQ(qp.target(), gbps(10));
}

// Events 5 and 6 of either kind, and 6 of the other: additive up to the one that makes both 6.
TEST(dcqcn_increase, hyper_increase_begins_when_both_have_more_than_f_stages) {
  dcqcn_bench qp = level_at_10(paper_settings(LineMbps));
  for (std::uint64_t i = 1; i <= 6; ++i) {
    qp.sends(ByteReset, i);
  }
  EXPECT_EQ(qp.target(), gbps(10) + 2 * Additive) << "bytes alone";
  qp.until(5 * Period);
  EXPECT_EQ(qp.target(), gbps(10) + 7 * Additive) << "6 and 5";
  qp.until(6 * Period);
  EXPECT_EQ(qp.target(), gbps(10) + 7 * Additive + Hyper) << "6 and 6";
}

// The rule of the authors' simulator: at least F of both, R_HAI * (least - F + 1).
TEST(dcqcn_increase, growing_hyper_increase_begins_at_f_stages_of_both) {
  dcqcn_settings s = paper_settings(LineMbps);
  s.hyper_grows = true;
  s.threshold = 1;
  dcqcn_bench qp = level_at_10(s);
  qp.sends(ByteReset, 1);
  EXPECT_EQ(qp.target(), gbps(10) + Additive) << "1 and 0";
  qp.sends(ByteReset, 2);
  qp.until(Period);
  EXPECT_EQ(qp.target(), gbps(10) + 2 * Additive + Hyper) << "2 and 1";
  qp.until(2 * Period);
  EXPECT_EQ(qp.target(), gbps(10) + 2 * Additive + 3 * Hyper) << "2 and 2: twice as much";
}

TEST(dcqcn_increase, rp_rate_is_the_slope_of_this_qp) {
  dcqcn_bench qp = level_at_10(paper_settings(LineMbps));
  qp.does(rate_op::Slope, 1000, 0);
  qp.until(5 * Period);
  EXPECT_EQ(qp.target(), gbps(10) + 1000);
}

TEST(dcqcn_increase, a_cut_begins_fast_recovery_anew) {
  dcqcn_bench qp = after_a_cut();
  qp.until(6 * Period);
  qp.cnp(6 * Period + 1);
  const wire_rate before = qp.target();
  qp.until(6 * Period + 1 + 4 * Period);
  EXPECT_EQ(qp.target(), before);
  qp.until(6 * Period + 1 + 5 * Period);
  EXPECT_EQ(qp.target(), before + Additive);
}

TEST(dcqcn_increase, the_target_may_exceed_the_highest_rate_but_the_rate_does_not) {
  dcqcn_bench qp = after_a_cut();
  wire_rate highest = 0;
  for (std::uint64_t i = 1; i <= 40; ++i) {
    qp.until(i * Period);
    highest = std::max(highest, qp.target());
    EXPECT_LE(qp.rate(), gbps(100));
  }
  EXPECT_GT(highest, gbps(100));
  EXPECT_EQ(qp.rate(), gbps(100));
}

}  // namespace
}  // namespace carillon
