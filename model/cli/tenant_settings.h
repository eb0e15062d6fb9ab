// The section `[[tenant]]` of a scenario: users of a device who each have a function of it, or a
// share of one, and traffic of their own.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/scenario.h"
#include "cli/setting.h"

namespace carillon {

/// The largest number of tenants of one run: 500 users of one device is what the vendor names for
/// sharing; more exist so that running out of functions can be shown.
inline constexpr std::uint32_t MaxTenants = 512;

/// One tenant, with everything that `[workload]` gives it.
struct tenant_spec {
  work_opcode opcode = work_opcode::write;
  std::uint32_t size = 64;
  std::uint64_t messages = 1;
  std::uint64_t warmup = 0;
  std::uint32_t outstanding = 1;
  std::uint32_t qps = 1;
  std::uint32_t queue_depth = 64;
  submit_mode submit = submit_mode::doorbell;
  bool inlined = false;
  std::optional<std::uint8_t> priority;
  std::optional<std::uint32_t> mtu;
  std::optional<std::uint32_t> peer_mtu;
  tenant_peer peer = tenant_peer::host1;
  tenant_mistake mistake = tenant_mistake::none;
  bool background = false;
};

/// The tenants of a run, in order; empty if it has none.
std::vector<tenant_spec> tenants_of(const workload_spec& workload);

/// Replaces the list.
void read_tenants(const std::string& file, const setting& list, std::vector<tenant_table>& tenants,
                  std::map<std::string, std::string, std::less<>>& origin);

/// Throws config_error for tenants that cannot work.
void check_tenants(const run_point& point,
                   const std::map<std::string, std::string, std::less<>>& origin,
                   const std::string& fallback);

}  // namespace carillon
