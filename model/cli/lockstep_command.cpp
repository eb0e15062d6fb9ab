#include "cli/lockstep_command.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fmt/format.h>
#include <unistd.h>

#include "cli/junit.h"
#include "cli/output_file.h"
#include "cli/report.h"
#include "cli/subprocess.h"
#include "cli/summary.h"
#include "cli/table.h"
#include "cli/text.h"
#include "common/error.h"
#include "cosim/rtl_block.h"

namespace carillon {

namespace {

constexpr double Percent = 100.0;

json run_one(const lockstep_options& options) {
  const lockstep_report report = run_lockstep(options);
  json coverage = json::object();
  json excluded = json::object();
  for (const coverage_bin& each : report.coverage) {
    if (each.excluded.empty()) {
      coverage[each.name] = each.hits;
    } else {
      excluded[each.name] = each.excluded;
    }
  }
  const auto bins = static_cast<double>(report.countable());
  const auto missed = static_cast<double>(report.uncovered().size());
  return {{"stage", options.stage},
          {"passed", true},
          {"transactions", report.transactions},
          {"cycles", report.cycles},
          {"rtl_edges", report.edges},
          {"trace_digest", fmt::format("{:016x}", report.trace_digest)},
          {"coverage", std::move(coverage)},
          {"excluded", std::move(excluded)},
          {"uncovered", report.uncovered()},
          {"covered_percent", bins == 0 ? Percent : (bins - missed) * Percent / bins},
          {"replay", replay_command(options)}};
}

constexpr cycle_t CyclesBeforeMismatch = 64;

/// After a mismatch: runs again for the waves of the cycles before it, and says where they are.
std::string show_waves(lockstep_options options, const std::string& failure) {
  static constexpr std::string_view Before = "lockstep mismatch in cycle ";
  const std::size_t at = failure.find(Before);
  if (!rtl_has_waves() || !options.waves.empty() || at == std::string::npos) {
    return "";
  }
  options.waves = "out/lockstep_" + options.stage;
  options.waves_to = std::stoull(failure.substr(at + Before.size()));
  options.waves_from =
      options.waves_to > CyclesBeforeMismatch ? options.waves_to - CyclesBeforeMismatch : 0;
  make_output_folder(options.waves);
  try {
    run_in_child([&] { return run_one(options).dump(); });
  } catch (const config_error&) {
    return "";  // a variant without
  } catch (const model_error&) {
    return fmt::format("\n  waves of cycles {} to {}: {}/{}.fst", options.waves_from,
                       options.waves_to, options.waves, options.stage);
  }
  return "";
}

/// The report, or the failure, of one stage.
json run_stage(const lockstep_options& options) {
  const auto start = std::chrono::steady_clock::now();
  json result;
  try {
    // A simulation of its own each: SystemC elaborates once a process.
    result = json::parse(run_in_child([&] { return run_one(options).dump(); }));
  } catch (const model_error& error) {
    result = {{"stage", options.stage},
              {"passed", false},
              {"failure", error.what() + show_waves(options, error.what())},
              {"replay", replay_command(options)}};
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  result["seconds"] = took.count();
  return result;
}

bool passed(const json& result) {
  return result["passed"].get<bool>();
}

/// "132 of 133 coverage bins hit (99.2 %)", and which were not.
std::string render_coverage(const json& result) {
  const json& uncovered = result["uncovered"];
  std::string text =
      fmt::format("{} of {} coverage bins hit ({} %)", result["coverage"].size() - uncovered.size(),
                  result["coverage"].size(),
                  trimmed(std::floor(result["covered_percent"].get<double>() * 10) / 10));
  if (!result["excluded"].empty()) {
    text += fmt::format(", {} excluded", result["excluded"].size());
  }
  for (const json& each : uncovered) {
    text += fmt::format("\n    not hit: {}", each.get<std::string>());
  }
  return text + "\n";
}

std::string render(const json& result) {
  text_table table({"<coverage", "hits"});
  for (const auto& [name, hits] : result["coverage"].items()) {
    table.row({name, grouped(hits.get<std::uint64_t>())});
  }
  return fmt::format(
      "{}: model and RTL agree: {} transactions, {} cycles, {} RTL clock edges\n{}"
      "  {}  replay: {}\n",
      result["stage"].get<std::string>(), grouped(result["transactions"].get<std::uint64_t>()),
      grouped(result["cycles"].get<std::uint64_t>()),
      grouped(result["rtl_edges"].get<std::uint64_t>()), table.render(wants_colour(stdout)),
      render_coverage(result), result["replay"].get<std::string>());
}

std::string render_all(const json& results) {
  text_table table({"<stage", "<result", "transactions", "cycles", "RTL edges", "bins", "seconds"});
  std::string missed;
  for (const json& each : results) {
    const auto stage = each["stage"].get<std::string>();
    const std::string seconds = fmt::format("{:.1f}", each["seconds"].get<double>());
    if (!passed(each)) {
      table.row({stage, "FAILED", "", "", "", "", seconds});
      continue;
    }
    const std::size_t bins = each["coverage"].size();
    table.row({stage, "agrees", grouped(each["transactions"].get<std::uint64_t>()),
               grouped(each["cycles"].get<std::uint64_t>()),
               grouped(each["rtl_edges"].get<std::uint64_t>()),
               fmt::format("{}/{}", bins - each["uncovered"].size(), bins), seconds});
    if (!each["uncovered"].empty()) {
      missed += fmt::format("  {}: {}", stage, render_coverage(each));
    }
  }
  return table.render(wants_colour(stdout)) + missed;
}

junit_suite junit_of(const json& results, double min_coverage) {
  junit_suite suite{"carillon lockstep", {}};
  for (const json& each : results) {
    junit_case one;
    one.name = each["stage"].get<std::string>();
    one.seconds = each["seconds"].get<double>();
    if (!passed(each)) {
      one.failure = each["failure"].get<std::string>();
    } else if (each["covered_percent"].get<double>() < min_coverage) {
      one.failure = render_coverage(each);
    }
    suite.cases.push_back(std::move(one));
  }
  return suite;
}

/// Says on standard error what went wrong.
exit_code judge(const json& results, double min_coverage) {
  exit_code code = exit_code::ok;
  std::fflush(stdout);
  for (const json& each : results) {
    const auto stage = each["stage"].get<std::string>();
    if (!passed(each)) {
      fmt::print(stderr, "carillon: internal check failed: {}\n",
                 each["failure"].get<std::string>());
      code = exit_code::model_error;
    } else if (each["covered_percent"].get<double>() < min_coverage) {
      fmt::print(stderr, "carillon: {}: {}", stage, render_coverage(each));
      code = std::max(code, exit_code::expectation_failed);
    }
  }
  return code;
}

}  // namespace

int run_lockstep_command(const lockstep_arguments& arguments) {
  lockstep_options options = arguments.options;
  options.source = parse_bench_pattern(arguments.source);
  options.sink = parse_bench_pattern(arguments.sink);
  const std::vector<std::string> known = lockstep_stages();
  std::vector<std::string> stages = {options.stage};
  const bool all = options.stage == "all";
  if (all) {
    stages = known;
  } else if (std::find(known.begin(), known.end(), options.stage) == known.end()) {
    throw config_error(fmt::format("lockstep {}: no stage with a lockstep bench has this name{}",
                                   options.stage, suggestion(options.stage, known)));
  }
  if (!options.waves.empty()) {
    if (!rtl_has_waves()) {
      throw config_error(
          "--waves: the RTL of this program writes none; configure with -DCARILLON_WAVES=ON");
    }
    make_output_folder(options.waves);
  }
  if (options.reset_seed != 0 && !rtl_has_random_reset()) {
    throw config_error(
        "--reset-seed: the RTL of this program begins with zeros; configure with "
        "-DCARILLON_RTL_RANDOM_RESET=ON");
  }
  json results = json::array();
  for (const std::string& stage : stages) {
    options.stage = stage;
    results.push_back(run_stage(options));
    if (!arguments.json && !all && passed(results.back())) {
      print(render(results.back()));
    }
  }
  if (arguments.json) {
    print(json({{"schema", "carillon-lockstep-1"}, {"stages", results}}).dump(2) + "\n");
  } else if (all) {
    print(render_all(results));
  }
  if (!arguments.junit.empty()) {
    write_file(arguments.junit, render_junit(junit_of(results, arguments.min_coverage)));
  }
  return static_cast<int>(judge(results, arguments.min_coverage));
}

}  // namespace carillon
