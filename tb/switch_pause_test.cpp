// PFC in both directions, and the headroom that makes it lossless.
#include <algorithm>

#include "tb/common/switch_bench.h"

namespace carillon::bench {

namespace {

using switch_pause = switch_bench;

constexpr ps_t PauseFrame = 64 * ByteTime;
constexpr ps_t Response = 100'000;  ///< of the switch

/// When a pause asked for at `sent` acts in the switch.
constexpr ps_t acts(ps_t sent) {
  return sent + PauseFrame + Cable + Response;
}

/// Of an egress: a frame that is chosen then reaches the station so much later.
constexpr ps_t ChosenToSeen = EgressDelay + Cable;

/// Times at which frames were chosen in the switch.
std::vector<ps_t> chosen(const station& at) {
  std::vector<ps_t> result = at.first_bits();
  for (ps_t& each : result) {
    each -= ChosenToSeen;
  }
  return result;
}

}  // namespace

// Pauses that the switch obeys --------------------------------------------------------------------

// 100 quanta: 512 ns. The frame that is on the wire is finished, the next one is not begun, and the
// first one afterwards is chosen when the pause ends.
TEST_F(switch_pause, a_queue_stops_at_a_packet_boundary_and_goes_on_when_its_time_is_over) {
  ethernet_switch& under_test = one_switch(2);
  at(0).stream({.to = 1, .dscp = Lossless}, 0, 40);
  constexpr ps_t Asked = Microsecond + 12'345;
  at(1).ask_pause(3, 100, Asked);
  run_to(10 * Microsecond);
  const std::vector<ps_t> times = chosen(at(1));
  ASSERT_EQ(times.size(), 40U);
  std::size_t gap = 1;
  while (gap < times.size() && times[gap] == times[gap - 1] + Slot) {
    ++gap;
  }
  ASSERT_LT(gap, times.size());
  EXPECT_LT(times[gap - 1], acts(Asked));
  EXPECT_GE(times[gap - 1] + Slot, acts(Asked));
  EXPECT_EQ(times[gap], acts(Asked) + 512'000);
  for (std::size_t i = gap + 1; i < times.size(); ++i) {
    EXPECT_EQ(times[i], times[i - 1] + Slot);
  }
  const priority_counters& counters = under_test.counters(1).priorities[3];
  EXPECT_EQ(counters.rx_pause, 1U);
  EXPECT_EQ(counters.rx_pause_transitions, 1U);
  EXPECT_EQ(counters.rx_pause_ps, 512'000U);
  net->check_drained();
}

TEST_F(switch_pause, other_priorities_go_on) {
  one_switch(3);
  at(0).stream({.to = 2, .dscp = Lossless}, 0, 100);
  at(1).stream({.to = 2, .dscp = Lossy}, 0, 100);
  at(2).ask_pause(3, LongestPause, 0);
  run_to(100 * Microsecond);
  EXPECT_EQ(at(2).frames_received, 100U);
  for (const received& each : at(2).arrivals) {
    EXPECT_EQ(each.source(), address(1));
  }
}

TEST_F(switch_pause, zero_quanta_let_a_queue_go_on_at_once) {
  ethernet_switch& under_test = one_switch(2);
  at(0).send({.to = 1, .dscp = Lossless}, 0);
  at(1).ask_pause(3, LongestPause, 0);
  constexpr ps_t Resumed = 5 * Microsecond;
  at(1).ask_pause(3, 0, Resumed);
  run_to(10 * Microsecond);
  EXPECT_THAT(chosen(at(1)), testing::ElementsAre(acts(Resumed)));
  EXPECT_EQ(under_test.counters(1).priorities[3].rx_pause, 2U);
  EXPECT_EQ(under_test.counters(1).priorities[3].rx_pause_ps, Resumed);
}

// The later request counts from when it acts.
TEST_F(switch_pause, a_pause_that_is_asked_for_again_goes_on) {
  ethernet_switch& under_test = one_switch(2);
  at(0).send({.to = 1, .dscp = Lossless}, 0);
  at(1).ask_pause(3, 200, 0);
  at(1).ask_pause(3, 200, 900'000);
  run_to(10 * Microsecond);
  EXPECT_THAT(chosen(at(1)), testing::ElementsAre(acts(900'000) + 200 * 512 * 10));
  EXPECT_EQ(under_test.counters(1).priorities[3].rx_pause_transitions, 1U);
}

TEST_F(switch_pause, a_priority_that_is_not_enabled_in_a_request_is_left_alone) {
  one_switch(2);
  pfc request;
  request.enable = 0;
  request.quanta[3] = LongestPause;
  at(1).wire.send(make_pfc_frame(pool, 1, request), 0);
  at(0).send({.to = 1, .dscp = Lossless}, 0);
  run_to(Microsecond);
  EXPECT_EQ(at(1).frames_received, 1U);
}

TEST_F(switch_pause, a_link_wide_pause_and_a_damaged_request_are_ignored) {
  ethernet_switch& under_test = one_switch(2);
  pfc request;
  request.enable = 8;
  request.quanta[3] = LongestPause;
  frame_item damaged = make_pfc_frame(pool, 1, request);
  damaged.fcs ^= 1;
  damaged.fcs_known = false;
  frame_item global = make_pfc_frame(pool, 1, request);
  global.bytes.data()[14] = 0;
  global.bytes.data()[15] = GlobalPauseOpcode;
  at(1).wire.send(damaged, 0);
  at(1).wire.send(global, 0);
  at(0).send({.to = 1, .dscp = Lossless}, 0);
  run_to(Microsecond);
  EXPECT_EQ(at(1).frames_received, 1U);
  EXPECT_EQ(under_test.counters(1).rx_crc_errors, 1U);
  EXPECT_EQ(under_test.counters(1).rx_mac_control, 1U);
  EXPECT_EQ(at(0).requests.size(), 0U);
}

TEST_F(switch_pause, the_history_of_a_paused_frame_tells_the_pause_from_the_queue) {
  one_switch(2);
  const trace_ref message = context.trace.open(0, {});
  at(0).send({.to = 1, .dscp = Lossless}, 0);
  frame_item frame = make_frame(pool, 0, {.to = 1, .dscp = Lossless});
  frame.trace = message;
  at(0).wire.send(frame, 0);
  at(1).ask_pause(3, 200, 0);
  run_to(10 * Microsecond);
  ps_t paused = 0;
  ps_t queued = 0;
  for (const span& each : context.trace.record(message.message)->spans) {
    const std::string& reason = context.trace.name(each.reason);
    paused += reason == "pause" ? each.end - each.begin : 0;
    queued += reason == "queue" ? each.end - each.begin : 0;
  }
  const ps_t came = Slot + Lasts + Cable + IngressDelay;
  EXPECT_EQ(paused, acts(0) + 200 * 512 * 10 - came);
  EXPECT_EQ(queued, Slot);
}

// Pauses that the switch asks for -----------------------------------------------------------------

TEST_F(switch_pause, a_full_account_asks_its_sender_to_stop_and_an_empty_one_to_go_on) {
  ethernet_switch& under_test = one_switch(crowded(3));
  at(0).stream({.to = 2, .dscp = Lossless}, 0, 1000);
  at(1).stream({.to = 2, .dscp = Lossless}, 0, 1000);
  run_to(Millisecond);
  EXPECT_EQ(at(2).frames_received, 2000U);
  EXPECT_EQ(discards(under_test), 0U);
  ASSERT_GE(at(0).requests.size(), 2U);
  const pfc& first = at(0).requests.front().second;
  EXPECT_EQ(first.enable, 8U);
  EXPECT_EQ(first.quanta[3], LongestPause);
  EXPECT_EQ(at(0).requests.back().second.quanta[3], 0U);
  const priority_counters& counters = under_test.counters(0).priorities[3];
  EXPECT_EQ(counters.tx_pause, at(0).requests.size());
  EXPECT_GE(counters.tx_xoff, 1U);
  EXPECT_GT(counters.max_headroom_bytes, 0U);
  EXPECT_TRUE(at(2).requests.empty());
  net->check_drained();
}

// The account is alpha / (1 + alpha) of the shared part: half of 200000, 99 frames of 1002 bytes
// (the 100th needs 100200 <= 200000 - 99198); the 100th, to come, goes to the headroom.
TEST_F(switch_pause, the_request_leaves_when_the_threshold_is_crossed) {
  one_switch(crowded(2));
  at(1).ask_pause(3, LongestPause, 0);
  at(0).stream({.to = 1, .dscp = Lossless}, Microsecond);
  at(0).obeys = false;
  run_to(20 * Microsecond);
  ASSERT_FALSE(at(0).requests.empty());
  const ps_t crossed = Microsecond + 100 * Slot + Lasts + Cable + IngressDelay;
  EXPECT_EQ(at(0).requests.front().first, crossed + PauseFrame + Cable);
}

// A quarter of the longest pause, 16384 quanta, lasts 83.88608 us: it is asked for again when half
// of it is over, as long as the account does not empty.
TEST_F(switch_pause, a_pause_is_asked_for_again_when_half_of_it_is_over) {
  switch_settings settings = crowded(2);
  settings.pause_quanta = 16'384;
  one_switch(settings);
  at(1).ask_pause(3, LongestPause, 0);
  at(0).stream({.to = 1, .dscp = Lossless}, 0);
  run_to(300 * Microsecond);
  ASSERT_GE(at(0).requests.size(), 6U);
  for (std::size_t i = 1; i < 6; ++i) {
    EXPECT_EQ(at(0).requests[i].first - at(0).requests[i - 1].first, 16'384U * 64 * ByteTime / 2);
    EXPECT_EQ(at(0).requests[i].second.quanta[3], 16'384U);
  }
}

TEST_F(switch_pause, a_lossy_priority_is_never_paused_but_dropped) {
  ethernet_switch& under_test = one_switch(crowded(3));
  at(0).stream({.to = 2, .dscp = Lossy}, 0, 1000);
  at(1).stream({.to = 2, .dscp = Lossy}, 0, 1000);
  run_to(Millisecond);
  EXPECT_TRUE(at(0).requests.empty());
  EXPECT_GT(discards(under_test), 0U);
  EXPECT_EQ(at(2).frames_received + discards(under_test), 2000U);
  net->check_drained();
}

// Headroom ----------------------------------------------------------------------------------------

namespace {

struct overload {
  std::uint64_t rate_gbps;
  std::uint64_t metres;
  std::uint32_t length;
  switch_forwarding forwarding = switch_forwarding::store_and_forward;
};

std::ostream& operator<<(std::ostream& out, const overload& what) {
  return out << what.rate_gbps << " Gb/s, " << what.metres << " m, " << what.length << " bytes, "
             << (what.forwarding == switch_forwarding::cut_through ? "cut through" : "stored");
}

/// Four senders that stop at the latest moment allowed overload one port, while as much as fits
/// comes back to them, so that PFC frames have to wait for the longest frames.
struct headroom_suffices : switch_bench, testing::WithParamInterface<overload> {
  ethernet_switch& overloaded(std::uint64_t peer_response_quanta = 0) {
    const overload& what = GetParam();
    switch_settings settings = crowded(6);
    settings.forwarding = what.forwarding;
    settings.peer_response_quanta = peer_response_quanta;
    settings.buffer_bytes = 100'000;
    for (switch_port_settings& each : settings.ports) {
      each.rate_gbps = what.rate_gbps;
      each.cable_delay_ps = cable_delay(what.metres);
      settings.buffer_bytes += headroom_bytes(settings, each);
    }
    ethernet_switch& result = one_switch(settings);
    for (unsigned i = 0; i < 4; ++i) {
      at(i).keeps = false;
      at(i).stream({.to = 5, .dscp = Lossless, .length = what.length}, i * 1234);
    }
    at(5).keeps = false;
    at(4).keeps = false;
    // Now and then the port is blocked, so that nothing leaves while all this comes.
    for (ps_t now = round() / 2; now < duration(); now += round()) {
      at(5).ask_pause(3, LongestPause, now);
      at(5).ask_pause(3, 0, now + round() / 2);
    }
    // What comes back goes to all four by flooding.
    at(4).stream({.to = 77, .dscp = Lossy, .length = 4218}, 0);
    return result;
  }

  /// Long enough for the port to be blocked, and all senders with it, and for these to come again:
  /// 160000 bytes and four times the cable.
  [[nodiscard]] ps_t round() const {
    return 1'280'000'000 / GetParam().rate_gbps + 4 * cable_delay(GetParam().metres);
  }

  [[nodiscard]] ps_t duration() const { return 6 * round(); }
};

}  // namespace

TEST_P(headroom_suffices, at_every_rate_length_of_cable_and_size_of_frame) {
  ethernet_switch& under_test = overloaded();
  run_to(duration());
  std::uint64_t xoffs = 0;
  std::uint64_t most = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const priority_counters& counters = under_test.counters(i).priorities[3];
    EXPECT_EQ(counters.rx_discards, 0U) << "port " << i;
    EXPECT_LE(counters.max_headroom_bytes, under_test.buffer().headroom(i, 3));
    xoffs += counters.tx_xoff;
    most = std::max(most, counters.max_headroom_bytes);
  }
  EXPECT_GE(xoffs, 8U);
  EXPECT_GT(most, under_test.buffer().headroom(0, 3) / 2) << "nothing was shown";
  EXPECT_GT(at(5).frames_received, 100U);
  EXPECT_GT(at(0).frames_received, 100U);
}

// The same senders lose frames if the headroom does not allow for their response.
using headroom_without_response = headroom_suffices;

TEST_P(headroom_without_response, does_not_suffice) {
  ethernet_switch& under_test = overloaded(1);
  run_to(duration());
  std::uint64_t lost = 0;
  for (unsigned i = 0; i < 4; ++i) {
    lost += under_test.counters(i).priorities[3].rx_headroom_discards;
  }
  EXPECT_GT(lost, 0U);
}

INSTANTIATE_TEST_SUITE_P(overloads, headroom_suffices,
                         testing::Values(overload{100, 0, 4218}, overload{100, 1, 58},
                                         overload{100, 5, 998}, overload{100, 100, 4218},
                                         overload{100, 1000, 998}, overload{100, 10'000, 4218},
                                         overload{10, 5, 4218}, overload{25, 300, 1518},
                                         overload{40, 40, 998}, overload{400, 5, 4218},
                                         overload{400, 300, 998},
                                         overload{100, 5, 4218, switch_forwarding::cut_through},
                                         overload{400, 300, 998, switch_forwarding::cut_through}));

// Where the response is more than the rest allows for.
INSTANTIATE_TEST_SUITE_P(overloads, headroom_without_response,
                         testing::Values(overload{100, 0, 4218}, overload{100, 5, 998},
                                         overload{100, 1000, 998}, overload{400, 5, 4218},
                                         overload{400, 300, 998},
                                         overload{100, 5, 4218, switch_forwarding::cut_through}));

}  // namespace carillon::bench
