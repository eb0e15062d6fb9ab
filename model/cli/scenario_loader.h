// Reads a scenario, applies what the command line says on top, and refuses what cannot work.
//
// Every mistake is a config_error with one message: where (file and line, or the option), which
// key, what is wrong with it and what would be right.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/scenario.h"

namespace carillon {

/// What the command line changes.
struct scenario_overrides {
  std::vector<std::string> set;   ///< key=value: a parameter, workload.<key> or scenario.seed
  std::vector<std::string> impl;  ///< stage=model|rtl|lockstep, all=...; comma-separated lists too
  std::optional<std::uint64_t> seed;
  std::optional<std::uint64_t> shuffle;
  std::optional<std::string> profile;
  std::optional<bool> rtl_clock_always;
};

scenario load_scenario(const std::string& file, const scenario_overrides& overrides = {});

/// The same from text; `file` is for the messages and for finding profiles.
scenario parse_scenario(std::string_view text, const std::string& file,
                        const scenario_overrides& overrides = {});

/// Payload bytes that fit into a WQE of 256 bytes, the largest that the driver inlines and that
/// BlueFlame takes.
std::uint32_t inline_limit(work_opcode opcode);

/// Bytes of the WQE of such a work request.
std::uint32_t wqe_bytes(const workload_spec& workload);

/// Traces named by --trace or [trace] sinks.
void add_sink(trace_spec& trace, std::string_view name, const std::string& where);

}  // namespace carillon
