// responder: accepted SENDs and WRITEs, their bytes in memory, the acknowledge, the completion, and
// when.
#include <gtest/gtest.h>

#include "gen/wqe.h"
#include "tb/common/responder_bench.h"

namespace carillon::bench {
namespace {

TEST_P(responder_bench, a_write_is_in_memory_and_acknowledged_15_cycles_later) {
  send(10, packet(bth_opcode::RcWriteOnly, 100));  // taken in 11
  finish(100);
  ASSERT_EQ(memory.written.size(), 1U);
  EXPECT_EQ(memory.written[0].visible, 26U);
  EXPECT_EQ(memory.written[0].write.address, Iova);
  EXPECT_EQ(memory.written[0].write.length, 100U);
  EXPECT_EQ(memory.written[0].write.function, 2);
  EXPECT_EQ(memory.written[0].write.point, milestone::delivered);
  EXPECT_TRUE(memory.written[0].write.point_last);
  EXPECT_TRUE(memory_holds(Iova, 100, 0));
  ASSERT_EQ(responses.items.size(), 1U);
  EXPECT_EQ(responses.items[0].visible, 26U);
  EXPECT_EQ(answers(), "1f 100 41");
  EXPECT_TRUE(cqes.items.empty());
  ASSERT_EQ(parser.committed.size(), 1U);
  EXPECT_EQ(parser.committed[0].first, 12U);  // decided when taken
  EXPECT_EQ(stored().next_rcv_psn, 101U);
  EXPECT_EQ(stored().rmsn, 41U);
  EXPECT_EQ(bench.count(counter::RxWriteRequests), 1U);
  EXPECT_EQ(bench.count(counter::AcksSent), 1U);
}

TEST_P(responder_bench, a_packet_that_does_not_ask_is_not_acknowledged) {
  send(10, packet(bth_opcode::RcWriteOnly, 100, false));
  finish(100);
  EXPECT_EQ(memory.written.size(), 1U);
  EXPECT_TRUE(responses.items.empty());
}

TEST_P(responder_bench, packets_of_a_write_follow_each_other_in_one_cycle_each) {
  rx_packet first = packet(bth_opcode::RcWriteFirst, 256, false);
  first.dma_length = 600;
  send_at_once(10, std::move(first));
  send_at_once(11, packet(bth_opcode::RcWriteMiddle, 256, false));
  send_at_once(12, packet(bth_opcode::RcWriteLast, 88));
  finish(100);
  ASSERT_EQ(memory.written.size(), 3U);
  EXPECT_EQ(memory.written[1].write.address, Iova + 256);
  EXPECT_EQ(memory.written[2].write.address, Iova + 512);
  EXPECT_EQ(memory.written[0].visible, 26U);
  EXPECT_EQ(memory.written[1].visible, 27U);
  EXPECT_EQ(memory.written[2].visible, 28U);
  EXPECT_EQ(memory.written[1].write.point, milestone::count_);
  EXPECT_EQ(memory.written[2].write.point, milestone::delivered);
  EXPECT_TRUE(memory_holds(Iova, 600, 0));
  EXPECT_EQ(answers(), "1f 102 41");
}

TEST_P(responder_bench, the_first_send_asks_for_record_and_receive_wqe_the_next_finds_them) {
  post_receive(0, 256);
  post_receive(1, 256);
  post_receive(2, 256);
  send(10, packet(bth_opcode::RcSendOnly, 200));
  rx_packet second = packet(bth_opcode::RcSendOnlyImmediate, 50);
  second.solicited = true;
  send(500, std::move(second));
  finish(1000);
  ASSERT_EQ(memory.read.size(), 2U);
  EXPECT_EQ(memory.read[0].second.address, Record);
  EXPECT_EQ(memory.read[0].second.length, 4U);
  EXPECT_EQ(memory.read[1].second.address, RqBase);
  EXPECT_EQ(memory.read[1].second.length, 3 * 32U);  // all that are posted at once
  ASSERT_EQ(memory.written.size(), 2U);
  // Taken in 11, record asked in 11 and answered in 112, WQE asked in 112 and answered in 213, key
  // 5, write 10.
  EXPECT_EQ(memory.written[0].visible, 228U);
  EXPECT_EQ(memory.written[1].visible, 516U);
  EXPECT_TRUE(memory_holds(LocalIova, 200, 0));
  EXPECT_TRUE(memory_holds(LocalIova + 0x200, 50, 200));
  EXPECT_EQ(completions(), "2 0, 3 1");
  EXPECT_EQ(cqes.items[0].item.cqn, 5U);
  EXPECT_EQ(cqes.items[0].item.byte_count, 200U);
  EXPECT_EQ(cqes.items[0].item.remote_qpn, 0x99U);
  EXPECT_EQ(cqes.items[0].item.srqn, 0U);
  EXPECT_FALSE(cqes.items[0].item.grh);
  EXPECT_FALSE(cqes.items[0].item.solicited);
  EXPECT_EQ(cqes.items[1].visible, 516U);
  EXPECT_EQ(cqes.items[1].item.imm, 0xcafe0001U);
  EXPECT_TRUE(cqes.items[1].item.solicited);
  EXPECT_EQ(stored().rq_consumer, 2);
  EXPECT_EQ(stored().rq_db_rec, 3U);
}

TEST_P(responder_bench, a_packet_across_two_segments_is_two_writes) {
  post_receive(0, 200, 200);
  send(10, packet(bth_opcode::RcSendFirst, 256, false));
  send(11, packet(bth_opcode::RcSendLast, 100));
  finish(500);
  ASSERT_EQ(memory.written.size(), 3U);
  EXPECT_EQ(memory.written[0].write.length, 200U);
  EXPECT_EQ(memory.written[1].write.length, 56U);
  EXPECT_EQ(memory.written[1].write.address, LocalIova + 0x100);
  EXPECT_EQ(memory.written[2].write.length, 100U);
  EXPECT_EQ(memory.written[2].write.address, LocalIova + 0x100 + 56);
  EXPECT_TRUE(memory_holds(LocalIova, 200, 0));
  EXPECT_TRUE(memory_holds(LocalIova + 0x100, 156, 200));
  EXPECT_EQ(completions(), "2 0");
  EXPECT_EQ(cqes.items[0].item.byte_count, 356U);
}

TEST_P(responder_bench, a_write_with_immediate_takes_a_receive_wqe_without_reading_it) {
  post_receive(0, 256);
  send(10, packet(bth_opcode::RcWriteOnlyImmediate, 64));
  finish(500);
  EXPECT_EQ(memory.reads_of(Record), memory.read.size());
  EXPECT_EQ(completions(), "1 0");
  EXPECT_EQ(cqes.items[0].item.imm, 0xcafe0001U);
  EXPECT_EQ(cqes.items[0].item.byte_count, 64U);
  EXPECT_TRUE(memory_holds(Iova, 64, 0));
}

// RoCEv2/IBTA rule: operations of length zero skip the key check.
TEST_P(responder_bench, a_message_without_bytes_needs_no_key) {
  post_receive(0, 256);
  rx_packet write = packet(bth_opcode::RcWriteOnly, 0);
  write.rkey = 0xffff00;
  send(10, std::move(write));
  rx_packet read = read_request(0);
  read.rkey = 0xffff00;
  send(11, std::move(read));
  send(12, packet(bth_opcode::RcSendOnly, 0));
  finish(500);
  EXPECT_TRUE(memory.written.empty());
  EXPECT_EQ(answers(), "1f 100 41, R1f 101 42, 1f 102 43");
  EXPECT_EQ(responses.items[0].visible, 26U);
  EXPECT_EQ(completions(), "2 0");
  EXPECT_EQ(cqes.items[0].item.point, milestone::delivered);
}

TEST_P(responder_bench, another_qp_does_not_wait_for_a_receive_wqe) {
  post_receive(0, 256);
  set_qp(Qpn + 1);
  send(10, packet(bth_opcode::RcSendOnly, 10));
  send(11, packet(bth_opcode::RcWriteOnly, 8, true, Qpn + 1));
  finish(500);
  ASSERT_EQ(memory.written.size(), 2U);
  EXPECT_EQ(memory.written[0].write.address, Iova);
  EXPECT_EQ(memory.written[0].visible, 27U);
}

// A SEND with invalidate ends with the key invalid, and its completion names the key.
TEST_P(responder_bench, a_send_with_invalidate_invalidates_the_key_and_reports_it) {
  post_receive(0, 256);
  rx_packet last = packet(bth_opcode::RcSendOnlyInvalidate, 30);
  last.imm = Rkey;
  send(10, std::move(last));
  finish(500);
  ASSERT_EQ(invalidations.items.size(), 1U);
  EXPECT_EQ(invalidations.items[0].item.index, Rkey >> 8);
  EXPECT_EQ(completions(), "4 0");
  EXPECT_EQ(cqes.items[0].item.imm, Rkey);
  EXPECT_EQ(answers(), "1f 100 41");
  EXPECT_TRUE(memory_holds(LocalIova, 30, 0));
  EXPECT_EQ(bench.count(counter::RxInvalidatedKeys), 1U);
}

// The rights and the range of that key do not matter; it may also come without bytes.
TEST_P(responder_bench, a_key_without_remote_rights_can_be_invalidated) {
  post_receive(0, 256);
  mkey_line local = key(Rkey, Va, Iova);
  local.rr = local.rw = local.a = 0;
  set_key(Rkey, local);
  rx_packet last = packet(bth_opcode::RcSendOnlyInvalidate, 0);
  last.imm = Rkey;
  send(10, std::move(last));
  finish(500);
  EXPECT_EQ(invalidations.items.size(), 1U);
  EXPECT_EQ(completions(), "4 0");
}

// Page lists
// ----------------------------------------------------------------------------------------------

TEST_P(responder_bench, a_write_across_pages_is_cut_at_the_page_end) {
  set_pages();
  rx_packet write = packet(bth_opcode::RcWriteOnly, 256);
  write.rkey = PagedKey;
  write.remote_address = 0x9000f80;  // 0x80 bytes before the end of the first page
  send(10, std::move(write));
  finish(200);
  ASSERT_EQ(memory.written.size(), 2U);
  EXPECT_EQ(memory.written[0].write.address, 0x100f80U);
  EXPECT_EQ(memory.written[0].write.length, 0x80U);
  EXPECT_EQ(memory.written[1].write.address, 0x300000U);
  EXPECT_EQ(memory.written[1].write.length, 0x80U);
  EXPECT_TRUE(memory_holds(0x100f80, 0x80, 0));
  EXPECT_TRUE(memory_holds(0x300000, 0x80, 0x80));
  EXPECT_EQ(answers(), "1f 100 41");
}

TEST_P(responder_bench, pages_that_follow_each_other_in_iova_space_take_one_write) {
  set_pages();
  rx_packet write = packet(bth_opcode::RcWriteOnly, 256);
  write.rkey = PagedKey;
  write.remote_address = 0x9002f80;  // pages 2 and 3: 0x200000 and 0x201000
  send(10, std::move(write));
  finish(200);
  ASSERT_EQ(memory.written.size(), 1U);
  EXPECT_EQ(memory.written[0].write.address, 0x200f80U);
}

TEST_P(responder_bench, every_packet_of_a_paged_write_looks_its_pages_up) {
  set_pages();
  rx_packet first = packet(bth_opcode::RcWriteFirst, 256, false);
  first.rkey = PagedKey;
  first.remote_address = 0x9001f80;
  first.dma_length = 612;
  send_at_once(10, std::move(first));  // the next one comes before the key of the first is known
  send_at_once(11, packet(bth_opcode::RcWriteMiddle, 256, false));
  send_at_once(100, packet(bth_opcode::RcWriteLast, 100));
  finish(300);
  EXPECT_TRUE(memory_holds(0x300f80, 0x80, 0));
  EXPECT_TRUE(memory_holds(0x200000, 0x80, 0x80));
  EXPECT_TRUE(memory_holds(0x200080, 256, 0));
  EXPECT_TRUE(memory_holds(0x200180, 100, 0));
  ASSERT_EQ(memory.written.size(), 4U);
  EXPECT_EQ(memory.written[3].write.point, milestone::delivered);
  EXPECT_EQ(answers(), "1f 102 41");
}

TEST_P(responder_bench, a_page_that_went_away_between_two_packets_stops_the_write) {
  set_pages();
  rx_packet first = packet(bth_opcode::RcWriteFirst, 256);
  first.rkey = PagedKey;
  first.remote_address = 0x9000100;
  first.dma_length = 512;
  send(10, std::move(first));
  bench.run(200);
  set_pages(MttReadEnable);
  send(300, packet(bth_opcode::RcWriteLast, 256));
  finish(400);
  EXPECT_EQ(memory.written.size(), 1U);
  EXPECT_EQ(answers(), "1f 100 40, 62 101 40");
}

TEST_P(responder_bench, the_key_must_allow_the_whole_message_at_its_first_packet) {
  rx_packet first = packet(bth_opcode::RcWriteFirst, 256);
  first.dma_length = RegionBytes + 1;
  send(10, std::move(first));
  finish(200);
  EXPECT_TRUE(memory.written.empty());
  EXPECT_EQ(answers(), "62 100 40");
}

TEST_P(responder_bench, receive_buffers_may_have_page_lists) {
  set_pages();
  post_receive(0, 0x200);
  data_seg data;
  data.byte_count = 0x200;
  data.lkey = PagedKey;
  data.address = 0x9000f80;
  memory.put(RqBase, data);
  send(10, packet(bth_opcode::RcSendOnly, 200));
  finish(500);
  EXPECT_TRUE(memory_holds(0x100f80, 0x80, 0));
  EXPECT_TRUE(memory_holds(0x300000, 200 - 0x80, 0x80));
  EXPECT_EQ(completions(), "2 0");
}

// Order
// -------------------------------------------------------------------------------------------------

TEST_P(responder_back_pressure, many_sends_keep_their_order) {
  for (std::uint16_t i = 0; i < 4; ++i) {
    post_receive(i, 100, 100);
  }
  for (unsigned i = 0; i < 4; ++i) {
    set_qp(Qpn + 1 + i);
    send(10, packet(bth_opcode::RcSendOnly, 150));
    send(10, packet(bth_opcode::RcWriteOnly, 256, true, Qpn + 1 + i));
  }
  finish(3000);
  EXPECT_EQ(completions(), "2 0, 2 1, 2 2, 2 3");
  EXPECT_EQ(memory.written.size(), 12U);
  EXPECT_EQ(responses.items.size(), 8U);
  EXPECT_EQ(answers(), "1f 100 41, 1f 101 42, 1f 102 43, 1f 103 44");
}

TEST_P(responder_back_pressure, a_write_keeps_its_region_while_the_next_one_is_looked_up) {
  constexpr std::uint32_t OtherKey = 0x1609;
  set_key(OtherKey, key(OtherKey, Va, 0x60000000));
  rx_packet first = packet(bth_opcode::RcWriteFirst, 256);
  first.dma_length = 768;
  send_at_once(10, std::move(first));
  send_at_once(11, packet(bth_opcode::RcWriteMiddle, 256));
  send_at_once(12, packet(bth_opcode::RcWriteLast, 256));
  rx_packet other = packet(bth_opcode::RcWriteFirst, 256);
  other.rkey = OtherKey;
  other.dma_length = 300;
  send_at_once(13, std::move(other));
  send_at_once(14, packet(bth_opcode::RcWriteLast, 44));
  finish(1000);
  ASSERT_EQ(memory.written.size(), 5U);
  EXPECT_EQ(memory.written[2].write.address, Iova + 512);
  EXPECT_EQ(memory.written[3].write.address, 0x60000000U);
  EXPECT_EQ(memory.written[4].write.address, 0x60000100U);
}

TEST_P(responder_bench, reset_frees_what_waits) {
  send(10, packet(bth_opcode::RcSendOnly, 10));
  command(50, qp_state::Reset);
  finish(500);
  EXPECT_EQ(parser.committed.size(), 1U);
  EXPECT_TRUE(responses.items.empty());
  EXPECT_EQ(bench.count(counter::RxDropBadState), 1U);
}

TEST_P(responder_bench, a_qp_that_was_reset_begins_again_with_the_line_of_the_command) {
  send(10, packet(bth_opcode::RcWriteOnly, 10));
  command(50, qp_state::Reset);
  line.next_rcv_psn = 7000;
  line.rmsn = 0;
  command(60, qp_state::Rtr);
  bench.run(80);
  set_qp();
  send(100, packet(bth_opcode::RcWriteOnly, 10));
  finish(300);
  EXPECT_EQ(answers(), "1f 100 41, 1f 7000 1");
}

TEST_P(responder_bench, packets_without_a_qp_or_in_a_wrong_state_are_committed_and_dropped) {
  rx_packet nobody = packet(bth_opcode::RcWriteOnly, 8);
  nobody.verdict = rx_verdict::no_qp;
  parser.as_it_is(10, std::move(nobody));
  rx_packet asleep = packet(bth_opcode::RcWriteOnly, 8);
  asleep.verdict = rx_verdict::bad_state;
  parser.as_it_is(11, std::move(asleep));
  finish(100);
  EXPECT_EQ(parser.committed.size(), 2U);
  EXPECT_TRUE(memory.written.empty());
  EXPECT_EQ(bench.nic.buffers.in_use(), 0U);
}

INSTANTIATE_TEST_SUITE_P(shuffle, responder_bench, testing::Values(0, 77));
INSTANTIATE_TEST_SUITE_P(shuffle, responder_back_pressure, testing::Values(0, 77));

}  // namespace
}  // namespace carillon::bench
