// wqe_fetch: which bytes are read when, never one too many, and each WQE once.
#include "wqe_fetch.h"

#include <gtest/gtest.h>

#include "common/random.h"
#include "common/wqe_fetch_bench.h"

namespace carillon {
namespace {

using bench::Base;
using bench::chain_of;
using bench::LogSize;
using bench::scripted_dma;
using bench::waited_for;
using bench::wqe_fetch_bench;

using ranges = std::vector<std::pair<std::uint64_t, std::uint32_t>>;

// Time ----

TEST_P(wqe_fetch_bench, lookup_5_arbiter_10_read_and_9) {
  make_qp(1);
  send(10, 1);  // visible in 11
  finish(400);
  // Granted in 11 + 5 + 10 = 26; the request arrives 4 later, its answer 122 after that: in 152.
  ASSERT_EQ(dma.seen.size(), 1U);
  EXPECT_EQ(dma.seen[0], (scripted_dma::seen_read{30, Base + 0x100000, 64}));
  ASSERT_EQ(parser.items.size(), 1U);
  EXPECT_EQ(parser.items[0].visible, 161U);  // 150 cycles
  EXPECT_EQ(parser.items[0].item.origin, wqe_origin::fetched);
  expect_all_posted();
  EXPECT_EQ(bench.count(counter::WqeFetches), 1U);
  EXPECT_EQ(bench.count(counter::WqeFetchedBytes), 64U);
}

TEST_P(wqe_fetch_bench, WQEs_of_one_read_follow_beat_by_beat) {
  make_qp(1);
  const std::uint16_t first = post(1, 4);
  post(1, 7);
  const std::uint16_t last = post(1, 1);
  EXPECT_EQ(first, 0U);
  host.at(10, bell(1, last, 1));
  finish(400);
  ASSERT_EQ(parser.items.size(), 3U);
  EXPECT_EQ(parser.items[0].visible, 161U);
  EXPECT_EQ(parser.items[1].visible, 162U);
  EXPECT_EQ(parser.items[2].visible, 164U);
  expect_all_posted();
}

// Doorbells ----

TEST_P(wqe_fetch_bench, doorbells_coalesce_while_the_QP_is_pending) {
  make_qp(1);
  for (cycle_t t = 10; t < 14; ++t) {
    send(t, 1);
  }
  finish(400);
  EXPECT_EQ(dma.ranges(), (ranges{{Base + 0x100000, 256}}));
  EXPECT_EQ(bench.count(counter::DoorbellsCoalesced), 3U);
  expect_all_posted();
}

TEST_P(wqe_fetch_bench, an_older_index_takes_nothing_back) {
  make_qp(1);
  for (unsigned i = 0; i < 3; ++i) {
    post(1, 4);
  }
  host.at(10, bell(1, 2, 4));
  host.at(11, bell(1, 0, 4));
  host.at(12, bell(1, 1, 4));
  host.at(300, bell(1, 2, 4));  // all fetched long ago
  finish(600);
  EXPECT_EQ(dma.ranges(), (ranges{{Base + 0x100000, 192}}));
  EXPECT_EQ(bench.count(counter::DoorbellsCoalesced), 3U);
  expect_all_posted();
}

TEST_P(wqe_fetch_bench, an_index_beyond_the_queue_is_ignored) {
  make_qp(1, 4);
  for (unsigned i = 0; i < 16; ++i) {
    post(1, 4);
  }
  host.at(10, bell(1, 16, 4));  // producer 17 of 16
  host.at(11, bell(1, 0x8000, 4));
  host.at(12, bell(1, 0xffee, 4));  // producer -17
  host.at(13, bell(1, 0xffef, 4));  // producer -16: old, not absurd
  host.at(100, bell(1, 15, 4));     // producer 16: exactly full
  finish(600);
  EXPECT_EQ(bench.count(counter::DbIgnoredRange), 3U);
  EXPECT_EQ(bench.count(counter::DoorbellsCoalesced), 1U);
  expect_all_posted();
}

TEST_P(wqe_fetch_bench, the_index_wraps_at_16_bits) {
  make_qp(1, 10);
  dma.delay = [](std::size_t) { return 20; };
  // 70 times around a queue of 1024: 71680 WQEBBs.
  for (unsigned round = 0; round < 70; ++round) {
    for (unsigned i = 0; i < 1024 / 16; ++i) {
      const std::uint16_t index = post(1, 64 - 1);
      if (i == 63) {
        host.at(10 + round * 2000, bell(1, index, 63));
      }
    }
  }
  finish(150000);
  EXPECT_EQ(parser.items.size(), 70U * 64U);
  EXPECT_EQ(queues[1].next, 71680U - 65536U);
  EXPECT_EQ(bench.count(counter::DbIgnoredRange), 0U);
  EXPECT_EQ(bench.count(counter::WqeFetchedBytes), 71680U * 64U);
}

TEST_P(wqe_fetch_bench, a_QP_that_is_not_ready_drops_its_doorbells) {
  const std::array<qp_state, 3> not_ready = {qp_state::Reset, qp_state::Init, qp_state::Rtr};
  const std::array<qp_state, 5> ready = {qp_state::Rts, qp_state::Sqd, qp_state::SqDraining,
                                         qp_state::Sqer, qp_state::Err};
  std::uint32_t qpn = 1;
  for (const qp_state state : not_ready) {
    make_qp(qpn, LogSize, state);
    host.at(10, bell(qpn++, 0, 4));
  }
  for (const qp_state state : ready) {
    make_qp(qpn, LogSize, state);
    send(20, qpn++);
  }
  finish(600);
  EXPECT_EQ(bench.count(counter::WqeDroppedState), 3U);
  EXPECT_EQ(parser.items.size(), 5U);
  expect_all_posted();
}

// Reads ----

TEST_P(wqe_fetch_bench, reads_end_at_the_page_and_at_the_rings_end) {
  make_qp(1, 3, qp_state::Rts, 0x50f80);  // eight slots, two of them before the page's end
  for (unsigned i = 0; i < 8; ++i) {
    send(10, 1);
  }
  for (unsigned i = 0; i < 4; ++i) {
    const std::uint16_t index = queues[1].next;
    queues[1].posted.push_back({index, std::uint8_t{4}});
    queues[1].next = static_cast<std::uint16_t>(index + 1);
  }
  bench.run(500);
  for (const std::uint16_t index : {8, 9, 10, 11}) {  // the same slots again
    std::array<std::uint8_t, 64> block{};
    block.fill(static_cast<std::uint8_t>(3 + index));
    ctrl_seg control;
    control.wqe_index = index;
    control.ds = 4;
    control.pack(block.data());
    dma.memory[0x50f80 + (index - 8) * 64] = block;
  }
  host.at(600, bell(1, 11, 4));
  finish(500);
  EXPECT_EQ(
      dma.ranges(),
      (ranges{{0x50f80, 128}, {0x51000, 256}, {0x51100, 128}, {0x50f80, 128}, {0x51000, 128}}));
  expect_all_posted();
}

TEST_P(wqe_fetch_bench, a_WQE_may_span_reads) {
  make_qp(1);
  post(1, 4);
  post(1, 40);  // ten WQEBBs: 1..10
  const std::uint16_t last = post(1, 63);
  host.at(10, bell(1, last, 63));
  finish(600);
  EXPECT_EQ(dma.seen.size(), 7U);  // 27 WQEBBs
  ASSERT_EQ(parser.items.size(), 3U);
  expect_all_posted();
}

TEST_P(wqe_fetch_bench, a_WQE_that_claims_more_than_was_posted_ends_at_the_producer) {
  make_qp(1);
  post(1, 4, 20);  // one WQEBB, says five
  host.at(10, bell(1, 0, 4));
  make_qp(2);
  post(2, 16, 63);  // four, says sixteen; rung with what it says
  host.at(20, bell(2, 0, 16));
  finish(600);
  ASSERT_EQ(parser.items.size(), 2U);
  EXPECT_EQ(ctrl_seg::unpack(parser.items[0].bytes.data()).ds, 20U);
  EXPECT_EQ(dma.ranges(), (ranges{{Base + 0x100000, 64}, {Base + 0x200000, 256}}));
  expect_all_posted();  // ds as many units as there are
}

TEST_P(wqe_fetch_bench, QPs_take_turns_in_the_order_in_which_they_rang) {
  for (const std::uint32_t qpn : {1U, 2U, 3U}) {
    make_qp(qpn);
    for (unsigned i = 0; i < (qpn == 1 ? 12U : 4U); ++i) {
      post(qpn, 4);
    }
    host.at(10, bell(qpn, static_cast<std::uint16_t>(queues[qpn].next - 1), 4));
  }
  finish(600);
  const auto base = [](std::uint32_t qpn, unsigned slot) {
    return Base + qpn * 0x100000ULL + slot * 64;
  };
  // Rung in 11, 12, 13: granted in 26, 27, 28, and QP 1 again behind those that were ready: four
  // WQEBBs a grant.
  EXPECT_EQ(dma.ranges(), (ranges{{base(1, 0), 256},
                                  {base(1, 4), 256},
                                  {base(2, 0), 256},
                                  {base(1, 8), 256},
                                  {base(3, 0), 256}}));
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(dma.seen[i].cycle, 30 + i);
  }
  expect_all_posted();
}

TEST_P(wqe_fetch_bench, a_doorbell_on_its_way_to_the_arbiter_holds_up_nobody) {
  make_qp(1);
  make_qp(2);
  for (unsigned i = 0; i < 32; ++i) {
    post(1, 4);
  }
  host.at(10, bell(1, 31, 4));
  send(24, 2);  // known in 30, at the arbiter in 40
  finish(600);
  ASSERT_EQ(dma.seen.size(), 9U);
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(dma.seen[i].cycle, 30 + i);
  }
  expect_all_posted();
}

