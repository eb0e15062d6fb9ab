// What a driver can find out about a function: its configuration space, its registers, what
// queries answer. The substance of a device listing.
#pragma once

#include <cstdint>
#include <vector>

#include "gen/contexts.h"
#include "host/driver.h"
#include "host/pci_bus.h"
#include "host/task.h"

namespace carillon {

struct device_info {
  struct gid_entry {
    unsigned index = 0;
    roce_addr_layout address;
  };

  unsigned function = 0;
  std::uint16_t routing_id = 0;
  std::uint16_t vendor_id = 0;  ///< of a VF: the PF's
  std::uint16_t device_id = 0;  ///< of a VF: the VF Device ID of the PF's SR-IOV capability
  std::uint16_t firmware_major = 0;
  std::uint16_t firmware_minor = 0;
  std::uint16_t firmware_sub = 0;
  std::uint16_t total_vfs = 0;    ///< of the PF: its SR-IOV capability
  std::uint16_t enabled_vfs = 0;  ///< likewise
  hca_cap capabilities;
  nic_vport_context port;
  bool link_up = false;
  vport_link_state link_admin = vport_link_state::Auto;
  std::vector<gid_entry> gids;  ///< valid ones
};

/// Of an open device in `slot`. Everything is asked of the device, by the core, in simulated time.
task<device_info> query_device(cpu& core, pci_bus& slot, device& adapter, unsigned function);

}  // namespace carillon
