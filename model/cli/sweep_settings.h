// Reads `[sweep]`.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/setting.h"
#include "cli/sweep_spec.h"

namespace carillon {

/// The axes of the section, without those that `fixed` names: `--set` has decided them. `try_value`
/// is called with each value, to refuse one that cannot be.
sweep_spec read_sweep(const std::string& file, const setting& section,
                      const std::vector<std::string>& fixed,
                      const std::function<void(const setting&)>& try_value);

}  // namespace carillon
