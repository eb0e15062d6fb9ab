// carillon lockstep: random traffic at one stage, model against RTL.
#pragma once

#include "cosim/lockstep_bench.h"

namespace carillon {

struct lockstep_arguments {
  lockstep_options options;  ///< its stage may be `all`
  std::string source = "random";
  std::string sink = "random";
  bool json = false;
};

int run_lockstep_command(const lockstep_arguments& arguments);

}  // namespace carillon
