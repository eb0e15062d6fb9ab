// tx_sched: one MTU packet a grant, bytes shared fairly, PSNs in order, and nobody held up by
// another QP's wait. What responder and requester ask for is in tx_sched_control_test.cpp.
#include "tx_sched.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <vector>

#include "common/random.h"
#include "common/tx_sched_bench.h"

namespace carillon {
namespace {

using bench::chain_of;
using bench::Mtu1024;
using bench::Mtu4096;
using bench::OtherQp;
using bench::payload_stub;
using bench::Qp;
using bench::Signaled;
using bench::sink;
using bench::Solicited;
using bench::source;
using bench::tx_sched_bench;
using bench::waited_for;

TEST_P(tx_sched_bench, a_packet_is_visible_5_cycles_after_its_work_request) {
  plain_sinks();
  works.at(10, fetched(Qp, 64));      // visible in 11
  works.at(30, in_line(OtherQp, 8));  // visible in 31
  bench.run(100);
  ASSERT_EQ(payload->items.size(), 1U);
  EXPECT_EQ(payload->items[0].visible, 16U);
  ASSERT_EQ(direct->items.size(), 1U);
  EXPECT_EQ(direct->items[0].visible, 36U);
  ASSERT_EQ(sent.items.size(), 2U);
  EXPECT_EQ(sent.items[0].visible, 16U);
  const auto chain = chain_of(bench.context.trace, payload->items[0].item.trace);
  ASSERT_FALSE(chain.empty());
  EXPECT_EQ(chain.front().begin, 10000U);
  EXPECT_EQ(chain.back().end, 16000U);
  for (const span& each : chain) {
    EXPECT_EQ(each.kind, span_kind::service);
  }
  finish();
}

TEST_P(tx_sched_bench, a_work_request_of_many_beats_goes_when_its_last_beat_is_in) {
  plain_sinks();
  work_item work = fetched(Qp, 3000);
  work.sge_count = 30;  // 480 bytes of segments: 8 beats, in cycles 11..18
  works.at(10, std::move(work), 8);
  bench.run(100);
  ASSERT_EQ(payload->items.size(), 1U);
  EXPECT_EQ(payload->items[0].visible, 23U);
  finish();
}

TEST_P(tx_sched_bench, a_message_is_cut_by_mtu_and_its_psns_run_modulo_2_to_24) {
  plain_sinks();
  commands.at(1, command(Qp, qp_state::Rts, 0xfffffe));
  work_item work = fetched(Qp, 2 * 4096 + 100);
  work.fm_ce_se = Signaled | Solicited;
  work.imm = 0xabcd;
  works.at(10, std::move(work));
  bench.run(100);
  ASSERT_EQ(payload->items.size(), 3U);
  const std::uint32_t psns[] = {0xfffffe, 0xffffff, 0};
  const std::uint32_t bytes[] = {4096, 4096, 100};
  for (unsigned i = 0; i < 3; ++i) {
    const packet_item& packet = payload->items[i].item;
    EXPECT_EQ(payload->items[i].visible, 16U + i) << "one grant a cycle";
    EXPECT_EQ(packet.psn, psns[i]);
    EXPECT_EQ(packet.payload, bytes[i]);
    EXPECT_EQ(packet.message_offset, i * 4096);
    EXPECT_EQ(packet.first, i == 0);
    EXPECT_EQ(packet.last, i == 2);
    EXPECT_EQ(packet.ack_request, i == 2);
    EXPECT_EQ(packet.solicited, i == 2);
    EXPECT_EQ(packet.dma_length, 8292U);
    EXPECT_EQ(packet.remote_address, 0x1000U);
    EXPECT_EQ(packet.rkey, 0x77U);
    EXPECT_EQ(packet.imm, 0xabcdU);
    EXPECT_EQ(packet.order, i);
  }
  ASSERT_EQ(sent.items.size(), 3U) << "every packet is told to the requester";
  for (unsigned i = 0; i < 3; ++i) {
    const sent_packet& note = sent.items[i].item;
    EXPECT_EQ(sent.items[i].visible, 16U + i);
    EXPECT_EQ(note.psn, psns[i]);
    EXPECT_EQ(note.first_psn, 0xfffffeU);
    EXPECT_EQ(note.last_psn, 0U);
    EXPECT_EQ(note.last, i == 2);
    EXPECT_TRUE(note.signaled);
    EXPECT_EQ(note.length, 8292U);
    EXPECT_EQ(note.send_cqn, 9U);
    EXPECT_EQ(note.syndrome, 0U);
  }
  EXPECT_EQ(bench.count(counter::TxGrants), 3U);
  finish();
}

TEST_P(tx_sched_bench, a_message_of_whole_mtus_has_no_empty_last_packet) {
  plain_sinks();
  works.at(10, fetched(Qp, 2048, Mtu1024));
  bench.run(100);
  ASSERT_EQ(payload->items.size(), 2U);
  EXPECT_FALSE(payload->items[0].item.last);
  EXPECT_TRUE(payload->items[1].item.last);
  finish();
}

TEST_P(tx_sched_bench, a_later_packet_waits_for_those_before_it_and_then_for_its_turn) {
  plain_sinks();
  works.at(10, fetched(Qp, 3 * 4096));  // grants in 11, 12, 13
  bench.run(100);
  ASSERT_EQ(payload->items.size(), 3U);
  const trace_ref third = payload->items[2].item.trace;
  EXPECT_EQ(waited_for(bench.context.trace, third, "order"), 1000U);
  EXPECT_EQ(waited_for(bench.context.trace, third, "weight"), 1000U);
  finish();
}

TEST_P(tx_sched_bench, work_requests_of_one_qp_wait_in_order_those_of_another_for_their_turn) {
  plain_sinks();
  works.at(10, fetched(Qp, 10 * 4096));  // visible in 11, grants from 11 on
  works.at(11, fetched(Qp, 64));         // behind it
  works.at(12, fetched(OtherQp, 64));    // visible in 13
  bench.run(100);
  // 11: A0, 12: A1, 13: A2 (it was there first), 14: B, 15..21: A3..A9, 22: the second of A.
  ASSERT_EQ(payload->items.size(), 12U);
  EXPECT_EQ(payload->items[3].item.qpn, OtherQp);
  const trace_ref other = payload->items[3].item.trace;
  EXPECT_EQ(waited_for(bench.context.trace, other, "weight"), 1000U);
  EXPECT_EQ(waited_for(bench.context.trace, other, "order"), 0U);
  const trace_ref second = payload->items[11].item.trace;
  EXPECT_EQ(waited_for(bench.context.trace, second, "order"), 9000U);   // 12 to 21
  EXPECT_EQ(waited_for(bench.context.trace, second, "weight"), 1000U);  // 21 to 22
  finish();
}

class tx_sched_ack_requests : public tx_sched_bench {
 protected:
  static parameters every_fourth() {
    parameters params;
    params.nic.ack_req_interval = 4;
    return params;
  }

