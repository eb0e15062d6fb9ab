// What a scenario says of one point: the sections that [[points]] may have too, and single keys.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/device_settings.h"
#include "cli/scenario.h"
#include "cli/setting.h"

namespace carillon {

/// The sections that a point may have: parameters, workload, impl ...
std::vector<std::string> point_sections();

/// Applies a section of that name; false if points have no such section. `origin` is told where
/// each key was set. Throws config_error for what is unknown or not allowed in it.
bool apply_point_section(const std::string& file, std::string_view key, const setting& value,
                         run_point& point, setting_origins& origin);

/// One key of [workload], without the prefix.
void apply_workload_key(std::string_view key, const setting& value, run_point& point,
                        setting_origins& origin);

/// `name` with its group: pcie.generation.
void apply_parameter(const std::string& name, const setting& value, run_point& point,
                     setting_origins& origin);

/// Who plays a stage, or `all`: model, rtl or lockstep.
void apply_impl(const std::string& stage, std::string_view impl, const setting& value,
                run_point& point);

/// One key with its whole path, as --set and [sweep] name it: workload.size, pcie.generation,
/// fault.0.after ... The message for an unknown one names those of the whole scenario too.
void apply_point_key(const setting& value, run_point& point, setting_origins& origin);

}  // namespace carillon
