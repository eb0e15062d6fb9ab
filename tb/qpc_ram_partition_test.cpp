// qpc_ram: a function reaches the lines of its own partition, the PF all.
#include <gtest/gtest.h>

#include "common/partition.h"
#include "common/stage_bench.h"
#include "gen/contexts.h"
#include "qpc_ram.h"

namespace carillon {
namespace {

using bench::sink;
using bench::source;
using bench::stage_bench;

constexpr std::uint16_t Pf = 0;
constexpr std::uint16_t FirstVf = 1;
constexpr std::uint16_t SecondVf = 2;
constexpr auto SomeKinds = {
    context_kind::qpc_common,    context_kind::qpc_address, context_kind::qpc_requester,
    context_kind::qpc_responder, context_kind::cqc,         context_kind::mkey,
    context_kind::mtt,           context_kind::srq,         context_kind::eqc};

parameters small_ram() {
  parameters params;
  params.nic.log_max_qp = 4;
  params.nic.log_max_cq = 4;
  params.nic.log_max_mkey = 4;
  params.nic.log_max_mtt_lines = 4;
  params.nic.log_max_srq = 4;
  params.nic.log_max_eq = 4;
  return params;
}

/// Of every table the first VF has 4 to 7 and the second 8 to 11.
partition_table two_vfs() {
  partition_table table;
  for (const context_kind kind : SomeKinds) {
    table.set(FirstVf, kind, {4, 4});
    table.set(SecondVf, kind, {8, 4});
  }
  return table;
}

context_write filled(context_kind kind, std::uint32_t index, std::uint8_t value) {
  context_write item{{}, kind, index, {}};
  item.data.fill(value);
  return item;
}

class qpc_ram_partition : public testing::TestWithParam<int> {
 protected:
  qpc_ram_partition()
      : bench(static_cast<std::uint64_t>(GetParam()), small_ram()),
        partitions(bench.context.clock, "partitions", two_vfs()),
        reads(bench.port<context_read>("reader.context_read", 64)),
        lines(bench.port<context_line>("qpc_ram.reader_line")),
        writes(bench.port<context_write>("writer.context_write", 256)),
        errors(bench.port<qp_error>("writer.qp_error", 64)),
        asks("asks", bench, reads),
        seen("seen", bench, lines),
        commands("commands", bench, writes),
        fails("fails", bench, errors),
        ram("qpc_ram", bench.nic,
            {{{reads, lines, "bench"}}, {&writes}, {&errors}, {}, &partitions}) {}

  /// Every line of every kind says 0x5a from cycle 200 on.
  void fill() {
    cycle_t t = 1;
    for (const context_kind kind : SomeKinds) {
      for (std::uint32_t index = 0; index < 16; ++index) {
        commands.at(t++, filled(kind, index, 0x5a));
      }
    }
  }

  void ask(cycle_t t, std::uint16_t function, context_kind kind, std::uint32_t index) {
    asks.at(t, {{}, kind, index, function});
  }

  void finish(cycle_t cycles) {
    bench.run(cycles);
    bench.context.check_drained();
  }

  [[nodiscard]] bool served(std::size_t nth) const {
    const context_line& line = seen.items.at(nth).item;
    return line.valid && line.data == filled(line.kind, line.index, 0x5a).data;
  }

  [[nodiscard]] bool refused(std::size_t nth) const {
    const context_line& line = seen.items.at(nth).item;
    return !line.valid && line.data == std::array<std::uint8_t, BeatBytes>{};
  }

  [[nodiscard]] std::uint64_t denied(std::uint16_t function) const {
    return bench.nic.counters.value_for(function, counter::CtxPartitionDenied);
  }

