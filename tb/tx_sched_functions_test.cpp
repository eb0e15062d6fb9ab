// tx_sched: functions share the wire. One packet a turn, by weight or by urgency, each within its
// rate; a quiet one waits for one packet of each other.
#include <cstdlib>
#include <gtest/gtest.h>
#include <map>
#include <utility>
#include <vector>

#include "common/tx_sched_bench.h"

namespace carillon {
namespace {

using bench::Mtu1024;
using bench::Mtu4096;
using bench::sink;
using bench::source;
using bench::tx_sched_bench;
using bench::waited_for;

constexpr std::uint8_t Uc = 1;  // mlx5 service type: no window without acknowledges

// On the wire: Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4, FCS 4, preamble and gap 20.
constexpr std::uint32_t Around = 82;
constexpr std::uint32_t MiddleBytes = 4096 + Around;

class tx_sched_functions : public tx_sched_bench {
 protected:
  using ports_t = std::vector<vport>;

  static ports_t four() { return ports_t(4, vport{.enabled = true}); }

  tx_sched_functions() : tx_sched_bench({}, vport_table(four())) { plain_sinks(); }

  /// From cycle 1 on, or from the one after `t`.
  void share(ports_t how, vport_arbitration by = vport_arbitration::round_robin, cycle_t t = 0) {
    vports.write(t, vport_table(std::move(how), by));
  }

  static std::uint32_t qp_of(std::uint16_t function, std::uint32_t number = 0) {
    return 0x100U * function + number;
  }

  /// Packets of 4 KiB.
  work_item packets_of(std::uint16_t function, std::uint32_t packets, std::uint32_t number = 0) {
    work_item work = fetched(qp_of(function, number), packets * 4096);
    work.function = function;
    work.service = Uc;
    return work;
  }

  static response_item read_of(std::uint16_t function, std::uint32_t packets) {
    response_item item;
    item.kind = response_kind::read;
    item.function = function;
    item.qpn = qp_of(function, 0x80);
    item.length = packets * 4096;
    item.mtu_code = Mtu4096;
    return item;
  }

  /// The functions of the packets given to payload_dma, in order.
  [[nodiscard]] std::vector<unsigned> order() const {
    std::vector<unsigned> result;
    for (const auto& each : payload->items) {
      result.push_back(each.item.function);
    }
    return result;
  }

  [[nodiscard]] std::vector<cycle_t> grants_of(std::uint16_t function) const {
    std::vector<cycle_t> result;
    for (const auto& each : payload->items) {
      if (each.item.function == function) {
        result.push_back(each.visible - 5);
      }
    }
    return result;
  }

  /// Mb/s on the wire from the third grant to the last one: the first two use up what was saved.
  [[nodiscard]] double rate_of(std::uint16_t function) const {
    const std::vector<cycle_t> grants = grants_of(function);
    const auto packets = static_cast<double>(grants.size() - 3);
    return packets * MiddleBytes * 8 * 1000 / static_cast<double>(grants.back() - grants[2]);
  }