TEST_P(wqe_fetch_bench, nothing_is_read_without_room_at_the_parser) {
  parser.first = 2000;
  for (std::uint32_t qpn = 1; qpn <= 12; ++qpn) {
    make_qp(qpn);
    for (unsigned i = 0; i < 12; ++i) {
      post(qpn, 4);
    }
    host.at(10, bell(qpn, 11, 4));
  }
  bench.run(1900);
  std::uint32_t bytes = 0;
  for (const auto& each : dma.seen) {
    bytes += each.length;
  }
  EXPECT_EQ(bytes, 32U * 64U);
  finish(3000);
  EXPECT_EQ(parser.items.size(), 144U);
  expect_all_posted();
}

TEST_P(wqe_fetch_bench, answers_out_of_order_give_WQEs_in_order) {
  dma.delay = [](std::size_t n) { return cycle_t{400} - n * 50; };
  for (std::uint32_t qpn = 1; qpn <= 6; ++qpn) {
    make_qp(qpn);
    bench.nic.posted.register_sq(qpn, LogSize);
    doorbell rung = bell(qpn, post(qpn, 4), 4);
    rung.trace = bench.context.trace.open(0, {});
    bench.nic.posted.post(qpn, 0, rung.trace);
    rung.trace = bench.context.trace.flight(rung.trace, bench.context.trace.site("link", "pcie_rx"),
                                            0, 9000 + 1000 * qpn);
    bench.context.trace.mark(rung.trace, milestone::doorbell);
    host.at(9 + qpn, rung, 1, false);
  }
  finish(1000);
  ASSERT_EQ(parser.items.size(), 6U);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(parser.items[i].item.qpn, i + 1);
    EXPECT_EQ(parser.items[i].visible, 30 + 400 + 9 + i);
  }
  // The second read, taken in 31, was answered in 381, 49 cycles before the first; then one beat
  // behind it.
  EXPECT_EQ(waited_for(bench.context.trace, parser.items[1].item.trace, "order"), 50'000U);
}

