// Runs a scenario inside the test process (one case a process) and looks things up in its summary.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "cli/runner.h"
#include "cli/scenario_loader.h"

namespace carillon {

/// The summary of a scenario with some keys set otherwise.
inline json run_with(const std::string& name, std::vector<std::string> set = {},
                     std::vector<std::string> impl = {}, std::uint64_t shuffle = 0) {
  scenario_overrides overrides;
  overrides.set = std::move(set);
  overrides.impl = std::move(impl);
  overrides.shuffle = shuffle;
  const scenario what = load_scenario("scenarios/" + name + ".toml", overrides);
  if (!what.single()) {
    throw std::invalid_argument(name + " has several points: a test process can simulate one");
  }
  run_options options;
  options.progress = false;
  return simulate(what, what.points.front(), options);
}

/// Cycles that the median message spent on a stage's account; 0 for a stage that it did not pass.
inline double cycles(const json& summary, const std::string& stage, const char* part = "total") {
  const auto& stages = summary.at("stages");
  return stages.contains(stage) ? stages.at(stage).at(part).at("p50").get<double>() : 0.0;
}

inline double total(const json& summary) {
  return summary.at("latency").at("doorbell_to_wire").at("p50").get<double>();
}

}  // namespace carillon
