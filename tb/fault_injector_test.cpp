// Faults on the cable: which frames a rule selects, and what the far end sees of them.
//
// Times by hand: at 400 Gb/s a byte takes 20 ps. The usual frame here has 998 bytes: first to last
// bit 1002 bytes (with FCS), and the next one may begin 1022 bytes after it (preamble and gap too).
// The cable takes 10 ns.

#include "fabric/fault_injector.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "fabric/fault_log.h"
#include "rx_mac.h"

namespace carillon {

namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr ps_t Delay = 10000;
constexpr std::uint32_t Length = 998;
constexpr ps_t Lasts = 1002 * 20;
constexpr ps_t Slot = 1022 * 20;
constexpr std::uint32_t Payload = 940;  // 998 - Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4

constexpr auto Forward = fault_direction::host0_to_host1;

struct arrival {
  frame_item frame;
  ps_t first_bit;
  ps_t last_bit;
};

struct receiver : wire_listener {
  std::vector<arrival> arrivals;

  void on_frame(frame_item&& frame, ps_t first_bit, ps_t last_bit) override {
    EXPECT_GE(first_bit, now_ps());
    arrivals.push_back({std::move(frame), first_bit, last_bit});
  }

  [[nodiscard]] std::vector<ps_t> first_bits() const {
    std::vector<ps_t> times;
    for (const arrival& each : arrivals) {
      times.push_back(each.first_bit);
    }
    return times;
  }

  [[nodiscard]] std::vector<std::uint32_t> psns() const {
    std::vector<std::uint32_t> result;
    for (const arrival& each : arrivals) {
      result.push_back(
          parse_frame(each.frame.bytes.data() + each.frame.offset, each.frame.length).base.psn);
    }
    return result;
  }
};

fault_rule rule(fault_action action) {
  fault_rule made;
  made.action = action;
  return made;
}

fault_rule delay_of(ps_t by) {
  fault_rule made = rule(fault_action::delay);
  made.by = by;
  return made;
}

/// A cable whose left end's frames pass an injector. SystemC elaborates once per process, so each
/// test is one.
struct cable {
  wire_port left;
  wire_port right;
  receiver at_left;
  receiver at_right;
  fault_injector faults;
  fault_log log;

  cable(sim_context& context, buffer_pool& buffers, const std::string& name,
        std::vector<fault_rule> rules, ps_t delay = Delay)
      : left(("left" + name).c_str(), context, wire_speed::of_gbps(400), delay),
        right(("right" + name).c_str(), context, wire_speed::of_gbps(400), delay),
        faults(context, std::move(rules), buffers) {
    left.connect(right);
    left.listen(at_left);
    right.listen(at_right);
    faults.insert(Forward, left);
    faults.insert(fault_direction::host1_to_host0, right);
    faults.observe(log);
  }

  [[nodiscard]] std::vector<std::uint64_t> done(fault_action action) const {
    return log.frames(Forward, action);
  }
};

struct faulty_wire : testing::Test {
  parameters params;
  buffer_pool buffers;
  buffer_pool fault_buffers;
  sim_context context{params, 1, 0};

  /// A frame as packet_builder makes it.
  frame_item frame_of(const packet_description& packet) {
    constexpr std::uint32_t PayloadAt = 128;
    frame_item item;
    item.bytes = buffers.take();
    for (std::uint32_t i = 0; i < packet.payload; ++i) {
      item.bytes.data()[PayloadAt + i] = static_cast<std::uint8_t>(i * 7 + packet.psn);
    }
    const header_place headers = build_headers(packet, item.bytes.data(), PayloadAt);
    const finished_frame made = finish_frame(item.bytes.data(), headers, packet.payload);
    item.offset = made.offset;
    item.length = made.length;
    item.fcs = made.fcs;
    item.fcs_known = true;
    item.icrc_known = true;
    return item;
  }

  frame_item frame(std::uint32_t psn, bth_opcode opcode = bth_opcode::RcSendOnly,
                   std::uint32_t qpn = 17) {
    packet_description packet;
    packet.source = gid_of_ipv4(0x0a000001);
    packet.destination = gid_of_ipv4(0x0a000002);
    packet.opcode = opcode;
    packet.psn = psn;
    packet.dest_qpn = qpn;
    packet.payload = find_opcode(opcode)->has_payload ? Payload : 0;
    return frame_of(packet);
  }

  /// Sends frames with PSN 1, 2, ... at these times, all announced now.
  void send(cable& on, const std::vector<ps_t>& times) {
    std::uint32_t psn = 0;
    for (const ps_t when : times) {
      on.left.send(frame(++psn), when);
    }
  }

  /// The frames 1 to `count`, far enough apart to leave each other alone.
  void send_many(cable& on, std::uint64_t count) {
    for (std::uint64_t i = 1; i <= count; ++i) {
      on.left.send(frame(static_cast<std::uint32_t>(i)), i * 100000);
    }
  }

  static void run_to(ps_t time) {
    sc_core::sc_start(sc_core::sc_time::from_value(time - now_ps()));
  }

