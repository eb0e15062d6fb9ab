// qpc_ram with its lines in host memory: a cache that nobody can tell from a RAM but by the time it
// takes.
#include <algorithm>
#include <gtest/gtest.h>

#include "common/icm_bench.h"

namespace carillon {
namespace {

using bench::common_line;
using bench::filled;
using bench::icm_bench;
using bench::read_of;
using bench::state_in;

constexpr auto Cq = context_kind::cqc;
constexpr auto Key = context_kind::mkey;
constexpr auto Common = context_kind::qpc_common;

/// Cycles of nanoseconds.
constexpr ps_t Cycle = 1000;

class qpc_ram_icm : public testing::TestWithParam<int> {
 protected:
  icm_bench& make(const icm_bench::shape& cache = {}, cycle_t period = 1,
                  std::uint64_t base = icm_bench::Base) {
    bench_ =
        std::make_unique<icm_bench>(static_cast<std::uint64_t>(GetParam()), cache, period, base);
    return *bench_;
  }

 private:
  std::unique_ptr<icm_bench> bench_;
};

TEST_P(qpc_ram_icm, a_hit_takes_five_cycles_like_a_read_of_the_ram) {
  icm_bench& b = make();
  b.writers[0]->at(1, filled(Cq, 3, 0x5a));
  b.ask(0, 10, Cq, 3);
  b.finish(100);
  EXPECT_EQ(b.line(0).visible, 15U);
  EXPECT_EQ(b.line(0).item.data, filled(Cq, 3, 0x5a).data);
  EXPECT_EQ(b.count(counter::IcmHits), 1U);
  EXPECT_TRUE(b.memory.read.empty());
}

// Asked for in cycle 10, at the RAM in 11 (hop 1), at the DMA engine in 15 (its request hop 4),
// answered after 100 in 115, visible in 119 (RAM 4).
TEST_P(qpc_ram_icm, a_miss_adds_the_request_hop_and_the_time_of_the_memory) {
  icm_bench& b = make();
  b.put(filled(Cq, 3, 0x5a));
  b.ask(0, 10, Cq, 3);
  b.finish(1000);
  EXPECT_EQ(b.line(0).visible, 119U);
  EXPECT_EQ(b.line(0).item.data, filled(Cq, 3, 0x5a).data);
  EXPECT_TRUE(b.line(0).item.valid);
  EXPECT_EQ(b.waited(0, 0, "icm_miss"), 104 * Cycle);
  EXPECT_EQ(b.count(counter::IcmMisses), 1U);
}

TEST_P(qpc_ram_icm, a_line_that_came_is_a_hit_afterwards) {
  icm_bench& b = make();
  b.put(filled(Key, 31, 0x77));
  b.ask(0, 10, Key, 31);
  b.ask(1, 200, Key, 31);
  b.finish(1000);
  EXPECT_EQ(b.line(1).visible, 205U);
  EXPECT_EQ(b.line(1).item.data, filled(Key, 31, 0x77).data);
  EXPECT_EQ(b.memory.read.size(), 1U);
}

TEST_P(qpc_ram_icm, memory_is_read_and_written_on_behalf_of_the_pf) {
  icm_bench& b = make({1, 1, 4});
  b.writers[0]->at(1, filled(Cq, 1, 1));
  b.ask(0, 10, Cq, 2, 5);
  b.finish(1000);
  ASSERT_EQ(b.memory.read.size(), 1U);
  ASSERT_EQ(b.memory.written.size(), 1U);
  EXPECT_EQ(b.memory.read[0].function, 0U);
  EXPECT_EQ(b.memory.written[0].function, 0U);
}

TEST_P(qpc_ram_icm, a_written_line_needs_no_read_and_goes_back_when_it_makes_room) {
  icm_bench& b = make({1, 1, 4});
  b.writers[0]->at(1, filled(Cq, 1, 0x11));
  b.writers[0]->at(50, filled(Key, 2, 0x22));
  b.finish(1000);
  EXPECT_TRUE(b.memory.read.empty());
  ASSERT_EQ(b.memory.written.size(), 1U);
  EXPECT_EQ(b.memory.written[0].address, icm_bench::address(Cq, 1));
  EXPECT_EQ(b.memory.lines[icm_bench::address(Cq, 1)], filled(Cq, 1, 0x11).data);
  EXPECT_EQ(b.count(counter::IcmEvictions), 1U);
  EXPECT_EQ(b.count(counter::IcmWriteBacks), 1U);
}

TEST_P(qpc_ram_icm, a_line_as_memory_has_it_is_not_written_back) {
  icm_bench& b = make({1, 1, 4});
  b.ask(0, 10, Cq, 1);
  b.ask(0, 200, Cq, 2);
  b.finish(1000);
  EXPECT_TRUE(b.memory.written.empty());
  EXPECT_EQ(b.count(counter::IcmEvictions), 1U);
}

TEST_P(qpc_ram_icm, the_line_least_recently_used_makes_room) {
  icm_bench& b = make({2, 2, 4});
  b.ask(0, 10, Cq, 1);
  b.ask(0, 200, Cq, 2);
  b.ask(0, 400, Cq, 1);  // used again
  b.ask(0, 600, Cq, 3);  // instead of 2
  b.ask(0, 800, Cq, 1);
  b.ask(0, 1000, Cq, 2);
  b.finish(2000);
  std::vector<std::uint64_t> read;
  for (const auto& each : b.memory.read) {
    read.push_back(each.address);
  }
  EXPECT_EQ(read, (std::vector{icm_bench::address(Cq, 1), icm_bench::address(Cq, 2),
                               icm_bench::address(Cq, 3), icm_bench::address(Cq, 2)}));
  EXPECT_EQ(b.line(0, 4).visible, 805U);
}

TEST_P(qpc_ram_icm, misses_of_one_line_are_one_read) {
  icm_bench& b = make();
  b.put(filled(Cq, 3, 0x5a));
  b.ask(0, 10, Cq, 3);
  b.ask(1, 10, Cq, 3);
  b.ask(2, 50, Cq, 3);
  b.finish(1000);
  EXPECT_EQ(b.memory.read.size(), 1U);
  EXPECT_EQ(b.count(counter::IcmMerges), 2U);
  // Two reads a cycle when the line is there.
  EXPECT_EQ(b.line(0).visible, 119U);
  EXPECT_EQ(b.line(1).visible, 119U);
  EXPECT_EQ(b.line(2).visible, 120U);
  EXPECT_EQ(b.waited(2, 0, "ram_port"), Cycle);
  for (unsigned i = 0; i < 3; ++i) {
    EXPECT_EQ(b.line(i).item.data, filled(Cq, 3, 0x5a).data);
  }
}

TEST_P(qpc_ram_icm, a_miss_of_one_reader_does_not_hold_up_another) {
  icm_bench& b = make();
  b.writers[0]->at(1, filled(Cq, 1, 1));
  b.ask(0, 10, Cq, 3);
  for (cycle_t t = 10; t < 60; ++t) {
    b.ask(1, t, Cq, 1);
  }
  b.finish(1000);
  for (std::size_t i = 0; i < 50; ++i) {
    EXPECT_EQ(b.line(1, i).visible, 15 + i);
  }
}

TEST_P(qpc_ram_icm, a_readers_lines_come_in_the_order_of_its_requests) {
  icm_bench& b = make();
  b.writers[0]->at(1, filled(Cq, 1, 1));
  b.ask(0, 10, Cq, 3);  // a miss, in 119
  b.ask(0, 11, Cq, 1);  // a hit behind it
  b.ask(0, 12, Cq, 1);
  b.finish(1000);
  EXPECT_EQ(b.line(0, 0).item.index, 3U);
  EXPECT_EQ(b.line(0, 0).visible, 119U);
  EXPECT_EQ(b.line(0, 1).visible, 120U);
  EXPECT_EQ(b.line(0, 2).visible, 121U);
  // Taken in 12, served in 116.
  EXPECT_EQ(b.waited(0, 1, "order"), 104 * Cycle);
}

TEST_P(qpc_ram_icm, misses_of_one_reader_overlap) {
  icm_bench& b = make();
  b.ask(0, 10, Cq, 3);
  b.ask(0, 11, Cq, 4);
  b.ask(0, 12, Cq, 5);
  b.finish(1000);
  EXPECT_EQ(b.line(0, 0).visible, 119U);
  EXPECT_EQ(b.line(0, 1).visible, 120U);
  EXPECT_EQ(b.line(0, 2).visible, 121U);
}

TEST_P(qpc_ram_icm, a_miss_without_a_register_waits_for_one) {
  icm_bench& b = make({4, 4, 1});
  b.ask(0, 10, Cq, 3);
  b.ask(1, 10, Cq, 4);
  b.writers[0]->at(20, filled(Cq, 5, 5));
  b.finish(1000);
  EXPECT_EQ(b.line(0).visible, 119U);
  // The register is free in 115; the write that waits comes first and takes it in 116 for a cycle.
  EXPECT_EQ(b.line(1).visible, 116 + 4 + 100 + 4U);
  EXPECT_EQ(b.waited(1, 0, "icm_register"), 105 * Cycle);
}

TEST_P(qpc_ram_icm, a_line_is_read_again_only_when_its_write_back_has_gone) {
  icm_bench& b = make({1, 1, 4});
  b.memory.write_period = 64;
  b.put(filled(Cq, 1, 0xee));  // what memory has from before
  b.writers[0]->at(1, filled(Cq, 1, 0x11));
  b.writers[0]->at(70, filled(Cq, 2, 0x22));  // puts it out; gone in 128
  b.ask(0, 75, Cq, 1);
  b.finish(2000);
  EXPECT_EQ(b.line(0).item.data, filled(Cq, 1, 0x11).data);
  ASSERT_EQ(b.memory.written.size(), 2U);  // and the other one made room
  EXPECT_EQ(b.memory.written[0].cycle, 128U);
  // The credit is back in 129, the request at the DMA engine in 133.
  ASSERT_EQ(b.memory.read.size(), 1U);
  EXPECT_EQ(b.memory.read[0].cycle, 133U);
}

TEST_P(qpc_ram_icm, a_write_during_a_miss_is_what_its_readers_see_and_what_stays) {
  icm_bench& b = make();
  b.put(filled(Cq, 3, 0xee));
  b.ask(0, 10, Cq, 3);
  b.writers[0]->at(50, filled(Cq, 3, 0x33));
  b.ask(1, 300, Cq, 3);
  b.finish(1000);
  EXPECT_EQ(b.line(0).item.data, filled(Cq, 3, 0x33).data);
  EXPECT_EQ(b.line(1).item.data, filled(Cq, 3, 0x33).data);
}

class qpc_ram_icm_write : public testing::TestWithParam<int> {};

// The line is served in 115 and visible in 119: a write counts up to 118.
TEST_P(qpc_ram_icm_write, reaches_a_read_that_missed_until_its_line_is_visible) {
  const auto taken = static_cast<cycle_t>(GetParam());
  icm_bench b(0, {});
  b.put(filled(Cq, 3, 1));
  b.ask(0, 10, Cq, 3);
  b.writers[0]->at(taken - 1, filled(Cq, 3, 2));
  b.finish(1000);
  EXPECT_EQ(b.line(0).visible, 119U);
  EXPECT_EQ(b.line(0).item.data[7], taken <= 118 ? 2U : 1U);
  EXPECT_EQ(b.ram->debug_read(Cq, 3)[7], 2U);
}

INSTANTIATE_TEST_SUITE_P(taken_in, qpc_ram_icm_write, testing::Range(112, 121));

TEST_P(qpc_ram_icm, the_error_of_a_qp_does_not_need_its_line) {
  icm_bench& b = make({1, 1, 4});
  b.writers[0]->at(1, common_line(4, qp_state::Rts));
  b.writers[0]->at(20, common_line(5, qp_state::Reset));
  b.writers[0]->at(40, filled(Cq, 1, 1));  // both are in memory now
  b.errors.at(100, {{}, 4});
  b.errors.at(101, {{}, 5});  // of the life before
  b.ask(0, 200, Common, 4);
  b.ask(0, 400, Common, 5);
  b.finish(1000);
  EXPECT_EQ(state_in(b.line(0, 0).item), qp_state::Err);
  EXPECT_EQ(state_in(b.line(0, 1).item), qp_state::Reset);
  EXPECT_EQ(b.memory.read.size(), 2U);
}

TEST_P(qpc_ram_icm, an_error_stays_when_its_line_goes_to_memory_and_ends_with_reset) {
  icm_bench& b = make({1, 1, 4});
  b.writers[0]->at(1, common_line(4, qp_state::Rts));
  b.errors.at(10, {{}, 4});
  b.writers[0]->at(20, filled(Cq, 1, 1));
  b.ask(0, 100, Common, 4);
  b.writers[0]->at(300, common_line(4, qp_state::Reset));
  b.writers[0]->at(320, filled(Cq, 1, 1));
  b.writers[0]->at(340, common_line(4, qp_state::Init));
  b.ask(0, 600, Common, 4);
  b.finish(2000);
  EXPECT_EQ(state_in(b.line(0, 0).item), qp_state::Err);
  EXPECT_EQ(state_in(b.line(0, 1).item), qp_state::Init);
}

TEST_P(qpc_ram_icm, an_invalidated_key_stays_invalid_in_memory) {
  icm_bench& b = make({1, 1, 4});
  context_write key{{}, Key, 7, {}};
  mkey_line line;
  line.valid = 1;
  line.pd = 0x123;
  line.pack(key.data.data());
  b.put(key);
  b.invalidations.at(10, {{}, 7});
  b.ask(0, 100, Key, 7);
  b.finish(1000);
  const mkey_line got = mkey_line::unpack(b.line(0).item.data.data());
  EXPECT_EQ(got.valid, 0U);
  EXPECT_EQ(got.pd, 0x123U);
}

TEST_P(qpc_ram_icm, a_failed_read_gives_an_invalid_line_to_all_who_wait_and_is_tried_again_later) {
  icm_bench& b = make();
  b.put(filled(Cq, 3, 0x5a));
  b.memory.faults[icm_bench::address(Cq, 3)] = dma_status::poisoned;
  b.ask(0, 10, Cq, 3);
  b.ask(1, 20, Cq, 3);
  b.ask(0, 300, Cq, 3);
  b.finish(1000);
  for (unsigned reader : {0U, 1U}) {
    EXPECT_FALSE(b.line(reader).item.valid);
    EXPECT_EQ(b.line(reader).item.data, context_store::line{});
    EXPECT_EQ(b.line(reader).visible, 119U);
  }
  EXPECT_TRUE(b.line(0, 1).item.valid);
  EXPECT_EQ(b.line(0, 1).item.data, filled(Cq, 3, 0x5a).data);
  EXPECT_EQ(b.count(counter::IcmErrors), 1U);
}

TEST_P(qpc_ram_icm, every_kind_of_failed_read_gives_an_invalid_line) {
  icm_bench& b = make();
  const dma_status faults[] = {dma_status::unsupported_request, dma_status::completer_abort,
                               dma_status::poisoned, dma_status::timeout};
  for (std::uint32_t i = 0; i < 4; ++i) {
    b.memory.faults[icm_bench::address(Cq, i)] = faults[i];
    b.ask(i, 10, Cq, i);
  }
  b.finish(1000);
  for (unsigned i = 0; i < 4; ++i) {
    EXPECT_FALSE(b.line(i).item.valid);
  }
  EXPECT_EQ(b.count(counter::IcmErrors), 4U);
}

TEST_P(qpc_ram_icm, a_line_written_during_a_failed_read_is_good) {
  icm_bench& b = make();
  b.memory.faults[icm_bench::address(Cq, 3)] = dma_status::timeout;
  b.ask(0, 10, Cq, 3);
  b.writers[0]->at(50, filled(Cq, 3, 0x33));
  b.finish(1000);
  EXPECT_TRUE(b.line(0).item.valid);
  EXPECT_EQ(b.line(0).item.data, filled(Cq, 3, 0x33).data);
}

TEST_P(qpc_ram_icm, without_memory_what_is_not_on_the_chip_is_invalid) {
  icm_bench& b = make({4, 4, 4}, 1, 0);
  b.writers[0]->at(1, filled(Cq, 1, 1));
  b.ask(0, 10, Cq, 1);
  b.ask(0, 11, Cq, 2);
  b.finish(100);
  EXPECT_TRUE(b.line(0, 0).item.valid);
  EXPECT_FALSE(b.line(0, 1).item.valid);
  EXPECT_EQ(b.line(0, 1).visible, 16U);
  EXPECT_EQ(b.count(counter::IcmErrors), 1U);
}

TEST_P(qpc_ram_icm, other_memory_has_other_contexts) {
  constexpr std::uint64_t Elsewhere = 0x80000000;
  icm_bench& b = make();
  b.put(filled(Cq, 1, 1));
  b.memory.lines[Elsewhere + icm_bench::address(Cq, 1) - icm_bench::Base] = filled(Cq, 1, 2).data;
  b.ask(0, 10, Cq, 1);
  b.ask(0, 300, Cq, 1);
  b.stages.run(200);
  b.base.write(200, Elsewhere);
  b.finish(1000);
  EXPECT_EQ(b.line(0, 0).item.data[0], 1U);
  EXPECT_EQ(b.line(0, 1).item.data[0], 2U);
}

TEST_P(qpc_ram_icm, a_denied_read_and_one_of_no_index_ask_no_memory) {
  icm_bench& b = make();
  partition_table table;
  table.set(1, Cq, {4, 4});
  b.partitions.write(1, table);
  b.ask(0, 10, Cq, 3, 1);
  b.ask(0, 11, Cq, 16);
  b.ask(0, 12, Cq, 4, 1);
  b.ask(0, 13, Cq, 8, 1);
  b.finish(1000);
  EXPECT_FALSE(b.line(0, 0).item.valid);
  EXPECT_EQ(b.line(0, 0).visible, 15U);
  EXPECT_FALSE(b.line(0, 1).item.valid);
  EXPECT_TRUE(b.line(0, 2).item.valid);
  EXPECT_FALSE(b.line(0, 3).item.valid);
  EXPECT_EQ(b.memory.read.size(), 1U);
  EXPECT_EQ(b.stages.nic.counters.value_for(1, counter::CtxPartitionDenied), 2U);
  EXPECT_EQ(b.stages.nic.counters.value_for(1, counter::IcmMisses), 1U);
}

TEST_P(qpc_ram_icm, a_debug_read_sees_what_the_chip_holds) {
  icm_bench& b = make({1, 1, 4});
  b.put(filled(Cq, 3, 0xee));
  b.writers[0]->at(1, filled(Cq, 1, 1));
  b.finish(100);
  EXPECT_EQ(b.ram->debug_read(Cq, 1)[0], 1U);
  EXPECT_EQ(b.ram->debug_read(Cq, 3)[0], 0U);
  EXPECT_EQ(b.ram->debug_read(Cq, 16)[0], 0U);
}

// Random traffic -------------------------------------------------------------------------------

/// Writes down when what was taken.
template <class T>
class recorder : public stream_tap<T> {
 public:
  void on_take(cycle_t t, const T& item) override { takes.push_back({t, item}); }

