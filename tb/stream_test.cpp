// The contract of a stream, rule by rule. Most cases call it directly, with cycles of their own
// choosing.
#include "common/stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include <systemc>

#include "common/error.h"
#include "common/stream_bench.h"

namespace carillon {
namespace {

using bench::run;
using bench::script;
using bench::token;
using cycles = std::vector<cycle_t>;
using testing::HasSubstr;

/// The text of the model error that `what` raises.
template <class F>
std::string error_of(F&& what) {
  try {
    what();
  } catch (const model_error& error) {
    return error.what();
  }
  return "";
}

class stream_test : public testing::Test {
 protected:
  stream<token>& port(unsigned depth, unsigned max_beats = 1) {
    made_ = std::make_unique<stream<token>>(context, "p.q", depth, max_beats);
    made_->from(producer, context.trace.site("p", "p_row"));
    made_->to(consumer, context.trace.site("c", "c_row"));
    return *made_;
  }

  /// The front item waits from its first takeable cycle on.
  void waits(stream<token>& from) { from.explain(from.next_take(), context.trace.intern("bench")); }

  sim_context context{parameters{}, 1, 0};
  script producer{context.clock, "p"};
  script consumer{context.clock, "c"};

 private:
  std::unique_ptr<stream<token>> made_;
};

// Visibility
// ----------------------------------------------------------------------------------------

TEST_F(stream_test, an_item_is_visible_from_its_push_plus_the_latency_on) {
  auto& q = port(4);
  q.push(3, 4, {{}, 9});
  EXPECT_FALSE(q.takeable(6));
  EXPECT_TRUE(q.takeable(7));
  EXPECT_EQ(q.next_take(), 7U);
  EXPECT_EQ(q.front_visible(), 7U);
  EXPECT_EQ(q.take(7).id, 9U);
  EXPECT_TRUE(q.empty());
  EXPECT_EQ(q.next_take(), NeverCycle);
}

TEST_F(stream_test, never_in_the_cycle_of_its_push) {
  auto& q = port(4);
  EXPECT_THAT(error_of([&] { q.push(3, 0, {}); }),
              HasSubstr("p.q: pushed with latency 0 in cycle 3"));
}

TEST_F(stream_test, taking_what_is_not_visible_is_an_error) {
  auto& q = port(4);
  q.push(3, 4, {});
  EXPECT_THAT(error_of([&] { q.take(6); }), HasSubstr("p.q: nothing to take in cycle 6"));
}

TEST_F(stream_test, items_leave_in_the_order_in_which_they_came_one_a_cycle) {
  auto& q = port(3);
  for (std::uint32_t i = 0; i < 3; ++i) {
    q.push(i, 1, {{}, i});
  }
  waits(q);
  for (cycle_t t = 5; t < 8; ++t) {
    EXPECT_EQ(q.take(t).id, t - 5);
    EXPECT_FALSE(q.takeable(t)) << "the port is busy for this cycle";
  }
}

TEST_F(stream_test, the_consumer_is_woken_when_the_front_item_becomes_takeable) {
  auto& q = port(4);
  producer.at(2, [&](cycle_t t) { q.push(t, 3, {}); });
  producer.at(4, [&](cycle_t t) { q.push(t, 9, {}); });
  consumer.at(5, [&](cycle_t t) { q.take(t); });
  run(context.clock, 30);
  EXPECT_EQ(consumer.woken, (cycles{13}));
}

TEST_F(stream_test, a_companion_is_woken_too) {
  auto& q = port(4);
  script beside(context.clock, "beside");
  q.wakes_too(beside);
  producer.at(2, [&](cycle_t t) { q.push(t, 3, {}); });
  run(context.clock, 30);
  EXPECT_EQ(beside.woken, (cycles{5}));
}

// Credits
// -------------------------------------------------------------------------------------------

TEST_F(stream_test, credits_are_the_depth_less_what_was_accepted_plus_what_was_taken_before) {
  auto& q = port(3);
  EXPECT_EQ(q.credits(0), 3U);
  q.push(0, 1, {});
  q.push(1, 1, {});
  EXPECT_EQ(q.credits(1), 1U);
  q.take(1);
  EXPECT_EQ(q.credits(1), 1U) << "a slot freed in a cycle can be used from the next on";
  EXPECT_EQ(q.credits(2), 2U);
  q.push(2, 1, {});
  q.take(2);
  EXPECT_EQ(q.credits(2), 1U);
  EXPECT_EQ(q.credits(3), 2U);
  q.take(3);
  EXPECT_EQ(q.credits(4), 3U);
}

TEST_F(stream_test, pushing_beyond_the_credits_is_an_error_that_names_stream_and_cycle) {
  auto& q = port(1);
  q.push(5, 1, {});
  EXPECT_THAT(error_of([&] { q.push(6, 1, {}); }),
              HasSubstr("p.q: 1 beats accepted with 0 credits in cycle 6"));
}

TEST_F(stream_test, using_a_credit_in_the_cycle_of_its_pop_is_an_error) {
  auto& q = port(1);
  q.push(5, 1, {});
  q.take(6);
  EXPECT_THAT(error_of([&] { q.push(6, 1, {}); }), HasSubstr("with 0 credits in cycle 6"));
  EXPECT_NO_THROW(q.push(7, 1, {}));
}

TEST_F(stream_test, credits_of_a_long_item_come_home_one_a_cycle) {
  auto& q = port(6, 4);
  q.push(0, 1, {}, 4);
  EXPECT_EQ(q.credits(1), 2U);
  q.take(1);
  const std::vector<unsigned> expected = {2, 3, 4, 5, 6, 6};
  for (cycle_t t = 1; t < 7; ++t) {
    EXPECT_EQ(q.credits(t), expected[t - 1]) << "cycle " << t;
  }
}

// Items of several beats
// ----------------------------------------------------------------------------

TEST_F(stream_test, the_beats_of_an_item_follow_each_other_and_keep_the_port_busy) {
  auto& q = port(8, 4);
  q.push(0, 1, {{}, 1}, 3);
  EXPECT_EQ(q.port_free(), 4U);
  q.push(3, 1, {{}, 2}, 4);
  EXPECT_EQ(q.front_beats(), 3U);
  q.take(1);
  EXPECT_TRUE(q.transferring(3));
  EXPECT_FALSE(q.transferring(4));
  EXPECT_FALSE(q.takeable(3));
  EXPECT_EQ(q.next_take(), 4U);
  EXPECT_EQ(q.take(4).id, 2U);
  EXPECT_EQ(q.busy_until(), 8U);
  EXPECT_EQ(q.last_taken(), 4U);
  EXPECT_EQ(q.last_taken_visible(), 4U);
}

TEST_F(stream_test, an_item_may_not_become_visible_among_the_beats_of_another) {
  auto& q = port(8, 4);
  q.push(0, 2, {}, 3);
  EXPECT_THAT(error_of([&] { q.push(1, 3, {}); }),
              HasSubstr("visible in cycle 4 while the previous one occupies the port until 5"));
}

TEST_F(stream_test, items_have_as_many_beats_as_the_stream_allows) {
  auto& q = port(8, 4);
  EXPECT_THROW(q.push(0, 1, {}, 0), model_error);
  EXPECT_THROW(q.push(0, 1, {}, 5), model_error);
}

TEST_F(stream_test, a_depth_below_the_longest_item_is_refused) {
  EXPECT_THROW(port(3, 4), config_error);
  EXPECT_NO_THROW(port(4, 4));
}

// Asking for credits
// --------------------------------------------------------------------------------

TEST_F(stream_test, asking_after_the_pop_of_the_same_cycle) {
  auto& q = port(1);
  producer.at(1, [&](cycle_t t) { q.push(t, 1, {}); });
  consumer.at(2, [&](cycle_t t) {
    q.take(t);
    q.ask_credit(t);
  });
  run(context.clock, 20);
  EXPECT_EQ(producer.woken, (cycles{3}));
}

TEST_F(stream_test, asking_before_the_pop_of_the_same_cycle) {
  auto& q = port(1);
  producer.at(1, [&](cycle_t t) { q.push(t, 1, {}); });
  consumer.at(2, [&](cycle_t t) {
    q.ask_credit(t);
    q.take(t);
  });
  run(context.clock, 20);
  EXPECT_EQ(producer.woken, (cycles{3}));
}

TEST_F(stream_test, asking_long_before_the_pop) {
  auto& q = port(1);
  producer.at(1, [&](cycle_t t) { q.push(t, 1, {}); });
  producer.at(2, [&](cycle_t t) { q.ask_credit(t); });
  consumer.at(2, [&](cycle_t) { waits(q); });
  consumer.at(9, [&](cycle_t t) { q.take(t); });
  run(context.clock, 20);
  EXPECT_EQ(producer.woken, (cycles{10}));
}

// A take in 10 of four beats: credits in 11, 12, 13, 14.
TEST_F(stream_test, asking_for_several_beats_waits_for_the_last_of_them) {
  for (const bool before : {true, false}) {
    auto& q = port(4, 4);
    producer.woken.clear();
    const cycle_t base = now_ps() / context.clock.period();
    producer.at(base + 9, [&](cycle_t t) { q.push(t, 1, {}, 4); });
    consumer.at(base + 10, [&](cycle_t t) {
      if (before) {
        q.ask_credit(t, 3);
      }
      q.take(t);
      if (!before) {
        q.ask_credit(t, 3);
      }
    });
    run(context.clock, 40);
    EXPECT_EQ(producer.woken, (cycles{base + 13})) << before;
  }
}

TEST_F(stream_test, one_pop_may_not_be_enough) {
  auto& q = port(2);
  producer.at(1, [&](cycle_t t) { q.push(t, 1, {}); });
  producer.at(2, [&](cycle_t t) { q.push(t, 1, {}); });
  producer.at(3, [&](cycle_t t) { q.ask_credit(t, 2); });
  consumer.at(2, [&](cycle_t) { waits(q); });
  consumer.at(6, [&](cycle_t t) { q.take(t); });
  consumer.at(7, [&](cycle_t) { waits(q); });
  consumer.at(11, [&](cycle_t t) { q.take(t); });
  run(context.clock, 30);
  EXPECT_EQ(producer.woken, (cycles{12}));
}

TEST_F(stream_test, asking_for_what_is_there_wakes_in_the_next_cycle) {
  auto& q = port(2);
  producer.at(4, [&](cycle_t t) { q.ask_credit(t, 2); });
  run(context.clock, 20);
  EXPECT_EQ(producer.woken, (cycles{5}));
}

TEST_F(stream_test, a_large_request_does_not_hide_a_small_one) {
  auto& q = port(2, 2);
  producer.at(1, [&](cycle_t t) { q.push(t, 1, {}); });
  producer.at(2, [&](cycle_t t) { q.push(t, 1, {}); });
  producer.at(3, [&](cycle_t t) {
    q.ask_credit(t, 1);
    q.ask_credit(t, 2);
  });
  consumer.at(2, [&](cycle_t) { waits(q); });
  consumer.at(6, [&](cycle_t t) { q.take(t); });
  consumer.at(7, [&](cycle_t) { waits(q); });
  run(context.clock, 20);
  EXPECT_EQ(producer.woken, (cycles{7}));
}

TEST_F(stream_test, asking_for_more_than_the_depth_is_an_error) {
  auto& q = port(2);
  EXPECT_THAT(error_of([&] { q.ask_credit(1, 3); }), HasSubstr("3 credits asked of a depth of 2"));
}

// Reservations
// --------------------------------------------------------------------------------------

TEST_F(stream_test, reserved_credits_are_gone_until_they_are_used_or_cancelled) {
  auto& q = port(4, 4);
  q.reserve(1, 3);
  EXPECT_EQ(q.credits(1), 1U);
  q.push_reserved(5, 2, {{}, 7}, 2);
  EXPECT_EQ(q.credits(5), 1U);
  q.cancel(5, 1);
  EXPECT_EQ(q.credits(5), 2U) << "usable at once: it is the producer's own doing";
  EXPECT_EQ(q.take(7).id, 7U);
  EXPECT_EQ(q.credits(9), 4U);
  EXPECT_NO_THROW(q.check_drained());
}

TEST_F(stream_test, nobody_reserves_uses_or_cancels_more_than_there_is) {
  auto& q = port(4, 4);
  EXPECT_THAT(error_of([&] { q.reserve(1, 5); }), HasSubstr("5 beats accepted with 4 credits"));
  q.reserve(1, 2);
  EXPECT_THAT(error_of([&] { q.push_reserved(2, 1, {}, 3); }),
              HasSubstr("3 beats pushed in cycle 2 of 2"));
  EXPECT_THAT(error_of([&] { q.cancel(2, 3); }), HasSubstr("3 beats cancelled in cycle 2 of 2"));
}

TEST_F(stream_test, a_cancelled_reservation_answers_a_request) {
  auto& q = port(4);
  producer.at(1, [&](cycle_t t) {
    q.push(t, 1, {});
    q.reserve(t, 3);
    q.ask_credit(t, 2);
  });
  consumer.at(2, [&](cycle_t) { waits(q); });
  producer.at(5, [&](cycle_t t) { q.cancel(t, 3); });
  consumer.at(9, [&](cycle_t t) { q.take(t); });
  run(context.clock, 30);
  EXPECT_EQ(producer.woken, (cycles{6}));
}

// The end of the run
// --------------------------------------------------------------------------------

TEST_F(stream_test, an_item_left_at_the_end_is_an_error_that_names_stream_and_consumer) {
  auto& q = port(2);
  EXPECT_NO_THROW(context.check_drained());
  q.push(0, 1, {});
  EXPECT_THAT(error_of([&] { context.check_drained(); }),
              AllOf(HasSubstr("p.q: 1 items left"), HasSubstr("c did not take them")));
  q.take(1);
  EXPECT_NO_THROW(context.check_drained());
}

TEST_F(stream_test, a_credit_not_home_is_an_error_that_names_stream_and_producer) {
  auto& q = port(2);
  q.reserve(0, 1);
  EXPECT_THAT(error_of([&] { context.check_drained(); }),
              AllOf(HasSubstr("p.q: 1 of 2 credits home"), HasSubstr("p holds the rest")));
}

TEST_F(stream_test, has_one_producer_and_one_consumer) {
  auto& q = port(1);
  EXPECT_THAT(error_of([&] { q.from(consumer, {}); }), HasSubstr("p.q: a second producer c"));
  EXPECT_THAT(error_of([&] { q.to(producer, {}); }), HasSubstr("p.q: a second consumer p"));
}

// What it tells others
// ------------------------------------------------------------------------------

TEST_F(stream_test, reports_every_handshake) {
  struct log : transfer_observer {
    void on_transfer(const transfer& one) override { seen.push_back(one); }

    std::vector<transfer> seen;
  } log;

  context.transfers = &log;
  auto& q = port(8, 4);
  const trace_ref message = context.trace.open(0, {});
  q.push(0, 3, {message, 1}, 2);
  waits(q);
  q.take(6);
  ASSERT_EQ(log.seen.size(), 1U);
  EXPECT_EQ(log.seen[0].taken, 6U);
  EXPECT_EQ(log.seen[0].visible, 3U);
  EXPECT_EQ(log.seen[0].stream, q.id());
  EXPECT_EQ(log.seen[0].message, message.message);
  EXPECT_EQ(log.seen[0].beats, 2U);
}

TEST_F(stream_test, taps_see_what_is_taken_in_the_order_in_which_they_were_added) {
  struct tap : stream_tap<token> {
    tap(std::string& to, char as) : log(to), letter(as) {}

    void on_take(cycle_t t, const token& item) override {
      log += letter + std::to_string(item.id) + "@" + std::to_string(t) + " ";
    }

    std::string& log;
    char letter;
  };

  std::string log;
  tap first(log, 'a');
  tap second(log, 'b');
  auto& q = port(2);
  q.tap(&first);
  q.tap(&second);
  q.push(0, 1, {{}, 5});
  q.take(1);
  EXPECT_EQ(log, "a5@1 b5@1 ");
}

TEST_F(stream_test, only_items_not_yet_visible_are_in_flight) {
  auto& q = port(4);
  q.push(0, 1, {{}, 1});
  q.push(1, 3, {{}, 2});
  q.push(2, 3, {{}, 3});
  std::vector<std::uint32_t> seen;
  q.in_flight(4, [&](token& item) { seen.push_back(item.id); });
  EXPECT_EQ(seen, (std::vector<std::uint32_t>{3}));
}

// The history of an item
// ----------------------------------------------------------------------------

class stream_history_test : public stream_test {
 protected:
  /// kind place/row reason begin-end, in nanoseconds
  std::vector<std::string> history(trace_ref of) const {
    std::vector<std::string> lines;
    const message_record& record = *context.trace.record(of.message);
    for (std::uint32_t at = of.span; at != 0; at = record.spans[at].previous) {
      const span& one = record.spans[at];
      lines.insert(
          lines.begin(),
          fmt::format("{} {}/{} {} {}-{}", to_string(one.kind), context.trace.name(one.place),
                      context.trace.name(one.row), context.trace.name(one.reason),
                      one.begin / context.clock.period(), one.end / context.clock.period()));
    }
    return lines;
  }

