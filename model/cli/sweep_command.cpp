#include "cli/sweep_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "cli/output_file.h"
#include "cli/python_tool.h"
#include "cli/scenario_loader.h"
#include "common/error.h"

namespace carillon {

namespace {

using json = nlohmann::ordered_json;

namespace fs = std::filesystem;

constexpr const char* PlanFile = "sweep.json";
constexpr const char* PlanSchema = "carillon-sweep-1";

constexpr const char* Footer = R"(Examples:
  carillon sweep scenarios/sweeps/doorbell_crossover.toml -j 4
  carillon sweep scenarios/sweeps/sensitivity.toml --set workload.messages=100 --out out/quick
  carillon sweep scenarios/sweeps/doorbell_crossover.toml --profile-cluster slurm -j 100

An interrupted sweep goes on where it was when the command is given again.)";

std::string text_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<std::string> strings(const CLI::App& command, const char* option) {
  return command.get_option(option)->as<std::vector<std::string>>();
}

bool given(const CLI::App& command, const char* option) {
  return command.get_option(option)->count() != 0;
}

scenario_overrides overrides_of(const CLI::App& command) {
  scenario_overrides result;
  result.set = given(command, "--set") ? strings(command, "--set") : std::vector<std::string>();
  if (given(command, "--seed")) {
    result.seed = command.get_option("--seed")->as<std::uint64_t>();
  }
  if (given(command, "--profile")) {
    result.profile = command.get_option("--profile")->as<std::string>();
  }
  return result;
}

/// Everything that decides what the points find; written beside them, so that a sweep that goes on
/// is known to be the same.
json plan_of(const scenario& what, const scenario_overrides& overrides,
             const std::vector<sweep_point>& points) {
  json common = json::array();
  for (const std::string& each : overrides.set) {
    common.insert(common.end(), {"--set", each});
  }
  if (overrides.seed) {
    common.insert(common.end(), {"--seed", std::to_string(*overrides.seed)});
  }
  if (overrides.profile) {
    common.insert(common.end(), {"--profile", *overrides.profile});
  }
  json axes = json::array();
  for (const sweep_axis& each : what.sweep.axes) {
    axes.push_back({{"key", each.key}, {"values", each.values}});
  }
  json groups = json::array();
  for (const auto& group : what.sweep.groups) {
    json keys = json::array();
    for (const std::size_t axis : group) {
      keys.push_back(what.sweep.axes[axis].key);
    }
    groups.push_back(std::move(keys));
  }
  json runs = json::array();
  for (std::size_t i = 0; i < points.size(); ++i) {
    json settings = json::object();
    for (const auto& each : points[i].settings) {
      settings[each.key] = each.value;
    }
    runs.push_back({{"id", fmt::format("{:05}", i)},
                    {"label", points[i].label},
                    {"settings", std::move(settings)}});
  }
  return {{"schema", PlanSchema},
          {"version", CARILLON_VERSION},
          {"scenario", fs::absolute(what.file).lexically_normal().string()},
          {"name", what.name},
          {"question", what.question},
          {"report_path", what.report_path},
          {"mode", what.sweep.mode == sweep_mode::grid ? "grid" : "one_at_a_time"},
          {"axes", std::move(axes)},
          {"groups", std::move(groups)},
          {"common", std::move(common)},
          {"points", std::move(runs)},
          {"text", text_of(what.file)}};
}

/// Writes the plan, or finds that a sweep of the same plan is there already.
void settle_plan(const fs::path& folder, const json& plan) {
  const fs::path file = folder / PlanFile;
  const std::string text = plan.dump(1) + "\n";
  if (fs::exists(file) && text_of(file) != text) {
    throw config_error(
        fmt::format("{}: holds another sweep, or one of another version of the scenario; give "
                    "another --out, or remove the folder",
                    folder.string()));
  }
  make_output_folder(folder);
  write_file(file, text);
}

}  // namespace

void add_sweep_command(CLI::App& app) {
  CLI::App* sweep = app.add_subcommand(
      "sweep", "Run all points of a scenario's [sweep] in parallel, into one table");
  sweep->add_option("SCENARIO", "The scenario, a TOML file with [sweep]")->required();
  sweep->add_option("-j,--jobs", "Points at the same time (default: one a core)")
      ->type_name("N")
      ->check(CLI::Range(1, 10000));
  sweep->add_option("--out", "Folder for the results (default: out/<name of the scenario>)")
      ->type_name("DIR");
  sweep->add_option("--set", "As of `run`; a key of the sweep is no longer swept")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->take_all();
  sweep->add_option("--profile", "Profile instead of the scenario's")->type_name("NAME");
  sweep->add_option("--seed", "Seed instead of the scenario's")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber);
  sweep
      ->add_option("--profile-cluster",
                   "Submit the points as jobs: to Slurm, or by the command "
                   "in CARILLON_SUBMIT")
      ->type_name("slurm|generic")
      ->check(CLI::IsMember({"slurm", "generic"}));
  sweep->add_flag("--retry")->description("Run points that failed once more");
  sweep->add_flag("--quiet")->description("Print only what is wrong");
  sweep->footer(Footer);
}

int run_sweep_command(const CLI::App& app) {
  const CLI::App& command = *app.get_subcommand("sweep");
  const scenario_overrides overrides = overrides_of(command);
  const scenario what = load_scenario(command.get_option("SCENARIO")->as<std::string>(), overrides);
  if (what.sweep.empty()) {
    throw config_error(fmt::format(
        "{}: has no [sweep] with a key that --set leaves open; `carillon run` runs it", what.file));
  }
  const fs::path folder = given(command, "--out")
                              ? fs::path(command.get_option("--out")->as<std::string>())
                              : fs::path("out") / what.name;
  settle_plan(folder, plan_of(what, overrides, expand(what.sweep)));
  const unsigned jobs = given(command, "--jobs")
                            ? command.get_option("--jobs")->as<unsigned>()
                            : std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::string> arguments = {folder.string(), "--jobs", std::to_string(jobs)};
  if (given(command, "--profile-cluster")) {
    arguments.insert(arguments.end(),
                     {"--cluster", command.get_option("--profile-cluster")->as<std::string>()});
  }
  for (const char* flag : {"--retry", "--quiet"}) {
    if (given(command, flag)) {
      arguments.emplace_back(flag);
    }
  }
  return run_python_tool({"sweep", {"snakemake"}, {}, "snakemake"}, arguments);
}

void refuse_open_sweep(const scenario& what) {
  if (what.sweep.empty()) {
    return;
  }
  const sweep_axis& first = what.sweep.axes.front();
  throw config_error(fmt::format(
      "{}: {}: is swept; `carillon sweep` runs all points; `carillon run` one, with --set {}={} or "
      "--ignore-sweep",
      first.where, first.key, first.key, first.values.front()));
}

}  // namespace carillon
