// qpc_ram: five cycles a read, two reads and one write a cycle, and no read that is older than the
// cycle before it is seen.
#include "qpc_ram.h"

#include <gtest/gtest.h>

#include "common/random.h"
#include "common/stage_bench.h"
#include "gen/contexts.h"

namespace carillon {
namespace {

using bench::sink;
using bench::source;
using bench::stage_bench;
using bench::waited_for;

constexpr std::uint32_t Qps = 16;
constexpr std::uint32_t Cqs = 8;
constexpr std::uint32_t Mkeys = 32;

parameters small_ram() {
  parameters params;
  params.nic.log_max_qp = 4;
  params.nic.log_max_cq = 3;
  params.nic.log_max_mkey = 5;
  return params;
}

context_read read_of(context_kind kind, std::uint32_t index) {
  return {{}, kind, index};
}

/// A line of any kind whose bytes are all the same.
context_write filled(context_kind kind, std::uint32_t index, std::uint8_t value) {
  context_write item{{}, kind, index, {}};
  item.data.fill(value);
  return item;
}

context_write common_line(std::uint32_t qpn, qp_state state, std::uint32_t pd = 0x1234) {
  qpc_common common;
  common.state = state;
  common.valid = 1;
  common.pd = pd;
  context_write item{{}, context_kind::qpc_common, qpn, {}};
  common.pack(item.data.data());
  return item;
}

qp_state state_in(const context_line& line) {
  return qpc_common::unpack(line.data.data()).state;
}

class qpc_ram_bench : public testing::TestWithParam<int> {
 protected:
  static constexpr unsigned Readers = 4;

  qpc_ram_bench() : bench(static_cast<std::uint64_t>(GetParam()), small_ram()) {}

  /// Readers take every `period`-th cycle.
  void build(cycle_t period = 1) {
    qpc_ram::ports ports;
    for (unsigned i = 0; i < Readers; ++i) {
      const std::string name = "reader" + std::to_string(i);
      auto& requests = bench.port<context_read>(name + ".context_read", 64);
      auto& lines = bench.port<context_line>("qpc_ram." + name);
      ports.reads.push_back({requests, lines, "bench"});
      requests_.push_back(&requests);
      readers.push_back(
          std::make_unique<source<context_read>>((name + "_out").c_str(), bench, requests));
      seen.push_back(
          std::make_unique<sink<context_line>>((name + "_in").c_str(), bench, lines, period));
    }
    for (unsigned i = 0; i < 2; ++i) {
      const std::string name = "writer" + std::to_string(i);
      auto& writes = bench.port<context_write>(name + ".context_write", 64);
      ports.writes.push_back(&writes);
      writes_.push_back(&writes);
      writers.push_back(std::make_unique<source<context_write>>(name.c_str(), bench, writes));
    }
    errors_ = &bench.port<qp_error>("tx_sched.qp_error", 64);
    ports.errors.push_back(errors_);
    errors = std::make_unique<source<qp_error>>("errors", bench, *errors_);
    dut = std::make_unique<qpc_ram>("qpc_ram", bench.nic, std::move(ports));
  }

  void finish(cycle_t cycles) {
    bench.run(cycles);
    bench.context.check_drained();
  }

