#include "host/machine.h"

#include "common/error.h"

namespace carillon {

machine::machine(const sc_core::sc_module_name& name, sim_context& context, tlp_pool& tlps,
                 unsigned cores)
    : sc_core::sc_module(name),
      bus("root_complex", context, memory, tlps),
      sharing(context, this->name()),
      context_(context) {
  bus.add_window(MemoryBase, MemoryBytes);
  bus.add_interrupt_window(interrupts::WindowBase, interrupts::WindowBytes, controller);
  for (unsigned i = 0; i < cores; ++i) {
    cores_.push_back(std::make_unique<cpu>(fmt::format("cpu{}", i).c_str(), context, memory, bus));
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
