// tx_sched under PFC: a QP whose priority is paused gets no grants, and nobody else waits for it.
#include <algorithm>
#include <gtest/gtest.h>

#include "common/tx_sched_bench.h"

namespace carillon {
namespace {

using bench::tx_sched_bench;
using bench::waited_for;

constexpr std::uint8_t Uc = 1;          // mlx5 service type: no window without acknowledges
constexpr std::uint32_t Third = 0x21;   // its path has priority 3
constexpr std::uint32_t Fourth = 0x22;  // ... 4

constexpr std::uint8_t bit(unsigned priority) {
  return static_cast<std::uint8_t>(1U << priority);
}

class tx_sched_pause : public tx_sched_bench {
 protected:
  tx_sched_pause() {
    plain_sinks();
    prepare(1, Third, 3);
    prepare(2, Fourth, 4);
  }

  /// Up to cycle t, which has not been.
  void run_to(cycle_t t) { bench.run(t - now_ps() / bench.context.clock.period()); }

  void prepare(cycle_t t, std::uint32_t qpn, std::uint8_t priority) {
    qp_command item = command(qpn, qp_state::Rts, 0, 0, static_cast<qp_service>(Uc));
    item.priority = priority;
    commands.at(t, item);
  }

  /// From cycle t + 1 on.
  void pause(cycle_t t, std::uint8_t priorities) {
    run_to(t);
    paused.write(t, priorities);
  }

  work_item of(std::uint32_t qpn, std::uint32_t packets) {
    work_item work = fetched(qpn, packets * 4096);
    work.service = Uc;
    return work;
  }

  static response_item read_of(std::uint32_t qpn, std::uint32_t packets) {
    response_item item;
    item.kind = response_kind::read;
    item.qpn = qpn;
    item.length = packets * 4096;
    item.mtu_code = bench::Mtu4096;
    return item;
  }

