// tx_mac under PFC: a paused priority stops at the next frame and nobody else does; its frames go
// in order and before new ones when it may send again; PFC frames go first.
#include <gtest/gtest.h>
#include <vector>

#include "common/pfc_frame.h"
#include "common/stage_bench.h"
#include "tx_mac.h"

namespace carillon {
namespace {

using bench::source;
using bench::stage_bench;
using bench::waited_for;

constexpr std::uint8_t bit(unsigned priority) {
  return static_cast<std::uint8_t>(1U << priority);
}

/// 400 Gb/s: a byte takes 20 ps, preamble, gap and FCS 24 bytes.
class recording_wire final : public frame_sink {
 public:
  struct sent_frame {
    ps_t first_bit;
    std::uint32_t length;
    unsigned priority;
    trace_ref trace;
    bool control;
  };

  [[nodiscard]] ps_t free_at() const override { return free_; }

  void send(frame_item frame, ps_t first_bit) override {
    const ps_t leaves = std::max(first_bit, free_);
    sent.push_back({leaves, frame.length, frame.priority, frame.trace,
                    is_mac_control(frame.bytes.data() + frame.offset, frame.length)});
    free_ = leaves + (frame.length + 24) * BytePs;
  }

  [[nodiscard]] std::vector<unsigned> priorities() const {
    std::vector<unsigned> result;
    for (const sent_frame& each : sent) {
      result.push_back(each.control ? 99 : each.priority);
    }
    return result;
  }

  static constexpr ps_t BytePs = 20;
  std::vector<sent_frame> sent;

 private:
  ps_t free_ = 0;
};

class tx_mac_pause : public testing::TestWithParam<int> {
 protected:
  tx_mac_pause()
      : bench(static_cast<std::uint64_t>(GetParam())),
        in(bench.port<frame_item>("frames", 2000, 66)),
        control(bench.port<frame_item>("control", 16)),
        paused(bench.context.clock, "paused", 0),
        crowded(bench.context.clock, "crowded", 0),
        dut("tx_mac", bench.nic, {in, wire, nullptr, &control, &paused, &crowded}),
        frames("source", bench, in),
        requests("requests", bench, control) {}

  /// Up to cycle t, which has not been.
  void run_to(cycle_t t) { bench.run(t - now_ps() / bench.context.clock.period()); }

  void send(cycle_t t, unsigned priority, std::uint32_t length = 60) {
    frame_item frame;
    frame.bytes = bench.nic.buffers.take();
    frame.length = length;
    frame.priority = static_cast<std::uint8_t>(priority);
    frames.at(t, std::move(frame), beats_of(length));
  }

  /// From cycle t + 1 on.
  void pause(cycle_t t, std::uint8_t priorities) {
    run_to(t);
    paused.write(t, priorities);
  }

