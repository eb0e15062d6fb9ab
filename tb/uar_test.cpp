// uar: ten cycles to the doorbell, for the owner only, and nobody waits for anybody else.
#include "uar.h"

#include <gtest/gtest.h>

#include "common/stage_bench.h"
#include "gen/contexts.h"
#include "gen/wqe.h"

namespace carillon {
namespace {

using bench::chain_of;
using bench::context_lines;
using bench::sink;
using bench::source;
using bench::stage_bench;
using bench::waited_for;

constexpr std::uint32_t Bf = uar_page::BfBuffer;
constexpr std::uint64_t PageSize = uar_page::Size;

class uar_bench : public testing::TestWithParam<int> {
 protected:
  uar_bench() : bench(static_cast<std::uint64_t>(GetParam())) {
    ram.serve(requests, lines);
    own(0x123, 1, 2);
    own(0x124, 1, 3);
    own(0x200, 2, 2);
  }

  void own(std::uint32_t qpn, std::uint16_t function, std::uint32_t page, bool exists = true) {
    qpc_common common;
    common.valid = exists ? 1 : 0;
    common.function_id = function;
    common.uar_page = page;
    common.state = qp_state::Rts;
    ram.set(context_kind::qpc_common, qpn, common);
  }

  static ctrl_seg control(std::uint32_t qpn, std::uint16_t index, std::uint8_t ds) {
    ctrl_seg segment;
    segment.qpn = qpn;
    segment.wqe_index = index;
    segment.ds = ds;
    segment.opcode = wqe_opcode::RdmaWrite;
    return segment;
  }

  static mmio_write store(std::uint16_t function, std::uint32_t page, std::uint32_t offset,
                          std::uint16_t length, const ctrl_seg& segment) {
    mmio_write item;
    item.function = function;
    item.bar = 2;
    item.offset = page * PageSize + offset;
    item.length = length;
    item.data.fill(0x66);
    segment.pack(item.data.data());
    return item;
  }

  /// What is in bytes `from`... of a WQE whose first 16 bytes are `segment`.
  static mmio_write line(std::uint16_t function, std::uint32_t page, std::uint32_t from,
                         std::uint16_t length, const ctrl_seg& segment) {
    mmio_write item = store(function, page, Bf + from, length, segment);
    if (from != 0) {
      item.data.fill(0x77);
    }
    return item;
  }

  /// A store of these bytes, as they are on the bus.
  static mmio_write store(std::uint16_t function, std::uint32_t page, std::uint32_t offset,
                          std::initializer_list<std::uint8_t> bytes) {
    mmio_write item;
    item.function = function;
    item.bar = 2;
    item.offset = page * PageSize + offset;
    item.length = static_cast<std::uint16_t>(bytes.size());
    std::copy(bytes.begin(), bytes.end(), item.data.begin());
    return item;
  }

  static mmio_read load(std::uint16_t function, std::uint32_t page, std::uint32_t offset,
                        std::uint16_t length, std::uint16_t tag = 9) {
    mmio_read item;
    item.function = function;
    item.bar = 2;
    item.offset = page * PageSize + offset;
    item.length = length;
    item.requester = 0x18;
    item.tag = tag;
    return item;
  }

  static std::uint64_t value(const mmio_answer& answer) {
    std::uint64_t result = 0;
    for (unsigned i = 0; i < answer.length; ++i) {
      result = result << 8 | answer.data[i];
    }
    return result;
  }

  /// Functions 0 to 15 after so many resets; `resetting` is being reset, 0: nobody.
  static function_map of_functions(std::uint32_t resets, std::uint16_t resetting = 0) {
    function_map map;
    map.vfs = 15;
    map.functions.resize(16);
    map.functions[resetting].resetting = resetting != 0;
    map.resets = resets;
    return map;
  }

  /// From cycle `begin` to `begin` + 100.
  void reset(std::uint16_t function, cycle_t begin) {
    bench.run(begin);
    functions.write(begin, of_functions(1, function));
    bench.run(100);
    functions.write(begin + 100, of_functions(1));
  }

  void finish(cycle_t cycles) {
    bench.run(cycles);
    bench.context.check_drained();
  }