  [[nodiscard]] std::map<unsigned, unsigned> counts(std::size_t from, std::size_t to) const {
    std::map<unsigned, unsigned> result;
    for (std::size_t i = from; i < to; ++i) {
      ++result[payload->items.at(i).item.function];
    }
    return result;
  }
};

// Round robin ----

TEST_P(tx_sched_functions, take_turns_however_many_qps_they_have) {
  for (unsigned i = 0; i < 30; ++i) {
    works.at(10, packets_of(1, 10, i));
  }
  works.at(10, packets_of(2, 300));
  works.at(10, packets_of(3, 300));
  bench.run(2000);
  ASSERT_EQ(payload->items.size(), 900U);
  // All three are there from cycle 42 on. Deficit round robin keeps them within a quantum and two
  // packets (Shreedhar and Varghese, 1995).
  std::map<unsigned, int> packets;
  for (std::size_t i = 40; i < 850; ++i) {
    ++packets[payload->items[i].item.function];
    for (const unsigned other : {1U, 2U, 3U}) {
      ASSERT_LE(std::abs(packets[1] - packets[other]), 3) << i;
    }
  }
  finish();
}

TEST_P(tx_sched_functions, share_bytes_of_the_wire_not_packets) {
  // Packets of 1 KiB are 1024 + 82 bytes on the wire, those of 4 KiB 4096 + 82: within a quantum
  // and two packets.
  work_item small = packets_of(1, 200);
  small.mtu_code = Mtu1024;
  works.at(10, std::move(small));
  works.at(10, packets_of(2, 200));
  bench.run(2000);
  ASSERT_EQ(payload->items.size(), 1000U);
  std::int64_t apart = 0;
  for (std::size_t i = 1; i < 500; ++i) {
    const packet_item& packet = payload->items[i].item;
    apart += (packet.function == 1 ? 1 : -1) * static_cast<std::int64_t>(packet.payload + Around);
    ASSERT_LE(std::abs(apart), 3 * std::int64_t{MiddleBytes}) << i;
  }
  finish();
}

TEST_P(tx_sched_functions, read_responses_count_for_the_share_of_their_function) {
  acknowledges.at(10, read_of(1, 200));
  works.at(10, packets_of(1, 200));
  works.at(10, packets_of(2, 200));
  bench.run(1000);
  ASSERT_EQ(payload->items.size(), 600U);
  const auto share = counts(2, 202);
  EXPECT_NEAR(share.at(1), 100, 2);
  EXPECT_NEAR(share.at(2), 100, 2);
  for (std::size_t i = 2; i < 202; ++i) {
    const packet_item& packet = payload->items[i].item;
    EXPECT_EQ(packet.source == packet_source::read_response, packet.function == 1)
        << "of a function the responses go first";
  }
  finish();
}

TEST_P(tx_sched_functions, wait_for_each_other_as_qps_do) {
  works.at(10, packets_of(1, 20));
  works.at(14, packets_of(2, 1));  // visible in 15
  bench.run(200);
  const trace_ref quiet = payload->items.at(grants_of(2).at(0) - 11).item.trace;
  EXPECT_EQ(waited_for(bench.context.trace, quiet, "weight"), (grants_of(2)[0] - 15) * 1000);
  EXPECT_LE(grants_of(2)[0], 16U);
  finish();
}

// A function may change its own port, by an address or a link state, as often as it likes: here in
// every second cycle, while each function sends one packet in three.
TEST_P(tx_sched_functions, keep_their_turns_when_ports_change_all_the_time) {
  ports_t how = four();
  for (std::uint16_t function = 1; function <= 3; ++function) {
    works.at(10, packets_of(function, 200));
  }
  bench.run(20);
  for (cycle_t t = 20; t < 320; t += 2) {
    how[1].sources = {vport::source{.valid = t % 4 == 0, .address = {}}};
    share(how, vport_arbitration::round_robin, t);
    bench.run(2);
  }
  // As without changes: within a quantum and two packets.
  const auto share_of = counts(0, 300);
  EXPECT_NEAR(share_of.at(1), 100, 3);
  EXPECT_NEAR(share_of.at(2), 100, 3);
  EXPECT_NEAR(share_of.count(3) == 0 ? 0 : share_of.at(3), 100, 3);
  bench.run(600);
  finish();
}

TEST_P(tx_sched_functions, keep_to_weights_when_ports_change_all_the_time) {
  ports_t how = four();
  how[2].weight = 3;
  share(how, vport_arbitration::weighted);
  works.at(10, packets_of(1, 400));
  works.at(10, packets_of(2, 400));
  bench.run(20);
  for (cycle_t t = 20; t < 420; t += 3) {
    how[1].sources = {vport::source{.valid = t % 2 == 0, .address = {}}};
    share(how, vport_arbitration::weighted, t);
    bench.run(3);
  }
  bench.run(10);
  const auto share_of = counts(10, 410);
  EXPECT_NEAR(share_of.at(1), 100, 4);
  EXPECT_NEAR(share_of.at(2), 300, 4);
  bench.run(600);
  finish();
}

/// payload_dma takes a packet in every 8th cycle only.
class tx_sched_quiet : public tx_sched_bench {
 protected:
  tx_sched_quiet()
      : tx_sched_bench({}, vport_table(std::vector<vport>(3, vport{.enabled = true}))) {
    plain_sinks(Period);
  }

  static constexpr cycle_t Period = 8;