TEST_P(wqe_fetch_bench, a_failed_read_marks_each_of_its_WQEBBs) {
  dma.failing = {1};
  make_qp(1);
  for (unsigned i = 0; i < 12; ++i) {
    post(1, 4);
  }
  host.at(10, bell(1, 11, 4));
  finish(600);
  ASSERT_EQ(parser.items.size(), 12U);
  for (std::uint16_t i = 0; i < 12; ++i) {
    EXPECT_EQ(parser.items[i].item.wqe_index, i);
    EXPECT_EQ(parser.items[i].item.status, i / 4 == 1 ? dma_status::timeout : dma_status::ok);
    EXPECT_EQ(parser.items[i].item.ds, 4U);
  }
}

// Each of the eight holds four WQEBBs of sixteen: all the room, and no WQE complete.
TEST_P(wqe_fetch_bench, long_WQEs_of_many_QPs_cannot_lock_each_other_out) {
  for (std::uint32_t qpn = 1; qpn <= 8; ++qpn) {
    make_qp(qpn);
    post(qpn, 63);
    post(qpn, 4);
    host.at(10, bell(qpn, post(qpn, 63), 63));
  }
  finish(20000);
  EXPECT_EQ(parser.items.size(), 24U);
  expect_all_posted();
}

// BlueFlame ----

