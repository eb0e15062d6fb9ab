// rx_mac: frames enter the core with their last bit, wait for the edge, and leave 20 cycles later,
// in order; those of the NIC itself enter with their last beat.
#include "rx_mac.h"

#include <algorithm>
#include <array>
#include <gtest/gtest.h>

#include "common/roce_packet.h"
#include "common/stage_bench.h"

namespace carillon {
namespace {

using bench::chain_of;
using bench::sink;
using bench::source;
using bench::stage_bench;
using bench::waited_for;

class rx_mac_bench : public testing::TestWithParam<int> {
 protected:
  explicit rx_mac_bench(const parameters& params = {})
      : bench(static_cast<std::uint64_t>(GetParam()), params),
        out(bench.port<frame_item>("nic.rx_mac.frames", stage_spec::rx_mac::Depth,
                                   stage_spec::rx_mac::MaxBeats)),
        loopback(bench.port<frame_item>("nic.packet_builder.loopback",
                                        stage_spec::packet_builder::Depth,
                                        stage_spec::packet_builder::MaxBeats)),
        dut("rx_mac", bench.nic, {loopback, out}),
        builder("packet_builder", bench, loopback) {}

  /// A frame of `length` bytes whose last bit arrives at `last_bit`; its message begins with its
  /// first bit.
  void arrive(std::uint32_t length, ps_t first_bit, ps_t last_bit, bool good = true,
              bool known = false) {
    frame_item frame;
    frame.bytes = bench.nic.buffers.take();
    frame.length = length;
    for (std::uint32_t i = 0; i < length; ++i) {
      frame.bytes.data()[i] = static_cast<std::uint8_t>(i * 7);
    }
    frame.fcs = fcs_of_frame(frame.bytes.data(), length);
    frame.fcs_known = known;
    if (!good) {
      frame.bytes.data()[length / 2] ^= 1;
    }
    const trace_ref opened = bench.context.trace.open(first_bit, {});
    frame.trace = bench.context.trace.flight(opened, bench.context.trace.site("wire", "wire"),
                                             first_bit, last_bit);
    dut.on_frame(std::move(frame), first_bit, last_bit);
  }

  /// A frame of `length` bytes as packet_builder makes it.
  frame_item looped(std::uint32_t length) {
    frame_item frame;
    frame.bytes = bench.nic.buffers.take();
    frame.length = length;
    std::fill_n(frame.bytes.data(), length, std::uint8_t{0x5a});
    frame.fcs = fcs_of_frame(frame.bytes.data(), length);
    frame.looped = true;
    return frame;
  }

  stage_bench bench;
  stream<frame_item>& out;
  stream<frame_item>& loopback;
  rx_mac dut;
  source<frame_item> builder;
};

TEST_P(rx_mac_bench, a_frame_is_visible_20_cycles_after_the_edge_behind_its_last_bit) {
  sink<frame_item> parser("parser", bench, out);
  arrive(64, 1000, 5300);    // 5.3 ns: enters in cycle 6
  arrive(64, 40000, 50000);  // exactly on an edge: enters in cycle 51
  bench.run(200);
  ASSERT_EQ(parser.items.size(), 2U);
  EXPECT_EQ(parser.items[0].visible, 26U);
  EXPECT_EQ(parser.items[1].visible, 71U);
  EXPECT_EQ(waited_for(bench.context.trace, parser.items[0].item.trace, "clock_sync"), 700U);
  EXPECT_EQ(waited_for(bench.context.trace, parser.items[1].item.trace, "clock_sync"), 1000U);
  EXPECT_EQ(bench.count(counter::RxPackets), 2U);
  EXPECT_EQ(bench.count(counter::RxBytes), 128U);
  bench.context.check_drained();
}

TEST_P(rx_mac_bench, beats_of_frames_do_not_overlap) {
  sink<frame_item> parser("parser", bench, out);
  arrive(640, 0, 3500);    // cycle 4: beats in 24..33
  arrive(64, 3600, 4500);  // cycle 5: port busy until 34
  bench.run(200);
  ASSERT_EQ(parser.items.size(), 2U);
  EXPECT_EQ(parser.items[0].visible, 24U);
  EXPECT_EQ(parser.items[1].visible, 34U);
  EXPECT_EQ(waited_for(bench.context.trace, parser.items[1].item.trace, "order"), 9000U);
  bench.context.check_drained();
}

TEST_P(rx_mac_bench, a_wrong_fcs_is_dropped_unless_nobody_touched_the_frame) {
  sink<frame_item> parser("parser", bench, out);
  arrive(100, 0, 900, false);
  arrive(100, 1000, 1900, false, true);  // vouched for: not looked at
  arrive(100, 2000, 2900);
  bench.run(200);
  EXPECT_EQ(parser.items.size(), 2U);
  EXPECT_EQ(bench.count(counter::RxDropFcs), 1U);
  EXPECT_EQ(bench.nic.buffers.in_use(), 2U);
  bench.context.check_drained();
}

TEST_P(rx_mac_bench, a_frame_longer_than_the_largest_packet_is_dropped) {
  sink<frame_item> parser("parser", bench, out);
  arrive(14 + 4200 + 1, 0, 900);  // the Ethernet MTU is 4200
  arrive(14 + 4200, 1000, 1900);
  bench.run(200);
  EXPECT_EQ(parser.items.size(), 1U);
  EXPECT_EQ(bench.count(counter::RxDropOversize), 1U);
  bench.context.check_drained();
}

class rx_mac_small_buffer : public rx_mac_bench {
 protected:
  static parameters small() {
    parameters params;
    params.nic.rx_buffer_bytes = 8448;
    return params;
  }

