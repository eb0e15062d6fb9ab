// The PF driver's part of SR-IOV: enables the VFs, divides the context RAM among them, says what
// each may do, and lets them work. What the VFs' own drivers do with them is not its business.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "host/driver.h"
#include "host/function_settings.h"
#include "host/pci_bus.h"
#include "host/task.h"
#include "host/vf_partition.h"

namespace carillon {

class sriov {
 public:
  /// `make` makes a driver's object for a function, which lives longer than this.
  sriov(pci_bus& slot, device& pf, device_settings wanted,
        std::function<device*(unsigned function)> make);
  sriov(const sriov&) = delete;
  sriov& operator=(const sriov&) = delete;

  /// Opens the PF and enables its VFs as the settings say. The second of several callers waits for
  /// the first. Throws config_error if the VFs do not fit, command_refused if the device objects.
  task<> open(cpu& core);

  /// Makes a VF as good as new: function-level reset, and a new driver's object for it.
  task<> renew(cpu& core, std::uint16_t index);

  /// Asks the device what is in force.
  task<function_context> query(cpu& core, std::uint16_t function);

  /// Changes a VF's settings; those that are not set stay as they are. Its partition cannot change
  /// while it is enabled.
  task<> change(cpu& core, std::uint16_t index, vf_settings wanted);

  [[nodiscard]] const device_settings& settings() const { return wanted_; }

  [[nodiscard]] device& pf() { return pf_; }

  [[nodiscard]] std::uint16_t vfs() const { return static_cast<std::uint16_t>(vfs_.size()); }

  /// Of VF `index`; nobody has opened it yet. Once the VFs are enabled.
  [[nodiscard]] device& vf(std::uint16_t index) { return *vfs_.at(index); }

  [[nodiscard]] const vf_partition& partition(std::uint16_t index) const {
    return partitions_.at(index);
  }

 private:
  task<> enable(cpu& core);
  task<> modify(cpu& core, std::uint16_t function, std::uint32_t fields, function_context values);

  pci_bus& slot_;
  device& pf_;
  const device_settings wanted_;
  std::function<device*(unsigned)> make_;
  std::vector<vf_partition> partitions_;
  std::vector<device*> vfs_;
  cpu_lock lock_;
  bool opened_ = false;
};

}  // namespace carillon
