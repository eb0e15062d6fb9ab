// tx_sched: READs, atomics and local work, what holds a send queue, going back, failures, SQD.
#include <gtest/gtest.h>

#include "common/tx_sched_bench.h"

namespace carillon {
namespace {

using bench::Mtu1024;
using bench::Mtu4096;
using bench::OtherQp;
using bench::Qp;
using bench::Signaled;
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

// READs, atomics, local work ----

TEST_P(tx_sched_bench, a_read_is_one_packet_and_takes_the_psns_of_its_response) {
  plain_sinks();
  works.at(10, of_kind(wqe_opcode::RdmaRead, 3000));  // three responses of 1024
  works.at(11, fetched(Qp, 64));
  bench.run(100);
  ASSERT_EQ(direct->items.size(), 1U);
  EXPECT_EQ(direct->items[0].visible, 16U);
  const packet_item& packet = direct->items[0].item;
  EXPECT_EQ(packet.psn, 0U);
  EXPECT_EQ(packet.payload, 0U);
  EXPECT_EQ(packet.dma_length, 3000U);
  EXPECT_EQ(packet.remote_address, 0x1000U);
  EXPECT_EQ(packet.rkey, 0x77U);
  EXPECT_TRUE(packet.first && packet.last && packet.ack_request);
  ASSERT_EQ(sent.items.size(), 2U);
  const sent_packet& note = sent.items[0].item;
  EXPECT_EQ(note.psn, 0U);
  EXPECT_EQ(note.first_psn, 0U);
  EXPECT_EQ(note.last_psn, 2U);
  EXPECT_TRUE(note.last);
  EXPECT_TRUE(note.body) << "where the response goes";
  EXPECT_EQ(note.sge_count, 1U);
  EXPECT_EQ(psns_of(payload->items), (psns{3}));
  finish();
}

TEST_P(tx_sched_bench, an_atomic_carries_its_operands_and_takes_one_psn) {
  plain_sinks();
  work_item work = of_kind(wqe_opcode::AtomicCompareSwap, 8);
  work.swap_add = 0x1122;
  work.compare = 0x3344;
  works.at(10, std::move(work));
  works.at(11, in_line(Qp, 8));
  bench.run(100);
  ASSERT_EQ(psns_of(direct->items), (psns{0, 1}));
  EXPECT_EQ(direct->items[0].item.swap_add, 0x1122U);
  EXPECT_EQ(direct->items[0].item.compare, 0x3344U);
  EXPECT_EQ(direct->items[0].item.payload, 0U);
  EXPECT_EQ(sent.items.at(0).item.last_psn, 0U);
  finish();
}

TEST_P(tx_sched_bench, a_local_invalidation_is_done_at_its_turn_and_sends_nothing) {
  plain_sinks();
  works.at(10, fetched(Qp, 64));
  work_item work = of_kind(wqe_opcode::LocalInvalidate, 0);
  work.imm = 0x00abcd12;  // key index 0xabcd, variant 0x12
  works.at(11, std::move(work));
  works.at(12, of_kind(wqe_opcode::Nop, 0));
  works.at(13, fetched(Qp, 64));
  bench.run(100);
  ASSERT_EQ(invalidations.items.size(), 1U);
  EXPECT_EQ(invalidations.items[0].item.index, 0xabcdU);
  EXPECT_EQ(invalidations.items[0].visible, 13U);
  EXPECT_EQ(psns_of(payload->items), (psns{0, 1}));
  ASSERT_EQ(sent.items.size(), 4U);
  for (const unsigned i : {1U, 2U}) {
    EXPECT_TRUE(sent.items[i].item.no_packet);
    EXPECT_TRUE(sent.items[i].item.last);
    EXPECT_EQ(sent.items[i].item.wqe_index, i);
  }
  finish();
}

TEST_P(tx_sched_bench, a_datagram_finds_its_data_behind_its_address) {
  plain_sinks();
  work_item work = fetched(Qp, 100);
  work.service = work_item::UdService;
  work.opcode = static_cast<std::uint8_t>(wqe_opcode::Send);
  works.at(10, std::move(work));
  work_item small = in_line(Qp, 10);
  small.service = work_item::UdService;
  works.at(11, std::move(small));
  left->at(40, left_with(0, dma_status::ok));
  bench.run(100);
  ASSERT_EQ(payload->items.size(), 1U);
  EXPECT_EQ(payload->items[0].item.data_offset, 48U);  // mlx5: the datagram segment
  EXPECT_FALSE(payload->items[0].item.ack_request);
  ASSERT_EQ(direct->items.size(), 1U);
  EXPECT_EQ(direct->items[0].item.data_offset, 52U);  // and the inline header
  finish();
}

TEST_P(tx_sched_bench, a_datagram_of_more_than_a_packet_is_a_local_length_error) {
  plain_sinks();
  work_item work = fetched(Qp, 1025, Mtu1024);
  work.service = work_item::UdService;
  works.at(10, std::move(work));
  bench.run(100);
  EXPECT_TRUE(payload->items.empty());
  ASSERT_EQ(sent.items.size(), 1U);
  EXPECT_EQ(sent.items[0].item.syndrome, 0x01);
  EXPECT_EQ(sent.items[0].item.vendor_syndrome,
            static_cast<std::uint8_t>(vendor_syndrome::DatagramTooLong));
  finish();
}

// What holds a queue ----

TEST_P(tx_sched_bench, reads_and_atomics_outstanding_are_limited_by_max_rd_atomic) {
  plain_sinks();
  commands.at(1, command(Qp, qp_state::Rts, 0, 1));  // two
  for (unsigned i = 0; i < 3; ++i) {
    works.at(10, of_kind(wqe_opcode::RdmaRead, 100));
  }
  works.at(10, of_kind(wqe_opcode::AtomicFetchAdd, 8));
  works.at(10, in_line(OtherQp, 8));
  controls.at(100, progress(1, 1));  // taken in 101
  controls.at(200, progress(3, 2));
  bench.run(400);
  ASSERT_EQ(direct->items.size(), 5U);
  EXPECT_EQ(direct->items[2].item.qpn, OtherQp) << "nobody else waits";
  EXPECT_EQ(direct->items[3].visible, 106U);
  EXPECT_EQ(direct->items[4].visible, 206U);
  EXPECT_EQ(waited_for(bench.context.trace, direct->items[3].item.trace, "max_rd_atomic"),
            (101U - 13U) * 1000U);
  finish();
}

TEST_P(tx_sched_bench, a_fence_waits_for_earlier_reads_a_small_one_does_not) {
  plain_sinks();
  works.at(10, of_kind(wqe_opcode::RdmaRead, 100));
  works.at(11, fenced(in_line(Qp, 8), 1));
  works.at(12, fenced(in_line(Qp, 8), 2));
  controls.at(100, progress(2, 1));
  works.at(150, of_kind(wqe_opcode::RdmaRead, 100));
  works.at(151, fenced(in_line(Qp, 8), 4));
  controls.at(200, progress(4, 1));
  bench.run(400);
  ASSERT_EQ(direct->items.size(), 5U);
  EXPECT_EQ(direct->items[1].visible, 17U);
  EXPECT_EQ(direct->items[2].visible, 106U);
  EXPECT_EQ(direct->items[4].visible, 206U);
  EXPECT_EQ(waited_for(bench.context.trace, direct->items[2].item.trace, "fence"),
            (101U - 13U) * 1000U);
  finish();
}

TEST_P(tx_sched_bench, strong_ordering_waits_until_everything_before_is_acknowledged) {
  plain_sinks();
  works.at(10, in_line(Qp, 8));
  works.at(11, fenced(in_line(Qp, 8), 3));
  controls.at(100, progress(1));
  bench.run(400);
  ASSERT_EQ(direct->items.size(), 2U);
  EXPECT_EQ(direct->items[1].visible, 106U);
  finish();
}

class tx_sched_window : public tx_sched_bench {
 protected:
  static parameters four() {
    parameters params;
    params.nic.send_window = 4;
    return params;
  }

