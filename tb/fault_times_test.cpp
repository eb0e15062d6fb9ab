// Faults on the cable: order and times whatever the rules, and what is told of them.
#include <fmt/format.h>

#include "tb/common/faulty_wire.h"

namespace carillon {
namespace {

using bench::arrival;
using bench::cable;
using bench::Delay;
using bench::delay_of;
using bench::faulty_wire;
using bench::Forward;
using bench::Lasts;
using bench::receiver;
using bench::rule;
using bench::Slot;
using testing::ElementsAre;

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

}  // namespace
}  // namespace carillon
