// `carillon config-space`: the configuration spaces of a device, in the form of lspci -xxxx.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace carillon {

struct config_space_arguments {
  std::string file;  ///< a scenario, for its parameters; none: the defaults
  std::vector<std::string> set;
  unsigned vfs = 0;                  ///< to enable
  std::optional<unsigned> function;  ///< this one alone
};

/// Enumerates the device of the first host and prints what its functions answer then.
int run_config_space_command(const config_space_arguments& from);

}  // namespace carillon
