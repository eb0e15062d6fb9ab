#include "common/steering.h"

namespace carillon {

namespace {

bool owns(const vport& port, const claimed_source& claimed) {
  if (claimed.mac != 0 && claimed.mac != port.mac) {
    return false;
  }
  const bool free_choice = !port.vlan && port.any_vlan;
  if (claimed.vlan && claimed.vlan != port.vlan && !free_choice) {
    return false;
  }
  if (port.sources.empty()) {
    return true;
  }
  if (claimed.gid_index >= port.sources.size()) {
    return false;
  }
  const vport::source& own = port.sources[claimed.gid_index];
  return own.valid && own.address == claimed.address;
}

}  // namespace

steering steer(const vport_table& ports, const frame_address& frame, bool looped) {
  if (is_group_address(frame.destination)) {
    return {steering_verdict::nobody};
  }
  if (!looped && ports.find(frame.source, frame.vlan)) {
    return {steering_verdict::alien_source};
  }
  std::optional<std::uint16_t> port = ports.find(frame.destination, frame.vlan);
  if (!port) {
    port = ports.promiscuous(frame.vlan);
  }
  if (!port) {
    return {steering_verdict::nobody};
  }
  return {steering_verdict::port, *port};
}

source_verdict source_allowed(const vport_table& ports, std::uint16_t function,
                              const claimed_source& claimed) {
  if (function >= ports.size() || !ports.at(function).enabled) {
    return source_verdict::down;
  }
  const vport& port = ports.at(function);
  return port.spoof_check && !owns(port, claimed) ? source_verdict::spoofed
                                                  : source_verdict::allowed;
}

}  // namespace carillon
