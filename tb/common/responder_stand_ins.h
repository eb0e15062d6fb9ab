// What stands around the responder in its bench: a parser that looks packets up in the line as the
// responder left it, and a DMA engine with a memory that may fail and that keeps reads behind the
// writes that they must see.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "common/error.h"
#include "gen/contexts.h"
#include "tb/common/stage_bench.h"

namespace carillon::bench {

/// What the parser would say of a PSN (RoCEv2/IBTA rule: window of 2^23).
inline rx_verdict verdict_of(std::uint32_t psn, std::uint32_t expected) {
  const std::uint32_t ahead = (psn - expected) & 0xffffff;
  return ahead == 0         ? rx_verdict::accept
         : ahead < 0x800000 ? rx_verdict::gap
                            : rx_verdict::duplicate;
}

/// Delivers packets one of a QP at a time: the next one is looked up after the commit. Throws if a
/// packet is committed twice; `uncommitted` counts those that were not.
class parser_stand_in : public stage {
 public:
  parser_stand_in(stage_bench& bench, context_lines& ram, stream<rx_packet>& packets,
                  stream<qp_commit>& commits)
      : stage("rx_parser", bench.context, "bench"),
        bench_(bench),
        ram_(ram),
        packets_(packets),
        commits_(commits) {
    packets_.from(*this, site());
    commits_.to(*this, site());
    watch(commits_, {});
  }

  /// In that cycle, or as soon as its QP is free.
  void at(cycle_t cycle, rx_packet packet) {
    plan_.push_back({cycle, std::move(packet), false});
    wake(std::max(cycle, context_.clock.now() + 1));
  }

  /// In that cycle, with the lines and the verdict that it has.
  void as_it_is(cycle_t cycle, rx_packet packet) {
    at(cycle, std::move(packet));
    plan_.back().looked_up = true;
  }

  std::vector<std::pair<cycle_t, std::uint32_t>> committed;  ///< when visible, and which QP
  int uncommitted = 0;

 private:
  struct planned {
    cycle_t cycle;
    rx_packet packet;
    bool looked_up;
  };

  void evaluate(cycle_t t) override {
    while (commits_.takeable(t)) {
      const cycle_t visible = commits_.front_visible();
      const qp_commit commit = commits_.take(t);
      committed.emplace_back(visible, commit.qpn);
      --uncommitted;
      CARILLON_CHECK(--busy_[commit.qpn] >= 0, "QP {} committed twice", commit.qpn);
      free_[commit.qpn] = t + 1;
    }
    if (plan_.empty()) {
      return;
    }
    planned& next = plan_.front();
    const std::uint32_t qpn = next.packet.qpn;
    if (!next.looked_up && busy_[qpn] != 0) {
      return;  // its commit wakes us
    }
    const cycle_t earliest =
        std::max({next.cycle + 1, packets_.port_free(), next.looked_up ? 0 : free_[qpn] + 1}) - 1;
    if (t < earliest) {
      wake(earliest);
      return;
    }
    if (!packets_.has_credit(t)) {
      packets_.ask_credit(t);
      return;
    }
    rx_packet packet = std::move(next.packet);
    if (!next.looked_up) {
      const auto common = ram_.get<qpc_common>(context_kind::qpc_common, qpn);
      const auto line = ram_.get<qpc_responder>(context_kind::qpc_responder, qpn);
      common.pack(packet.common.data());
      line.pack(packet.responder.data());
      packet.function = common.function_id;
      packet.verdict = common.service == qp_service::Rc ? verdict_of(packet.psn, line.next_rcv_psn)
                                                        : rx_verdict::accept;
      if (line.error != 0) {
        packet.verdict = rx_verdict::bad_state;
      }
    }
    packet.trace = bench_.message(t);
    ++busy_[qpn];
    ++uncommitted;
    packets_.push(t, 1, std::move(packet));
    plan_.pop_front();
    if (!plan_.empty()) {
      wake(t + 1);
    }
  }

  stage_bench& bench_;
  context_lines& ram_;
  stream<rx_packet>& packets_;
  stream<qp_commit>& commits_;
  std::deque<planned> plan_;
  std::map<std::uint32_t, int> busy_;
  std::map<std::uint32_t, cycle_t> free_;
};

/// Host memory behind a DMA engine: a read waits for the writes that it names, then takes `delay`
/// cycles.
class responder_memory : public stage {
 public:
  responder_memory(stage_bench& bench, cycle_t delay, cycle_t write_period, stream<dma_read>& reads,
                   stream<dma_read_done>& done, stream<dma_write>& writes)
      : stage("dma_engine", bench.context, "dma_engine"),
        delay_(delay),
        period_(write_period),
        reads_(reads),
        done_(done),
        writes_(writes) {
    reads_.to(*this, site());
    done_.from(*this, site());
    writes_.to(*this, site());
    watch(reads_, {blocker::condition("bench", [](cycle_t) { return true; })});
    watch(writes_, {blocker::condition("bench", [](cycle_t) { return true; })});
  }