  trace_ref open(cycle_t t) { return context.trace.open(context.clock.time_of(t), {}); }

  using strings = std::vector<std::string>;
};

TEST_F(stream_history_test,
       the_latency_is_the_producers_service_and_waiting_is_booked_at_the_port) {
  auto& q = port(4);
  q.push(2, 3, {open(2), 1});
  q.explain(5, context.trace.intern("credit:x"));
  q.explain(6, context.trace.intern("credit:x"));
  q.explain(8, context.trace.intern("window"));
  const token out = q.take(9);
  EXPECT_EQ(history(out.trace), (strings{"service p/p_row  2-5", "wait c/c_row credit:x 5-8",
                                         "wait c/c_row window 8-9"}));
}

TEST_F(stream_history_test, behind_a_longer_item_the_wait_is_for_order) {
  auto& q = port(8, 4);
  q.push(0, 1, {{}, 1}, 2);
  q.push(2, 1, {open(2), 2});
  waits(q);
  q.take(5);
  const token out = q.take(7);
  EXPECT_EQ(history(out.trace), (strings{"service p/p_row  2-3", "wait c/c_row order 3-7"}));
}

TEST_F(stream_history_test, a_producer_that_booked_its_service_itself_is_not_booked_again) {
  auto& q = port(4);
  const trace_ref own =
      context.trace.service(open(0), context.trace.site("ram", "ram"), 0, context.clock.time_of(6));
  q.push_booked(1, 5, {own, 1});
  EXPECT_EQ(history(q.take(6).trace), (strings{"service ram/ram  0-6"}));
}

TEST_F(stream_history_test, a_cycle_that_nobody_explained_is_an_error) {
  auto& q = port(4);
  q.push(0, 1, {});
  EXPECT_THAT(error_of([&] { q.take(4); }), HasSubstr("p.q: unexplained cycles 1..4"));
}

TEST_F(stream_history_test, an_explanation_that_comes_late_is_an_error_that_names_the_sleeper) {
  auto& q = port(4);
  q.push(0, 1, {});
  EXPECT_THAT(error_of([&] { q.explain(3, context.trace.intern("x")); }),
              AllOf(HasSubstr("unexplained cycles 1..3"), HasSubstr("c was not evaluated")));
}

}  // namespace
}  // namespace carillon