TEST_P(wqe_fetch_bench, the_next_WQE_of_an_idle_QP_is_handed_on_in_a_cycle) {
  make_qp(1);
  host.at(10, burst(1, 0, 3));
  host.at(20, burst(1, 1, 10));  // three WQEBBs
  host.at(30, burst(1, 4, 4));
  finish(200);
  ASSERT_EQ(parser.items.size(), 3U);
  const std::array<cycle_t, 3> visible = {12, 22, 32};
  const std::array<std::uint16_t, 3> index = {0, 1, 4};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(parser.items[i].visible, visible[i]);
    EXPECT_EQ(parser.items[i].item.wqe_index, index[i]);
    EXPECT_EQ(parser.items[i].item.origin, wqe_origin::blueflame);
    EXPECT_EQ(parser.items[i].bytes[0], 0xbfU);
  }
  EXPECT_TRUE(dma.seen.empty());
  EXPECT_EQ(bench.count(counter::BfExecuted), 3U);
}

TEST_P(wqe_fetch_bench, a_BlueFlame_WQE_that_is_not_the_next_becomes_a_doorbell) {
  make_qp(1);
  post(1, 4);
  host.at(10, burst(1, post(1, 4), 4));
  finish(600);
  EXPECT_EQ(bench.count(counter::BfDemoted), 1U);
  EXPECT_EQ(dma.seen.size(), 1U);
  expect_all_posted();  // both, from memory
}

TEST_P(wqe_fetch_bench, a_BlueFlame_WQE_behind_work_of_its_QP_becomes_a_doorbell) {
  // Behind a doorbell whose lookup runs, that is pending, that is being read.
  std::uint32_t qpn = 1;
  for (const cycle_t later : {1U, 10U, 100U}) {
    make_qp(qpn);
    const cycle_t begin = 1000 * qpn;
    send(begin, qpn);
    host.at(begin + later, burst(qpn, post(qpn, 4), 4));
    host.at(begin + 500, burst(qpn, 2, 4));  // idle again
    ++qpn;
  }
  finish(5000);
  EXPECT_EQ(bench.count(counter::BfDemoted), 3U);
  EXPECT_EQ(bench.count(counter::BfExecuted), 3U);
  ASSERT_EQ(parser.items.size(), 9U);
  for (std::size_t i = 0; i < 9; ++i) {
    EXPECT_EQ(parser.items[i].item.wqe_index, i % 3);
    EXPECT_EQ(parser.items[i].item.origin,
              i % 3 == 2 ? wqe_origin::blueflame : wqe_origin::fetched);
  }
}

TEST_P(wqe_fetch_bench, a_WQE_is_executed_once_whichever_way_it_came) {
  make_qp(1);
  host.at(10, burst(1, 0, 4));
  host.at(20, bell(1, 0, 4));   // rung as well
  host.at(30, burst(1, 0, 4));  // and again
  make_qp(2);
  send(1000, 2);
  host.at(1001, burst(2, 0, 4));
  host.at(1500, burst(2, 0, 4));
  finish(3000);
  EXPECT_EQ(parser.items.size(), 2U);
  EXPECT_EQ(bench.count(counter::BfExecuted), 1U);
  EXPECT_EQ(bench.count(counter::BfDemoted), 3U);
  EXPECT_EQ(bench.count(counter::DoorbellsCoalesced), 4U);
}

