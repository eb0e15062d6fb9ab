// A bench for the DMA engine: two clients that read, two that write, register answers, the far end
// of the link, and a completer that answers reads in any order and any pieces.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "common/random.h"
#include "dma_engine.h"
#include "tb/common/function_maps.h"
#include "tb/common/link_script.h"
#include "tb/common/stage_bench.h"

namespace carillon::bench {

/// What host memory holds at an address.
inline std::uint8_t byte_at(std::uint64_t address) {
  return static_cast<std::uint8_t>((address * 193) ^ (address >> 7) ^ (address >> 15));
}

/// The far end of the link, which also remembers what is marked when a write is visible.
class far_end : public recording_device {
 public:
  using recording_device::recording_device;

  void on_tlp(tlp* packet) override {
    points.push_back(packet->point);
    recording_device::on_tlp(packet);
  }

  std::vector<milestone> points;
};

/// Puts completions on the stream from pcie_rx: of one tag in order, of different tags as it likes.
class completer : public stage {
 public:
  completer(stage_bench& bench, stream<read_completion>& out)
      : stage("completer", bench.context, "bench"), bench_(bench), out_(out) {
    out_.from(*this, site());
  }

  random_stream* shuffle = nullptr;  ///< whose turn it is; the oldest tag's without

  std::size_t only = 0;  ///< so many completions of a read, the rest never comes; 0: all

  /// Bytes of the next completion of `remaining` at `address`; all by default.
  std::function<std::uint32_t(std::uint64_t address, std::uint32_t remaining)> cut =
      [](std::uint64_t, std::uint32_t remaining) { return remaining; };

  /// Answers the read of such a tag, not before cycle t.
  void answer(cycle_t t, std::uint16_t tag, std::uint64_t address, std::uint32_t bytes,
              trace_ref trace = {}) {
    std::deque<read_completion> parts;
    while (bytes != 0) {
      const std::uint32_t chunk = cut(address, bytes);
      const auto lead = static_cast<std::uint32_t>(address & 3);
      read_completion part;
      part.trace = trace;
      part.tag = tag;
      part.byte_count = static_cast<std::uint16_t>(bytes);
      part.lower_address = address & 0x7f;
      part.length = static_cast<std::uint16_t>((lead + chunk + 3) / 4 * 4);
      part.data = bench_.nic.buffers.take();
      std::fill_n(part.data.data(), part.length, std::uint8_t{0xee});
      for (std::uint32_t i = 0; i < chunk; ++i) {
        part.data.data()[lead + i] = byte_at(address + i);
      }
      parts.push_back(std::move(part));
      if (parts.size() == only) {
        break;
      }
      address += chunk;
      bytes -= chunk;
    }
    queue(t, std::move(parts));
  }

  void refuse(cycle_t t, std::uint16_t tag, completion_status status, std::uint32_t bytes) {
    read_completion part;
    part.tag = tag;
    part.status = static_cast<std::uint8_t>(status);
    part.byte_count = static_cast<std::uint16_t>(bytes);
    queue(t, {part});
  }

  /// Answers with a dword more than the byte count allows.
  void overflow(cycle_t t, std::uint16_t tag, std::uint64_t address, std::uint32_t bytes) {
    answer(t, tag, address, bytes);
    lanes_.back().parts.back().length += 4;
  }

  void poison(cycle_t t, std::uint16_t tag, std::uint64_t address, std::uint32_t bytes) {
    answer(t, tag, address, bytes);
    lanes_.back().parts.back().poisoned = true;
  }

 private:
  struct lane {
    cycle_t from;
    std::deque<read_completion> parts;
  };

  void queue(cycle_t t, std::deque<read_completion> parts) {
    lanes_.push_back({t, std::move(parts)});
    wake(std::max(t, context_.clock.now() + 1));
  }

  void evaluate(cycle_t t) override {
    std::vector<std::size_t> ready;
    cycle_t next = NeverCycle;
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      if (lanes_[i].from <= t) {
        ready.push_back(i);
      } else {
        next = std::min(next, lanes_[i].from);
      }
    }
    if (!ready.empty()) {
      if (out_.port_free() > t + 1) {
        wake(out_.port_free() - 1);
        return;
      }
      const std::size_t chosen = ready[shuffle != nullptr ? shuffle->below(ready.size()) : 0];
      lane& from = lanes_[chosen];
      const unsigned beats = beats_of(from.parts.front().length);
      if (!out_.has_credit(t, beats)) {
        out_.ask_credit(t, beats);
        return;
      }
      read_completion part = std::move(from.parts.front());
      from.parts.pop_front();
      if (from.parts.empty()) {
        lanes_.erase(lanes_.begin() + static_cast<std::ptrdiff_t>(chosen));
      }
      if (part.trace.message != 0) {
        part.trace = context_.trace.flight(part.trace, site(), context_.trace.end_of(part.trace),
                                           time_of(t));
      }
      out_.push(t, 1, std::move(part), beats);
      next = t + 1;
    }
    if (next != NeverCycle) {
      wake(next);
    }
  }

  stage_bench& bench_;
  stream<read_completion>& out_;
  std::vector<lane> lanes_;
};

class nic_end : public pcie_listener {
 public:
  void on_tlp(tlp* packet) override { packet->release(); }

  void on_credits() override { engine->on_credits(); }

  dma_engine* engine = nullptr;
};

