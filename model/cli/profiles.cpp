#include "cli/profiles.h"

#include <algorithm>
#include <filesystem>

namespace carillon {

namespace fs = std::filesystem;

std::vector<std::string> profile_folders(const std::string& scenario_file) {
  std::vector<std::string> result = {(fs::path(scenario_file).parent_path() / "profiles").string(),
                                     "scenarios/profiles"};
  // A build lies some levels below the folder that it was made of.
  std::error_code unknown;
  const fs::path program = fs::read_symlink("/proc/self/exe", unknown);
  for (fs::path above = program.parent_path(); !unknown && above.has_relative_path();
       above = above.parent_path()) {
    result.push_back((above / "scenarios" / "profiles").string());
  }
  return result;
}

std::string find_profile(const std::string& name, const std::string& scenario_file) {
  std::error_code absent;
  for (const std::string& folder : profile_folders(scenario_file)) {
    const fs::path file = fs::path(folder) / (name + ".toml");
    if (name.find('/') == std::string::npos && fs::exists(file, absent)) {
      return file.string();
    }
  }
  return {};
}

std::vector<std::string> known_profiles(const std::string& scenario_file) {
  std::vector<std::string> known = {"reference"};
  for (const std::string& folder : profile_folders(scenario_file)) {
    std::error_code absent;
    for (const auto& each : fs::directory_iterator(folder, absent)) {
      if (each.path().extension() == ".toml") {
        known.push_back(each.path().stem().string());
      }
    }
  }
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  return known;
}

}  // namespace carillon
