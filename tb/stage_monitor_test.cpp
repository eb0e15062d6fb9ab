// Every waiting cycle has a reason, and a stage that sleeps when it could move is found.
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include <systemc>

#include "common/level.h"
#include "common/stage.h"
#include "common/stream_bench.h"

namespace carillon {
namespace {

using bench::pattern;
using bench::token;
using testing::HasSubstr;

/// Moves items from two inputs to one output, latency 2; the first input goes first. Each flag
/// breaks a duty.
class mover : public stage {
 public:
  mover(const sc_core::sc_module_name& name, sim_context& context, stream<token>& a,
        stream<token>& b, stream<token>& out, level<bool>* pause = nullptr, unsigned beats = 1)
      : stage(name, context, "mover"), a_(a), b_(b), out_(out), pause_(pause), beats_(beats) {
    a_.to(*this, site());
    b_.to(*this, site());
    out_.from(*this, site());
    const auto blockers = [&](stream<token>& other) {
      std::vector<blocker> list = {blocker::arbiter(other), blocker::credit(out_, beats_)};
      if (pause_ != nullptr) {
        list.push_back(blocker::condition("pause", [this](cycle_t t) { return pause_->read(t); }));
      }
      return list;
    };
    watch(a_, blockers(b_));
    watch(b_, blockers(a_));
    if (pause_ != nullptr) {
      pause_->wakes(*this);
    }
  }

  bool asks = true;
  bool lazy = false;  ///< takes only in even cycles, for no reason it could name

 private:
  void evaluate(cycle_t t) override {
    if (pause_ != nullptr && pause_->read(t)) {
      return;
    }
    if (lazy && t % 2 != 0) {
      wake(t + 1);
      return;
    }
    stream<token>* in = a_.takeable(t) ? &a_ : b_.takeable(t) ? &b_ : nullptr;
    if (in == nullptr) {
      return;
    }
    if (!out_.has_credit(t, beats_)) {
      if (asks) {
        out_.ask_credit(t, beats_);
      }
      return;
    }
    out_.push(t, 2, in->take(t), beats_);
    wake(t + 1);
  }

  stream<token>& a_;
  stream<token>& b_;
  stream<token>& out_;
  level<bool>* pause_;
  unsigned beats_;
};

class stage_monitor_test : public testing::Test {
 protected:
  /// Items of `out` in the order in which they come, with their waits at the ports of the mover:
  /// "id: reason begin-end".
  struct seen {
    cycle_t cycle;
    std::string waits;
  };

  void build(unsigned out_depth, pattern willing, level<bool>* pause = nullptr,
             unsigned beats = 1) {
    out = std::make_unique<stream<token>>(context, "mover.out", out_depth, beats);
    dut = std::make_unique<mover>("mover", context, a, b, *out, pause, beats);
    sink = std::make_unique<bench::consumer<token>>("sink", context, *out, std::move(willing));
  }

  /// An item for input `to`, visible from cycle `visible` on.
  void offer(stream<token>& to, cycle_t visible, std::uint32_t id) {
    const cycle_t t = visible - 1;
    to.push(t, 1, {context.trace.open(context.clock.time_of(t), {}), id});
  }

  [[nodiscard]] std::string waits_of(std::uint32_t id, const std::string& place = "mover") const {
    for (const auto& one : sink->items) {
      if (one.item.id != id) {
        continue;
      }
      std::string text;
      const message_record& record = *context.trace.record(one.item.trace.message);
      for (std::uint32_t at = one.item.trace.span; at != 0; at = record.spans[at].previous) {
        const span& each = record.spans[at];
        if (each.kind == span_kind::wait && context.trace.name(each.place) == place) {
          const std::string line =
              fmt::format("{} {}-{}", context.trace.name(each.reason),
                          each.begin / context.clock.period(), each.end / context.clock.period());
          text = text.empty() ? line : line + ", " + text;
        }
      }
      return text;
    }
    return "not seen";
  }

  void run(cycle_t count) { bench::run(context.clock, count); }

  [[nodiscard]] std::string error(cycle_t count) {
    return bench::run_to_error(context.clock, count);
  }

