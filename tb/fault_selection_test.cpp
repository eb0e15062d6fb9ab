// Faults on the cable: which frames a rule selects.
#include "tb/common/faulty_wire.h"

namespace carillon {
namespace {

using bench::arrival;
using bench::cable;
using bench::Delay;
using bench::faulty_wire;
using bench::Forward;
using bench::Lasts;
using bench::Length;
using bench::rule;
using testing::ElementsAre;
using testing::IsEmpty;

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

}  // namespace
}  // namespace carillon
