// carillon perftest: the well-known tests on the model.
#pragma once

#include <string>
#include <vector>

#include "cli/perftest_options.h"

namespace carillon {

struct perftest_arguments {
  perftest_options options;
  std::string profile;
  std::string scenario;
  std::string path;  ///< of --breakdown
  std::vector<std::string> set;
  std::vector<std::string> impl;
  std::optional<std::uint64_t> seed;
  bool breakdown = false;
  bool stats = false;
  bool quiet = false;
};

void add_perftest(CLI::App& app, perftest_arguments& to);

/// `ib_write_lat ...` is `perftest ib_write_lat ...`, and -N COUNT is understood.
std::vector<std::string> with_perftest(const std::vector<std::string>& arguments);

/// The exit code. Prints the head before the first simulation of several has ended.
int run_perftest_command(const perftest_arguments& from);

}  // namespace carillon
