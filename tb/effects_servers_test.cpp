// The plain cores of the host's effects: random times with a known distribution, a server that
// others use as well against queueing theory, a cache of numbers, interruptions.
#include <cmath>
#include <gtest/gtest.h>
#include <string>

#include "common/error.h"
#include "host/effects/heavy_tail.h"
#include "host/effects/number_cache.h"
#include "host/effects/os_noise.h"
#include "host/effects/shared_server.h"

namespace carillon {
namespace {

constexpr int Draws = 200'000;
constexpr ps_t Us = 1'000'000;

// Random times -----------------------------------------------------------------------------------

TEST(heavy_tail, a_logarithm_is_that_of_the_library_to_nine_digits) {
  for (const std::uint64_t value : {std::uint64_t{1}, std::uint64_t{3}, std::uint64_t{0x123456789},
                                    std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    EXPECT_NEAR(static_cast<double>(minus_log2(value)) / static_cast<double>(FixedOne),
                64 - std::log2(static_cast<double>(value)), 1e-8)
        << value;
  }
}

TEST(heavy_tail, a_power_of_two_is_that_of_the_library_to_five_digits) {
  for (const double exponent : {0.0, 0.5, 3.3, 10.7}) {
    const auto fixed = static_cast<fixed32>(exponent * static_cast<double>(FixedOne));
    EXPECT_NEAR(static_cast<double>(scaled(Us, fixed, NeverPs)) / (1e6 * std::exp2(exponent)), 1.0,
                2e-5)
        << exponent;
  }
}

TEST(heavy_tail, what_is_beyond_the_most_is_the_most) {
  EXPECT_EQ(scaled(Us, 5 * FixedOne, 7 * Us), 7 * Us);
  EXPECT_EQ(scaled(Us, 63 * FixedOne, 7 * Us), 7 * Us);
}

TEST(heavy_tail, an_exponential_time_has_its_mean_and_the_same_deviation) {
  random_stream random(1, "exponential");
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < Draws; ++i) {
    const auto drawn = static_cast<double>(draw_exponential(random, Us));
    sum += drawn;
    squares += drawn * drawn;
  }
  const double mean = sum / Draws;
  EXPECT_NEAR(mean, 1e6, 1e4);
  EXPECT_NEAR(std::sqrt(squares / Draws - mean * mean), 1e6, 2e4);
}

TEST(heavy_tail, a_pareto_time_exceeds_ten_times_the_least_as_its_shape_says) {
  // P(X > x) = (least / x)^shape: for shape 1.5 and x = 10 it is 10^-1.5.
  random_stream random(1, "pareto");
  const pareto length{Us, 1000 * Us, 150};
  int beyond = 0;
  for (int i = 0; i < Draws; ++i) {
    const ps_t drawn = length.draw(random);
    EXPECT_GE(drawn, Us);
    beyond += drawn > 10 * Us ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(beyond) / Draws, std::pow(10.0, -1.5), 0.002);
}

TEST(heavy_tail, the_mean_of_a_pareto_time_counts_what_is_cut_off_as_the_most) {
  // Shape 1.5 from 1 to 50: (1.5 - 50^-0.5) / 0.5.
  EXPECT_NEAR(static_cast<double>((pareto{Us, 50 * Us, 150}).mean()),
              1e6 * (1.5 - std::pow(50.0, -0.5)) / 0.5, 1e3);
  EXPECT_EQ((pareto{Us, Us, 150}).mean(), Us);
}

// A server
// -----------------------------------------------------------------------------------------

TEST(shared_server, serves_one_after_the_other) {
  shared_server server;
  EXPECT_EQ(server.enter(100, 50), 100U);
  EXPECT_EQ(server.enter(120, 50), 150U);
  EXPECT_EQ(server.enter(120, 50), 200U);
  EXPECT_EQ(server.enter(1000, 50), 1000U) << "idle again";
}

TEST(shared_server, whoever_asks_later_comes_later) {
  shared_server server;
  EXPECT_EQ(server.enter(100, 50), 100U);
  EXPECT_EQ(server.enter(90, 50), 150U);
}

/// Mean wait over mean service of users that come at random and need the same each time.
double mean_wait_by_own_users(double utilisation) {
  random_stream random(1, "users");
  shared_server server;
  const auto gap = static_cast<ps_t>(1e6 / utilisation);
  ps_t now = 0;
  double waited = 0;
  for (int i = 0; i < Draws; ++i) {
    now += draw_exponential(random, gap);
    waited += static_cast<double>(server.enter(now, Us) - now);
  }
  return waited / Draws / 1e6;
}

TEST(shared_server, users_wait_as_in_a_queue_of_random_arrivals_and_constant_service) {
  // Pollaczek and Khinchin for M/D/1: rho / (2 * (1 - rho)) services.
  EXPECT_NEAR(mean_wait_by_own_users(0.3), 0.3 / 1.4, 0.03 * 0.3 / 1.4);
  EXPECT_NEAR(mean_wait_by_own_users(0.5), 0.5, 0.03 * 0.5);
  EXPECT_NEAR(mean_wait_by_own_users(0.8), 2.0, 0.08 * 2.0);
}

/// Who looks at random times sees the time average: its mean wait in us, and how often it waits.
std::pair<double, double> seen_by_a_visitor(const burst_stream& load, ps_t limit = NeverPs) {
  shared_server server(limit);
  server.add(load, 1, "others");
  random_stream random(1, "visitor");
  ps_t now = 0;
  double waited = 0;
  int waits = 0;
  for (int i = 0; i < Draws; ++i) {
    now += draw_exponential(random, 6 * Us);
    const ps_t begin = server.enter(now, 0);
    waited += static_cast<double>(begin - now);
    waits += begin > now ? 1 : 0;
  }
  return {waited / Draws / 1e6, static_cast<double>(waits) / Draws};
}

TEST(shared_server, a_load_of_others_makes_waits_as_theory_says) {
  burst_stream load;
  load.length = {Us, Us, 150};  // always the same, all at once
  load.mean_gap = burst_stream::gap_for(load.length, load.peak, 500);
  EXPECT_EQ(load.mean_gap, 2 * Us);
  const auto [mean, busy] = seen_by_a_visitor(load);
  EXPECT_NEAR(mean, 0.5, 0.03 * 0.5);
  EXPECT_NEAR(busy, 0.5, 0.01);
}

TEST(shared_server, bursts_use_the_share_that_they_are_said_to_use) {
  burst_stream load;
  load.peak = 200;
  load.length = {Us, 50 * Us, 180};
  load.mean_gap = burst_stream::gap_for(load.length, load.peak, 300);
  const double busy = seen_by_a_visitor(load).second;
  EXPECT_NEAR(busy, 0.3, 0.015);
}

TEST(shared_server, a_burst_builds_a_queue_by_what_it_asks_beyond_the_whole) {
  // 200 %: after t of a burst t of work waits. The first burst begins behind the first gap; the
  // same stream of random numbers tells when.
  burst_stream load;
  load.peak = 200;
  load.length = {10 * Us, 10 * Us, 150};
  load.mean_gap = 1000 * Us;
  random_stream same(1, "others");
  const ps_t begin = draw_exponential(same, load.mean_gap);
  shared_server server;
  server.add(load, 1, "others");
  EXPECT_EQ(server.enter(begin, 0), begin);
  EXPECT_EQ(server.enter(begin + 4 * Us, 0), begin + 8 * Us);
  EXPECT_EQ(server.enter(begin + 10 * Us, 0), begin + 20 * Us);
  EXPECT_EQ(server.enter(begin + 13 * Us, 0), begin + 20 * Us) << "it drains";
  shared_server bounded(3 * Us);
  bounded.add(load, 1, "others");
  EXPECT_EQ(bounded.enter(begin + 10 * Us, 0), begin + 13 * Us) << "others have no more than that";
}

// A cache of numbers
// -------------------------------------------------------------------------------

TEST(number_cache, the_number_that_was_not_used_for_longest_goes) {
  number_cache cache(2, 2);
  cache.insert(1, 0);
  cache.insert(2, 0);
  EXPECT_NE(cache.find(1), nullptr);
  cache.insert(3, 0);
  EXPECT_EQ(cache.find(2), nullptr);
  EXPECT_NE(cache.find(1), nullptr);
  cache.erase(1);
  EXPECT_EQ(cache.find(1), nullptr);
}

TEST(number_cache, numbers_of_different_sets_do_not_meet) {
  number_cache cache(4, 1);
  cache.insert(0, 0);
  cache.insert(1, 0);
  EXPECT_NE(cache.find(0), nullptr);
  cache.insert(4, 0);
  EXPECT_EQ(cache.find(0), nullptr) << "4 is in the set of 0";
}

TEST(number_cache, a_geometry_that_cannot_be_is_refused) {
  EXPECT_THROW(number_cache(12, 4), config_error) << "three sets";
  EXPECT_THROW(number_cache(2, 4), config_error);
}

// Interruptions
// ------------------------------------------------------------------------------------

parameters noisy() {
  parameters params;
  params.cpu.noise = true;
  params.cpu.noise_interval_ps = 100 * static_cast<std::int64_t>(Us);
  params.cpu.noise_duration_ps = static_cast<std::int64_t>(Us);
  return params;
}

TEST(os_noise, without_a_shape_intervals_and_lengths_are_uniform_to_twice_their_means) {
  const parameters params = noisy();
  os_noise noise(params, 1, "core");
  ps_t end = 0;
  double lengths = 0;
  double gaps = 0;
  constexpr int Count = 20'000;
  for (int i = 0; i < Count; ++i) {
    const interruption next = noise.after(end);
    EXPECT_LE(next.end - next.begin, 2 * Us);
    EXPECT_LE(next.begin - end, 200 * Us);
    gaps += static_cast<double>(next.begin - end);
    lengths += static_cast<double>(next.end - next.begin);
    end = next.end;
  }
  EXPECT_NEAR(lengths / Count, 1e6, 2e4);
  EXPECT_NEAR(gaps / Count, 1e8, 2e6);
}

TEST(os_noise, with_a_shape_lengths_have_a_tail_that_is_cut_off_at_the_most) {
  parameters params = noisy();
  params.cpu.noise_shape = 200;
  params.cpu.noise_max_ps = 20 * static_cast<std::int64_t>(Us);
  os_noise noise(params, 1, "core");
  ps_t end = 0;
  int beyond = 0;
  constexpr int Count = 20'000;
  for (int i = 0; i < Count; ++i) {
    const interruption next = noise.after(end);
    EXPECT_GE(next.end - next.begin, Us);
    EXPECT_LE(next.end - next.begin, 20 * Us);
    beyond += next.end - next.begin > 5 * Us ? 1 : 0;
    end = next.end;
  }
  EXPECT_NEAR(static_cast<double>(beyond) / Count, 0.04, 0.005) << "5^-2";
}

TEST(os_noise, cores_are_interrupted_at_different_times_and_again_by_the_same_seed) {
  const parameters params = noisy();
  os_noise one(params, 1, "core0");
  os_noise other(params, 1, "core1");
  os_noise again(params, 1, "core0");
  EXPECT_NE(one.after(0).begin, other.after(0).begin);
  EXPECT_EQ(one.after(0).begin, again.after(0).begin);
}

}  // namespace
}  // namespace carillon
