// The keys of [workload], and which of their combinations can work.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/scenario.h"
#include "cli/setting.h"
#include "host/verbs.h"

namespace carillon {

/// Applies one key of [workload] (`key` without the prefix); throws config_error for an unknown
/// one.
void apply_workload(workload_spec& workload, std::string_view key, const setting& value);

/// The mlx5 operation of a request.
wqe_opcode wqe_opcode_of(work_opcode opcode);

/// The attributes of a connection of this run.
connection_options connection_of(const run_point& point);

/// The keys that apply_workload knows.
std::vector<std::string> workload_keys();

/// Throws config_error for a combination that cannot work. `origin` tells where a key was set last;
/// `fallback` is used for keys that nobody set.
void check_point(const run_point& point,
                 const std::map<std::string, std::string, std::less<>>& origin,
                 const std::string& fallback);

}  // namespace carillon
