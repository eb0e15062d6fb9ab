// The program. SystemC's own main would print a banner and swallow exceptions, so this is a main of
// our own.

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <systemc>

#include "cli/commands.h"
#include "cli/perftest_options.h"

// libsystemc refers to it; nobody calls it.
int sc_main(int /*argc*/, char* /*argv*/[]) {
  return 0;
}

int main(int argc, char* argv[]) {
  setenv("SC_COPYRIGHT_MESSAGE", "DISABLE", 1);
  // A closed pipe is an output that cannot be written: reported, not fatal.
  std::signal(SIGPIPE, SIG_IGN);
  sc_core::sc_report_handler::set_actions(sc_core::SC_INFO, sc_core::SC_DO_NOTHING);
  std::vector<std::string> arguments(argv + 1, argv + argc);
  // As a symbolic link with the name of a test it is that test.
  const std::string name = std::filesystem::path(argc > 0 ? argv[0] : "").filename().string();
  if (carillon::find_perftest(name)) {
    arguments.insert(arguments.begin(), name);
  }
  return carillon::run_guarded(arguments);
}
