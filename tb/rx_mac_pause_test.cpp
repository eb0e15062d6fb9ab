// rx_mac and PFC: requests of the other end become a level with an end of its own, and the other
// end is asked when the buffer fills up.
#include <gtest/gtest.h>
#include <vector>

#include "common/pfc_frame.h"
#include "common/roce_packet.h"
#include "common/stage_bench.h"
#include "rx_mac.h"
#include "rx_mac/asked_pauses.h"

namespace carillon {
namespace {

using bench::sink;
using bench::stage_bench;

constexpr std::uint64_t Address = 0x020000000001;

constexpr std::uint8_t bit(unsigned priority) {
  return static_cast<std::uint8_t>(1U << priority);
}

// A quantum is 512 bit times: at 400 Gb/s 1.28 ns.
class rx_mac_pause : public testing::TestWithParam<int> {
 protected:
  explicit rx_mac_pause(const parameters& params = {})
      : bench(static_cast<std::uint64_t>(GetParam()), params),
        out(bench.port<frame_item>("frames", stage_spec::rx_mac::Depth,
                                   stage_spec::rx_mac::MaxBeats)),
        loopback(bench.port<frame_item>("loopback", 264, 66)),
        control(bench.port<frame_item>("control", 16)),
        paused(bench.context.clock, "paused", 0),
        dut("rx_mac", bench.nic, {loopback, out, {&control, &paused, Address}}),
        requests("requests", bench, control) {}

  /// Up to cycle t, which has not been.
  void run_to(cycle_t t) { bench.run(t - now_ps() / bench.context.clock.period()); }

  /// Its last bit arrives in cycle t: it enters in t + 1.
  void request(cycle_t t, std::uint8_t enable, std::uint16_t quanta, bool good = true) {
    pfc what;
    what.enable = enable;
    what.quanta.fill(quanta);
    frame_item frame = make_pfc_frame(bench.nic.buffers, 0x0e0000000001, what);
    if (!good) {
      frame.fcs ^= 1;
      frame.fcs_known = false;
    }
    dut.on_frame(std::move(frame), bench.context.clock.time_of(t) - 1280,
                 bench.context.clock.time_of(t));
  }

  /// An IPv4 frame with that DSCP.
  void arrive(cycle_t t, std::uint8_t dscp, std::uint32_t length = 4160) {
    frame_item frame;
    frame.bytes = bench.nic.buffers.take();
    frame.length = length;
    std::fill_n(frame.bytes.data(), length, std::uint8_t{0});
    eth header;
    header.ether_type = ethertype::Ipv4;
    header.pack(frame.bytes.data());
    frame.bytes.data()[eth::Size] = 0x45;
    frame.bytes.data()[eth::Size + 1] = static_cast<std::uint8_t>(dscp << 2);
    frame.fcs = fcs_of_frame(frame.bytes.data(), length);
    frame.fcs_known = true;
    dut.on_frame(std::move(frame), bench.context.clock.time_of(t) - 80000,
                 bench.context.clock.time_of(t));
  }

  [[nodiscard]] pfc asked(std::size_t index) const {
    const frame_item& frame = requests.items.at(index).item;
    return parse_pfc(frame.bytes.data() + frame.offset, frame.length).value();
  }

