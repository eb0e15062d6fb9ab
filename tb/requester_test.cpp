// requester: what the peer's answers settle, and how WQEs complete. How a queue ends is in
// requester_errors_test.cpp, what is sent again in requester_recovery_test.cpp.
#include "requester.h"

#include <gtest/gtest.h>

#include "common/requester_bench.h"

namespace carillon {
namespace {

using bench::Cqn;
using bench::Pd;
using bench::Qpn;
using bench::requester_bench;
using bench::waited_for;
using ended = std::vector<std::pair<unsigned, unsigned>>;

// ACKs ----

TEST_P(requester_bench, an_ack_completes_its_wqe_ten_cycles_later) {
  start();
  write(10, 5, 0);
  ack(99, 5);  // taken in 100
  finish();
  ASSERT_EQ(completion.items.size(), 1U);
  EXPECT_EQ(completion.items[0].visible, 110U);
  const cqe_item& cqe = completion.items[0].item;
  EXPECT_EQ(cqe.cqn, Cqn);
  EXPECT_EQ(cqe.qpn, Qpn);
  EXPECT_EQ(cqe.cqe_opcode, 0);
  EXPECT_EQ(cqe.wqe_opcode, 0x08);
  EXPECT_EQ(cqe.wqe_counter, 0);
  EXPECT_EQ(cqe.byte_count, 1000U);
  EXPECT_EQ(cqe.point, milestone::cqe_written);
  EXPECT_FALSE(cqe.event);
  EXPECT_EQ(waited_for(bench.context.trace, cqe.trace, "acknowledge"), 89000U);  // 11 .. 100
}

TEST_P(requester_bench, one_ack_completes_all_before_it_one_a_cycle_and_only_the_signaled) {
  start({.psn = 0xfffffd});
  packets(10, 0xfffffd, 0xfffffe, 0xfffffd, 0xfffffe, 0);
  write(12, 0xffffff, 1, false);
  write(13, 0, 2);  // the PSN wraps
  write(14, 1, 3);
  ack(99, 0);
  finish();
  EXPECT_EQ(completions(), (ended{{0, 0}, {2, 0}}));
  EXPECT_EQ(completion.items[0].visible, 110U);
  EXPECT_EQ(completion.items[1].visible, 111U);
}

TEST_P(requester_bench, acks_of_the_past_and_of_the_future_change_nothing) {
  start();
  write(10, 5, 0);
  write(11, 6, 1);
  ack(50, 4);
  ack(60, 7);  // never sent
  ack(70, 5);
  ack(80, 5);
  ack(90, 3, 0x77);  // no such QP
  finish();
  EXPECT_EQ(completions(), (ended{{0, 0}}));
  EXPECT_EQ(bench.count(counter::AcksReceived), 5U);
  EXPECT_EQ(bench.count(counter::ReqResponsesIgnored), 4U);
}

TEST_P(requester_bench, an_ack_in_the_middle_of_a_message_completes_nothing_of_it) {
  start();
  message(10, 5, 9, 0);
  ack(50, 7);
  ack(99, 9);
  finish();
  ASSERT_EQ(completions(), (ended{{0, 0}}));
  EXPECT_EQ(completion.items[0].visible, 110U);
}

TEST_P(requester_bench, a_wqe_that_asks_for_an_event_gets_one) {
  start();
  sent_packet packet = note(5, 5, 5, 0);
  packet.solicited_event = true;
  sent.at(10, packet);
  ack(50, 5);
  finish();
  ASSERT_EQ(completion.items.size(), 1U);
  EXPECT_TRUE(completion.items[0].item.event);
}

TEST_P(requester_bench, a_wqe_without_a_packet_completes_when_everything_before_it_has) {
  start();
  no_packet(10, 5, 0);
  write(11, 5, 1);
  no_packet(12, 6, 2);
  no_packet(13, 6, 3, wqe_opcode::LocalInvalidate);
  write(14, 6, 4);
  ack(99, 5);
  finish();
  ASSERT_EQ(completions(), (ended{{0, 0}, {1, 0}, {2, 0}, {3, 0}}));
  EXPECT_EQ(completion.items[0].visible, 21U) << "nothing before it";
  EXPECT_EQ(completion.items[1].visible, 110U);
  EXPECT_EQ(completion.items[2].visible, 111U);
}

class requester_slow_completion : public requester_bench {
 protected:
  requester_slow_completion() : requester_bench({.cqe_period = 13}) {}
};

TEST_P(requester_slow_completion, back_pressure_keeps_the_order) {
  start({.psn = 0});
  start({.psn = 0}, Qpn + 1);
  for (std::uint16_t i = 0; i < 50; ++i) {
    write(10 + i, i, i);
    write(10 + i, i, i, true, Qpn + 1);
  }
  for (std::uint32_t i = 0; i < 50; ++i) {
    ack(200 + i, i, Qpn + i % 2);
  }
  ack(400, 49, Qpn);
  finish(3000);
  ASSERT_EQ(completion.items.size(), 100U);
  std::uint32_t next[2] = {0, 0};
  for (const auto& each : completion.items) {
    EXPECT_EQ(each.item.wqe_counter, next[each.item.qpn - Qpn]++);
  }
}

TEST_P(requester_bench, reset_forgets_the_window) {
  start();
  write(10, 5, 0);
  command(50, qp_state::Reset);
  ack(60, 5);
  write(65, 6, 1);  // was on its way
  command(70, qp_state::Rts, {.psn = 200});
  sent_packet again = note(200, 200, 200, 0);
  again.epoch = first_epoch(1);
  sent.at(80, again);
  ack(90, 200);
  finish();
  ASSERT_EQ(completions(), (ended{{0, 0}}));
  EXPECT_EQ(completion.items[0].visible, 101U);
}

// What tx_sched is told ----

TEST_P(requester_bench, tx_sched_hears_of_an_empty_window_and_of_every_64_packets) {
  start({.psn = 0});
  for (std::uint32_t i = 0; i < 150; ++i) {
    write(10 + i, i, static_cast<std::uint16_t>(i));
  }
  for (std::uint32_t i = 0; i < 150; ++i) {
    ack(300 + i, i);
  }
  write(700, 150, 150);
  ack(800, 150);
  finish(2000);
  const auto told_so_far = controls_of(send_control_kind::progress);
  ASSERT_EQ(told_so_far.size(), 4U);
  const std::uint32_t oldest[] = {64, 128, 150, 151};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(told_so_far[i].item.psn, oldest[i]);
    EXPECT_EQ(told_so_far[i].item.reads_done, 0U);
  }
  EXPECT_EQ(told_so_far[0].visible, 301U + 63 + 1) << "the cycle after the ACK was taken";
}

TEST_P(requester_bench, tx_sched_hears_of_every_answered_read_and_atomic) {
  start();
  read(10, 5, 5, 0, {{0, 100, 0x100, 0x1000}});
  fetch_add(11, 6, 1, 0x2000);
  write(12, 7, 2);
  data(50, 5, bth_opcode::RcReadResponseOnly, 100);
  result(60, 6, 1);
  finish();
  const auto told_so_far = controls_of(send_control_kind::progress);
  ASSERT_EQ(told_so_far.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(told_so_far[i].item.psn, 6U + i);
    EXPECT_EQ(told_so_far[i].item.reads_done, 1U);
  }
}

// READs ----

TEST_P(requester_bench, read_data_goes_to_the_scatter_list_and_the_cqe_follows_it) {
  start();
  // 600 bytes in three responses, into 300 + 40 + 260 bytes.
  read(10, 5, 5, 0, {{0, 300, 1, 0x1000}, {0, 40, 1, 0x5000}, {0, 260, 1, 0x9000}});
  data(99, 5, bth_opcode::RcReadResponseFirst, 256, 1);
  data(150, 6, bth_opcode::RcReadResponseMiddle, 256, 2);
  data(200, 7, bth_opcode::RcReadResponseLast, 88, 3);
  finish();
  ASSERT_EQ(memory.written.size(), 5U);
  using range = std::pair<std::uint64_t, std::uint32_t>;
  std::vector<range> ranges;
  for (const auto& each : memory.written) {
    ranges.emplace_back(each.write.address, each.write.length);
    EXPECT_EQ(each.write.function, 3U);
  }
  EXPECT_EQ(ranges, (std::vector<range>{
                        {0x1000, 256}, {0x1100, 44}, {0x5000, 40}, {0x9000, 172}, {0x90ac, 88}}));
  EXPECT_EQ(memory.written[0].visible, 110U) << "10 cycles after the response was taken";
  EXPECT_EQ(memory.at(0x1000), 1U);
  EXPECT_EQ(memory.at(0x1100), 2U);
  EXPECT_EQ(memory.at(0x5000), 2U + 44);
  EXPECT_EQ(memory.at(0x9000), 2U + 84);
  EXPECT_EQ(memory.at(0x90ac), 3U);
  EXPECT_EQ(memory.written[4].write.point, milestone::delivered);
  EXPECT_EQ(memory.written[3].write.point, milestone::count_);
  ASSERT_EQ(completions(), (ended{{0, 0}}));
  EXPECT_EQ(completion.items[0].item.byte_count, 600U);
  EXPECT_GE(completion.items[0].visible, memory.written[4].visible);
  EXPECT_EQ(completion.items[0].visible, 211U);
}

TEST_P(requester_bench, a_read_of_nothing_writes_nothing) {
  start();
  read(10, 5, 5, 0, {});
  data(50, 5, bth_opcode::RcReadResponseOnly, 0);
  finish();
  EXPECT_TRUE(memory.written.empty());
  EXPECT_EQ(completions(), (ended{{0, 0}}));
}

TEST_P(requester_bench, a_read_response_acknowledges_everything_before_it) {
  start();
  write(10, 5, 0);
  message(11, 6, 8, 1);
  read(20, 9, 9, 2, {{0, 512, 1, 0x1000}});
  data(50, 9, bth_opcode::RcReadResponseFirst, 256);
  finish();
  EXPECT_EQ(completions(), (ended{{0, 0}, {1, 0}}));
}

TEST_P(requester_bench, duplicate_read_responses_are_ignored) {
  start();
  read(10, 5, 5, 0, {{0, 512, 1, 0x1000}});
  data(50, 5, bth_opcode::RcReadResponseFirst, 256);
  data(60, 5, bth_opcode::RcReadResponseFirst, 256, 99);
  data(70, 6, bth_opcode::RcReadResponseLast, 256);
  data(80, 6, bth_opcode::RcReadResponseLast, 256, 99);
  finish();
  EXPECT_EQ(memory.written.size(), 2U);
  EXPECT_EQ(completions(), (ended{{0, 0}}));
  EXPECT_EQ(bench.count(counter::ReqResponsesIgnored), 2U);
  EXPECT_TRUE(controls_of(send_control_kind::restart).empty());
}

TEST_P(requester_bench, wqes_behind_a_read_complete_after_it_though_acknowledged_with_it) {
  start();
  read(10, 5, 5, 0, {{0, 256, 1, 0x1000}});
  write(11, 6, 1);
  data(50, 5, bth_opcode::RcReadResponseOnly, 256);
  ack(51, 6);
  finish();
  EXPECT_EQ(completions(), (ended{{0, 0}, {1, 0}}));
}

class requester_slow_memory : public requester_bench {
 protected:
  requester_slow_memory() : requester_bench({.write_period = 97, .write_depth = 68}) {}
};

TEST_P(requester_slow_memory, data_waits_for_room_and_the_cqe_for_the_data) {
  start();
  // 40 responses of four beats; 17 find room, then memory takes one in 97 cycles.
  read(10, 5, 5, 0, {{0, 40 * 256, 1, 0x1000}});
  for (std::uint32_t i = 0; i < 40; ++i) {
    data(50, 5 + i,
         i == 0    ? bth_opcode::RcReadResponseFirst
         : i == 39 ? bth_opcode::RcReadResponseLast
                   : bth_opcode::RcReadResponseMiddle,
         256, 0, true);
  }
  finish(5000);
  ASSERT_EQ(memory.written.size(), 40U);
  for (std::size_t i = 0; i < 40; ++i) {
    EXPECT_EQ(memory.written[i].write.address, 0x1000 + i * 256);
  }
  EXPECT_GT(waited_for(bench.context.trace, memory.written[39].write.trace, "credit:writes"), 0U);
  EXPECT_GT(waited_for(bench.context.trace, memory.written[39].write.trace, "landing_slots"), 0U);
  ASSERT_EQ(completions(), (ended{{0, 0}}));
  EXPECT_EQ(completion.items[0].visible, memory.written[39].visible);
}

TEST_P(requester_bench, read_data_under_a_page_list_finds_its_pages) {
  start();
  mkey_line key;
  key.valid = 1;
  key.lw = 1;
  key.variant = 0x21;
  key.function_id = 3;
  key.log_page_size = 12;
  key.pd = Pd;
  key.qpn = MkeyAnyQp;
  key.start_addr = 0x7000;
  key.len = 0x4000;
  key.mtt_base = 8;
  ram.set(context_kind::mkey, 5, key);
  mtt_line pages;
  pages.entry0 = 0x40000 | MttWriteEnable;
  pages.entry1 = 0x90000 | MttWriteEnable;
  ram.set(context_kind::mtt, 1, pages);
  // 200 bytes, 100 on either side of the page's end.
  read(10, 5, 5, 0, {{0, 200, 0x521, 0x7000 + 4096 - 100}}, true);
  data(50, 5, bth_opcode::RcReadResponseOnly, 200);
  finish();
  ASSERT_EQ(memory.written.size(), 2U);
  EXPECT_EQ(memory.written[0].write.address, 0x40000U + 4096 - 100);
  EXPECT_EQ(memory.written[0].write.length, 100U);
  EXPECT_EQ(memory.written[1].write.address, 0x90000U);
  EXPECT_EQ(memory.at(0x90000), 100U);
  EXPECT_EQ(completions(), (ended{{0, 0}}));
  EXPECT_TRUE(ram.all_asked_for(3)) << "the QP's owner";
}

TEST_P(requester_bench, a_read_whose_key_went_away_fails_with_a_local_protection_error) {
  start();
  read(10, 5, 5, 0, {{0, 200, 0x521, 0x7000}}, true);  // there is no key 5
  write(11, 6, 1);
  data(50, 5, bth_opcode::RcReadResponseOnly, 200);
  finish();
  EXPECT_TRUE(memory.written.empty());
  EXPECT_EQ(completions(), (ended{{0, 0x04}, {1, 0x05}}));
  EXPECT_EQ(completion.items[0].item.vendor_syndrome,
            static_cast<std::uint8_t>(vendor_syndrome::ResponseKey));
  EXPECT_EQ(errors.items.size(), 1U);
}

TEST_P(requester_bench, nothing_is_written_for_a_qp_that_was_reset_meanwhile) {
  start();
  read(10, 5, 5, 0, {{0, 200, 0x521, 0x7000}}, true);
  data(50, 5, bth_opcode::RcReadResponseOnly, 200);  // taken in 51, the key is known in 57
  command(53, qp_state::Reset);
  finish();
  EXPECT_TRUE(memory.written.empty());
  EXPECT_TRUE(completion.items.empty());
  EXPECT_TRUE(errors.items.empty());
}

// Atomics ----

TEST_P(requester_bench, an_atomic_result_is_written_as_a_number_of_the_host) {
  start();
  fetch_add(10, 5, 0, 0x2000);
  result(99, 5, 0x0102030405060708);
  finish();
  ASSERT_EQ(memory.written.size(), 1U);
  EXPECT_EQ(memory.written[0].write.address, 0x2000U);
  EXPECT_EQ(memory.written[0].write.length, 8U);
  EXPECT_EQ(memory.at(0x2000), 0x08U);  // mlx5: what a little-endian CPU reads as the integer
  EXPECT_EQ(memory.at(0x2007), 0x01U);
  ASSERT_EQ(completions(), (ended{{0, 0}}));
  EXPECT_EQ(completion.items[0].item.byte_count, 8U);
}

// UC, UD ----

TEST_P(requester_bench, without_acknowledges_a_wqe_completes_when_tx_sched_says_so) {
  start({.service = qp_service::Uc});
  sent_packet packet = note(7, 5, 7, 0);
  sent.at(10, packet);
  no_packet(11, 8, 1);
  finish();
  ASSERT_EQ(completions(), (ended{{0, 0}, {1, 0}}));
  EXPECT_EQ(completion.items[0].visible, 21U);
  EXPECT_TRUE(controls.items.empty());
}

TEST_P(requester_bench, an_error_of_uc_or_ud_ends_the_send_queue_until_it_is_ready_again) {
  start({.service = qp_service::Ud});
  failed(10, 5, 0, cqe_syndrome::LocalProtection);
  failed(11, 5, 1, cqe_syndrome::WrFlushed);
  command(100, qp_state::Rts, {.service = qp_service::Ud});
  write(110, 5, 2);
  finish();
  EXPECT_EQ(completions(), (ended{{0, 0x04}, {1, 0x05}, {2, 0}}));
  ASSERT_EQ(errors.items.size(), 1U);
  EXPECT_TRUE(errors.items[0].item.send_queue_only);
  EXPECT_TRUE(told.items.empty()) << "the receive side goes on";
}

// SQD ----

TEST_P(requester_bench, sqd_raises_an_event_when_what_has_begun_has_completed) {
  start();
  write(10, 5, 0);
  command(20, qp_state::Sqd);
  write(22, 6, 1);  // had begun
  sent_packet mark = note(0, 0, 0, 0);
  mark.drain_mark = true;
  sent.at(25, mark);
  ack(50, 5);
  bench.run(90);
  EXPECT_TRUE(events.items.empty());
  ack(99, 6);
  finish();
  ASSERT_EQ(events.items.size(), 1U);
  const async_event& event = events.items[0].item;
  EXPECT_EQ(event.kind, 0x03);  // mlx5: SQ drained
  EXPECT_EQ(event.number, Qpn);
  EXPECT_EQ(event.function, 3U);
  EXPECT_GE(events.items[0].visible, completion.items[1].visible - 10);
}

TEST_P(requester_bench, an_idle_queue_is_drained_as_soon_as_tx_sched_says_so) {
  start();
  command(20, qp_state::Sqd);
  sent_packet mark = note(0, 0, 0, 0);
  mark.drain_mark = true;
  sent.at(25, mark);
  command(60, qp_state::Rts);
  command(80, qp_state::Sqd);
  sent.at(85, mark);
  finish();
  EXPECT_EQ(events.items.size(), 2U) << "once for each SQD";
  EXPECT_EQ(events.items[0].visible, 27U);
}

INSTANTIATE_TEST_SUITE_P(shuffle, requester_bench, testing::Values(0, 77));
INSTANTIATE_TEST_SUITE_P(shuffle, requester_slow_completion, testing::Values(0, 77));
INSTANTIATE_TEST_SUITE_P(shuffle, requester_slow_memory, testing::Values(0, 77));

}  // namespace
}  // namespace carillon
