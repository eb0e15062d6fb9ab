// The cells that all twins share, each against a few lines of C++ under random traffic.

#include <cstdint>
#include <deque>
#include <gtest/gtest.h>
#include <optional>
#include <random>

#include "Vcredit_counter.h"
#include "Vcredit_pipe.h"
#include "Vstream_fifo.h"
#include "verilated.h"

namespace {

constexpr int Cycles = 20000;

/// A cell and its clock, reset with two edges.
template <class Cell>
class clocked_cell {
 public:
  clocked_cell() : cell(&context_, "") {
    cell.rst_ni = 0;
    edge();
    edge();
    cell.rst_ni = 1;
    settle();
  }

  ~clocked_cell() { cell.final(); }

  void settle() {
    cell.clk_i = 0;
    cell.eval();
  }

  void edge() {
    settle();
    cell.clk_i = 1;
    cell.eval();
  }

 private:
  VerilatedContext context_;

 public:
  Cell cell;
};

/// Long stretches of much and of little traffic, so that full and empty are both reached.
class traffic {
 public:
  bool flip() {
    if (draw_() % 64 == 0) {
      of_8_ = draw_() % 9;
    }
    return draw_() % 8 < of_8_;
  }

  std::uint32_t value() { return static_cast<std::uint32_t>(draw_()); }

 private:
  std::mt19937 draw_{1};  // its values are fixed by the standard
  std::uint32_t of_8_ = 4;
};

TEST(stream_fifo, is_a_queue_whose_entries_show_a_cycle_later) {
  constexpr std::size_t Depth = 4;
  clocked_cell<Vstream_fifo> fifo;
  std::deque<std::uint8_t> queue;
  traffic in;
  traffic out;
  out.value();  // another place in the sequence
  int fulls = 0;
  for (int t = 0; t < Cycles; ++t) {
    fifo.settle();
    ASSERT_EQ(fifo.cell.valid_o, queue.empty() ? 0 : 1) << t;
    if (!queue.empty()) {
      ASSERT_EQ(fifo.cell.data_o, queue.front()) << t;
    }
    const bool push = queue.size() < Depth && in.flip();
    const bool pop = out.flip();
    fifo.cell.push_i = push ? 1 : 0;
    fifo.cell.data_i = static_cast<std::uint8_t>(in.value());
    fifo.cell.ready_i = pop ? 1 : 0;
    fifo.edge();
    if (pop && !queue.empty()) {
      queue.pop_front();
    }
    if (push) {
      queue.push_back(fifo.cell.data_i);
    }
    fulls += queue.size() == Depth ? 1 : 0;
  }
  EXPECT_GT(fulls, 100);
}

TEST(credit_counter, counts_what_is_spent_and_what_comes_home) {
  constexpr unsigned Depth = 4;
  clocked_cell<Vcredit_counter> counter;
  unsigned credits = Depth;
  traffic random;
  for (int t = 0; t < Cycles; ++t) {
    counter.settle();
    ASSERT_EQ(counter.cell.credits_o, credits) << t;
    const unsigned spend = random.flip() ? random.value() % (credits + 1) : 0;
    const bool taken = credits < Depth && random.flip();
    counter.cell.spend_i = static_cast<std::uint8_t>(spend);
    counter.cell.taken_i = taken ? 1 : 0;
    counter.edge();
    credits = credits - spend + (taken ? 1 : 0);
  }
}

TEST(credit_pipe, hands_on_after_its_stages_and_is_busy_until_then) {
  constexpr std::size_t Stages = 3;
  clocked_cell<Vcredit_pipe> pipe;
  std::deque<std::optional<std::uint8_t>> inside(Stages);
  traffic random;
  for (int t = 0; t < Cycles; ++t) {
    pipe.settle();
    const auto leaving = inside.front();
    inside.pop_front();
    ASSERT_EQ(pipe.cell.valid_o, leaving ? 1 : 0) << t;
    if (leaving) {
      ASSERT_EQ(pipe.cell.data_o, *leaving) << t;
    }
    bool busy = leaving.has_value();
    for (const auto& each : inside) {
      busy = busy || each.has_value();
    }
    ASSERT_EQ(pipe.cell.busy_o, busy ? 1 : 0) << t;
    const bool enter = random.flip();
    pipe.cell.valid_i = enter ? 1 : 0;
    pipe.cell.data_i = static_cast<std::uint8_t>(random.value());
    inside.push_back(enter ? std::optional<std::uint8_t>(pipe.cell.data_i) : std::nullopt);
    pipe.edge();
  }
}

}  // namespace
