// requester: what ends a send queue, and with which syndromes.
#include <gtest/gtest.h>

#include "common/requester_bench.h"

namespace carillon {
namespace {

using bench::Qpn;
using bench::requester_bench;
using ended = std::vector<std::pair<unsigned, unsigned>>;

// Bad responses ----

struct bad_response {
  std::uint32_t psn;
  bth_opcode opcode;
  std::uint32_t bytes;
  vendor_syndrome why;
};

class requester_bad_responses : public requester_bench {
 protected:
  /// A READ of 600 bytes, PSN 5 to 7; everything before `bad` came as it should.
  void expect_refused(const bad_response& bad) {
    start();
    read(10, 5, 5, 0, {{0, 600, 1, 0x1000}});
    write(11, 8, 1);
    if (bad.psn > 5) {
      data(40, 5, bth_opcode::RcReadResponseFirst, 256);
    }
    if (bad.psn > 6) {
      data(45, 6, bth_opcode::RcReadResponseMiddle, 256);
    }
    data(50, bad.psn, bad.opcode, bad.bytes);
    finish();
    ASSERT_EQ(completions(), (ended{{0, 0x10}, {1, 0x05}}));
    EXPECT_EQ(completion.items[0].item.vendor_syndrome, static_cast<std::uint8_t>(bad.why));
    EXPECT_EQ(bench.count(counter::ReqBadResponse), 1U);
  }
};

// RoCEv2: FIRST and MIDDLE carry exactly one MTU, LAST the rest; ONLY is a whole response.
TEST_P(requester_bad_responses, a_middle_in_the_first_place) {
  expect_refused({5, bth_opcode::RcReadResponseMiddle, 256, vendor_syndrome::ResponseOpcode});
}

TEST_P(requester_bad_responses, an_only_where_more_must_follow) {
  expect_refused({5, bth_opcode::RcReadResponseOnly, 256, vendor_syndrome::ResponseOpcode});
}

TEST_P(requester_bad_responses, a_second_first) {
  expect_refused({6, bth_opcode::RcReadResponseFirst, 256, vendor_syndrome::ResponseOpcode});
}

TEST_P(requester_bad_responses, a_last_in_the_middle) {
  expect_refused({6, bth_opcode::RcReadResponseLast, 256, vendor_syndrome::ResponseOpcode});
}

TEST_P(requester_bad_responses, a_middle_in_the_last_place) {
  expect_refused({7, bth_opcode::RcReadResponseMiddle, 88, vendor_syndrome::ResponseOpcode});
}

TEST_P(requester_bad_responses, a_first_that_is_not_full) {
  expect_refused({5, bth_opcode::RcReadResponseFirst, 255, vendor_syndrome::ResponseLength});
}

TEST_P(requester_bad_responses, a_last_that_is_too_long) {
  expect_refused({7, bth_opcode::RcReadResponseLast, 89, vendor_syndrome::ResponseLength});
}

TEST_P(requester_bad_responses, an_atomic_result_for_a_read) {
  expect_refused({5, bth_opcode::RcAtomicAcknowledge, 0, vendor_syndrome::ResponseKind});
}

TEST_P(requester_bad_responses, read_data_for_a_write_ends_that_write) {
  start();
  write(10, 5, 0);
  write(11, 6, 1);
  data(50, 6, bth_opcode::RcReadResponseOnly, 10);
  finish();
  EXPECT_EQ(completions(), (ended{{0, 0}, {1, 0x10}}));
}

// Errors ----

TEST_P(requester_bench, a_wqe_that_failed_here_ends_the_queue_when_it_is_the_oldest) {
  start();
  write(10, 5, 0);
  failed(11, 6, 1, cqe_syndrome::LocalProtection);
  failed(12, 6, 2, cqe_syndrome::WrFlushed);
  ack(99, 5);
  finish();
  ASSERT_EQ(completions(), (ended{{0, 0}, {1, 0x04}, {2, 0x05}}));
  EXPECT_EQ(completion.items[0].item.cqe_opcode, 0);
  EXPECT_EQ(completion.items[1].item.cqe_opcode, 13);
  EXPECT_TRUE(completion.items[1].item.solicited) << "errors count for every armed CQ";
  EXPECT_EQ(completion.items[1].visible, 111U);
  ASSERT_EQ(errors.items.size(), 1U);
  EXPECT_EQ(errors.items[0].item.qpn, Qpn);
  EXPECT_FALSE(errors.items[0].item.send_queue_only);
  EXPECT_EQ(errors.items[0].visible, 101U);
  EXPECT_EQ(told.items.size(), 1U) << "the receive side ends with it";
  EXPECT_EQ(controls_of(send_control_kind::error).size(), 1U);
  EXPECT_EQ(bench.count(counter::LocalProtectionErrors), 1U);
  EXPECT_EQ(bench.count(counter::WqeFlushed), 1U);
}

TEST_P(requester_bench, a_failed_wqe_with_nothing_before_it_completes_at_once) {
  start();
  failed(10, 5, 0, cqe_syndrome::LocalProtection);
  finish();
  ASSERT_EQ(completion.items.size(), 1U);
  EXPECT_EQ(completion.items[0].visible, 21U);
}

class requester_fatal_naks : public requester_bench {
 protected:
  void expect_ended_by(std::uint8_t nak_syndrome, unsigned expected) {
    start();
    write(10, 5, 0);
    write(11, 6, 1, false);
    write(12, 7, 2, false);
    nak(99, 6, nak_syndrome);
    finish();
    EXPECT_EQ(completions(), (ended{{0, 0}, {1, expected}, {2, 0x05}})) << "also the unsignaled";
    EXPECT_EQ(completion.items[1].visible, 111U);
    EXPECT_EQ(errors.items.size(), 1U);
  }
};

// RoCEv2 and mlx5: NAK 0x61, 0x62, 0x63 complete with 0x12, 0x13, 0x14.
TEST_P(requester_fatal_naks, an_invalid_request) {
  expect_ended_by(0x61, 0x12);
  EXPECT_EQ(bench.count(counter::ReqRemoteInvalidRequest), 1U);
}

TEST_P(requester_fatal_naks, a_remote_access_error) {
  expect_ended_by(0x62, 0x13);
  EXPECT_EQ(bench.count(counter::ReqRemoteAccessErrors), 1U);
}

TEST_P(requester_fatal_naks, a_remote_operational_error) {
  expect_ended_by(0x63, 0x14);
  EXPECT_EQ(bench.count(counter::ReqRemoteOperationErrors), 1U);
}

TEST_P(requester_bench, a_fatal_nak_in_a_message_waits_until_no_more_of_it_comes) {
  start();
  packets(10, 5, 7, 5, 9, 0);
  nak(50, 6, 0x62);
  // tx_sched had granted one more; then it hears of the error and flushes the rest.
  packets(52, 8, 8, 5, 9, 0);
  sent_packet rest = note(9, 5, 9, 0);
  rest.last = true;
  rest.syndrome = 0x05;
  sent.at(70, rest);
  failed(71, 9, 1, cqe_syndrome::WrFlushed);
  finish();
  ASSERT_EQ(completions(), (ended{{0, 0x13}, {1, 0x05}}));
  EXPECT_EQ(completion.items[0].visible, 81U) << "taken in 71";
}

TEST_P(requester_bench, unknown_naks_are_counted_and_change_nothing) {
  start();
  write(10, 5, 0);
  nak(20, 5, 0x64);
  nak(21, 5, 0x40);
  ack(50, 5);
  finish();
  EXPECT_EQ(bench.count(counter::ReqBadResponse), 2U);
  EXPECT_EQ(completions(), (ended{{0, 0}}));
}

TEST_P(requester_bench, everything_posted_is_flushed_by_a_command_to_err) {
  start();
  write(10, 5, 0);
  write(11, 6, 1, false);
  write(12, 7, 2, false);
  ack(40, 5);
  command(50, qp_state::Err);
  failed(60, 8, 3, cqe_syndrome::WrFlushed);  // what tx_sched held
  finish();
  EXPECT_EQ(completions(), (ended{{0, 0}, {1, 0x05}, {2, 0x05}, {3, 0x05}}));
  EXPECT_EQ(controls_of(send_control_kind::error).size(), 1U);
  EXPECT_TRUE(errors.items.empty()) << "the context RAM knows already";
  EXPECT_TRUE(told.items.empty());
}

TEST_P(requester_bench, a_fault_of_the_responder_flushes_the_send_queue) {
  start();
  write(10, 5, 0);
  qp_error fault;
  fault.qpn = Qpn;
  faults.at(50, fault);
  finish();
  EXPECT_EQ(completions(), (ended{{0, 0x05}}));
  EXPECT_EQ(controls_of(send_control_kind::error).size(), 1U);
  EXPECT_TRUE(errors.items.empty());
  EXPECT_TRUE(told.items.empty());
}

TEST_P(requester_bench, no_read_is_flushed_while_its_data_is_on_the_way_to_memory) {
  start();
  read(10, 5, 5, 0, {{0, 512, 0x521, 0x7000}}, true);
  data(50, 5, bth_opcode::RcReadResponseFirst, 256);
  command(52, qp_state::Err);
  finish();
  ASSERT_EQ(completions(), (ended{{0, 0x05}}));
  EXPECT_EQ(completion.items[0].visible, 56U + 10) << "the key was looked up in vain in 56";
}

TEST_P(requester_bench, a_payload_that_could_not_be_read_fails_its_wqe_when_it_is_the_oldest) {
  start();
  write(10, 5, 0);
  message(11, 6, 8, 1);
  write(14, 9, 2);
  sent_packet lost = note(7, 0, 0, 0);  // of a packet that was told of before
  lost.syndrome = 0x04;
  lost.vendor_syndrome = static_cast<std::uint8_t>(vendor_syndrome::PayloadRead);
  sent.at(40, lost);
  bench.run(60);
  EXPECT_TRUE(completion.items.empty());
  ack(70, 5);
  finish();
  ASSERT_EQ(completions(), (ended{{0, 0}, {1, 0x04}, {2, 0x05}}));
  EXPECT_EQ(completion.items[1].item.vendor_syndrome,
            static_cast<std::uint8_t>(vendor_syndrome::PayloadRead));
}

INSTANTIATE_TEST_SUITE_P(shuffle, requester_bench, testing::Values(0, 77));
INSTANTIATE_TEST_SUITE_P(shuffle, requester_fatal_naks, testing::Values(0, 77));
INSTANTIATE_TEST_SUITE_P(shuffle, requester_bad_responses, testing::Values(0, 77));

}  // namespace
}  // namespace carillon
