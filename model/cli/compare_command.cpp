#include "cli/compare_command.h"

#include <CLI/CLI.hpp>
#include <string>

#include "cli/compare.h"
#include "cli/output_file.h"
#include "cli/report.h"
#include "common/error.h"

namespace carillon {

namespace {

constexpr const char* Footer = R"(Examples:
  carillon compare out/before out/after
  carillon compare out/before out/after --tolerance 2 --json

A regression is a latency, a stage's service or a count of failures that grew, or a rate that fell,
by more than the tolerance, or one that is gone. Exit codes: 0 none, 1 there are some, 2 an input is
at fault.)";

}  // namespace

void add_compare_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("compare", "Tell what differs between two runs or two sweeps");
  command->add_option("BEFORE", "Folder of a run or sweep, or a summary.json")->required();
  command->add_option("AFTER", "The same, later")->required();
  command->add_option("--tolerance", "Worse by up to this is no regression (default: 0)")
      ->type_name("PERCENT")
      ->check(CLI::NonNegativeNumber);
  command->add_flag("--json")->description("For programs");
  command->footer(Footer);
}

int run_compare_command(const CLI::App& app) {
  const CLI::App& command = *app.get_subcommand("compare");
  const auto text = [&](const char* name) { return command.get_option(name)->as<std::string>(); };
  const findings before = load_findings(text("BEFORE"));
  const findings after = load_findings(text("AFTER"));
  const CLI::Option& tolerance = *command.get_option("--tolerance");
  const comparison found =
      compare(before, after, tolerance.count() != 0 ? tolerance.as<double>() : 0.0);
  const bool for_programs = command.get_option("--json")->count() != 0;
  print(for_programs ? comparison_json(before, after, found).dump(2) + "\n"
                     : render_comparison(before, after, found, wants_colour(stdout)));
  return static_cast<int>(found.regressed() ? exit_code::expectation_failed : exit_code::ok);
}

}  // namespace carillon
