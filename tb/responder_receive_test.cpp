// responder: receive WQEs of QPs in error, and shared receive queues.
//
// In `completions`, 14 is a responder error with its syndrome: 5 is flushed.
#include <algorithm>
#include <gtest/gtest.h>

#include "gen/wqe.h"
#include "tb/common/responder_bench.h"

namespace carillon::bench {
namespace {

constexpr std::uint8_t SrqLimitEvent = 0x14;
constexpr std::uint8_t SrqLastWqeEvent = 0x13;
constexpr std::uint8_t SrqCatastrophicEvent = 0x12;

// Flushing
// ----------------------------------------------------------------------------------------------

TEST_P(responder_bench, a_command_to_the_error_state_flushes_what_is_posted) {
  post_receive(0, 256);
  post_receive(1, 256);
  post_receive(2, 256);
  send(10, packet(bth_opcode::RcSendOnly, 20));
  command(400, qp_state::Err);
  finish(1000);
  EXPECT_EQ(completions(), "2 0, 14/5 1, 14/5 2");
  EXPECT_EQ(cqes.items[1].item.cqn, 5U);
  EXPECT_EQ(cqes.items[1].item.qpn, Qpn);
  EXPECT_TRUE(errors.items.empty());  // the command said so itself
  EXPECT_TRUE(faults.items.empty());
  EXPECT_EQ(bench.count(counter::RespCqeFlushError), 2U);
}

TEST_P(responder_bench, a_qp_that_never_received_is_flushed_too) {
  post_receive(0, 256);
  post_receive(1, 256);
  command(10, qp_state::Init);
  command(20, qp_state::Err);
  finish(500);
  EXPECT_EQ(completions(), "14/5 0, 14/5 1");
}

TEST_P(responder_bench, a_message_in_progress_is_flushed_when_the_qp_is_put_into_error) {
  post_receive(0, 256, 256);
  post_receive(1, 256);
  send(10, packet(bth_opcode::RcSendFirst, 256));
  command(400, qp_state::Err);
  finish(1000);
  EXPECT_EQ(completions(), "14/5 0, 14/5 1");
}

TEST_P(responder_bench, a_fault_of_the_requester_ends_the_receive_side) {
  post_receive(0, 256);
  send(10, packet(bth_opcode::RcWriteOnly, 8));
  qp_error fault;
  fault.qpn = Qpn;
  requester_faults.at(50, fault);
  send_at_once(100, packet(bth_opcode::RcWriteOnly, 8));
  finish(500);
  EXPECT_EQ(completions(), "14/5 0");
  EXPECT_EQ(answers(), "1f 100 41");
  EXPECT_EQ(memory.written.size(), 1U);
  EXPECT_TRUE(faults.items.empty());
}

// UC and UD: an error of the send queue (SQER) leaves the receive side as it is.
TEST_P(responder_bench, a_fault_of_the_send_queue_alone_changes_nothing) {
  post_receive(0, 256);
  send(10, packet(bth_opcode::RcWriteOnly, 8));
  qp_error fault;
  fault.qpn = Qpn;
  fault.send_queue_only = true;
  requester_faults.at(50, fault);
  send(100, packet(bth_opcode::RcSendOnly, 8));
  finish(600);
  EXPECT_EQ(completions(), "2 0");
}

TEST_P(responder_bench, packets_that_wait_for_a_receive_wqe_are_committed_and_dropped_in_error) {
  send(10, packet(bth_opcode::RcSendOnly, 10));  // its record is being read
  command(50, qp_state::Err);
  finish(500);
  EXPECT_EQ(parser.committed.size(), 1U);
  EXPECT_EQ(bench.count(counter::RxDropAfterError), 1U);
  EXPECT_EQ(answers(), "");
}

// The record is looked at every microsecond, three times without news, then no more.
class late_receives : public responder_bench {
 protected:
  late_receives() : responder_bench(1, quick()) {}

