// tx_sched: rates of QPs and CNPs. A packet of 1024 bytes in the middle of a WRITE takes 14 + 20 +
// 8 + 12 + 1024 + 4 bytes of frame, 4 of FCS and 20 of preamble and gap: 1106 of wire; the first
// one 16 more. The bucket holds the longest packet, 14 + 4 + 40 + 8 + 12 + 16 + 4 + 4096 + 4 + 4 +
// 20 = 4222 bytes. At one byte a nanosecond a byte is a cycle.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <vector>

#include "tb/common/tx_sched_bench.h"

namespace carillon::bench {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr cycle_t Wire = 1106;
constexpr std::uint32_t ByteANs = 1U << 24;
constexpr std::uint16_t Slot = 7;

class tx_sched_rates : public tx_sched_bench {
 protected:
  tx_sched_rates()
      : tx_sched_bench({}, vport_table(std::vector<vport>(1, vport{.enabled = true})), true),
        limits("limits", bench, *ports.limits),
        charges("charges", bench, *ports.charges) {
    plain_sinks();
    for (const std::uint32_t qpn : {Qp, OtherQp}) {
      commands.at(1, command(qpn, qp_state::Rts, 0x100));
    }
  }

  void rate(cycle_t at, std::uint32_t value, std::uint32_t qpn = Qp, std::uint16_t slot = Slot) {
    rate_limit item;
    item.qpn = qpn;
    item.slot = slot;
    item.rate = value;
    limits.at(at, item, 1, false);
  }

  void cnp(cycle_t at, std::uint32_t qpn = Qp) {
    rate_limit item;
    item.kind = limit_kind::cnp;
    item.qpn = qpn;
    item.dscp = 48;
    item.priority = 6;
    limits.at(at, item, 1, false);
  }

  [[nodiscard]] std::vector<cycle_t> times(std::uint32_t qpn = Qp) const {
    std::vector<cycle_t> result;
    for (const auto& each : payload->items) {
      if (each.item.qpn == qpn) {
        result.push_back(each.visible);
      }
    }
    return result;
  }

  [[nodiscard]] std::vector<cycle_t> distances(std::uint32_t qpn = Qp) const {
    const std::vector<cycle_t> at = times(qpn);
    std::vector<cycle_t> result;
    for (std::size_t i = 1; i < at.size(); ++i) {
      result.push_back(at[i] - at[i - 1]);
    }
    return result;
  }