  stage_bench bench;
  level<partition_table> partitions;
  stream<context_read>& reads;
  stream<context_line>& lines;
  stream<context_write>& writes;
  stream<qp_error>& errors;
  source<context_read> asks;
  sink<context_line> seen;
  source<context_write> commands;
  source<qp_error> fails;
  qpc_ram ram;
};

TEST_P(qpc_ram_partition, a_vf_reads_its_own_lines_of_each_kind_and_no_others) {
  fill();
  cycle_t t = 300;
  for (const context_kind kind : SomeKinds) {
    for (const std::uint32_t index : {3U, 4U, 7U, 8U}) {
      ask(t++, FirstVf, kind, index);
    }
  }
  finish(1000);
  for (std::size_t i = 0; i < seen.items.size(); i += 4) {
    EXPECT_TRUE(refused(i));
    EXPECT_TRUE(served(i + 1));
    EXPECT_TRUE(served(i + 2));
    EXPECT_TRUE(refused(i + 3));
  }
  EXPECT_EQ(seen.items.size(), 36U);
  EXPECT_EQ(denied(FirstVf), 18U);
}

TEST_P(qpc_ram_partition, the_pf_reads_everything) {
  fill();
  for (std::uint32_t index = 0; index < 16; ++index) {
    ask(300 + index, Pf, context_kind::mkey, index);
  }
  finish(1000);
  for (std::size_t i = 0; i < 16; ++i) {
    EXPECT_TRUE(served(i)) << i;
  }
  EXPECT_EQ(bench.count(counter::CtxPartitionDenied), 0U);
}

TEST_P(qpc_ram_partition, a_function_without_a_row_reads_nothing) {
  fill();
  ask(300, 3, context_kind::cqc, 4);
  ask(301, 3, context_kind::cqc, 0);
  finish(1000);
  EXPECT_TRUE(refused(0));
  EXPECT_TRUE(refused(1));
  EXPECT_EQ(denied(3), 2U);
}

TEST_P(qpc_ram_partition, a_refusal_is_counted_for_who_asked_and_for_the_chip) {
  ask(10, FirstVf, context_kind::eqc, 8);
  ask(11, SecondVf, context_kind::eqc, 4);
  ask(12, SecondVf, context_kind::eqc, 5);
  ask(13, SecondVf, context_kind::eqc, 8);
  finish(100);
  EXPECT_EQ(denied(FirstVf), 1U);
  EXPECT_EQ(denied(SecondVf), 2U);
  EXPECT_EQ(bench.count(counter::CtxPartitionDenied), 3U);
}

TEST_P(qpc_ram_partition, a_refusal_takes_as_long_as_a_line) {
  ask(10, FirstVf, context_kind::qpc_common, 8);
  finish(100);
  EXPECT_EQ(seen.items.at(0).visible, 15U);
}

TEST_P(qpc_ram_partition, a_write_does_not_reach_a_refused_read_in_flight) {
  ask(10, FirstVf, context_kind::qpc_common, 8);
  commands.at(12, filled(context_kind::qpc_common, 8, 0x5a));
  fails.at(13, {{}, 8});
  finish(100);
  EXPECT_TRUE(refused(0));
}

TEST_P(qpc_ram_partition, a_new_partition_counts_from_the_cycle_after_it_was_written) {
  fill();
  // Taken in cycles 310, 311 and 312.
  for (const cycle_t t : {309U, 310U, 311U}) {
    ask(t, FirstVf, context_kind::srq, 4);
  }
  partition_table moved = two_vfs();
  moved.set(FirstVf, context_kind::srq, {12, 4});
  bench.run(310);
  // Where the level's writer stands within the cycle is of no importance.
  partitions.write(310, moved);
  finish(1000);
  EXPECT_TRUE(served(0));
  EXPECT_TRUE(refused(1));
  EXPECT_TRUE(refused(2));
}

TEST_P(qpc_ram_partition, the_partition_does_not_hide_that_an_index_does_not_exist) {
  partition_table wide = two_vfs();
  wide.set(FirstVf, context_kind::cqc, {0, 0xffffffff});
  partitions.write(1, wide);
  ask(10, FirstVf, context_kind::cqc, 16);
  finish(100);
  EXPECT_TRUE(refused(0));
  EXPECT_EQ(denied(FirstVf), 0U);
}

INSTANTIATE_TEST_SUITE_P(shuffle, qpc_ram_partition, testing::Values(0, 1, 2));

TEST(partition_table, without_rows_bounds_nobody) {
  const partition_table none;
  EXPECT_TRUE(none.reaches(FirstVf, context_kind::mkey, 0));
  EXPECT_TRUE(none.reaches(FirstVf, context_kind::mkey, 0xffffff));
}

TEST(partition_table, an_empty_range_holds_nothing) {
  partition_table table;
  table.set(FirstVf, context_kind::mkey, {0, 0});
  EXPECT_FALSE(table.reaches(FirstVf, context_kind::mkey, 0));
}

TEST(partition_table, a_range_up_to_the_last_number_does_not_wrap) {
  constexpr std::uint32_t Last = 0xffffffff;
  const partition_table::range range{Last - 1, 2};
  EXPECT_FALSE(range.holds(Last - 2));
  EXPECT_TRUE(range.holds(Last));
  EXPECT_FALSE(range.holds(0));
}

TEST(partition_table, the_lines_of_a_qp_share_a_range) {
  partition_table table;
  table.set(FirstVf, context_kind::qpc_responder, {4, 4});
  for (const context_kind kind : {context_kind::qpc_common, context_kind::qpc_address,
                                  context_kind::qpc_requester, context_kind::qpc_responder}) {
    EXPECT_TRUE(table.reaches(FirstVf, kind, 5));
    EXPECT_FALSE(table.reaches(FirstVf, kind, 8));
  }
  EXPECT_FALSE(table.reaches(FirstVf, context_kind::cqc, 5));
}

}  // namespace
}  // namespace carillon
