// `carillon report`: a run or a sweep as one HTML file.
#pragma once

namespace CLI {
class App;
}

namespace carillon {

/// Adds the command; its work is done when CLI11 has parsed it and `run_report_command` is called.
void add_report_command(CLI::App& app);

int run_report_command(const CLI::App& app);

}  // namespace carillon
