// Pooled buffers: shared by reference, home when the last reference goes, no allocation in steady
// state.
#include "common/buffer.h"

#include <gtest/gtest.h>
#include <utility>
#include <vector>

namespace carillon {
namespace {

TEST(buffer, is_in_use_while_a_reference_lives) {
  buffer_pool pool;
  {
    buffer_ref one = pool.take();
    EXPECT_TRUE(static_cast<bool>(one));
    const buffer_ref copy = one;
    EXPECT_EQ(copy.data(), one.data()) << "the bytes are shared";
    one.reset();
    EXPECT_FALSE(static_cast<bool>(one));
    EXPECT_EQ(pool.in_use(), 1U);
  }
  EXPECT_EQ(pool.in_use(), 0U);
}

TEST(buffer, moves_without_counting) {
  buffer_pool pool;
  buffer_ref one = pool.take();
  buffer_ref two = std::move(one);
  EXPECT_TRUE(static_cast<bool>(two));
  EXPECT_EQ(pool.in_use(), 1U);
  two.reset();
  EXPECT_EQ(pool.in_use(), 0U);
}

TEST(buffer, assignment_gives_the_old_one_back) {
  buffer_pool pool;
  buffer_ref one = pool.take();
  const buffer_ref two = pool.take();
  one = two;
  EXPECT_EQ(pool.in_use(), 1U);
  buffer_ref& itself = one;
  one = itself;
  EXPECT_EQ(pool.in_use(), 1U);
  EXPECT_EQ(one.data(), two.data());
}

TEST(buffer, dropping_nothing_is_harmless) {
  buffer_ref none;
  none.reset();
  const buffer_ref copy = none;
  EXPECT_FALSE(static_cast<bool>(copy));
}

TEST(buffer, the_pool_grows_to_the_peak_and_no_further) {
  buffer_pool pool;
  for (int round = 0; round < 100; ++round) {
    std::vector<buffer_ref> held;
    for (int i = 0; i < 8; ++i) {
      held.push_back(pool.take());
    }
    EXPECT_EQ(pool.in_use(), 8U);
  }
  EXPECT_EQ(pool.allocated(), 8U);
  EXPECT_EQ(pool.in_use(), 0U);
}

TEST(buffer, holds_the_largest_frame) {
  buffer_pool pool;
  const buffer_ref one = pool.take();
  one.data()[0] = 1;
  one.data()[BufferBytes - 1] = 2;
  EXPECT_GE(BufferBytes, 4096U + 14 + 4 + 40 + 8 + 12 + 16 + 4 + 4);
}

}  // namespace
}  // namespace carillon