  [[nodiscard]] std::ptrdiff_t granted(std::uint32_t qpn) const {
    return std::count_if(payload->items.begin(), payload->items.end(),
                         [qpn](const auto& each) { return each.item.qpn == qpn; });
  }
};

TEST_P(tx_sched_pause, a_paused_priority_gets_no_grants_and_others_do) {
  pause(5, bit(3));
  works.at(10, of(Third, 10));
  works.at(11, of(Fourth, 10));
  run_to(200);
  EXPECT_EQ(granted(Third), 0);
  EXPECT_EQ(granted(Fourth), 10);
  pause(300, 0);
  run_to(600);
  EXPECT_EQ(granted(Third), 10);
  // It is seen in 301, at whose end the QP is back in line, and granted in 302: 5 cycles to the
  // next stage.
  EXPECT_EQ(payload->items[10].visible, 307U);
  EXPECT_EQ(waited_for(bench.context.trace, payload->items[10].item.trace, "pause"), 290000U);
  finish();
}

TEST_P(tx_sched_pause, a_message_stops_between_two_packets) {
  works.at(10, of(Third, 20));
  pause(15, bit(3));
  run_to(300);
  const auto before = granted(Third);
  EXPECT_GT(before, 0);
  EXPECT_LT(before, 20);
  pause(400, 0);
  run_to(600);
  EXPECT_EQ(granted(Third), 20);
  for (std::uint32_t i = 0; i < 20; ++i) {
    EXPECT_EQ(payload->items[i].item.psn, i) << "none is lost and none comes twice";
  }
  finish();
}

TEST_P(tx_sched_pause, a_qp_that_stands_aside_costs_its_turn_and_no_more) {
  // Packets of a whole MTU go in turn, one a cycle.
  works.at(10, of(Third, 20));
  works.at(11, of(Fourth, 20));
  pause(20, bit(3));
  run_to(200);
  EXPECT_EQ(granted(Fourth), 20);
  std::vector<cycle_t> gaps;
  for (std::size_t i = 1; i < payload->items.size(); ++i) {
    if (const cycle_t gap = payload->items[i].visible - payload->items[i - 1].visible; gap != 1) {
      gaps.push_back(gap);
    }
  }
  EXPECT_EQ(gaps, std::vector<cycle_t>{2});
  pause(200, 0);
  run_to(400);
  EXPECT_EQ(granted(Third), 20);
  finish();
}

TEST_P(tx_sched_pause, who_comes_back_goes_to_the_end_of_the_round) {
  works.at(10, of(Third, 20));
  works.at(11, of(Fourth, 100));
  pause(20, bit(3));
  pause(40, 0);
  run_to(60);
  // In turn again: seen in 41, at whose end it is the last of two.
  std::vector<std::uint32_t> qpns;
  for (const auto& each : payload->items) {
    if (each.visible >= 47 && each.visible < 51) {
      qpns.push_back(each.item.qpn);
    }
  }
  EXPECT_EQ(qpns, (std::vector<std::uint32_t>{Fourth, Third, Fourth, Third}));
  run_to(400);
  EXPECT_EQ(granted(Third), 20);
  finish();
}

TEST_P(tx_sched_pause, what_tx_mac_has_too_much_of_stops_too) {
  run_to(5);
  crowded.write(5, bit(4));
  works.at(10, of(Third, 3));
  works.at(11, of(Fourth, 3));
  run_to(200);
  EXPECT_EQ(granted(Third), 3);
  EXPECT_EQ(granted(Fourth), 0);
  crowded.write(200, 0);
  run_to(400);
  EXPECT_EQ(granted(Fourth), 3);
  finish();
}

TEST_P(tx_sched_pause, acknowledges_of_a_paused_priority_wait_and_others_pass_them) {
  pause(5, bit(3));
  acknowledges.at(10, acknowledge(7, Third));
  acknowledges.at(11, acknowledge(8, Fourth));
  run_to(200);
  ASSERT_EQ(direct->items.size(), 1U);
  EXPECT_EQ(direct->items[0].item.qpn, Fourth);
  pause(200, 0);
  run_to(400);
  ASSERT_EQ(direct->items.size(), 2U);
  EXPECT_EQ(direct->items[1].item.qpn, Third);
  finish();
}

TEST_P(tx_sched_pause, read_data_of_a_paused_priority_waits_and_others_pass_it) {
  pause(5, bit(3));
  acknowledges.at(10, read_of(Third, 3));
  acknowledges.at(11, read_of(Fourth, 3));
  for (unsigned i = 0; i < 3; ++i) {
    payload_left gone;
    gone.qpn = Fourth;
    gone.response = true;
    left->at(100 + i, gone);
  }
  run_to(200);
  EXPECT_EQ(granted(Third), 0);
  EXPECT_EQ(granted(Fourth), 3);
  pause(200, 0);
  for (unsigned i = 0; i < 3; ++i) {
    payload_left gone;
    gone.qpn = Third;
    gone.response = true;
    left->at(300 + i, gone);
  }
  run_to(400);
  EXPECT_EQ(granted(Third), 3);
  finish();
}

TEST_P(tx_sched_pause, a_port_with_a_vlan_gives_its_qps_its_own_priority) {
  vport port{.enabled = true};
  port.vlan = 5;
  port.priority = 6;
  vports.write(0, vport_table(std::vector<vport>(1, port)));
  pause(5, bit(3));
  works.at(10, of(Third, 3));
  run_to(200);
  EXPECT_EQ(granted(Third), 3);
  pause(200, bit(6));
  works.at(210, of(Third, 3));
  run_to(400);
  EXPECT_EQ(granted(Third), 3);
  pause(400, 0);
  run_to(600);
  EXPECT_EQ(granted(Third), 6);
  finish();
}

TEST_P(tx_sched_pause, a_qp_that_is_reset_while_it_stands_still_is_forgotten) {
  pause(5, bit(3));
  works.at(10, of(Third, 3));
  acknowledges.at(10, acknowledge(7, Third));
  commands.at(50, command(Third, qp_state::Reset));
  run_to(100);
  pause(100, 0);
  run_to(300);
  EXPECT_EQ(granted(Third), 0);
  EXPECT_TRUE(direct->items.empty());
  finish();
}

TEST_P(tx_sched_pause, an_error_ends_work_that_stands_still) {
  pause(5, bit(3));
  works.at(10, of(Third, 3));
  commands.at(50, command(Third, qp_state::Err));
  run_to(300);
  EXPECT_EQ(told(), 1U);
  EXPECT_EQ(granted(Third), 0);
  pause(300, 0);
  run_to(400);
  EXPECT_EQ(granted(Third), 0);
  finish();
}

TEST_P(tx_sched_pause, many_qps_come_back_one_a_cycle) {
  constexpr std::uint32_t Qps = 40;
  for (std::uint32_t i = 0; i < Qps; ++i) {
    prepare(20 + i, 0x100 + i, 3);
  }
  pause(100, bit(3));
  for (std::uint32_t i = 0; i < Qps; ++i) {
    works.at(110 + i, of(0x100 + i, 1));
  }
  run_to(400);
  EXPECT_TRUE(payload->items.empty());
  pause(400, 0);
  run_to(800);
  ASSERT_EQ(payload->items.size(), Qps);
  for (std::uint32_t i = 0; i < Qps; ++i) {
    EXPECT_EQ(payload->items[i].item.qpn, 0x100 + i);
    EXPECT_EQ(payload->items[i].visible, 407U + i);  // back in line at the end of 401 + i
  }
  finish();
}

INSTANTIATE_TEST_SUITE_P(shuffle, tx_sched_pause, testing::Values(0, 1, 2));

}  // namespace
}  // namespace carillon
