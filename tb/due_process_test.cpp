// Simulated time with and without the SystemC kernel: the same calls at the same instants.
#include "common/due_process.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include <systemc>

#include "common/clock.h"
#include "common/error.h"
#include "common/run.h"
#include "common/timeline.h"

namespace carillon {
namespace {

/// Wakes itself and asks for callbacks, some of them on an edge of the clock.
class due_process_test : public testing::Test {
 protected:
  struct worker : clocked, timed {
    explicit worker(due_process_test& owner) : timed(owner.line), test(owner) {}

    void on_cycle(cycle_t t) override {
      test.note("cycle " + std::to_string(t));
      if (t < 5000) {
        test.clock.wake(*this, t + 1 + t % 3 * 700);
        test.line.at(now_ps() + 1500, *this);
      }
    }

    void on_time(ps_t now, std::uint64_t /*what*/) override {
      EXPECT_EQ(now, now_ps());
      test.note("time");
      if (test.fail_at != 0 && now >= test.fail_at) {
        throw config_error("as asked");
      }
    }

    [[nodiscard]] std::string path() const override { return "worker"; }

    due_process_test& test;
  };

  void note(const std::string& what) { log.push_back(what + " @ " + std::to_string(now_ps())); }

  /// What the worker does, from its own rules: instants in order, cycles of 1000 ps.
  static std::vector<std::string> expected() {
    struct event {
      ps_t when;
      std::string what;
    };

    std::vector<event> events;
    for (cycle_t t = 1;; t += 1 + t % 3 * 700) {
      events.push_back({t * 1000, "cycle " + std::to_string(t)});
      if (t >= 5000) {
        break;
      }
      events.push_back({t * 1000 + 1500, "time"});
    }
    std::stable_sort(events.begin(), events.end(),
                     [](const event& a, const event& b) { return a.when < b.when; });
    std::vector<std::string> result;
    for (const event& each : events) {
      result.push_back(each.what + " @ " + std::to_string(each.when));
    }
    return result;
  }

  core_clock clock{"clock", 1000};
  timeline line{"line"};
  worker only{*this};
  std::vector<std::string> log;
  ps_t fail_at = 0;
};

/// A process that is none of ours; it ticks every 1234 ps, ten times.
struct stranger : sc_core::sc_module {
  SC_HAS_PROCESS(stranger);

  explicit stranger(const sc_core::sc_module_name& name) : sc_core::sc_module(name) {
    SC_METHOD(tick);
  }

  void tick() {
    seen.push_back(now_ps());
    EXPECT_EQ(now_ps(), sc_core::sc_time_stamp().value());
    if (seen.size() < 10) {
      next_trigger(sc_core::sc_time::from_value(1234));
    }
  }

  std::vector<ps_t> seen;
};

TEST_F(due_process_test, alone_they_do_without_the_kernel) {
  clock.wake(only, 1);
  run_simulation();
  EXPECT_EQ(log, expected());
  EXPECT_EQ(clock.activations() + line.activations(), 0U);
}

TEST_F(due_process_test, the_kernel_makes_the_same_of_it) {
  clock.wake(only, 1);
  sc_core::sc_start();
  EXPECT_EQ(log, expected());
  EXPECT_GT(clock.activations(), 0U);
}

TEST_F(due_process_test, beside_another_process_they_stay_with_the_kernel) {
  stranger other("other");
  EXPECT_FALSE(due_process::alone());
  clock.wake(only, 1);
  run_simulation();
  EXPECT_EQ(log, expected());
  EXPECT_GT(clock.activations(), 0U);
  ASSERT_EQ(other.seen.size(), 10U);
  EXPECT_EQ(other.seen.back(), 9U * 1234U);
}

TEST_F(due_process_test, time_stands_where_it_stopped) {
  clock.wake(only, 5001);
  run_simulation();
  EXPECT_EQ(now_ps(), 5'001'000U);
}

TEST_F(due_process_test, a_failure_keeps_its_type_either_way) {
  fail_at = 1;
  clock.wake(only, 1);
  EXPECT_THROW(run_simulation(), config_error);
}

TEST_F(due_process_test, a_failure_keeps_its_type_under_the_kernel) {
  stranger other("other");
  fail_at = 1;
  clock.wake(only, 1);
  EXPECT_THROW(run_simulation(), config_error);
}

}  // namespace
}  // namespace carillon