  /// What happens at `time` included.
  static void run_through(ps_t time) { run_to(time + 1); }

  static void elaborate() { sc_core::sc_start(sc_core::SC_ZERO_TIME); }

  /// The spans that end the history of a traced frame.
  std::vector<span> waits_of(trace_ref ref) {
    std::vector<span> waits;
    const message_record* record = context.trace.record(ref.message);
    for (std::uint32_t at = ref.span; at != 0; at = record->spans[at].previous) {
      if (record->spans[at].kind == span_kind::wait) {
        waits.insert(waits.begin(), record->spans[at]);
      }
    }
    return waits;
  }

  /// "reason begin..end" of each wait.
  std::vector<std::string> shown(const std::vector<span>& waits) {
    std::vector<std::string> text;
    for (const span& each : waits) {
      text.push_back(
          fmt::format("{} {}..{}", context.trace.name(each.reason), each.begin, each.end));
    }
    return text;
  }

  trace_ref open() { return context.trace.open(0, {"node", 1, 0, 8, 64}); }

  frame_item traced(frame_item item, trace_ref history, ps_t leaves) {
    item.trace =
        context.trace.service(history, context.trace.site("nic0.tx_mac", "tx_mac"), 0, leaves);
    item.first = item.last = true;
    return item;
  }
};

std::uint32_t fcs_of(const frame_item& frame) {
  return fcs_of_frame(frame.bytes.data() + frame.offset, frame.length);
}

parse_error verified(const frame_item& frame) {
  return parse_frame(frame.bytes.data() + frame.offset, frame.length).error;
}

}  // namespace

// Selection ---------------------------------------------------------------------------------------

TEST_F(faulty_wire, frames_that_no_rule_selects_pass_untouched) {
  fault_rule never = rule(fault_action::drop);
  never.psn = 99;
  cable on(context, fault_buffers, "", {never});
  elaborate();
  const frame_item sent = frame(1);
  ASSERT_EQ(sent.length, Length);
  on.left.send(sent, 5000);
  ASSERT_EQ(on.at_right.arrivals.size(), 1U);
  const arrival& seen = on.at_right.arrivals[0];
  EXPECT_EQ(seen.first_bit, 5000 + Delay);
  EXPECT_EQ(seen.last_bit, 5000 + Delay + Lasts);
  EXPECT_EQ(seen.frame.bytes.data(), sent.bytes.data());
  EXPECT_TRUE(seen.frame.fcs_known);
  EXPECT_TRUE(seen.frame.icrc_known);
  EXPECT_THAT(on.log.records(), IsEmpty());
}

TEST_F(faulty_wire, nth_counts_from_one) {
  fault_rule second_and_fifth = rule(fault_action::drop);
  second_and_fifth.nth = {2, 5};
  cable on(context, fault_buffers, "", {second_and_fifth});
  elaborate();
  send_many(on, 7);
  EXPECT_THAT(on.done(fault_action::drop), ElementsAre(2, 5));
  EXPECT_THAT(on.at_right.psns(), ElementsAre(1, 3, 4, 6, 7));
}

TEST_F(faulty_wire, every_third_is_the_third_sixth_ninth) {
  fault_rule third = rule(fault_action::drop);
  third.every = 3;
  cable on(context, fault_buffers, "", {third});
  elaborate();
  send_many(on, 11);
  EXPECT_THAT(on.done(fault_action::drop), ElementsAre(3, 6, 9));
}

// nth counts what all other keys let through: the second of every third frame is the sixth.
TEST_F(faulty_wire, nth_counts_what_the_other_keys_let_through) {
  fault_rule sixth = rule(fault_action::drop);
  sixth.every = 3;
  sixth.nth = {2};
  fault_rule second_read = rule(fault_action::drop);
  second_read.opcodes = opcodes_named("RcReadRequest");
  second_read.nth = {2};
  cable on(context, fault_buffers, "", {sixth, second_read});
  elaborate();
  send_many(on, 10);
  for (const auto opcode : {bth_opcode::RcReadRequest, bth_opcode::RcSendOnly,
                            bth_opcode::RcReadRequest, bth_opcode::RcReadRequest}) {
    on.left.send(frame(20, opcode), 2000000);
  }
  EXPECT_THAT(on.done(fault_action::drop), ElementsAre(6, 13));
}

TEST_F(faulty_wire, count_ends_a_rule) {
  fault_rule twice = rule(fault_action::drop);
  twice.count = 2;
  cable on(context, fault_buffers, "", {twice});
  elaborate();
  send_many(on, 5);
  EXPECT_THAT(on.done(fault_action::drop), ElementsAre(1, 2));
  EXPECT_EQ(on.faults.rule_count(0).matched, 5U);
  EXPECT_EQ(on.faults.rule_count(0).applied, 2U);
}