  tx_sched_window() : tx_sched_bench(four()) {}
};

TEST_P(tx_sched_window, packets_without_acknowledge_are_limited_by_the_window) {
  plain_sinks();
  commands.at(1, command(Qp, qp_state::Rts, 0xfffffe));
  works.at(10, fetched(Qp, 10 * 1024, Mtu1024));
  works.at(10, fetched(OtherQp, 64));
  controls.at(100, progress(0));  // two of them
  controls.at(300, progress(4));
  controls.at(500, progress(8));
  bench.run(200);
  EXPECT_EQ(payload->items.size(), 7U);
  bench.run(800);
  ASSERT_EQ(payload->items.size(), 11U);
  EXPECT_EQ(payload->items[5].visible, 106U);
  EXPECT_EQ(waited_for(bench.context.trace, payload->items[5].item.trace, "window"),
            (101U - 16U) * 1000U)
      << "granted in 11 to 13 and 15; 14 was the other's";
  finish();
}

TEST_P(tx_sched_window, a_read_may_take_more_than_the_window) {
  plain_sinks();
  works.at(10, of_kind(wqe_opcode::RdmaRead, 100 * 1024));
  works.at(11, in_line(Qp, 8));
  controls.at(100, progress(97));
  bench.run(200);
  ASSERT_EQ(direct->items.size(), 2U);
  EXPECT_EQ(direct->items[1].item.psn, 100U);
  EXPECT_EQ(direct->items[1].visible, 106U);
  finish();
}

// Going back ----

TEST_P(tx_sched_bench, a_message_goes_on_in_its_middle_with_the_same_psns) {
  plain_sinks();
  commands.at(1, command(Qp, qp_state::Rts, 0x10));
  const work_item work = fetched(Qp, 4 * 1024 + 100, Mtu1024);
  works.at(10, work);
  controls.at(50, restart(1, 0x12, 2, 0));  // taken in 51
  works.at(100, again(work, 1));
  bench.run(200);
  EXPECT_EQ(psns_of(payload->items), (psns{0x10, 0x11, 0x12, 0x13, 0x14, 0x12, 0x13, 0x14}));
  const packet_item& packet = payload->items.at(5).item;
  EXPECT_EQ(packet.message_offset, 2048U);
  EXPECT_FALSE(packet.first) << "the address was in the first one";
  EXPECT_EQ(packet.payload, 1024U);
  EXPECT_EQ(packet.dma_length, 4196U);
  EXPECT_EQ(payload->items.at(7).item.payload, 100U);
  EXPECT_TRUE(payload->items.at(7).item.last);
  ASSERT_EQ(refetches.items.size(), 1U);
  EXPECT_EQ(refetches.items[0].visible, 52U);
  EXPECT_EQ(refetches.items[0].item.qpn, Qp);
  EXPECT_EQ(refetches.items[0].item.epoch, 1U);
  EXPECT_EQ(refetches.items[0].item.wqe_index, 0U);
  ASSERT_EQ(sent.items.size(), 8U);
  EXPECT_EQ(sent.items[5].item.epoch, 1U);
  EXPECT_EQ(sent.items[5].item.psn, 0x12U);
  EXPECT_EQ(sent.items[5].item.first_psn, 0x10U);
  EXPECT_EQ(sent.items[5].item.last_psn, 0x14U);
  finish();
}

TEST_P(tx_sched_bench, a_read_asks_again_only_for_what_is_missing) {
  plain_sinks();
  const work_item work = of_kind(wqe_opcode::RdmaRead, 3000);
  works.at(10, work);
  controls.at(50, restart(1, 1, 1, 0));
  works.at(100, again(work, 1));
  works.at(101, again(in_line(Qp, 8), 1));
  bench.run(200);
  ASSERT_EQ(psns_of(direct->items), (psns{0, 1, 3}));
  EXPECT_EQ(direct->items[1].item.remote_address, 0x1000U + 1024);
  EXPECT_EQ(direct->items[1].item.dma_length, 3000U - 1024);
  EXPECT_EQ(sent.items.at(1).item.psn, 1U);
  EXPECT_EQ(sent.items.at(1).item.first_psn, 0U);
  EXPECT_EQ(sent.items.at(1).item.last_psn, 2U);
  finish();
}

TEST_P(tx_sched_bench, work_of_an_older_epoch_is_dropped_and_its_history_kept) {
  payload = std::make_unique<bench::sink<packet_item>>("payload", bench, ports.payload);
  direct = std::make_unique<bench::sink<packet_item>>("direct", bench, ports.direct);
  left = std::make_unique<bench::source<payload_left>>("left", bench, ports.left);
  bench.nic.posted.register_sq(Qp, 4);
  works.at(10, of_kind(wqe_opcode::RdmaRead, 100));
  works.at(11, of_kind(wqe_opcode::RdmaRead, 100));  // held: one READ at a time
  controls.at(50, restart(1, 0, 0, 0));
  works.at(60, of_kind(wqe_opcode::RdmaRead, 100));  // was on its way
  bench.run(200);
  EXPECT_EQ(direct->items.size(), 1U);
  EXPECT_EQ(bench.count(counter::TxStaleWork), 2U);
  EXPECT_NE(bench.nic.posted.find(Qp, 1).message, 0U);
  EXPECT_EQ(bench.context.trace.end_of(bench.nic.posted.find(Qp, 1)), 51000U);
  EXPECT_NE(bench.nic.posted.find(Qp, 2).message, 0U);
  finish();
}

TEST_P(tx_sched_bench, a_halted_queue_sends_nothing_until_its_restart) {
  plain_sinks();
  const work_item work = fetched(Qp, 100 * 1024, Mtu1024);
  works.at(10, work);
  controls.at(20, control(send_control_kind::halt, 1));  // taken in 21
  works.at(30, fetched(Qp, 64));
  controls.at(1000, restart(1, 4, 4, 0));
  works.at(1100, again(work, 1));
  bench.run(900);
  EXPECT_EQ(payload->items.size(), 10U) << "11 to 20";
  EXPECT_TRUE(refetches.items.empty());
  bench.run(600);
  EXPECT_EQ(payload->items.size(), 106U);
  EXPECT_EQ(payload->items[10].item.psn, 4U);
  EXPECT_EQ(refetches.items.size(), 1U);
  finish();
}

TEST_P(tx_sched_bench, a_restart_forgets_reads_outstanding_and_what_the_window_held) {
  plain_sinks();
  const work_item work = of_kind(wqe_opcode::RdmaRead, 100);
  works.at(10, work);
  controls.at(50, restart(1, 0, 0, 0));
  works.at(60, again(work, 1));
  bench.run(100);
  EXPECT_EQ(direct->items.size(), 2U) << "max_rd_atomic is one";
  finish();
}

TEST_P(tx_sched_bench, the_epoch_wraps_at_256) {
  plain_sinks();
  const work_item work = in_line(Qp, 8);
  works.at(10, work);
  for (unsigned i = 1; i <= 256; ++i) {
    controls.at(10 + 10 * i, restart(static_cast<std::uint8_t>(i), 0, 0, 0));
    works.at(15 + 10 * i, again(work, static_cast<std::uint8_t>(i)));
  }
  works.at(3000, again(fetched(Qp, 64), 255));
  bench.run(4000);
  EXPECT_EQ(direct->items.size(), 257U);
  EXPECT_EQ(bench.count(counter::TxStaleWork), 1U);
  finish();
}

// Payload that cannot be read ----

TEST_P(tx_sched_bench, a_payload_that_cannot_be_read_ends_the_sending) {
  plain_sinks();
  works.at(10, fetched(Qp, 100 * 1024, Mtu1024));
  works.at(11, fetched(Qp, 64));
  left->at(20, left_with(0, dma_status::ok));
  left->at(21, left_with(1, dma_status::unsupported_request));  // taken in 22
  bench.run(300);
  EXPECT_EQ(payload->items.size(), 11U) << "11 to 21";
  ASSERT_EQ(told(), 2U);
  const sent_packet& lost = sent.items[11].item;
  EXPECT_EQ(lost.psn, 1U);
  EXPECT_EQ(lost.syndrome, 0x04);
  EXPECT_EQ(lost.vendor_syndrome, static_cast<std::uint8_t>(vendor_syndrome::PayloadRead));
  EXPECT_TRUE(lost.last) << "nothing more of it comes";
  EXPECT_EQ(sent.items[12].item.syndrome, 0x05);
  EXPECT_EQ(sent.items[12].item.wqe_index, 1U);
  finish();
}

TEST_P(tx_sched_bench, how_a_payload_read_failed_decides_the_syndrome) {
  plain_sinks();
  const std::pair<dma_status, std::uint8_t> cases[] = {{dma_status::unsupported_request, 0x04},
                                                       {dma_status::completer_abort, 0x04},
                                                       {dma_status::poisoned, 0x02},
                                                       {dma_status::timeout, 0x02}};
  for (std::uint32_t i = 0; i < 4; ++i) {
    works.at(10, fetched(Qp + i, 64));
    payload_left item = left_with(0, cases[i].first);
    item.qpn = Qp + i;
    left->at(50 + i, item);
  }
  bench.run(200);
  ASSERT_EQ(sent.items.size(), 8U);
  for (std::uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(sent.items[4 + i].item.qpn, Qp + i);
    EXPECT_EQ(sent.items[4 + i].item.syndrome, cases[i].second);
  }
  finish();
}

TEST_P(tx_sched_bench, a_failure_of_before_the_restart_is_of_no_interest) {
  plain_sinks();
  const work_item work = fetched(Qp, 2048, Mtu1024);
  works.at(10, work);
  left->at(20, left_with(0, dma_status::ok));
  controls.at(30, restart(1, 0, 0, 0));
  works.at(40, again(work, 1));
  left->at(50, left_with(1, dma_status::timeout));
  left->at(60, left_with(0, dma_status::ok));
  left->at(61, left_with(1, dma_status::ok));
  works.at(70, again(in_line(Qp, 8), 1));
  bench.run(200);
  EXPECT_EQ(psns_of(payload->items), (psns{0, 1, 0, 1}));
  EXPECT_EQ(psns_of(direct->items), (psns{2}));
  for (const auto& each : sent.items) {
    EXPECT_EQ(each.item.syndrome, 0U);
  }
  finish();
}

// UC, UD: told when the data has been read ----

TEST_P(tx_sched_bench, without_acknowledges_a_message_is_told_when_its_data_has_left_payload_dma) {
  plain_sinks();
  work_item work = fetched(Qp, 2048, Mtu1024);
  work.service = static_cast<std::uint8_t>(qp_service::Uc);
  works.at(10, work);
  work.wqe_index = 1;
  works.at(11, work);
  left->at(50, left_with(0, dma_status::ok));
  left->at(60, left_with(1, dma_status::ok));  // taken in 61
  left->at(70, left_with(2, dma_status::ok));
  left->at(80, left_with(3, dma_status::ok));
  bench.run(200);
  ASSERT_EQ(sent.items.size(), 2U);
  EXPECT_EQ(sent.items[0].visible, 66U);
  EXPECT_EQ(sent.items[0].item.psn, 1U);
  EXPECT_EQ(waited_for(bench.context.trace, sent.items[0].item.trace, "payload_read"),
            (61U - 12U) * 1000U);
  EXPECT_EQ(sent.items[1].visible, 86U);
  for (const auto& each : payload->items) {
    EXPECT_FALSE(each.item.ack_request);
  }
  finish();
}

TEST_P(tx_sched_bench, without_acknowledges_inline_data_is_told_at_once) {
  plain_sinks();
  work_item work = in_line(Qp, 8);
  work.service = static_cast<std::uint8_t>(qp_service::Uc);
  works.at(10, work);
  bench.run(100);
  ASSERT_EQ(sent.items.size(), 1U);
  EXPECT_EQ(sent.items[0].visible, 16U);
  finish();
}

TEST_P(tx_sched_bench, without_acknowledges_a_failed_payload_is_told_once_and_in_order) {
  plain_sinks();
  work_item work = fetched(Qp, 3 * 1024, Mtu1024);
  work.service = static_cast<std::uint8_t>(qp_service::Uc);
  for (std::uint16_t i = 0; i < 3; ++i) {
    work.wqe_index = i;
    works.at(10 + i, work);  // granted in 11 to 19
  }
  for (std::uint32_t psn = 0; psn < 9; ++psn) {
    const bool fails = psn == 4 || psn == 5;
    left->at(50 + psn, left_with(psn, fails ? dma_status::timeout : dma_status::ok));
  }
  work.wqe_index = 3;
  works.at(80, work);
  bench.run(200);
  ASSERT_EQ(sent.items.size(), 4U);
  const std::uint8_t syndromes[] = {0, 0x02, 0, 0x05};
  for (std::uint16_t i = 0; i < 4; ++i) {
    EXPECT_EQ(sent.items[i].item.wqe_index, i);
    EXPECT_EQ(sent.items[i].item.syndrome, syndromes[i]);
  }
  finish();
}

TEST_P(tx_sched_bench, from_sqer_a_queue_flushes_what_it_held_and_goes_on_with_its_psn) {
  plain_sinks(40);
  commands.at(1, command(Qp, qp_state::Rts, 7, 0, qp_service::Ud));
  const auto datagram = [this](work_item work) {
    work.service = work_item::UdService;
    return work;
  };
  works.at(10, datagram(in_line(Qp, 8)));
  works.at(11, datagram(failed(Qp, 0x04)));
  works.at(12, datagram(in_line(Qp, 8)));
  commands.at(100, command(Qp, qp_state::Rts, 0, 0, qp_service::Ud));
  works.at(110, datagram(in_line(Qp, 8)));
  bench.run(200);
  EXPECT_EQ(psns_of(direct->items), (psns{7, 8}));
  ASSERT_EQ(sent.items.size(), 4U);
  EXPECT_EQ(sent.items[2].item.syndrome, 0x05);
  EXPECT_EQ(sent.items[3].item.syndrome, 0U);
  finish();
}

TEST_P(tx_sched_bench, an_error_control_flushes_the_queue) {
  plain_sinks();
  works.at(10, fetched(Qp, 100 * 1024, Mtu1024));
  controls.at(20, control(send_control_kind::error));
  works.at(30, fetched(Qp, 64));
  bench.run(100);
  EXPECT_EQ(payload->items.size(), 10U);
  ASSERT_EQ(told(), 2U);
  EXPECT_EQ(sent.items[10].item.syndrome, 0x05);
  EXPECT_EQ(sent.items[11].item.syndrome, 0x05);
  finish();
}

TEST_P(tx_sched_bench, work_of_a_queue_that_went_to_err_before_rts_is_flushed_not_dropped) {
  plain_sinks();
  commands.at(1, command(Qp, qp_state::Reset));
  commands.at(5, command(Qp, qp_state::Err));
  work_item work = failed(Qp, 0x05);  // as the parser says in that state
  work.epoch = first_epoch(1);
  works.at(10, work);
  bench.run(100);
  ASSERT_EQ(sent.items.size(), 1U);
  EXPECT_EQ(sent.items[0].item.syndrome, 0x05);
  finish();
}

// SQD ----

TEST_P(tx_sched_bench, in_sqd_a_message_ends_and_none_begins) {
  plain_sinks();
  commands.at(1, command(Qp, qp_state::Rts, 0));
  works.at(10, fetched(Qp, 20 * 1024, Mtu1024));  // granted in 11 to 30
  works.at(11, fetched(Qp, 64));
  commands.at(20, command(Qp, qp_state::Sqd));
  commands.at(200, command(Qp, qp_state::Rts, 0x999));
  bench.run(190);
  EXPECT_EQ(payload->items.size(), 20U);
  ASSERT_EQ(sent.items.size(), 21U);
  EXPECT_TRUE(sent.items[20].item.drain_mark) << "behind all notes";
  bench.run(200);
  ASSERT_EQ(payload->items.size(), 21U);
  EXPECT_EQ(payload->items[20].item.psn, 20U) << "the PSN goes on";
  EXPECT_EQ(payload->items[20].visible, 206U);
  EXPECT_EQ(waited_for(bench.context.trace, payload->items[20].item.trace, "sq_drain"),
            (201U - 31U) * 1000U);
  finish();
}

TEST_P(tx_sched_bench, in_sqd_what_had_begun_is_sent_again) {
  plain_sinks();
  commands.at(1, command(Qp, qp_state::Rts, 0));
  const work_item first = in_line(Qp, 8);
  const work_item second = in_line(Qp, 8);
  works.at(10, first);
  works.at(20, second);
  commands.at(30, command(Qp, qp_state::Sqd));
  const work_item third = in_line(Qp, 8);
  works.at(40, third);
  controls.at(50, restart(1, 0, 0, 0));
  works.at(60, again(first, 1));
  works.at(61, again(second, 1));
  works.at(62, again(third, 1));
  commands.at(200, command(Qp, qp_state::Rts));
  bench.run(190);
  EXPECT_EQ(psns_of(direct->items), (psns{0, 1, 0, 1}));
  bench.run(100);
  EXPECT_EQ(psns_of(direct->items), (psns{0, 1, 0, 1, 2}));
  finish();
}

TEST_P(tx_sched_bench, the_work_of_a_queue_in_sqd_takes_no_slots) {
  plain_sinks();
  commands.at(1, command(Qp, qp_state::Sqd));
  for (unsigned i = 0; i < 100; ++i) {
    works.at(10, in_line(Qp, 8));
  }
  works.at(200, in_line(OtherQp, 8));
  commands.at(300, command(Qp, qp_state::Rts));
  bench.run(600);
  ASSERT_EQ(direct->items.size(), 101U);
  EXPECT_EQ(direct->items[0].item.qpn, OtherQp);
  finish();
}

INSTANTIATE_TEST_SUITE_P(shuffle, tx_sched_bench, testing::Values(0, 77));
INSTANTIATE_TEST_SUITE_P(shuffle, tx_sched_window, testing::Values(0, 77));

}  // namespace
}  // namespace carillon