  rx_mac_small_buffer() : rx_mac_bench(small()) {}
};

TEST_P(rx_mac_small_buffer, overflow_drops_and_counts) {
  // Nobody takes before cycle 1000: two 4160-byte frames (65 beats) fit the output of 132 beats,
  // two the buffer of 8448 bytes.
  sink<frame_item> parser("parser", bench, out, 1000);
  for (ps_t i = 0; i < 6; ++i) {
    arrive(4160, i * 100000 + 1, i * 100000 + 90000);
  }
  bench.run(6000);
  EXPECT_EQ(parser.items.size(), 4U);
  EXPECT_EQ(bench.count(counter::RxDropBuffer), 2U);
  EXPECT_GT(waited_for(bench.context.trace, parser.items[2].item.trace, "credit:nic.rx_mac.frames"),
            0U);
  bench.context.check_drained();
}

// A looped frame that is pushed in cycle 10 is taken from 11 on, a beat a cycle.

TEST_P(rx_mac_bench, a_looped_frame_is_visible_20_cycles_after_its_last_beat) {
  sink<frame_item> parser("parser", bench, out);
  builder.at(10, looped(138), 3);  // last beat in 13
  builder.at(40, looped(64), 1);   // its only beat in 41
  bench.run(200);
  ASSERT_EQ(parser.items.size(), 2U);
  EXPECT_EQ(parser.items[0].visible, 33U);
  EXPECT_EQ(parser.items[1].visible, 61U);
  EXPECT_TRUE(parser.items[0].item.looped);
  for (const auto& each : parser.items) {
    for (const span& part : chain_of(bench.context.trace, each.item.trace)) {
      EXPECT_EQ(part.kind, span_kind::service) << "neither flight nor wait";
    }
  }
  EXPECT_EQ(bench.count(counter::RxPackets), 2U);
  EXPECT_EQ(bench.count(counter::RxBytes), 202U);
  bench.context.check_drained();
}

TEST_P(rx_mac_bench, of_two_frames_of_a_cycle_the_one_from_the_wire_goes_first) {
  sink<frame_item> parser("parser", bench, out);
  builder.at(10, looped(138), 3);  // enters in 13
  arrive(640, 5000, 12500);        // enters in 13: 10 beats in 33..42
  bench.run(200);
  ASSERT_EQ(parser.items.size(), 2U);
  EXPECT_EQ(parser.items[0].item.length, 640U);
  EXPECT_EQ(parser.items[0].visible, 33U);
  EXPECT_EQ(parser.items[1].visible, 43U);
  EXPECT_EQ(waited_for(bench.context.trace, parser.items[1].item.trace, "order"), 10000U);
  bench.context.check_drained();
}

TEST_P(rx_mac_bench, frames_leave_in_the_order_in_which_they_are_whole) {
  sink<frame_item> parser("parser", bench, out);
  builder.at(10, looped(4160), 65);  // begins in 11, enters in 75
  arrive(64, 20000, 21500);          // enters in 22
  arrive(65, 70000, 75000);          // enters in 76
  builder.at(75, looped(66), 2);     // begins in 76, enters in 77
  bench.run(400);
  ASSERT_EQ(parser.items.size(), 4U);
  const std::array<std::uint32_t, 4> lengths = {64, 4160, 65, 66};
  for (unsigned i = 0; i < 4; ++i) {
    EXPECT_EQ(parser.items[i].item.length, lengths[i]) << i;
  }
  EXPECT_EQ(parser.items[1].visible, 95U);
  EXPECT_EQ(parser.items[2].visible, 160U);
  bench.context.check_drained();
}

TEST_P(rx_mac_bench, looped_frames_that_are_not_sound_are_dropped_like_others) {
  sink<frame_item> parser("parser", bench, out);
  builder.at(10, looped(14 + 4200 + 1), 66);  // the Ethernet MTU is 4200
  frame_item damaged = looped(100);
  damaged.fcs ^= 1;
  builder.at(100, std::move(damaged), 2);
  bench.run(300);
  EXPECT_TRUE(parser.items.empty());
  EXPECT_EQ(bench.count(counter::RxDropOversize), 1U);
  EXPECT_EQ(bench.count(counter::RxDropFcs), 1U);
  EXPECT_EQ(bench.nic.buffers.in_use(), 0U);
  bench.context.check_drained();
}

TEST_P(rx_mac_small_buffer, what_loops_is_taken_and_dropped_while_nothing_can_leave) {
  // As above: two frames fit the output, two the buffer. The other six are dropped, and not one of
  // them waits at the port: 65 beats each, in 11..75, 76..140 and so on.
  sink<frame_item> parser("parser", bench, out, 1000);
  for (unsigned i = 0; i < 10; ++i) {
    builder.at(10, looped(4160), 65);
  }
  bench.run(990);
  EXPECT_EQ(bench.count(counter::RxPackets), 10U);
  EXPECT_EQ(bench.count(counter::RxDropBuffer), 6U);
  EXPECT_EQ(loopback.busy_until(), 11U + 10 * 65);
  bench.run(6000);
  EXPECT_EQ(parser.items.size(), 4U);
  bench.context.check_drained();
}

class rx_mac_tiny_buffer : public rx_mac_bench {
 protected:
  static parameters tiny() {
    parameters params;
    params.nic.rx_buffer_bytes = 200;
    return params;
  }