TEST_F(faulty_wire, opcodes_are_chosen_by_name_or_class) {
  const std::vector<bth_opcode> sent = {
      bth_opcode::RcSendOnly,         bth_opcode::RcReadRequest,
      bth_opcode::RcReadResponseOnly, bth_opcode::RcAcknowledge,
      bth_opcode::RcCompareSwap,      bth_opcode::RcAtomicAcknowledge,
      bth_opcode::RcReadResponseLast, bth_opcode::UcWriteOnly,
      bth_opcode::RcFetchAdd,         bth_opcode::Cnp};
  const std::vector<std::pair<const char*, std::vector<std::uint64_t>>> expected = {
      {"RcSendOnly", {1}},  {"request", {1, 2, 5, 8, 9}}, {"response", {3, 4, 6, 7}},
      {"acknowledge", {4}}, {"read_response", {3, 7}},    {"atomic", {5, 6, 9}},
  };
  std::vector<std::unique_ptr<cable>> cables;
  for (const auto& [word, frames] : expected) {
    fault_rule chosen = rule(fault_action::drop);
    chosen.opcodes = opcodes_named(word);
    ASSERT_TRUE(chosen.opcodes) << word;
    cables.push_back(
        std::make_unique<cable>(context, fault_buffers, word, std::vector<fault_rule>{chosen}));
  }
  elaborate();
  for (std::size_t i = 0; i < cables.size(); ++i) {
    for (const bth_opcode opcode : sent) {
      cables[i]->left.send(frame(1, opcode), 0);
    }
    EXPECT_EQ(cables[i]->done(fault_action::drop), expected[i].second) << expected[i].first;
  }
  EXPECT_FALSE(opcodes_named("RcSendNever"));
}

TEST_F(faulty_wire, psn_and_qpn_are_those_of_the_packet) {
  fault_rule both = rule(fault_action::drop);
  both.psn = 7;
  both.qpn = 18;
  cable on(context, fault_buffers, "", {both});
  elaborate();
  on.left.send(frame(7, bth_opcode::RcSendOnly, 17), 0);
  on.left.send(frame(7, bth_opcode::RcSendOnly, 18), 0);
  on.left.send(frame(8, bth_opcode::RcSendOnly, 18), 0);
  EXPECT_THAT(on.done(fault_action::drop), ElementsAre(2));
}

// The window looks at the first bit at the sender; its end is not in it.
TEST_F(faulty_wire, a_window_is_one_of_leaving) {
  fault_rule windowed = rule(fault_action::drop);
  windowed.from = 200000;
  windowed.to = 400000;
  cable on(context, fault_buffers, "", {windowed});
  elaborate();
  send_many(on, 5);  // at 100, 200, ... ns
  EXPECT_THAT(on.done(fault_action::drop), ElementsAre(2, 3));
}

TEST_F(faulty_wire, directions_count_on_their_own) {
  fault_rule second = rule(fault_action::drop);
  second.nth = {2};
  fault_rule back = rule(fault_action::drop);
  back.direction = fault_direction::host1_to_host0;
  back.nth = {1};
  cable on(context, fault_buffers, "", {second, back});
  elaborate();
  send_many(on, 3);
  on.right.send(frame(50), 0);
  on.right.send(frame(51), 0);
  on.right.send(frame(52), 0);
  EXPECT_THAT(on.done(fault_action::drop), ElementsAre(2));
  EXPECT_THAT(on.log.frames(fault_direction::host1_to_host0, fault_action::drop),
              ElementsAre(1, 2));
  EXPECT_EQ(on.faults.counts()[0], 3U);
  EXPECT_EQ(on.faults.counts(Forward)[0], 1U);
  EXPECT_THAT(on.at_left.psns(), ElementsAre(52));
}

// A binomial count lies within five standard deviations but once in 1.7 million.
TEST_F(faulty_wire, probability_selects_its_share) {
  constexpr std::uint64_t Frames = 20000;
  constexpr double Chance = 0.1;
  fault_rule likely = rule(fault_action::drop);
  likely.chance = static_cast<std::uint64_t>(Chance * static_cast<double>(fault_rule::Certain));
  fault_rule sure = rule(fault_action::drop);
  sure.chance = fault_rule::Certain;
  fault_rule never = rule(fault_action::drop);
  never.chance = 0;
  cable on(context, fault_buffers, "", {never, likely, sure});
  elaborate();
  const frame_item sent = frame(1);
  for (std::uint64_t i = 0; i < Frames; ++i) {
    on.left.send(sent, 0);
  }
  const double mean = Frames * Chance;
  const double deviation = std::sqrt(Frames * Chance * (1 - Chance));
  const auto selected = static_cast<double>(on.faults.rule_count(1).matched);
  EXPECT_NEAR(selected, mean, 5 * deviation);
  EXPECT_EQ(on.faults.rule_count(0).matched, 0U);
  EXPECT_EQ(on.faults.rule_count(2).matched, Frames);
}

