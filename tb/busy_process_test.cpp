// Busy times drawn from a seed: their distributions against closed forms, and that it does not
// matter who asks when.

#include "host/busy_process.h"

#include <cmath>
#include <gtest/gtest.h>
#include <vector>

namespace carillon {
namespace {

constexpr ps_t Us = 1'000'000;

TEST(draws, are_uniform_below_their_logarithm) {
  // The mean of -log2 of a uniform number is 1 / ln 2, and half of them are below 1.
  random_stream random(1, "draws");
  double sum = 0;
  unsigned below = 0;
  constexpr unsigned Draws = 100'000;
  for (unsigned i = 0; i < Draws; ++i) {
    const double drawn = draw_minus_log2(random);
    sum += drawn;
    below += drawn < 1 ? 1 : 0;
  }
  EXPECT_NEAR(sum / Draws, 1 / std::log(2.0), 0.02);
  EXPECT_NEAR(static_cast<double>(below) / Draws, 0.5, 0.01);
}

TEST(draws, agree_with_the_logarithm_of_the_library) {
  random_stream one(7, "draws");
  random_stream other(7, "draws");
  for (unsigned i = 0; i < 1000; ++i) {
    const double uniform = std::ldexp(static_cast<double>((other.next() >> 11) + 1), -53);
    EXPECT_NEAR(draw_minus_log2(one), -std::log2(uniform), 1e-9);
  }
}

TEST(draws, are_exponential) {
  random_stream random(1, "draws");
  double sum = 0;
  unsigned above = 0;
  constexpr unsigned Draws = 100'000;
  for (unsigned i = 0; i < Draws; ++i) {
    const ps_t drawn = draw_exponential(random, 10 * Us);
    sum += static_cast<double>(drawn);
    above += drawn > 10 * Us ? 1 : 0;
  }
  EXPECT_NEAR(sum / Draws, 10e6, 0.1e6);
  EXPECT_NEAR(static_cast<double>(above) / Draws, std::exp(-1.0), 0.01);
}

TEST(draws, are_pareto) {
  // Mean m, exponent a: at least m (a - 1) / a, and x times that with probability x^-a.
  random_stream random(1, "draws");
  double sum = 0;
  unsigned above = 0;
  constexpr unsigned Draws = 100'000;
  constexpr ps_t Mean = 3 * Us;
  constexpr double Tail = 3;
  constexpr ps_t Least = 2 * Us;
  for (unsigned i = 0; i < Draws; ++i) {
    const ps_t drawn = draw_pareto(random, Mean, Tail);
    ASSERT_GE(drawn, Least - 1);
    sum += static_cast<double>(drawn);
    above += drawn > 2 * Least ? 1 : 0;
  }
  EXPECT_NEAR(sum / Draws, 3e6, 0.05e6);
  EXPECT_NEAR(static_cast<double>(above) / Draws, 0.125, 0.005);
}

TEST(busy_process, is_busy_for_its_share_of_the_time) {
  busy_process process(1, "busy", {3 * Us, Us, 3.0});
  unsigned busy = 0;
  constexpr unsigned Looks = 200'000;
  for (ps_t at = 0; at < Looks * Us / 10; at += Us / 10) {
    busy += process.free_from(at) != at ? 1 : 0;
    process.forget(at);
  }
  EXPECT_NEAR(static_cast<double>(busy) / Looks, 0.25, 0.01);
}

TEST(busy_process, is_free_when_it_says_so) {
  busy_process process(1, "busy", {3 * Us, Us, 1.5});
  for (ps_t at = 0; at < 10'000 * Us; at += 777'777) {
    const ps_t free = process.free_from(at);
    ASSERT_GE(free, at);
    ASSERT_EQ(process.free_from(free), free);
  }
}

TEST(busy_process, does_not_depend_on_who_asks) {
  busy_process often(5, "busy", {3 * Us, Us, 1.5});
  busy_process seldom(5, "busy", {3 * Us, Us, 1.5});
  std::vector<ps_t> seen;
  for (ps_t at = 0; at < 1000 * Us; at += Us) {
    seen.push_back(often.free_from(at));
  }
  for (std::size_t i = seen.size(); i-- > 0;) {
    ASSERT_EQ(seldom.free_from(i * Us), seen[i]);
  }
}

TEST(busy_process, has_a_stream_for_each_path) {
  busy_process one(5, "one", {3 * Us, Us, 1.5});
  busy_process other(5, "other", {3 * Us, Us, 1.5});
  unsigned same = 0;
  for (ps_t at = 0; at < 1000 * Us; at += Us) {
    same += one.free_from(at) == other.free_from(at) && one.free_from(at) != at ? 1 : 0;
  }
  EXPECT_EQ(same, 0U);
}

}  // namespace
}  // namespace carillon