TEST_P(wqe_fetch_bench, without_room_at_the_parser_BlueFlame_becomes_a_doorbell) {
  parser.first = 1000;
  for (std::uint32_t qpn = 1; qpn <= 33; ++qpn) {
    make_qp(qpn);
    post(qpn, 4);
    host.at(10, burst(qpn, 0, 4));
  }
  finish(3000);
  EXPECT_EQ(parser.items.size(), 33U);
  EXPECT_EQ(bench.count(counter::BfExecuted), 32U);
  EXPECT_EQ(bench.count(counter::BfDemoted), 1U);
}

// Commands and history ----

TEST_P(wqe_fetch_bench, a_reset_forgets_what_is_under_way) {
  dma.delay = [](std::size_t n) { return n < 2 ? cycle_t{100} : cycle_t{300}; };
  make_qp(1);
  post(1, 63);
  post(1, 4);
  host.at(10, bell(1, 16, 4));   // five reads; the first two are answered and wait for the rest
  host.at(198, bell(1, 16, 4));  // and a lookup is under way
  qp_command reset;
  reset.qpn = 1;
  reset.state = static_cast<std::uint8_t>(qp_state::Reset);
  command.at(200, reset);
  bench.run(1000);
  EXPECT_TRUE(parser.items.empty());
  EXPECT_EQ(dma.seen.size(), 5U);
  // The queue begins again.
  make_qp(1);
  send(1100, 1);
  finish(1000);
  ASSERT_EQ(parser.items.size(), 1U);
  expect_all_posted();
}

TEST_P(wqe_fetch_bench, a_batch_has_complete_histories_with_one_doorbell) {
  make_qp(1);
  bench.nic.posted.register_sq(1, LogSize);
  const trace_site cpu = bench.context.trace.site("cpu", "cpu");
  std::array<trace_ref, 6> messages;
  for (std::size_t i = 0; i < 6; ++i) {
    // Posted one after the other in the first nanoseconds.
    const ps_t begin = 1000 * i;
    messages[i] = bench.context.trace.open(begin, {});
    messages[i] = bench.context.trace.service(messages[i], cpu, begin, begin + 1000);
    bench.nic.posted.post(1, post(1, 4), messages[i]);
  }
  doorbell last = bell(1, 5, 4);
  last.trace = bench.context.trace.service(messages[5], cpu, 6000, 10000);
  bench.context.trace.mark(last.trace, milestone::doorbell);
  host.at(10, last, 1, false);
  finish(600);
  ASSERT_EQ(parser.items.size(), 6U);
  for (std::size_t i = 0; i < 6; ++i) {
    const auto& got = parser.items[i];
    ASSERT_EQ(got.item.trace.message, messages[i].message);
    const message_record* record = bench.context.trace.record(got.item.trace.message);
    ASSERT_TRUE(record->reached(milestone::doorbell));
    EXPECT_EQ(record->time_of(milestone::doorbell), 10000U);
    const std::vector<span> chain = chain_of(bench.context.trace, got.item.trace);
    ps_t at = 1000 * i;
    for (const span& each : chain) {
      EXPECT_EQ(each.begin, at);
      at = each.end;
    }
    EXPECT_EQ(at, got.cycle * 1000);
    // Until the doorbell came it waited for its batch.
    EXPECT_EQ(waited_for(bench.context.trace, got.item.trace, "doorbell_batch"),
              i == 5 ? 0U : 9000U - 1000U * i);
  }
}

// Going back ----

using handed = std::vector<std::pair<unsigned, unsigned>>;

TEST_P(wqe_fetch_bench, a_queue_that_goes_back_is_fetched_again_from_there) {
  make_qp(1);
  for (unsigned i = 0; i < 6; ++i) {
    post(1, 4);
  }
  host.at(10, bell(1, 5, 4));
  go_back(500, 1, 1, 3);  // taken in 501, at the arbiter in 511
  host.at(800, bell(1, post(1, 4), 4));
  finish(1500);
  EXPECT_EQ(
      handed_on(),
      (handed{{0, 0}, {1, 0}, {2, 0}, {3, 0}, {4, 0}, {5, 0}, {3, 1}, {4, 1}, {5, 1}, {6, 1}}));
  ASSERT_EQ(dma.seen.size(), 4U);
  EXPECT_EQ(dma.seen[2], (scripted_dma::seen_read{515, Base + 0x100000 + 3 * 64, 192}));
  EXPECT_EQ(bench.count(counter::WqeRefetches), 1U);
}

