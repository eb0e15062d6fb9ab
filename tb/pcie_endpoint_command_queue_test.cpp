// The command queues as a plain core: turns, and functions that begin anew.
#include <gtest/gtest.h>
#include <vector>

#include "gen/bytes.h"
#include "pcie_endpoint/command_queue.h"

namespace carillon {
namespace {

using entry_bytes = std::array<std::uint8_t, 64>;

/// A command of 16 bytes without mailboxes.
entry_bytes plain_entry() {
  entry_bytes raw{};
  raw[0x00] = 7;
  raw[0x07] = 16;
  raw[0x3b] = 16;
  raw[0x3f] = 1;
  return raw;
}

class queues : public testing::Test {
 protected:
  queues() : core({.functions = 3, .most_input = 65536, .most_output = 65536}, counters) {
    for (std::uint16_t function = 0; function < 3; ++function) {
      core.place(function, 0x10000 + function * 0x1000U);
    }
  }

  /// Asks for all reads that may be under way, and answers them.
  void fetch() {
    std::vector<unsigned> slots;
    while (const auto read = core.next_read()) {
      slots.push_back(read->slot);
    }
    const entry_bytes raw = plain_entry();
    for (const unsigned slot : slots) {
      core.arrived(slot, true, raw.data());
    }
  }

  /// The function whose command comes next; it is executed and written.
  int serve() {
    const auto slot = core.next_command();
    if (!slot) {
      return -1;
    }
    const int function = core.function(*slot);
    core.finish(*slot);
    while (core.next_write()) {
    }
    return function;
  }

  counter_block counters;
  command_queue core;
};

TEST_F(queues, give_functions_turns) {
  core.ring(0, 0b11);
  core.ring(2, 0b11);
  core.ring(1, 0b1);
  fetch();
  const std::vector<int> served = {serve(), serve(), serve(), serve(), serve(), serve()};
  EXPECT_EQ(served, (std::vector<int>{1, 2, 0, 2, 0, -1}));
}

TEST_F(queues, give_no_function_all_slots) {
  core.ring(0, 0xffffffff);
  unsigned reads = 0;
  while (core.next_read()) {
    ++reads;
  }
  EXPECT_EQ(reads, command_queue::SlotsOfFunction);
  core.ring(1, 1);
  const auto other = core.next_read();
  ASSERT_TRUE(other);
  EXPECT_EQ(other->function, 1U);
}

TEST_F(queues, take_entries_in_turn_from_the_last_one_on) {
  std::vector<std::uint64_t> places;
  const auto next = [&] {
    const auto read = core.next_read();
    places.push_back((read->address - 0x10000) / 64);
    const entry_bytes raw = plain_entry();
    core.arrived(read->slot, true, raw.data());
    serve();
  };
  core.ring(0, 1U << 30 | 1U << 31 | 1U << 2);
  next();
  core.ring(0, 1U << 0);
  next();
  next();
  next();
  EXPECT_EQ(places, (std::vector<std::uint64_t>{2, 30, 31, 0}));
}

TEST_F(queues, tell_of_several_entries_of_a_function_at_once) {
  core.ring(1, 0b1001);
  fetch();
  serve();
  serve();
  const auto told = core.next_completion();
  ASSERT_TRUE(told);
  EXPECT_EQ(told->function, 1U);
  EXPECT_EQ(told->vector, 0b1001U);
  core.take_completion();
  EXPECT_FALSE(core.next_completion());
}

TEST_F(queues, know_nothing_of_a_function_that_was_reset) {
  core.ring(1, 0b111);
  const auto under_way = core.next_read();
  ASSERT_TRUE(under_way);
  core.ring(2, 1);
  core.reset(1);
  // The read that is under way comes back and is nobody's.
  const entry_bytes raw = plain_entry();
  core.arrived(under_way->slot, true, raw.data());
  const auto next = core.next_read();
  ASSERT_TRUE(next);
  EXPECT_EQ(next->function, 2U) << "not another entry of the function";
  core.arrived(next->slot, true, raw.data());
  EXPECT_EQ(serve(), 2);
  EXPECT_EQ(serve(), -1);
  core.ring(1, 1);
  EXPECT_EQ(counters.value_for(1, counter::CommandDoorbellsIgnored), 1U) << "it has no queue";
  core.place(1, 0x20000);
  core.ring(1, 1);
  fetch();
  EXPECT_EQ(serve(), 1);
}

TEST_F(queues, write_nothing_for_a_function_that_was_reset) {
  core.ring(1, 0b11);
  fetch();
  const auto executing = core.next_command();
  ASSERT_TRUE(executing);
  core.reset(1);
  core.finish(*executing);
  EXPECT_FALSE(core.next_write());
  EXPECT_FALSE(core.next_completion());
  EXPECT_EQ(serve(), -1);

  core.place(1, 0x20000);
  core.ring(1, 1);
  fetch();
  const auto again = core.next_command();
  ASSERT_TRUE(again);
  core.finish(*again);
  core.reset(1);
  EXPECT_FALSE(core.next_write()) << "it was due";
}

}  // namespace
}  // namespace carillon
