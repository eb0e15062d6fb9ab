// A context RAM whose lines are in host memory, with readers, writers and a memory that answers as
// a test says.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/context_sizes.h"
#include "common/random.h"
#include "gen/contexts.h"
#include "qpc_ram.h"
#include "tb/common/stage_bench.h"

namespace carillon::bench {

/// Answers reads in order, `delay` cycles after it takes them (and up to `jitter` more), and takes
/// a write every `write_period` cycles.
class icm_memory : public stage {
 public:
  using line = context_store::line;

  struct access {
    cycle_t cycle;
    std::uint64_t address;
    std::uint16_t function;
  };

  icm_memory(const char* name, stage_bench& bench, stream<dma_read>& reads,
             stream<dma_read_done>& done, stream<dma_write>& writes)
      : stage(name, bench.context, "dma_engine"),
        reads_(reads),
        done_(done),
        writes_(writes),
        random_(bench.context.seed, "icm_memory") {
    reads.to(*this, site());
    done.from(*this, site());
    writes.to(*this, site());
    watch(reads, {});
    watch(writes, {blocker::condition("bench", [](cycle_t) { return true; })});
  }

  cycle_t delay = 100;
  cycle_t jitter = 0;
  cycle_t write_period = 1;
  std::map<std::uint64_t, line> lines;
  std::map<std::uint64_t, dma_status> faults;  ///< of the next read of an address
  std::vector<access> read;
  std::vector<access> written;

 private:
  void evaluate(cycle_t t) override {
    if (writes_.takeable(t)) {
      if (t % write_period == 0) {
        const dma_write in = writes_.take(t);
        EXPECT_EQ(in.length, BeatBytes);
        std::copy_n(in.from.data() + in.from_offset, BeatBytes, lines[in.address].begin());
        written.push_back({t, in.address, in.function});
      } else {
        wake(t + 1);
      }
    }
    if (reads_.takeable(t)) {
      const dma_read in = reads_.take(t);
      EXPECT_EQ(in.length, BeatBytes);
      read.push_back({t, in.address, in.function});
      dma_status status = dma_status::ok;
      if (const auto fault = faults.find(in.address); fault != faults.end()) {
        status = fault->second;
        faults.erase(fault);
      } else {
        std::copy_n(lines[in.address].begin(), BeatBytes, in.into.data() + in.into_offset);
      }
      const cycle_t due = t + delay + (jitter == 0 ? 0 : random_.below(jitter));
      const cycle_t visible = std::max(due, done_.port_free());
      done_.push(t, static_cast<unsigned>(visible - t), {in.trace, in.cookie, status, in.into});
    }
  }

  stream<dma_read>& reads_;
  stream<dma_read_done>& done_;
  stream<dma_write>& writes_;
  random_stream random_;
};

inline context_read read_of(context_kind kind, std::uint32_t index, std::uint16_t function = 0) {
  return {{}, kind, index, function};
}

/// A line of any kind whose bytes are all the same.
inline context_write filled(context_kind kind, std::uint32_t index, std::uint8_t value) {
  context_write item{{}, kind, index, {}};
  item.data.fill(value);
  return item;
}

inline context_write common_line(std::uint32_t qpn, qp_state state) {
  qpc_common common;
  common.state = state;
  common.valid = 1;
  context_write item{{}, context_kind::qpc_common, qpn, {}};
  common.pack(item.data.data());
  return item;
}

inline qp_state state_in(const context_line& line) {
  return qpc_common::unpack(line.data.data()).state;
}

struct icm_bench {
  static constexpr unsigned Readers = 4;
  static constexpr std::uint64_t Base = 0x40000000;

  struct shape {
    std::int64_t lines = 4;
    std::int64_t ways = 4;
    std::int64_t misses = 4;
  };

  static parameters small(const shape& cache) {
    parameters params;
    params.nic.log_max_qp = 4;
    params.nic.log_max_cq = 4;
    params.nic.log_max_mkey = 5;
    params.nic.log_max_mtt_lines = 4;
    params.nic.icm = nic_icm::HostMemory;
    params.nic.icm_cache_lines = cache.lines;
    params.nic.icm_cache_ways = cache.ways;
    params.nic.icm_misses = cache.misses;
    return params;
  }

