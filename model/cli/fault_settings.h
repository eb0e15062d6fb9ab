// The rules of [[fault]]: their keys, and which of them go together.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/scenario.h"
#include "cli/setting.h"

namespace carillon {

/// Replaces the rules by those of the list. `origin` tells where each key was set, as
/// fault.<number>.<key>, and where each rule stands, as fault.<number>.
void read_faults(const std::string& file, const setting& list, std::vector<fault_rule>& rules,
                 std::map<std::string, std::string, std::less<>>& origin);

/// Applies `fault.<number>.<key>`; throws config_error if there is no such rule or key.
void apply_fault(std::vector<fault_rule>& rules, std::string_view path, const setting& value,
                 std::map<std::string, std::string, std::less<>>& origin);

/// The paths that apply_fault takes for that many rules.
std::vector<std::string> fault_paths(std::size_t rules);

/// Throws config_error for a rule that lacks a key, or has one that its action does not know.
void check_faults(const run_point& point,
                  const std::map<std::string, std::string, std::less<>>& origin);

}  // namespace carillon
