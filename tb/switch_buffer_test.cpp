// The parts of a switch that need no time: settings, headroom, the shared buffer, the scheduler,
// WRED, and the PFC frame.
#include <cmath>

#include "common/error.h"
#include "fabric/switch/queue_scheduler.h"
#include "fabric/switch/shared_buffer.h"
#include "fabric/switch/wred.h"
#include "tb/common/reference_crc.h"
#include "tb/common/switch_bench.h"

namespace carillon::bench {

// PFC frames --------------------------------------------------------------------------------------

// IEEE 802.1Q 35.1.1 and 802.3 31D: destination, source, 88-08, 01-01, enable vector, eight times.
TEST(pfc_frame, has_the_bytes_of_the_standard) {
  buffer_pool pool;
  pfc request;
  request.enable = 0x18;
  request.quanta[3] = 0xffff;
  request.quanta[4] = 0x0102;
  const frame_item frame = make_pfc_frame(pool, 0x020304050607, request);
  std::vector<std::uint8_t> expected = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x01, 0x02, 0x03, 0x04, 0x05,
                                        0x06, 0x07, 0x88, 0x08, 0x01, 0x01, 0x00, 0x18, 0x00, 0x00,
                                        0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0x01, 0x02};
  expected.resize(60);
  const std::uint8_t* bytes = frame.bytes.data() + frame.offset;
  EXPECT_EQ(std::vector<std::uint8_t>(bytes, bytes + frame.length), expected);
  EXPECT_EQ(frame.fcs, test::reference_crc(expected));
}

TEST(pfc_frame, is_read_back) {
  buffer_pool pool;
  pfc request;
  request.enable = 0x81;
  request.quanta = {1, 0, 0, 0, 0, 0, 0, 2};
  const frame_item frame = make_pfc_frame(pool, 1, request);
  const auto got = parse_pfc(frame.bytes.data(), frame.length);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->enable, request.enable);
  EXPECT_EQ(got->quanta, request.quanta);
}

TEST(pfc_frame, a_link_wide_pause_is_none_but_is_for_the_mac) {
  buffer_pool pool;
  frame_item frame = make_pfc_frame(pool, 1, {});
  frame.bytes.data()[15] = 0x01;
  frame.bytes.data()[14] = 0x00;
  EXPECT_FALSE(parse_pfc(frame.bytes.data(), frame.length));
  EXPECT_TRUE(is_mac_control(frame.bytes.data(), frame.length));
}

TEST(pfc_frame, what_is_short_or_for_somebody_else_is_none) {
  buffer_pool pool;
  frame_item frame = make_pfc_frame(pool, 1, {});
  EXPECT_FALSE(parse_pfc(frame.bytes.data(), 59));
  frame.bytes.data()[5] = 2;
  EXPECT_FALSE(parse_pfc(frame.bytes.data(), frame.length));
}