  struct seen_write {
    cycle_t cycle;
    cycle_t visible;
    dma_write write;
  };

  std::uint8_t& at(std::uint64_t address) { return bytes_[address]; }

  template <class L>
  void put(std::uint64_t address, const L& layout) {
    std::array<std::uint8_t, L::Size> packed{};
    layout.pack(packed.data());
    for (std::size_t i = 0; i < packed.size(); ++i) {
      bytes_[address + i] = packed[i];
    }
  }

  void put_word(std::uint64_t address, std::uint64_t value) {
    for (unsigned i = 0; i < 8; ++i) {
      bytes_[address + i] = static_cast<std::uint8_t>(value >> (8 * i));
    }
  }

  std::uint64_t word(std::uint64_t address) {
    std::uint64_t value = 0;
    for (unsigned i = 0; i < 8; ++i) {
      value |= std::uint64_t{bytes_[address + i]} << (8 * i);
    }
    return value;
  }

  /// Big-endian, as doorbell records are.
  void put_record(std::uint64_t address, std::uint16_t value) {
    bytes_[address + 2] = static_cast<std::uint8_t>(value >> 8);
    bytes_[address + 3] = static_cast<std::uint8_t>(value);
  }

  std::map<std::uint64_t, dma_status> failing;  ///< reads that begin there
  std::vector<seen_write> written;
  std::vector<std::pair<cycle_t, dma_read>> read;

  /// Reads that began at that address.
  [[nodiscard]] std::size_t reads_of(std::uint64_t address) const {
    return static_cast<std::size_t>(std::count_if(read.begin(), read.end(), [&](const auto& each) {
      return each.second.address == address;
    }));
  }

 private:
  void evaluate(cycle_t t) override {
    if (writes_.takeable(t)) {
      if (t % period_ != 0) {
        wake(t + 1);
      } else {
        const cycle_t visible = writes_.front_visible();
        dma_write in = writes_.take(t);
        for (std::uint32_t i = 0; i < in.length; ++i) {
          bytes_[in.address + i] = in.from.data()[in.from_offset + i];
        }
        in.from.reset();
        written.push_back({t, visible, std::move(in)});
      }
    }
    if (!reads_.takeable(t) || reads_.front().writes_before > written.size()) {
      return;  // a write wakes us
    }
    if (!done_.has_credit(t)) {
      done_.ask_credit(t);
      return;
    }
    dma_read in = reads_.take(t);
    const auto failed = failing.find(in.address);
    const dma_status status = failed == failing.end() ? dma_status::ok : failed->second;
    for (std::uint32_t i = 0; status == dma_status::ok && i < in.length; ++i) {
      in.into.data()[in.into_offset + i] = bytes_[in.address + i];
    }
    done_.push(t, static_cast<unsigned>(delay_), {in.trace, in.cookie, status});
    in.into.reset();
    read.emplace_back(t, std::move(in));
  }

  cycle_t delay_;
  cycle_t period_;
  stream<dma_read>& reads_;
  stream<dma_read_done>& done_;
  stream<dma_write>& writes_;
  std::map<std::uint64_t, std::uint8_t> bytes_;
};

/// In place of tx_sched: takes responses in every `period`-th cycle and says `leaves_after` cycles
/// later that those of saved requests have left.
class response_taker : public stage {
 public:
  response_taker(const char* name, stage_bench& bench, stream<response_item>& in,
                 stream<response_left>& answered, cycle_t period)
      : stage(name, bench.context, "bench"), in_(in), answered_(answered), period_(period) {
    in_.to(*this, site());
    answered_.from(*this, site());
    watch(in_, {blocker::condition("bench", [](cycle_t) { return true; })});
  }

  std::vector<sink<response_item>::taken> items;
  unsigned leaves_after = 1;

 private:
  void evaluate(cycle_t t) override {
    if (in_.takeable(t) && t % period_ == 0) {
      const cycle_t visible = in_.front_visible();
      items.push_back({t, visible, in_.take(t)});
      const response_item& item = items.back().item;
      if (item.saved) {
        answered_.push(t, leaves_after, {{}, item.qpn, item.generation});
      }
    }
    if (in_.takeable(t)) {
      wake(t + 1);
    }
  }

  stream<response_item>& in_;
  stream<response_left>& answered_;
  cycle_t period_;
};

}  // namespace carillon::bench
