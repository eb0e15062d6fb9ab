// completion: EQEs behind their CQEs, to the right EQ, for who owns the queues.
#include <gtest/gtest.h>

#include "common/completion_bench.h"

namespace carillon {
namespace {

using bench::waited_for;

constexpr std::uint64_t EqBytes = 0x10000;
constexpr std::uint64_t OtherEqBase = 0x400000;

std::uint64_t takes(std::initializer_list<event_type> kinds) {
  std::uint64_t mask = 0;
  for (const event_type kind : kinds) {
    mask |= std::uint64_t{1} << static_cast<unsigned>(kind);
  }
  return mask;
}

class completion_events : public bench::completion_bench {
 protected:
  completion_events() {
    create_cq(1, Cqn, cq_line(4));
    create_eq(2, Eqn, eq_line(4));
  }

  static queue_doorbell arm_bell(std::uint8_t sn, std::uint32_t consumer, bool solicited = false) {
    return {.function = Owner,
            .uar_page = Page,
            .solicited_only = solicited,
            .arm_sn = sn,
            .number = Cqn,
            .consumer_index = consumer};
  }

  static queue_doorbell eq_bell(std::uint32_t consumer, std::uint8_t eqn = Eqn) {
    return {
        .function = Owner, .uar_page = Page, .eq = true, .number = eqn, .consumer_index = consumer};
  }

  static async_event event(event_type kind, std::uint32_t number) {
    return {.function = Owner, .kind = static_cast<std::uint8_t>(kind), .number = number};
  }

  static cqe_item asking(std::uint16_t index) {
    cqe_item cqe = item(index);
    cqe.event = true;
    return cqe;
  }

  [[nodiscard]] std::vector<const bench::dma_memory::seen_write*> eqes(
      std::uint64_t base = EqBase) const {
    std::vector<const bench::dma_memory::seen_write*> found;
    for (const auto& each : dma.written) {
      if (each.write.address >= base && each.write.address < base + EqBytes) {
        found.push_back(&each);
      }
    }
    return found;
  }