TEST(pfc_frame, a_quantum_is_512_bit_times) {
  EXPECT_EQ(pause_bytes(1), 64U);
  // 65535 quanta: 335.5392 us at 100 Gb/s, 3.355392 ms at 10 Gb/s.
  EXPECT_EQ(wire_speed::of_gbps(100).time_of(pause_bytes(LongestPause)), 335'539'200U);
  EXPECT_EQ(wire_speed::of_gbps(10).time_of(pause_bytes(LongestPause)), 3'355'392'000U);
}

// Settings ----------------------------------------------------------------------------------------

namespace {

std::string refusal(const switch_settings& settings) {
  try {
    settings.check("sw");
    return "";
  } catch (const config_error& error) {
    return error.what();
  }
}

switch_settings one_port() {
  return switch_settings::of_ports(1);
}

}  // namespace

TEST(switch_settings, defaults_are_in_range) {
  EXPECT_EQ(refusal(one_port()), "");
}

TEST(switch_settings, a_refusal_names_what_is_wrong_and_what_would_be_right) {
  switch_settings settings = one_port();
  settings.pause_quanta = 70'000;
  EXPECT_EQ(refusal(settings), "sw: pause_quanta = 70000 512 bit times: must be 16 to 65535");
  settings = one_port();
  settings.priorities[3].pmax = 1.5;
  EXPECT_EQ(refusal(settings), "sw: priority 3: pmax = 1.5: must be 0 to 1");
  settings = one_port();
  settings.ports[0].rate_gbps = 0;
  EXPECT_EQ(refusal(settings), "sw: port 0: rate_gbps = 0 Gb/s: must be 1 to 800");
  settings = one_port();
  settings.priorities[1].egress_alpha = 0.3;
  EXPECT_EQ(refusal(settings), "sw: priority 1: egress_alpha = 0.3: must be a multiple of 1/128");
  settings = one_port();
  settings.priorities[3].kmin_bytes = 100'001;
  EXPECT_EQ(refusal(settings), "sw: priority 3: kmin_bytes 100001 is above kmax_bytes 100000");
  settings = one_port();
  settings.dscp_to_priority[5] = 8;
  EXPECT_EQ(refusal(settings), "sw: priority of a DSCP = 8: must be 0 to 7");
  EXPECT_EQ(refusal(switch_settings{}), "sw: number of ports = 0: must be 1 to 1024");
}

TEST(switch_settings, a_fraction_that_is_no_number_is_refused) {
  switch_settings settings = one_port();
  settings.priorities[0].pmax = std::nan("");
  EXPECT_NE(refusal(settings), "");
}

// Headroom ----------------------------------------------------------------------------------------

// Quanta of IEEE 802.3 31B.3.7.
TEST(headroom, a_peer_may_respond_as_late_as_the_standard_allows) {
  EXPECT_EQ(standard_response_quanta(10), 60U);
  EXPECT_EQ(standard_response_quanta(25), 80U);
  EXPECT_EQ(standard_response_quanta(40), 118U);
  EXPECT_EQ(standard_response_quanta(100), 394U);
  EXPECT_EQ(standard_response_quanta(400), 905U);
  EXPECT_EQ(standard_response_quanta(800), 905U);
}

// The frame that crossed, 4222; two frames begun, 2 * 4242; the PFC frame, 64; the response; and at
// 100 Gb/s 12.5 bytes for each ns of 200 + 100 + 2 * 50 ns.
TEST(headroom, is_the_sum_of_what_can_still_come) {
  switch_settings settings = one_port();
  settings.ports[0].cable_delay_ps = cable_delay(10);
  EXPECT_EQ(headroom_bytes(settings, settings.ports[0]), 4222U + 8484 + 64 + 394 * 64 + 5000);
  settings.ports[0].rate_gbps = 25;
  EXPECT_EQ(headroom_bytes(settings, settings.ports[0]), 4222U + 8484 + 64 + 80 * 64 + 1250);
  settings.ports[0].cable_delay_ps = cable_delay(1000);
  EXPECT_EQ(headroom_bytes(settings, settings.ports[0]),
            4222U + 8484 + 64 + 80 * 64 + 10'300 * 25 / 8 + 1);
  settings.peer_response_quanta = 1;
  EXPECT_EQ(headroom_bytes(settings, settings.ports[0]), 4222U + 8484 + 64 + 64 + 32'188);
}

// Shared buffer -----------------------------------------------------------------------------------

namespace {

/// Ports without lossless priorities share `shared` bytes.
switch_settings lossy(unsigned ports, std::uint64_t shared) {
  switch_settings settings = switch_settings::of_ports(ports);
  for (switch_priority_settings& each : settings.priorities) {
    each = {};
    each.egress_alpha = 64;
  }
  settings.buffer_bytes = shared;
  return settings;
}

/// How many frames of 1000 bytes are taken until one is not.
unsigned fill(shared_buffer& buffer, const shared_buffer::place& where) {
  unsigned taken = 0;
  while (buffer.admit(where, 1000) == buffer_verdict::accepted) {
    ++taken;
  }
  return taken;
}

}  // namespace

// Choudhury and Hahne: n busy queues settle at alpha * S / (1 + n * alpha), here to one frame.
TEST(shared_buffer, one_account_holds_alpha_times_what_it_leaves_free) {
  shared_buffer one(lossy(4, 100'000), "sw");
  EXPECT_EQ(fill(one, {0, 1, 0}), 50U);
  switch_settings settings = lossy(4, 100'000);
  settings.priorities[0].ingress_alpha = 0.25;
  shared_buffer quarter(settings, "sw");
  EXPECT_EQ(fill(quarter, {0, 1, 0}), 20U);
  EXPECT_EQ(quarter.free_bytes(), 80'000U);
  EXPECT_EQ(quarter.ingress_threshold(0), 20'000U);
}

TEST(shared_buffer, a_second_account_gets_alpha_times_what_the_first_left) {
  shared_buffer buffer(lossy(4, 100'000), "sw");
  EXPECT_EQ(fill(buffer, {0, 1, 0}), 50U);
  EXPECT_EQ(fill(buffer, {2, 1, 0}), 25U);
  EXPECT_EQ(fill(buffer, {2, 1, 5}), 13U);
  EXPECT_EQ(buffer.admit({0, 1, 0}, 1), buffer_verdict::ingress_full);
}

TEST(shared_buffer, an_egress_queue_has_a_threshold_of_its_own) {
  switch_settings settings = lossy(4, 100'000);
  settings.priorities[0].ingress_alpha = 64;
  settings.priorities[0].egress_alpha = 1;
  shared_buffer buffer(settings, "sw");
  unsigned taken = 0;
  while (buffer.admit({taken % 3, 3, 0}, 1000) == buffer_verdict::accepted) {
    ++taken;
  }
  EXPECT_EQ(taken, 50U);
  EXPECT_EQ(buffer.admit({0, 3, 0}, 1000), buffer_verdict::egress_full);
  EXPECT_EQ(buffer.admit({0, 2, 0}, 1000), buffer_verdict::accepted);
  EXPECT_EQ(buffer.queued(3, 0), 50'000U);
}

TEST(shared_buffer, reserved_bytes_are_there_when_nothing_else_is) {
  switch_settings settings = lossy(2, 100'000);
  settings.priorities[0].ingress_alpha = 64;
  settings.priorities[1].reserved_bytes = 3000;
  shared_buffer buffer(settings, "sw");
  EXPECT_EQ(buffer.shared_bytes(), 94'000U);  // 3000 on each of two ports
  EXPECT_EQ(fill(buffer, {0, 1, 0}), 93U);    // the 94th needs 94000 <= 64 * 1000
  EXPECT_EQ(fill(buffer, {0, 1, 1}), 4U);
}

TEST(shared_buffer, reserved_bytes_of_an_egress_queue_are_free_of_its_threshold) {
  switch_settings settings = lossy(2, 100'000);
  settings.priorities[0].ingress_alpha = 64;
  settings.priorities[0].egress_alpha = 1.0 / 128;
  settings.priorities[0].egress_reserved_bytes = 5000;
  shared_buffer buffer(settings, "sw");
  // 5000, and beyond them at most 1/128 of what is free: 742 bytes.
  EXPECT_EQ(fill(buffer, {0, 1, 0}), 5U);
}

TEST(shared_buffer, a_lossless_account_goes_on_in_its_headroom_and_stops_its_sender) {
  switch_settings settings = lossy(2, 200'000);
  settings.priorities[3].lossless = true;
  settings.priorities[3].ingress_alpha = 0.25;
  shared_buffer buffer(settings, "sw");
  const std::uint64_t headroom = buffer.headroom(0, 3);
  EXPECT_EQ(buffer.shared_bytes(), 200'000 - 2 * headroom);
  // A fifth of the shared part.
  const auto expected = static_cast<unsigned>(buffer.shared_bytes() / 5 / 1000);
  EXPECT_EQ(fill(buffer, {0, 1, 3}), expected);
  EXPECT_TRUE(buffer.xoff(0, 3));
  EXPECT_FALSE(buffer.xoff(1, 3));
  EXPECT_EQ(buffer.in_headroom(0, 3), 1000U);
  while (buffer.in_headroom(0, 3) + 1000 <= headroom) {
    ASSERT_EQ(buffer.admit({0, 1, 3}, 1000), buffer_verdict::in_headroom);
  }
  EXPECT_EQ(buffer.admit({0, 1, 3}, 1000), buffer_verdict::headroom_full);
}

TEST(shared_buffer, a_sender_goes_on_when_the_headroom_is_empty_and_the_offset_is_reached) {
  switch_settings settings = lossy(2, 200'000);
  settings.priorities[3].lossless = true;
  settings.priorities[3].ingress_alpha = 0.25;
  settings.priorities[3].xon_offset_bytes = 5000;
  shared_buffer buffer(settings, "sw");
  const unsigned taken = fill(buffer, {0, 1, 3});
  buffer.release({0, 1, 3}, 1000);  // out of the headroom
  EXPECT_EQ(buffer.in_headroom(0, 3), 0U);
  EXPECT_TRUE(buffer.xoff(0, 3));
  unsigned released = 0;
  while (buffer.xoff(0, 3)) {
    EXPECT_GT(buffer.held(0, 3) + 5000, buffer.ingress_threshold(3)) << released;
    buffer.release({0, 1, 3}, 1000);
    ++released;
  }
  EXPECT_LE(buffer.held(0, 3) + 5000, buffer.ingress_threshold(3));
  EXPECT_LT(released, taken);
}

// The other account's leaving raises the threshold far above what this one holds.
TEST(shared_buffer, a_sender_never_goes_on_before_its_headroom_is_empty) {
  switch_settings settings = lossy(2, 400'000);
  settings.priorities[3].lossless = true;
  shared_buffer buffer(settings, "sw");
  const unsigned others = fill(buffer, {1, 0, 3});
  const unsigned taken = fill(buffer, {0, 1, 3});
  ASSERT_EQ(buffer.admit({0, 1, 3}, 1000), buffer_verdict::in_headroom);
  ASSERT_LT(taken, others);
  for (unsigned i = 0; i < others; ++i) {
    buffer.release({1, 0, 3}, 1000);
  }
  ASSERT_GT(buffer.ingress_threshold(3), buffer.held(0, 3) + 5000);
  buffer.release({0, 1, 3}, 1000);
  EXPECT_EQ(buffer.in_headroom(0, 3), 1000U);
  EXPECT_TRUE(buffer.xoff(0, 3));
  buffer.release({0, 1, 3}, 1000);
  EXPECT_FALSE(buffer.xoff(0, 3));
}

TEST(shared_buffer, everything_comes_back) {
  switch_settings settings = lossy(3, 500'000);
  settings.priorities[3].lossless = true;
  settings.priorities[3].reserved_bytes = 2500;
  shared_buffer buffer(settings, "sw");
  random_stream random(1, "everything_comes_back");
  std::vector<std::pair<shared_buffer::place, std::uint64_t>> held;
  for (int i = 0; i < 20'000; ++i) {
    if (random.chance(11, 20)) {
      const shared_buffer::place where{static_cast<std::uint32_t>(random.below(3)),
                                       static_cast<std::uint32_t>(random.below(3)),
                                       static_cast<std::uint8_t>(random.below(8))};
      const std::uint64_t bytes = random.between(64, 4222);
      const buffer_verdict verdict = buffer.admit(where, bytes);
      if (verdict == buffer_verdict::accepted || verdict == buffer_verdict::in_headroom) {
        held.emplace_back(where, bytes);
      }
    } else if (!held.empty()) {
      const std::size_t which = random.below(held.size());
      buffer.release(held[which].first, held[which].second);
      held[which] = held.back();
      held.pop_back();
    }
    ASSERT_LE(buffer.free_bytes(), buffer.shared_bytes());
  }
  for (const auto& [where, bytes] : held) {
    buffer.release(where, bytes);
  }
  EXPECT_TRUE(buffer.empty());
  EXPECT_EQ(buffer.free_bytes(), buffer.shared_bytes());
  EXPECT_FALSE(buffer.xoff(0, 3));
}

TEST(shared_buffer, a_buffer_that_headrooms_alone_fill_is_refused) {
  switch_settings settings = switch_settings::of_ports(64);
  settings.buffer_bytes = 2'000'000;
  EXPECT_THROW(shared_buffer(settings, "sw"), config_error);
}

// Scheduler ---------------------------------------------------------------------------------------

namespace {

switch_settings weighted(std::array<std::uint64_t, PriorityCount> weights, unsigned strict = 0) {
  switch_settings settings = one_port();
  for (unsigned i = 0; i < PriorityCount; ++i) {
    settings.priorities[i].weight = weights[i];
    settings.priorities[i].strict = (strict >> i & 1) != 0;
  }
  return settings;
}

/// Bytes that each queue sends in `picks` turns.
std::array<std::uint64_t, PriorityCount> sent(queue_scheduler& scheduler, std::uint8_t ready,
                                              const queue_scheduler::front_bytes& fronts,
                                              unsigned picks) {
  std::array<std::uint64_t, PriorityCount> result{};
  for (unsigned i = 0; i < picks; ++i) {
    const unsigned queue = scheduler.pick(ready, fronts);
    result[queue] += fronts[queue];
  }
  return result;
}

constexpr std::uint64_t Largest = 4242;  ///< 4222 and preamble and gap: one weight's worth

}  // namespace

TEST(queue_scheduler, strict_queues_go_first_the_highest_of_them) {
  queue_scheduler scheduler(weighted({1, 1, 1, 1, 1, 1, 1, 1}, 0b0110'0000));
  EXPECT_EQ(scheduler.pick(0b1110'0001, {}), 6U);
  EXPECT_EQ(scheduler.pick(0b1010'0001, {}), 5U);
  EXPECT_NE(scheduler.pick(0b1000'0001, {}), 5U);
}

// Deficit round robin: over any time a queue is within its quantum and a frame of its share.
TEST(queue_scheduler, weights_share_the_wire_whatever_the_frames) {
  queue_scheduler scheduler(weighted({1, 3, 1, 1, 1, 1, 1, 1}));
  const auto bytes = sent(scheduler, 0b11, {84, 4242, 0, 0, 0, 0, 0, 0}, 10'000);
  EXPECT_NEAR(static_cast<double>(bytes[1]), 3.0 * static_cast<double>(bytes[0]),
              3 * (2.0 * Largest));
}

TEST(queue_scheduler, equal_weights_share_equally_among_eight) {
  queue_scheduler scheduler(weighted({1, 1, 1, 1, 1, 1, 1, 1}));
  const auto bytes = sent(scheduler, 0xff, {84, 100, 500, 1000, 1024, 2000, 4000, 4242}, 20'000);
  for (unsigned i = 1; i < PriorityCount; ++i) {
    EXPECT_NEAR(static_cast<double>(bytes[i]), static_cast<double>(bytes[0]), 2.0 * Largest);
  }
}

TEST(queue_scheduler, a_queue_that_was_paused_gets_no_more_than_its_share_afterwards) {
  queue_scheduler scheduler(weighted({1, 1, 1, 1, 1, 1, 1, 1}));
  const queue_scheduler::front_bytes fronts{1024, 1024};
  sent(scheduler, 0b01, fronts, 1000);
  const auto bytes = sent(scheduler, 0b11, fronts, 1000);
  EXPECT_NEAR(static_cast<double>(bytes[0]), static_cast<double>(bytes[1]), 2.0 * Largest);
}

// WRED --------------------------------------------------------------------------------------------

namespace {

switch_priority_settings marking(std::uint64_t kmin, std::uint64_t kmax, double pmax,
                                 std::uint64_t shift = 0) {
  switch_priority_settings settings;
  settings.ecn = true;
  settings.kmin_bytes = kmin;
  settings.kmax_bytes = kmax;
  settings.pmax = pmax;
  settings.average_shift = shift;
  return settings;
}

unsigned marked(const wred& marker, std::uint64_t queue, unsigned frames) {
  random_stream random(1, "marked");
  unsigned result = 0;
  for (unsigned i = 0; i < frames; ++i) {
    result += marker.marks(queue, random) ? 1 : 0;
  }
  return result;
}

/// Five standard deviations of a binomial count around its mean.
testing::Matcher<unsigned> about(double p, unsigned frames) {
  const double mean = p * frames;
  const double bound = 5 * std::sqrt(mean * (1 - p));
  return testing::AllOf(testing::Ge(static_cast<unsigned>(mean - bound)),
                        testing::Le(static_cast<unsigned>(mean + bound)));
}

constexpr unsigned Many = 200'000;

}  // namespace

// (q - 40) / (100 - 40) * 0.1
TEST(wred, marks_with_a_probability_that_grows_from_kmin_to_kmax) {
  const wred marker(marking(40'000, 100'000, 0.1));
  EXPECT_THAT(marked(marker, 46'000, Many), about(0.01, Many));
  EXPECT_THAT(marked(marker, 70'000, Many), about(0.05, Many));
  EXPECT_THAT(marked(marker, 100'000, Many), about(0.1, Many));
}

TEST(wred, marks_nothing_up_to_kmin_and_everything_above_kmax) {
  const wred marker(marking(40'000, 100'000, 0.1));
  EXPECT_EQ(marked(marker, 0, Many), 0U);
  EXPECT_EQ(marked(marker, 40'000, Many), 0U);
  EXPECT_EQ(marked(marker, 100'001, Many), Many);
}

TEST(wred, equal_thresholds_are_a_step) {
  const wred marker(marking(50'000, 50'000, 0.5));
  EXPECT_EQ(marked(marker, 50'000, Many), 0U);
  EXPECT_EQ(marked(marker, 50'001, Many), Many);
}

TEST(wred, a_probability_of_one_marks_everything_at_kmax_and_of_nothing_nothing) {
  EXPECT_EQ(marked(wred(marking(40'000, 100'000, 1)), 100'000, Many), Many);
  EXPECT_THAT(marked(wred(marking(40'000, 100'000, 1)), 70'000, Many), about(0.5, Many));
  EXPECT_EQ(marked(wred(marking(40'000, 100'000, 0)), 100'000, Many), 0U);
}

// With a weight of one half: 0, 500, 750, 875; two idle frames make 218.75 of it, and an empty
// queue then halves that.
TEST(wred, an_average_follows_the_queue_and_decays_while_it_is_empty) {
  wred marker(marking(600, 100'000, 1, 1));
  random_stream random(1, "average");
  std::vector<std::uint64_t> averages;
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(i < 2 && marker.marks(1'000'000, random));
    marker.sample(1000, 0);
    averages.push_back(marker.average_bytes());
  }
  marker.sample(0, 2);
  averages.push_back(marker.average_bytes());
  EXPECT_THAT(averages, testing::ElementsAre(500, 750, 875, 109));
}

TEST(wred, an_average_is_gone_after_a_long_silence) {
  wred marker(marking(0, 1, 1, 9));
  for (int i = 0; i < 10'000; ++i) {
    marker.sample(1'000'000, 0);
  }
  EXPECT_NEAR(static_cast<double>(marker.average_bytes()), 1e6, 1e3);
  marker.sample(0, 1'000'000'000);
  EXPECT_EQ(marker.average_bytes(), 0U);
}

}  // namespace carillon::bench
