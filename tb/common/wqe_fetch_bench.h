// The bench of wqe_fetch: send queues in a host memory whose DMA engine answers out of order, and a
// parser that may be slow.
#pragma once

#include <array>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "gen/contexts.h"
#include "gen/wqe.h"
#include "stage_bench.h"
#include "wqe_fetch.h"

namespace carillon::bench {

inline constexpr std::uint64_t Base = 0x40000;
inline constexpr unsigned LogSize = 6;

/// Host memory behind a DMA engine that answers each read after a time of its own, in any order.
class scripted_dma : public stage {
 public:
  scripted_dma(stage_bench& bench, stream<dma_read>& reads, stream<dma_read_done>& done)
      : stage("dma", bench.context, "dma_engine"), reads_(reads), done_(done) {
    reads_.to(*this, site());
    done_.from(*this, site());
    watch(reads_, {});
  }

  struct seen_read {
    cycle_t cycle;
    std::uint64_t address;
    std::uint32_t length;
    bool operator==(const seen_read&) const = default;
  };

  std::map<std::uint64_t, std::array<std::uint8_t, 64>> memory;
  std::vector<seen_read> seen;
  /// From the take of the n-th read to its answer, at least 2.
  std::function<cycle_t(std::size_t)> delay = [](std::size_t) { return cycle_t{122}; };
  std::set<std::size_t> failing;

  /// Address and length only.
  [[nodiscard]] std::vector<std::pair<std::uint64_t, std::uint32_t>> ranges() const {
    std::vector<std::pair<std::uint64_t, std::uint32_t>> result;
    for (const seen_read& each : seen) {
      result.emplace_back(each.address, each.length);
    }
    return result;
  }

 private:
  void evaluate(cycle_t t) override {
    if (reads_.takeable(t)) {
      const dma_read in = reads_.take(t);
      for (std::uint32_t i = 0; i < in.length; ++i) {
        in.into.data()[in.into_offset + i] =
            memory[(in.address + i) & ~63ULL][(in.address + i) % 64];
      }
      const bool fails = failing.count(seen.size()) != 0;
      answers_.emplace(
          t + delay(seen.size()) - 1,
          std::make_pair(t, dma_read_done{in.trace, in.cookie,
                                          fails ? dma_status::timeout : dma_status::ok, in.into}));
      seen.push_back({t, in.address, in.length});
    }
    if (!answers_.empty() && answers_.begin()->first <= t) {
      auto [taken, answer] = answers_.begin()->second;
      answers_.erase(answers_.begin());
      answer.trace = context_.trace.service(answer.trace, site(), time_of(taken), time_of(t));
      ASSERT_TRUE(done_.has_credit(t)) << "an answer without room";
      done_.push(t, 1, answer);
    }
    if (!answers_.empty()) {
      wake(std::max(t + 1, answers_.begin()->first));
    }
  }

  stream<dma_read>& reads_;
  stream<dma_read_done>& done_;
  std::multimap<cycle_t, std::pair<cycle_t, dma_read_done>> answers_;
};

/// Keeps the WQEs' bytes but not their buffers. Takes from `first` on, every `period`-th cycle.
class parser_end : public stage {
 public:
  parser_end(stage_bench& bench, stream<wqe_item>& in)
      : stage("parser", bench.context, "bench"), in_(in) {
    in_.to(*this, site());
    watch(in_, {blocker::condition("bench", [](cycle_t) { return true; })});
  }

  struct taken {
    cycle_t cycle;
    cycle_t visible;
    unsigned beats;
    wqe_item item;
    std::vector<std::uint8_t> bytes;
  };

  std::vector<taken> items;
  cycle_t first = 0;
  cycle_t period = 1;

 private:
  void evaluate(cycle_t t) override {
    if (!in_.takeable(t)) {
      return;
    }
    if (t < first || t % period != 0) {
      wake(std::max(first, t + 1));
      return;
    }
    taken got{t, in_.front_visible(), in_.front_beats(), {}, {}};
    got.item = in_.take(t);
    got.bytes.assign(got.item.bytes.data(), got.item.bytes.data() + got.beats * 64);
    got.item.bytes.reset();
    items.push_back(std::move(got));
  }

  stream<wqe_item>& in_;
};

class wqe_fetch_bench : public testing::TestWithParam<int> {
 protected:
  wqe_fetch_bench() : bench(static_cast<std::uint64_t>(GetParam())) { ram.serve(requests, lines); }

  void make_qp(std::uint32_t qpn, unsigned log_size = LogSize, qp_state state = qp_state::Rts,
               std::uint64_t base = 0) {
    qpc_common common;
    common.valid = 1;
    common.state = state;
    common.wqe_base_addr = base != 0 ? base : Base + qpn * 0x100000;
    common.log_sq_size = static_cast<std::uint8_t>(log_size);
    ram.set(context_kind::qpc_common, qpn, common);
    queues[qpn] = {common.wqe_base_addr, log_size, 0, {}};
  }