  void finish(cycle_t cycles = 1000) {
    bench.run(cycles);
    bench.context.check_drained();
  }
};

TEST_P(completion_events, an_armed_CQ_tells_its_EQ_five_cycles_behind_the_CQE) {
  uar.at(10, arm_bell(0, 0));
  requester.at(20, item(7));  // taken in 21
  finish();
  EXPECT_TRUE(ram.all_asked_for(Owner)) << "the lines of the CQ and of the EQ";
  ASSERT_EQ(dma.written.size(), 2U);
  EXPECT_EQ(dma.written[0].write.address, Base);
  EXPECT_EQ(dma.written[0].visible, 31U);
  const auto& told = dma.written[1];
  EXPECT_EQ(told.write.address, EqBase);
  EXPECT_EQ(told.write.length, 64U);
  EXPECT_EQ(told.write.function, Owner);
  EXPECT_EQ(told.write.point, milestone::count_);
  if (GetParam() == 0) {
    EXPECT_EQ(told.visible, 36U);  // ten after 26, in which the CQE was built
  }
  EXPECT_EQ(bench.context.trace.end_of(told.write.trace), bench.context.clock.time_of(told.cycle));
  const auto entry = dma.get<eqe>(EqBase);
  EXPECT_EQ(entry.kind, event_type::Completion);
  EXPECT_EQ(entry.number, Cqn);
  EXPECT_EQ(entry.owner, 0);
  EXPECT_EQ(bench.count(counter::Eqes), 1U);
  EXPECT_EQ(bench.count(counter::CqArms), 1U);
}

TEST_P(completion_events, an_unarmed_CQ_tells_nobody_and_its_CQEs_are_not_later) {
  for (std::uint16_t i = 0; i < 4; ++i) {
    requester.at(20, item(i));
  }
  finish();
  ASSERT_EQ(dma.written.size(), 4U);
  for (unsigned i = 0; i < 4; ++i) {
    EXPECT_EQ(dma.written[i].visible, 31U + i);
  }
  EXPECT_EQ(bench.count(counter::Eqes), 0U);
}

TEST_P(completion_events, an_arm_that_comes_late_tells_ten_cycles_after_it) {
  requester.at(20, item(7));
  uar.at(100, arm_bell(0, 0));  // taken in 101
  finish();
  ASSERT_EQ(eqes().size(), 1U);
  EXPECT_EQ(eqes()[0]->visible, 111U);
}

TEST_P(completion_events, an_arm_with_all_consumed_waits_and_then_tells_once) {
  requester.at(20, item(7));
  uar.at(100, arm_bell(0, 1));
  requester.at(200, item(8));
  requester.at(300, item(9));
  finish();
  ASSERT_EQ(eqes().size(), 1U);
  EXPECT_GT(eqes()[0]->visible, 200U);
  EXPECT_LT(eqes()[0]->visible, 300U);
}

TEST_P(completion_events, solicited_and_failed_completions_wake_who_waits_for_them) {
  uar.at(10, arm_bell(0, 0, true));
  responder.at(20, item(0));
  cqe_item solicited = item(1);
  solicited.solicited = true;
  responder.at(100, solicited);
  uar.at(200, arm_bell(1, 2, true));
  requester.at(300, item(2));
  cqe_item failed = item(3);
  failed.cqe_opcode = static_cast<std::uint8_t>(cqe_opcode::RequesterError);
  requester.at(400, failed);
  finish();
  ASSERT_EQ(eqes().size(), 2U);
  EXPECT_GT(eqes()[0]->visible, 100U);
  EXPECT_LT(eqes()[0]->visible, 200U);
  EXPECT_GT(eqes()[1]->visible, 400U);
}

TEST_P(completion_events, an_arm_from_before_the_event_is_counted_and_ignored) {
  uar.at(10, arm_bell(0, 0));
  requester.at(20, item(0));
  uar.at(100, arm_bell(0, 0));
  requester.at(200, item(1));
  finish();
  EXPECT_EQ(eqes().size(), 1U);
  EXPECT_EQ(bench.count(counter::CqArms), 1U);
  EXPECT_EQ(bench.count(counter::CqArmsStale), 1U);
}

TEST_P(completion_events, a_WQE_that_asks_for_an_event_needs_no_arm) {
  requester.at(20, item(0));
  requester.at(100, asking(1));
  finish();
  ASSERT_EQ(eqes().size(), 1U);
  EXPECT_GT(eqes()[0]->visible, 100U);
}

TEST_P(completion_events, each_EQE_follows_its_CQE_even_if_the_writes_are_slow) {
  for (std::uint16_t i = 0; i < 12; ++i) {
    requester.at(20 + 3 * i, asking(i));
  }
  finish(3000);
  // An event may tell several CQEs; behind the last CQE there is one.
  EXPECT_EQ(dma.written.size() - eqes().size(), 12U);
  EXPECT_GE(eqes().size(), 1U);
  EXPECT_EQ(dma.written.back().write.address, EqBase + 64 * (eqes().size() - 1));
  EXPECT_EQ(dma.written.front().write.address, Base);
}

TEST_P(completion_events, an_EQE_and_a_CQE_of_one_cycle_are_written_one_after_the_other) {
  requester.at(20, asking(0));  // CQE built in 26, EQE in 31
  requester.at(25, item(1));    // its line is there in 31
  finish();
  ASSERT_EQ(dma.written.size(), 3U);
  EXPECT_EQ(dma.written[1].write.address, EqBase);
  EXPECT_EQ(dma.written[2].write.address, Base + 64);
  EXPECT_EQ(dma.written[2].visible, 37U);
  EXPECT_EQ(waited_for(bench.context.trace, dma.written[2].write.trace, "event"), 1000U);
}

TEST_P(completion_events, a_request_waits_a_cycle_while_the_line_of_an_EQ_is_asked_for) {
  requester.at(20, asking(0));  // CQE built in 26
  requester.at(25, item(1));    // visible in 26, taken in 27
  responder.at(24, item(2));    // visible in 25: not affected
  finish();
  ASSERT_EQ(dma.written.size(), 4U);
  EXPECT_EQ(waited_for(bench.context.trace, dma.written[1].write.trace, "event"), 0U);
  EXPECT_EQ(waited_for(bench.context.trace, dma.written[3].write.trace, "event"), 1000U);
}

TEST_P(completion_events, only_the_owner_arms_a_CQ) {
  requester.at(20, item(0));
  queue_doorbell bell = arm_bell(0, 0);
  bell.function = Owner + 1;
  uar.at(100, bell);
  bell = arm_bell(0, 0);
  bell.uar_page = Page + 1;
  uar.at(101, bell);
  bell = arm_bell(0, 0);
  bell.number = 0x55;  // no such CQ
  uar.at(102, bell);
  create_cq(103, 0x56, cqc_line{});  // destroyed
  bell = {.number = 0x56};
  uar.at(110, bell);
  finish();
  EXPECT_TRUE(eqes().empty());
  EXPECT_EQ(bench.count(counter::QueueDbIgnoredOwner), 4U);
  EXPECT_EQ(bench.nic.counters.value_for(Owner + 1, counter::QueueDbIgnoredOwner), 1U);
  EXPECT_EQ(bench.count(counter::CqArms), 0U);
}

TEST_P(completion_events, only_the_owner_moves_an_EQs_consumer) {
  create_eq(3, Eqn, eq_line(0));  // one entry
  requester.at(20, asking(0));
  queue_doorbell bell = eq_bell(1);
  bell.function = Owner + 1;
  uar.at(100, bell);
  bell = eq_bell(1);
  bell.uar_page = Page + 1;
  uar.at(101, bell);
  uar.at(102, eq_bell(1, Eqn + 1));  // never created
  uar.at(103, eq_bell(1, 0xff));     // there is no such number
  requester.at(200, asking(1));
  uar.at(300, eq_bell(1));
  requester.at(400, asking(2));
  finish();
  EXPECT_EQ(bench.count(counter::QueueDbIgnoredOwner), 4U);
  EXPECT_EQ(bench.nic.counters.value_for(Owner + 1, counter::QueueDbIgnoredOwner), 1U);
  EXPECT_EQ(bench.nic.counters.value_for(Owner, counter::QueueDbIgnoredOwner), 3U) << "who rang";
  EXPECT_EQ(bench.count(counter::EqOverruns), 1U);
  EXPECT_EQ(bench.count(counter::Eqes), 2U);
}

TEST_P(completion_events, a_full_EQ_loses_events_and_its_owner_bit_turns) {
  create_eq(3, Eqn, eq_line(1));
  for (std::uint16_t i = 0; i < 3; ++i) {
    requester.at(100 + 100 * i, asking(i));
  }
  uar.at(400, eq_bell(2));
  requester.at(500, asking(3));
  finish();
  EXPECT_EQ(bench.count(counter::EqOverruns), 1U);
  EXPECT_EQ(bench.count(counter::Cqes), 4U);
  ASSERT_EQ(eqes().size(), 3U);
  EXPECT_EQ(eqes()[2]->write.address, EqBase);
  EXPECT_EQ(eqes()[0]->write.from.data()[0x3f], 0);
  EXPECT_EQ(eqes()[2]->write.from.data()[0x3f], 1);
}

TEST_P(completion_events, an_EQ_that_ignores_overrun_writes_on) {
  eqc_line line = eq_line(1);
  line.oi = 1;
  create_eq(3, Eqn, line);
  for (std::uint16_t i = 0; i < 3; ++i) {
    requester.at(100 + 100 * i, asking(i));
  }
  finish();
  EXPECT_EQ(bench.count(counter::EqOverruns), 0U);
  ASSERT_EQ(eqes().size(), 3U);
  EXPECT_EQ(eqes()[2]->write.address, EqBase);
}

TEST_P(completion_events, after_a_lost_event_the_same_arm_is_taken) {
  create_eq(3, Eqn, eq_line(0));
  requester.at(20, asking(0));  // fills the EQ
  uar.at(100, arm_bell(0, 1));
  requester.at(120, item(1));  // its event is lost
  uar.at(200, eq_bell(1));
  uar.at(210, arm_bell(0, 1));
  finish();
  EXPECT_EQ(bench.count(counter::EqOverruns), 1U);
  EXPECT_EQ(bench.count(counter::CqArmsStale), 0U);
  EXPECT_EQ(bench.count(counter::Eqes), 2U);
}

TEST_P(completion_events, a_new_EQ_starts_again) {
  requester.at(20, asking(0));
  create_eq(100, Eqn, eq_line(4));
  requester.at(200, asking(1));
  finish();
  ASSERT_EQ(eqes().size(), 2U);
  EXPECT_EQ(eqes()[1]->write.address, EqBase);
}

TEST_P(completion_events, an_EQ_that_is_gone_or_another_functions_takes_nothing) {
  ram.set(context_kind::eqc, Eqn, eqc_line{});
  requester.at(20, asking(0));
  bench.run(100);
  eqc_line line = eq_line(4);
  line.function_id = Owner + 1;
  ram.set(context_kind::eqc, Eqn, line);
  requester.at(200, asking(1));
  finish();
  EXPECT_TRUE(eqes().empty());
  EXPECT_EQ(bench.count(counter::EventsUnclaimed), 2U);
}

TEST_P(completion_events, the_event_of_a_CQ_that_was_destroyed_meanwhile_is_not_told) {
  requester.at(20, asking(0));     // raised in 26
  create_cq(27, Cqn, cq_line(4));  // destroyed and made again
  commands.at(28, {.cqn = 0x77});  // another command changes nothing
  requester.at(100, asking(1));
  finish();
  EXPECT_EQ(eqes().size(), 1U);
  EXPECT_EQ(bench.count(counter::Cqes), 2U);
}

TEST_P(completion_events, a_CQ_that_ran_full_is_told_once) {
  create_cq(3, Cqn, cq_line(1));
  eqc_line line = eq_line(4);
  line.event_bitmask = takes({event_type::CqError});
  create_eq(4, Eqn, line);
  for (std::uint16_t i = 0; i < 4; ++i) {
    requester.at(10, item(i));
  }
  finish(2000);
  EXPECT_EQ(bench.count(counter::CqOverruns), 1U);
  EXPECT_EQ(bench.count(counter::CqesDropped), 2U);
  ASSERT_EQ(eqes().size(), 1U);
  const auto entry = dma.get<eqe>(EqBase);
  EXPECT_EQ(entry.kind, event_type::CqError);
  EXPECT_EQ(entry.cq_error_cqn, Cqn);
  EXPECT_EQ(entry.cq_error_syndrome, 1);
}

TEST_P(completion_events, asynchronous_events_go_to_the_functions_first_EQ_that_takes_their_kind) {
  eqc_line line = eq_line(4, OtherEqBase);
  line.event_bitmask = takes({event_type::SqDrained, event_type::WqAccessError});
  create_eq(10, 7, line);
  line.base_addr = OtherEqBase + EqBytes;
  line.event_bitmask = ~std::uint64_t{0};
  create_eq(11, 9, line);
  line.base_addr = OtherEqBase + 2 * EqBytes;
  line.function_id = Owner + 1;
  create_eq(12, 3, line);  // a lower number, but another function's
  requester_events.at(20, event(event_type::SqDrained, 0x123));
  responder_events.at(30, event(event_type::WqAccessError, 0x124));
  async_event limit = event(event_type::SrqLimit, 0x125);
  limit.queue_type = 2;
  limit.sub_type = 3;
  responder_events.at(40, limit);
  finish();
  EXPECT_TRUE(eqes().empty());  // Eqn is the lowest, but takes completions only
  ASSERT_EQ(eqes(OtherEqBase).size(), 2U);
  EXPECT_EQ(eqes(OtherEqBase)[0]->visible, 31U);  // taken in 21
  EXPECT_EQ(dma.get<eqe>(OtherEqBase).kind, event_type::SqDrained);
  EXPECT_EQ(dma.get<eqe>(OtherEqBase).number, 0x123U);
  EXPECT_EQ(dma.get<eqe>(OtherEqBase + 64).kind, event_type::WqAccessError);
  ASSERT_EQ(eqes(OtherEqBase + EqBytes).size(), 1U);
  const auto entry = dma.get<eqe>(OtherEqBase + EqBytes);
  EXPECT_EQ(entry.kind, event_type::SrqLimit);
  EXPECT_EQ(entry.queue_type, 2);
  EXPECT_EQ(entry.sub_type, 3);
  EXPECT_EQ(entry.number, 0x125U);
  EXPECT_TRUE(eqes(OtherEqBase + 2 * EqBytes).empty());
}

TEST_P(completion_events, an_event_of_commands_carries_the_vector_of_their_entries) {
  eqc_line line = eq_line(4);
  line.base_addr = OtherEqBase;
  line.event_bitmask = takes({event_type::Command});
  create_eq(10, 7, line);
  command_events.at(20, event(event_type::Command, 0x80000005));
  finish();
  ASSERT_EQ(eqes(OtherEqBase).size(), 1U);
  EXPECT_EQ(eqes(OtherEqBase)[0]->visible, 31U);  // taken in 21
  // mlx5_eqe: type at byte 1, mlx5_eqe_cmd's vector at 0x20, owner in the last byte.
  EXPECT_EQ(dma.at(OtherEqBase + 1), 0x0aU);
  EXPECT_EQ(dma.at(OtherEqBase + 0x20), 0x80U);
  EXPECT_EQ(dma.at(OtherEqBase + 0x23), 0x05U);
  EXPECT_EQ(dma.at(OtherEqBase + 0x3f), 0U);
}

TEST_P(completion_events, an_event_that_no_EQ_takes_is_counted) {
  requester_events.at(20, event(event_type::WqCatastrophic, 1));
  async_event other = event(event_type::SqDrained, 2);
  other.function = 0;
  eqc_line line = eq_line(4, OtherEqBase);
  line.event_bitmask = takes({event_type::SqDrained});
  create_eq(10, 7, line);
  requester_events.at(30, other);
  finish();
  EXPECT_EQ(bench.count(counter::EventsUnclaimed), 2U);
  EXPECT_EQ(bench.count(counter::Eqes), 0U);
}

TEST_P(completion_events, of_two_events_in_one_cycle_the_responders_goes_first) {
  eqc_line line = eq_line(4);
  line.event_bitmask = takes({event_type::SqDrained, event_type::SrqLastWqe});
  create_eq(10, Eqn, line);
  requester_events.at(20, event(event_type::SqDrained, 1));
  responder_events.at(20, event(event_type::SrqLastWqe, 2));
  finish();
  ASSERT_EQ(eqes().size(), 2U);
  EXPECT_EQ(dma.get<eqe>(EqBase).kind, event_type::SrqLastWqe);
  EXPECT_EQ(dma.get<eqe>(EqBase + 64).kind, event_type::SqDrained);
  EXPECT_EQ(waited_for(bench.context.trace, eqes()[1]->write.trace, "arbiter"), 1000U);
}

TEST_P(completion_events, many_events_wait_and_none_is_lost) {
  eqc_line line = eq_line(8);
  line.event_bitmask = takes({event_type::WqInvalidRequest});
  create_eq(10, Eqn, line);
  for (std::uint32_t i = 0; i < 60; ++i) {
    responder_events.at(20, event(event_type::WqInvalidRequest, 2 * i));
    requester_events.at(20, event(event_type::WqInvalidRequest, 2 * i + 1));
    requester.at(20 + i, item(static_cast<std::uint16_t>(i)));
  }
  create_cq(11, Cqn, cq_line(8));
  finish(4000);
  EXPECT_EQ(eqes().size(), 120U);
  EXPECT_EQ(bench.count(counter::Cqes), 60U);
  std::uint32_t next[2] = {0, 1};
  for (unsigned i = 0; i < 120; ++i) {
    // Those of one source stay in order.
    const std::uint32_t number = dma.get<eqe>(EqBase + 64 * i).number;
    EXPECT_EQ(number, next[number % 2]);
    next[number % 2] += 2;
  }
  ps_t waited = 0;
  for (const auto* each : eqes()) {
    waited += waited_for(bench.context.trace, each->write.trace, "events");
  }
  EXPECT_GT(waited, 0U);  // at the ports, while 16 are in hand
}

TEST_P(completion_events, neither_events_nor_completions_keep_the_others_away) {
  eqc_line line = eq_line(8);
  line.event_bitmask = takes({event_type::WqInvalidRequest});
  create_eq(10, Eqn, line);
  create_cq(11, Cqn, cq_line(8));
  for (std::uint16_t i = 0; i < 60; ++i) {
    responder_events.at(20, event(event_type::WqInvalidRequest, i));
    requester_events.at(20, event(event_type::WqInvalidRequest, i));
    requester.at(20, item(i));
    responder.at(20, item(i));
  }
  finish(4000);
  ASSERT_EQ(dma.written.size(), 240U);
  // They take turns; at the edges of a burst one kind is not there yet.
  unsigned completions = 0;
  for (unsigned i = 0; i < 200; ++i) {
    completions += dma.written[i].write.address < EqBase ? 1 : 0;
  }
  EXPECT_GE(completions, 90U);
  EXPECT_LE(completions, 110U);
}

TEST_P(completion_events, doorbells_are_taken_one_a_cycle_whatever_else_waits) {
  for (unsigned i = 0; i < 100; ++i) {
    uar.at(20, i % 2 == 0 ? arm_bell(0, 5) : eq_bell(0));
    requester.at(20, asking(static_cast<std::uint16_t>(i)));
  }
  create_cq(10, Cqn, cq_line(8));
  bench.run(20 + 102);
  EXPECT_EQ(bench.count(counter::CqArms) + bench.count(counter::CqArmsStale), 50U);
  finish(4000);
}

INSTANTIATE_TEST_SUITE_P(shuffle, completion_events, testing::Values(0, 77));

}  // namespace
}  // namespace carillon