struct dma_bench {
  explicit dma_bench(std::uint64_t shuffle_seed, const parameters& params = {},
                     const std::array<flow_credits, 3>& advertised = {})
      : bench(shuffle_seed, params),
        steps(bench.context),
        port("nic_pcie", bench.context, {}),
        far("far", bench.context, advertised),
        fetch_reads(bench.port<dma_read>("fetch.reads", 64)),
        fetch_done(bench.port<dma_read_done>("fetch.done", 64)),
        payload_reads(bench.port<dma_read>("payload.reads", 64)),
        payload_done(bench.port<dma_read_done>("payload.done", 64)),
        payload_writes(bench.port<dma_write>("payload.writes", 1024, 68)),
        cqe_writes(bench.port<dma_write>("cqe.writes", 32, 4)),
        answers(bench.port<mmio_answer>("answers")),
        completions(bench.port<read_completion>("completions", 512, 68)),
        errors(bench.port<pcie_error>("errors", 16)),
        functions(bench.context.clock, "functions", placed_functions(4)),
        dut("dma_engine", bench.nic,
            dma_engine::ports{port,
                              {{fetch_reads, fetch_done, "wqe_fetch"},
                               {payload_reads, payload_done, "payload_dma"}},
                              {{payload_writes, "responder"}, {cqe_writes, "completion"}},
                              {&answers},
                              completions,
                              functions,
                              errors}),
        fetch("fetch", bench, fetch_reads),
        payload("payload", bench, payload_reads),
        fetched("fetched", bench, fetch_done),
        filled("filled", bench, payload_done),
        data("data", bench, payload_writes),
        cqes("cqes", bench, cqe_writes),
        registers("registers", bench, answers),
        reported("reported", bench, errors),
        complete(bench, completions) {
    port.connect(far.port);
    port.listen(end);
    end.engine = &dut;
  }

  dma_read read(std::uint64_t address, std::uint32_t length, std::uint64_t cookie = 0) {
    dma_read item;
    item.function = 2;
    item.address = address;
    item.length = length;
    item.into = bench.nic.buffers.take();
    item.into_offset = 16;
    item.cookie = cookie;
    std::fill_n(item.into.data(), BufferBytes, std::uint8_t{0});
    return item;
  }

  dma_write write(std::uint64_t address, std::uint32_t length) {
    dma_write item;
    item.function = 4;
    item.address = address;
    item.length = length;
    item.from = bench.nic.buffers.take();
    item.from_offset = 8;
    for (std::uint32_t i = 0; i < length; ++i) {
      item.from.data()[8 + i] = byte_at(address + i);
    }
    return item;
  }

  void post(cycle_t t, dma_write item) {
    const unsigned beats = beats_of(item.length);
    data.at(t, std::move(item), beats);
  }

  /// Answers every read TLP, in the order of their arrival, `cycles` after it.
  void answer_all(cycle_t cycles) {
    far.then = [this, cycles](const recording_device::arrival& seen) {
      if (seen.header.kind == tlp_kind::memory_read) {
        const byte_range range = touched(seen.header);
        complete.answer(bench.context.clock.now() + cycles, seen.header.tag, range.address,
                        range.bytes, seen.trace);
      }
    };
  }

  /// Of the next reads the first is refused, the second aborted, the third gets poisoned data, and
  /// the others what `then` gives them.
  void fail_three_ways(const std::function<void(cycle_t, const tlp_header&)>& then) {
    far.then = [this, then, nth = 0U](const recording_device::arrival& seen) mutable {
      const cycle_t at = bench.context.clock.now() + 10;
      switch (nth++) {
        case 0:
          complete.refuse(at, seen.header.tag, completion_status::UnsupportedRequest, 64);
          break;
        case 1:
          complete.refuse(at, seen.header.tag, completion_status::CompleterAbort, 64);
          break;
        case 2:
          complete.poison(at, seen.header.tag, touched(seen.header).address, 64);
          break;
        default:
          then(at, seen.header);
      }
    };
  }

  [[nodiscard]] std::vector<byte_range> ranges(tlp_kind kind) const {
    std::vector<byte_range> result;
    for (const auto& each : far.seen) {
      if (each.header.kind == kind) {
        result.push_back(touched(each.header));
      }
    }
    return result;
  }

  [[nodiscard]] std::string kinds() const {
    std::string result;
    for (const auto& each : far.seen) {
      result += each.header.kind == tlp_kind::memory_read    ? 'R'
                : each.header.kind == tlp_kind::memory_write ? 'W'
                                                             : 'C';
    }
    return result;
  }

  void finish() { bench.context.check_drained(); }

  stage_bench bench;
  script steps;
  pcie_port port;
  far_end far;
  stream<dma_read>& fetch_reads;
  stream<dma_read_done>& fetch_done;
  stream<dma_read>& payload_reads;
  stream<dma_read_done>& payload_done;
  stream<dma_write>& payload_writes;
  stream<dma_write>& cqe_writes;
  stream<mmio_answer>& answers;
  stream<read_completion>& completions;
  stream<pcie_error>& errors;
  level<function_map> functions;
  nic_end end;
  dma_engine dut;
  source<dma_read> fetch;
  source<dma_read> payload;
  sink<dma_read_done> fetched;
  sink<dma_read_done> filled;
  source<dma_write> data;
  source<dma_write> cqes;
  source<mmio_answer> registers;
  sink<pcie_error> reported;
  completer complete;
};

/// Tests of the DMA engine; the parameter is the shuffle seed.
class dma_engine_bench : public testing::TestWithParam<int> {
 protected:
  /// The bench; only once a test.
  dma_bench& make(const parameters& params = {},
                  const std::array<flow_credits, 3>& advertised = {}) {
    made_ = std::make_unique<dma_bench>(static_cast<std::uint64_t>(GetParam()), params, advertised);
    return *made_;
  }

 private:
  std::unique_ptr<dma_bench> made_;
};

}  // namespace carillon::bench