  /// Writes a WQE of `ds` units behind the QP's last; returns the index of its first WQEBB.
  std::uint16_t post(std::uint32_t qpn, std::uint8_t ds, std::uint8_t claimed = 0) {
    queue& to = queues[qpn];
    const std::uint16_t index = to.next;
    const unsigned wqebbs = (ds + 3U) / 4U;
    for (unsigned i = 0; i < wqebbs; ++i) {
      std::array<std::uint8_t, 64> block{};
      block.fill(static_cast<std::uint8_t>(qpn * 3 + index + i));
      if (i == 0) {
        ctrl_seg control;
        control.wqe_index = index;
        control.qpn = qpn;
        control.ds = claimed != 0 ? claimed : ds;
        control.pack(block.data());
      }
      dma.memory[to.base + ((index + i) & ((1U << to.log_size) - 1)) * 64ULL] = block;
    }
    to.next = static_cast<std::uint16_t>(index + wqebbs);
    to.posted.push_back({index, ds});
    return index;
  }

  static doorbell bell(std::uint32_t qpn, std::uint16_t index, std::uint8_t ds) {
    doorbell item;
    item.function = 3;
    item.qpn = qpn;
    item.wqe_index = index;
    item.ds = ds;
    return item;
  }

  /// Posts and rings in cycle t (visible in t + 1).
  void send(cycle_t t, std::uint32_t qpn, std::uint8_t ds = 4) {
    host.at(t, bell(qpn, post(qpn, ds), ds));
  }

  doorbell burst(std::uint32_t qpn, std::uint16_t index, std::uint8_t ds) {
    doorbell item = bell(qpn, index, ds);
    item.blueflame = true;
    item.wqe = bench.nic.buffers.take();
    std::fill_n(item.wqe.data(), 256, std::uint8_t{0xbf});
    return item;
  }

  void go_back(cycle_t t, std::uint32_t qpn, std::uint8_t epoch, std::uint16_t index) {
    refetch item;
    item.qpn = qpn;
    item.epoch = epoch;
    item.wqe_index = index;
    back.at(t, item);
  }

  /// (index, epoch) of every WQE that the parser got, in order.
  [[nodiscard]] std::vector<std::pair<unsigned, unsigned>> handed_on() const {
    std::vector<std::pair<unsigned, unsigned>> result;
    for (const auto& got : parser.items) {
      result.emplace_back(got.item.wqe_index, got.item.epoch);
    }
    return result;
  }

  void finish(cycle_t cycles) {
    bench.run(cycles);
    bench.context.check_drained();
    EXPECT_EQ(bench.nic.buffers.in_use(), 0U);
  }

  /// Everything posted came, once and in order, with its bytes. Contexts were read on behalf of
  /// the doorbells' function.
  void expect_all_posted() {
    EXPECT_TRUE(ram.all_asked_for(3));
    std::map<std::uint32_t, std::size_t> next;
    for (const auto& got : parser.items) {
      const queue& from = queues[got.item.qpn];
      ASSERT_LT(next[got.item.qpn], from.posted.size());
      const auto [index, ds] = from.posted[next[got.item.qpn]++];
      ASSERT_EQ(got.item.wqe_index, index) << "QP " << got.item.qpn;
      ASSERT_EQ(got.item.ds, ds);
      ASSERT_EQ(got.beats, (ds + 3U) / 4U);
      ASSERT_EQ(got.item.function, 3U);
      ASSERT_EQ(ctrl_seg::unpack(got.bytes.data()).wqe_index, index);
      for (unsigned i = 0; i < got.beats; ++i) {
        ASSERT_EQ(got.bytes[i * 64 + 63], static_cast<std::uint8_t>(got.item.qpn * 3 + index + i));
      }
    }
    for (const auto& [qpn, each] : queues) {
      EXPECT_EQ(next[qpn], each.posted.size()) << "QP " << qpn;
    }
  }

  struct queue {
    std::uint64_t base;
    unsigned log_size;
    std::uint16_t next;
    std::vector<std::pair<std::uint16_t, std::uint8_t>> posted;
  };

  stage_bench bench;
  stream<doorbell>& doorbells = bench.port<doorbell>("uar.doorbell");
  stream<context_read>& requests = bench.port<context_read>("wqe_fetch.context_read", 8);
  stream<context_line>& lines = bench.port<context_line>("qpc_ram.wqe_fetch_line");
  stream<dma_read>& reads = bench.port<dma_read>("wqe_fetch.dma_read", 64);
  stream<dma_read_done>& done =
      bench.port<dma_read_done>("dma_engine.wqe_fetch_done", stage_spec::wqe_fetch::Outstanding);
  stream<qp_command>& commands = bench.port<qp_command>("pcie_endpoint.wqe_fetch_command", 8);
  stream<refetch>& refetches = bench.port<refetch>("tx_sched.refetch");
  stream<wqe_item>& wqes = bench.port<wqe_item>("wqe_fetch.wqe", 32, 16);
  source<doorbell> host{"host", bench, doorbells};
  source<qp_command> command{"command", bench, commands};
  source<refetch> back{"back", bench, refetches};
  context_lines ram{"ram", bench};
  scripted_dma dma{bench, reads, done};
  parser_end parser{bench, wqes};
  std::map<std::uint32_t, queue> queues;
  wqe_fetch dut{
      "wqe_fetch", bench.nic, {doorbells, requests, lines, reads, done, commands, refetches, wqes}};
};

}  // namespace carillon::bench