  stage_bench bench;
  stream<frame_item>& out;
  stream<frame_item>& loopback;
  stream<frame_item>& control;
  level<std::uint8_t> paused;
  rx_mac dut;
  sink<frame_item> requests;
};

// Received ----------------------------------------------------------------------------------------

TEST_P(rx_mac_pause, a_request_acts_20_cycles_after_its_frame_and_for_its_time) {
  sink<frame_item> parser("parser", bench, out);
  request(99, bit(3), 100);  // 128 ns: enters in 100, acts from 120 on
  run_to(121);
  EXPECT_EQ(paused.read(120), 0);
  EXPECT_EQ(paused.read(121), bit(3));
  run_to(248);
  EXPECT_EQ(paused.read(248), bit(3));
  run_to(300);
  EXPECT_EQ(paused.read(249), 0);  // 120 + 128, seen in the next one
  EXPECT_TRUE(parser.items.empty());
  EXPECT_EQ(bench.count(counter::RxMacControl), 1U);
  EXPECT_EQ(bench.count(counter::RxPrio3Pause), 1U);
  EXPECT_EQ(bench.count(counter::RxPrio3PauseTransition), 1U);
  bench.context.check_drained();
}

TEST_P(rx_mac_pause, another_request_makes_it_last_and_zero_ends_it) {
  sink<frame_item> parser("parser", bench, out);
  request(99, bit(3) | bit(4), 0xffff);
  request(199, bit(3), 0xffff);
  request(299, bit(3), 0);
  run_to(300);
  EXPECT_EQ(paused.read(300), bit(3) | bit(4));
  run_to(400);
  EXPECT_EQ(paused.read(400), bit(4));
  EXPECT_EQ(bench.count(counter::RxPrio3Pause), 3U);
  EXPECT_EQ(bench.count(counter::RxPrio3PauseTransition), 1U);
  EXPECT_EQ(bench.count(counter::RxPrio4Pause), 1U);
  run_to(120 + 83885 + 10);  // 65535 * 1.28 ns
  EXPECT_EQ(paused.read(120 + 83885 + 10), 0);
  // 83.885 us.
  EXPECT_EQ(bench.count(counter::RxPrio4PauseDuration), 83U);
  bench.context.check_drained();
}

TEST_P(rx_mac_pause, a_priority_without_pfc_is_counted_and_not_paused) {
  sink<frame_item> parser("parser", bench, out);
  request(99, bit(3) | bit(5), 0xffff);
  run_to(200);
  EXPECT_EQ(paused.read(200), bit(3));
  EXPECT_EQ(bench.count(counter::RxPrio5Pause), 1U);
  EXPECT_EQ(bench.count(counter::RxPrio5PauseTransition), 0U);
}

TEST_P(rx_mac_pause, a_request_with_a_wrong_fcs_stops_nothing) {
  sink<frame_item> parser("parser", bench, out);
  request(99, bit(3), 0xffff, false);
  run_to(200);
  EXPECT_EQ(paused.read(200), 0);
  EXPECT_EQ(bench.count(counter::RxDropFcs), 1U);
  EXPECT_EQ(bench.count(counter::RxMacControl), 0U);
  bench.context.check_drained();
}

// Asked for ---------------------------------------------------------------------------------------

class rx_mac_xoff : public rx_mac_pause {
 protected:
  static parameters small() {
    parameters params;
    params.nic.rx_buffer_bytes = 100000;
    params.nic.pfc_xoff_bytes = 10000;
    params.nic.pfc_xon_bytes = 5000;
    params.nic.pfc_stall_ms = 1;
    return params;
  }