  stage_bench bench;
  recording_wire wire;
  stream<frame_item>& in;
  stream<frame_item>& control;
  level<std::uint8_t> paused;
  level<std::uint8_t> crowded;
  tx_mac dut;
  source<frame_item> frames;
  source<frame_item> requests;
};

TEST_P(tx_mac_pause, a_frame_of_a_paused_priority_stays_and_others_pass) {
  pause(5, bit(3));
  send(10, 3);
  send(10, 4);
  send(10, 3);
  send(10, 0);
  run_to(300);
  EXPECT_EQ(wire.priorities(), (std::vector<unsigned>{4, 0}));
  // Taken in 11, the frame of priority 3 costs the port a cycle: the next one leaves in 12 + 20.
  EXPECT_EQ(wire.sent[0].first_bit, 32000U);
  pause(400, 0);
  run_to(600);
  EXPECT_EQ(wire.priorities(), (std::vector<unsigned>{4, 0, 3, 3}));
  EXPECT_EQ(wire.sent[2].first_bit, 421000U);  // 401 + 20
  EXPECT_EQ(waited_for(bench.context.trace, wire.sent[2].trace, "pause"), 390000U);
  bench.context.check_drained();
}

TEST_P(tx_mac_pause, a_frame_that_has_begun_is_not_stopped) {
  send(10, 3, 4170);
  send(10, 3, 4170);
  pause(20, bit(3));
  run_to(1000);
  ASSERT_EQ(wire.sent.size(), 1U);
  EXPECT_EQ(wire.sent[0].first_bit, 31000U);
  pause(1000, 0);
  run_to(2000);
  EXPECT_EQ(wire.sent.size(), 2U);
  bench.context.check_drained();
}

TEST_P(tx_mac_pause, a_frame_is_counted_when_it_goes_and_not_when_it_is_put_aside) {
  pause(5, bit(3));
  send(10, 3, 100);
  send(10, 4, 60);
  run_to(300);
  EXPECT_EQ(bench.count(counter::TxPackets), 1U);
  EXPECT_EQ(bench.count(counter::TxBytes), 60U);
  pause(400, 0);
  run_to(600);
  EXPECT_EQ(bench.count(counter::TxPackets), 2U);
  EXPECT_EQ(bench.count(counter::TxBytes), 160U);
  bench.context.check_drained();
}

TEST_P(tx_mac_pause, what_was_put_aside_goes_before_what_comes) {
  pause(5, bit(3));
  for (unsigned i = 0; i < 4; ++i) {
    send(10, 3, 100 + i);
  }
  pause(100, 0);
  send(101, 3, 200);
  send(101, 5, 201);
  run_to(400);
  std::vector<std::uint32_t> lengths;
  for (const auto& each : wire.sent) {
    lengths.push_back(each.length);
  }
  EXPECT_EQ(lengths, (std::vector<std::uint32_t>{100, 101, 102, 103, 200, 201}));
  for (std::size_t i = 1; i < 4; ++i) {  // back to back
    const auto& before = wire.sent[i - 1];
    EXPECT_EQ(wire.sent[i].first_bit, before.first_bit + (before.length + 24) * 20U);
  }
  bench.context.check_drained();
}

TEST_P(tx_mac_pause, of_several_priorities_that_may_send_again_the_highest_goes_first) {
  pause(5, bit(2) | bit(3) | bit(6));
  send(10, 2);
  send(10, 6);
  send(10, 3);
  pause(100, bit(2));
  run_to(200);
  EXPECT_EQ(wire.priorities(), (std::vector<unsigned>{6, 3}));
  pause(200, 0);
  run_to(300);
  EXPECT_EQ(wire.priorities(), (std::vector<unsigned>{6, 3, 2}));
  bench.context.check_drained();
}

TEST_P(tx_mac_pause, each_priority_can_be_paused_alone) {
  pause(5, 0xff);
  for (unsigned priority = 0; priority < 8; ++priority) {
    send(10, priority);
  }
  for (unsigned priority = 0; priority < 8; ++priority) {
    pause(100 * (priority + 1), static_cast<std::uint8_t>(~bit(priority)));
  }
  run_to(1000);
  EXPECT_EQ(wire.priorities(), (std::vector<unsigned>{0, 1, 2, 3, 4, 5, 6, 7}));
  bench.context.check_drained();
}

// 4096 beats: 62 frames of 66 beats are 4092. The next one waits at the port, and who is behind it.
TEST_P(tx_mac_pause, without_room_aside_the_port_stops) {
  pause(5, bit(3));
  for (unsigned i = 0; i < 63; ++i) {
    send(10, 3, 4170);
  }
  send(10, 4);
  run_to(20000);
  EXPECT_TRUE(wire.sent.empty());
  EXPECT_EQ(in.size(), 2U);
  pause(20000, 0);
  run_to(40000);
  EXPECT_EQ(wire.sent.size(), 64U);
  EXPECT_EQ(wire.sent.back().priority, 4U);
  bench.context.check_drained();
}

// More than 1024 beats aside: 15 frames of 66 are 990, 16 are 1056.
TEST_P(tx_mac_pause, tells_when_more_is_aside_than_new_grants_are_given_for) {
  pause(5, bit(3));
  for (unsigned i = 0; i < 15; ++i) {
    send(10, 3, 4170);
  }
  run_to(3000);
  EXPECT_EQ(crowded.read(3000), 0);
  send(3001, 3, 4170);
  run_to(3200);
  EXPECT_EQ(crowded.read(3200), bit(3));
  pause(3200, 0);
  run_to(3260);  // one has gone
  EXPECT_EQ(crowded.read(3260), 0);
  run_to(10000);
  EXPECT_EQ(wire.sent.size(), 16U);
  bench.context.check_drained();
}

TEST_P(tx_mac_pause, a_pfc_frame_goes_before_all_others_and_no_pause_stops_it) {
  pause(5, bit(3));
  send(10, 3);
  send(10, 4, 4170);
  send(10, 4, 4170);
  pfc request;
  request.enable = bit(3);
  request.quanta[3] = 0xffff;
  requests.at(20, make_pfc_frame(bench.nic.buffers, 0x020000000001, request), 1, false);
  pause(50, 0xff);
  run_to(300);
  ASSERT_EQ(wire.sent.size(), 2U);  // the second big frame came when all were paused
  EXPECT_EQ(wire.priorities(), (std::vector<unsigned>{4, 99}));
  EXPECT_EQ(wire.sent[1].first_bit, wire.sent[0].first_bit + 4194 * 20);
  EXPECT_EQ(bench.count(counter::TxPackets), 1U);
  pause(300, 0);
  run_to(1000);
  EXPECT_EQ(wire.sent.size(), 4U);
  EXPECT_EQ(bench.count(counter::TxPackets), 3U) << "but not the PFC frame";
  bench.context.check_drained();
}

INSTANTIATE_TEST_SUITE_P(shuffle, tx_mac_pause, testing::Values(0, 1, 2));

}  // namespace
}  // namespace carillon