  stage_bench bench;
  stream<mmio_write>& writes = bench.port<mmio_write>("pcie_rx.uar_write", 64);
  stream<mmio_read>& reads = bench.port<mmio_read>("pcie_rx.uar_read", 8);
  stream<mmio_answer>& answers = bench.port<mmio_answer>("uar.answer");
  stream<context_read>& requests = bench.port<context_read>("uar.context_read", 8);
  stream<context_line>& lines = bench.port<context_line>("qpc_ram.uar_line");
  stream<doorbell>& doorbells = bench.port<doorbell>("uar.doorbell");
  stream<queue_doorbell>& queue_doorbells = bench.port<queue_doorbell>("uar.queue_doorbell");
  source<mmio_write> host{"host", bench, writes};
  source<mmio_read> reader{"reader", bench, reads};
  sink<mmio_answer> answered{"answered", bench, answers};
  context_lines ram{"ram", bench};
  level<function_map> functions{bench.context.clock, "functions", of_functions(0)};
  uar dut{"uar",
          bench.nic,
          {writes, reads, answers, requests, lines, doorbells, queue_doorbells, &functions}};
};

TEST_P(uar_bench, a_doorbell_takes_ten_cycles) {
  sink<doorbell> fetch("fetch", bench, doorbells);
  host.at(10, store(1, 2, 0, 8, control(0x123, 0xfffe, 7)));  // visible in 11
  finish(100);
  ASSERT_EQ(fetch.items.size(), 1U);
  EXPECT_EQ(fetch.items[0].visible, 21U);
  const doorbell& bell = fetch.items[0].item;
  EXPECT_EQ(bell.function, 1U);
  EXPECT_EQ(bell.qpn, 0x123U);
  EXPECT_EQ(bell.wqe_index, 0xfffeU);
  EXPECT_EQ(bell.ds, 7U);
  EXPECT_FALSE(bell.blueflame);
  EXPECT_EQ(bench.count(counter::Doorbells), 1U);
  for (const span& each : chain_of(bench.context.trace, bell.trace)) {
    EXPECT_EQ(each.kind, span_kind::service);
  }
}

TEST_P(uar_bench, a_BlueFlame_WQE_is_seen_in_the_ninth_so_that_it_leaves_in_the_tenth) {
  sink<doorbell> fetch("fetch", bench, doorbells);
  const ctrl_seg segment = control(0x123, 4, 3);
  host.at(10, line(1, 2, 0, 64, segment));
  finish(100);
  ASSERT_EQ(fetch.items.size(), 1U);
  EXPECT_EQ(fetch.items[0].visible, 20U);
  const doorbell& bell = fetch.items[0].item;
  EXPECT_TRUE(bell.blueflame);
  EXPECT_EQ(bell.wqe_index, 4U);
  const mmio_write written = line(1, 2, 0, 64, segment);
  EXPECT_TRUE(std::equal(written.data.begin(), written.data.end(), bell.wqe.data()));
  EXPECT_EQ(bench.count(counter::BfOk), 1U);
}

TEST_P(uar_bench, a_burst_counts_from_its_last_chunk) {
  sink<doorbell> fetch("fetch", bench, doorbells);
  host.at(10, line(1, 2, 32, 32, control(0x123, 4, 3)));
  host.at(50, line(1, 2, 0, 32, control(0x123, 4, 3)));
  finish(100);
  ASSERT_EQ(fetch.items.size(), 1U);
  EXPECT_EQ(fetch.items[0].visible, 60U);
  EXPECT_EQ(fetch.items[0].item.wqe.data()[31], 0x66U);
  EXPECT_EQ(fetch.items[0].item.wqe.data()[32], 0x77U);
}

TEST_P(uar_bench, only_the_owners_doorbells_pass) {
  sink<doorbell> fetch("fetch", bench, doorbells);
  own(0x300, 1, 2, false);                               // a context that is not valid
  host.at(10, store(2, 2, 0, 8, control(0x123, 1, 4)));  // another function
  host.at(11, store(1, 3, 0, 8, control(0x123, 1, 4)));  // another page
  host.at(12, store(1, 2, 0, 8, control(0x300, 1, 4)));
  host.at(13, store(1, 2, 0, 8, control(0xffffff, 1, 4)));  // no such QP
  host.at(14, line(1, 3, 0, 64, control(0x123, 1, 4)));     // BlueFlame is no way around
  host.at(15, store(1, 2, 0, 8, control(0x123, 2, 4)));
  finish(100);
  ASSERT_EQ(fetch.items.size(), 1U);
  EXPECT_EQ(fetch.items[0].item.wqe_index, 2U);
  EXPECT_EQ(bench.count(counter::DbIgnoredOwner), 5U);
  EXPECT_EQ(bench.count(counter::Doorbells), 1U);
  EXPECT_EQ(bench.nic.counters.value_for(2, counter::DbIgnoredOwner), 1U) << "who rang";
  EXPECT_EQ(bench.nic.counters.value_for(1, counter::DbIgnoredOwner), 4U);
  EXPECT_EQ(bench.nic.counters.value_for(1, counter::Doorbells), 1U);
}

TEST_P(uar_bench, a_qp_is_looked_up_on_behalf_of_the_function_that_rang) {
  sink<doorbell> fetch("fetch", bench, doorbells);
  host.at(10, store(2, 2, 0, 8, control(0x123, 1, 4)));  // function 1 owns it
  finish(100);
  EXPECT_TRUE(ram.all_asked_for(2));
}

TEST_P(uar_bench, doorbells_of_all_functions_pass_one_a_cycle) {
  sink<doorbell> fetch("fetch", bench, doorbells);
  const std::array<mmio_write, 3> kinds = {store(1, 2, 0, 8, control(0x123, 1, 4)),
                                           store(1, 3, 0, 8, control(0x124, 1, 4)),
                                           store(2, 2, 0, 8, control(0x200, 1, 4))};
  for (cycle_t t = 0; t < 90; ++t) {
    host.at(10 + t, kinds[t % 3]);
  }
  finish(300);
  ASSERT_EQ(fetch.items.size(), 90U);
  for (cycle_t t = 0; t < 90; ++t) {
    EXPECT_EQ(fetch.items[t].visible, 21 + t);
    EXPECT_EQ(fetch.items[t].item.qpn, t % 3 == 0 ? 0x123U : t % 3 == 1 ? 0x124U : 0x200U);
  }
}

TEST_P(uar_bench, a_slow_taker_delays_but_loses_nothing) {
  sink<doorbell> fetch("fetch", bench, doorbells, 7);
  for (std::uint16_t n = 0; n < 200; ++n) {
    host.at(10, n % 2 == 0 ? store(1, 2, 0, 8, control(0x123, n, 4))
                           : line(1, 3, 0, 64, control(0x124, n, 4)));
  }
  finish(3000);
  ASSERT_EQ(fetch.items.size(), 200U);
  for (std::uint16_t n = 0; n < 200; ++n) {
    EXPECT_EQ(fetch.items[n].item.wqe_index, n);
  }
  const trace_ref last = fetch.items[199].item.trace;
  EXPECT_GT(waited_for(bench.context.trace, last, "lookups") +
                waited_for(bench.context.trace, last, "credit:uar.doorbell"),
            0U);
}

TEST_P(uar_bench, an_incomplete_burst_rings_at_the_timeout) {
  sink<doorbell> fetch("fetch", bench, doorbells);
  host.at(10, line(1, 2, 0, 32, control(0x123, 4, 3)));  // taken in 11, times out in 1011
  finish(2000);
  ASSERT_EQ(fetch.items.size(), 1U);
  EXPECT_EQ(fetch.items[0].visible, 1021U);
  EXPECT_FALSE(fetch.items[0].item.blueflame);
  EXPECT_EQ(waited_for(bench.context.trace, fetch.items[0].item.trace, "burst"), 1000'000U);
  EXPECT_EQ(bench.count(counter::BfDiscardedTimeout), 1U);
  EXPECT_EQ(bench.count(counter::Doorbells), 1U);
}

TEST_P(uar_bench, bursts_that_time_out_together_look_up_one_after_the_other) {
  sink<doorbell> fetch("fetch", bench, doorbells);
  for (std::uint32_t page = 0; page < 16; ++page) {
    own(0x400 + page, 5, page);
    host.at(10 + page, line(5, page, 0, 32, control(0x400 + page, 4, 3)));
  }
  // One more write every cycle around the timeouts, so that both want the port to the context RAM.
  for (cycle_t t = 0; t < 30; ++t) {
    host.at(1005 + t, store(1, 2, 0, 8, control(0x123, static_cast<std::uint16_t>(t), 4)));
  }
  finish(3000);
  EXPECT_EQ(fetch.items.size(), 46U);
  EXPECT_EQ(bench.count(counter::BfDiscardedTimeout), 16U);
  EXPECT_EQ(bench.count(counter::Doorbells), 46U);
  ps_t waited = 0;
  for (const auto& each : fetch.items) {
    waited += waited_for(bench.context.trace, each.item.trace, "credit:lookup");
  }
  EXPECT_GT(waited, 0U);
}

TEST_P(uar_bench, DB_REC_reads_as_the_last_accepted_value_and_BF_BUFFER_as_zero) {
  sink<doorbell> fetch("fetch", bench, doorbells);
  host.at(10, store(1, 2, 0, 8, control(0x123, 5, 4)));
  host.at(11, store(1, 2, 0, 8, control(0x200, 6, 4)));  // not the owner: nothing to see of it
  host.at(12, line(1, 2, 0, 64, control(0x123, 7, 2)));
  reader.at(100, load(1, 2, 0, 8));
  reader.at(101, load(1, 2, 0, 4));
  reader.at(102, load(1, 2, 4, 4));
  reader.at(103, load(1, 2, Bf, 8));
  reader.at(104, load(1, 3, 0, 8));
  reader.at(105, load(1, 2, 0x20, 8));
  finish(300);
  ASSERT_EQ(answered.items.size(), 6U);
  // opmod 0, index 7, opcode 8; QP 0x123, ds 2
  const std::array<std::uint64_t, 6> expected = {
      0x0000070800012302U, 0x00000708U, 0x00012302U, 0, 0, 0};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(value(answered.items[i].item), expected[i]) << i;
    EXPECT_EQ(answered.items[i].visible, 111 + i);
  }
  const mmio_answer& half = answered.items[2].item;
  EXPECT_EQ(half.function, 1U);
  EXPECT_EQ(half.requester, 0x18U);
  EXPECT_EQ(half.tag, 9U);
  EXPECT_EQ(half.status, 0U);
  EXPECT_EQ(half.length, 4U);
  EXPECT_EQ(half.lower_address, 4U);
}

TEST_P(uar_bench, a_read_sees_every_write_before_it) {
  sink<doorbell> fetch("fetch", bench, doorbells);
  host.at(10, store(1, 2, 0, 8, control(0x123, 5, 4)));
  reader.at(11, load(1, 2, 0, 8));  // visible in 12; the doorbell is accepted in 16
  host.at(12, store(1, 2, 0, 8, control(0x123, 6, 4)));  // later ones do not hold it up
  finish(300);
  ASSERT_EQ(answered.items.size(), 1U);
  EXPECT_EQ(value(answered.items[0].item), 0x0000050800012304U);
  EXPECT_EQ(answered.items[0].visible, 26U);
  EXPECT_EQ(waited_for(bench.context.trace, answered.items[0].item.trace, "posted_writes"), 4000U);
}

TEST_P(uar_bench, reads_behind_writes_that_wait_at_the_port_see_them) {
  sink<doorbell> fetch("fetch", bench, doorbells, 20);
  for (std::uint16_t n = 0; n < 60; ++n) {
    host.at(10 + n, store(1, 2, 0, 8, control(0x123, n, 4)));
  }
  reader.at(70, load(1, 2, 0, 8));
  finish(4000);
  ASSERT_EQ(answered.items.size(), 1U);
  EXPECT_EQ(value(answered.items[0].item) >> 40, 59U);
}

// Function-level reset

TEST_P(uar_bench, the_next_user_of_a_function_finds_nothing_of_the_one_before) {
  sink<doorbell> fetch("fetch", bench, doorbells);
  host.at(10, store(1, 2, 0, 8, control(0x123, 5, 4)));
  host.at(11, store(2, 2, 0, 8, control(0x200, 6, 4)));
  host.at(12, line(1, 2, 0, 64, control(0x123, 6, 8)));  // half a burst, too
  host.at(13, store(1, 3, 0, 4, control(0x124, 7, 4)));  // and half a doorbell
  reset(1, 50);
  reader.at(200, load(1, 2, 0, 8));
  reader.at(201, load(2, 2, 0, 8));
  host.at(210, store(1, 3, 4, {0, 1, 0x24, 4}));  // a second half without a first
  finish(3000);
  ASSERT_EQ(answered.items.size(), 2U);
  EXPECT_EQ(value(answered.items[0].item), 0U);
  EXPECT_NE(value(answered.items[1].item), 0U) << "the others keep theirs";
  EXPECT_EQ(fetch.items.size(), 2U) << "neither half ever rings";
  EXPECT_EQ(bench.count(counter::DbIgnoredSize), 1U);
}

TEST_P(uar_bench, what_a_function_has_on_the_way_when_its_reset_begins_is_nothing) {
  sink<doorbell> fetch("fetch", bench, doorbells);
  host.at(47, store(1, 2, 0, 8, control(0x123, 5, 4)));  // its lookup is under way
  host.at(48, store(2, 2, 0, 8, control(0x200, 6, 4)));
  host.at(60, store(1, 2, 0, 8, control(0x123, 6, 4)));  // it was before the reset, at the BAR
  reset(1, 50);
  reader.at(200, load(1, 2, 0, 8));
  finish(300);
  ASSERT_EQ(fetch.items.size(), 1U);
  EXPECT_EQ(fetch.items[0].item.qpn, 0x200U);
  EXPECT_EQ(value(answered.items.at(0).item), 0U);
  EXPECT_EQ(bench.nic.counters.value_for(1, counter::DbIgnoredOwner), 2U);
}

// mlx5: the CQ doorbell is 8 bytes at 0x20: sequence number in bits 29:28, bit 24 for solicited
// completions only, the consumer index; then the CQ's number.
TEST_P(uar_bench, a_CQ_doorbell_reaches_completion_after_five_cycles) {
  sink<queue_doorbell> completion("completion", bench, queue_doorbells);
  host.at(10, store(1, 2, 0x20, {0x21, 0x12, 0x34, 0x56, 0, 0xab, 0xcd, 0xef}));  // visible in 11
  host.at(20, store(3, 4, 0x20, {0x10, 0, 0, 7, 0, 0, 0, 9}));
  finish(100);
  ASSERT_EQ(completion.items.size(), 2U);
  EXPECT_EQ(completion.items[0].visible, 16U);
  const queue_doorbell& first = completion.items[0].item;
  EXPECT_FALSE(first.eq);
  EXPECT_EQ(first.function, 1U);
  EXPECT_EQ(first.uar_page, 2U);
  EXPECT_EQ(first.arm_sn, 2U);
  EXPECT_TRUE(first.solicited_only);
  EXPECT_EQ(first.consumer_index, 0x123456U);
  EXPECT_EQ(first.number, 0xabcdefU);
  const queue_doorbell& second = completion.items[1].item;
  EXPECT_EQ(second.function, 3U);
  EXPECT_EQ(second.uar_page, 4U);
  EXPECT_EQ(second.arm_sn, 1U);
  EXPECT_FALSE(second.solicited_only);
  EXPECT_EQ(second.consumer_index, 7U);
  EXPECT_EQ(second.number, 9U);
  EXPECT_EQ(bench.count(counter::DbIgnoredSize), 0U);
  for (const span& each : chain_of(bench.context.trace, first.trace)) {
    EXPECT_EQ(each.kind, span_kind::service);
  }
}

// mlx5: the EQ doorbells are 4 bytes, EQ number and consumer index; 0x40 arms, 0x48 does not.
TEST_P(uar_bench, an_EQ_doorbell_arms_or_not_by_its_place) {
  sink<queue_doorbell> completion("completion", bench, queue_doorbells);
  host.at(10, store(1, 2, 0x40, {0x05, 0x12, 0x34, 0x56}));
  host.at(11, store(1, 2, 0x48, {0xff, 0x00, 0x00, 0x01}));
  finish(100);
  ASSERT_EQ(completion.items.size(), 2U);
  const queue_doorbell& arming = completion.items[0].item;
  EXPECT_TRUE(arming.eq);
  EXPECT_TRUE(arming.arm);
  EXPECT_EQ(arming.number, 5U);
  EXPECT_EQ(arming.consumer_index, 0x123456U);
  const queue_doorbell& moving = completion.items[1].item;
  EXPECT_TRUE(moving.eq);
  EXPECT_FALSE(moving.arm);
  EXPECT_EQ(moving.number, 0xffU);
  EXPECT_EQ(moving.consumer_index, 1U);
  EXPECT_EQ(bench.count(counter::DbIgnoredSize), 0U);
}

TEST_P(uar_bench, CQ_and_EQ_doorbells_of_another_size_or_place_are_counted_and_ignored) {
  sink<queue_doorbell> completion("completion", bench, queue_doorbells);
  sink<doorbell> fetch("fetch", bench, doorbells);
  const std::array<std::pair<std::uint32_t, std::uint16_t>, 10> wrong = {{
      {0x20, 4},
      {0x24, 4},
      {0x20, 16},
      {0x24, 8},
      {0x28, 8},
      {0x40, 8},
      {0x40, 2},
      {0x44, 4},
      {0x48, 8},
      {0x4c, 4},
  }};
  for (const auto& [offset, length] : wrong) {
    host.at(10, store(1, 2, offset, length, control(0x123, 1, 4)));
  }
  finish(100);
  EXPECT_TRUE(completion.items.empty());
  EXPECT_TRUE(fetch.items.empty());
  EXPECT_EQ(bench.count(counter::DbIgnoredSize), wrong.size());
}

TEST_P(uar_bench, doorbells_of_all_kinds_pass_one_a_cycle) {
  sink<queue_doorbell> completion("completion", bench, queue_doorbells);
  sink<doorbell> fetch("fetch", bench, doorbells);
  const std::array<mmio_write, 3> kinds = {store(1, 2, 0, 8, control(0x123, 1, 4)),
                                           store(1, 2, 0x20, {0, 0, 0, 0, 0, 0, 0, 1}),
                                           store(2, 2, 0x48, {1, 0, 0, 0})};
  for (cycle_t t = 0; t < 90; ++t) {
    host.at(10 + t, kinds[t % 3]);
  }
  finish(300);
  ASSERT_EQ(fetch.items.size(), 30U);
  ASSERT_EQ(completion.items.size(), 60U);
  for (cycle_t i = 0; i < 30; ++i) {
    EXPECT_EQ(fetch.items[i].visible, 21 + 3 * i);
    EXPECT_EQ(completion.items[2 * i].visible, 17 + 3 * i);
    EXPECT_EQ(completion.items[2 * i + 1].visible, 18 + 3 * i);
  }
}

TEST_P(uar_bench, a_slow_completion_delays_but_loses_nothing) {
  sink<queue_doorbell> completion("completion", bench, queue_doorbells, 7);
  for (std::uint8_t n = 0; n < 100; ++n) {
    host.at(10, store(1, 2, 0x20, {0, 0, 0, n, 0, 0, 0, 1}));
  }
  finish(3000);
  ASSERT_EQ(completion.items.size(), 100U);
  for (std::uint32_t n = 0; n < 100; ++n) {
    EXPECT_EQ(completion.items[n].item.consumer_index, n);
  }
  EXPECT_GT(
      waited_for(bench.context.trace, completion.items[99].item.trace, "credit:uar.queue_doorbell"),
      0U);
}

TEST_P(uar_bench, CQ_and_EQ_doorbells_read_as_zero) {
  host.at(10, store(1, 2, 0x20, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}));
  sink<queue_doorbell> completion("completion", bench, queue_doorbells);
  reader.at(50, load(1, 2, 0x20, 8));
  finish(100);
  ASSERT_EQ(answered.items.size(), 1U);
  EXPECT_EQ(value(answered.items[0].item), 0U);
}

INSTANTIATE_TEST_SUITE_P(shuffle, uar_bench, testing::Values(0, 77, 4242));

}  // namespace
}  // namespace carillon
