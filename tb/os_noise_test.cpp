// Interruptions of a core: off, uniform, and with a heavy tail.

#include "host/os_noise.h"

#include <gtest/gtest.h>

#include "common/error.h"

namespace carillon {
namespace {

constexpr ps_t Us = 1'000'000;

parameters noisy(double tail) {
  parameters params;
  params.cpu.noise = true;
  params.cpu.noise_interval_ps = 100 * Us;
  params.cpu.noise_duration_ps = 2 * Us;
  params.cpu.noise_tail = tail;
  return params;
}

struct found {
  double mean_gap = 0;
  double mean_length = 0;
  ps_t longest = 0;
  unsigned above_twice = 0;
};

found look(os_noise noise, unsigned count) {
  found result;
  ps_t last = 0;
  for (unsigned i = 0; i < count; ++i) {
    noise.advance(last);
    const ps_t length = noise.end() - noise.begin();
    result.mean_gap += static_cast<double>(noise.begin() - last) / count;
    result.mean_length += static_cast<double>(length) / count;
    result.longest = std::max(result.longest, length);
    result.above_twice += length > 4 * Us ? 1 : 0;
    last = noise.end();
  }
  return result;
}

TEST(os_noise, is_off_unless_asked_for) {
  EXPECT_FALSE(os_noise(1, "core", parameters{}).active());
}

TEST(os_noise, is_uniform_up_to_twice_the_mean) {
  const found seen = look(os_noise(1, "core", noisy(0)), 20'000);
  EXPECT_NEAR(seen.mean_gap, 100e6, 2e6);
  EXPECT_NEAR(seen.mean_length, 2e6, 0.05e6);
  EXPECT_EQ(seen.above_twice, 0U);
}

TEST(os_noise, has_a_heavy_tail_if_asked_for) {
  // Exponent 2, mean 2 us: at least 1 us, and above 4 us with probability (1/4)^2.
  const found seen = look(os_noise(1, "core", noisy(2)), 20'000);
  EXPECT_NEAR(seen.mean_gap, 100e6, 2e6);
  EXPECT_NEAR(seen.mean_length, 2e6, 0.1e6);
  EXPECT_NEAR(static_cast<double>(seen.above_twice) / 20'000, 0.0625, 0.006);
  EXPECT_GT(seen.longest, 50 * Us);
}

TEST(os_noise, of_a_core_is_its_own) {
  os_noise one(1, "core0", noisy(2));
  os_noise other(1, "core1", noisy(2));
  EXPECT_NE(one.begin(), other.begin());
  EXPECT_EQ(one.begin(), os_noise(1, "core0", noisy(2)).begin());
}

TEST(os_noise, without_a_mean_is_refused) {
  EXPECT_THROW(os_noise(1, "core", noisy(0.5)), config_error);
}

}  // namespace
}  // namespace carillon