  stage_bench bench;
  std::vector<stream<context_read>*> requests_;
  std::vector<stream<context_write>*> writes_;
  stream<qp_error>* errors_ = nullptr;
  std::vector<std::unique_ptr<source<context_read>>> readers;
  std::vector<std::unique_ptr<sink<context_line>>> seen;
  std::vector<std::unique_ptr<source<context_write>>> writers;
  std::unique_ptr<source<qp_error>> errors;
  std::unique_ptr<qpc_ram> dut;
};

TEST_P(qpc_ram_bench, a_read_takes_one_cycle_to_the_ram_and_four_in_it) {
  build();
  writers[0]->at(1, filled(context_kind::cqc, 3, 0x5a));
  readers[0]->at(10, read_of(context_kind::cqc, 3));
  finish(100);
  ASSERT_EQ(seen[0]->items.size(), 1U);
  EXPECT_EQ(seen[0]->items[0].visible, 15U);
  EXPECT_TRUE(seen[0]->items[0].item.valid);
  EXPECT_EQ(seen[0]->items[0].item.kind, context_kind::cqc);
  EXPECT_EQ(seen[0]->items[0].item.index, 3U);
  EXPECT_EQ(seen[0]->items[0].item.data, filled(context_kind::cqc, 3, 0x5a).data);
  EXPECT_EQ(bench.count(counter::CtxReads), 1U);
  EXPECT_EQ(bench.count(counter::CtxWrites), 1U);
}

TEST_P(qpc_ram_bench, the_third_read_of_a_cycle_waits_for_a_port) {
  build();
  for (auto& reader : readers) {
    reader->at(10, read_of(context_kind::mkey, 1));
  }
  finish(100);
  // Two by two, in the order of the ports.
  const cycle_t expected[Readers] = {15, 15, 16, 16};
  for (unsigned i = 0; i < Readers; ++i) {
    ASSERT_EQ(seen[i]->items.size(), 1U);
    EXPECT_EQ(seen[i]->items[0].visible, expected[i]);
    EXPECT_EQ(waited_for(bench.context.trace, seen[i]->items[0].item.trace, "ram_port"),
              (expected[i] - 15) * 1000);
  }
  EXPECT_EQ(bench.count(counter::CtxPortConflicts), 2U);
}

TEST_P(qpc_ram_bench, the_first_ports_may_starve_the_last) {
  build();
  for (cycle_t t = 10; t < 30; ++t) {
    readers[0]->at(t, read_of(context_kind::mkey, 1));
    readers[1]->at(t, read_of(context_kind::mkey, 2));
  }
  readers[3]->at(10, read_of(context_kind::mkey, 3));
  finish(100);
  EXPECT_EQ(seen[0]->items.back().visible, 34U);
  EXPECT_EQ(seen[1]->items.back().visible, 34U);
  EXPECT_EQ(seen[3]->items[0].visible, 35U);
  EXPECT_EQ(waited_for(bench.context.trace, seen[3]->items[0].item.trace, "ram_port"), 20000U);
}

TEST_P(qpc_ram_bench, a_reader_without_room_for_its_line_leaves_the_ports_to_others) {
  build(40);  // everyone takes a line every 40 cycles; 16 fit each stream
  for (cycle_t t = 10; t < 30; ++t) {
    readers[0]->at(t, read_of(context_kind::mkey, 1));
    readers[1]->at(t, read_of(context_kind::mkey, 1));
  }
  readers[2]->at(28, read_of(context_kind::mkey, 2));
  finish(2000);
  EXPECT_EQ(seen[2]->items[0].visible, 33U);
  EXPECT_EQ(seen[0]->items.size(), 20U);
  EXPECT_GT(
      waited_for(bench.context.trace, seen[0]->items[19].item.trace, "credit:qpc_ram.reader0"), 0U);
}

TEST_P(qpc_ram_bench, one_write_a_cycle_in_the_order_of_the_ports) {
  build();
  writers[1]->at(10, filled(context_kind::qpc_responder, 2, 2));
  writers[0]->at(10, filled(context_kind::qpc_responder, 2, 1));
  readers[0]->at(11, read_of(context_kind::qpc_responder, 2));  // visible in 16
  finish(100);
  // The second is written in cycle 12 and is what stays.
  EXPECT_EQ(seen[0]->items[0].item.data[0], 2U);
  EXPECT_EQ(dut->debug_read(context_kind::qpc_responder, 2)[63], 2U);
  EXPECT_EQ(bench.count(counter::CtxWrites), 2U);
}

TEST_P(qpc_ram_bench, a_write_reaches_a_read_in_each_position_of_the_pipeline) {
  build();
  // The read is taken in cycle 11 of its hundred and visible in 15; the write is taken in cycle 10
  // + p.
  for (std::uint32_t p = 0; p <= 5; ++p) {
    const cycle_t base = 100 * (p + 1);
    writers[0]->at(base, filled(context_kind::qpc_requester, p, 1));
    writers[0]->at(base + 9 + p, filled(context_kind::qpc_requester, p, 2));
    readers[3]->at(base + 10, read_of(context_kind::qpc_requester, p));
    // Neither another index nor another kind of line is touched.
    readers[0]->at(base + 10, read_of(context_kind::qpc_requester, p + 1));
    readers[1]->at(base + 200, read_of(context_kind::qpc_address, p));
  }
  finish(1000);
  for (std::uint32_t p = 0; p <= 5; ++p) {
    EXPECT_EQ(seen[3]->items[p].visible, 100 * (p + 1) + 15);
    const unsigned expected =
        p <= 4 ? 2 : 1;  // before, with the take, three in flight; then it is too late
    EXPECT_EQ(seen[3]->items[p].item.data[7], expected) << "position " << p;
    EXPECT_EQ(seen[0]->items[p].item.data[7], 0U);
    EXPECT_EQ(seen[1]->items[p].item.data[7], 0U);
  }
}

TEST_P(qpc_ram_bench, an_error_overlays_the_state_and_nothing_else) {
  build();
  writers[0]->at(1, common_line(4, qp_state::Rts));
  writers[0]->at(2, common_line(5, qp_state::Rts));
  writers[0]->at(3, filled(context_kind::qpc_address, 4, 0x44));
  errors->at(20, {{}, 4});
  readers[0]->at(30, read_of(context_kind::qpc_common, 4));
  readers[0]->at(31, read_of(context_kind::qpc_common, 5));
  readers[0]->at(32, read_of(context_kind::qpc_address, 4));
  finish(100);
  const context_line& failed = seen[0]->items[0].item;
  EXPECT_EQ(state_in(failed), qp_state::Err);
  EXPECT_EQ(qpc_common::unpack(failed.data.data()).pd, 0x1234U);
  EXPECT_EQ(state_in(seen[0]->items[1].item), qp_state::Rts);
  EXPECT_EQ(seen[0]->items[2].item.data, filled(context_kind::qpc_address, 4, 0x44).data);
}

TEST_P(qpc_ram_bench, an_error_reaches_reads_in_flight_too) {
  build();
  for (std::uint32_t p = 0; p <= 5; ++p) {
    const cycle_t base = 100 * (p + 1);
    writers[0]->at(base, common_line(p, qp_state::Rts));
    errors->at(base + 9 + p, {{}, p});
    readers[0]->at(base + 10, read_of(context_kind::qpc_common, p));
  }
  finish(1000);
  for (std::uint32_t p = 0; p <= 5; ++p) {
    EXPECT_EQ(state_in(seen[0]->items[p].item), p <= 4 ? qp_state::Err : qp_state::Rts)
        << "position " << p;
  }
}

TEST_P(qpc_ram_bench, only_reset_ends_an_error) {
  build();
  writers[0]->at(1, common_line(7, qp_state::Rts));
  errors->at(10, {{}, 7});
  // A command that read the line before the error and writes it after.
  writers[0]->at(20, common_line(7, qp_state::Sqd, 0x77));
  readers[0]->at(30, read_of(context_kind::qpc_common, 7));
  writers[0]->at(40, common_line(7, qp_state::Reset));
  readers[0]->at(50, read_of(context_kind::qpc_common, 7));
  writers[0]->at(60, common_line(7, qp_state::Init));
  readers[0]->at(70, read_of(context_kind::qpc_common, 7));
  finish(100);
  EXPECT_EQ(state_in(seen[0]->items[0].item), qp_state::Err);
  EXPECT_EQ(qpc_common::unpack(seen[0]->items[0].item.data.data()).pd, 0x77U);
  EXPECT_EQ(state_in(seen[0]->items[1].item), qp_state::Reset);
  EXPECT_EQ(state_in(seen[0]->items[2].item), qp_state::Init);
}

TEST_P(qpc_ram_bench, an_index_that_does_not_exist_reads_as_zero_and_is_not_valid) {
  build();
  writers[0]->at(1, filled(context_kind::cqc, Cqs, 1));
  writers[0]->at(2, filled(context_kind::mkey, Mkeys, 1));
  writers[0]->at(3, filled(context_kind::qpc_common, 0xffffff, 1));
  errors->at(1, {{}, Qps});
  readers[0]->at(10, read_of(context_kind::cqc, Cqs));
  readers[0]->at(11, read_of(context_kind::mkey, Mkeys));
  readers[0]->at(12, read_of(context_kind::qpc_common, 0xffffff));
  readers[0]->at(13, read_of(context_kind::qpc_common, Qps - 1));  // exists, was never written
  finish(100);
  for (unsigned i = 0; i < 4; ++i) {
    EXPECT_EQ(seen[0]->items[i].item.valid, i == 3);
    EXPECT_EQ(seen[0]->items[i].item.data, (std::array<std::uint8_t, BeatBytes>{}));
  }
}

/// Writes down when what was taken.
template <class T>
class recorder : public stream_tap<T> {
 public:
  void on_take(cycle_t t, const T& item) override { takes.push_back({t, item}); }

