// Runs scenarios: one simulation a point, each in a process of its own if there are several.
#pragma once

#include <filesystem>
#include <string>

#include "cli/scenario.h"
#include "cli/summary.h"

namespace carillon {

struct run_options {
  std::filesystem::path out;  ///< empty: nothing is written
  bool progress = true;       ///< a bar on a terminal
};

/// Builds, runs and drains one system in this process; once a process.
json simulate(const scenario& what, const run_point& point, const run_options& options);

struct run_result {
  json summary;
  bool met = false;  ///< all expectations
};

/// All points, their expectations, and summary.json in options.out.
run_result run_scenario(const scenario& what, const run_options& options);

}  // namespace carillon
