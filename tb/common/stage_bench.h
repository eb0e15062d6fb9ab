// A bench for one stage: sources that push on a plan, sinks that take with a pattern of
// back-pressure, a context RAM and a DMA engine of fixed latency with a memory of bytes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <systemc>

#include "common/items.h"
#include "common/nic_shared.h"
#include "common/stage.h"
#include "common/stream.h"
#include "common/tlp.h"

namespace carillon::bench {

struct stage_bench {
  explicit stage_bench(std::uint64_t shuffle_seed, const parameters& params = {})
      : context(params, 1, shuffle_seed), nic(context, "nic", tlps) {}

  void run(cycle_t cycles) {
    sc_core::sc_start(sc_core::sc_time::from_value(context.clock.time_of(cycles)));
  }

  [[nodiscard]] std::uint64_t count(counter which) const { return nic.counters.value(which); }

  template <class T>
  stream<T>& port(const std::string& name, unsigned depth = 16, unsigned max_beats = 1) {
    auto made = std::make_shared<stream<T>>(context, name, depth, max_beats);
    keep.push_back(made);
    return *made;
  }

  /// A message that begins in cycle t.
  trace_ref message(cycle_t t) { return context.trace.open(context.clock.time_of(t), {}); }

  sim_context context;
  tlp_pool tlps;
  nic_shared nic;
  std::vector<std::shared_ptr<void>> keep;
};

/// Pushes each item in its cycle, or as soon as there is room; latency 1. Opens a message for it.
template <class T>
class source : public stage {
 public:
  source(const char* name, stage_bench& bench, stream<T>& out)
      : stage(name, bench.context, "bench"), bench_(bench), out_(out) {
    out_.from(*this, site());
  }

  void at(cycle_t cycle, T item, unsigned beats = 1, bool traced = true) {
    if (plan_.empty()) {
      wake(cycle);
    }
    plan_.push_back({cycle, std::move(item), beats, traced});
  }

 private:
  struct planned {
    cycle_t cycle;
    T item;
    unsigned beats;
    bool traced;
  };

  [[nodiscard]] cycle_t start_of(const planned& item) const {
    return std::max(item.cycle + 1, out_.port_free()) - 1;
  }

  void evaluate(cycle_t t) override {
    if (plan_.empty()) {
      return;
    }
    planned& next = plan_.front();
    if (const cycle_t earliest = start_of(next); t < earliest) {
      wake(earliest);
      return;
    }
    if (!out_.has_credit(t, next.beats)) {
      out_.ask_credit(t, next.beats);
      return;
    }
    if (next.traced) {
      next.item.trace = bench_.message(t);
    }
    out_.push(t, 1, std::move(next.item), next.beats);
    plan_.pop_front();
    if (!plan_.empty()) {
      wake(std::max(t + 1, start_of(plan_.front())));
    }
  }

  stage_bench& bench_;
  stream<T>& out_;
  std::deque<planned> plan_;
};

/// Takes in every `period`-th cycle only.
template <class T>
class sink : public stage {
 public:
  struct taken {
    cycle_t cycle;
    cycle_t visible;
    T item;
  };

  sink(const char* name, stage_bench& bench, stream<T>& in, cycle_t period = 1)
      : stage(name, bench.context, "bench"), in_(in), period_(period) {
    in_.to(*this, site());
    watch(in_, {blocker::condition("bench", [](cycle_t) { return true; })});
  }

  std::vector<taken> items;

 private:
  void evaluate(cycle_t t) override {
    if (in_.takeable(t) && t % period_ == 0) {
      const cycle_t visible = in_.front_visible();
      items.push_back({t, visible, in_.take(t)});
    }
    if (in_.takeable(t)) {
      wake(t + 1);
    }
  }

  stream<T>& in_;
  cycle_t period_;
};

/// Context lines by kind and index; answers four cycles after it takes a request.
class context_lines : public stage {
 public:
  context_lines(const char* name, stage_bench& bench) : stage(name, bench.context, "qpc_ram") {}

  void serve(stream<context_read>& reads, stream<context_line>& lines) {
    reads.to(*this, site());
    lines.from(*this, site());
    watch(reads, {blocker::credit(lines)});
    ports_.push_back({&reads, &lines});
  }

  void accept(stream<context_write>& writes) {
    writes.to(*this, site());
    watch(writes, {});
    writes_ = &writes;
  }

  template <class L>
  void set(context_kind kind, std::uint32_t index, const L& line) {
    line.pack(lines_[{static_cast<unsigned>(kind), index}].data());
  }

  template <class L>
  L get(context_kind kind, std::uint32_t index) {
    return L::unpack(lines_[{static_cast<unsigned>(kind), index}].data());
  }

  /// Every read so far, and there was one, was on behalf of this function.
  [[nodiscard]] bool all_asked_for(std::uint16_t function) const {
    return !asked.empty() &&
           std::all_of(asked.begin(), asked.end(),
                       [function](const context_read& each) { return each.function == function; });
  }

  std::vector<context_read> asked;

