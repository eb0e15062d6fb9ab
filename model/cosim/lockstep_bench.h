// One stage alone under constrained-random traffic, as model, RTL or both in lockstep: `carillon
// lockstep`.
//
// SystemC elaborates once a process, so one call a process.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/twin.h"
#include "common/types.h"

namespace carillon {

/// When a source offers or a sink takes: always, in every fourth cycle, or by a seeded coin.
enum class bench_pattern : std::uint8_t { none, every_4th, random };

[[nodiscard]] const char* to_string(bench_pattern pattern);
/// Throws config_error for another name than none, every4th, random.
[[nodiscard]] bench_pattern parse_bench_pattern(std::string_view name);

struct lockstep_options {
  std::string stage = "wqe_parser";
  std::uint64_t transactions = 10000;
  std::uint64_t seed = 1;
  bench_pattern source = bench_pattern::random;
  bench_pattern sink = bench_pattern::random;
  impl_kind impl = impl_kind::lockstep;
  bool rtl_clock_always = false;
  bool audit = false;
  cycle_t looks_until = 0;  ///< the model is looked at in every cycle before, whatever there is
  std::string variant;      ///< of the RTL; "" is the twin itself
  std::uint64_t shuffle_seed = 0;
  unsigned reset_seed = 0;  ///< of what no reset of the RTL sets, 0 for zeros
  std::string waves;        ///< folder for the RTL's signals, "" for none
  cycle_t waves_from = 0;
  cycle_t waves_to = NeverCycle;
};

struct coverage_bin {
  std::string name;
  std::uint64_t hits = 0;
  std::string excluded;  ///< why no traffic can hit it; "" for a bin that counts
};

struct lockstep_report {
  std::uint64_t transactions = 0;
  cycle_t cycles = 0;              ///< until the last item was taken
  std::uint64_t edges = 0;         ///< that the RTL got
  std::uint64_t trace_digest = 0;  ///< over every transfer and every span of the run
  std::vector<coverage_bin> coverage;

  [[nodiscard]] std::uint64_t hits(std::string_view bin) const;
  /// Bins that count and were not hit.
  [[nodiscard]] std::vector<std::string> uncovered() const;
  /// Bins that count.
  [[nodiscard]] std::size_t countable() const;
};

/// Stages that run_lockstep can drive.
[[nodiscard]] std::vector<std::string> lockstep_stages();

/// The command that repeats a run.
[[nodiscard]] std::string replay_command(const lockstep_options& options);

/// Throws config_error for a stage without twin or bench, lockstep_mismatch or rtl_error for what
/// the RTL does wrong, model_error for a hit of a bin that was argued unreachable.
lockstep_report run_lockstep(const lockstep_options& options);

}  // namespace carillon