  std::vector<std::pair<cycle_t, T>> takes;
};

// Against a list of everything that was written: a line visible in cycle v is what was written up
// to v - 1.
TEST_P(qpc_ram_bench, random_traffic_on_all_ports_agrees_with_a_plain_list) {
  build(GetParam() % 2 == 0 ? 1 : 3);
  random_stream random(77, "qpc_ram");
  recorder<context_write> written[2];
  recorder<qp_error> failed;
  recorder<context_read> asked[Readers];
  errors_->tap(&failed);
  for (unsigned i = 0; i < 2; ++i) {
    writes_[i]->tap(&written[i]);
  }
  const auto some_kind = [&] { return static_cast<context_kind>(random.below(6)); };
  const auto some_index = [&] {
    return static_cast<std::uint32_t>(random.below(10));
  };  // CQs end at 8
  constexpr unsigned Rounds = 3000;
  for (unsigned i = 0; i < Readers; ++i) {
    requests_[i]->tap(&asked[i]);
    for (cycle_t t = 1; t < Rounds; t += 1 + random.below(5)) {
      readers[i]->at(t, read_of(some_kind(), some_index()));
    }
  }
  for (auto& writer : writers) {
    for (cycle_t t = 1; t < Rounds; t += 1 + random.below(4)) {
      if (random.chance(1, 3)) {
        writer->at(t, common_line(some_index(), static_cast<qp_state>(random.below(7))));
      } else {
        const auto kind = static_cast<context_kind>(1 + random.below(5));
        writer->at(t, filled(kind, some_index(), static_cast<std::uint8_t>(random.below(256))));
      }
    }
  }
  for (cycle_t t = 1; t < Rounds; t += 1 + random.below(20)) {
    errors->at(t, {{}, some_index()});
  }
  finish(40000);

  const auto exists = [](context_kind kind, std::uint32_t index) {
    return kind != context_kind::cqc || index < Cqs;
  };
  const auto expected = [&](context_kind kind, std::uint32_t index, cycle_t before) {
    std::array<std::uint8_t, BeatBytes> line{};
    cycle_t reset = 0;
    cycle_t last = 0;
    for (const auto& port : written) {
      for (const auto& [t, item] : port.takes) {
        if (t >= before || item.kind != kind || item.index != index || !exists(kind, index)) {
          continue;
        }
        if (t >= last) {
          last = t;
          line = item.data;
        }
        if (kind == context_kind::qpc_common &&
            qpc_common::unpack(item.data.data()).state == qp_state::Reset) {
          reset = std::max(reset, t);
        }
      }
    }
    // An error counts while the line says another state than RESET.
    const auto alive = [&](cycle_t at) {
      return std::any_of(std::begin(written), std::end(written), [&](const auto& port) {
        return std::any_of(port.takes.begin(), port.takes.end(), [&](const auto& take) {
          return take.second.kind == kind && take.second.index == index && take.first > reset &&
                 take.first < at;
        });
      });
    };
    for (const auto& [t, item] : failed.takes) {
      if (kind == context_kind::qpc_common && item.qpn == index && t < before && alive(t)) {
        qpc_common common = qpc_common::unpack(line.data());
        common.state = qp_state::Err;
        common.pack(line.data());
      }
    }
    return line;
  };
  std::size_t lines = 0;
  for (unsigned i = 0; i < Readers; ++i) {
    ASSERT_EQ(seen[i]->items.size(), asked[i].takes.size());
    for (std::size_t n = 0; n < seen[i]->items.size(); ++n) {
      const auto& got = seen[i]->items[n];
      EXPECT_EQ(got.visible, asked[i].takes[n].first + 4);
      EXPECT_EQ(got.item.valid, exists(got.item.kind, got.item.index));
      ASSERT_EQ(got.item.data, expected(got.item.kind, got.item.index, got.visible))
          << "reader " << i << ", item " << n;
      ++lines;
    }
  }
  EXPECT_GT(lines, 3500U);

  std::map<cycle_t, unsigned> reads_in;
  std::map<cycle_t, unsigned> writes_in;
  for (const auto& port : asked) {
    for (const auto& each : port.takes) {
      EXPECT_LE(++reads_in[each.first], 2U);
    }
  }
  for (const auto& port : written) {
    for (const auto& each : port.takes) {
      EXPECT_LE(++writes_in[each.first], 1U);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(shuffle, qpc_ram_bench, testing::Values(0, 77, 4242));

}  // namespace
}  // namespace carillon