TEST_F(faulty_wire, the_seed_decides_what_probability_selects) {
  fault_rule half = rule(fault_action::drop);
  half.chance = fault_rule::Certain / 2;
  fault_rule other = rule(fault_action::delay);
  other.by = 1000;
  other.chance = fault_rule::Certain / 2;
  cable on(context, fault_buffers, "", {half});
  cable again(context, fault_buffers, "again", {half});
  cable with_another(context, fault_buffers, "another", {half, other});
  sim_context seed_2(params, 2, 0);
  cable reseeded(seed_2, fault_buffers, "reseeded", {half});
  elaborate();
  for (cable* each : {&on, &again, &with_another, &reseeded}) {
    send_many(*each, 200);
  }
  EXPECT_EQ(on.done(fault_action::drop), again.done(fault_action::drop));
  EXPECT_EQ(on.done(fault_action::drop), with_another.done(fault_action::drop));
  EXPECT_NE(on.done(fault_action::drop), reseeded.done(fault_action::drop));
}

TEST_F(faulty_wire, of_several_rules_the_first_acts_and_all_count) {
  fault_rule second = rule(fault_action::drop);
  second.nth = {2};
  fault_rule even = rule(fault_action::duplicate);
  even.every = 2;
  cable on(context, fault_buffers, "", {second, even});
  elaborate();
  send_many(on, 4);
  EXPECT_THAT(on.done(fault_action::drop), ElementsAre(2));
  EXPECT_THAT(on.done(fault_action::duplicate), ElementsAre(4));
  EXPECT_EQ(on.faults.rule_count(1).matched, 2U);
  EXPECT_EQ(on.faults.rule_count(1).applied, 1U);
  EXPECT_THAT(on.at_right.psns(), ElementsAre(1, 3, 4, 4));
}

// What is done ------------------------------------------------------------------------------------

TEST_F(faulty_wire, a_dropped_frame_ends_its_history_and_leaves_the_others_alone) {
  fault_rule second = rule(fault_action::drop);
  second.nth = {2};
  cable on(context, fault_buffers, "", {second});
  elaborate();
  const trace_ref message = open();
  on.left.send(frame(1), 0);
  on.left.send(traced(frame(2), message, 0), 0);
  on.left.send(frame(3), 0);
  EXPECT_THAT(on.at_right.first_bits(), ElementsAre(Delay, Delay + 2 * Slot));
  EXPECT_EQ(context.trace.record(message.message)->spans.back().end, Slot + Lasts + Delay);
  EXPECT_EQ(on.left.sent_frames(), 3U);
  context.trace.release(message);
}

TEST_F(faulty_wire, a_bad_fcs_ends_at_the_receiving_mac) {
  fault_rule byte_100 = rule(fault_action::corrupt);
  byte_100.target = corrupt_target::fcs;
  byte_100.bit = 100 * 8 + 3;
  byte_100.nth = {1};
  fault_rule in_fcs = byte_100;
  in_fcs.bit = Length * 8 + 31;
  in_fcs.nth = {2};
  cable on(context, fault_buffers, "", {byte_100, in_fcs});
  elaborate();
  const frame_item sent = frame(1);
  const std::vector<std::uint8_t> before(sent.bytes.data() + sent.offset,
                                         sent.bytes.data() + sent.offset + sent.length);
  on.left.send(sent, 0);
  on.left.send(sent, 0);

  const frame_item& flipped = on.at_right.arrivals.at(0).frame;
  EXPECT_EQ(flipped.bytes.data()[flipped.offset + 100], before[100] ^ 8);
  EXPECT_EQ(flipped.fcs, sent.fcs);
  const frame_item& bad_sum = on.at_right.arrivals.at(1).frame;
  EXPECT_EQ(bad_sum.fcs, sent.fcs ^ 0x80000000);
  for (const frame_item* each : {&flipped, &bad_sum}) {
    EXPECT_FALSE(each->fcs_known);
    EXPECT_FALSE(each->icrc_known);
    EXPECT_EQ(judge_frame(*each, 1024, 0, 1 << 20), rx_mac_verdict::bad_fcs);
  }
  EXPECT_EQ(on.at_right.arrivals[0].first_bit, Delay);
  EXPECT_EQ(on.at_right.arrivals[1].first_bit, Delay + Slot);
  // Whoever else holds the sender's buffer sees nothing of it.
  EXPECT_EQ(std::memcmp(before.data(), sent.bytes.data() + sent.offset, before.size()), 0);
}

// RoCEv2: FCS and ICRC are two checks; a fault behind the last FCS check is found by the ICRC only.
TEST_F(faulty_wire, a_bad_icrc_is_found_by_the_icrc_alone) {
  fault_rule anywhere = rule(fault_action::corrupt);
  anywhere.target = corrupt_target::icrc;
  cable on(context, fault_buffers, "", {anywhere});
  elaborate();
  packet_description tagged;
  tagged.ipv6 = true;
  tagged.tagged = true;
  tagged.opcode = bth_opcode::RcWriteOnlyImmediate;
  tagged.payload = 5;
  for (int i = 0; i < 200; ++i) {
    on.left.send(frame(1), 0);
    on.left.send(frame(2, bth_opcode::RcAcknowledge), 0);
    on.left.send(frame(3, bth_opcode::RcWriteOnly), 0);
    on.left.send(frame_of(tagged), 0);
  }
  ASSERT_EQ(on.at_right.arrivals.size(), 800U);
  for (const arrival& each : on.at_right.arrivals) {
    EXPECT_FALSE(each.frame.fcs_known);
    EXPECT_FALSE(each.frame.icrc_known);
    EXPECT_EQ(each.frame.fcs, fcs_of(each.frame));
    EXPECT_EQ(judge_frame(each.frame, 1024, 0, 1 << 20), rx_mac_verdict::accept);
    EXPECT_EQ(verified(each.frame), parse_error::icrc);
  }
}

