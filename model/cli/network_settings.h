// The section [network] of a scenario: how hosts are cabled, what the switches are like, and which
// receivers are stuck.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/scenario.h"
#include "cli/setting.h"
#include "fabric/topology.h"

namespace carillon {

/// Applies the table; a list in it replaces the one before. `origin` tells where each key was set.
void apply_network(const std::string& file, const setting& section, run_point& point,
                   std::map<std::string, std::string, std::less<>>& origin);

/// Applies a `network.` key of --set: the path without that prefix.
void apply_network_key(std::string_view path, const setting& value, run_point& point,
                       std::map<std::string, std::string, std::less<>>& origin);

/// Paths for --set.
std::vector<std::string> network_paths();

/// Throws config_error for a network that cannot be.
void check_network(const run_point& point,
                   const std::map<std::string, std::string, std::less<>>& origin,
                   const std::string& fallback);

/// The settings of each kind of switch that the network has, ports and all.
std::vector<switch_settings> switches_of(const run_point& point);

/// The network between the hosts; nothing if it is a cable.
std::optional<topology> make_topology(sim_context& context, const run_point& point);

}  // namespace carillon
