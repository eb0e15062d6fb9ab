// Queues that are paused for too long, and switches that wait for each other in a circle.
#include "fabric/switch/pause_watchdog.h"
#include "tb/common/switch_bench.h"

namespace carillon::bench {

namespace {

/// A receiver that never stops pausing priority 3, or stops at some time.
struct switch_watchdog : switch_bench {
  static constexpr ps_t Detection = 2 * Millisecond;
  static constexpr ps_t Restoration = Millisecond;
  static constexpr ps_t Again = 200 * Microsecond;  ///< of 335 that a pause lasts
  static constexpr ps_t PauseActs = 64 * ByteTime + Cable + 100'000;
  static constexpr ps_t Pause = 65'535 * 64 * ByteTime;

  ethernet_switch& with_watchdog(watchdog_action action) {
    switch_settings settings = crowded(3);
    settings.watchdog = action;
    settings.watchdog_detection_ps = Detection;
    settings.watchdog_restoration_ps = Restoration;
    return one_switch(settings);
  }

  /// Pauses asked for from 0 to `end`.
  void storm_until(ps_t end) {
    for (ps_t when = 0; when < end; when += Again) {
      at(2).ask_pause(3, LongestPause, when);
    }
  }

  /// From the end of the storm on, when the last pause that was asked for is over.
  static constexpr ps_t over(ps_t end) { return end - Again + PauseActs + Pause; }
};

struct event_log : switch_observer {
  std::vector<switch_event> events;

  void on_event(const switch_event& event) override { events.push_back(event); }

  [[nodiscard]] std::vector<ps_t> times_of(switch_event_kind kind) const {
    std::vector<ps_t> result;
    for (const switch_event& each : events) {
      if (each.kind == kind) {
        result.push_back(each.time);
      }
    }
    return result;
  }
};

}  // namespace

TEST_F(switch_watchdog, when_off_a_storm_stops_a_priority_for_as_long_as_it_lasts) {
  with_watchdog(watchdog_action::off);
  storm_until(10 * Millisecond);
  at(0).stream({.to = 2, .dscp = Lossless}, Microsecond, 50);
  at(1).stream({.to = 2, .dscp = Lossy}, Microsecond, 50);
  run_to(10 * Millisecond);
  EXPECT_EQ(at(2).frames_received, 50U);  // the other priority's
  run_to(20 * Millisecond);
  EXPECT_EQ(at(2).frames_received, 100U);
  EXPECT_GE(at(2).arrivals[50].first_bit, over(10 * Millisecond));
  net->check_drained();
}

// Time begins with the first frame that cannot leave.
TEST_F(switch_watchdog, finds_a_storm_when_frames_were_held_for_the_detection_time) {
  ethernet_switch& under_test = with_watchdog(watchdog_action::drop);
  event_log log;
  under_test.observe(log);
  storm_until(10 * Millisecond);
  at(0).send({.to = 2, .dscp = Lossless}, Millisecond);
  run_to(10 * Millisecond);
  EXPECT_THAT(log.times_of(switch_event_kind::storm),
              testing::ElementsAre(Millisecond + Cable + Lasts + IngressDelay + Detection));
}

TEST_F(switch_watchdog, drops_what_waits_and_what_comes_until_the_storm_is_over) {
  ethernet_switch& under_test = with_watchdog(watchdog_action::drop);
  event_log log;
  under_test.observe(log);
  constexpr ps_t End = 4 * Millisecond;
  storm_until(End);
  for (int i = 0; i < 10; ++i) {
    at(0).send({.to = 2, .dscp = Lossless}, 0);
  }
  const ps_t storm = Cable + Lasts + IngressDelay + Detection;
  run_to(storm - 1);
  EXPECT_EQ(under_test.counters(2).priorities[3].watchdog_discards, 0U);
  run_to(storm + 1);
  EXPECT_EQ(under_test.counters(2).priorities[3].watchdog_discards, 10U);
  EXPECT_TRUE(under_test.buffer().empty());
  at(0).send({.to = 2, .dscp = Lossless}, 3 * Millisecond);
  at(1).send({.to = 2, .dscp = Lossy}, 3 * Millisecond);
  run_to(4 * Millisecond);
  EXPECT_EQ(at(2).frames_received, 1U);
  EXPECT_EQ(at(2).arrivals[0].source(), address(1));
  EXPECT_EQ(under_test.counters(2).priorities[3].watchdog_discards, 11U);
  const ps_t restored = over(End) + Restoration;
  run_to(restored + 1);
  EXPECT_THAT(log.times_of(switch_event_kind::storm_is_over), testing::ElementsAre(restored));
  at(0).send({.to = 2, .dscp = Lossless}, now_ps());
  run_to(restored + Millisecond);
  EXPECT_EQ(at(2).frames_received, 2U);
  EXPECT_EQ(under_test.counters(2).priorities[3].watchdog_storms, 1U);
  EXPECT_EQ(under_test.counters(2).priorities[3].watchdog_restored, 1U);
}

TEST_F(switch_watchdog, that_forwards_lets_frames_go_in_spite_of_the_pause) {
  ethernet_switch& under_test = with_watchdog(watchdog_action::forward);
  storm_until(10 * Millisecond);
  for (int i = 0; i < 10; ++i) {
    at(0).send({.to = 2, .dscp = Lossless}, 0);
  }
  const ps_t storm = Cable + Lasts + IngressDelay + Detection;
  run_to(9 * Millisecond);
  ASSERT_EQ(at(2).frames_received, 10U);
  EXPECT_EQ(at(2).arrivals[0].first_bit, storm + EgressDelay + Cable);
  EXPECT_EQ(under_test.counters(2).priorities[3].watchdog_discards, 0U);
}

// A pause of 335 us every millisecond: no frame waits for long.
TEST_F(switch_watchdog, takes_many_pauses_for_no_storm) {
  ethernet_switch& under_test = with_watchdog(watchdog_action::drop);
  for (unsigned i = 0; i < 10; ++i) {
    at(2).ask_pause(3, LongestPause, i * Millisecond);
    at(0).send({.to = 2, .dscp = Lossless}, i * Millisecond);
  }
  run_to(20 * Millisecond);
  EXPECT_EQ(at(2).frames_received, 10U);
  EXPECT_EQ(under_test.counters(2).priorities[3].watchdog_storms, 0U);
}

// By itself ---------------------------------------------------------------------------------------

TEST(pause_watchdog, a_moment_without_a_pause_starts_the_time_again) {
  pause_watchdog under_test(true, 100, 50);
  EXPECT_TRUE(under_test.observe(0, true, false));
  EXPECT_EQ(under_test.due(), 100U);
  under_test.observe(60, true, true);
  EXPECT_EQ(under_test.look(100, 1000), pause_watchdog::finding::nothing);
  EXPECT_EQ(under_test.due(), 160U);
  EXPECT_EQ(under_test.look(160, 1000), pause_watchdog::finding::storm);
  EXPECT_EQ(under_test.due(), 1050U);
  EXPECT_EQ(under_test.look(1050, 2000), pause_watchdog::finding::nothing);
  EXPECT_EQ(under_test.look(2050, 2000), pause_watchdog::finding::restored);
  EXPECT_EQ(under_test.due(), NeverPs);
}

TEST(pause_watchdog, that_is_off_sees_nothing) {
  pause_watchdog under_test(false, 100, 50);
  EXPECT_FALSE(under_test.observe(0, true, false));
  EXPECT_EQ(under_test.due(), NeverPs);
}

// A circle ----------------------------------------------------------------------------------------

namespace {

/// Three switches in a circle, a host on each (port 0). Every host sends to the one behind the next
/// switch, all the same way round, so that each cable carries two flows and each switch waits for
/// the next one.
struct circle : switch_bench {
  std::vector<std::unique_ptr<ethernet_switch>> switches;

