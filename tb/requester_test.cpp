// requester: an ACK completes everything up to its PSN, in the order of posting.
#include "requester.h"

#include <gtest/gtest.h>

#include "common/stage_bench.h"
#include "gen/contexts.h"
#include "gen/wqe.h"

namespace carillon {
namespace {

using bench::sink;
using bench::source;
using bench::stage_bench;
using bench::waited_for;

constexpr std::uint32_t Qpn = 0x31;

class requester_bench : public testing::TestWithParam<int> {
 protected:
  requester_bench()
      : bench(static_cast<std::uint64_t>(GetParam())),
        ports{bench.port<sent_packet>("sent"), bench.port<rx_packet>("responses"),
              bench.port<qp_command>("commands"), bench.port<cqe_item>("cqes", 2)},
        dut("requester", bench.nic, ports),
        sent("tx_sched", bench, ports.sent),
        responses("rx_parser", bench, ports.responses),
        commands("pcie_endpoint", bench, ports.commands) {}

  /// The last packet of WQE `index`.
  void send(cycle_t cycle, std::uint32_t psn, std::uint16_t index, bool signaled = true,
            std::uint8_t syndrome = 0, std::uint32_t qpn = Qpn) {
    sent_packet packet;
    packet.qpn = qpn;
    packet.psn = psn;
    packet.last = true;
    packet.wqe_index = index;
    packet.opcode = static_cast<std::uint8_t>(wqe_opcode::RdmaWrite);
    packet.signaled = signaled;
    packet.syndrome = syndrome;
    packet.length = 1000U + index;
    packet.send_cqn = 9;
    sent.at(cycle, packet);
  }

  void send_middle(cycle_t cycle, std::uint32_t psn) {
    sent_packet packet;
    packet.qpn = Qpn;
    packet.psn = psn;
    sent.at(cycle, packet);
  }

  void respond(cycle_t cycle, std::uint32_t psn, std::uint8_t syndrome = 31,
               std::uint32_t qpn = Qpn) {
    rx_packet packet;
    packet.verdict = rx_verdict::response;
    packet.qpn = qpn;
    packet.bth_opcode = static_cast<std::uint8_t>(bth_opcode::RcAcknowledge);
    packet.psn = psn;
    packet.syndrome = syndrome;
    responses.at(cycle, packet, 1, false);
  }

