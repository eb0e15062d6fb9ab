#include "cli/report_command.h"

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/python_tool.h"

namespace carillon {

namespace {

constexpr const char* Footer = R"(Examples:
  carillon run scenarios/ping_pong.toml --trace && carillon report out/ping_pong
  carillon report out/doorbell_crossover -o crossover.html)";

}  // namespace

void add_report_command(CLI::App& app) {
  CLI::App* report = app.add_subcommand(
      "report", "Make one HTML file of charts and tables from a run's or sweep's folder");
  report->add_option("FOLDER", "That `run` or `sweep` wrote; with --trace there is more to see")
      ->required();
  report->add_option("-o,--output", "The file (default: report.html in the folder)")
      ->type_name("FILE");
  report->footer(Footer);
}

int run_report_command(const CLI::App& app) {
  const CLI::App* report = app.get_subcommand("report");
  std::vector<std::string> arguments = {report->get_option("FOLDER")->as<std::string>()};
  if (const CLI::Option* output = report->get_option("--output"); output->count() != 0) {
    arguments.insert(arguments.end(), {"--output", output->as<std::string>()});
  }
  return run_python_tool({"report", {"jinja2", "plotly"}, {}, "python3-jinja2 python3-plotly"},
                         arguments);
}

}  // namespace carillon
