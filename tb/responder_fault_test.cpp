// responder: what an RC peer is told when its requests cannot be served: NAKs, RNR NAKs,
// acknowledges of duplicates, and the error completions that go with them.
//
// The rules are RoCEv2/IBTA's; the pairing of NAK and completion syndrome is mlx5's where IBTA
// leaves it open. AETH syndrome: 0x20 | timer code for RNR, 0x60.. for NAKs.
#include <gtest/gtest.h>

#include "gen/wqe.h"
#include "tb/common/responder_bench.h"

namespace carillon::bench {
namespace {

// Gaps
// --------------------------------------------------------------------------------------------------

// PSN > ePSN: dropped; one NAK 0x60 with PSN = ePSN and the current MSN until an in-order packet
// comes.
TEST_P(responder_bench, a_gap_has_one_nak) {
  send(10, packet(bth_opcode::RcWriteOnly, 8));
  const rx_packet lost = packet(bth_opcode::RcWriteOnly, 8);
  send(20, packet(bth_opcode::RcWriteOnly, 8));
  send(30, packet(bth_opcode::RcWriteOnly, 8));
  bench.run(100);
  EXPECT_EQ(answers(), "1f 100 41, 60 101 41");
  EXPECT_EQ(stored().nak_sent, 1);
  EXPECT_EQ(stored().next_rcv_psn, 101U);
  send(110, lost);
  bench.run(100);
  EXPECT_EQ(stored().nak_sent, 0);
  psn[Qpn] = 103;
  send(210, packet(bth_opcode::RcWriteOnly, 8));  // 102 is missing: a new gap
  finish(200);
  EXPECT_EQ(answers(), "1f 100 41, 60 101 41, 1f 101 42, 60 102 42");
  EXPECT_EQ(memory.written.size(), 2U);
  EXPECT_EQ(bench.count(counter::OutOfSequence), 3U);
  EXPECT_EQ(bench.count(counter::NakSequenceSent), 2U);
  EXPECT_TRUE(errors.items.empty());
}

// Duplicates
// --------------------------------------------------------------------------------------------

// PSN < ePSN, SEND or WRITE: acknowledged with ePSN - 1 and the current MSN, not executed.
TEST_P(responder_bench, a_duplicate_write_is_acknowledged_and_not_written) {
  const rx_packet first = packet(bth_opcode::RcWriteOnly, 8);
  send(10, first);
  send(11, packet(bth_opcode::RcWriteOnly, 8));
  send(12, packet(bth_opcode::RcWriteOnly, 8));
  send(50, first);
  finish(200);
  EXPECT_EQ(memory.written.size(), 3U);
  EXPECT_EQ(answers(), "1f 100 41, 1f 101 42, 1f 102 43, 1f 102 43");
  EXPECT_EQ(bench.count(counter::DuplicateRequest), 1U);
}

TEST_P(responder_bench, a_duplicate_send_takes_no_second_receive_wqe) {
  post_receive(0, 256);
  post_receive(1, 256);
  rx_packet first = packet(bth_opcode::RcSendOnly, 8);
  first.ack_request = false;  // a duplicate is acknowledged all the same
  send(10, first);
  send(11, first);
  finish(500);
  EXPECT_EQ(completions(), "2 0");
  EXPECT_EQ(answers(), "1f 100 41");
  EXPECT_EQ(stored().rq_consumer, 1);
}

TEST_P(responder_bench, the_answer_to_a_duplicate_keeps_its_place_behind_what_is_not_yet_answered) {
  post_receive(0, 256);
  const rx_packet write = packet(bth_opcode::RcWriteOnly, 8);
  send(10, write);
  send(50, packet(bth_opcode::RcSendOnly, 8));  // reads its record and its receive WQE
  send(51, write);                              // commits only when the SEND has
  finish(500);
  EXPECT_EQ(answers(), "1f 100 41, 1f 101 42, 1f 101 42");
}

// RNR
// ---------------------------------------------------------------------------------------------------

// No receive WQE: RNR NAK with the QP's timer, the packet's PSN, ePSN unchanged; later packets are
// dropped without a NAK; the same PSN is accepted once there is a WQE.
TEST_P(responder_bench, rnr_then_the_same_psn_is_accepted) {
  const rx_packet first = packet(bth_opcode::RcSendOnly, 10);
  send(10, first);
  send(11, packet(bth_opcode::RcSendOnly, 10));
  send(12, packet(bth_opcode::RcWriteOnly, 10));
  bench.run(500);
  EXPECT_EQ(answers(), "2c 100 40");  // 0x20 | timer code 12
  EXPECT_EQ(stored().rnr_sent, 1);
  EXPECT_EQ(stored().next_rcv_psn, 100U);
  post_receive(0, 100);
  send(510, first);
  finish(500);
  EXPECT_EQ(answers(), "2c 100 40, 1f 100 41");
  EXPECT_EQ(stored().rnr_sent, 0);
  EXPECT_EQ(completions(), "2 0");
  EXPECT_EQ(bench.count(counter::RnrNakSent), 1U);
  EXPECT_EQ(bench.count(counter::RxOutOfBuffer), 1U);
  EXPECT_EQ(bench.count(counter::OutOfSequence), 2U);
  EXPECT_TRUE(errors.items.empty());
}

TEST_P(responder_bench, every_attempt_without_a_receive_wqe_has_its_rnr_nak) {
  const rx_packet first = packet(bth_opcode::RcSendOnly, 10);
  send(10, first);
  send(400, first);
  finish(800);
  EXPECT_EQ(answers(), "2c 100 40, 2c 100 40");
  EXPECT_EQ(memory.reads_of(Record), 2U);  // the record is read for each of them
}

// A WRITE with immediate takes its receive WQE at its last packet; the ones before it are written.
TEST_P(responder_bench, a_write_with_immediate_is_not_ready_only_at_its_last_packet) {
  rx_packet first = packet(bth_opcode::RcWriteFirst, 256);
  first.dma_length = 300;
  send(10, std::move(first));
  const rx_packet last = packet(bth_opcode::RcWriteLastImmediate, 44);
  send(11, last);
  bench.run(500);
  EXPECT_EQ(answers(), "1f 100 40, 2c 101 40");
  EXPECT_EQ(memory.written.size(), 1U);
  post_receive(0, 0);
  send(510, last);
  finish(500);
  EXPECT_EQ(memory.written.size(), 2U);
  EXPECT_EQ(completions(), "1 0");
  EXPECT_EQ(cqes.items[0].item.byte_count, 300U);
}

// Requests that end the QP
// --------------------------------------------------------------------------------

TEST_P(responder_bench, a_refused_key_fails_the_qp_and_nothing_after_it_is_acknowledged) {
  send(10, packet(bth_opcode::RcWriteOnly, 8));
  rx_packet wrong = packet(bth_opcode::RcWriteOnly, 100);
  wrong.rkey = Rkey + 1;  // another variant
  send_at_once(11, std::move(wrong));
  send_at_once(12, packet(bth_opcode::RcWriteOnly, 100));
  finish(200);
  EXPECT_EQ(memory.written.size(), 1U);
  EXPECT_EQ(answers(), "1f 100 41, 62 101 41");
  EXPECT_EQ(bench.count(counter::RespRemoteAccessErrors), 1U);
  EXPECT_EQ(bench.count(counter::NakRemoteAccessSent), 1U);
  EXPECT_EQ(bench.count(counter::RxDropAfterError), 1U);
  EXPECT_EQ(stored().error, 1);
  ASSERT_EQ(errors.items.size(), 1U);  // to the context RAM
  EXPECT_EQ(errors.items[0].item.qpn, Qpn);
  EXPECT_FALSE(errors.items[0].item.send_queue_only);
  ASSERT_EQ(faults.items.size(), 1U);  // to the requester
  EXPECT_EQ(faults.items[0].item.qpn, Qpn);
}

// No completion for a request that took no receive WQE, but an event of the QP (mlx5: access
// error 0x11, invalid request 0x10); what is posted is flushed.
TEST_P(responder_bench, a_fault_without_a_receive_wqe_is_told_by_an_event) {
  post_receive(0, 256);
  rx_packet wrong = packet(bth_opcode::RcWriteOnly, 100);
  wrong.remote_address = Va + RegionBytes - 99;
  send(10, std::move(wrong));
  finish(500);
  EXPECT_EQ(answers(), "62 100 40");
  ASSERT_EQ(events.items.size(), 1U);
  EXPECT_EQ(events.items[0].item.kind, 0x11);
  EXPECT_EQ(events.items[0].item.number, Qpn);
  EXPECT_EQ(events.items[0].item.function, 2);
  EXPECT_EQ(completions(), "14/5 0");
}

TEST_P(responder_bench, an_operation_that_the_qp_does_not_allow_is_an_invalid_request) {
  common.rwe = common.rre = common.rae = 0;
  set_qp(Qpn);
  set_qp(Qpn + 1);
  set_qp(Qpn + 2);
  send(10, packet(bth_opcode::RcWriteOnly, 8));
  send(11, read_request(8, 0, Qpn + 1));
  send(12, fetch_add(1, Qpn + 2));
  finish(300);
  EXPECT_EQ(answers(Qpn), "61 100 40");
  EXPECT_EQ(answers(Qpn + 1), "61 100 40");
  EXPECT_EQ(answers(Qpn + 2), "61 100 40");
  EXPECT_EQ(events.items.size(), 3U);
  EXPECT_EQ(events.items[0].item.kind, 0x10);
  EXPECT_EQ(bench.count(counter::NakInvalidRequestSent), 3U);
  EXPECT_EQ(bench.count(counter::RespInvalidRequests), 3U);
  EXPECT_TRUE(memory.read.empty() || memory.reads_of(Record) == memory.read.size());
}

// The message in progress has its receive WQE: remote invalid request for it, then 0x05 for all
// others.
TEST_P(responder_bench, a_broken_opcode_sequence_ends_the_send_in_progress) {
  post_receive(0, 256, 256);
  post_receive(1, 256);
  post_receive(2, 256);
  send(10, packet(bth_opcode::RcSendFirst, 256, false));
  send(11, packet(bth_opcode::RcWriteMiddle, 256));
  finish(1000);
  EXPECT_EQ(answers(), "61 101 40");
  EXPECT_EQ(completions(), "14/12 0, 14/5 1, 14/5 2");
  EXPECT_EQ(cqes.items[0].item.cqn, 5U);
  EXPECT_EQ(bench.count(counter::RespCqeError), 1U);
  EXPECT_EQ(bench.count(counter::RespCqeFlushError), 2U);
  EXPECT_TRUE(events.items.empty());
}

TEST_P(responder_bench, an_invalid_first_packet_has_taken_no_receive_wqe) {
  post_receive(0, 256);
  post_receive(1, 256);
  send(10, packet(bth_opcode::RcSendOnly, 257));
  finish(1000);
  EXPECT_EQ(answers(), "61 100 40");
  EXPECT_EQ(completions(), "14/5 0, 14/5 1");
}

TEST_P(responder_bench, a_send_longer_than_its_buffers_is_a_local_length_error) {
  post_receive(0, 100);
  post_receive(1, 100);
  send(10, packet(bth_opcode::RcSendOnly, 101));
  finish(500);
  EXPECT_TRUE(memory.written.empty());
  EXPECT_EQ(answers(), "61 100 40");
  EXPECT_EQ(completions(), "14/1 0, 14/5 1");
  EXPECT_EQ(bench.count(counter::RespLocalLengthError), 1U);
}

TEST_P(responder_bench, a_send_that_fills_its_buffers_exactly_is_good) {
  post_receive(0, 100, 156);
  send(10, packet(bth_opcode::RcSendOnly, 256));
  finish(500);
  EXPECT_EQ(completions(), "2 0");
}

TEST_P(responder_bench, a_wrong_key_in_a_receive_wqe_is_a_local_protection_error) {
  post_receive(0, 100);
  data_seg data;
  data.byte_count = 100;
  data.lkey = Lkey + 1;
  data.address = LocalVa;
  memory.put(RqBase, data);
  send(10, packet(bth_opcode::RcSendOnly, 100));
  finish(500);
  EXPECT_EQ(answers(), "63 100 40");
  EXPECT_EQ(completions(), "14/4 0");
  EXPECT_EQ(bench.count(counter::NakRemoteOperationSent), 1U);
  EXPECT_EQ(bench.count(counter::RespLocalOperationErrors), 1U);
}

TEST_P(responder_bench, a_receive_page_that_cannot_be_written_is_a_local_access_error) {
  set_pages(MttReadEnable);
  post_receive(0, 100);
  data_seg data;
  data.byte_count = 100;
  data.lkey = PagedKey;
  data.address = PagedVa;
  memory.put(RqBase, data);
  send(10, packet(bth_opcode::RcSendOnly, 100));
  finish(500);
  EXPECT_EQ(answers(), "63 100 40");
  EXPECT_EQ(completions(), "14/11 0");
}

TEST_P(responder_bench, a_receive_wqe_that_cannot_be_read_is_a_local_operation_error) {
  post_receive(0, 100);
  memory.failing[RqBase] = dma_status::unsupported_request;
  send(10, packet(bth_opcode::RcSendOnly, 100));
  finish(500);
  EXPECT_EQ(answers(), "63 100 40");
  EXPECT_EQ(completions(), "14/2 0");
}

// mlx5: the fifth byte of the first 16 makes the bytes of a signed WQE add up (XOR) to 0xff.
TEST_P(responder_bench, a_signed_receive_wqe_is_checked) {
  common.sig_enable = 1;
  set_qp();
  post_receive(1, 0);
  for (std::uint64_t slot = 0; slot < 2; ++slot) {
    data_seg data;
    data.byte_count = 256;
    data.lkey = Lkey;
    data.address = LocalVa + slot * 0x200;
    memory.put(RqBase + slot * 32, data_seg{});
    memory.put(RqBase + slot * 32 + 16, data);
    std::uint8_t sum = 0;
    for (unsigned i = 0; i < 32; ++i) {
      sum = static_cast<std::uint8_t>(sum ^ memory.at(RqBase + slot * 32 + i));
    }
    memory.at(RqBase + slot * 32 + 4) = static_cast<std::uint8_t>(sum ^ 0xff);
  }
  memory.at(RqBase + 32 + 20) ^= 0x40;  // one bit of the second one's key
  send(10, packet(bth_opcode::RcSendOnly, 100));
  send(11, packet(bth_opcode::RcSendOnly, 100));
  finish(500);
  EXPECT_EQ(answers(), "1f 100 41, 63 101 41");
  EXPECT_EQ(completions(), "2 0, 14/2 1");
  EXPECT_TRUE(memory_holds(LocalIova, 100, 0));
}

// The remote key comes before the receive WQE counts as used: it is flushed like the others.
TEST_P(responder_bench,
       a_write_with_immediate_and_a_wrong_key_leaves_its_receive_wqe_to_the_flush) {
  post_receive(0, 100);
  post_receive(1, 100);
  rx_packet wrong = packet(bth_opcode::RcWriteOnlyImmediate, 100);
  wrong.rkey = Rkey + 1;
  send(10, std::move(wrong));
  finish(500);
  EXPECT_EQ(answers(), "62 100 40");
  EXPECT_EQ(completions(), "14/5 0, 14/5 1");
}

TEST_P(responder_bench, a_key_to_invalidate_that_is_not_the_qps_is_an_access_error) {
  post_receive(0, 256);
  rx_packet last = packet(bth_opcode::RcSendOnlyInvalidate, 30);
  last.imm = Rkey + 1;  // another variant
  send(10, std::move(last));
  finish(500);
  EXPECT_TRUE(invalidations.items.empty());
  EXPECT_TRUE(memory.written.empty());
  EXPECT_EQ(answers(), "62 100 40");
  EXPECT_EQ(completions(), "14/11 0");
}

// The packets behind the failing one have taken receive WQEs: those are flushed in their order.
TEST_P(responder_bench, receive_wqes_of_packets_behind_a_failed_one_are_flushed_in_order) {
  for (std::uint16_t i = 0; i < 5; ++i) {
    post_receive(i, i == 1 ? 100 : 256);
  }
  send(10, packet(bth_opcode::RcSendOnly, 10));  // brings the receive WQEs in
  send_at_once(500, packet(bth_opcode::RcSendOnly, 101));
  send_at_once(501, packet(bth_opcode::RcSendOnly, 10));
  send_at_once(502, packet(bth_opcode::RcSendFirst, 256));
  finish(1000);
  EXPECT_EQ(answers(), "1f 100 41, 61 101 41");
  EXPECT_EQ(completions(), "2 0, 14/1 1, 14/5 2, 14/5 3, 14/5 4");
  EXPECT_EQ(bench.count(counter::RxDropAfterError), 2U);
}

TEST_P(responder_bench, a_read_whose_data_cannot_be_read_ends_the_qp) {
  send(10, read_request(600));
  bench.run(100);
  failures.at(110, {{}, Qpn, 101});
  finish(200);
  EXPECT_EQ(answers(), "R1f 100 41, 63 101 41");
  EXPECT_EQ(errors.items.size(), 1U);
  EXPECT_EQ(faults.items.size(), 1U);
  EXPECT_EQ(bench.count(counter::RespReadErrors), 1U);
}

TEST_P(responder_bench, psn_and_msn_wrap_at_24_bits) {
  line.next_rcv_psn = 0xffffff;
  line.rmsn = 0xffffff;
  set_qp();
  const rx_packet last = packet(bth_opcode::RcWriteOnly, 8);
  send(10, last);
  send(20, last);  // a duplicate: ePSN - 1 is 0xffffff
  send(30, packet(bth_opcode::RcWriteOnly, 8));
  finish(200);
  EXPECT_EQ(answers(), "1f 16777215 0, 1f 16777215 0, 1f 0 1");
}

TEST_P(responder_back_pressure, answers_completions_and_flushes_keep_their_order) {
  for (std::uint16_t i = 0; i < 6; ++i) {
    post_receive(i, i == 2 ? 10 : 256);
  }
  send(10, packet(bth_opcode::RcSendOnly, 50));
  send_at_once(500, packet(bth_opcode::RcSendOnly, 50));
  send_at_once(501, packet(bth_opcode::RcSendOnly, 50));
  send_at_once(502, packet(bth_opcode::RcSendOnly, 50));
  finish(2000);
  EXPECT_EQ(answers(), "1f 100 41, 1f 101 42, 61 102 42");
  EXPECT_EQ(completions(), "2 0, 2 1, 14/1 2, 14/5 3, 14/5 4, 14/5 5");
}

INSTANTIATE_TEST_SUITE_P(shuffle, responder_bench, testing::Values(0, 77));
INSTANTIATE_TEST_SUITE_P(shuffle, responder_back_pressure, testing::Values(0, 77));

}  // namespace
}  // namespace carillon::bench
