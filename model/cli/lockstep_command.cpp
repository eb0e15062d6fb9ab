#include "cli/lockstep_command.h"

#include <algorithm>
#include <fmt/format.h>
#include <unistd.h>

#include "cli/output_file.h"
#include "cli/report.h"
#include "cli/subprocess.h"
#include "cli/summary.h"
#include "cli/table.h"
#include "cli/text.h"
#include "common/error.h"

namespace carillon {

namespace {

json run_one(const lockstep_options& options) {
  const lockstep_report report = run_lockstep(options);
  json coverage = json::object();
  for (const coverage_bin& each : report.coverage) {
    coverage[each.name] = each.hits;
  }
  return {{"stage", options.stage},
          {"passed", true},
          {"transactions", report.transactions},
          {"cycles", report.cycles},
          {"rtl_edges", report.edges},
          {"trace_digest", fmt::format("{:016x}", report.trace_digest)},
          {"coverage", std::move(coverage)},
          {"uncovered", report.uncovered()},
          {"replay", replay_command(options)}};
}

std::string render(const json& result) {
  text_table table({"<coverage", "hits"});
  for (const auto& [name, hits] : result["coverage"].items()) {
    table.row({name, grouped(hits.get<std::uint64_t>())});
  }
  const json& uncovered = result["uncovered"];
  return fmt::format(
      "{}: model and RTL agree: {} transactions, {} cycles, {} RTL clock edges\n{}"
      "  {} of {} coverage bins hit\n  replay: {}\n",
      result["stage"].get<std::string>(), grouped(result["transactions"].get<std::uint64_t>()),
      grouped(result["cycles"].get<std::uint64_t>()),
      grouped(result["rtl_edges"].get<std::uint64_t>()), table.render(wants_colour(stdout)),
      result["coverage"].size() - uncovered.size(), result["coverage"].size(),
      result["replay"].get<std::string>());
}

}  // namespace

int run_lockstep_command(const lockstep_arguments& arguments) {
  lockstep_options options = arguments.options;
  options.source = parse_bench_pattern(arguments.source);
  options.sink = parse_bench_pattern(arguments.sink);
  const std::vector<std::string> known = lockstep_stages();
  std::vector<std::string> stages = {options.stage};
  if (options.stage == "all") {
    stages = known;
  } else if (std::find(known.begin(), known.end(), options.stage) == known.end()) {
    throw config_error(fmt::format("lockstep {}: no stage with a lockstep bench has this name{}",
                                   options.stage, suggestion(options.stage, known)));
  }
  json results = json::array();
  for (const std::string& stage : stages) {
    options.stage = stage;
    // A simulation of its own each: SystemC elaborates once a process.
    results.push_back(json::parse(run_in_child([&] { return run_one(options).dump(); })));
    if (!arguments.json) {
      print(render(results.back()));
    }
  }
  if (arguments.json) {
    print(json({{"schema", "carillon-lockstep-1"}, {"stages", results}}).dump(2) + "\n");
  }
  return static_cast<int>(exit_code::ok);
}

}  // namespace carillon
