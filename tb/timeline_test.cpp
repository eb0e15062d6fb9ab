// The timeline outside the core clock: callbacks in the order (time, port, sequence).
#include "common/timeline.h"

#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include <systemc>

#include "common/clock.h"
#include "common/error.h"
#include "common/stream_bench.h"

namespace carillon {
namespace {

class timeline_test : public testing::Test {
 protected:
  /// Notes its letter, the cookie and the time.
  struct port : timed {
    port(timeline_test& owner, char name) : timed(owner.line), test(owner), letter(name) {}

    void on_time(ps_t now, std::uint64_t what) override {
      test.log.push_back(letter + std::to_string(what) + "@" + std::to_string(now));
      if (then) {
        then(what);
      }
    }

    timeline_test& test;
    char letter;
    std::function<void(std::uint64_t)> then;
  };

  void run(ps_t until) { sc_core::sc_start(sc_core::sc_time::from_value(until)); }

  using strings = std::vector<std::string>;
  timeline line{"line"};
  strings log;
  port a{*this, 'a'};
  port b{*this, 'b'};
};

TEST_F(timeline_test, time_comes_first) {
  line.at(30, a, 1);
  line.at(10, b, 2);
  line.at(20, a, 3);
  run(100);
  EXPECT_EQ(log, (strings{"b2@10", "a3@20", "a1@30"}));
  EXPECT_EQ(line.callbacks(), 3U);
  EXPECT_TRUE(line.idle());
}

TEST_F(timeline_test, a_timer_is_called_like_the_rest_but_is_not_the_last_thing_that_happened) {
  line.timer(20, a, 1);
  line.at(20, a, 2);
  line.timer(50, a, 3);
  run(100);
  EXPECT_EQ(log, (strings{"a1@20", "a2@20", "a3@50"}));
  EXPECT_EQ(line.last(), 20U);
}

TEST_F(timeline_test,
       then_the_rank_in_which_receivers_were_registered_then_the_sequence_of_asking) {
  line.at(10, b, 1);
  line.at(10, a, 2);
  line.at(10, b, 3);
  line.at(10, a, 4);
  run(100);
  EXPECT_EQ(log, (strings{"a2@10", "a4@10", "b1@10", "b3@10"}));
  EXPECT_EQ(line.activations(), 1U) << "one activation serves an instant";
}

TEST_F(timeline_test, a_callback_may_ask_for_the_same_instant) {
  b.then = [&](std::uint64_t what) {
    if (what == 1) {
      line.at(10, a, 7);
    }
  };
  line.at(10, b, 1);
  line.at(10, b, 2);
  run(100);
  EXPECT_EQ(log, (strings{"b1@10", "a7@10", "b2@10"}));
}

TEST_F(timeline_test, an_earlier_request_overtakes_what_was_scheduled) {
  line.at(50, a, 1);
  run(20);
  line.at(30, b, 2);
  run(100);
  EXPECT_EQ(log, (strings{"b2@30", "a1@50"}));
}

TEST_F(timeline_test, now_is_allowed_the_past_is_not) {
  line.at(0, a, 1);
  run(20);
  line.at(20, a, 2);
  EXPECT_THROW(line.at(19, a), model_error);
  run(1);
  EXPECT_EQ(log, (strings{"a1@0", "a2@20"}));
}

}  // namespace
}  // namespace carillon