  icm_bench(std::uint64_t shuffle, const shape& cache, cycle_t period = 1, std::uint64_t at = Base)
      : stages(shuffle, small(cache)),
        base(stages.context.clock, "icm_base", at),
        partitions(stages.context.clock, "partitions", {}),
        dma_reads(stages.port<dma_read>("qpc_ram.dma_read", 16)),
        dma_done(stages.port<dma_read_done>("dma_engine.qpc_ram_done",
                                            static_cast<unsigned>(cache.misses))),
        dma_writes(stages.port<dma_write>("qpc_ram.dma_write", 4)),
        icm{dma_reads, dma_done, dma_writes, base},
        memory("memory", stages, dma_reads, dma_done, dma_writes),
        error_port(stages.port<qp_error>("bench.qp_error", 64)),
        invalidation_port(stages.port<key_invalidation>("bench.key_invalidation", 64)),
        errors("errors", stages, error_port),
        invalidations("invalidations", stages, invalidation_port) {
    qpc_ram::ports ports;
    for (unsigned i = 0; i < Readers; ++i) {
      const std::string name = "reader" + std::to_string(i);
      auto& requests = stages.port<context_read>(name + ".context_read", 64);
      auto& lines = stages.port<context_line>("qpc_ram." + name);
      ports.reads.push_back({requests, lines, "bench"});
      request_ports.push_back(&requests);
      readers.push_back(
          std::make_unique<source<context_read>>((name + "_out").c_str(), stages, requests));
      seen.push_back(
          std::make_unique<sink<context_line>>((name + "_in").c_str(), stages, lines, period));
    }
    for (unsigned i = 0; i < 2; ++i) {
      const std::string name = "writer" + std::to_string(i);
      auto& writes = stages.port<context_write>(name + ".context_write", 64);
      ports.writes.push_back(&writes);
      write_ports.push_back(&writes);
      writers.push_back(std::make_unique<source<context_write>>(name.c_str(), stages, writes));
    }
    ports.errors.push_back(&error_port);
    ports.invalidations.push_back(&invalidation_port);
    ports.partitions = &partitions;
    ports.icm = &icm;
    ram = std::make_unique<qpc_ram>("qpc_ram", stages.nic, std::move(ports));
  }

  /// Where a line is in memory: one kind behind the other.
  [[nodiscard]] static std::uint64_t address(context_kind kind, std::uint32_t index) {
    // 16 QPs of four lines, 16 CQs, 32 keys, 16 translation lines (see small()).
    constexpr std::array<std::uint64_t, 7> First = {0, 16, 32, 48, 64, 80, 112};
    return Base + (First.at(static_cast<std::size_t>(kind)) + index) * BeatBytes;
  }

  void put(const context_write& what) { memory.lines[address(what.kind, what.index)] = what.data; }

  void ask(unsigned reader, cycle_t t, context_kind kind, std::uint32_t index,
           std::uint16_t function = 0) {
    readers.at(reader)->at(t, read_of(kind, index, function));
  }

  void finish(cycle_t cycles) {
    stages.run(cycles);
    stages.context.check_drained();
  }

  [[nodiscard]] const sink<context_line>::taken& line(unsigned reader, std::size_t nth = 0) const {
    return seen.at(reader)->items.at(nth);
  }

  [[nodiscard]] std::uint64_t count(counter which) const { return stages.count(which); }

  [[nodiscard]] ps_t waited(unsigned reader, std::size_t nth, const std::string& reason) const {
    return waited_for(stages.context.trace, line(reader, nth).item.trace, reason);
  }

  stage_bench stages;
  level<std::uint64_t> base;
  level<partition_table> partitions;
  stream<dma_read>& dma_reads;
  stream<dma_read_done>& dma_done;
  stream<dma_write>& dma_writes;
  icm_lines::ports icm;
  icm_memory memory;
  stream<qp_error>& error_port;
  stream<key_invalidation>& invalidation_port;
  source<qp_error> errors;
  source<key_invalidation> invalidations;
  std::vector<stream<context_read>*> request_ports;
  std::vector<stream<context_write>*> write_ports;
  std::vector<std::unique_ptr<source<context_read>>> readers;
  std::vector<std::unique_ptr<sink<context_line>>> seen;
  std::vector<std::unique_ptr<source<context_write>>> writers;
  std::unique_ptr<qpc_ram> ram;
};

}  // namespace carillon::bench
