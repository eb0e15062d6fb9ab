// `carillon devinfo`: what the drivers of a host find out about its device, in the manner of
// ibv_devinfo -v.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/scenario.h"
#include "host/device_info.h"

namespace carillon {

/// Brings the first host of the run up, its VFs included, and asks each function. Once a process.
std::vector<device_info> find_devices(const run_point& point);

std::string render_devices(const std::vector<device_info>& devices);

nlohmann::ordered_json devices_json(const std::vector<device_info>& devices);

}  // namespace carillon