// An acknowledge of 62 bytes has its ICRC in bytes 58 to 61; bytes 47 to 49 are its destination QP.
TEST_F(faulty_wire, a_given_bit_must_be_there_and_protected) {
  std::vector<std::unique_ptr<cable>> cables;
  const std::vector<std::pair<std::uint32_t, bool>> bits = {
      {47 * 8 - 1, false}, {47 * 8, true}, {62 * 8 - 1, true}, {62 * 8, false}};
  for (const auto& [bit, there] : bits) {
    fault_rule given = rule(fault_action::corrupt);
    given.target = corrupt_target::icrc;
    given.bit = bit;
    cables.push_back(std::make_unique<cable>(context, fault_buffers, std::to_string(bit),
                                             std::vector<fault_rule>{given}));
  }
  elaborate();
  for (std::size_t i = 0; i < bits.size(); ++i) {
    const frame_item sent = frame(1, bth_opcode::RcAcknowledge);
    ASSERT_EQ(sent.length, 62U);
    cables[i]->left.send(sent, 0);
    EXPECT_EQ(cables[i]->faults.rule_count(0).applied, bits[i].second ? 1U : 0U) << bits[i].first;
    EXPECT_EQ(verified(cables[i]->at_right.arrivals.at(0).frame),
              bits[i].second ? parse_error::icrc : parse_error::none);
  }
}

TEST_F(faulty_wire, a_duplicate_takes_its_own_place_directly_behind) {
  fault_rule first = rule(fault_action::duplicate);
  first.nth = {1};
  cable on(context, fault_buffers, "", {first});
  elaborate();
  // The second follows without a gap more and is moved by one place; the third one has 1 ns of
  // space, so is moved by a nanosecond less; the fourth is not concerned.
  send(on, {1000, 1000, 1000 + 2 * Slot + 1000, 1000 + 5 * Slot});
  EXPECT_THAT(on.at_right.psns(), ElementsAre(1, 1, 2, 3, 4));
  EXPECT_THAT(on.at_right.first_bits(), ElementsAre(11000, 11000 + Slot, 11000 + 2 * Slot,
                                                    11000 + 3 * Slot, 11000 + 5 * Slot));
  EXPECT_EQ(on.at_right.arrivals[1].last_bit, 11000 + Slot + Lasts);
  const frame_item& original = on.at_right.arrivals[0].frame;
  const frame_item& copy = on.at_right.arrivals[1].frame;
  EXPECT_NE(original.bytes.data(), copy.bytes.data());
  EXPECT_EQ(copy.fcs, fcs_of(copy));
  EXPECT_EQ(verified(copy), parse_error::none);
}

TEST_F(faulty_wire, a_duplicate_may_come_later) {
  fault_rule first = rule(fault_action::duplicate);
  first.nth = {1};
  first.by = 70000;
  cable on(context, fault_buffers, "", {first});
  elaborate();
  send(on, {0, 30000});
  run_to(1000000);
  EXPECT_THAT(on.at_right.psns(), ElementsAre(1, 2, 1));
  EXPECT_THAT(on.at_right.first_bits(), ElementsAre(Delay, 30000 + Delay, 70000 + Delay));
  on.faults.check_drained();
}

TEST_F(faulty_wire, a_duplicate_leaves_the_history_of_its_message_alone) {
  cable on(context, fault_buffers, "", {rule(fault_action::duplicate)});
  elaborate();
  const trace_ref message = open();
  on.left.send(traced(frame(1), message, 5000), 5000);
  const message_record* record = context.trace.record(message.message);
  EXPECT_EQ(record->time_of(milestone::first_bit), 5000U);
  EXPECT_EQ(record->time_of(milestone::last_bit), 5000 + Lasts);
  EXPECT_EQ(context.trace.end_of(on.at_right.arrivals.at(0).frame.trace), 5000 + Lasts + Delay);
  EXPECT_EQ(on.at_right.arrivals.at(1).frame.trace.message, 0U);
  context.trace.release(message);
}

