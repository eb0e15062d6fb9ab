// The keys of [[pcie_fault]]: reads of host memory that go wrong on purpose.
#pragma once

#include <string>
#include <vector>

#include "cli/setting.h"
#include "host/pcie_faults.h"

namespace carillon {

/// Appends the rules of the list `value`; `hosts` is their number. Throws config_error for what
/// makes no sense.
void read_pcie_faults(const std::string& file, const setting& value, unsigned hosts,
                      std::vector<read_fault_rule>& rules);

}  // namespace carillon
