// Deadlines of many queues, each with one place.
#include "common/deadlines.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <utility>
#include <vector>

#include "common/random.h"

namespace carillon {
namespace {

TEST(deadlines, a_deadline_that_moves_back_is_found_in_its_new_place) {
  deadlines timers(4);
  timers.set(1, 100);
  timers.set(2, 150);
  timers.set(1, 200);
  std::uint32_t qpn = 0;
  EXPECT_EQ(timers.earliest(), 150U);
  EXPECT_FALSE(timers.take_due(149, qpn));
  ASSERT_TRUE(timers.take_due(150, qpn));
  EXPECT_EQ(qpn, 2U);
  ASSERT_TRUE(timers.take_due(200, qpn));
  EXPECT_EQ(qpn, 1U);
  EXPECT_EQ(timers.earliest(), NeverCycle);
}

TEST(deadlines, a_deadline_may_move_forward) {
  deadlines timers(4);
  timers.set(1, 1000);
  timers.set(1, 10);
  EXPECT_EQ(timers.earliest(), 10U);
  timers.set(1, 1000);
  EXPECT_EQ(timers.earliest(), 1000U);
  timers.clear(1);
  EXPECT_EQ(timers.earliest(), NeverCycle);
  EXPECT_FALSE(timers.running(1));
}

TEST(deadlines, each_queue_has_one_place_whatever_its_deadlines_do) {
  constexpr cycle_t Far = 1000000;
  constexpr unsigned Queues = 8;
  deadlines timers(Queues);
  // Short timers that come up while long ones are pending, as a receiver that is not ready makes.
  for (cycle_t t = 0; t < 1000; t += 10) {
    for (std::uint32_t qpn = 0; qpn < Queues; ++qpn) {
      timers.set(qpn, Far + t);
      timers.set(qpn, t + 1 + qpn);
    }
    for (std::uint32_t expected = 0; expected < Queues; ++expected) {
      std::uint32_t qpn = Queues;
      ASSERT_TRUE(timers.take_due(t + 8, qpn));
      EXPECT_EQ(qpn, expected);
    }
    EXPECT_EQ(timers.listed(), 0U);
    EXPECT_EQ(timers.earliest(), NeverCycle);
  }
}

TEST(deadlines, deadlines_come_in_their_order_after_any_moves) {
  constexpr std::uint32_t Queues = 50;
  deadlines timers(Queues);
  std::vector<cycle_t> moved(Queues, NeverCycle);
  random_stream random(7, "moves");
  for (unsigned i = 0; i < 2000; ++i) {
    const auto qpn = static_cast<std::uint32_t>(random.below(Queues));
    moved[qpn] = random.below(4) == 0 ? NeverCycle : 1 + random.below(500);
    if (moved[qpn] == NeverCycle) {
      timers.clear(qpn);
    } else {
      timers.set(qpn, moved[qpn]);
    }
    ASSERT_LE(timers.look(), *std::min_element(moved.begin(), moved.end()));
    ASSERT_LE(timers.listed(), Queues);
  }
  std::vector<std::pair<cycle_t, std::uint32_t>> expected;
  for (std::uint32_t qpn = 0; qpn < Queues; ++qpn) {
    if (moved[qpn] != NeverCycle) {
      expected.emplace_back(moved[qpn], qpn);
    }
  }
  std::sort(expected.begin(), expected.end());
  for (const auto& [deadline, qpn] : expected) {
    std::uint32_t due = Queues;
    ASSERT_EQ(timers.earliest(), deadline);
    ASSERT_TRUE(timers.take_due(deadline, due));
    EXPECT_EQ(due, qpn);
  }
  EXPECT_EQ(timers.earliest(), NeverCycle);
}

TEST(deadlines, equal_deadlines_come_in_the_order_of_qp_numbers) {
  deadlines timers(8);
  for (const std::uint32_t qpn : {5U, 2U, 7U}) {
    timers.set(qpn, 100);
  }
  std::uint32_t qpn = 0;
  for (const std::uint32_t expected : {2U, 5U, 7U}) {
    ASSERT_TRUE(timers.take_due(100, qpn));
    EXPECT_EQ(qpn, expected);
  }
}

}  // namespace
}  // namespace carillon
