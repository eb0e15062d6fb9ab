// requester: what is lost is sent again, for so long as it may be.
#include <algorithm>
#include <gtest/gtest.h>
#include <utility>
#include <vector>

#include "common/requester_bench.h"

namespace carillon {
namespace {

using bench::Qpn;
using bench::requester_bench;
using ended = std::vector<std::pair<unsigned, unsigned>>;

constexpr std::uint8_t SequenceError = 0x60;
constexpr std::uint8_t NotReady = 0x20;  // with the timer code in its low 5 bits

// Sequence NAKs ----

TEST_P(requester_bench, a_sequence_nak_acknowledges_what_is_before_it_and_goes_back) {
  start();
  write(10, 5, 0);
  message(11, 6, 9, 1);
  write(15, 10, 2);
  nak(99, 8, SequenceError);  // taken in 100, in the middle of the second message
  finish();
  EXPECT_EQ(completions(), (ended{{0, 0}}));
  expect_restart(0, 1, 8, 2, 1);
  EXPECT_EQ(controls_of(send_control_kind::restart)[0].visible, 101U) << "at once";
  EXPECT_EQ(bench.count(counter::PacketSeqErr), 1U);
  EXPECT_EQ(bench.count(counter::ReqGoBacks), 1U);
}

TEST_P(requester_bench, what_comes_again_completes_once_and_in_order) {
  start();
  message(10, 5, 8, 0);
  write(14, 9, 1);
  nak(50, 7, SequenceError);
  packets(52, 10, 10, 10, 10, 2);  // granted before tx_sched heard: of the old epoch
  epoch = 1;
  packets(100, 7, 8, 5, 8, 0);
  write(102, 9, 1);
  write(103, 10, 2);
  ack(200, 10);
  finish();
  EXPECT_EQ(completions(), (ended{{0, 0}, {1, 0}, {2, 0}}));
}

TEST_P(requester_bench, a_sequence_nak_at_the_wrap_of_the_psn) {
  start({.psn = 0xfffffe});
  message(10, 0xfffffe, 2, 0);
  nak(50, 0, SequenceError);
  finish();
  expect_restart(0, 1, 0, 2, 0);
}

TEST_P(requester_bench, a_nak_of_what_is_just_being_sent_again_does_not_go_back_twice) {
  start();
  message(10, 5, 8, 0);
  nak(50, 6, SequenceError);
  nak(60, 6, SequenceError);  // nothing of the new epoch was sent yet
  epoch = 1;
  packets(100, 6, 7, 5, 8, 0);
  finish();
  EXPECT_EQ(controls_of(send_control_kind::restart).size(), 1U);
}

TEST_P(requester_bench, an_acknowledge_from_before_the_go_back_counts_once_it_is_sent_again) {
  start();
  write(10, 5, 0);
  write(11, 6, 1);
  write(12, 7, 2);
  nak(50, 5, SequenceError);
  ack(60, 6);  // all had arrived, only late
  bench.run(100);
  EXPECT_TRUE(completion.items.empty()) << "their slots are being read again";
  epoch = 1;
  write(110, 5, 0);
  write(120, 6, 1);
  write(130, 7, 2);
  finish();
  EXPECT_EQ(completions(), (ended{{0, 0}, {1, 0}}));
  EXPECT_EQ(completion.items[1].visible, 131U);
}

TEST_P(requester_bench, histories_wait_for_the_go_back_and_go_on_from_there) {
  bench.nic.posted.register_sq(Qpn, 4);
  start();
  message(10, 5, 6, 0);  // noted in 11 and 12
  nak(99, 6, SequenceError);
  bench.run(200);
  const trace_ref kept = bench.nic.posted.find(Qpn, 0);
  ASSERT_NE(kept.message, 0U);
  EXPECT_EQ(bench.context.trace.end_of(kept), 100000U);
  EXPECT_EQ(bench::waited_for(bench.context.trace, kept, "go_back"), 88000U);
  finish();
}

// Implied NAKs ----

TEST_P(requester_bench, an_ack_beyond_an_unanswered_read_goes_back_to_the_read_once) {
  start();
  read(10, 5, 5, 0, {{0, 600, 1, 0x1000}});  // 5 to 7
  write(11, 8, 1);
  write(12, 9, 2);
  ack(50, 8);
  ack(60, 9);
  finish();
  EXPECT_TRUE(completion.items.empty());
  ASSERT_EQ(controls_of(send_control_kind::restart).size(), 1U);
  expect_restart(0, 1, 5, 0, 0);
  EXPECT_EQ(bench.count(counter::ImpliedNakSeqErr), 1U);
}

TEST_P(requester_bench, a_read_response_lost_in_the_middle_is_asked_for_again) {
  start();
  const segments into = {{0, 900, 1, 0x1000}};  // four responses
  read(10, 5, 5, 0, into);
  data(50, 5, bth_opcode::RcReadResponseFirst, 256, 1);
  data(60, 7, bth_opcode::RcReadResponseMiddle, 256, 3);  // 6 is lost
  data(70, 8, bth_opcode::RcReadResponseLast, 132, 4);    // says nothing new
  bench.run(90);
  ASSERT_EQ(controls_of(send_control_kind::restart).size(), 1U);
  expect_restart(0, 1, 6, 1, 0);
  EXPECT_EQ(memory.written.size(), 1U);
  epoch = 1;
  read(100, 6, 5, 0, into);
  data(150, 6, bth_opcode::RcReadResponseFirst, 256, 2);
  data(160, 7, bth_opcode::RcReadResponseMiddle, 256, 3);
  data(170, 8, bth_opcode::RcReadResponseLast, 132, 4);
  finish();
  EXPECT_EQ(completions(), (ended{{0, 0}}));
  ASSERT_EQ(memory.written.size(), 4U);
  EXPECT_EQ(memory.at(0x1000), 1U);
  EXPECT_EQ(memory.at(0x1100), 2U);
  EXPECT_EQ(memory.at(0x1200), 3U);
  EXPECT_EQ(memory.at(0x1300), 4U);
}

TEST_P(requester_bench, a_response_of_the_first_request_that_comes_late_is_as_good) {
  start({.ack_timeout = 1});
  const segments into = {{0, 700, 1, 0x1000}};
  read(10, 5, 5, 0, into);
  data(50, 5, bth_opcode::RcReadResponseFirst, 256);
  bench.run(9000);  // the timer runs out after 8192
  expect_restart(0, 1, 6, 1, 0);
  epoch = 1;
  read(9010, 6, 5, 0, into);
  data(9020, 6, bth_opcode::RcReadResponseMiddle, 256);  // was only slow
  data(9030, 7, bth_opcode::RcReadResponseLast, 188);
  data(9040, 6, bth_opcode::RcReadResponseFirst, 256);  // the answer to the second request
  data(9050, 7, bth_opcode::RcReadResponseLast, 188);
  finish();
  EXPECT_EQ(completions(), (ended{{0, 0}}));
  EXPECT_EQ(memory.written.size(), 3U);
}

TEST_P(requester_bench, a_second_gap_behind_the_first_is_another_one) {
  start({.retry_count = 2});
  const segments into = {{0, 900, 1, 0x1000}};
  read(10, 5, 5, 0, into);
  data(50, 6, bth_opcode::RcReadResponseMiddle, 256);
  epoch = 1;
  read(100, 5, 5, 0, into);
  data(150, 5, bth_opcode::RcReadResponseFirst, 256);
  data(160, 7, bth_opcode::RcReadResponseMiddle, 256);
  finish();
  expect_restart(0, 1, 5, 0, 0);
  expect_restart(1, 2, 6, 1, 0);
}

TEST_P(requester_bench,
       a_response_that_is_lost_twice_is_noticed_by_the_answers_to_the_second_request) {
  start({.retry_count = 2, .ack_timeout = 0});
  const segments into = {{0, 700, 1, 0x1000}};
  read(10, 5, 5, 0, into);
  data(50, 6, bth_opcode::RcReadResponseMiddle, 256);
  data(60, 7, bth_opcode::RcReadResponseLast, 188);  // not asked for again yet
  epoch = 1;
  read(100, 5, 5, 0, into);
  data(150, 6, bth_opcode::RcReadResponseMiddle, 256);  // PSNs begin again: this is the new answer
  data(160, 7, bth_opcode::RcReadResponseLast, 188);
  epoch = 2;
  read(200, 5, 5, 0, into);
  data(250, 5, bth_opcode::RcReadResponseFirst, 256);
  data(260, 6, bth_opcode::RcReadResponseMiddle, 256);
  data(270, 7, bth_opcode::RcReadResponseLast, 188);
  finish();
  expect_restart(0, 1, 5, 0, 0);
  expect_restart(1, 2, 5, 0, 0);
  EXPECT_EQ(controls_of(send_control_kind::restart).size(), 2U);
  EXPECT_EQ(bench.count(counter::ImpliedNakSeqErr), 2U);
  EXPECT_EQ(completions(), (ended{{0, 0}}));
}

TEST_P(requester_bench, what_comes_late_of_the_first_answer_is_no_second_gap) {
  start({.retry_count = 1, .ack_timeout = 0});
  const segments into = {{0, 900, 1, 0x1000}};
  read(10, 5, 5, 0, into);
  data(50, 6, bth_opcode::RcReadResponseMiddle, 256);
  epoch = 1;
  read(100, 5, 5, 0, into);
  data(150, 7, bth_opcode::RcReadResponseMiddle, 256);  // in order behind the one before
  data(160, 8, bth_opcode::RcReadResponseLast, 132);
  data(250, 5, bth_opcode::RcReadResponseFirst, 256);
  data(260, 6, bth_opcode::RcReadResponseMiddle, 256);
  data(270, 7, bth_opcode::RcReadResponseMiddle, 256);
  data(280, 8, bth_opcode::RcReadResponseLast, 132);
  finish();
  EXPECT_EQ(controls_of(send_control_kind::restart).size(), 1U);
  EXPECT_EQ(completions(), (ended{{0, 0}}));
}

TEST_P(requester_bench, a_lost_atomic_result_is_asked_for_again) {
  start();
  fetch_add(10, 5, 0, 0x2000);
  write(11, 6, 1);
  ack(50, 6);
  epoch = 1;
  fetch_add(100, 5, 0, 0x2000);
  write(101, 6, 1);
  result(150, 5, 42);
  finish();
  expect_restart(0, 1, 5, 0, 0);
  EXPECT_EQ(completions(), (ended{{0, 0}, {1, 0}})) << "the WRITE was acknowledged before";
  EXPECT_EQ(memory.at(0x2000), 42U);
}

// ACK timer: 4.096 us * 2^n, at 1 ns a cycle ----

TEST_P(requester_bench, the_ack_timer_runs_out_after_4096_ns_times_2_to_the_n) {
  const std::uint8_t codes[] = {1, 3, 7};
  const cycle_t expected[] = {8192, 32768, 524288};
  for (unsigned i = 0; i < 3; ++i) {
    start({.ack_timeout = codes[i]}, Qpn + i);
    write(10, 5, 0, true, Qpn + i);  // taken in 11 + i
  }
  start({.ack_timeout = 0}, Qpn + 3);
  write(20, 5, 0, true, Qpn + 3);
  finish(600000);
  const auto restarts = controls_of(send_control_kind::restart);
  ASSERT_EQ(restarts.size(), 3U) << "none for code 0";
  for (unsigned i = 0; i < 3; ++i) {
    EXPECT_EQ(restarts[i].item.qpn, Qpn + i);
    EXPECT_EQ(restarts[i].visible, 11 + i + expected[i] + 1);
  }
  EXPECT_EQ(bench.count(counter::LocalAckTimeoutErr), 3U);
}

TEST_P(requester_bench, the_ack_timer_begins_again_with_every_progress) {
  start({.ack_timeout = 1});
  message(10, 5, 8, 0);
  ack(5000, 5);
  ack(10000, 6);  // taken in 10001
  finish(30000);
  const auto restarts = controls_of(send_control_kind::restart);
  ASSERT_EQ(restarts.size(), 1U);
  EXPECT_EQ(restarts[0].visible, 10001U + 8192 + 1);
  expect_restart(0, 1, 7, 2, 0);
}

TEST_P(requester_bench, further_packets_do_not_put_the_ack_timer_off) {
  start({.ack_timeout = 1});
  write(10, 5, 0);
  write(5000, 6, 1);
  finish(10000);
  const auto restarts = controls_of(send_control_kind::restart);
  ASSERT_EQ(restarts.size(), 1U);
  EXPECT_EQ(restarts[0].visible, 11U + 8192 + 1);
}

TEST_P(requester_bench, a_timer_with_nothing_outstanding_changes_nothing) {
  start({.ack_timeout = 1});
  write(10, 5, 0);
  ack(100, 5);
  finish(30000);
  EXPECT_TRUE(controls_of(send_control_kind::restart).empty());
  EXPECT_EQ(bench.count(counter::LocalAckTimeoutErr), 0U);
}

TEST_P(requester_bench, the_timer_of_what_is_sent_again_begins_when_it_is) {
  start({.ack_timeout = 1});
  write(10, 5, 0);  // runs out in 11 + 8192
  epoch = 1;
  write(20000, 5, 0);
  finish(40000);
  const auto restarts = controls_of(send_control_kind::restart);
  ASSERT_EQ(restarts.size(), 2U);
  EXPECT_EQ(restarts[1].visible, 20001U + 8192 + 1);
}

// Retries ----

TEST_P(requester_bench, when_the_retries_are_used_up_the_oldest_wqe_fails) {
  start({.retry_count = 2, .ack_timeout = 1});
  for (std::uint8_t i = 0; i < 3; ++i) {
    epoch = i;
    write(10 + 10000 * i, 5, 0);
    write(11 + 10000 * i, 6, 1);
  }
  failed(35000, 7, 2, cqe_syndrome::WrFlushed);
  finish(40000);
  EXPECT_EQ(controls_of(send_control_kind::restart).size(), 2U);
  ASSERT_EQ(completions(), (ended{{0, 0x15}, {1, 0x05}, {2, 0x05}}));
  EXPECT_EQ(completion.items[0].visible, 20011U + 8192 + 10);
  EXPECT_EQ(completion.items[0].item.vendor_syndrome,
            static_cast<std::uint8_t>(vendor_syndrome::AckTimeout));
  EXPECT_EQ(bench.count(counter::ReqTransportRetriesExceeded), 1U);
}

TEST_P(requester_bench, naks_and_gaps_use_retries_too) {
  start({.retry_count = 1});
  read(10, 5, 5, 0, {{0, 256, 1, 0x1000}});
  write(11, 6, 1);
  nak(50, 5, SequenceError);
  epoch = 1;
  read(100, 5, 5, 0, {{0, 256, 1, 0x1000}});
  write(101, 6, 1);
  ack(150, 6);
  finish();
  ASSERT_EQ(completions(), (ended{{0, 0x15}, {1, 0x05}}));
  EXPECT_EQ(completion.items[0].item.vendor_syndrome,
            static_cast<std::uint8_t>(vendor_syndrome::ImpliedNak));
}

TEST_P(requester_bench, progress_gives_the_retries_back) {
  start({.retry_count = 1});
  message(10, 5, 20, 0);
  for (std::uint8_t i = 0; i < 10; ++i) {
    nak(50 + 100 * i, 6U + i, SequenceError);
    epoch = static_cast<std::uint8_t>(i + 1);
    packets(100 + 100 * i, 6 + i, 20, 5, 20, 0);
  }
  ack(1200, 20);
  finish(2000);
  EXPECT_EQ(controls_of(send_control_kind::restart).size(), 10U);
  EXPECT_EQ(completions(), (ended{{0, 0}}));
}

TEST_P(requester_bench, a_go_back_without_progress_does_not_give_them_back) {
  start({.retry_count = 1});
  message(10, 5, 8, 0);
  nak(50, 5, SequenceError);
  epoch = 1;
  message(100, 5, 8, 0);
  nak(150, 5, SequenceError);
  finish();
  EXPECT_EQ(completions(), (ended{{0, 0x15}}));
}

// RNR ----

// RoCEv2: codes 0 to 31 in units of 10 us; code 0 is the longest.
constexpr std::uint32_t RnrUnits[] = {65536, 1,    2,    3,     4,     6,     8,     12,
                                      16,    24,   32,   48,    64,    96,    128,   192,
                                      256,   384,  512,  768,   1024,  1536,  2048,  3072,
                                      4096,  6144, 8192, 12288, 16384, 24576, 32768, 49152};

TEST_P(requester_bench, all_rnr_timers) {
  for (std::uint32_t code = 0; code < 32; ++code) {
    start({}, Qpn + code);
    write(40, 5, 0, true, Qpn + code);
    rx_packet packet = response(5, bth_opcode::RcAcknowledge, Qpn + code);
    packet.syndrome = static_cast<std::uint8_t>(NotReady | code);
    responses.at(100, packet, 1, false);  // taken in 101 + code
  }
  finish(700'000'000);
  EXPECT_EQ(controls_of(send_control_kind::halt).size(), 32U);
  const auto restarts = controls_of(send_control_kind::restart);
  ASSERT_EQ(restarts.size(), 32U);
  for (const auto& each : restarts) {
    const std::uint32_t code = each.item.qpn - Qpn;
    EXPECT_EQ(each.visible, 101 + code + RnrUnits[code] * 10'000ULL + 1) << code;
  }
}

TEST_P(requester_bench, an_rnr_nak_halts_at_once_and_restarts_when_its_timer_has_run) {
  start();
  write(10, 5, 0);
  message(11, 6, 8, 1);
  nak(99, 6, NotReady | 1);
  finish(20000);
  EXPECT_EQ(completions(), (ended{{0, 0}}));
  const auto halts = controls_of(send_control_kind::halt);
  ASSERT_EQ(halts.size(), 1U);
  EXPECT_EQ(halts[0].visible, 101U);
  EXPECT_EQ(halts[0].item.epoch, 1U);
  expect_restart(0, 1, 6, 0, 1);
  EXPECT_EQ(bench.count(counter::RnrNakRetryErr), 1U);
}

TEST_P(requester_bench, histories_wait_for_the_rnr_timer) {
  bench.nic.posted.register_sq(Qpn, 4);
  start();
  write(10, 5, 0);
  nak(99, 5, NotReady | 1);
  bench.run(20000);
  const trace_ref kept = bench.nic.posted.find(Qpn, 0);
  EXPECT_EQ(bench::waited_for(bench.context.trace, kept, "rnr_timer"), 10'089'000U);  // 11 to 10100
  finish();
}

TEST_P(requester_bench, when_the_rnr_retries_are_used_up_the_wqe_fails) {
  start({.rnr_retry = 2});
  for (std::uint8_t i = 0; i < 3; ++i) {
    epoch = i;
    write(10 + 20000 * i, 5, 0);
    write(11 + 20000 * i, 6, 1);
    nak(100 + 20000 * i, 5, NotReady | 1);
  }
  finish(70000);
  EXPECT_EQ(completions(), (ended{{0, 0x16}, {1, 0x05}}));
  EXPECT_EQ(controls_of(send_control_kind::halt).size(), 2U);
  EXPECT_EQ(bench.count(counter::ReqRnrRetriesExceeded), 1U);
}

TEST_P(requester_bench, seven_rnr_retries_are_for_ever) {
  start({.retry_count = 0, .rnr_retry = 7});
  for (unsigned i = 0; i < 30; ++i) {
    epoch = static_cast<std::uint8_t>(i);
    write(10 + 20000 * i, 5, 0);
    nak(100 + 20000 * i, 5, NotReady | 1);
  }
  epoch = 30;
  write(10 + 20000 * 30, 5, 0);
  ack(100 + 20000 * 30, 5);
  finish(20000 * 31);
  EXPECT_EQ(completions(), (ended{{0, 0}}));
}

TEST_P(requester_bench, while_a_queue_is_halted_no_ack_timer_runs_and_no_response_counts) {
  start({.retry_count = 0, .ack_timeout = 1});
  write(10, 5, 0);
  nak(100, 5, NotReady | 6);  // 80 us
  ack(200, 5);                // cannot be
  finish(79000);
  EXPECT_TRUE(completion.items.empty());
  EXPECT_EQ(bench.count(counter::LocalAckTimeoutErr), 0U);
  EXPECT_TRUE(controls_of(send_control_kind::restart).empty());
  finish(2000);
  EXPECT_EQ(controls_of(send_control_kind::restart).size(), 1U);
}

// Errors and going back ----

TEST_P(requester_bench, an_error_while_halted_fetches_once_more_what_must_be_flushed) {
  start();
  write(10, 5, 0);
  message(11, 6, 8, 1);
  nak(50, 6, NotReady | 0);  // for a long time
  command(200, qp_state::Err);
  epoch = 1;
  failed(300, 6, 1, cqe_syndrome::WrFlushed);
  failed(301, 6, 2, cqe_syndrome::WrFlushed);
  finish();
  ASSERT_EQ(controls.items.size(), 3U);
  EXPECT_EQ(controls.items[0].item.kind, send_control_kind::halt);
  EXPECT_EQ(controls.items[1].item.kind, send_control_kind::restart);
  EXPECT_EQ(controls.items[2].item.kind, send_control_kind::error);
  EXPECT_EQ(completions(), (ended{{0, 0}, {1, 0x05}, {2, 0x05}}));
}

TEST_P(requester_bench, an_error_while_wqes_are_being_fetched_again_flushes_them_when_they_come) {
  start();
  write(10, 5, 0);
  write(11, 6, 1);
  nak(50, 5, SequenceError);
  command(60, qp_state::Err);
  bench.run(80);
  EXPECT_TRUE(completion.items.empty());
  write(90, 7, 2);  // of the old epoch
  epoch = 1;
  write(100, 5, 0);  // had passed tx_sched before the error
  failed(101, 6, 1, cqe_syndrome::WrFlushed);
  failed(102, 6, 2, cqe_syndrome::WrFlushed);
  finish();
  EXPECT_EQ(completions(), (ended{{0, 0x05}, {1, 0x05}, {2, 0x05}}));
}

TEST_P(requester_bench, a_fatal_nak_of_what_is_just_being_sent_again_holds_when_it_is) {
  start();
  message(10, 5, 7, 0);
  write(13, 8, 1);
  nak(50, 5, SequenceError);
  nak(60, 6, 0x62);
  bench.run(80);
  EXPECT_TRUE(completion.items.empty());
  epoch = 1;
  message(100, 5, 7, 0);
  failed(105, 8, 1, cqe_syndrome::WrFlushed);
  finish();
  EXPECT_EQ(completions(), (ended{{0, 0x13}, {1, 0x05}}));
}

TEST_P(requester_bench, a_sequence_nak_at_a_wqe_that_failed_here_ends_the_queue) {
  start();
  write(10, 5, 0);
  message(11, 6, 8, 1);
  sent_packet lost = note(7, 0, 0, 0);
  lost.syndrome = 0x02;
  sent.at(40, lost);
  nak(50, 7, SequenceError);  // the peer misses what could not be read
  finish();
  EXPECT_EQ(completions(), (ended{{0, 0}, {1, 0x02}}));
  EXPECT_TRUE(controls_of(send_control_kind::restart).empty());
}

TEST_P(requester_bench, the_epoch_wraps_at_256_and_old_notes_stay_old) {
  start({.rnr_retry = 7});
  for (unsigned i = 0; i < 256; ++i) {
    epoch = static_cast<std::uint8_t>(i);
    write(10 + 20000 * i, 5, 0);
    nak(100 + 20000 * i, 5, NotReady | 1);
  }
  epoch = 255;
  write(20000 * 256 + 10, 5, 0);
  ack(20000 * 256 + 100, 5);
  epoch = 0;
  write(20000 * 256 + 200, 5, 0);
  finish(20000 * 256 + 150);
  EXPECT_TRUE(completion.items.empty());
  finish(1000);
  EXPECT_EQ(completions(), (ended{{0, 0}})) << "it is sent again, and was acknowledged";
  expect_restart(255, 0, 5, 0, 0);
}

// SQD ----

TEST_P(requester_bench, a_queue_is_not_drained_before_what_went_back_has_come_again) {
  start();
  write(10, 5, 0);
  write(11, 6, 1);
  no_packet(12, 7, 2);
  command(20, qp_state::Sqd);
  sent_packet mark = note(0, 0, 0, 0);
  mark.drain_mark = true;
  sent.at(25, mark);
  nak(50, 6, SequenceError);
  epoch = 1;
  write(100, 6, 1);
  ack(110, 6);
  bench.run(180);
  EXPECT_TRUE(events.items.empty()) << "the last one is still to come";
  no_packet(190, 7, 2);
  finish();
  EXPECT_EQ(events.items.size(), 1U);
  EXPECT_EQ(completions(), (ended{{0, 0}, {1, 0}, {2, 0}}));
}

INSTANTIATE_TEST_SUITE_P(shuffle, requester_bench, testing::Values(0, 77));

}  // namespace
}  // namespace carillon
