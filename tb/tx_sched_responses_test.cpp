// tx_sched: what the responder wants to send.
#include <gtest/gtest.h>

#include "common/tx_sched_bench.h"

namespace carillon {
namespace {

using bench::Mtu1024;
using bench::OtherQp;
using bench::Qp;
using bench::tx_sched_bench;
using bench::waited_for;

using psns = std::vector<std::uint32_t>;

psns psns_of(const std::vector<bench::sink<packet_item>::taken>& items) {
  psns result;
  for (const auto& each : items) {
    result.push_back(each.item.psn);
  }
  return result;
}

response_item read_of(std::uint32_t qpn, std::uint32_t psn, std::uint32_t length) {
  response_item item;
  item.kind = response_kind::read;
  item.qpn = qpn;
  item.psn = psn;
  item.syndrome = 0x1f;
  item.msn = 9;
  item.address = 0x123400;
  item.rkey = 0x55;
  item.length = length;
  item.mtu_code = Mtu1024;
  item.paged = true;
  item.writes_before = 17;
  return item;
}

TEST_P(tx_sched_bench, read_data_is_cut_into_packets_of_one_mtu) {
  plain_sinks();
  acknowledges.at(10, read_of(Qp, 0xfffffe, 2500));
  bench.run(100);
  ASSERT_EQ(payload->items.size(), 3U);
  const std::uint32_t expected[] = {0xfffffe, 0xffffff, 0};
  const std::uint32_t bytes[] = {1024, 1024, 452};
  for (unsigned i = 0; i < 3; ++i) {
    const packet_item& packet = payload->items[i].item;
    EXPECT_EQ(payload->items[i].visible, 16U + i);
    EXPECT_EQ(packet.source, packet_source::read_response);
    EXPECT_EQ(packet.psn, expected[i]);
    EXPECT_EQ(packet.payload, bytes[i]);
    EXPECT_EQ(packet.message_offset, i * 1024);
    EXPECT_EQ(packet.first, i == 0);
    EXPECT_EQ(packet.last, i == 2);
    EXPECT_EQ(packet.remote_address, 0x123400U);
    EXPECT_EQ(packet.rkey, 0x55U);
    EXPECT_EQ(packet.dma_length, 2500U);
    EXPECT_EQ(packet.msn, 9U);
    EXPECT_EQ(packet.syndrome, 0x1fU);
    EXPECT_EQ(packet.writes_before, 17U);
    EXPECT_TRUE(packet.paged);
  }
  EXPECT_EQ(bench.count(counter::TxReadResponses), 3U);
  finish();
}

TEST_P(tx_sched_bench, read_data_without_room_does_not_keep_out_another_qps) {
  plain_sinks(50);  // payload_dma takes a packet in 50 cycles, so its 16 credits are gone soon
  acknowledges.at(10, read_of(Qp, 0, 30 * 1024));
  acknowledges.at(40, read_of(OtherQp, 7, 0));
  bench.run(60);
  ASSERT_EQ(direct->items.size(), 1U);
  EXPECT_EQ(direct->items[0].item.qpn, OtherQp);
  EXPECT_EQ(direct->items[0].visible, 46U);
  bench.run(2000);
  EXPECT_EQ(payload->items.size(), 30U);
  finish();
}

TEST_P(tx_sched_bench, acknowledges_go_before_read_data_and_that_before_requests) {
  plain_sinks();
  works.at(10, fetched(0x30, 20 * 1024, Mtu1024));     // granted from 11 on
  acknowledges.at(15, read_of(Qp, 0, 3 * 1024));       // from 16 on
  acknowledges.at(16, read_of(OtherQp, 0, 3 * 1024));  // in turn
  acknowledges.at(18, acknowledge(7, 0x31));           // in 19
  bench.run(100);
  std::vector<std::uint32_t> order;
  for (const auto& each : payload->items) {
    order.push_back(each.item.qpn);
  }
  order.resize(13);
  EXPECT_EQ(order, (std::vector<std::uint32_t>{0x30, 0x30, 0x30, 0x30, 0x30, Qp, Qp, OtherQp, Qp,
                                               OtherQp, OtherQp, 0x30, 0x30}));
  ASSERT_EQ(direct->items.size(), 1U);
  EXPECT_EQ(direct->items[0].visible, 24U);
  finish();
}

TEST_P(tx_sched_bench, an_acknowledge_never_overtakes_read_data_of_its_qp) {
  plain_sinks();
  acknowledges.at(10, read_of(Qp, 0, 2 * 1024));
  acknowledges.at(11, acknowledge(2, Qp));
  works.at(20, in_line(Qp, 8));  // requests have PSNs of their own
  left->at(50, left_with(0, dma_status::ok, true));
  left->at(60, left_with(1, dma_status::ok, true));  // taken in 61
  bench.run(200);
  ASSERT_EQ(direct->items.size(), 2U);
  EXPECT_EQ(direct->items[0].item.source, packet_source::request);
  EXPECT_EQ(direct->items[1].visible, 66U);
  EXPECT_EQ(waited_for(bench.context.trace, direct->items[1].item.trace, "payload_order"),
            (61U - 12U) * 1000U);
  finish();
}

TEST_P(tx_sched_bench, read_data_of_nothing_passes_payload_dma_by) {
  plain_sinks();
  acknowledges.at(10, read_of(Qp, 4, 0));
  bench.run(100);
  ASSERT_EQ(direct->items.size(), 1U);
  EXPECT_EQ(direct->items[0].item.source, packet_source::read_response);
  EXPECT_TRUE(direct->items[0].item.first && direct->items[0].item.last);
  finish();
}

TEST_P(tx_sched_bench, an_atomic_result_carries_the_old_value) {
  plain_sinks();
  response_item item = acknowledge(4, Qp);
  item.kind = response_kind::atomic;
  item.atomic_result = 0x123456789;
  acknowledges.at(10, item);
  bench.run(100);
  ASSERT_EQ(direct->items.size(), 1U);
  EXPECT_EQ(direct->items[0].item.source, packet_source::atomic_acknowledge);
  EXPECT_EQ(direct->items[0].item.swap_add, 0x123456789U);
  EXPECT_EQ(direct->items[0].item.psn, 4U);
  finish();
}

TEST_P(tx_sched_bench, acks_that_would_queue_behind_each_other_join) {
  plain_sinks();
  // Behind READ data, which is not there before 61.
  acknowledges.at(10, read_of(Qp, 0, 1024));
  acknowledges.at(11, acknowledge(1, Qp));
  acknowledges.at(12, acknowledge(2, Qp));
  response_item nak = acknowledge(3, Qp);
  nak.syndrome = 0x60;
  acknowledges.at(13, nak);
  acknowledges.at(14, acknowledge(4, Qp));
  left->at(60, left_with(0, dma_status::ok, true));
  bench.run(200);
  EXPECT_EQ(psns_of(direct->items), (psns{2, 3, 4})) << "a NAK stays";
  EXPECT_EQ(direct->items.at(0).item.msn, 3U);
  EXPECT_EQ(bench.count(counter::AcksCoalesced), 1U);
  finish();
}

TEST_P(tx_sched_bench, read_data_that_cannot_be_read_ends_its_response_and_no_other) {
  plain_sinks();
  acknowledges.at(10, read_of(Qp, 0, 100 * 1024));  // granted from 11 on
  acknowledges.at(11, read_of(Qp, 100, 1024));
  left->at(20, left_with(0, dma_status::ok, true));
  left->at(21, left_with(1, dma_status::completer_abort, true));  // taken in 22
  bench.run(200);
  EXPECT_EQ(payload->items.size(), 12U) << "11 to 21, and the next READ";
  EXPECT_EQ(payload->items.back().item.psn, 100U);
  ASSERT_EQ(failures.items.size(), 1U);
  EXPECT_EQ(failures.items[0].item.qpn, Qp);
  EXPECT_EQ(failures.items[0].item.psn, 1U);
  finish();
}

TEST_P(tx_sched_bench, in_the_error_state_answers_still_go_out_a_reset_drops_them) {
  plain_sinks();
  commands.at(1, command(Qp, qp_state::Rts));
  acknowledges.at(10, read_of(Qp, 0, 20 * 1024));
  acknowledges.at(11, acknowledge(20, Qp));
  commands.at(15, command(Qp, qp_state::Err));
  commands.at(25, command(Qp, qp_state::Reset));  // taken in 26
  acknowledges.at(30, acknowledge(21, Qp));
  left->at(60, left_with(0, dma_status::timeout, true));
  bench.run(200);
  EXPECT_EQ(payload->items.size(), 15U) << "11 to 25";
  EXPECT_TRUE(direct->items.empty());
  EXPECT_TRUE(failures.items.empty());
  finish();
}

INSTANTIATE_TEST_SUITE_P(shuffle, tx_sched_bench, testing::Values(0, 77));

}  // namespace
}  // namespace carillon
