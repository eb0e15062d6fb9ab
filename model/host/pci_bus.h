// What system firmware and the operating system's PCI code do with the slot that a device is in:
// find it, walk its capabilities, size and place its BARs, enable it and its VFs, reset functions.
//
// All of it is configuration accesses by a core in simulated time. A function that answers Retry,
// because it is being reset, is asked again every host.config_retry_ps.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "host/cpu.h"
#include "host/machine.h"
#include "host/task.h"

namespace carillon {

/// A function that the host may use, and where its BARs lie.
struct pci_function {
  unsigned number = 0;  ///< 0 the PF, i + 1 VF i
  std::uint16_t routing_id = 0;
  std::uint64_t bar0 = 0;
  std::uint64_t bar2 = 0;
  std::uint64_t bar4 = 0;  ///< 0: not there (VFs)
};

/// A driver that wants to know that its function was reset, or taken away.
class reset_listener {
 public:
  virtual void function_reset() = 0;

 protected:
  ~reset_listener() = default;
};

class pci_bus {
 public:
  static constexpr std::uint8_t Bus = root_complex::LinkBus;

  explicit pci_bus(machine& host);
  pci_bus(const pci_bus&) = delete;
  pci_bus& operator=(const pci_bus&) = delete;

  /// Finds the device, places the BARs of all functions that it can have, and enables the PF. Only
  /// the first call does something. Throws config_error if there is no such device or its BARs do
  /// not fit the windows.
  task<pci_function> enumerate(cpu& core);

  /// Functions as they were found and enabled by somebody else: nothing is left to enumerate.
  void adopt(std::vector<pci_function> functions);

  /// Enables VFs 0 to `count` - 1 as bus masters. Throws config_error if the device has fewer, or
  /// if VFs are enabled already.
  task<std::vector<pci_function>> enable_vfs(cpu& core, unsigned count);
  task<> disable_vfs(cpu& core);

  /// Function-level reset: returns when the function answers again, with its BARs and what was
  /// enabled as before. A reset of the PF takes the VFs away.
  task<> reset(cpu& core, unsigned function);

  /// `who` hears of every reset of the function from now on, until it leaves.
  void listen(unsigned function, reset_listener& who) { listeners_.push_back({function, &who}); }

  void leave(const reset_listener& who);

  task<> enable_msix(cpu& core, unsigned function, bool on);

  /// One access of 1, 2 or 4 bytes, aligned, to any function: all ones if nobody is there.
  task<std::uint32_t> read(cpu& core, std::uint16_t routing_id, std::uint16_t offset,
                           unsigned bytes);
  task<> write(cpu& core, std::uint16_t routing_id, std::uint16_t offset, std::uint32_t value,
               unsigned bytes);

  /// Throws config_error if the host has not enabled it.
  [[nodiscard]] const pci_function& function(unsigned number) const;

  /// Those that are enabled now, by number.
  [[nodiscard]] const std::vector<pci_function>& functions() const { return functions_; }

  /// Those that the device can have; known once it is enumerated.
  [[nodiscard]] unsigned total_vfs() const { return total_vfs_; }

 private:
  struct bar {
    std::uint64_t base = 0;
    std::uint64_t bytes = 0;  ///< 0: not there
    bool prefetchable = false;
  };

  static constexpr unsigned Bars = 3;  ///< of 64 bits: 0, 2, 4
  using bar_list = std::array<bar, Bars>;

  /// Addresses that are given away from the bottom.
  struct window {
    std::uint64_t next = 0;
    std::uint64_t end = 0;
  };

  task<> discover(cpu& core);
  task<std::uint16_t> find_capability(cpu& core, std::uint8_t id);
  task<std::uint16_t> find_extended(cpu& core, std::uint16_t id);
  task<bar_list> size_bars(cpu& core, std::uint16_t first);
  void place(bar_list& bars, unsigned copies);
  task<> write_bars(cpu& core, std::uint16_t first, bar_list bars);
  task<> configure_pf(cpu& core);
  task<> configure_sriov(cpu& core);
  task<> clear_vf_enable(cpu& core);
  task<> set_bits(cpu& core, std::uint16_t routing_id, std::uint16_t offset, std::uint16_t mask,
                  std::uint16_t bits);
  [[nodiscard]] pci_function vf(unsigned index) const;

  static constexpr std::uint16_t PfId = Bus << 8;

  struct listener {
    unsigned function = 0;
    reset_listener* who = nullptr;
  };

  /// Functions `first` to `last` were reset.
  void tell_reset(unsigned first, unsigned last);

  machine& host_;
  std::vector<listener> listeners_;
  cpu_lock lock_;
  window low_;
  window high_;
  bar_list pf_bars_{};
  bar_list vf_bars_{};
  std::uint16_t express_ = 0;  ///< where the PF's capabilities are; 0: not there
  std::uint16_t msix_ = 0;
  std::uint16_t sriov_ = 0;
  unsigned total_vfs_ = 0;
  std::uint16_t first_vf_offset_ = 0;
  std::uint16_t vf_stride_ = 0;
  bool enumerated_ = false;
  std::vector<pci_function> functions_;
};

}  // namespace carillon