  source<rate_limit> limits;
  sink<rate_charge> charges;
};

/// 1122 + 3 * 1106 of the 4222 bytes go at once and leave a debt of 218, which is paid 219 cycles
/// later; a cycle after that the QP is back in its round. Then each packet waits for the one before
/// it.
TEST_P(tx_sched_rates, a_limited_qp_sends_at_its_rate) {
  rate(10, ByteANs);
  works.at(20, fetched(Qp, 8 * 1024, Mtu1024));
  bench.run(10000);
  const std::vector<cycle_t> seen = distances();
  ASSERT_EQ(seen.size(), 7U);
  EXPECT_EQ(seen[0], 1U);
  EXPECT_EQ(seen[1], 1U);
  EXPECT_EQ(seen[2], 1U);
  // Three of the cycles have passed before the fourth packet.
  EXPECT_EQ(seen[3], 219U + 1 - 3);
  EXPECT_THAT(std::vector(seen.begin() + 4, seen.end()), Each(Wire));
  std::vector<std::uint32_t> told;
  for (const auto& each : charges.items) {
    EXPECT_EQ(each.item.slot, Slot);
    EXPECT_EQ(each.item.qpn, Qp);
    told.push_back(each.item.bytes);
  }
  EXPECT_THAT(told, ElementsAre(1122, 1106, 1106, 1106, 1106, 1106, 1106, 1106));
}

TEST_P(tx_sched_rates, other_qps_go_on_meanwhile) {
  rate(10, ByteANs);
  works.at(20, fetched(Qp, 8 * 1024, Mtu1024));
  works.at(21, fetched(OtherQp, 8 * 1024, Mtu1024));
  bench.run(300);
  EXPECT_EQ(times(OtherQp).size(), 8U);
  EXPECT_LT(times(OtherQp).back(), 60U);
  for (const auto& each : charges.items) {
    EXPECT_EQ(each.item.qpn, Qp);
  }
}

/// A turn is four packets. Then it would be the limited QP's turn again.
TEST_P(tx_sched_rates, a_qp_that_stands_aside_uses_up_the_cycle) {
  rate(10, 1);
  works.at(20, fetched(Qp, 8 * 1024, Mtu1024));
  works.at(21, fetched(OtherQp, 8 * 1024, Mtu1024));
  bench.run(300);
  EXPECT_EQ(times().size(), 4U);
  EXPECT_THAT(distances(OtherQp), ElementsAre(1, 1, 1, 2, 1, 1, 1));
}

/// Both owe 218 bytes, but for some millionths. The first rate pays that in 218 cycles from 2001
/// on, the second, a 128th more, in 217 from 2002 on.
TEST_P(tx_sched_rates, of_two_buckets_that_open_the_lower_context_goes_on_first) {
  constexpr std::uint16_t Low = 3;
  rate(10, 1);
  rate(11, 1, OtherQp, Low);
  works.at(20, fetched(Qp, 5 * 1024, Mtu1024));
  works.at(21, fetched(OtherQp, 5 * 1024, Mtu1024));
  rate(2000, ByteANs);
  rate(2001, ByteANs + ByteANs / 128, OtherQp, Low);
  bench.run(3000);
  ASSERT_EQ(times().size(), 5U);
  ASSERT_EQ(times(OtherQp).size(), 5U);
  EXPECT_EQ(times(OtherQp)[4], 2001U + 218 + 1 + 5);
  EXPECT_EQ(times()[4], 2001U + 218 + 2 + 5);
}

TEST_P(tx_sched_rates, a_packet_that_waits_is_timed_anew_by_a_new_rate) {
  rate(10, 1);  // no packet in a second
  works.at(20, fetched(Qp, 6 * 1024, Mtu1024));
  rate(2000, ByteANs);
  bench.run(6000);
  const std::vector<cycle_t> seen = times();
  ASSERT_EQ(seen.size(), 6U);
  // The debt of 218 bytes, of which the first rate has paid a few millionths, is paid from cycle
  // 2001 on, when the rate is seen.
  EXPECT_EQ(seen[4], 2001U + 218 + 1 + 5);
  EXPECT_EQ(seen[5], seen[4] + Wire);
}

TEST_P(tx_sched_rates, without_its_rate_a_qp_goes_on_at_once) {
  rate(10, 1);
  works.at(20, fetched(Qp, 6 * 1024, Mtu1024));
  rate(2000, 0);
  bench.run(3000);
  const std::vector<cycle_t> seen = times();
  ASSERT_EQ(seen.size(), 6U);
  EXPECT_EQ(seen[4], 2001U + 1 + 5);
  EXPECT_EQ(seen[5], seen[4] + 1);
  EXPECT_EQ(charges.items.size(), 4U);
}

TEST_P(tx_sched_rates, the_wait_is_booked_on_the_rate) {
  rate(10, ByteANs);
  works.at(20, fetched(Qp, 5 * 1024, Mtu1024));
  bench.run(3000);
  ASSERT_EQ(payload->items.size(), 5U);
  // It is looked at in the cycle after the fourth, and goes 216 cycles after that.
  EXPECT_EQ(waited_for(bench.context.trace, payload->items.back().item.trace, "rate"), 215'000U);
}

TEST_P(tx_sched_rates, acknowledges_are_not_held_back) {
  rate(10, 1);
  works.at(20, fetched(Qp, 6 * 1024, Mtu1024));
  acknowledges.at(100, acknowledge(5, Qp));
  bench.run(200);
  ASSERT_EQ(direct->items.size(), 1U);
  EXPECT_EQ(direct->items[0].visible, 101U + 5);
}

TEST_P(tx_sched_rates, the_data_of_a_read_response_keeps_to_the_rate) {
  rate(10, ByteANs);
  response_item read;
  read.kind = response_kind::read;
  read.qpn = Qp;
  read.length = 8 * 1024;
  read.mtu_code = Mtu1024;
  acknowledges.at(20, read);
  bench.run(10000);
  const std::vector<cycle_t> seen = distances();
  ASSERT_EQ(seen.size(), 7U);
  // The last one has an AETH of 4 bytes, which the one behind it would pay.
  EXPECT_THAT(std::vector(seen.begin() + 4, seen.end()), Each(Wire));
}

TEST_P(tx_sched_rates, a_read_response_that_waits_keeps_nobody_elses_waiting) {
  rate(10, 1);
  response_item read;
  read.kind = response_kind::read;
  read.qpn = Qp;
  read.length = 8 * 1024;
  read.mtu_code = Mtu1024;
  acknowledges.at(20, read);
  read.qpn = OtherQp;
  acknowledges.at(21, read);
  bench.run(300);
  EXPECT_EQ(times(Qp).size(), 4U);
  EXPECT_EQ(times(OtherQp).size(), 8U);
}

/// Both wait for the same bucket.
TEST_P(tx_sched_rates, read_responses_and_requests_come_back_together) {
  rate(10, 1);
  response_item read;
  read.kind = response_kind::read;
  read.qpn = Qp;
  read.length = 6 * 1024;
  read.mtu_code = Mtu1024;
  acknowledges.at(20, read);
  works.at(20, fetched(Qp, 4 * 1024, Mtu1024));
  rate(2000, 0);
  bench.run(3000);
  const std::vector<cycle_t> seen = times();
  ASSERT_EQ(seen.size(), 10U);
  EXPECT_LT(seen[3], 100U);
  EXPECT_EQ(seen[4], 2001U + 1 + 5);
  for (std::size_t i = 5; i < seen.size(); ++i) {
    EXPECT_EQ(seen[i], seen[i - 1] + 1);
  }
}

TEST_P(tx_sched_rates, a_reset_qp_with_a_rate_sends_nothing_more) {
  rate(10, ByteANs);
  works.at(20, fetched(Qp, 8 * 1024, Mtu1024));
  commands.at(100, command(Qp, qp_state::Reset));
  bench.run(10000);
  EXPECT_EQ(times().size(), 4U);
}

// CNPs
// -------------------------------------------------------------------------------------------

TEST_P(tx_sched_rates, a_cnp_is_16_bytes_of_its_own_class) {
  cnp(10);
  bench.run(30);
  ASSERT_EQ(direct->items.size(), 1U);
  const packet_item& packet = direct->items[0].item;
  EXPECT_EQ(direct->items[0].visible, 11U + 5);
  EXPECT_EQ(packet.source, packet_source::acknowledge);
  EXPECT_EQ(packet.wqe_opcode, 0x81);
  EXPECT_EQ(packet.qpn, Qp);
  EXPECT_EQ(packet.psn, 0U);
  EXPECT_EQ(packet.payload, 16U);
  EXPECT_EQ(packet.syndrome, 48);
  EXPECT_EQ(packet.msn, 6U);
  EXPECT_THAT(std::vector<std::uint8_t>(packet.body.data(), packet.body.data() + 16), Each(0));
  EXPECT_EQ(bench.count(counter::NpCnpSent), 1U);
}

TEST_P(tx_sched_rates, a_cnp_goes_before_acknowledges) {
  acknowledges.at(10, acknowledge(5, OtherQp));
  cnp(10);
  bench.run(30);
  ASSERT_EQ(direct->items.size(), 2U);
  EXPECT_EQ(direct->items[0].item.qpn, Qp);
  EXPECT_EQ(direct->items[1].visible, direct->items[0].visible + 1);
}

TEST_P(tx_sched_rates, a_cnp_waits_while_its_own_priority_is_paused) {
  bench.run(5);
  paused.write(5, 1U << 6 | 1U << 3);
  cnp(10);
  bench.run(45);
  EXPECT_THAT(direct->items, IsEmpty());
  paused.write(50, 1U << 3);
  bench.run(30);
  ASSERT_EQ(direct->items.size(), 1U);
  EXPECT_EQ(direct->items[0].visible, 51U + 5);
}

TEST_P(tx_sched_rates, a_cnp_for_a_qp_in_reset_is_dropped) {
  commands.at(10, command(Qp, qp_state::Reset));
  cnp(20);
  bench.run(50);
  EXPECT_THAT(direct->items, IsEmpty());
  EXPECT_EQ(bench.count(counter::NpCnpSent), 0U);
}

INSTANTIATE_TEST_SUITE_P(shuffled, tx_sched_rates, testing::Values(0, 1, 2));

}  // namespace
}  // namespace carillon::bench
