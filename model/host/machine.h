// A host: memory, root complex, cores, and an allocator for what programs put into memory.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/context.h"
#include "host/cpu.h"
#include "host/effects/pcie_switch.h"
#include "host/host_memory.h"
#include "host/interrupts.h"
#include "host/root_complex.h"

namespace carillon {

class machine final : public sc_core::sc_module {
 public:
  /// Memory lies at [MemoryBase, MemoryBase + MemoryBytes) of the host's address space.
  static constexpr std::uint64_t MemoryBase = 0x100000000;
  static constexpr std::uint64_t MemoryBytes = std::uint64_t{64} << 30;

  machine(const sc_core::sc_module_name& name, sim_context& context, tlp_pool& tlps,
          unsigned cores = 1);

  host_memory memory;
  root_complex bus;
  interrupts controller;

  /// Where the device is plugged in: the root port, or the last switch on the way.
  [[nodiscard]] pcie_port& slot_port() {
    return switches_.empty() ? bus.port : switches_.back()->towards_device();
  }

  [[nodiscard]] cpu& core(unsigned index) { return *cores_.at(index); }

  [[nodiscard]] unsigned cores() const { return static_cast<unsigned>(cores_.size()); }

  [[nodiscard]] sim_context& context() { return context_; }

  /// An interrupt whose handler runs on a core.
  interrupt_line& bind_interrupt(unsigned index) { return controller.bind(core(index), index); }

  /// Zeroed memory for good; programs of a run do not free. `alignment` is a power of two.
  std::uint64_t allocate(std::uint64_t bytes, std::uint64_t alignment = 64);

 private:
  sim_context& context_;
  std::vector<std::unique_ptr<pcie_switch>> switches_;  ///< the root's first
  std::unique_ptr<device_sharing> sharing_;
  std::unique_ptr<software_path> software_;
  std::vector<std::unique_ptr<cpu>> cores_;
  std::uint64_t next_ = MemoryBase;
};

}  // namespace carillon