 private:
  void evaluate(cycle_t t) override {
    if (writes_ != nullptr && writes_->takeable(t)) {
      const context_write in = writes_->take(t);
      lines_[{static_cast<unsigned>(in.kind), in.index}] = in.data;
    }
    for (auto& [reads, lines] : ports_) {
      if (!reads->takeable(t)) {
        continue;
      }
      if (!lines->has_credit(t)) {
        lines->ask_credit(t);
        continue;
      }
      const context_read in = reads->take(t);
      asked.push_back(in);
      context_line out;
      out.trace = in.trace;
      out.kind = in.kind;
      out.index = in.index;
      const auto found = lines_.find({static_cast<unsigned>(in.kind), in.index});
      out.valid = found != lines_.end();
      if (out.valid) {
        out.data = found->second;
      }
      lines->push(t, 4, out);
    }
  }

  std::vector<std::pair<stream<context_read>*, stream<context_line>*>> ports_;
  stream<context_write>* writes_ = nullptr;
  std::map<std::pair<unsigned, std::uint32_t>, std::array<std::uint8_t, BeatBytes>> lines_;
};

/// Answers reads `delay` cycles after it takes them and keeps what is written.
class dma_memory : public stage {
 public:
  dma_memory(const char* name, stage_bench& bench, cycle_t delay, cycle_t write_period = 1)
      : stage(name, bench.context, "dma_engine"), delay_(delay), period_(write_period) {}

  struct seen_write {
    cycle_t cycle;
    cycle_t visible;
    dma_write write;
  };

  void serve(stream<dma_read>& reads, stream<dma_read_done>& done) {
    reads.to(*this, site());
    done.from(*this, site());
    watch(reads, {blocker::credit(done)});
    reads_ = &reads;
    done_ = &done;
  }

  void accept(stream<dma_write>& writes) {
    writes.to(*this, site());
    watch(writes, {blocker::condition("bench", [](cycle_t) { return true; })});
    writes_.push_back(&writes);
  }

  std::uint8_t& at(std::uint64_t address) { return bytes_[address]; }

  template <class L>
  void put(std::uint64_t address, const L& layout) {
    std::vector<std::uint8_t> packed(L::Size);
    layout.pack(packed.data());
    for (std::size_t i = 0; i < packed.size(); ++i) {
      bytes_[address + i] = packed[i];
    }
  }

  template <class L>
  L get(std::uint64_t address) {
    std::vector<std::uint8_t> packed(L::Size);
    for (std::size_t i = 0; i < packed.size(); ++i) {
      packed[i] = bytes_[address + i];
    }
    return L::unpack(packed.data());
  }

  std::vector<seen_write> written;
  std::vector<std::pair<cycle_t, dma_read>> read;
  std::map<std::uint64_t, dma_status> faults;  ///< of reads of these addresses

 private:
  void evaluate(cycle_t t) override {
    for (stream<dma_write>* writes : writes_) {
      if (!writes->takeable(t)) {
        continue;
      }
      if (t % period_ != 0) {
        wake(t + 1);
        continue;
      }
      const cycle_t visible = writes->front_visible();
      dma_write in = writes->take(t);
      for (std::uint32_t i = 0; i < in.length; ++i) {
        bytes_[in.address + i] = in.from.data()[in.from_offset + i];
      }
      written.push_back({t, visible, std::move(in)});
    }
    if (reads_ == nullptr || !reads_->takeable(t)) {
      return;
    }
    if (!done_->has_credit(t)) {
      done_->ask_credit(t);
      return;
    }
    dma_read in = reads_->take(t);
    const auto fault = faults.find(in.address);
    const dma_status status = fault == faults.end() ? dma_status::ok : fault->second;
    for (std::uint32_t i = 0; status == dma_status::ok && i < in.length; ++i) {
      in.into.data()[in.into_offset + i] = bytes_[in.address + i];
    }
    done_->push(t, static_cast<unsigned>(delay_), {in.trace, in.cookie, status});
    read.emplace_back(t, std::move(in));
  }

  cycle_t delay_;
  cycle_t period_;
  stream<dma_read>* reads_ = nullptr;
  stream<dma_read_done>* done_ = nullptr;
  std::vector<stream<dma_write>*> writes_;
  std::map<std::uint64_t, std::uint8_t> bytes_;
};

/// The chain of a message's span partition: every picosecond from its begin to the end of `ref`.
inline std::vector<span> chain_of(const tracer& trace, trace_ref ref) {
  std::vector<span> chain;
  const message_record* record = trace.record(ref.message);
  if (record == nullptr) {
    return chain;
  }
  for (std::uint32_t at = ref.span; at != 0; at = record->spans[at].previous) {
    chain.insert(chain.begin(), record->spans[at]);
  }
  return chain;
}

/// Nanoseconds that the chain waits for `reason`.
inline ps_t waited_for(const tracer& trace, trace_ref ref, const std::string& reason) {
  ps_t sum = 0;
  for (const span& each : chain_of(trace, ref)) {
    if (each.kind == span_kind::wait && trace.name(each.reason) == reason) {
      sum += each.end - each.begin;
    }
  }
  return sum;
}

}  // namespace carillon::bench