  rx_mac_tiny_buffer() : rx_mac_bench(tiny()) {}
};

TEST_P(rx_mac_tiny_buffer, the_last_room_is_for_the_frame_from_the_wire) {
  sink<frame_item> parser("parser", bench, out);
  builder.at(10, looped(138), 3);  // both enter in 13
  arrive(150, 5000, 12500);
  bench.run(200);
  ASSERT_EQ(parser.items.size(), 1U);
  EXPECT_EQ(parser.items[0].item.length, 150U);
  EXPECT_EQ(bench.count(counter::RxDropBuffer), 1U);
  bench.context.check_drained();
}

TEST(rx_mac_core, judges_length_then_room_then_fcs) {
  buffer_pool pool;
  frame_item frame;
  frame.bytes = pool.take();
  frame.length = 128;
  std::fill_n(frame.bytes.data(), 128, std::uint8_t{1});
  frame.fcs = fcs_of_frame(frame.bytes.data(), 128) ^ 1;
  EXPECT_EQ(judge_frame(frame, 1, 0, 1000), rx_mac_verdict::oversize);
  EXPECT_EQ(judge_frame(frame, 2, 900, 1000), rx_mac_verdict::no_buffer);
  EXPECT_EQ(judge_frame(frame, 2, 872, 1000), rx_mac_verdict::bad_fcs);
  frame.fcs ^= 1;
  EXPECT_EQ(judge_frame(frame, 2, 872, 1000), rx_mac_verdict::accept);
}

INSTANTIATE_TEST_SUITE_P(shuffle, rx_mac_bench, testing::Values(0, 1, 2, 77));
INSTANTIATE_TEST_SUITE_P(shuffle, rx_mac_small_buffer, testing::Values(0, 1, 2, 77));
INSTANTIATE_TEST_SUITE_P(shuffle, rx_mac_tiny_buffer, testing::Values(0, 1, 2));

}  // namespace
}  // namespace carillon
