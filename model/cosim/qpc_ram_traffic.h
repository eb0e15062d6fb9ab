// What the bench of qpc_ram asks and writes, and the memory behind it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/items.h"
#include "common/level.h"
#include "common/nic_shared.h"
#include "common/partition.h"
#include "common/random.h"
#include "cosim/bench_parts.h"
#include "cosim/coverage.h"
#include "qpc_ram.h"

namespace carillon {

/// Settings change with the seed: from tables so small that traffic meets in them all the time to
/// the default sizes, and caches from one line to more than there are in use.
parameters qpc_ram_settings(std::uint64_t seed);

/// A context RAM's surroundings. `memory`: its lines are in host memory.
struct ram_side {
  ram_side(sim_context& context, const std::string& name, nic_shared& nic, bool memory);

  static constexpr unsigned Readers = 12;

  nic_shared& nic;
  bool memory;
  level<partition_table> partitions;
  level<std::uint64_t> base;
  std::vector<std::unique_ptr<stream<context_read>>> requests;
  std::vector<std::unique_ptr<stream<context_line>>> lines;
  std::vector<std::unique_ptr<stream<context_write>>> writes;
  std::vector<std::unique_ptr<stream<qp_error>>> errors;
  std::vector<std::unique_ptr<stream<key_invalidation>>> strikes;
  stream<dma_read> fetches;
  stream<dma_read_done> answers;
  stream<dma_write> stores;
  icm_lines::ports icm;

  [[nodiscard]] qpc_ram_ports ports();
};

/// Draws what is asked and written.
class ram_traffic {
 public:
  ram_traffic(const parameters& params, std::uint64_t seed, coverage& cover)
      : sizes_(context_sizes::of(params)), random_(seed, "qpc_ram_bench/traffic"), cover_(cover) {}

  context_read make_read();
  context_write make_write();
  qp_error make_error();
  key_invalidation make_strike();
  partition_table make_partitions();
  std::uint64_t make_base();

 private:
  struct place {
    context_kind kind;
    std::uint32_t index;
  };

  place some_line();

  context_sizes sizes_;
  random_stream random_;
  coverage& cover_;
  place last_{};  ///< another item may be about it, too
};

/// Host memory: answers reads in order, each after a latency of its own, some of them with a fault.
class ram_memory final : public stage {
 public:
  ram_memory(const char* name, sim_context& context, ram_side& side, bench_pattern pattern,
             std::uint64_t seed, coverage& cover);

 private:
  void evaluate(cycle_t t) override;

  ram_side& side_;
  bench_pattern pattern_;
  pattern_gate read_gate_;
  pattern_gate write_gate_;
  random_stream random_;
  coverage& cover_;
  std::map<std::uint64_t, context_store::line> lines_;
};

/// Sees which reads a write meets under way.
class forward_watch {
 public:
  forward_watch(ram_side& side, coverage& cover);

 private:
  struct read_tap final : stream_tap<context_read> {
    forward_watch* owner = nullptr;

    void on_take(cycle_t t, const context_read& item) override { owner->on_read(t, item); }
  };

  struct write_tap final : stream_tap<context_write> {
    forward_watch* owner = nullptr;

    void on_take(cycle_t t, const context_write& item) override { owner->on_write(t, item); }
  };

  struct taken {
    cycle_t cycle = NeverCycle;
    context_kind kind = context_kind::qpc_common;
    std::uint32_t index = 0;
  };

  void on_read(cycle_t t, const context_read& item);
  void on_write(cycle_t t, const context_write& item);

  coverage& cover_;
  std::array<read_tap, ram_side::Readers> readers_;
  std::array<write_tap, 2> writers_;
  std::array<taken, 16> reads_{};
  std::size_t next_ = 0;
  taken written_;
};

}  // namespace carillon