TEST_P(wqe_fetch_bench, what_is_being_read_when_the_queue_goes_back_is_given_up) {
  make_qp(1);
  for (unsigned i = 0; i < 8; ++i) {
    post(1, 4);
  }
  host.at(10, bell(1, 7, 4));  // two reads, from 26 on
  go_back(60, 1, 1, 2);
  finish(1000);
  EXPECT_EQ(handed_on(), (handed{{2, 1}, {3, 1}, {4, 1}, {5, 1}, {6, 1}, {7, 1}}));
}

TEST_P(wqe_fetch_bench, an_unfinished_wqe_is_given_up_when_the_queue_goes_back) {
  dma.delay = [](std::size_t n) { return n == 1 ? cycle_t{400} : cycle_t{100}; };
  make_qp(1);
  post(1, 4);
  post(1, 20);  // five WQEBBs: three in the first read
  host.at(10, bell(1, 1, 20));
  go_back(200, 1, 1, 1);
  finish(1500);
  EXPECT_EQ(handed_on(), (handed{{0, 0}, {1, 1}}));
  EXPECT_EQ(parser.items[1].beats, 5U);
}

TEST_P(wqe_fetch_bench, a_doorbell_on_its_way_survives_a_go_back) {
  make_qp(1);
  send(10, 1);
  send(500, 1);           // looked up from 501 to 506
  go_back(502, 1, 1, 0);  // taken in 503
  finish(1500);
  EXPECT_EQ(handed_on(), (handed{{0, 0}, {0, 1}, {1, 1}}));
}

TEST_P(wqe_fetch_bench, a_queue_served_by_BlueFlame_alone_can_go_back) {
  qp_command rts;
  rts.qpn = 1;
  rts.state = static_cast<std::uint8_t>(qp_state::Rts);
  qpc_common common;
  common.valid = 1;
  common.wqe_base_addr = Base + 0x100000;
  common.log_sq_size = LogSize;
  common.function_id = 3;
  common.pack(rts.common.data());
  command.at(5, rts);
  make_qp(1);
  host.at(10, burst(1, post(1, 4), 4));
  go_back(100, 1, 1, 0);
  host.at(400, burst(1, post(1, 4), 4));  // idle again
  finish(1000);
  EXPECT_EQ(handed_on(), (handed{{0, 0}, {0, 1}, {1, 1}}));
  EXPECT_EQ(dma.ranges(), (ranges{{Base + 0x100000, 64}}));
  EXPECT_EQ(parser.items[2].item.origin, wqe_origin::blueflame);
}

TEST_P(wqe_fetch_bench, a_go_back_of_before_a_reset_is_of_no_interest) {
  make_qp(1);
  for (unsigned i = 0; i < 3; ++i) {
    send(10, 1);
  }
  qp_command reset;
  reset.qpn = 1;
  reset.state = static_cast<std::uint8_t>(qp_state::Reset);
  command.at(500, reset);
  go_back(500, 1, 1, 1);
  bench.run(600);
  make_qp(1);
  send(700, 1);
  finish(500);
  // A life's epochs begin at 16 times its number.
  EXPECT_EQ(handed_on(), (handed{{0, 0}, {1, 0}, {2, 0}, {0, 16}}));
}

