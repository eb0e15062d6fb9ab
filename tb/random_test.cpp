// Random numbers that are the same everywhere.
#include "common/random.h"

#include <array>
#include <gtest/gtest.h>
#include <vector>

namespace carillon {
namespace {

std::vector<std::uint64_t> draw(random_stream from, std::size_t count) {
  std::vector<std::uint64_t> values(count);
  for (auto& value : values) {
    value = from.next();
  }
  return values;
}

// First outputs of the authors' xoshiro256** 1.0 from the state {1, 2, 3, 4}.
TEST(random, follows_the_published_sequence) {
  const random_stream from(std::array<std::uint64_t, 4>{1, 2, 3, 4});
  EXPECT_EQ(draw(from, 4),
            (std::vector<std::uint64_t>{11520, 0, 1509978240, 1215971899390074240ULL}));
}

// FNV-1a's published vectors.
TEST(random, hashes_paths_with_fnv_1a) {
  EXPECT_EQ(stable_hash(""), 0xcbf29ce484222325ULL);
  EXPECT_EQ(stable_hash("a"), 0xaf63dc4c8601ec8cULL);
  EXPECT_EQ(stable_hash("foobar"), 0x85944171f73967e8ULL);
}

// The hash of "" seeds splitmix64 with a run seed that cancels it: its published outputs from 0
// become the state, and the first output is rotl(state[1] * 5, 7) * 9.
TEST(random, fills_its_state_by_splitmix64) {
  const random_stream from(0xcbf29ce484222325ULL, "");
  const random_stream same(std::array<std::uint64_t, 4>{
      0xe220a8397b1dcdafULL, 0x6e789e6aa1b965f4ULL, 0x06c45d188009454fULL, 0xf88bb8a8724c81ecULL});
  EXPECT_EQ(draw(from, 8), draw(same, 8));
}

TEST(random, the_same_seed_and_path_give_the_same_sequence) {
  EXPECT_EQ(draw(random_stream(7, "nic0.tx_sched"), 100),
            draw(random_stream(7, "nic0.tx_sched"), 100));
}

TEST(random, paths_and_seeds_are_independent) {
  const auto one = draw(random_stream(7, "nic0.tx_sched"), 100);
  EXPECT_NE(one, draw(random_stream(7, "nic1.tx_sched"), 100));
  EXPECT_NE(one, draw(random_stream(8, "nic0.tx_sched"), 100));
}

// 100 000 draws into 10 boxes: the statistic has 9 degrees of freedom and exceeds 27.9 once in a
// thousand.
TEST(random, below_is_uniform) {
  random_stream from(1, "chi");
  std::array<int, 10> boxes{};
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t value = from.below(10);
    ASSERT_LT(value, 10U);
    ++boxes[value];
  }
  double chi = 0;
  for (const int seen : boxes) {
    chi += (seen - 10'000.0) * (seen - 10'000.0) / 10'000.0;
  }
  EXPECT_LT(chi, 27.9);
  EXPECT_GT(chi, 1.15) << "too even to be random (once in a thousand)";
}

// With a bound of 3/4 of 2^64, taking the remainder alone would give values below 2^62 twice as
// often as the others: half of all draws instead of a third.
TEST(random, below_does_not_favour_small_values) {
  random_stream from(2, "bias");
  int small = 0;
  for (int i = 0; i < 30'000; ++i) {
    small += from.below(3ULL << 62) < (1ULL << 62) ? 1 : 0;
  }
  EXPECT_NEAR(small, 10'000, 330) << "four standard deviations";
}

TEST(random, bounds_are_kept_at_the_edges) {
  random_stream from(3, "edges");
  EXPECT_EQ(from.below(0), 0U);
  EXPECT_EQ(from.below(1), 0U);
  EXPECT_EQ(from.between(5, 5), 5U);
  bool low = false;
  bool high = false;
  for (int i = 0; i < 200; ++i) {
    const std::uint64_t value = from.between(10, 12);
    ASSERT_TRUE(value >= 10 && value <= 12);
    low = low || value == 10;
    high = high || value == 12;
  }
  EXPECT_TRUE(low && high);
  EXPECT_FALSE(from.chance(0, 100));
  EXPECT_TRUE(from.chance(100, 100));
  (void)from.between(0, ~std::uint64_t{0});
}

}  // namespace
}  // namespace carillon