  sim_context context{parameters{}, 1, 0};
  stream<token> a{context, "src.a", 8};
  stream<token> b{context, "src.b", 8};
  bench::script sources{context.clock, "sources"};
  std::unique_ptr<stream<token>> out;
  std::unique_ptr<mover> dut;
  std::unique_ptr<bench::consumer<token>> sink;
};

TEST_F(stage_monitor_test, nothing_waits_without_competition) {
  build(8, bench::always());
  offer(a, 3, 1);
  offer(b, 4, 2);
  run(50);
  EXPECT_EQ(waits_of(1), "");
  EXPECT_EQ(waits_of(2), "");
  EXPECT_NO_THROW(context.check_drained());
}

// The item on `b` is known first, but its cycle comes second: the wake for `a` must not swallow it.
TEST_F(stage_monitor_test, an_item_still_to_come_survives_an_earlier_wake_for_another_input) {
  build(8, bench::always());
  sources.at(1, [&](cycle_t t) { b.push(t, 9, {{}, 2}); });
  sources.at(3, [&](cycle_t t) { a.push(t, 1, {{}, 1}); });
  run(50);
  ASSERT_EQ(sink->items.size(), 2U);
  EXPECT_EQ(sink->items[0].cycle, 4U + 2);
  EXPECT_EQ(sink->items[1].cycle, 10U + 2);
}

TEST_F(stage_monitor_test, the_loser_of_an_arbitration_waits_for_the_arbiter) {
  build(8, bench::always());
  offer(a, 3, 1);
  offer(a, 4, 2);
  offer(b, 3, 3);
  run(50);
  EXPECT_EQ(waits_of(1), "");
  EXPECT_EQ(waits_of(2), "");
  EXPECT_EQ(waits_of(3), "arbiter 3-5");
}

// depth 1, and the sink takes in 20: the credit can be used in 21.
TEST_F(stage_monitor_test, without_credits_it_waits_for_the_stream_by_name) {
  build(1, bench::from(20));
  offer(a, 3, 1);
  offer(a, 4, 2);
  run(50);
  EXPECT_EQ(waits_of(2), "credit:mover.out 4-21");
  EXPECT_EQ(waits_of(1, "sink"), "unwilling 5-20");
}

TEST_F(stage_monitor_test, behind_its_own_port_it_waits_for_order_and_then_for_what_comes) {
  build(1, bench::from(20));
  offer(a, 3, 1);
  offer(a, 4, 2);
  offer(a, 5, 3);
  run(80);
  // Item 2 is taken in 21; from 22 on item 3 is at the front and lacks the credit that comes back
  // when the sink takes item 2 in 23.
  EXPECT_EQ(waits_of(3), "order 5-22, credit:mover.out 22-24");
}

TEST_F(stage_monitor_test, a_level_is_named) {
  level<bool> pause(context.clock, "pause", true);
  build(8, bench::always(), &pause);
  offer(a, 3, 1);
  sources.at(10, [&](cycle_t t) { pause.write(t, false); });
  run(50);
  EXPECT_EQ(waits_of(1), "pause 3-11");
}

// Item 2 waits for the arbiter while item 1 is taken, then lacks a credit, which outranks the pause
// that begins in 5; the credit, asked for in 4, comes back in 21, after the sink's take in 20.
TEST_F(stage_monitor_test, reasons_have_an_order_of_precedence) {
  level<bool> pause(context.clock, "pause", false);
  build(1, bench::from(20), &pause);
  offer(a, 3, 1);
  offer(b, 3, 2);
  sources.at(4, [&](cycle_t t) { pause.write(t, true); });
  sources.at(29, [&](cycle_t t) { pause.write(t, false); });
  run(50);
  EXPECT_EQ(waits_of(2), "arbiter 3-4, credit:mover.out 4-21, pause 21-30");
}

TEST_F(stage_monitor_test, a_stage_that_does_not_ask_for_credits_is_found_at_the_end) {
  build(1, bench::from(20));
  dut->asks = false;
  offer(a, 3, 1);
  offer(a, 4, 2);
  run(50);
  try {
    context.check_drained();
    FAIL() << "nobody noticed";
  } catch (const model_error& found) {
    EXPECT_THAT(found.what(),
                HasSubstr("src.a: 1 items left at the end of the run; mover did not take them"));
  }
}

// The credit was there from 21 on; only the item that comes to the other input in 40 wakes the
// stage.
TEST_F(stage_monitor_test, or_as_soon_as_anything_else_wakes_it) {
  build(1, bench::from(20));
  dut->asks = false;
  offer(a, 3, 1);
  offer(a, 4, 2);
  sources.at(39, [&](cycle_t t) { b.push(t, 1, {{}, 3}); });
  EXPECT_THAT(error(60), HasSubstr("src.a: unexplained cycle 39: what its front item waited for "
                                   "(credit:mover.out) was over, but nobody looked"));
}

TEST_F(stage_monitor_test, a_stage_without_a_reason_that_holds_is_found_in_that_cycle) {
  build(8, bench::always());
  dut->lazy = true;
  offer(a, 3, 1);
  EXPECT_THAT(error(50),
              HasSubstr("src.a: unexplained cycle 3: its front item could move and did not"));
}

TEST_F(stage_monitor_test, a_multi_beat_output_needs_all_its_credits) {
  build(4, bench::from(20), nullptr, 3);
  offer(a, 3, 1);
  offer(a, 9, 2);
  run(80);
  // Taken in 20: credits in 21, 22 and 23; one was left of four, so two are enough.
  EXPECT_EQ(waits_of(2), "credit:mover.out 9-22");
}

TEST_F(stage_monitor_test, every_span_of_a_message_meets_the_next) {
  build(1, bench::randomly(3, 30));
  for (std::uint32_t i = 0; i < 8; ++i) {
    offer(a, 3 + i, i);
    offer(b, 3 + 2 * i, 100 + i);
  }
  run(400);
  ASSERT_EQ(sink->items.size(), 16U);
  for (const auto& one : sink->items) {
    const message_record& record = *context.trace.record(one.item.trace.message);
    ps_t sum = 0;
    for (std::uint32_t at = one.item.trace.span; at != 0; at = record.spans[at].previous) {
      EXPECT_EQ(record.spans[at].begin, record.spans[record.spans[at].previous].end);
      sum += record.spans[at].end - record.spans[at].begin;
    }
    EXPECT_EQ(sum, context.clock.time_of(one.cycle) - record.spans[0].begin);
  }
}

}  // namespace
}  // namespace carillon
