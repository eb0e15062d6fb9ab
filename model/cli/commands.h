// The command line.
#pragma once

#include <string>
#include <vector>

namespace carillon {

/// Runs one command; `arguments` without the program's name. Returns the exit code; failures are
/// exceptions.
int run_command(const std::vector<std::string>& arguments);

/// run_command, with every failure as one message on standard error and its exit code.
int run_guarded(const std::vector<std::string>& arguments);

}  // namespace carillon
