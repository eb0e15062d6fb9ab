#include "common/port_share.h"

#include <algorithm>

namespace carillon {

std::vector<port_share> shares_of(const vport_table& table) {
  const bool strict = table.arbitration == vport_arbitration::strict;
  const bool weighted = table.arbitration == vport_arbitration::weighted;
  std::vector<port_share> shares(table.size());
  for (std::uint16_t i = 0; i < shares.size(); ++i) {
    const vport& port = table.at(i);
    shares[i].enabled = port.enabled;
    shares[i].tagged = port.vlan.has_value();
    shares[i].priority = port.priority;
    shares[i].weight = weighted ? std::max<std::uint16_t>(port.weight, 1) : std::uint16_t{1};
    shares[i].urgency = strict ? port.urgency : std::uint8_t{0};
    shares[i].max_rate_mbps = port.max_rate_mbps;
  }
  return shares;
}

}  // namespace carillon
