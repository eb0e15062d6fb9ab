// rx_mac: frames enter the core with their last bit, wait for the edge, and leave 20 cycles later,
// in order.
#include "rx_mac.h"

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

INSTANTIATE_TEST_SUITE_P(shuffle, rx_mac_bench, testing::Values(0, 77));
INSTANTIATE_TEST_SUITE_P(shuffle, rx_mac_small_buffer, testing::Values(0, 77));

}  // namespace
}  // namespace carillon
