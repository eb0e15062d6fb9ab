#include "host/machine.h"

#include <string>

#include "common/error.h"

namespace carillon {

machine::machine(const sc_core::sc_module_name& name, sim_context& context, tlp_pool& tlps,
                 unsigned cores)
    : sc_core::sc_module(name), bus("root_complex", context, memory, tlps), context_(context) {
  bus.add_window(MemoryBase, MemoryBytes);
  bus.add_interrupt_window(interrupts::WindowBase, interrupts::WindowBytes, controller);
  const std::string prefix = std::string(this->name()) + ".";
  for (std::int64_t i = 0; i < context.params.pcie.switches; ++i) {
    auto next = std::make_unique<pcie_switch>(fmt::format("pcie_switch{}", i).c_str(), context);
    slot_port().connect(next->towards_root());
    switches_.push_back(std::move(next));
  }
  if (context.params.sharing.tenants != 0) {
    sharing_ = std::make_unique<device_sharing>(context, prefix + "shared_device");
  }
  if (context.params.software.service_ps != 0) {
    software_ = std::make_unique<software_path>(context, prefix + "software_path");
  }
  const core_surroundings around{sharing_.get(), software_.get()};
  for (unsigned i = 0; i < cores; ++i) {
    cores_.push_back(
        std::make_unique<cpu>(fmt::format("cpu{}", i).c_str(), context, memory, bus, around));
  }
}

std::uint64_t machine::allocate(std::uint64_t bytes, std::uint64_t alignment) {
  const std::uint64_t address = (next_ + alignment - 1) & ~(alignment - 1);
  if (address + bytes > MemoryBase + MemoryBytes) {
    throw config_error(fmt::format("{}: {} bytes do not fit the host's memory of {}", this->name(),
                                   bytes, MemoryBytes));
  }
  next_ = address + bytes;
  return address;
}

}  // namespace carillon
