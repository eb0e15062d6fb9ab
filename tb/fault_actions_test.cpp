// Faults on the cable: what the far end sees of each.
#include <fmt/format.h>

#include "tb/common/faulty_wire.h"

namespace carillon {
namespace {

using bench::arrival;
using bench::cable;
using bench::Delay;
using bench::delay_of;
using bench::faulty_wire;
using bench::fcs_of;
using bench::Lasts;
using bench::Length;
using bench::rule;
using bench::Slot;
using bench::verified;
using testing::ElementsAre;
using testing::IsEmpty;

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

}  // namespace
}  // namespace carillon
