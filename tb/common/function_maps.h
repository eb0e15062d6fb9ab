// Functions as a host would have left them, for benches without a configuration space.
#pragma once

#include <cstdint>

#include "common/function_map.h"
#include "gen/params.h"
#include "gen/registers.h"
#include "host/pci_bus.h"

namespace carillon::bench {

inline constexpr std::uint64_t Bar0Base = 0x80000000;
inline constexpr std::uint64_t Bar2Base = 0x2000000000;
inline constexpr std::uint64_t Bar4Base = 0x90000000;
inline constexpr std::uint64_t UarBytes = 0x10000;

/// The PF and `vfs` VFs, enabled, each one's BARs behind the previous one's.
inline function_map placed_functions(std::uint16_t vfs = 0) {
  function_map map;
  map.pf = {bar_window{Bar0Base, bar0::Size}, bar_window{Bar2Base, UarBytes},
            bar_window{Bar4Base, bar4::Size}};
  map.pf_memory_enable = true;
  map.vf = {bar_window{Bar0Base + bar0::Size, bar0::Size},
            bar_window{Bar2Base + UarBytes, UarBytes}};
  map.vfs = vfs;
  map.vf_memory_enable = true;
  map.pf_id = pci_bus::Bus << 8;
  map.functions.assign(vfs + std::size_t{1}, {.bus_master = true});
  return map;
}

/// The same PF as the host's programs know it.
inline pci_function placed_pf() {
  return {0, pci_bus::Bus << 8, Bar0Base, Bar2Base, Bar4Base};
}

}  // namespace carillon::bench
