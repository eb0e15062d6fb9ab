// The sections `[device]` and `[[vf]]` of a scenario: what the vendor's tool and `ip link` set on
// real hosts.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/setting.h"
#include "host/function_settings.h"

namespace carillon {

struct run_point;

/// Where each key was set.
using setting_origins = std::map<std::string, std::string, std::less<>>;

/// ROCE_NEXT_PROTOCOL: 254 is the vendor's default, an IP protocol of no use to RoCE version 2.
inline constexpr std::uint8_t DefaultNextProtocol = 254;

/// Applies `[device]`, with `[device.host0]` and `[device.host1]` for one host alone.
void apply_device(const std::string& file, const setting& section,
                  std::vector<device_settings>& hosts, setting_origins& origin);

/// Applies a `device.` key of --set: the path without that prefix.
void apply_device_key(std::string_view path, const setting& value,
                      std::vector<device_settings>& hosts, setting_origins& origin);

/// Applies `[[vf]]` tables to both hosts, or to those that a table names by `host`.
void apply_vfs(const std::string& file, const setting& list, std::vector<device_settings>& hosts,
               setting_origins& origin);

/// Paths for --set.
std::vector<std::string> device_paths();

/// Throws config_error for settings that the device of the run cannot have.
void check_devices(const run_point& point, const setting_origins& origin,
                   const std::string& fallback);

}  // namespace carillon
