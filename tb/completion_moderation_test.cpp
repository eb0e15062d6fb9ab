// completion: CQ events that wait for a number of completions or for a period to pass.
//
// As the verbs have it (ibv_modify_cq, "cq_count" and "cq_period"): an event after so many
// completions, or after so many microseconds even if they were fewer. The clock is 1 GHz, so a
// microsecond is 1000 cycles. A CQE requested in cycle n is built in n + 6 and its EQE is visible
// to the DMA engine ten cycles later; so is the EQE of any event raised in that cycle.
#include <gtest/gtest.h>

#include "common/completion_bench.h"

namespace carillon {
namespace {

constexpr cycle_t Build = 6;
constexpr cycle_t Tell = 10;
constexpr cycle_t Microsecond = 1000;
constexpr std::uint64_t EqBytes = 0x10000;

class completion_moderation : public bench::completion_bench {
 protected:
  completion_moderation() { create_eq(2, Eqn, eq_line(6)); }

  void moderate(std::uint16_t count, std::uint16_t period, cycle_t cycle = 1,
                std::uint32_t cqn = Cqn) {
    cqc_line line = cq_line(6);
    line.max_count = count;
    line.period = period;
    line.base_addr = Base + 0x1000 * (cqn - Cqn);
    ram.set(context_kind::cqc, cqn, line);
    cq_command command{.cqn = cqn, .modify = cycle > 10};
    line.pack(command.line.data());
    commands.at(cycle, command);
  }

  static queue_doorbell arm(std::uint8_t sn, std::uint32_t consumer, std::uint32_t cqn = Cqn,
                            bool solicited = false) {
    return {.function = Owner,
            .uar_page = Page,
            .solicited_only = solicited,
            .arm_sn = sn,
            .number = cqn,
            .consumer_index = consumer};
  }

  /// Runs to an end far behind all periods, and gives the cycles in which EQEs were visible.
  std::vector<cycle_t> told(cycle_t until = 40'000) {
    bench.run(until);
    bench.context.check_drained();
    std::vector<cycle_t> result;
    for (const auto& each : dma.written) {
      if (each.write.address >= EqBase && each.write.address < EqBase + EqBytes) {
        result.push_back(each.visible);
        last_told = each.write.trace;
        EXPECT_EQ(bench.context.trace.end_of(last_told), bench.context.clock.time_of(each.cycle));
      }
    }
    return result;
  }

  using cycles = std::vector<cycle_t>;

