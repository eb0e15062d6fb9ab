#include "cli/perftest_command.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/output_file.h"
#include "cli/perftest_settings.h"
#include "cli/perftest_table.h"
#include "cli/report.h"
#include "cli/runner.h"
#include "cli/scenario_loader.h"
#include "cli/subprocess.h"
#include "cli/text.h"
#include "common/error.h"

namespace carillon {

namespace {

constexpr const char* Command = "perftest";
constexpr const char* DefaultJsonFile = "perftest_out.json";
constexpr double PsPerSecond = 1e12;
constexpr double PsPerMs = 1e9;

constexpr const char* Footer = R"(Tests: ib_write_lat ib_read_lat ib_send_lat ib_atomic_lat
       ib_write_bw ib_read_bw ib_send_bw ib_atomic_bw

Examples:
  carillon perftest ib_write_lat -d mlx5_0 -F -x 3 -n 100000 -N 10000 -q 1
  carillon perftest ib_write_bw -d mlx5_0 -F --report_gbits -x 3 -q 4 -D 10 -s 65536
  carillon ib_read_lat -s 4096 --profile cx7-200g --breakdown
  carillon ib_send_bw -a --report_gbits --out_json
  carillon ib_write_lat -s 8 -I 0 --doorbell --set pcie.generation=4

Both sides are simulated: there is no server to start. write_lat and send_lat report half of a
round trip, read_lat and atomic_lat all of it.)";

scenario scenario_of(const perftest_arguments& from) {
  scenario_overrides overrides;
  // The judge of a run costs a quarter of its speed; --set workload.scoreboard=true brings it back.
  overrides.set = {"workload.scoreboard=false"};
  overrides.set.insert(overrides.set.end(), from.set.begin(), from.set.end());
  overrides.impl = from.impl;
  overrides.seed = from.seed;
  if (!from.profile.empty()) {
    overrides.profile = from.profile;
  }
  return from.scenario.empty()
             ? parse_scenario("[scenario]\nname = \"perftest\"\n", Command, overrides)
             : load_scenario(from.scenario, overrides);
}

/// One point a size, each of a copy of the scenario's first.
std::vector<run_point> points_of(const scenario& what, const perftest_arguments& from) {
  std::vector<run_point> points;
  const std::vector<std::uint32_t> sizes = perftest_sizes(from.options);
  for (const std::uint32_t size : sizes) {
    run_point point = what.points.front();
    apply_perftest(from.options, point);
    point.perftest->size = size;
    point.perftest->traced = from.breakdown || point.workload.scoreboard;
    point.label = sizes.size() == 1 ? "" : fmt::format("size_{}", size);
    points.push_back(std::move(point));
  }
  return points;
}

void warn_of_duration(const perftest_arguments& from, const perftest_spec& spec) {
  if (from.quiet || from.options.duration.empty()) {
    return;
  }
  const ps_t asked = parse_duration(from.options.duration, "-D");
  if (asked != spec.duration) {
    fmt::print(stderr,
               "carillon: {} ms of {} s are simulated, the figures are theirs; --simulate TIME or "
               "--full_duration for more ({:.0f} times as long)\n",
               trimmed(static_cast<double>(spec.duration) / PsPerMs),
               trimmed(static_cast<double>(asked) / PsPerSecond),
               static_cast<double>(asked) / static_cast<double>(spec.duration));
  }
}

std::string default_path(const perftest_spec& spec) {
  if (!spec.latency) {
    return "post_to_cqe";
  }
  return spec.half_round_trip() ? "one_way" : "post_to_cqe_seen";
}

}  // namespace

void add_perftest(CLI::App& app, perftest_arguments& to) {
  CLI::App* command = app.add_subcommand(
      Command, "Run a test of linux-rdma/perftest: ib_write_lat, ib_send_bw ...");
  command->add_option("TEST", to.options.test, "ib_{write,read,send,atomic}_{lat,bw}")->required();
  add_perftest_flags(*command, to.options);
  command->add_option("--profile", to.profile, "Parameters of a NIC and its host")
      ->type_name("NAME");
  command->add_option("--scenario", to.scenario, "Parameters, faults and devices of a scenario")
      ->type_name("FILE");
  command->add_option("--set", to.set, "Change a parameter")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->take_all();
  command->add_option("--impl", to.impl, "Implementation of stages, as of `run`")
      ->type_name("STAGE=IMPL,...")
      ->expected(1)
      ->take_all();
  command->add_option("--seed", to.seed, "Seed of everything random")->type_name("N");
  command->add_flag("--breakdown", to.breakdown, "Also show where each nanosecond went");
  command->add_option("--path", to.path, "The latency that --breakdown explains")
      ->type_name("NAME");
  command->add_flag("--stats", to.stats, "Also show what the run cost");
  command->add_flag("--quiet", to.quiet, "No warnings, no progress bar");
  command->footer(Footer);
}

std::vector<std::string> with_perftest(const std::vector<std::string>& arguments) {
  if (arguments.empty()) {
    return arguments;
  }
  const bool test = find_perftest(arguments.front()).has_value();
  if (!test && arguments.front() != Command) {
    return arguments;
  }
  std::vector<std::string> words = with_warmups(arguments);
  if (test) {
    words.insert(words.begin(), Command);
  }
  return words;
}

int run_perftest_command(const perftest_arguments& from) {
  const perftest_spec spec = resolve_perftest(from.options);
  scenario what = scenario_of(from);
  what.report_path = from.path.empty() ? default_path(spec) : from.path;
  if (!from.path.empty()) {
    latency_path_index(from.path);
  }
  what.expect.clear();
  const std::vector<run_point> points = points_of(what, from);
  warn_of_duration(from, spec);
  run_options options;
  options.progress = !from.quiet;
  std::vector<json> tests;
  std::vector<json> summaries;
  for (const run_point& point : points) {
    json summary =
        points.size() == 1
            ? simulate(what, point, options)
            : json::parse(run_in_child([&] { return simulate(what, point, options).dump(); }));
    const json& test = summary["perftest"];
    print((tests.empty() ? perftest_head(test) : std::string()) + perftest_row(test));
    tests.push_back(test);
    summaries.push_back(std::move(summary));
  }
  print(perftest_rule());
  if (from.breakdown || from.stats) {
    what.points = points;
    const report_style style{wants_colour(stdout), from.stats};
    print("\n" + render_report(scenario_summary(what, summaries), style));
  }
  if (from.options.out_json || !from.options.json_file.empty()) {
    write_file(from.options.json_file.empty() ? DefaultJsonFile : from.options.json_file,
               perftest_document(tests).dump(2) + "\n");
  }
  return static_cast<int>(exit_code::ok);
}

}  // namespace carillon