  std::vector<std::pair<cycle_t, T>> takes;
};

/// Everything that happened to the lines: a line visible in cycle v is what was written up to v
/// - 1.
struct history {
  /// A mark changes its field's bits alone; what is reserved stays.
  template <class Line, class Change>
  static void change(context_store::line& line, Change what) {
    Line fields = Line::unpack(line.data());
    context_store::line before{};
    context_store::line after{};
    fields.pack(before.data());
    what(fields);
    fields.pack(after.data());
    for (std::size_t i = 0; i < line.size(); ++i) {
      line[i] ^= before[i] ^ after[i];
    }
  }

  recorder<context_write> written[2];
  recorder<qp_error> failed;
  recorder<key_invalidation> invalidated;

  [[nodiscard]] context_store::line line(context_kind kind, std::uint32_t index,
                                         cycle_t before) const {
    // One write a cycle: they have an order.
    std::vector<std::pair<cycle_t, const context_write*>> writes;
    for (const auto& port : written) {
      for (const auto& [t, item] : port.takes) {
        if (t < before && item.kind == kind && item.index == index) {
          writes.emplace_back(t, &item);
        }
      }
    }
    std::sort(writes.begin(), writes.end());
    context_store::line line{};
    cycle_t since = 0;   ///< the last write that ended errors and invalidations
    cycle_t in_rts = 0;  ///< the last write that ended send queue errors
    std::vector<std::pair<cycle_t, bool>> resets{{0, true}};
    for (const auto& [t, item] : writes) {
      line = item->data;
      if (kind == Common) {
        const qp_state state = qpc_common::unpack(line.data()).state;
        resets.emplace_back(t, state == qp_state::Reset);
        since = state == qp_state::Reset ? t : since;
        in_rts = state == qp_state::Reset || state == qp_state::Rts ? t : in_rts;
      } else {
        since = t;
      }
    }
    // Marks come before the write of their cycle.
    const auto in_reset = [&](cycle_t at) {
      bool result = true;
      for (const auto& [t, reset] : resets) {
        result = t < at ? reset : result;
      }
      return result;
    };
    if (kind == Common) {
      bool error = false;
      bool send_error = false;
      for (const auto& [t, item] : failed.takes) {
        if (item.qpn == index && t < before && !in_reset(t)) {
          error |= !item.send_queue_only && t > since;
          send_error |= item.send_queue_only && t > in_rts;
        }
      }
      if (error || send_error) {
        change<qpc_common>(line, [error](qpc_common& common) {
          common.state = error ? qp_state::Err : qp_state::Sqer;
        });
      }
    } else if (kind == Key) {
      for (const auto& [t, item] : invalidated.takes) {
        if (item.index == index && t < before && t > since) {
          change<mkey_line>(line, [](mkey_line& key) { key.valid = 0; });
        }
      }
    }
    return line;
  }
};

class qpc_ram_icm_random : public testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(qpc_ram_icm_random, traffic_on_all_ports_agrees_with_a_plain_list) {
  const auto [seed, shuffle] = GetParam();
  random_stream random(static_cast<std::uint64_t>(seed), "qpc_ram_icm");
  // From one line with one register to more lines than there are in use.
  const icm_bench::shape shapes[] = {{1, 1, 1}, {4, 2, 3}, {8, 1, 2}, {16, 4, 8}, {128, 8, 4}};
  const icm_bench::shape& cache = shapes[seed % 5];
  icm_bench b(static_cast<std::uint64_t>(shuffle), cache, seed % 2 == 0 ? 1 : 3);
  b.memory.delay = 1 + random.below(40);
  b.memory.jitter = random.below(30);
  b.memory.write_period = 1 + random.below(20);
  history past;
  recorder<context_read> asked[icm_bench::Readers];
  b.error_port.tap(&past.failed);
  b.invalidation_port.tap(&past.invalidated);
  for (unsigned i = 0; i < 2; ++i) {
    b.write_ports[i]->tap(&past.written[i]);
  }
  const auto some_kind = [&] { return static_cast<context_kind>(random.below(7)); };
  const auto some_index = [&] { return static_cast<std::uint32_t>(random.below(6)); };
  constexpr unsigned Rounds = 1500;
  for (unsigned i = 0; i < icm_bench::Readers; ++i) {
    b.request_ports[i]->tap(&asked[i]);
    for (cycle_t t = 1; t < Rounds; t += 1 + random.below(8)) {
      b.ask(i, t, some_kind(), some_index());
    }
  }
  for (auto& writer : b.writers) {
    for (cycle_t t = 1; t < Rounds; t += 1 + random.below(8)) {
      if (random.chance(1, 3)) {
        writer->at(t, common_line(some_index(), static_cast<qp_state>(random.below(7))));
      } else {
        const auto kind = static_cast<context_kind>(1 + random.below(6));
        writer->at(t, filled(kind, some_index(), static_cast<std::uint8_t>(random.below(256))));
      }
    }
  }
  for (cycle_t t = 1; t < Rounds; t += 1 + random.below(20)) {
    b.errors.at(t, {{}, some_index(), random.chance(1, 2)});
    b.invalidations.at(t, {{}, some_index()});
  }
  b.finish(400000);

