// The `[expect]` section of a scenario file.
#pragma once

#include <string>
#include <vector>

#include "cli/scenario.h"
#include "cli/setting.h"

namespace carillon {

/// Appends the expectations below `section`; throws config_error for one that says nothing or that
/// nothing can meet.
void read_expectations(const std::string& file, const setting& section,
                       std::vector<expectation>& to);

}  // namespace carillon
