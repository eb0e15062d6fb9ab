// Percentiles are nearest rank and exact, however the samples come.

#include "common/statistics.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <vector>

#include "common/random.h"

namespace carillon {
namespace {

TEST(distribution, without_samples_everything_is_zero) {
  const distribution empty;
  EXPECT_EQ(empty.count(), 0U);
  EXPECT_EQ(empty.min(), 0U);
  EXPECT_EQ(empty.max(), 0U);
  EXPECT_EQ(empty.p50(), 0U);
  EXPECT_EQ(empty.mean(), 0.0);
}

TEST(distribution, one_sample_is_every_percentile) {
  distribution one;
  one.add(470);
  EXPECT_EQ(one.min(), 470U);
  EXPECT_EQ(one.p50(), 470U);
  EXPECT_EQ(one.p99(), 470U);
  EXPECT_EQ(one.p999(), 470U);
  EXPECT_EQ(one.max(), 470U);
  EXPECT_EQ(one.mean(), 470.0);
}

TEST(distribution, nearest_rank_of_the_numbers_to_1000) {
  distribution all;
  for (unsigned i = 1000; i >= 1; --i) {
    all.add(i);
  }
  EXPECT_EQ(all.p50(), 500U);
  EXPECT_EQ(all.p99(), 990U);
  EXPECT_EQ(all.p999(), 999U);
  EXPECT_EQ(all.percentile(1, 1), 1000U);
  EXPECT_EQ(all.percentile(0, 1), 1U);
  EXPECT_EQ(all.mean(), 500.5);
}

TEST(distribution, the_rank_is_rounded_up) {
  distribution few;
  for (const unsigned value : {10U, 20U, 30U, 40U}) {
    few.add(value);
  }
  EXPECT_EQ(few.p50(), 20U);                // rank 2
  EXPECT_EQ(few.p99(), 40U);                // rank ceil(3.96)
  EXPECT_EQ(few.percentile(51, 100), 30U);  // rank ceil(2.04)
}

TEST(distribution, equals_sorting_all_samples) {
  for (const std::uint64_t range : {7U, 1000U, 1000000000U}) {
    random_stream random(range, "samples");
    distribution folded;
    std::vector<std::uint64_t> sorted;
    std::uint64_t sum = 0;
    for (int i = 0; i < 30011; ++i) {
      const std::uint64_t value = random.below(range);
      folded.add(value);
      sorted.push_back(value);
      sum += value;
      if (i % 7001 == 0) {
        (void)folded.p50();  // asking in between must not disturb
      }
    }
    std::sort(sorted.begin(), sorted.end());
    // 30011 samples: ceil(15005.5), ceil(29710.89), ceil(29980.989)
    EXPECT_EQ(folded.p50(), sorted[15006 - 1]);
    EXPECT_EQ(folded.p99(), sorted[29711 - 1]);
    EXPECT_EQ(folded.p999(), sorted[29981 - 1]);
    EXPECT_EQ(folded.min(), sorted.front());
    EXPECT_EQ(folded.max(), sorted.back());
    EXPECT_EQ(folded.sum(), sum);
  }
}

}  // namespace
}  // namespace carillon