TEST_P(wqe_fetch_bench, histories_of_wqes_that_come_again_wait_for_the_go_back) {
  make_qp(1);
  bench.nic.posted.register_sq(1, LogSize);
  const trace_site cpu = bench.context.trace.site("cpu", "cpu");
  std::array<trace_ref, 2> messages;
  for (std::size_t i = 0; i < 2; ++i) {
    messages[i] = bench.context.trace.open(0, {});
    bench.nic.posted.post(1, post(1, 4), messages[i]);
  }
  doorbell rung = bell(1, 1, 4);
  rung.trace = bench.context.trace.service(messages[1], cpu, 0, 10000);
  bench.context.trace.mark(rung.trace, milestone::doorbell);
  host.at(10, rung, 1, false);
  bench.run(400);
  ASSERT_EQ(parser.items.size(), 2U);
  // The requester kept them until cycle 500.
  for (std::uint16_t i = 0; i < 2; ++i) {
    const trace_ref sent = parser.items[i].item.trace;
    const ps_t end = bench.context.trace.end_of(sent);
    bench.nic.posted.post(1, i, bench.context.trace.service(sent, cpu, end, 500000));
  }
  go_back(500, 1, 1, 0);  // the read leaves in 511
  finish(1000);
  ASSERT_EQ(parser.items.size(), 4U);
  for (const std::size_t i : {2U, 3U}) {
    const trace_ref history = parser.items[i].item.trace;
    EXPECT_EQ(history.message, messages[i - 2].message);
    EXPECT_EQ(bench.context.trace.end_of(history), parser.items[i].cycle * 1000);
  }
  EXPECT_EQ(waited_for(bench.context.trace, parser.items[2].item.trace, "go_back"), 11'000U);
}

TEST_P(wqe_fetch_bench, whenever_a_queue_goes_back_it_comes_again_whole_and_in_order) {
  random_stream random(17, "go_back");
  dma.delay = [&](std::size_t) {
    return 20 + random_stream(9, std::to_string(dma.seen.size())).below(300);
  };
  make_qp(1, 12);
  make_qp(2, 12);
  cycle_t t = 10;
  for (unsigned n = 0; n < 300; ++n) {
    for (const std::uint32_t qpn : {1U, 2U}) {
      const auto ds = static_cast<std::uint8_t>(1 + random.below(63));
      host.at(t, bell(qpn, post(qpn, ds), ds));
    }
    t += random.below(120);
  }
  // QP 1 goes back to one of the WQEs that were there then.
  std::vector<std::uint16_t> starts = {0};
  for (unsigned i = 1; i < 40; ++i) {
    starts.push_back(queues[1].posted[random.below(i + 1)].first);
    go_back(300 * i, 1, static_cast<std::uint8_t>(i), starts.back());
  }
  finish(300000);
  std::map<std::uint32_t, std::size_t> next;
  unsigned epoch = 0;
  for (const auto& got : parser.items) {
    if (got.item.epoch != epoch && got.item.qpn == 1) {
      epoch = got.item.epoch;
      for (next[1] = 0; queues[1].posted[next[1]].first != starts[epoch];) {
        ++next[1];
      }
    }
    ASSERT_EQ(got.item.wqe_index, queues[got.item.qpn].posted[next[got.item.qpn]++].first);
  }
  EXPECT_EQ(next[1], 300U);
  EXPECT_EQ(next[2], 300U);
}

// Everything at once ----

TEST_P(wqe_fetch_bench, random_traffic_arrives_once_and_in_order) {
  random_stream random(3, "wqe_fetch");
  parser.period = GetParam() == 77 ? 5 : 1;
  dma.delay = [&](std::size_t) {
    return 20 + random_stream(8, std::to_string(dma.seen.size())).below(300);
  };
  for (std::uint32_t qpn = 1; qpn <= 20; ++qpn) {
    make_qp(qpn, 12);
  }
  cycle_t t = 10;
  for (unsigned n = 0; n < 800; ++n) {
    const auto qpn = static_cast<std::uint32_t>(1 + random.below(20));
    std::uint16_t index = 0;
    std::uint8_t ds = 0;
    for (std::uint64_t batch = 1 + random.below(3); batch != 0; --batch) {
      ds = static_cast<std::uint8_t>(random.chance(1, 3) ? 1 + random.below(63)
                                                         : 1 + random.below(8));
      index = post(qpn, ds);
    }
    t += random.chance(1, 10) ? random.below(300) : random.below(8);
    host.at(t, bell(qpn, index, ds));
    if (random.chance(1, 10)) {
      host.at(t, bell(qpn, index, ds));  // some ring twice
    }
  }
  finish(300000);
  expect_all_posted();
  for (const auto& each : dma.seen) {
    EXPECT_LE(each.length, 256U);
    EXPECT_EQ(each.address / 4096, (each.address + each.length - 1) / 4096);
  }
}

INSTANTIATE_TEST_SUITE_P(shuffle, wqe_fetch_bench, testing::Values(0, 77, 4242));

}  // namespace
}  // namespace carillon
