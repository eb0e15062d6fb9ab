// responder: READs and atomics, and what is kept of them for duplicates.
//
// The rules are RoCEv2/IBTA's. In `answers`, R is a READ handed to the scheduler, A an atomic
// result; the numbers are PSN and MSN.
#include <algorithm>
#include <gtest/gtest.h>

#include "tb/common/responder_bench.h"

namespace carillon::bench {
namespace {

// READ
// --------------------------------------------------------------------------------------------------

// n = ceil(600 / 256) = 3 PSNs; the MSN counts at acceptance.
TEST_P(responder_bench, a_read_takes_as_many_psns_as_its_answer_has_packets) {
  send(10, read_request(600, 0x40));
  send(20, packet(bth_opcode::RcWriteOnly, 8));
  finish(200);
  EXPECT_EQ(answers(), "R1f 100 41, 1f 103 42");
  const response_item& read = responses.items[0].item;
  EXPECT_EQ(responses.items[0].visible, 26U);
  EXPECT_EQ(read.address, Va + 0x40);
  EXPECT_EQ(read.rkey, Rkey);
  EXPECT_EQ(read.length, 600U);
  EXPECT_EQ(read.mtu_code, static_cast<std::uint8_t>(mtu_code::Mtu256));
  EXPECT_EQ(read.function, 2);
  EXPECT_FALSE(read.paged);
  EXPECT_EQ(parser.committed[0].first, 12U);
  EXPECT_EQ(stored().next_rcv_psn, 104U);
  EXPECT_EQ(bench.count(counter::RxReadRequests), 1U);
}

TEST_P(responder_bench, a_read_under_a_page_list_says_so) {
  set_pages();
  rx_packet read = read_request(300);
  read.rkey = PagedKey;
  read.remote_address = PagedVa;
  send(10, std::move(read));
  finish(200);
  ASSERT_EQ(responses.items.size(), 1U);
  EXPECT_TRUE(responses.items[0].item.paged);
}

// The last response takes PSN 1: 0xfffffe, 0xffffff, 0, 1.
TEST_P(responder_bench, a_read_goes_on_over_the_psn_wrap) {
  line.next_rcv_psn = 0xfffffe;
  set_qp();
  const rx_packet read = read_request(1024);
  send(10, read);
  send(20, packet(bth_opcode::RcWriteOnly, 8));
  rx_packet again = read;
  again.psn = 0;  // its third packet
  again.remote_address += 512;
  again.dma_length = 512;
  send(60, std::move(again));
  finish(300);
  EXPECT_EQ(answers(), "R1f 16777214 41, 1f 2 42, R1f 0 42");
}

TEST_P(responder_bench, a_read_without_the_right_is_an_access_error) {
  mkey_line write_only = key(Rkey, Va, Iova);
  write_only.rr = 0;
  set_key(Rkey, write_only);
  send(10, read_request(8));
  finish(200);
  EXPECT_EQ(answers(), "62 100 40");
}

TEST_P(responder_bench, a_read_beyond_its_region_is_an_access_error) {
  send(10, read_request(RegionBytes, 1));
  finish(200);
  EXPECT_EQ(answers(), "62 100 40");
}

TEST_P(responder_bench, a_read_sees_the_writes_before_it) {
  send(10, packet(bth_opcode::RcWriteOnly, 8));
  send(11, packet(bth_opcode::RcWriteOnly, 8));
  send(12, read_request(8));
  finish(200);
  ASSERT_EQ(responses.items.size(), 3U);
  EXPECT_EQ(responses.items[2].item.writes_before, 2U);
}

// More READs than were agreed (2^log_rra_max = 2) whose answers were not even begun: 0x61.
TEST_P(responder_bench, more_outstanding_reads_than_agreed_are_an_invalid_request) {
  line.log_rra_max = 1;
  set_qp();
  for (cycle_t i = 0; i < 3; ++i) {
    send_at_once(10 + i, read_request(8));
  }
  finish(200);
  EXPECT_EQ(answers(), "R1f 100 41, R1f 101 42, 61 102 42");
}

TEST_P(responder_bench, answered_reads_make_room_for_new_ones) {
  line.log_rra_max = 0;
  set_qp();
  for (cycle_t i = 0; i < 5; ++i) {
    send(10 + 30 * i, read_request(8));
  }
  finish(400);
  EXPECT_EQ(answers(), "R1f 100 41, R1f 101 42, R1f 102 43, R1f 103 44, R1f 104 45");
}

// Replays
// -----------------------------------------------------------------------------------------------

TEST_P(responder_bench, a_duplicate_read_is_answered_again) {
  const rx_packet read = read_request(600);
  send(10, read);
  send(60, read);
  finish(200);
  EXPECT_EQ(answers(), "R1f 100 41, R1f 100 41");
  EXPECT_EQ(responses.items[1].item.length, 600U);
  EXPECT_EQ(stored().next_rcv_psn, 103U);
  EXPECT_EQ(bench.count(counter::ReadReplays), 1U);
  EXPECT_EQ(bench.count(counter::RxReadRequests), 1U);
}

// A requester that lost a response asks for the rest: PSN, address and length advanced together.
TEST_P(responder_bench, a_part_of_a_saved_read_is_replayed_from_where_its_psn_says) {
  const rx_packet read = read_request(600);
  send(10, read);
  rx_packet rest = read;
  rest.psn = 101;
  rest.remote_address = Va + 256;
  rest.dma_length = 344;
  send(60, rest);
  rx_packet middle = rest;  // not even to the end
  middle.dma_length = 256;
  send(90, middle);
  rx_packet tail = read;
  tail.psn = 102;
  tail.remote_address = Va + 512;
  tail.dma_length = 88;
  send(120, tail);
  finish(300);
  EXPECT_EQ(answers(), "R1f 100 41, R1f 101 41, R1f 101 41, R1f 102 41");
  EXPECT_EQ(responses.items[1].item.address, Va + 256);
  EXPECT_EQ(responses.items[1].item.length, 344U);
  EXPECT_EQ(responses.items[2].item.length, 256U);
  EXPECT_EQ(responses.items[3].item.length, 88U);
}

TEST_P(responder_bench, what_is_not_part_of_a_saved_read_is_dropped) {
  const rx_packet read = read_request(600);
  send(10, read);
  rx_packet longer = read;
  longer.dma_length = 601;
  send(60, longer);
  rx_packet elsewhere = read;
  elsewhere.remote_address += 8;
  send(70, elsewhere);
  rx_packet misplaced = read;  // the second packet's PSN with the first one's address
  misplaced.psn = 101;
  send(80, misplaced);
  rx_packet other_key = read;
  other_key.rkey = Lkey;
  send(90, other_key);
  rx_packet before = read;
  before.psn = 99;
  send(100, before);
  finish(300);
  EXPECT_EQ(answers(), "R1f 100 41");
  EXPECT_EQ(bench.count(counter::DuplicatesDropped), 5U);
  EXPECT_EQ(bench.count(counter::DuplicateRequest), 5U);
  EXPECT_TRUE(errors.items.empty());
}

TEST_P(responder_bench, a_read_that_was_recycled_is_not_replayed) {
  line.log_rra_max = 1;
  set_qp();
  const rx_packet oldest = read_request(8);
  send(10, oldest);
  const rx_packet second = read_request(8);
  send(40, second);
  send(70, read_request(8));
  send(100, oldest);
  send(110, second);
  finish(300);
  EXPECT_EQ(answers(), "R1f 100 41, R1f 101 42, R1f 102 43, R1f 101 43");
}

TEST_P(responder_bench, a_read_without_bytes_is_replayed_without_a_key) {
  rx_packet read = read_request(0);
  read.rkey = 0xffff00;
  send(10, read);
  send(60, read);
  finish(200);
  EXPECT_EQ(answers(), "R1f 100 41, R1f 100 41");
}

// Atomics
// -----------------------------------------------------------------------------------------------

TEST_P(responder_bench, fetch_and_add_returns_what_was_there) {
  memory.put_word(Iova, 0xfffffffffffffffe);
  send(10, fetch_add(5));
  finish(500);
  EXPECT_EQ(memory.word(Iova), 3U);  // modulo 2^64
  EXPECT_EQ(answers(), "A1f 100 41");
  EXPECT_EQ(responses.items[0].item.atomic_result, 0xfffffffffffffffe);
  ASSERT_EQ(memory.read.size(), 1U);
  EXPECT_EQ(memory.read[0].second.length, 8U);
  // Taken in 11, key in 16, read asked in 16 and answered in 117, write 10.
  EXPECT_EQ(responses.items[0].visible, 127U);
  EXPECT_EQ(memory.written[0].visible, 127U);
  EXPECT_EQ(parser.committed[0].first, 12U);
  EXPECT_EQ(stored().next_rcv_psn, 101U);
  EXPECT_EQ(bench.count(counter::RxAtomicRequests), 1U);
}

TEST_P(responder_bench, compare_and_swap_writes_only_on_a_match) {
  memory.put_word(Iova, 7);
  send(10, compare_swap(8, 100));
  send(11, compare_swap(7, 200));
  finish(1000);
  EXPECT_EQ(memory.word(Iova), 200U);
  EXPECT_EQ(memory.written.size(), 1U);
  EXPECT_EQ(answers(), "A1f 100 41, A1f 101 42");
  EXPECT_EQ(responses.items[0].item.atomic_result, 7U);
  EXPECT_EQ(responses.items[1].item.atomic_result, 7U);
}

TEST_P(responder_bench, an_atomic_that_is_not_aligned_is_an_invalid_request) {
  rx_packet atomic = fetch_add(1);
  atomic.remote_address = Va + 4;
  send(10, std::move(atomic));
  finish(500);
  EXPECT_EQ(answers(), "61 100 40");
}

TEST_P(responder_bench, an_atomic_needs_the_atomic_right) {
  mkey_line plain = key(Rkey, Va, Iova);
  plain.a = 0;
  set_key(Rkey, plain);
  send(10, fetch_add(1));
  finish(500);
  EXPECT_EQ(answers(), "62 100 40");
  EXPECT_TRUE(memory.written.empty());
}

TEST_P(responder_bench, an_atomic_finds_its_word_through_a_page_list) {
  set_pages();
  memory.put_word(0x300008, 40);
  rx_packet atomic = fetch_add(2);
  atomic.rkey = PagedKey;
  atomic.remote_address = 0x9001008;
  send(10, std::move(atomic));
  finish(500);
  EXPECT_EQ(memory.word(0x300008), 42U);
}

// A duplicate gets the saved result; the word is not touched again.
TEST_P(responder_bench, an_atomic_is_never_executed_twice) {
  memory.put_word(Iova, 10);
  const rx_packet atomic = fetch_add(5);
  send(10, atomic);
  send(11, atomic);   // while the first one is in the unit
  send(500, atomic);  // and long after
  finish(1000);
  EXPECT_EQ(memory.word(Iova), 15U);
  EXPECT_EQ(memory.written.size(), 1U);
  EXPECT_EQ(answers(), "A1f 100 41, A1f 100 41, A1f 100 41");
  for (const auto& each : responses.items) {
    EXPECT_EQ(each.item.atomic_result, 10U);
  }
  EXPECT_EQ(bench.count(counter::AtomicReplays), 2U);
  EXPECT_EQ(bench.count(counter::RxAtomicRequests), 1U);
}

TEST_P(responder_bench, a_duplicate_atomic_that_is_not_saved_is_dropped) {
  line.log_rra_max = 0;
  set_qp();
  const rx_packet first = fetch_add(1);
  send(10, first);
  send(300, fetch_add(1));
  rx_packet swap = first;
  swap.psn = 101;
  swap.bth_opcode = static_cast<std::uint8_t>(bth_opcode::RcCompareSwap);
  send(600, first);  // recycled
  send(601, swap);   // another operation under the saved one's PSN
  finish(1000);
  EXPECT_EQ(answers(), "A1f 100 41, A1f 101 42");
  EXPECT_EQ(bench.count(counter::DuplicatesDropped), 2U);
  EXPECT_EQ(memory.word(Iova), 2U);
}

TEST_P(responder_bench, later_packets_of_the_qp_wait_for_an_atomic_those_of_others_do_not) {
  set_qp(Qpn + 1);
  send(10, fetch_add(1));
  rx_packet behind = packet(bth_opcode::RcWriteOnly, 8);
  behind.remote_address = Va + 0x100;
  send(11, std::move(behind));
  rx_packet other = packet(bth_opcode::RcWriteOnly, 8, true, Qpn + 1);
  other.remote_address = Va + 0x200;
  send(12, std::move(other));
  finish(500);
  ASSERT_EQ(memory.written.size(), 3U);
  EXPECT_EQ(memory.written[0].write.address, Iova + 0x200);
  EXPECT_EQ(memory.written[0].visible, 30U);  // taken in 15
  EXPECT_EQ(memory.written[1].write.address, Iova);
  EXPECT_EQ(memory.written[2].write.address, Iova + 0x100);
  EXPECT_EQ(answers(), "A1f 100 41, 1f 101 42");
}

TEST_P(responder_bench, an_atomic_whose_word_cannot_be_read_is_an_operational_error) {
  memory.failing[Iova] = dma_status::completer_abort;
  send(10, fetch_add(1));
  send(11, packet(bth_opcode::RcWriteOnly, 8));
  finish(500);
  EXPECT_EQ(answers(), "63 100 40");
  EXPECT_TRUE(memory.written.empty());
  EXPECT_EQ(errors.items.size(), 1U);
  EXPECT_EQ(bench.count(counter::RxDropAfterError), 1U);
}

TEST_P(responder_bench, an_atomic_of_a_qp_that_is_reset_changes_nothing) {
  memory.put_word(Iova, 10);
  set_qp(Qpn + 1);
  send(10, fetch_add(1));
  send(11, fetch_add(1));
  command(60, qp_state::Reset);  // the first one is being read, the second one waits
  send(300, fetch_add(7, Qpn + 1));
  finish(1000);
  EXPECT_EQ(memory.word(Iova), 17U);
  EXPECT_EQ(answers(), "");
  EXPECT_EQ(answers(Qpn + 1), "A1f 100 41");
}

// An atomic sees the WRITE before it although the memory is slow to take it.
TEST_P(responder_back_pressure, an_atomic_sees_the_writes_before_it) {
  rx_packet write = packet(bth_opcode::RcWriteOnly, 8);  // bytes 0 to 7
  send(10, std::move(write));
  send(11, fetch_add(1));
  finish(1000);
  ASSERT_EQ(responses.items.size(), 2U);
  EXPECT_EQ(responses.items[1].item.atomic_result, 0x0706050403020100U);
  EXPECT_EQ(memory.word(Iova), 0x0706050403020101U);
}

// Eight QPs, five additions each, on one word: the sum is exact, and each sees another value.
TEST_P(responder_back_pressure, eight_qps_add_to_one_word) {
  constexpr std::uint32_t Qps = 8;
  constexpr std::uint32_t Each = 5;
  memory.put_word(Iova, 1000);
  line.log_rra_max = 3;
  for (std::uint32_t i = 0; i < Qps; ++i) {
    set_qp(Qpn + i);
  }
  for (std::uint32_t round = 0; round < Each; ++round) {
    for (std::uint32_t i = 0; i < Qps; ++i) {
      send(10, fetch_add(3, Qpn + i));
    }
  }
  finish(8000);
  EXPECT_EQ(memory.word(Iova), 1000U + 3 * Qps * Each);
  std::vector<std::uint64_t> seen;
  for (const auto& each : responses.items) {
    seen.push_back(each.item.atomic_result);
  }
  std::sort(seen.begin(), seen.end());
  ASSERT_EQ(seen.size(), std::size_t{Qps * Each});
  for (std::size_t i = 0; i < seen.size(); ++i) {
    EXPECT_EQ(seen[i], 1000 + 3 * i);
  }
  for (std::uint32_t i = 0; i < Qps; ++i) {
    EXPECT_EQ(answers(Qpn + i), "A1f 100 41, A1f 101 42, A1f 102 43, A1f 103 44, A1f 104 45");
  }
}

INSTANTIATE_TEST_SUITE_P(shuffle, responder_bench, testing::Values(0, 77));
INSTANTIATE_TEST_SUITE_P(shuffle, responder_back_pressure, testing::Values(0, 77));

}  // namespace
}  // namespace carillon::bench