  work_item message(std::uint16_t function, std::uint32_t qpn, std::uint32_t packets) {
    work_item work = fetched(qpn, packets * 4096);
    work.function = function;
    work.service = Uc;
    return work;
  }
};

// 64 QPs of function 1 with messages of 20 packets, more of them than there are slots, against one
// QP of function 2, while a place in payload_dma becomes free in every 8th cycle only. When a
// packet of function 2 is there, one of function 1 may be before it: the second place at the latest
// is its own, after 2 * 8 cycles.
TEST_P(tx_sched_quiet, a_quiet_function_waits_for_one_packet_of_a_noisy_one) {
  for (unsigned i = 0; i < 128; ++i) {
    works.at(10, message(1, 0x100 + i % 64, 20));
  }
  std::vector<cycle_t> there;
  for (unsigned i = 0; i < 40; ++i) {
    there.push_back(500 + i * 101 + 1);
    works.at(there.back() - 1, message(2, 0x200, 1));
  }
  bench.run(30000);
  std::vector<cycle_t> granted;
  for (const auto& each : payload->items) {
    if (each.item.function == 2) {
      granted.push_back(each.visible - 5);
    }
  }
  ASSERT_EQ(granted.size(), there.size());
  for (std::size_t i = 0; i < granted.size(); ++i) {
    EXPECT_LE(granted[i] - there[i], 2 * Period) << i;
  }
  EXPECT_EQ(payload->items.size(), 128U * 20 + 40);
  finish();
}

// By weight ----

TEST_P(tx_sched_functions, of_weights_one_and_three_share_one_to_three) {
  ports_t how = four();
  how[1].weight = 1;
  how[2].weight = 3;
  share(how, vport_arbitration::weighted);
  works.at(10, packets_of(1, 1000));
  for (unsigned i = 0; i < 4; ++i) {
    works.at(10, packets_of(2, 500, i));
  }
  bench.run(4000);
  ASSERT_EQ(payload->items.size(), 3000U);
  const auto share_of = counts(10, 1010);
  EXPECT_NEAR(share_of.at(1), 250, 5);  // 2 %
  EXPECT_NEAR(share_of.at(2), 750, 15);
  finish();
}

TEST_P(tx_sched_functions, by_weight_leave_what_they_do_not_need_to_the_others) {
  ports_t how = four();
  how[2].weight = 1000;
  share(how, vport_arbitration::weighted);
  works.at(10, packets_of(1, 50));
  works.at(20, packets_of(2, 5));
  bench.run(200);
  ASSERT_EQ(payload->items.size(), 55U);
  EXPECT_EQ(payload->items.back().visible, 11U + 54U + 5U) << "a grant in each cycle";
  EXPECT_LE(grants_of(2).back(), 26U) << "and of the weightier at once";
  finish();
}

TEST_P(tx_sched_quiet, weights_hold_when_places_in_payload_dma_are_what_is_scarce) {
  std::vector<vport> how(3, vport{.enabled = true});
  how[2].weight = 3;
  vports.write(0, vport_table(how, vport_arbitration::weighted));
  works.at(10, message(1, 0x100, 400));
  works.at(10, message(2, 0x200, 400));
  bench.run(Period * 450);
  unsigned weighty = 0;
  for (std::size_t i = 20; i < 420; ++i) {
    weighty += payload->items.at(i).item.function == 2 ? 1 : 0;
  }
  EXPECT_NEAR(weighty, 300, 6);  // 2 %
}

// By urgency ----

TEST_P(tx_sched_functions, of_the_highest_urgency_go_first_equal_ones_in_turn) {
  ports_t how = four();
  how[1].urgency = 1;
  how[2].urgency = 200;
  how[3].urgency = 200;
  share(how, vport_arbitration::strict);
  works.at(10, packets_of(1, 50));
  works.at(12, packets_of(2, 50));
  works.at(12, packets_of(3, 50));
  bench.run(400);
  const std::vector<unsigned> seen = order();
  ASSERT_EQ(seen.size(), 150U);
  EXPECT_EQ(counts(0, 2).at(1), 2U) << "alone in 11 and 12";
  EXPECT_EQ(counts(2, 102).count(1), 0U) << "starved";
  EXPECT_NEAR(counts(2, 52).at(2), 25, 1);
  EXPECT_EQ(counts(102, 150).at(1), 48U);
  finish();
}

TEST_P(tx_sched_functions, of_lower_urgency_use_what_the_higher_ones_cannot) {
  ports_t how = four();
  how[1].urgency = 1;
  how[2].urgency = 2;
  share(how, vport_arbitration::strict);
  // An inline packet of function 2 waits for the one before it, which is inside payload_dma.
  works.at(10, packets_of(2, 1));
  work_item past = in_line(qp_of(2), 8);
  past.function = 2;
  works.at(11, std::move(past));
  works.at(20, packets_of(1, 5));
  left->at(100, {{}, qp_of(2)});
  bench.run(300);
  EXPECT_EQ(grants_of(1).front(), 21U);
  EXPECT_EQ(direct->items.at(0).visible, 106U);
  finish();
}

// Rates ----

TEST_P(tx_sched_functions, send_at_their_rate_over_a_millisecond) {
  ports_t how = four();
  how[1].max_rate_mbps = 1000;
  how[2].max_rate_mbps = 10000;
  how[3].max_rate_mbps = 25000;
  share(how);
  for (std::uint16_t i = 0; i < 4; ++i) {
    works.at(10, packets_of(i, 600));
  }
  bench.run(1000000);
  EXPECT_NEAR(rate_of(1), 1000, 1);
  EXPECT_NEAR(rate_of(2), 10000, 10);
  EXPECT_NEAR(rate_of(3), 25000, 25);
  EXPECT_EQ(grants_of(0).size(), 600U);
  EXPECT_LE(grants_of(0).back(), 10U + 600 + 20) << "the one without a limit hardly notices";
}

TEST_P(tx_sched_functions, at_a_limit_wait_for_their_rate_by_name) {
  ports_t how = four();
  how[1].max_rate_mbps = 8000;  // 1 byte a nanosecond
  share(how);
  works.at(10, packets_of(1, 3));
  bench.run(10000);
  // The bucket has 4222 bytes. 11: 28 are left; 12: 29 - 4178; paid after 4149 cycles, open in the
  // next one.
  EXPECT_EQ(grants_of(1), (std::vector<cycle_t>{11, 12, 12 + MiddleBytes - 29 + 1}));
  EXPECT_EQ(waited_for(bench.context.trace, payload->items.at(2).item.trace, "rate"), 4150000U);
  finish();
}

TEST_P(tx_sched_functions, count_acknowledges_for_their_rate_and_never_hold_them_back) {
  ports_t how = four();
  how[1].max_rate_mbps = 8000;
  share(how);
  works.at(10, packets_of(1, 3));
  for (unsigned i = 0; i < 10; ++i) {
    response_item item = acknowledge(i, qp_of(1, 1 + i));
    item.function = 1;
    acknowledges.at(2000 + i, item);
  }
  bench.run(10000);
  ASSERT_EQ(direct->items.size(), 10U);
  for (unsigned i = 0; i < 10; ++i) {
    EXPECT_EQ(direct->items[i].visible, 2006U + i);
  }
  // 62 bytes of frame with ICRC, FCS and 20: 86 each.
  EXPECT_EQ(grants_of(1).at(2), 12 + MiddleBytes - 29 + 10 * 86 + 1);
  finish();
}

TEST_P(tx_sched_functions, with_a_new_rate_wait_for_the_rest_at_that_rate) {
  ports_t how = four();
  how[1].max_rate_mbps = 1;
  share(how);
  works.at(10, packets_of(1, 3));
  bench.run(1000);
  how[1].max_rate_mbps = 10000;
  share(how, vport_arbitration::round_robin, 1000);  // seen in 1001
  bench.run(20000);
  // 4150 bytes owed, of which 990 ns at 1/8000 byte a nanosecond have paid an eighth; then 1.25.
  EXPECT_EQ(grants_of(1).at(2), 1001U + 3320U);
  finish();
}

TEST_P(tx_sched_functions, without_their_limit_go_on_at_once) {
  ports_t how = four();
  how[1].max_rate_mbps = 1;
  share(how);
  works.at(10, packets_of(1, 3));
  bench.run(1000);
  share(four(), vport_arbitration::round_robin, 1000);
  bench.run(2000);
  EXPECT_EQ(grants_of(1).at(2), 1001U);
  finish();
}

class tx_sched_limited : public tx_sched_functions {};

TEST_P(tx_sched_limited, a_function_blocks_no_other_whatever_the_arbitration) {
  ports_t how = four();
  how[1].max_rate_mbps = 100;
  how[1].urgency = 9;
  how[1].weight = 9;
  const cycle_t each = 20000;
  for (const auto by :
       {vport_arbitration::round_robin, vport_arbitration::weighted, vport_arbitration::strict}) {
    const cycle_t begin = 10 + each * static_cast<cycle_t>(by);
    share(how, by, begin - 10);
    for (unsigned i = 0; i < 100; ++i) {
      works.at(begin, packets_of(1, 2, i));
    }
    works.at(begin + 200, packets_of(2, 100));
    bench.run(each);
    const std::vector<cycle_t> grants = grants_of(2);
    ASSERT_EQ(grants.size(), 100U * (static_cast<unsigned>(by) + 1));
    EXPECT_LE(grants.back(), begin + 200 + 102) << "all but a packet or two at once";
    EXPECT_LE(grants_of(1).size(), 6U);
  }
}

TEST_P(tx_sched_limited, a_reset_takes_a_waiting_qp_out) {
  ports_t how = four();
  how[1].max_rate_mbps = 1;
  share(how);
  works.at(10, packets_of(1, 3));
  acknowledges.at(20, read_of(1, 3));
  commands.at(100, command(qp_of(1), qp_state::Reset));
  commands.at(101, command(qp_of(1, 0x80), qp_state::Reset));
  works.at(110, packets_of(2, 3));
  bench.run(40000000);
  EXPECT_EQ(grants_of(1).size(), 2U);
  EXPECT_EQ(grants_of(2), (std::vector<cycle_t>{111, 112, 113}));
  EXPECT_EQ(bench.count(counter::WqeDroppedState), 1U);
  finish();
}

// Lives and answers ----

TEST_P(tx_sched_functions, packets_carry_how_often_their_qp_was_reset) {
  commands.at(1, command(qp_of(1), qp_state::Reset));
  commands.at(2, command(qp_of(1), qp_state::Rts));
  works.at(10, again(packets_of(1, 1), first_epoch(1)));
  commands.at(20, command(qp_of(1, 0x80), qp_state::Reset));
  commands.at(21, command(qp_of(1, 0x80), qp_state::Reset));
  commands.at(22, command(qp_of(1, 0x80), qp_state::Rtr));
  acknowledges.at(30, read_of(1, 1));
  bench.run(100);
  ASSERT_EQ(payload->items.size(), 2U);
  EXPECT_EQ(payload->items[0].item.life, 1U);
  EXPECT_EQ(payload->items[1].item.life, 2U);
  finish();
}

TEST_P(tx_sched_functions, say_when_the_last_response_to_a_saved_request_has_left) {
  response_item item = read_of(1, 2);
  item.saved = true;
  item.generation = 7;
  acknowledges.at(10, item);
  acknowledges.at(11, read_of(1, 1));  // a replay
  item.kind = response_kind::atomic;
  item.generation = 8;
  acknowledges.at(12, item);
  for (const cycle_t at : {50U, 60U, 70U}) {
    payload_left note = left_with(0, dma_status::ok, true);
    note.qpn = qp_of(1, 0x80);
    left->at(at, note);  // taken in the next cycle
  }
  bench.run(200);
  ASSERT_EQ(answered.items.size(), 2U);
  EXPECT_EQ(answered.items[0].visible, 62U) << "with the second packet";
  EXPECT_EQ(answered.items[0].item.generation, 7U);
  EXPECT_EQ(answered.items[1].visible, 72U) << "the result goes when the data before it has left";
  EXPECT_EQ(answered.items[1].item.generation, 8U);
  finish();
}

INSTANTIATE_TEST_SUITE_P(shuffle, tx_sched_functions, testing::Values(0, 1, 2));
INSTANTIATE_TEST_SUITE_P(shuffle, tx_sched_limited, testing::Values(0, 1, 2));
INSTANTIATE_TEST_SUITE_P(shuffle, tx_sched_quiet, testing::Values(0, 1, 2));

}  // namespace
}  // namespace carillon
