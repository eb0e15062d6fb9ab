// A level: written in t, read from t+1 on, whatever the order of evaluation.
#include "common/level.h"

#include <gtest/gtest.h>
#include <vector>

#include <systemc>

#include "common/error.h"
#include "common/stream_bench.h"

namespace carillon {
namespace {

using bench::script;
using cycles = std::vector<cycle_t>;

class level_test : public testing::Test {
 protected:
  core_clock clock{"clock", 1000};
  level<int> pause{clock, "pause", 1};
  script writer{clock, "writer"};
  script reader{clock, "reader"};
};

TEST_F(level_test, holds_its_initial_value) {
  EXPECT_EQ(pause.read(0), 1);
  EXPECT_EQ(pause.read(1000), 1);
}

TEST_F(level_test, a_value_written_in_t_is_read_from_t_plus_1_on) {
  pause.write(5, 2);
  EXPECT_EQ(pause.read(5), 1);
  EXPECT_EQ(pause.read(6), 2);
  pause.write(6, 3);
  EXPECT_EQ(pause.read(6), 2);
  EXPECT_EQ(pause.read(7), 3);
}

TEST_F(level_test, a_second_write_in_the_same_cycle_replaces_the_first) {
  pause.write(5, 2);
  pause.write(5, 3);
  EXPECT_EQ(pause.read(5), 1);
  EXPECT_EQ(pause.read(6), 3);
}

TEST_F(level_test, counts_the_changes_that_are_seen) {
  EXPECT_EQ(pause.changes(5), 0U);
  pause.write(5, 2);
  EXPECT_EQ(pause.changes(5), 0U);
  EXPECT_EQ(pause.changes(6), 1U);
  pause.write(6, 2);
  EXPECT_EQ(pause.changes(7), 1U) << "nothing new";
  pause.write(8, 3);
  EXPECT_EQ(pause.changes(8), 1U);
  EXPECT_EQ(pause.changes(9), 2U);
}

TEST_F(level_test, can_be_written_in_cycle_zero) {
  pause.write(0, 2);
  EXPECT_EQ(pause.read(0), 1);
  EXPECT_EQ(pause.read(1), 2);
}

TEST_F(level_test, writes_do_not_go_back_in_time) {
  pause.write(5, 2);
  EXPECT_THROW(pause.write(4, 3), model_error);
}

TEST_F(level_test, wakes_its_readers_in_the_next_cycle_when_the_value_changes) {
  pause.wakes(reader);
  writer.at(5, [&](cycle_t t) { pause.write(t, 2); });
  writer.at(7, [&](cycle_t t) { pause.write(t, 2); });
  writer.at(9, [&](cycle_t t) { pause.write(t, 3); });
  bench::run(clock, 20);
  EXPECT_EQ(reader.woken, (cycles{6, 10}));
}

// A reader that is itself evaluated in the cycle of the write has seen the old value: it must be
// woken again, whether it came before the writer or after it.
TEST_F(level_test, wakes_a_reader_that_was_evaluated_in_the_cycle_of_the_write) {
  script early(clock, "early");
  script late(clock, "late");
  pause.wakes(early);
  pause.wakes(late);
  std::vector<int> seen;
  early.at(5, [&](cycle_t t) { seen.push_back(pause.read(t)); });
  writer.at(5, [&](cycle_t t) { pause.write(t, 2); });
  late.at(5, [&](cycle_t t) { seen.push_back(pause.read(t)); });
  bench::run(clock, 20);
  EXPECT_EQ(seen, (std::vector<int>{1, 1}));
  EXPECT_EQ(early.woken, (cycles{6}));
  EXPECT_EQ(late.woken, (cycles{6}));
}

}  // namespace
}  // namespace carillon
