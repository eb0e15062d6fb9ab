// Runs the parts of the program that are written in Python: packages in scripts/, found beside the
// source or the installation.
#pragma once

#include <string>
#include <vector>

namespace carillon {

/// One such part.
struct python_tool {
  std::string package;                ///< in scripts/
  std::vector<std::string> needs;     ///< Python modules that are not Python's own
  std::vector<std::string> programs;  ///< that must be on PATH
  std::string installs;               ///< Debian's packages that hold all of this
};

/// Runs the tool and returns its exit code. Without a Python that has what it needs, or without the
/// package, a config_error that says what to install.
///
/// $CARILLON_PYTHON names the interpreter; else python3 on PATH, else the system's. The tool finds
/// this program in $CARILLON_BINARY and its version in $CARILLON_VERSION.
int run_python_tool(const python_tool& tool, const std::vector<std::string>& arguments);

/// This program's own file.
std::string own_binary();

}  // namespace carillon
