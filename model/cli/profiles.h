// Where profiles are: TOML files of parameters, each with the provenance of its values.
#pragma once

#include <string>
#include <vector>

namespace carillon {

/// The folders that are searched, in order: `profiles` beside the scenario, scenarios/profiles here
/// and above the program.
std::vector<std::string> profile_folders(const std::string& scenario_file);

/// The file of a profile; empty if there is none.
std::string find_profile(const std::string& name, const std::string& scenario_file);

/// The names of all of them, `reference` included, sorted.
std::vector<std::string> known_profiles(const std::string& scenario_file);

}  // namespace carillon