TEST_F(faulty_wire, a_delayed_frame_is_overtaken) {
  fault_rule first = delay_of(100000);
  first.nth = {1};
  cable on(context, fault_buffers, "", {first});
  elaborate();
  const trace_ref message = open();
  on.left.send(traced(frame(1), message, 0), 0);
  on.left.send(frame(2), 50000);
  EXPECT_THAT(on.at_right.psns(), ElementsAre(2));  // nobody is told of the other before its time
  run_through(100000 + Delay);
  EXPECT_THAT(on.at_right.psns(), ElementsAre(2, 1));
  EXPECT_THAT(on.at_right.first_bits(), ElementsAre(50000 + Delay, 100000 + Delay));
  EXPECT_THAT(
      shown(waits_of(on.at_right.arrivals[1].frame.trace)),
      ElementsAre(fmt::format("fault:delay {}..{}", Lasts + Delay, 100000 + Lasts + Delay)));
  EXPECT_EQ(context.trace.end_of(on.at_right.arrivals[1].frame.trace),
            on.at_right.arrivals[1].last_bit);
  context.trace.release(message);
}

TEST_F(faulty_wire, a_delayed_frame_waits_for_the_wire_if_another_is_on_it) {
  fault_rule first = delay_of(55000);
  first.nth = {1};
  cable on(context, fault_buffers, "", {first});
  elaborate();
  const trace_ref message = open();
  on.left.send(traced(frame(1), message, 0), 0);
  on.left.send(frame(2), 50000);
  run_to(1000000);
  const ps_t starts = 50000 + Delay + Slot;
  EXPECT_THAT(on.at_right.first_bits(), ElementsAre(50000 + Delay, starts));
  const ps_t due = 55000 + Delay;
  EXPECT_THAT(shown(waits_of(on.at_right.arrivals[1].frame.trace)),
              ElementsAre(fmt::format("fault:delay {}..{}", Lasts + Delay, due + Lasts),
                          fmt::format("fault:wire {}..{}", due + Lasts, starts + Lasts)));
  context.trace.release(message);
}

TEST_F(faulty_wire, a_frame_waits_for_a_late_one_that_is_on_the_wire) {
  fault_rule first = delay_of(45000);
  first.nth = {1};
  cable on(context, fault_buffers, "", {first});
  elaborate();
  const trace_ref message = open();
  on.left.send(frame(1), 0);
  on.left.send(traced(frame(2), message, 50000), 50000);
  EXPECT_THAT(on.at_right.psns(), ElementsAre(1, 2));
  EXPECT_THAT(on.at_right.first_bits(), ElementsAre(45000 + Delay, 45000 + Delay + Slot));
  const ps_t due = 50000 + Delay + Lasts;
  EXPECT_THAT(shown(waits_of(on.at_right.arrivals[1].frame.trace)),
              ElementsAre(fmt::format("fault:wire {}..{}", due, 45000 + Delay + Slot + Lasts)));
  context.trace.release(message);
}

TEST_F(faulty_wire, a_reordered_frame_comes_behind_the_next) {
  fault_rule first = rule(fault_action::reorder);
  first.nth = {1};
  cable on(context, fault_buffers, "", {first});
  elaborate();
  const trace_ref message = open();
  on.left.send(traced(frame(1), message, 0), 0);
  on.left.send(frame(2), 0);
  on.left.send(frame(3), 0);
  EXPECT_THAT(on.at_right.psns(), ElementsAre(2, 1, 3));
  // The second comes when it always came; the first follows it, and moves the third.
  EXPECT_THAT(on.at_right.first_bits(),
              ElementsAre(Delay + Slot, Delay + 2 * Slot, Delay + 3 * Slot));
  EXPECT_THAT(
      shown(waits_of(on.at_right.arrivals[1].frame.trace)),
      ElementsAre(fmt::format("fault:reorder {}..{}", Delay + Lasts, Delay + 2 * Slot + Lasts)));
  context.trace.release(message);
}

TEST_F(faulty_wire, reordered_frames_may_overtake_each_other) {
  fault_rule first = rule(fault_action::reorder);
  first.nth = {1};
  first.behind = 2;
  fault_rule second = rule(fault_action::reorder);
  second.nth = {2};
  cable on(context, fault_buffers, "", {first, second});
  elaborate();
  send(on, {0, 0, 0, 0});
  // The third lets the second go, and these two are the two that the first waits for.
  EXPECT_THAT(on.at_right.psns(), ElementsAre(3, 2, 1, 4));
}