  for (unsigned i = 0; i < icm_bench::Readers; ++i) {
    const auto& lines = b.seen[i]->items;
    ASSERT_EQ(lines.size(), asked[i].takes.size());
    for (std::size_t n = 0; n < lines.size(); ++n) {
      const context_line& got = lines[n].item;
      ASSERT_EQ(got.kind, asked[i].takes[n].second.kind);
      ASSERT_EQ(got.index, asked[i].takes[n].second.index);
      ASSERT_TRUE(got.valid);
      ASSERT_EQ(got.data, past.line(got.kind, got.index, lines[n].visible))
          << "reader " << i << ", item " << n << ", kind " << static_cast<int>(got.kind)
          << ", index " << got.index << ", visible in " << lines[n].visible;
      EXPECT_GE(lines[n].visible, asked[i].takes[n].first + 4);
    }
  }
  // What a line has become in the end is on the chip or in memory.
  EXPECT_GT(b.count(counter::IcmHits), 0U);
  EXPECT_GT(b.count(counter::IcmMisses), 0U);
  if (cache.lines < 42) {  // 7 kinds of 6 lines
    EXPECT_GT(b.count(counter::IcmWriteBacks), 0U);
  } else {
    EXPECT_EQ(b.count(counter::IcmEvictions), 0U);
  }
  EXPECT_EQ(b.count(counter::IcmErrors), 0U);
}

INSTANTIATE_TEST_SUITE_P(shuffle, qpc_ram_icm, testing::Range(0, 3));
INSTANTIATE_TEST_SUITE_P(seeds, qpc_ram_icm_random,
                         testing::Combine(testing::Range(0, 10), testing::Range(0, 3)));

TEST(icm_cache, its_sets_must_be_a_power_of_two) {
  EXPECT_THROW(icm_cache(6, 2), config_error);
  EXPECT_THROW(icm_cache(8, 3), config_error);
  EXPECT_NO_THROW(icm_cache(6, 6));
}

TEST(icm_cache, the_lines_of_a_qp_are_in_sets_of_their_own) {
  const icm_cache cache(64, 1);
  std::vector<std::uint32_t> sets;
  for (const auto kind : {context_kind::qpc_common, context_kind::qpc_address,
                          context_kind::qpc_requester, context_kind::qpc_responder}) {
    sets.push_back(cache.set_number({kind, 17}));
  }
  std::sort(sets.begin(), sets.end());
  EXPECT_EQ(std::adjacent_find(sets.begin(), sets.end()), sets.end());
}

TEST(context_sizes, a_chip_and_a_partition_take_64_bytes_a_line) {
  parameters params;
  params.nic.log_max_qp = 4;
  params.nic.log_max_cq = 3;
  params.nic.log_max_mkey = 5;
  params.nic.log_max_mtt_lines = 6;
  params.nic.log_max_srq = 1;
  params.nic.log_max_eq = 2;
  const context_sizes chip = context_sizes::of(params);
  EXPECT_EQ(chip.bytes(context_kind::qpc_address), 16U * 64);
  EXPECT_EQ(chip.bytes(context_kind::mtt), 64U * 64);
  // Four lines a QP.
  EXPECT_EQ(chip.total_bytes(), (4U * 16 + 8 + 32 + 64 + 2 + 4) * 64);
  partition_table table;
  EXPECT_EQ(chip.of(table, 1), chip);
  table.set(1, context_kind::qpc_common, {8, 3});
  table.set(1, context_kind::mkey, {0, 5});
  EXPECT_EQ(chip.of(table, 1).total_bytes(), (4U * 3 + 5) * 64);
  EXPECT_EQ(chip.of(table, 2).total_bytes(), 0U);
}

}  // namespace
}  // namespace carillon
