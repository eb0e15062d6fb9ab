// carillon lockstep: random traffic at one stage, model against RTL.
#pragma once

#include "cosim/lockstep_bench.h"

namespace carillon {

struct lockstep_arguments {
  lockstep_options options;  ///< its stage may be `all`
  std::string source = "random";
  std::string sink = "random";
  std::string junit;        ///< file for the verdicts as JUnit XML, "" for none
  double min_coverage = 0;  ///< percent of the bins that must be hit
  bool json = false;
};

int run_lockstep_command(const lockstep_arguments& arguments);

}  // namespace carillon