TEST_F(faulty_wire, a_reordered_frame_that_nobody_follows_goes_on_alone) {
  fault_rule first = rule(fault_action::reorder);
  first.nth = {1};
  fault_rule third = first;
  third.nth = {3};
  third.by = 40000;
  cable on(context, fault_buffers, "", {first, third});
  elaborate();
  on.left.send(frame(1), 0);
  run_through(5'000'000 + Delay - 1);
  EXPECT_THAT(on.at_right.psns(), IsEmpty());
  run_through(5'000'000 + Delay);  // 5 us, if the rule says nothing else
  EXPECT_THAT(on.at_right.first_bits(), ElementsAre(5'000'000 + Delay));
  on.left.send(frame(2), 10'000'000);
  on.left.send(frame(3), 20'000'000);
  on.left.send(frame(4), 20'040'001);  // comes a picosecond too late
  EXPECT_THAT(on.at_right.psns(), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(on.at_right.first_bits()[2], 20'040'000 + Delay);
  EXPECT_EQ(on.at_right.first_bits()[3], 20'040'000 + Delay + Slot);
  on.faults.check_drained();
}

// Rules of the whole ------------------------------------------------------------------------------

namespace {

std::vector<fault_rule> mixture() {
  fault_rule lost = rule(fault_action::drop);
  lost.chance = fault_rule::Certain / 16;
  fault_rule late = delay_of(33333);
  late.chance = fault_rule::Certain / 4;
  fault_rule later = delay_of(250000);
  later.chance = fault_rule::Certain / 8;
  fault_rule swapped = rule(fault_action::reorder);
  swapped.chance = fault_rule::Certain / 4;
  swapped.behind = 2;
  swapped.by = 90000;
  fault_rule twice = rule(fault_action::duplicate);
  twice.chance = fault_rule::Certain / 4;
  fault_rule twice_later = twice;
  twice_later.by = 12345;
  return {lost, late, later, swapped, twice, twice_later};
}

/// When the frames of a busy sender are ready, with a pause now and then.
std::vector<ps_t> busy_sender(std::size_t frames) {
  random_stream random(3, "busy_sender");
  std::vector<ps_t> times;
  ps_t at = 0;
  for (std::size_t i = 0; i < frames; ++i) {
    at += random.chance(1, 8) ? random.below(300000) : Slot;
    times.push_back(at);
  }
  return times;
}

}  // namespace

TEST_F(faulty_wire, frames_never_come_early_nor_overlap_and_none_is_forgotten) {
  cable on(context, fault_buffers, "", mixture());
  elaborate();
  constexpr std::size_t Frames = 2000;
  const std::vector<ps_t> times = busy_sender(Frames);
  std::vector<ps_t> natural;  // by PSN - 1
  for (std::size_t i = 0; i < Frames; ++i) {
    natural.push_back(std::max(times[i], on.left.free_at()) + Delay);
    on.left.send(frame(static_cast<std::uint32_t>(i + 1)), times[i]);
  }
  run_to(times.back() + 100'000'000);
  on.faults.check_drained();
  ps_t free = 0;
  std::vector<unsigned> seen(Frames);
  const std::vector<std::uint32_t> psns = on.at_right.psns();
  for (std::size_t i = 0; i < psns.size(); ++i) {
    const arrival& each = on.at_right.arrivals[i];
    EXPECT_GE(each.first_bit, free);
    EXPECT_GE(each.first_bit, natural[psns[i] - 1]);
    EXPECT_EQ(each.last_bit - each.first_bit, Lasts);
    free = each.first_bit + Slot;
    ++seen[psns[i] - 1];
  }
  std::vector<unsigned> expected(Frames, 1);
  for (const std::uint64_t each : on.done(fault_action::drop)) {
    --expected[each - 1];
  }
  for (const std::uint64_t each : on.done(fault_action::duplicate)) {
    ++expected[each - 1];
  }
  EXPECT_EQ(seen, expected);
  for (std::size_t i = 0; i < FaultActionCount; ++i) {
    EXPECT_EQ(on.faults.counts()[i] == 0, static_cast<fault_action>(i) == fault_action::corrupt);
  }
}

// At 3 Gb/s no time is a whole number of picoseconds: the far end's wire must not add its own
// rounding to that of the sender's.
TEST_F(faulty_wire, frames_without_faults_keep_their_times_at_any_rate) {
  const wire_speed speed = wire_speed::of_gbps(3);
  wire_port plain("plain", context, speed, Delay);
  wire_port plain_end("plain_end", context, speed, Delay);
  wire_port watched("watched", context, speed, Delay);
  wire_port watched_end("watched_end", context, speed, Delay);
  receiver expected;
  receiver seen;
  plain.connect(plain_end);
  plain_end.listen(expected);
  watched.connect(watched_end);
  watched_end.listen(seen);
  fault_rule never = rule(fault_action::drop);
  never.chance = 0;
  fault_injector faults(context, {never}, fault_buffers);
  faults.insert(Forward, watched);
  elaborate();
  const std::vector<ps_t> times = busy_sender(1000);
  for (std::size_t i = 0; i < times.size(); ++i) {
    for (wire_port* each : {&plain, &watched}) {
      each->send(frame(1, i % 2 == 0 ? bth_opcode::RcSendOnly : bth_opcode::RcAcknowledge),
                 100 * times[i]);
    }
  }
  EXPECT_EQ(seen.first_bits(), expected.first_bits());
  for (std::size_t i = 0; i < times.size(); ++i) {
    EXPECT_EQ(seen.arrivals[i].last_bit, expected.arrivals[i].last_bit);
  }
}

// A sender may announce frames long ahead or when they leave; what the far end sees is the same.
TEST_F(faulty_wire, it_does_not_matter_how_early_frames_are_announced) {
  cable ahead(context, fault_buffers, "ahead", mixture());
  cable just_in_time(context, fault_buffers, "just_in_time", mixture());
  elaborate();
  const std::vector<ps_t> times = busy_sender(500);
  send(ahead, times);
  for (std::size_t i = 0; i < times.size(); ++i) {
    run_to(std::max({times[i], just_in_time.left.free_at(), now_ps()}));
    just_in_time.left.send(frame(static_cast<std::uint32_t>(i + 1)), now_ps());
  }
  run_to(times.back() + 100'000'000);
  EXPECT_EQ(ahead.at_right.psns(), just_in_time.at_right.psns());
  EXPECT_EQ(ahead.at_right.first_bits(), just_in_time.at_right.first_bits());
}

// On a cable without length a frame may arrive in the very instant in which a late one is due. The
// late one goes first, whichever of the two the kernel calls first.
TEST_F(faulty_wire, at_one_instant_the_late_frame_goes_first) {
  struct sender : timed {
    sender(faulty_wire& test, std::unique_ptr<cable>& on)
        : timed(test.context.line), test_(test), on_(on) {}

    void on_time(ps_t now, std::uint64_t /*what*/) override { on_->left.send(test_.frame(2), now); }

    faulty_wire& test_;
    std::unique_ptr<cable>& on_;
  };

  std::unique_ptr<cable> first;
  std::unique_ptr<cable> second;
  fault_rule late = delay_of(70000);
  late.nth = {1};
  sender called_before(*this, first);
  first = std::make_unique<cable>(context, fault_buffers, "1", std::vector{late}, 0);
  second = std::make_unique<cable>(context, fault_buffers, "2", std::vector{late}, 0);
  sender called_after(*this, second);
  elaborate();
  for (auto* each : {&first, &second}) {
    (*each)->left.send(frame(1), 0);
  }
  context.line.at(70000, called_before);
  context.line.at(70000, called_after);
  run_through(70000);
  for (auto* each : {&first, &second}) {
    EXPECT_THAT((*each)->at_right.psns(), ElementsAre(1, 2));
    EXPECT_THAT((*each)->at_right.first_bits(), ElementsAre(70000, 70000 + Slot));
  }
}

TEST_F(faulty_wire, what_was_done_is_recorded_and_told_to_the_taps) {
  struct tap : frame_tap {
    std::vector<std::string> seen;

    void on_frame(ps_t first_bit, const frame_item&) override {
      seen.push_back(fmt::format("frame at {}", first_bit));
    }

    void on_fate(std::string_view what) override { seen.emplace_back(what); }
  } left;

  fault_rule lost = rule(fault_action::drop);
  lost.psn = 2;
  fault_rule broken = rule(fault_action::corrupt);
  broken.direction = fault_direction::host1_to_host0;
  broken.target = corrupt_target::icrc;
  broken.bit = 480;
  cable on(context, fault_buffers, "", {lost, broken});
  on.left.tap(left);
  on.right.tap(left);
  elaborate();
  on.left.send(frame(1, bth_opcode::RcSendFirst, 33), 100000);
  on.left.send(frame(2, bth_opcode::RcSendLast, 33), 200000);
  on.right.send(frame(7, bth_opcode::RcAcknowledge, 34), 150000);
  EXPECT_THAT(left.seen,
              ElementsAre("frame at 100000", "frame at 200000", "fault: dropped (rule 0)",
                          "frame at 150000", "fault: corrupted icrc bit 480 (rule 1)"));
  EXPECT_EQ(on.log.json_lines(),
            R"({"time_ps":150000,"direction":"host1_to_host0","frame":1,"rule":1,)"
            R"("action":"corrupt","opcode":"RcAcknowledge","psn":7,"dest_qpn":34,)"
            R"("where":"icrc","bit":480})"
            "\n"
            R"({"time_ps":200000,"direction":"host0_to_host1","frame":2,"rule":0,)"
            R"("action":"drop","opcode":"RcSendLast","psn":2,"dest_qpn":33})"
            "\n");
}

TEST_F(faulty_wire, frames_that_are_not_roce_only_meet_rules_that_ask_nothing_of_it) {
  fault_rule any_opcode = rule(fault_action::drop);
  any_opcode.opcodes = opcode_set().set();
  fault_rule protected_bit = rule(fault_action::corrupt);
  protected_bit.target = corrupt_target::icrc;
  fault_rule any = rule(fault_action::duplicate);
  cable on(context, fault_buffers, "", {any_opcode, protected_bit, any});
  elaborate();
  frame_item pause;
  pause.bytes = buffers.take();
  std::memset(pause.bytes.data(), 0, 60);
  pause.length = 60;
  on.left.send(pause, 0);
  EXPECT_THAT(on.done(fault_action::duplicate), ElementsAre(1));
  EXPECT_EQ(on.log.json_lines(), R"({"time_ps":0,"direction":"host0_to_host1","frame":1,"rule":2,)"
                                 R"("action":"duplicate"})"
                                 "\n");
}

}  // namespace carillon