  rx_mac_xoff() : rx_mac_pause(small()) {}
};

// Two frames of 65 beats fit the parser's queue, which takes none before cycle 1000; the third to
// fifth are 12,480 bytes in the buffer.
TEST_P(rx_mac_xoff, asks_for_a_pause_at_the_threshold_and_ends_it_below_the_other) {
  sink<frame_item> parser("parser", bench, out, 1000);
  for (cycle_t i = 1; i <= 5; ++i) {
    arrive(100 * i - 1, 26);
  }
  run_to(900);
  ASSERT_EQ(requests.items.size(), 1U);
  EXPECT_EQ(requests.items[0].visible, 501U);  // the fifth enters in 500
  EXPECT_EQ(asked(0).enable, bit(3));
  EXPECT_EQ(asked(0).quanta[3], 0xffff);
  EXPECT_EQ(eth::unpack(requests.items[0].item.bytes.data()).src, Address);
  run_to(6000);
  ASSERT_EQ(requests.items.size(), 2U);
  EXPECT_EQ(asked(1).enable, bit(3));
  EXPECT_EQ(asked(1).quanta[3], 0);
  EXPECT_EQ(parser.items.size(), 5U);
  EXPECT_EQ(bench.count(counter::TxPrio3Pause), 2U);
  EXPECT_EQ(bench.count(counter::RxDropBuffer), 0U);
}

TEST_P(rx_mac_xoff, each_priority_has_a_threshold_of_its_own) {
  sink<frame_item> parser("parser", bench, out, 3000);
  for (cycle_t i = 1; i <= 4; ++i) {
    arrive(100 * i - 1, 26);  // two of them are in the buffer
  }
  for (cycle_t i = 5; i <= 7; ++i) {
    arrive(100 * i - 1, 34);
  }
  run_to(2000);
  ASSERT_EQ(requests.items.size(), 1U);
  EXPECT_EQ(asked(0).enable, bit(4));
}

TEST_P(rx_mac_xoff, a_priority_without_pfc_is_dropped_and_not_asked_about) {
  sink<frame_item> parser("parser", bench, out, 100000);
  for (cycle_t i = 1; i <= 40; ++i) {
    arrive(100 * i - 1, 8);
  }
  run_to(5000);
  EXPECT_TRUE(requests.items.empty());
  // Two leave, 24 fit 100,000 bytes.
  EXPECT_EQ(bench.count(counter::RxDropBuffer), 14U);
}

// Half of 65535 quanta of 1.28 ns: 41942 cycles.
TEST_P(rx_mac_xoff, asks_again_before_the_pause_is_over) {
  sink<frame_item> parser("parser", bench, out, 1000000);
  for (cycle_t i = 1; i <= 5; ++i) {
    arrive(100 * i - 1, 26);
  }
  run_to(150000);
  ASSERT_EQ(requests.items.size(), 4U);
  for (std::size_t i = 1; i < 4; ++i) {
    EXPECT_EQ(requests.items[i].visible, 501U + 41942 * i);
    EXPECT_EQ(asked(i).quanta[3], 0xffff);
  }
}

// A millisecond is 1,000,000 cycles.
TEST_P(rx_mac_xoff, stall_prevention_ends_a_pause_that_lasts_too_long) {
  sink<frame_item> parser("parser", bench, out, 3000000);
  for (cycle_t i = 1; i <= 5; ++i) {
    arrive(100 * i - 1, 26);
  }
  run_to(860000);
  EXPECT_EQ(bench.count(counter::TxPauseStormWarningEvents), 1U);
  EXPECT_EQ(bench.count(counter::TxPauseStormErrorEvents), 0U);
  run_to(1100000);
  EXPECT_EQ(bench.count(counter::TxPauseStormErrorEvents), 1U);
  const std::size_t told = requests.items.size();
  EXPECT_EQ(asked(told - 1).quanta[3], 0);
  EXPECT_EQ(requests.items.back().visible, 1000501U);
  EXPECT_EQ(bench.count(counter::TxPrio3PauseDuration), 1000U);
  run_to(2000000);
  EXPECT_EQ(requests.items.size(), told) << "nothing is asked for any more";
}

TEST_P(rx_mac_xoff, a_receiver_that_is_stuck_asks_all_the_while) {
  sink<frame_item> parser("parser", bench, out);
  dut.stick(3, 10000000, 110000000);
  run_to(200000);
  ASSERT_EQ(requests.items.size(), 4U);  // 100 us: twice again
  EXPECT_EQ(asked(0).enable, bit(3));
  EXPECT_EQ(asked(3).quanta[3], 0);
  EXPECT_EQ(bench.count(counter::TxPrio3PauseDuration), 100U);
}

INSTANTIATE_TEST_SUITE_P(shuffle, rx_mac_pause, testing::Values(0, 1, 2));
INSTANTIATE_TEST_SUITE_P(shuffle, rx_mac_xoff, testing::Values(0, 1, 2));

// IEEE 802.1Q Annex N at 400 Gb/s: a frame of 4222 bytes, two more just begun with their 20, the
// PFC frame of 64, 905 quanta of 64, and 50 bytes a nanosecond for the cable's 20 ns and our
// own 21.
TEST(rx_mac_headroom, is_what_can_still_come) {
  EXPECT_EQ(nic_headroom_bytes({}), 4222U + 2 * 4242 + 64 + 905 * 64 + 41 * 50);
}

TEST(rx_mac_headroom, is_what_the_share_of_a_priority_has_beyond_its_threshold) {
  counter_block counters;
  parameters params;
  params.wire.rate_gbps = 100;
  const asked_pauses asked(params, counters);
  EXPECT_EQ(asked.reserve_bytes(), nic_headroom_bytes(params));
  EXPECT_EQ(asked.xoff_bytes() + asked.reserve_bytes(), 262144U / 2);
}

TEST(rx_mac_headroom, is_half_of_a_share_that_is_too_small) {
  counter_block counters;
  const asked_pauses asked(parameters{}, counters);  // 72,740 bytes of 131,072
  EXPECT_EQ(asked.reserve_bytes(), 65536U);
  EXPECT_EQ(asked.xoff_bytes(), 65536U);
}

}  // namespace
}  // namespace carillon