  void build(watchdog_action action) {
    switch_settings settings = crowded(3);
    settings.watchdog = action;
    settings.watchdog_detection_ps = 2 * Millisecond;
    settings.watchdog_restoration_ps = Millisecond;
    for (unsigned i = 0; i < 3; ++i) {
      switches.push_back(std::make_unique<ethernet_switch>(("switch" + std::to_string(i)).c_str(),
                                                           context, settings));
      stations.push_back(std::make_unique<station>(context, pool, i, settings.ports[0]));
      stations.back()->wire.connect(switches[i]->wire(0));
    }
    for (unsigned i = 0; i < 3; ++i) {
      switches[i]->wire(1).connect(switches[(i + 1) % 3]->wire(2));
      for (unsigned host = 0; host < 3; ++host) {
        switches[i]->add_route(address(host), {host == i ? 0U : 1U});
      }
    }
  }

  static constexpr std::uint64_t Each = 5000;

  void send_around() {
    for (unsigned i = 0; i < 3; ++i) {
      at(i).keeps = false;
      at(i).stream({.to = (i + 2) % 3, .dscp = Lossless}, now_ps() + 1, Each);
    }
  }

  [[nodiscard]] std::uint64_t received() const {
    std::uint64_t sum = 0;
    for (const auto& each : stations) {
      sum += each->frames_received;
    }
    return sum;
  }

  [[nodiscard]] std::uint64_t dropped() {
    std::uint64_t sum = 0;
    for (const auto& each : switches) {
      for (std::uint32_t port = 0; port < 3; ++port) {
        sum += each->counters(port).priorities[3].watchdog_discards;
      }
      sum += discards(*each);
    }
    return sum;
  }
};

}  // namespace

TEST_F(circle, of_full_buffers_stands_still_for_ever_without_a_watchdog) {
  build(watchdog_action::off);
  send_around();
  run_to(10 * Millisecond);
  const std::uint64_t before = received();
  EXPECT_GT(before, 0U);
  EXPECT_LT(before, 3 * Each);
  run_to(50 * Millisecond);
  EXPECT_EQ(received(), before);
  EXPECT_EQ(dropped(), 0U);
  for (const auto& each : switches) {
    EXPECT_TRUE(each->egress(1).paused(3, now_ps()));
    EXPECT_GT(each->egress(1).queue_bytes(3), 0U);
  }
}

TEST_F(circle, of_full_buffers_is_broken_by_the_watchdog) {
  build(watchdog_action::drop);
  send_around();
  run_to(100 * Millisecond);
  std::uint64_t storms = 0;
  for (const auto& each : switches) {
    storms += each->counters(1).priorities[3].watchdog_storms;
    EXPECT_FALSE(each->egress(1).storm(3));
    EXPECT_FALSE(each->egress(1).paused(3, now_ps()));
    each->check_drained();
  }
  EXPECT_GT(storms, 0U);
  EXPECT_GT(dropped(), 0U);
  EXPECT_EQ(received() + dropped(), 3 * Each);
  // And it works as before.
  const std::uint64_t before = received();
  for (unsigned i = 0; i < 3; ++i) {
    at(i).send({.to = (i + 2) % 3, .dscp = Lossless}, now_ps());
  }
  run_to(101 * Millisecond);
  EXPECT_EQ(received(), before + 3);
}

TEST_F(circle, of_full_buffers_also_moves_again_if_pauses_are_ignored_for_a_while) {
  build(watchdog_action::forward);
  send_around();
  run_to(200 * Millisecond);
  for (const auto& each : switches) {
    each->check_drained();
  }
  EXPECT_EQ(received() + dropped(), 3 * Each);
}

}  // namespace carillon::bench