  static parameters quick() {
    parameters params;
    params.nic.error_poll_us = 1;
    params.nic.error_polls = 3;
    return params;
  }
};

TEST_P(late_receives, receives_posted_in_error_are_found_and_flushed) {
  command(10, qp_state::Init);
  command(20, qp_state::Err);
  bench.run(500);
  EXPECT_EQ(completions(), "");
  post_receive(0, 256);
  bench.run(1000);
  EXPECT_EQ(completions(), "14/5 0");
  bench.run(2000);  // two looks in vain; the third one finds this:
  post_receive(1, 256);
  finish(1500);
  EXPECT_EQ(completions(), "14/5 0, 14/5 1");
}

TEST_P(late_receives, the_search_for_late_receives_ends) {
  command(10, qp_state::Init);
  command(20, qp_state::Err);
  bench.run(10000);
  EXPECT_EQ(memory.reads_of(Record), 4U);  // at once, and three looks
  post_receive(0, 256);
  finish(10000);
  EXPECT_EQ(completions(), "");
}

TEST_P(late_receives, a_reset_ends_the_search) {
  command(10, qp_state::Init);
  command(20, qp_state::Err);
  command(500, qp_state::Reset);
  finish(10000);
  EXPECT_EQ(memory.reads_of(Record), 1U);
}

// Shared receive queues
// --------------------------------------------------------------------------------------

// WQE 0, then as the links say 5 and 2; the QPs take them in the order of their messages.
TEST_P(responder_bench, a_shared_queue_is_consumed_along_its_list_by_many_qps) {
  set_srq(1);
  put_srq_wqe(0, 5, 256);
  put_srq_wqe(5, 2, 256);
  put_srq_wqe(2, 1, 256);
  memory.put_record(SrqRecord, 3);
  for (std::uint32_t i = 0; i < 3; ++i) {
    set_qp(Qpn + i);
  }
  send(10, packet(bth_opcode::RcSendOnly, 10, true, Qpn));
  send(11, packet(bth_opcode::RcSendOnlyImmediate, 20, true, Qpn + 1));
  send(1000, packet(bth_opcode::RcSendOnly, 30, true, Qpn + 2));
  finish(2000);
  EXPECT_EQ(completions(Qpn), "2 0");
  EXPECT_EQ(completions(Qpn + 1), "3 5");
  EXPECT_EQ(completions(Qpn + 2), "2 2");
  for (const auto& each : cqes.items) {
    EXPECT_EQ(each.item.srqn, Srqn);
    EXPECT_EQ(each.item.cqn, 5U);
  }
  EXPECT_TRUE(memory_holds(LocalIova, 10, 0));
  EXPECT_TRUE(memory_holds(LocalIova + 5 * 0x200, 20, 10));
  EXPECT_TRUE(memory_holds(LocalIova + 2 * 0x200, 30, 30));
}

TEST_P(responder_bench, a_write_with_immediate_names_the_wqe_of_the_shared_queue) {
  set_srq(1);
  put_srq_wqe(0, 3, 256);
  put_srq_wqe(3, 1, 256);
  memory.put_record(SrqRecord, 2);
  set_qp();
  send(10, packet(bth_opcode::RcWriteOnlyImmediate, 10));
  send(11, packet(bth_opcode::RcWriteOnlyImmediate, 0));
  finish(1000);
  EXPECT_EQ(completions(), "1 0, 1 3");
}

TEST_P(responder_bench, interleaved_messages_keep_their_own_wqe_of_the_shared_queue) {
  set_srq(1);
  put_srq_wqe(0, 1, 512);
  put_srq_wqe(1, 2, 512);
  memory.put_record(SrqRecord, 2);
  set_qp(Qpn);
  set_qp(Qpn + 1);
  send(10, packet(bth_opcode::RcSendFirst, 256, true, Qpn));      // bytes 0 to 255
  send(11, packet(bth_opcode::RcSendFirst, 256, true, Qpn + 1));  // 0 to 255 again
  send(500, packet(bth_opcode::RcSendLast, 16, true, Qpn + 1));   // 0 to 15
  send(501, packet(bth_opcode::RcSendLast, 32, true, Qpn));       // 16 to 47
  finish(1500);
  EXPECT_EQ(completions(Qpn), "2 0");
  EXPECT_EQ(completions(Qpn + 1), "2 1");
  EXPECT_TRUE(memory_holds(LocalIova + 256, 32, 16));
  EXPECT_TRUE(memory_holds(LocalIova + 0x200 + 256, 16, 0));
}

// Record and WQE are read on the first packet's account, the second WQE on the second one's.
TEST_P(responder_bench, the_read_of_a_shared_wqe_is_part_of_its_messages_history) {
  set_srq(1);
  put_srq_wqe(0, 1, 256);
  put_srq_wqe(1, 2, 256);
  memory.put_record(SrqRecord, 2);
  set_qp(Qpn);
  set_qp(Qpn + 1);
  send(10, packet(bth_opcode::RcSendOnly, 10, true, Qpn));
  send(11, packet(bth_opcode::RcSendOnly, 10, true, Qpn + 1));
  finish(1000);
  ASSERT_EQ(cqes.items.size(), 2U);
  const auto reads_in = [&](const cqe_item& cqe) {
    const auto chain = chain_of(bench.context.trace, cqe.trace);
    return std::count_if(chain.begin(), chain.end(), [&](const span& each) {
      return bench.context.trace.name(each.place) == "dma_engine" &&
             each.end - each.begin == 100000;
    });
  };
  EXPECT_EQ(reads_in(cqes.items[0].item), 2);
  EXPECT_EQ(reads_in(cqes.items[1].item), 1);
}

TEST_P(responder_bench, an_empty_shared_queue_is_not_ready) {
  set_srq(1);
  set_qp();
  const rx_packet first = packet(bth_opcode::RcSendOnly, 10);
  send(10, first);
  bench.run(500);
  EXPECT_EQ(answers(), "2c 100 40");
  put_srq_wqe(0, 1, 256);
  memory.put_record(SrqRecord, 1);
  send(510, first);
  finish(1000);
  EXPECT_EQ(answers(), "2c 100 40, 1f 100 41");
  EXPECT_EQ(completions(), "2 0");
}

// The keys of its WQEs belong to the SRQ's protection domain.
TEST_P(responder_bench, a_key_of_the_qps_domain_is_wrong_in_a_shared_queue) {
  set_srq(1);
  put_srq_wqe(0, 1, 256);
  put_srq_wqe(1, 2, 256);
  memory.put_record(SrqRecord, 2);
  set_key(SrqLkey, key(SrqLkey, LocalVa, LocalIova));  // of the QP's
  set_qp();
  send(10, packet(bth_opcode::RcSendOnly, 10));
  finish(1000);
  EXPECT_EQ(answers(), "63 100 40");
  EXPECT_EQ(completions(), "14/4 0");  // WQE 1 stays for the other QPs
  EXPECT_EQ(cqes.items[0].item.srqn, Srqn);
}

TEST_P(responder_bench, a_qp_in_error_leaves_the_shared_queue_to_others) {
  set_srq(1);
  for (std::uint16_t i = 0; i < 4; ++i) {
    put_srq_wqe(i, static_cast<std::uint16_t>(i + 1), 512);
  }
  memory.put_record(SrqRecord, 4);
  set_qp(Qpn);
  set_qp(Qpn + 1);
  send(10, packet(bth_opcode::RcSendFirst, 256, true, Qpn));
  send(300, packet(bth_opcode::RcSendOnly, 20, true, Qpn + 1));
  command(1000, qp_state::Err, Qpn);
  common.state = qp_state::Rts;
  send(1500, packet(bth_opcode::RcSendOnly, 20, true, Qpn + 1));
  finish(2500);
  EXPECT_EQ(completions(Qpn), "14/5 0");
  EXPECT_EQ(completions(Qpn + 1), "2 1, 2 2");
  ASSERT_EQ(events.items.size(), 1U);
  EXPECT_EQ(events.items[0].item.kind, SrqLastWqeEvent);  // this QP takes no more
  EXPECT_EQ(events.items[0].item.number, Qpn);
}

// Limit 3: with 4 posted the first message leaves 3, the second 2.
TEST_P(responder_bench, the_limit_event_comes_once_until_it_is_armed_again) {
  set_srq(1, 3);
  for (std::uint16_t i = 0; i < 6; ++i) {
    put_srq_wqe(i, static_cast<std::uint16_t>(i + 1), 512);
  }
  memory.put_record(SrqRecord, 4);
  set_qp();
  send(10, packet(bth_opcode::RcSendOnly, 8));
  bench.run(1000);
  EXPECT_TRUE(events.items.empty());
  send(1010, packet(bth_opcode::RcSendOnly, 8));
  bench.run(1000);
  ASSERT_EQ(events.items.size(), 1U);
  EXPECT_EQ(events.items[0].item.kind, SrqLimitEvent);
  EXPECT_EQ(events.items[0].item.number, Srqn);
  EXPECT_EQ(events.items[0].item.function, 2);
  send(2010, packet(bth_opcode::RcSendOnly, 8));
  bench.run(1000);
  EXPECT_EQ(events.items.size(), 1U);
  set_srq(3010, 2);  // one is left: below the new limit at once
  finish(1000);
  EXPECT_EQ(events.items.size(), 2U);
  EXPECT_EQ(bench.count(counter::SrqLimitEvents), 2U);
}

TEST_P(responder_bench, the_limit_counts_what_was_posted_meanwhile) {
  set_srq(1, 2);
  for (std::uint16_t i = 0; i < 6; ++i) {
    put_srq_wqe(i, static_cast<std::uint16_t>(i + 1), 512);
  }
  memory.put_record(SrqRecord, 2);
  set_qp();
  send(10, packet(bth_opcode::RcWriteOnly, 8));
  send(20, packet(bth_opcode::RcSendOnly, 8));
  bench.run(60);                    // the record is being read as 2: one left after this message
  memory.put_record(SrqRecord, 6);  // but there are five when it is read again
  finish(1000);
  EXPECT_EQ(completions(), "2 0");
  EXPECT_EQ(memory.reads_of(SrqRecord), 2U);
  EXPECT_TRUE(events.items.empty());
}

TEST_P(responder_bench, a_link_out_of_the_queue_breaks_it) {
  set_srq(1);
  put_srq_wqe(0, 8, 256);  // eight WQEs: 0 to 7
  memory.put_record(SrqRecord, 2);
  set_qp();
  send(10, packet(bth_opcode::RcSendOnly, 8));
  send(500, packet(bth_opcode::RcSendOnly, 8));
  finish(1500);
  EXPECT_EQ(completions(), "2 0");
  EXPECT_EQ(answers(), "1f 100 41, 2c 101 41");
  ASSERT_EQ(events.items.size(), 1U);
  EXPECT_EQ(events.items[0].item.kind, SrqCatastrophicEvent);
}

TEST_P(responder_back_pressure, a_shared_queue_serves_many_qps_without_losing_a_wqe) {
  set_srq(1);
  for (std::uint16_t i = 0; i < 8; ++i) {
    put_srq_wqe(i, (i + 3) % 8, 256);  // 0, 3, 6, 1, 4, 7, 2, 5
  }
  memory.put_record(SrqRecord, 8);
  for (std::uint32_t i = 0; i < 4; ++i) {
    set_qp(Qpn + i);
  }
  for (std::uint32_t i = 0; i < 8; ++i) {
    send(10, packet(bth_opcode::RcSendOnly, 8, true, Qpn + i % 4));
  }
  finish(5000);
  ASSERT_EQ(cqes.items.size(), 8U);
  unsigned seen = 0;
  for (const auto& each : cqes.items) {
    seen |= 1U << each.item.wqe_counter;
  }
  EXPECT_EQ(seen, 0xffU);
}

INSTANTIATE_TEST_SUITE_P(shuffle, responder_bench, testing::Values(0, 77));
INSTANTIATE_TEST_SUITE_P(shuffle, responder_back_pressure, testing::Values(0, 77));
INSTANTIATE_TEST_SUITE_P(shuffle, late_receives, testing::Values(0, 77));

}  // namespace
}  // namespace carillon::bench
