// `carillon sweep`: all points of a scenario's [sweep], in parallel, into one table.
#pragma once

#include "cli/scenario.h"

namespace CLI {
class App;
}

namespace carillon {

void add_sweep_command(CLI::App& app);

int run_sweep_command(const CLI::App& app);

/// `run` is for one point: a config_error that names the keys that are still open.
void refuse_open_sweep(const scenario& what);

}  // namespace carillon
