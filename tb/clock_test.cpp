// The cycle wheel: who is evaluated when.
#include "common/clock.h"

#include <array>
#include <deque>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include <systemc>

#include "common/error.h"
#include "common/stream_bench.h"

namespace carillon {
namespace {

using bench::run;
using bench::run_to_error;
using bench::script;
using cycles = std::vector<cycle_t>;

class clock_test : public testing::Test {
 protected:
  core_clock clock{"clock", 1000};
  script bell{clock, "bell"};
  script other{clock, "other"};
};

TEST_F(clock_test, evaluates_in_the_cycles_asked_for_and_in_no_other) {
  clock.wake(bell, 3);
  other.at(5, [&](cycle_t t) { clock.wake(bell, t + 4); });
  run(clock, 100);
  EXPECT_EQ(bell.woken, (cycles{3, 9}));
  EXPECT_EQ(clock.wakes(), 3U);
  EXPECT_EQ(clock.activations(), 3U) << "time jumps over idle cycles";
}

TEST_F(clock_test, cycle_zero_can_be_asked_for_before_the_run) {
  clock.wake(bell, 0);
  run(clock, 2);
  EXPECT_EQ(bell.woken, (cycles{0}));
}

TEST_F(clock_test, wakes_merge_to_the_earliest) {
  clock.wake(bell, 9);
  clock.wake(bell, 4);
  clock.wake(bell, 4);
  clock.wake(bell, 6);
  run(clock, 20);
  EXPECT_EQ(bell.woken, (cycles{4}));
}

TEST_F(clock_test, a_merged_cycle_can_be_asked_for_again) {
  clock.wake(bell, 9);
  bell.at(4, [&](cycle_t) { clock.wake(bell, 9); });
  run(clock, 20);
  EXPECT_EQ(bell.woken, (cycles{9}));
}

// What `first` does in cycle 5 shows in 6: the evaluation of `second` that is still to come in 5
// cannot see it.
TEST_F(clock_test, an_evaluation_still_due_in_this_cycle_does_not_swallow_a_wake_for_the_next) {
  script first(clock, "first");
  script second(clock, "second");
  first.at(5, [&](cycle_t t) { clock.wake(second, t + 1); });
  clock.wake(second, 5);
  run(clock, 20);
  EXPECT_EQ(second.woken, (cycles{5, 6}));
}

TEST_F(clock_test, nor_does_one_that_is_over) {
  script first(clock, "first");
  script second(clock, "second");
  clock.wake(second, 5);
  first.at(5, [&](cycle_t t) { clock.wake(second, t + 1); });
  run(clock, 20);
  EXPECT_EQ(second.woken, (cycles{5, 6}));
}

TEST_F(clock_test, the_earliest_of_several_wakes_beside_a_due_evaluation_counts) {
  other.at(5, [&](cycle_t) {
    clock.wake(bell, 9);
    clock.wake(bell, 7);
    clock.wake(bell, 8);
  });
  clock.wake(bell, 5);
  run(clock, 20);
  EXPECT_EQ(bell.woken, (cycles{5, 7}));
}

TEST_F(clock_test, a_wake_for_the_present_is_an_error_that_names_component_and_cycle) {
  other.at(7, [&](cycle_t t) { clock.wake(bell, t); });
  const std::string error = run_to_error(clock, 20);
  EXPECT_NE(error.find("bell: woken for cycle 7 while cycle 7"), std::string::npos) << error;
}

TEST_F(clock_test, so_is_a_wake_for_the_past_from_outside) {
  run(clock, 10);
  EXPECT_THROW(clock.wake(bell, 9), model_error);
  EXPECT_THROW(clock.wake(bell, 10), model_error);
  EXPECT_NO_THROW(clock.wake(bell, 11));
}

TEST_F(clock_test, never_is_no_wake) {
  clock.wake(bell, NeverCycle);
  run(clock, 10);
  EXPECT_TRUE(bell.woken.empty());
}

// The wheel has 4096 slots: the same slot, one turn apart, and far beyond.
TEST_F(clock_test, far_wakes_arrive_on_time) {
  clock.wake(bell, 5);
  clock.wake(other, 5 + 4096);
  script third(clock, "third");
  script fourth(clock, "fourth");
  clock.wake(third, 4095);
  clock.wake(fourth, 1'000'000);
  run(clock, 2'000'000);
  EXPECT_EQ(bell.woken, (cycles{5}));
  EXPECT_EQ(other.woken, (cycles{5 + 4096}));
  EXPECT_EQ(third.woken, (cycles{4095}));
  EXPECT_EQ(fourth.woken, (cycles{1'000'000}));
}

TEST_F(clock_test, a_far_wake_yields_to_an_earlier_one) {
  clock.wake(bell, 50'000);
  clock.wake(bell, 20);
  run(clock, 100'000);
  EXPECT_EQ(bell.woken, (cycles{20}));
}

TEST_F(clock_test, a_wake_from_outside_after_a_long_silence_is_near_again) {
  clock.wake(bell, 1);
  run(clock, 100'000);
  clock.wake(bell, 100'003);
  clock.wake(other, 100'002 + 4096);
  run(clock, 10'000);
  EXPECT_EQ(bell.woken, (cycles{1, 100'003}));
  EXPECT_EQ(other.woken, (cycles{104'098}));
}

TEST_F(clock_test, every_distance_around_a_turn_of_the_wheel_is_met) {
  cycles expected;
  cycle_t at = 1;
  for (const cycle_t step : {1, 63, 64, 65, 4030, 4095, 4096, 4097, 8191, 8192, 12289, 2}) {
    other.at(at, [&, step](cycle_t t) { clock.wake(bell, t + step); });
    at += step;
    expected.push_back(at);
  }
  run(clock, at + 1);
  EXPECT_EQ(bell.woken, expected);
}

TEST_F(clock_test, late_components_come_after_all_others) {
  std::string order;
  script late(clock, "late");
  late.late();
  late.at(3, [&](cycle_t) { order += 'L'; });
  bell.at(3, [&](cycle_t) { order += 'a'; });
  other.at(3, [&](cycle_t) { order += 'b'; });
  run(clock, 5);
  EXPECT_EQ(order, "abL");
}

TEST_F(clock_test, a_late_component_can_be_asked_for_within_the_cycle) {
  script late(clock, "late");
  late.late();
  bell.at(3, [&](cycle_t) {
    clock.wake_late(late);
    clock.wake_late(late);
  });
  run(clock, 5);
  EXPECT_EQ(late.woken, (cycles{3}));
}

TEST_F(clock_test, only_a_late_component_can) {
  bell.at(3, [&](cycle_t) { clock.wake_late(other); });
  EXPECT_NE(run_to_error(clock, 5).find("other: woken late in cycle 3"), std::string::npos);
}

TEST_F(clock_test, an_arrival_enters_at_the_first_edge_after_it) {
  EXPECT_EQ(clock.entry(0), 1U);
  EXPECT_EQ(clock.entry(999), 1U);
  EXPECT_EQ(clock.entry(1000), 2U) << "also when it comes exactly on an edge";
  EXPECT_EQ(clock.entry(1001), 2U);
}

TEST_F(clock_test, a_first_symbol_may_be_on_its_edge) {
  EXPECT_EQ(clock.first_edge(0), 0U);
  EXPECT_EQ(clock.first_edge(1), 1U);
  EXPECT_EQ(clock.first_edge(1000), 1U);
  EXPECT_EQ(clock.first_edge(1001), 2U);
}

TEST(clock, a_period_of_nothing_is_the_users_mistake) {
  EXPECT_THROW(core_clock("clock", 0), config_error);
}

TEST(clock, shuffling_changes_the_order_within_a_cycle_and_repeats_with_its_seed) {
  core_clock plain("plain", 1000);
  core_clock one("one", 1000, 1);
  core_clock again("again", 1000, 1);
  core_clock two("two", 1000, 2);
  std::array<std::string, 4> order;
  std::array<std::deque<script>, 4> scripts;
  const std::array<core_clock*, 4> clocks = {&plain, &one, &again, &two};
  for (std::size_t i = 0; i < clocks.size(); ++i) {
    for (char c = 'a'; c <= 'h'; ++c) {
      scripts[i].emplace_back(*clocks[i], std::string(1, c)).at(5, [&order, i, c](cycle_t) {
        order[i] += c;
      });
    }
  }
  run(plain, 10);
  EXPECT_EQ(order[0], "abcdefgh");
  EXPECT_NE(order[1], order[0]);
  EXPECT_EQ(order[1], order[2]);
  EXPECT_NE(order[1], order[3]);
}

}  // namespace
}  // namespace carillon