  tx_sched_ack_requests() : tx_sched_bench(every_fourth()) {}
};

TEST_P(tx_sched_ack_requests, every_interval_and_the_last_packet_ask_for_an_acknowledge) {
  plain_sinks();
  works.at(10, fetched(Qp, 10 * 1024, Mtu1024));
  works.at(11, fetched(Qp, 5 * 1024, Mtu1024));
  bench.run(100);
  ASSERT_EQ(payload->items.size(), 15U);
  std::vector<unsigned> asking;
  for (unsigned i = 0; i < 15; ++i) {
    if (payload->items[i].item.ack_request) {
      asking.push_back(i);
    }
  }
  // 3 and 7 by the interval, 9 the last of its message, from where the count begins again: 13, 14.
  EXPECT_EQ(asking, (std::vector<unsigned>{3, 7, 9, 13, 14}));
  finish();
}

/// Bytes of the two QPs after each grant.
std::vector<std::pair<std::uint32_t, std::uint32_t>> shares(
    const std::vector<sink<packet_item>::taken>& items) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> result;
  std::uint32_t first = 0;
  std::uint32_t second = 0;
  for (const auto& each : items) {
    (each.item.qpn == Qp ? first : second) += each.item.payload;
    result.emplace_back(first, second);
  }
  return result;
}

TEST_P(tx_sched_bench, qps_of_equal_packets_alternate) {
  plain_sinks();
  works.at(10, fetched(Qp, 8 * 4096));
  works.at(10, fetched(OtherQp, 8 * 4096));
  bench.run(100);
  ASSERT_EQ(payload->items.size(), 16U);
  // The first work request is alone for a cycle; from then on the QPs take turns, until it is done.
  for (unsigned i = 1; i < 14; ++i) {
    EXPECT_NE(payload->items[i].item.qpn, payload->items[i + 1].item.qpn) << i;
  }
  finish();
}

TEST_P(tx_sched_bench, qps_of_different_mtus_share_bytes_not_packets) {
  plain_sinks();
  works.at(10, fetched(Qp, 100 * 4096, Mtu4096));
  works.at(10, fetched(OtherQp, 400 * 1024, Mtu1024));
  bench.run(700);
  ASSERT_EQ(payload->items.size(), 500U);
  for (const auto& [first, second] : shares(payload->items)) {
    const auto apart = static_cast<std::int64_t>(first) - static_cast<std::int64_t>(second);
    ASSERT_LE(std::abs(apart), 2 * 4096);
  }
  finish();
}

TEST_P(tx_sched_bench, a_qp_of_packets_below_the_quantum_loses_nothing_of_its_share) {
  plain_sinks();
  // 40 messages of 3000 bytes against one of 30 packets: 120000 and 122880 bytes. Each of the 40
  // needs a work slot.
  works.at(10, fetched(Qp, 30 * 4096));
  for (unsigned i = 0; i < 40; ++i) {
    works.at(10, fetched(OtherQp, 3000));
  }
  bench.run(300);
  ASSERT_EQ(payload->items.size(), 70U);
  // From when on both have something: at the start the big one is alone for a cycle.
  for (const auto& [first, second] : shares(payload->items)) {
    const auto apart = static_cast<std::int64_t>(first) - static_cast<std::int64_t>(second);
    ASSERT_LE(std::abs(apart), 3 * 4096) << first << " against " << second;
  }
  finish();
}

TEST_P(tx_sched_bench, acknowledges_go_before_everything) {
  plain_sinks();
  works.at(10, fetched(Qp, 20 * 4096));  // grants from 11 on
  acknowledges.at(14, acknowledge(5));   // visible in 15
  acknowledges.at(15, acknowledge(6));
  bench.run(100);
  ASSERT_EQ(direct->items.size(), 2U);
  EXPECT_EQ(direct->items[0].visible, 20U);
  EXPECT_EQ(direct->items[1].visible, 21U);
  const packet_item& packet = direct->items[0].item;
  EXPECT_EQ(packet.source, packet_source::acknowledge);
  EXPECT_EQ(packet.qpn, OtherQp);
  EXPECT_EQ(packet.psn, 5U);
  EXPECT_EQ(packet.syndrome, 0x1f);
  EXPECT_EQ(packet.msn, 6U);
  EXPECT_EQ(packet.order, 4U);  // behind the grants of 11 to 14
  ASSERT_EQ(payload->items.size(), 20U);
  EXPECT_EQ(payload->items[3].visible, 19U);
  EXPECT_EQ(payload->items[4].visible, 22U) << "no request in the cycles of the acknowledges";
  EXPECT_EQ(bench.count(counter::TxGrants), 20U) << "acknowledges are no grants";
  finish();
}

TEST_P(tx_sched_bench, acknowledges_wait_for_room_under_their_own_name) {
  payload = std::make_unique<sink<packet_item>>("payload", bench, ports.payload);
  direct = std::make_unique<sink<packet_item>>("direct", bench, ports.direct, 200);
  left = std::make_unique<source<payload_left>>("left", bench, ports.left);
  for (unsigned i = 0; i < 18; ++i) {
    acknowledges.at(10, acknowledge(i, 0x30 + i));  // of one QP they would join
  }
  works.at(100, fetched(Qp, 64));
  bench.run(5000);
  ASSERT_EQ(direct->items.size(), 18U);
  // 16 fill the output in cycles 11 to 26; the next waits from 27 until the take of 200 has freed a
  // place: 201.
  EXPECT_EQ(waited_for(bench.context.trace, direct->items[16].item.trace, "credit:direct"),
            174000U);
  EXPECT_EQ(payload->items.at(0).visible, 106U) << "requests for payload_dma are not held up";
  finish();
}

TEST_P(tx_sched_bench, a_qp_that_waits_for_room_in_payload_dma_blocks_nobody_else) {
  plain_sinks(500);  // takes in cycle 500, 1000, ...
  works.at(10, fetched(Qp, 17 * 4096));
  works.at(100, in_line(OtherQp, 32));
  bench.run(10000);
  ASSERT_EQ(direct->items.size(), 1U);
  EXPECT_EQ(direct->items[0].visible, 106U);
  ASSERT_EQ(payload->items.size(), 17U);
  // 16 places; the 17th packet was granted in 501, the place of the first being free then.
  EXPECT_EQ(payload->items[16].visible, 506U);
  EXPECT_EQ(waited_for(bench.context.trace, payload->items[16].item.trace, "credit:payload"),
            474000U);  // 27 to 501
  finish();
}

TEST_P(tx_sched_bench, packets_past_payload_dma_wait_for_those_of_their_qp_inside_it) {
  plain_sinks();
  works.at(10, fetched(Qp, 100));
  works.at(11, in_line(Qp, 16));      // visible in 12
  works.at(12, in_line(OtherQp, 8));  // another QP: at once
  works.at(13, fetched(Qp, 0));       // zero length, behind the inline one
  left->at(60, {{}, Qp});             // visible in 61
  bench.run(200);
  ASSERT_EQ(direct->items.size(), 3U);
  EXPECT_EQ(direct->items[0].item.qpn, OtherQp);
  EXPECT_EQ(direct->items[0].visible, 18U);
  EXPECT_EQ(direct->items[1].item.psn, 1U);
  EXPECT_EQ(direct->items[1].visible, 66U);
  EXPECT_EQ(waited_for(bench.context.trace, direct->items[1].item.trace, "payload_order"), 49000U);
  EXPECT_EQ(direct->items[2].item.psn, 2U);
  EXPECT_EQ(direct->items[2].visible, 67U);
  EXPECT_EQ(direct->items[2].item.payload, 0U);
  EXPECT_TRUE(direct->items[2].item.first && direct->items[2].item.last);
  finish();
}

TEST_P(tx_sched_bench, packets_with_payload_follow_inline_ones_without_waiting) {
  plain_sinks();
  works.at(10, in_line(Qp, 16));
  works.at(11, fetched(Qp, 100));
  bench.run(100);
  EXPECT_EQ(direct->items.at(0).visible, 16U);
  EXPECT_EQ(payload->items.at(0).visible, 17U);
  EXPECT_EQ(payload->items.at(0).item.psn, 1U);
  EXPECT_GT(payload->items.at(0).item.order, direct->items.at(0).item.order);
  finish();
}

TEST_P(tx_sched_bench, behind_a_failed_work_request_everything_is_flushed) {
  plain_sinks();
  works.at(10, failed(Qp, 0x04));  // local protection error
  works.at(11, fetched(Qp, 64));   // flushed
  works.at(12, failed(Qp, 0x02));  // flushed too: the first error is the one that counts
  works.at(13, fetched(OtherQp, 64));
  bench.run(100);
  ASSERT_EQ(sent.items.size(), 4U);
  EXPECT_EQ(sent.items[0].visible, 16U);
  const std::uint8_t syndromes[] = {0x04, 0x05, 0x05, 0x00};
  for (unsigned i = 0; i < 4; ++i) {
    EXPECT_EQ(sent.items[i].item.syndrome, syndromes[i]) << i;
    EXPECT_TRUE(sent.items[i].item.last);
    EXPECT_TRUE(sent.items[i].item.signaled) << "errors always complete";
    EXPECT_EQ(sent.items[i].item.wqe_index, i < 3 ? i : 0);
  }
  ASSERT_EQ(payload->items.size(), 1U);
  EXPECT_EQ(payload->items[0].item.qpn, OtherQp);
  EXPECT_EQ(bench.count(counter::TxGrants), 1U);
  finish();
}

TEST_P(tx_sched_bench, the_error_state_flushes_a_message_in_the_middle_and_all_behind_it) {
  plain_sinks();
  works.at(10, fetched(Qp, 50 * 4096));  // grants from 11 on
  works.at(11, fetched(Qp, 64));
  commands.at(20, command(Qp, qp_state::Err));  // visible in 21
  bench.run(200);
  EXPECT_EQ(payload->items.size(), 10U);  // 11 to 20
  ASSERT_EQ(sent.items.size(), 12U);
  EXPECT_FALSE(sent.items[9].item.last);
  EXPECT_EQ(sent.items[10].item.syndrome, 0x05);
  EXPECT_EQ(sent.items[10].item.wqe_index, 0U);
  EXPECT_EQ(sent.items[10].item.psn, 10U) << "from there on nothing was sent";
  EXPECT_EQ(sent.items[11].item.syndrome, 0x05);
  EXPECT_EQ(sent.items[11].item.wqe_index, 1U);
  finish();
}

TEST_P(tx_sched_bench, a_qp_starts_again_from_its_new_psn_after_an_error) {
  plain_sinks();
  commands.at(1, command(Qp, qp_state::Rts, 0x100));
  works.at(10, failed(Qp, 0x04));
  commands.at(20, command(Qp, qp_state::Reset));
  commands.at(30, command(Qp, qp_state::Rts, 0x500));
  work_item work = fetched(Qp, 64);
  work.epoch = first_epoch(1);
  works.at(40, work);
  bench.run(100);
  ASSERT_EQ(payload->items.size(), 1U);
  EXPECT_EQ(payload->items[0].item.psn, 0x500U);
  finish();
}

TEST_P(tx_sched_bench, a_reset_forgets_what_was_queued) {
  plain_sinks(1000);
  works.at(10, fetched(Qp, 20 * 4096));  // 16 packets fill the output
  works.at(11, fetched(Qp, 64));
  works.at(12, in_line(OtherQp, 8));
  commands.at(50, command(Qp, qp_state::Reset));
  works.at(60, fetched(Qp, 64));  // was on its way
  commands.at(100, command(Qp, qp_state::Rts, 7));
  bench.run(20000);
  EXPECT_EQ(payload->items.size(), 16U);
  EXPECT_EQ(bench.count(counter::WqeDroppedState), 3U);
  ASSERT_EQ(told(), 1U);
  for (const auto& each : sent.items) {
    EXPECT_EQ(each.item.last, each.item.qpn == OtherQp);
  }
  finish();
}

TEST_P(tx_sched_bench, a_dropped_work_request_is_counted_and_leaves_no_trace) {
  plain_sinks();
  work_item work = fetched(Qp, 64);
  work.drop = true;
  works.at(10, std::move(work));
  works.at(11, fetched(Qp, 64));
  bench.run(100);
  EXPECT_EQ(bench.count(counter::WqeDroppedState), 1U);
  ASSERT_EQ(sent.items.size(), 1U);
  EXPECT_EQ(sent.items[0].item.psn, 0U) << "it has used no PSN";
  EXPECT_EQ(payload->items.at(0).visible, 17U);
  finish();
}

TEST_P(tx_sched_bench, when_all_slots_are_held_work_waits_outside) {
  plain_sinks(100);
  // 16 go out, 64 are held, the rest waits at the port.
  for (unsigned i = 0; i < 90; ++i) {
    works.at(10, fetched(Qp, 64));
  }
  bench.run(10000);
  ASSERT_EQ(payload->items.size(), 90U);
  for (std::uint32_t i = 0; i < 90; ++i) {
    EXPECT_EQ(payload->items[i].item.psn, i);
  }
  // Visible from 11 on, one a cycle. Number 80 (91) found 64 held; the first place at the output
  // became free in 101, so a slot in 102.
  EXPECT_EQ(waited_for(bench.context.trace, payload->items[80].item.trace, "sched_slots"), 11000U);
  EXPECT_EQ(waited_for(bench.context.trace, payload->items[79].item.trace, "sched_slots"), 0U);
  finish();
}

TEST_P(tx_sched_bench, every_qp_sends_its_psns_in_order_under_random_traffic_and_back_pressure) {
  payload_stub inside(bench, ports.payload, ports.left, 40, 3);
  direct = std::make_unique<sink<packet_item>>("direct", bench, ports.direct, 4);
  random_stream random(4711, "tx_sched");
  constexpr std::uint32_t Qps = 7;
  std::uint64_t bytes = 0;
  unsigned messages = 0;
  cycle_t at = 10;
  for (unsigned i = 0; i < 400; ++i) {
    const auto qpn = static_cast<std::uint32_t>(random.below(Qps));
    const auto kind = random.below(4);
    work_item work = kind == 0   ? in_line(qpn, static_cast<std::uint32_t>(1 + random.below(200)))
                     : kind == 1 ? fetched(qpn, 0)
                                 : fetched(qpn, static_cast<std::uint32_t>(1 + random.below(9000)),
                                           random.below(2) == 0 ? Mtu1024 : Mtu4096);
    bytes += work.length;
    ++messages;
    const unsigned beats = beats_of(work.body_bytes());
    works.at(at, std::move(work), beats);
    at += random.below(12);
    if (random.below(3) == 0) {
      acknowledges.at(at, acknowledge(i));
    }
  }
  bench.run(40000);
  EXPECT_EQ(told(), messages);
  std::vector<packet_item> packets;
  for (const auto& each : inside.items) {
    packets.push_back(each.item);
  }
  for (const auto& each : direct->items) {
    if (each.item.source == packet_source::request) {
      packets.push_back(each.item);
    }
  }
  std::sort(packets.begin(), packets.end(),
            [](const packet_item& a, const packet_item& b) { return a.order < b.order; });
  std::map<std::uint32_t, std::uint32_t> psn;
  std::uint64_t seen = 0;
  for (const packet_item& each : packets) {
    EXPECT_EQ(each.psn, psn[each.qpn]++);
    seen += each.payload;
  }
  EXPECT_EQ(seen, bytes);
  finish();
}

INSTANTIATE_TEST_SUITE_P(shuffle, tx_sched_bench, testing::Values(0, 77));
INSTANTIATE_TEST_SUITE_P(shuffle, tx_sched_ack_requests, testing::Values(0, 77));

}  // namespace
}  // namespace carillon