  stage_bench bench;
  requester::ports ports;
  requester dut;
  source<sent_packet> sent;
  source<rx_packet> responses;
  source<qp_command> commands;
};

TEST_P(requester_bench, an_ack_completes_its_wqe_ten_cycles_later) {
  sink<cqe_item> completion("completion", bench, ports.cqes);
  send(10, 5, 0);
  respond(99, 5);  // taken in 100
  bench.run(300);
  ASSERT_EQ(completion.items.size(), 1U);
  EXPECT_EQ(completion.items[0].visible, 110U);
  const cqe_item& cqe = completion.items[0].item;
  EXPECT_EQ(cqe.cqn, 9U);
  EXPECT_EQ(cqe.qpn, Qpn);
  EXPECT_EQ(cqe.cqe_opcode, 0);
  EXPECT_EQ(cqe.wqe_opcode, 0x08);
  EXPECT_EQ(cqe.wqe_counter, 0);
  EXPECT_EQ(cqe.byte_count, 1000U);
  EXPECT_EQ(cqe.point, milestone::cqe_written);
  EXPECT_EQ(waited_for(bench.context.trace, cqe.trace, "acknowledge"), 89000U);  // 11 .. 100
  bench.context.check_drained();
}

TEST_P(requester_bench, one_ack_completes_all_before_it_one_a_cycle_and_only_the_signaled) {
  sink<cqe_item> completion("completion", bench, ports.cqes);
  send_middle(10, 0xfffffd);
  send(11, 0xfffffe, 0);
  send(12, 0xffffff, 1, false);
  send(13, 0, 2);  // the PSN wraps
  send(14, 1, 3);
  respond(99, 0);
  bench.run(300);
  ASSERT_EQ(completion.items.size(), 2U);
  EXPECT_EQ(completion.items[0].item.wqe_counter, 0);
  EXPECT_EQ(completion.items[0].visible, 110U);
  EXPECT_EQ(completion.items[1].item.wqe_counter, 2);
  EXPECT_EQ(completion.items[1].visible, 111U);
  bench.context.check_drained();
}

TEST_P(requester_bench, acks_of_the_past_and_of_the_future_change_nothing) {
  sink<cqe_item> completion("completion", bench, ports.cqes);
  send(10, 5, 0);
  send(11, 6, 1);
  respond(50, 4);
  respond(60, 7);
  respond(70, 5);
  respond(80, 5);
  respond(90, 3, 31, 0x77);
  bench.run(300);
  EXPECT_EQ(completion.items.size(), 1U);
  EXPECT_EQ(bench.count(counter::AcksReceived), 5U);
  bench.context.check_drained();
}

TEST_P(requester_bench, a_failed_wqe_completes_after_the_earlier_ones) {
  sink<cqe_item> completion("completion", bench, ports.cqes);
  send(10, 5, 0);
  send(11, 0, 1, false, static_cast<std::uint8_t>(cqe_syndrome::LocalProtection));
  send(12, 0, 2, false, static_cast<std::uint8_t>(cqe_syndrome::WrFlushed));
  respond(99, 5);
  bench.run(300);
  ASSERT_EQ(completion.items.size(), 3U);
  EXPECT_EQ(completion.items[0].item.cqe_opcode, 0);
  EXPECT_EQ(completion.items[1].item.cqe_opcode, 13);
  EXPECT_EQ(completion.items[1].item.syndrome, 0x04);
  EXPECT_EQ(completion.items[1].item.wqe_counter, 1);
  EXPECT_EQ(completion.items[1].visible, 111U);
  EXPECT_EQ(completion.items[2].item.syndrome, 0x05);
  bench.context.check_drained();
}

TEST_P(requester_bench, a_failed_wqe_with_nothing_before_it_completes_at_once) {
  sink<cqe_item> completion("completion", bench, ports.cqes);
  send(10, 0, 0, false, static_cast<std::uint8_t>(cqe_syndrome::LocalProtection));
  bench.run(300);
  ASSERT_EQ(completion.items.size(), 1U);
  EXPECT_EQ(completion.items[0].visible, 21U);
  bench.context.check_drained();
}

TEST_P(requester_bench, naks_are_counted_by_name) {
  sink<cqe_item> completion("completion", bench, ports.cqes);
  send(10, 5, 0);
  respond(20, 5, 0x60);
  respond(21, 5, 0x61);
  respond(22, 5, 0x62);
  respond(23, 5, 0x63);
  respond(24, 5, 0x20 | 14);
  bench.run(300);
  EXPECT_TRUE(completion.items.empty());
  EXPECT_EQ(bench.count(counter::PacketSeqErr), 1U);
  EXPECT_EQ(bench.count(counter::ReqRemoteInvalidRequest), 1U);
  EXPECT_EQ(bench.count(counter::ReqRemoteAccessErrors), 1U);
  EXPECT_EQ(bench.count(counter::ReqBadResponse), 1U);
  EXPECT_EQ(bench.count(counter::RnrNakRetryErr), 1U);
  bench.context.check_drained();
}

TEST_P(requester_bench, reset_forgets_the_window) {
  sink<cqe_item> completion("completion", bench, ports.cqes);
  send(10, 5, 0);
  qp_command reset;
  reset.qpn = Qpn;
  reset.state = static_cast<std::uint8_t>(qp_state::Reset);
  commands.at(50, reset);
  respond(60, 5);
  send(70, 200, 0);
  respond(80, 200);
  bench.run(300);
  ASSERT_EQ(completion.items.size(), 1U);
  EXPECT_EQ(completion.items[0].visible, 91U);
  bench.context.check_drained();
}

TEST_P(requester_bench, back_pressure_keeps_the_order) {
  sink<cqe_item> completion("completion", bench, ports.cqes, 13);
  for (std::uint16_t i = 0; i < 50; ++i) {
    send(10 + i, i, i, true, 0, Qpn);
    send(10 + i, i, i, true, 0, Qpn + 1);
  }
  for (std::uint32_t i = 0; i < 50; ++i) {
    respond(200 + i, i, 31, Qpn + i % 2);
  }
  respond(400, 49, 31, Qpn);
  bench.run(3000);
  ASSERT_EQ(completion.items.size(), 100U);
  std::uint32_t next[2] = {0, 0};
  for (const auto& each : completion.items) {
    EXPECT_EQ(each.item.wqe_counter, next[each.item.qpn - Qpn]++);
  }
  bench.context.check_drained();
}

INSTANTIATE_TEST_SUITE_P(shuffle, requester_bench, testing::Values(0, 77));

}  // namespace
}  // namespace carillon