  trace_ref last_told;
};

TEST_P(completion_moderation, without_count_and_period_each_arm_is_answered_by_the_next_CQE) {
  moderate(0, 0);
  uar.at(10, arm(0, 0));
  requester.at(100, item(0));
  EXPECT_EQ(told(), cycles{100 + Build + Tell});
}

TEST_P(completion_moderation, an_event_waits_for_the_count) {
  moderate(4, 0);
  uar.at(10, arm(0, 0));
  for (std::uint16_t i = 0; i < 6; ++i) {
    requester.at(100 + 100 * i, item(i));
  }
  EXPECT_EQ(told(), cycles{400 + Build + Tell});
}

TEST_P(completion_moderation, a_count_without_a_period_waits_for_ever) {
  moderate(4, 0);
  uar.at(10, arm(0, 0));
  for (std::uint16_t i = 0; i < 3; ++i) {
    requester.at(100 + 100 * i, item(i));
  }
  EXPECT_EQ(told(), cycles{});
}

TEST_P(completion_moderation, an_event_waits_for_the_period_from_the_first_CQE_on) {
  moderate(0, 5);
  uar.at(10, arm(0, 0));
  for (std::uint16_t i = 0; i < 30; ++i) {
    requester.at(100 + 100 * i, item(i));
  }
  EXPECT_EQ(told(), cycles{100 + Build + 5 * Microsecond + Tell});
  EXPECT_EQ(bench.nic.counters.value_for(Owner, counter::CqEventPeriods), 1U);
  // The message that began the period says what the event waited for.
  EXPECT_EQ(bench::waited_for(bench.context.trace, last_told, "moderation"),
            5 * Microsecond * 1000);
}

TEST_P(completion_moderation, no_period_passes_without_a_CQE) {
  moderate(0, 5);
  uar.at(10, arm(0, 0));
  EXPECT_EQ(told(), cycles{});
}

TEST_P(completion_moderation, of_count_and_period_what_comes_first_raises_the_event) {
  moderate(3, 5);
  uar.at(10, arm(0, 0));
  for (std::uint16_t i = 0; i < 3; ++i) {
    requester.at(100 + 1000 * i, item(i));
  }
  // Armed again, and this time the count is not reached.
  uar.at(4000, arm(1, 3));
  requester.at(5000, item(3));
  requester.at(6000, item(4));
  EXPECT_EQ(told(), (cycles{2100 + Build + Tell, 5000 + Build + 5 * Microsecond + Tell}));
}

TEST_P(completion_moderation, completions_since_the_last_event_count_whether_or_not_it_was_armed) {
  moderate(3, 0);
  requester.at(100, item(0));
  requester.at(200, item(1));
  uar.at(300, arm(0, 2));
  requester.at(400, item(2));
  EXPECT_EQ(told(), cycles{400 + Build + Tell});
}

TEST_P(completion_moderation, an_arm_behind_count_or_period_is_answered_at_once) {
  moderate(2, 5);
  requester.at(100, item(0));
  requester.at(200, item(1));
  uar.at(300, arm(0, 0));  // taken in 301: the count is reached
  requester.at(1000, item(2));
  uar.at(9000, arm(1, 2));  // the period has passed
  EXPECT_EQ(told(), (cycles{301 + Tell, 9001 + Tell}));
}

TEST_P(completion_moderation, an_arm_within_the_period_is_answered_at_its_end) {
  moderate(0, 5);
  requester.at(100, item(0));
  uar.at(3000, arm(0, 0));
  EXPECT_EQ(told(), cycles{100 + Build + 5 * Microsecond + Tell});
}

TEST_P(completion_moderation, what_was_unread_at_the_last_event_does_not_wait_again) {
  moderate(2, 0);
  uar.at(10, arm(0, 0));
  requester.at(100, item(0));
  requester.at(200, item(1));
  uar.at(1000, arm(1, 1));  // only one of the two was read
  EXPECT_EQ(told(), (cycles{200 + Build + Tell, 1001 + Tell}));
}

TEST_P(completion_moderation, nothing_is_told_of_a_CQ_that_is_not_armed) {
  moderate(2, 5);
  for (std::uint16_t i = 0; i < 9; ++i) {
    requester.at(100 + 100 * i, item(i));
  }
  EXPECT_EQ(told(), cycles{});
}

TEST_P(completion_moderation, who_waits_for_solicited_completions_waits_for_the_count_of_all) {
  moderate(3, 0);
  uar.at(10, arm(0, 0, Cqn, true));
  for (std::uint16_t i = 0; i < 5; ++i) {
    cqe_item cqe = item(i);
    cqe.solicited = i == 3;
    responder.at(100 + 100 * i, cqe);
  }
  EXPECT_EQ(told(), cycles{400 + Build + Tell}) << "the fourth is solicited";
}

TEST_P(completion_moderation, a_WQE_that_asks_for_an_event_waits_for_nothing_and_begins_anew) {
  moderate(3, 0);
  uar.at(10, arm(0, 0));
  requester.at(100, item(0));
  cqe_item asking = item(1);
  asking.event = true;
  requester.at(200, asking);
  uar.at(250, arm(1, 2));
  requester.at(300, item(2));
  requester.at(400, item(3));
  requester.at(500, item(4));
  EXPECT_EQ(told(), (cycles{200 + Build + Tell, 500 + Build + Tell}));
}

TEST_P(completion_moderation, modifying_a_CQ_keeps_its_counters) {
  moderate(9, 0);
  uar.at(10, arm(0, 0));
  for (std::uint16_t i = 0; i < 3; ++i) {
    requester.at(100 + 100 * i, item(i));
  }
  moderate(4, 0, 1000);
  requester.at(2000, item(3));
  EXPECT_EQ(told(), cycles{2000 + Build + Tell}) << "the fourth since the last event";
  EXPECT_EQ(dma.written.back().write.address, EqBase);
  EXPECT_EQ(dma.written[3].write.address, Base + 3 * 64) << "the ring goes on";
}

TEST_P(completion_moderation, a_smaller_count_or_none_raises_what_has_waited_enough_for_it) {
  moderate(9, 0);
  uar.at(10, arm(0, 0));
  for (std::uint16_t i = 0; i < 3; ++i) {
    requester.at(100 + 100 * i, item(i));
  }
  moderate(3, 0, 1000);  // taken in 1001
  uar.at(2000, arm(1, 3));
  requester.at(3000, item(3));
  moderate(0, 0, 4000);
  EXPECT_EQ(told(), (cycles{1001 + Tell, 4001 + Tell}));
}

TEST_P(completion_moderation, a_changed_period_counts_from_the_same_CQE) {
  moderate(0, 20);
  uar.at(10, arm(0, 0));
  requester.at(100, item(0));
  moderate(0, 5, 1000);
  EXPECT_EQ(told(), cycles{100 + Build + 5 * Microsecond + Tell});
}

TEST_P(completion_moderation, a_longer_period_moves_the_event_back) {
  moderate(0, 5);
  uar.at(10, arm(0, 0));
  requester.at(100, item(0));
  moderate(0, 20, 1000);
  EXPECT_EQ(told(), cycles{100 + Build + 20 * Microsecond + Tell});
}

TEST_P(completion_moderation, modifying_a_CQ_that_does_not_exist_changes_nothing) {
  moderate(0, 5, 1000);
  uar.at(1100, arm(0, 0));
  EXPECT_EQ(told(), cycles{});
  EXPECT_EQ(bench.count(counter::QueueDbIgnoredOwner), 1U);
}

TEST_P(completion_moderation, each_CQ_has_its_own_period) {
  constexpr std::uint32_t Count = 4;
  for (std::uint32_t i = 0; i < Count; ++i) {
    moderate(0, static_cast<std::uint16_t>(8 - 2 * i), 3 + i, Cqn + i);
    uar.at(20 + i, arm(0, 0, Cqn + i));
    requester.at(100 + 10 * i, item(0, Cqn + i));
  }
  // The last one's is the shortest.
  cycles expected;
  for (std::uint32_t i = Count; i-- != 0;) {
    expected.push_back(100 + 10 * i + Build + (8 - 2 * i) * Microsecond + Tell);
  }
  EXPECT_EQ(told(), expected);
}

TEST_P(completion_moderation, the_period_of_a_CQ_that_is_destroyed_raises_nothing) {
  moderate(0, 5);
  uar.at(10, arm(0, 0));
  requester.at(100, item(0));
  commands.at(2000, cq_command{.cqn = Cqn});
  EXPECT_EQ(told(), cycles{});
}

TEST_P(completion_moderation, a_period_costs_two_wakes_however_many_completions_it_covers) {
  moderate(0, 20);
  uar.at(10, arm(0, 0));
  const auto run = [&](std::uint16_t from, std::uint16_t to) {
    for (std::uint16_t i = from; i < to; ++i) {
      requester.at(1000 + 100 * i, item(i));
    }
  };
  run(0, 40);
  bench.run(12'000);
  const std::uint64_t callbacks = bench.context.line.callbacks();
  bench.run(28'000);
  EXPECT_LE(bench.context.line.callbacks() - callbacks, 1U);
  EXPECT_EQ(told(1), cycles{1000 + Build + 20 * Microsecond + Tell});
}

INSTANTIATE_TEST_SUITE_P(shuffle, completion_moderation, testing::Values(0, 1, 2));

}  // namespace
}  // namespace carillon
