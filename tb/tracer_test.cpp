// The tracer: a message's life is a partition of time.
#include "common/tracer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "common/error.h"

namespace carillon {
namespace {

using testing::HasSubstr;

template <class F>
std::string error_of(F&& what) {
  try {
    what();
  } catch (const model_error& error) {
    return error.what();
  }
  return "";
}

class tracer_test : public testing::Test {
 protected:
  struct log : message_observer {
    void on_message(const message_record& message) override { seen.push_back(message); }

    std::vector<message_record> seen;
  };

  tracer_test() { trace.observe(complete); }

  [[nodiscard]] std::vector<std::string> path(const message_record& of, milestone from,
                                              milestone to) const {
    std::vector<std::string> lines;
    for (const span& one : of.path(from, to)) {
      lines.push_back(
          fmt::format("{} {} {}-{}", trace.name(one.row), to_string(one.kind), one.begin, one.end));
    }
    return lines;
  }

  using strings = std::vector<std::string>;
  tracer trace;
  log complete;
  trace_site cpu = trace.site("host0.cpu", "cpu");
  trace_site nic = trace.site("nic0.uar", "uar");
  name_id batch = trace.intern("batch");
};

// Names
// -----------------------------------------------------------------------------------------------

TEST_F(tracer_test, names_are_interned_once) {
  EXPECT_EQ(trace.intern("batch"), batch);
  EXPECT_NE(trace.intern("window"), batch);
  EXPECT_EQ(trace.name(batch), "batch");
  EXPECT_EQ(trace.name(0), "") << "no reason";
}

// The partition
// ---------------------------------------------------------------------------------------

TEST_F(tracer_test, spans_follow_each_other) {
  trace_ref at = trace.open(100, {.qpn = 7});
  at = trace.service(at, cpu, 100, 150);
  at = trace.wait(at, nic, batch, 150, 170);
  at = trace.flight(at, nic, 170, 300);
  EXPECT_EQ(trace.end_of(at), 300U);
  trace.mark(at, milestone::cqe_seen);
  trace.release(at);
  ASSERT_EQ(complete.seen.size(), 1U);
  EXPECT_EQ(complete.seen[0].info.qpn, 7U);
  EXPECT_EQ(path(complete.seen[0], milestone::post, milestone::cqe_seen),
            (strings{"cpu service 100-150", "uar wait 150-170", "uar flight 170-300"}));
}

TEST_F(tracer_test, a_gap_is_an_error_that_names_the_place) {
  const trace_ref at = trace.service(trace.open(100, {}), cpu, 100, 150);
  EXPECT_THAT(error_of([&] { trace.service(at, nic, 151, 160); }),
              HasSubstr("nic0.uar: a service span of message 1 begins at 151 ps, but its history "
                        "ends at 150 ps"));
}

TEST_F(tracer_test, an_overlap_too) {
  const trace_ref at = trace.service(trace.open(100, {}), cpu, 100, 150);
  EXPECT_THAT(error_of([&] { trace.wait(at, nic, batch, 149, 160); }),
              HasSubstr("begins at 149 ps"));
}

TEST_F(tracer_test, time_does_not_run_backwards) {
  const trace_ref at = trace.open(100, {});
  EXPECT_THAT(error_of([&] { trace.service(at, nic, 100, 99); }),
              HasSubstr("ends at 99 ps before it begins"));
}

TEST_F(tracer_test, empty_spans_are_left_out) {
  const trace_ref at = trace.open(100, {});
  const trace_ref same = trace.wait(at, nic, batch, 100, 100);
  EXPECT_EQ(same.span, at.span);
  EXPECT_THROW(trace.wait(at, nic, batch, 101, 101), model_error)
      << "also an empty span has its place";
}

TEST_F(tracer_test, untraced_items_cost_nothing) {
  const trace_ref none;
  EXPECT_EQ(trace.service(none, nic, 5, 9).message, 0U);
  EXPECT_EQ(trace.end_of(none), 0U);
  EXPECT_FALSE(trace.live(none));
  EXPECT_NO_THROW(trace.mark(none, milestone::doorbell));
  EXPECT_NO_THROW(trace.release(none));
}

// Forks and joins
// -------------------------------------------------------------------------------------

TEST_F(tracer_test, a_join_follows_the_branch_that_arrived_last) {
  const trace_ref fork = trace.service(trace.open(0, {}), cpu, 0, 10);
  const trace_ref fast = trace.service(fork, nic, 10, 20);
  const trace_ref slow = trace.flight(fork, nic, 10, 35);
  trace_ref joined = trace.later(fast, slow);
  EXPECT_EQ(trace.end_of(joined), 35U);
  joined = trace.service(joined, cpu, 35, 40);
  trace.mark(joined, milestone::cqe_seen);
  trace.release(joined);
  EXPECT_EQ(path(complete.seen.at(0), milestone::post, milestone::cqe_seen),
            (strings{"cpu service 0-10", "uar flight 10-35", "cpu service 35-40"}));
}

TEST_F(tracer_test, of_branches_that_end_together_the_first_counts) {
  const trace_ref fork = trace.open(0, {});
  const trace_ref one = trace.service(fork, cpu, 0, 20);
  const trace_ref two = trace.service(fork, nic, 0, 20);
  EXPECT_EQ(trace.later(one, two).span, one.span);
  EXPECT_EQ(trace.later(two, one).span, two.span);
}

// Milestones
// ------------------------------------------------------------------------------------------

TEST_F(tracer_test, the_first_mark_of_a_milestone_counts_unless_the_last_is_wanted) {
  trace_ref at = trace.open(0, {});
  at = trace.service(at, cpu, 0, 10);
  trace.mark(at, milestone::first_bit);
  trace.mark(at, milestone::last_bit, true);
  at = trace.service(at, cpu, 10, 20);
  trace.mark(at, milestone::first_bit);
  trace.mark(at, milestone::last_bit, true);
  const message_record& record = *trace.record(at.message);
  EXPECT_EQ(record.time_of(milestone::post), 0U);
  EXPECT_EQ(record.time_of(milestone::first_bit), 10U);
  EXPECT_EQ(record.time_of(milestone::last_bit), 20U);
  EXPECT_FALSE(record.reached(milestone::delivered));
}

TEST_F(tracer_test, a_path_exists_only_along_the_chain) {
  const trace_ref fork = trace.open(0, {});
  const trace_ref branch = trace.service(fork, nic, 0, 5);
  trace.mark(branch, milestone::doorbell);
  const trace_ref end = trace.service(fork, cpu, 0, 10);
  trace.mark(end, milestone::cqe_seen);
  const message_record& record = *trace.record(end.message);
  EXPECT_EQ(record.path(milestone::post, milestone::cqe_seen).size(), 1U);
  EXPECT_TRUE(record.path(milestone::doorbell, milestone::cqe_seen).empty());
  EXPECT_TRUE(record.path(milestone::post, milestone::delivered).empty()) << "never reached";
}

TEST_F(tracer_test, milestones_and_kinds_have_their_names) {
  EXPECT_STREQ(to_string(milestone::post), "post");
  EXPECT_STREQ(to_string(milestone::cqe_seen), "cqe_seen");
  EXPECT_STREQ(to_string(milestone::remote_seen), "remote_seen");
  EXPECT_STREQ(to_string(span_kind::flight), "flight");
}

// Life
// ------------------------------------------------------------------------------------------------

TEST_F(tracer_test, a_message_is_complete_when_its_last_holder_releases_it) {
  const trace_ref at = trace.open(0, {});
  trace.hold(at);
  trace.release(at);
  EXPECT_TRUE(trace.live(at));
  EXPECT_EQ(trace.completed(), 0U);
  trace.release(at);
  EXPECT_FALSE(trace.live(at));
  EXPECT_EQ(trace.completed(), 1U);
  EXPECT_EQ(complete.seen.size(), 1U);
}

TEST_F(tracer_test, spans_of_a_completed_message_are_dropped) {
  const trace_ref at = trace.service(trace.open(0, {}), cpu, 0, 10);
  trace.release(at);
  EXPECT_NO_THROW(trace.flight(at, nic, 3, 4));
  EXPECT_EQ(trace.end_of(at), 0U);
  EXPECT_EQ(complete.seen.at(0).spans.size(), 2U) << "the empty root and one";
}

TEST_F(tracer_test, a_new_message_does_not_inherit_from_the_one_whose_place_it_takes) {
  for (int i = 0; i < 1000; ++i) {
    const trace_ref at = trace.service(trace.open(0, {}), cpu, 0, 10);
    trace.mark(at, milestone::doorbell);
    trace.release(at);
  }
  const trace_ref fresh = trace.open(5, {});
  EXPECT_FALSE(trace.record(fresh.message)->reached(milestone::doorbell));
  EXPECT_EQ(trace.record(fresh.message)->spans.size(), 1U);
  EXPECT_EQ(trace.opened(), 1001U);
}

TEST_F(tracer_test, many_messages_live_at_once) {
  std::vector<trace_ref> refs;
  for (ps_t i = 0; i < 3000; ++i) {
    refs.push_back(trace.service(trace.open(i, {}), cpu, i, 2 * i + 1));
  }
  for (ps_t i = 0; i < 3000; ++i) {
    ASSERT_EQ(trace.end_of(refs[i]), 2 * i + 1);
  }
}

// One that is lost must not make the others expensive, and stays reachable.
TEST_F(tracer_test, a_message_that_never_ends_outlives_any_number_of_others) {
  const trace_ref lost = trace.service(trace.open(0, {.qpn = 3}), cpu, 0, 10);
  for (int i = 0; i < 100'000; ++i) {
    trace.release(trace.open(0, {}));
  }
  EXPECT_LE(trace.room(), 256U) << "as at the start";
  ASSERT_TRUE(trace.live(lost));
  EXPECT_EQ(trace.end_of(trace.service(lost, nic, 10, 12)), 12U);
  complete.seen.clear();
  trace.release(lost);
  ASSERT_EQ(complete.seen.size(), 1U);
  EXPECT_EQ(complete.seen[0].info.qpn, 3U);
  EXPECT_FALSE(trace.live(lost));
}

// Adoption: one doorbell for several work requests
// ------------------------------------------------------

class tracer_adopt_test : public tracer_test {
 protected:
  /// Message `rung`: posted at 50, its doorbell at the NIC at 120, fetch triggered at 130.
  trace_ref ring() {
    trace_ref at = trace.open(50, {});
    at = trace.service(at, cpu, 50, 80);
    at = trace.flight(at, cpu, 80, 120);
    trace.mark(at, milestone::doorbell);
    return trace.service(at, nic, 120, 130);
  }
};

TEST_F(tracer_adopt_test, a_message_waits_for_the_doorbell_of_another_and_continues_along_it) {
  trace_ref mine = trace.service(trace.open(0, {}), cpu, 0, 30);
  const trace_ref rung = ring();
  mine = trace.adopt(mine, rung, milestone::doorbell, cpu, batch);
  trace.mark(mine, milestone::cqe_seen);
  const message_record& record = *trace.record(mine.message);
  EXPECT_EQ(path(record, milestone::post, milestone::cqe_seen),
            (strings{"cpu service 0-30", "cpu wait 30-120", "uar service 120-130"}));
  EXPECT_EQ(record.time_of(milestone::doorbell), 120U);
  EXPECT_EQ(record.time_of(milestone::post), 0U) << "its own";
}

TEST_F(tracer_adopt_test, it_may_join_in_the_middle) {
  const trace_ref rung = ring();
  trace_ref mine = trace.open(125, {});
  mine = trace.adopt(mine, rung, milestone::doorbell, cpu, batch);
  EXPECT_EQ(trace.end_of(mine), 130U);
  trace.mark(mine, milestone::cqe_seen);
  EXPECT_EQ(path(*trace.record(mine.message), milestone::post, milestone::cqe_seen),
            (strings{"uar service 125-130"}));
}

TEST_F(tracer_adopt_test, nothing_is_adopted_from_a_message_that_is_over_or_was_not_there) {
  trace_ref mine = trace.service(trace.open(0, {}), cpu, 0, 30);
  EXPECT_EQ(trace.adopt(mine, {}, milestone::doorbell, cpu, batch).span, mine.span);
  const trace_ref rung = ring();
  EXPECT_EQ(trace.adopt(mine, rung, milestone::first_bit, cpu, batch).span, mine.span)
      << "never reached";
  trace.release(rung);
  EXPECT_EQ(trace.adopt(mine, rung, milestone::doorbell, cpu, batch).span, mine.span);
}

}  // namespace
}  // namespace carillon
