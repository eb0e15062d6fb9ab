// `carillon compare`: what differs between two runs or sweeps.
#pragma once

namespace CLI {
class App;
}

namespace carillon {

void add_compare_command(CLI::App& app);

int run_compare_command(const CLI::App& app);

}  // namespace carillon
