// What the host has made of a device's functions by their configuration spaces: where their BARs
// lie, which may master the bus, which are being reset. A level from pcie_endpoint, read by
// pcie_rx, dma_engine and uar.
//
// Function 0 is the PF, function i + 1 is VF i. The BARs of the VFs follow each other: VF i has the
// window i times its size behind that of VF 0.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace carillon {

/// BAR0 registers, BAR2 UAR pages, BAR4 debug, in this order. VFs have no BAR4.
inline constexpr std::array<std::uint8_t, 3> BarNumbers = {0, 2, 4};
inline constexpr std::size_t VfBars = 2;

struct bar_window {
  std::uint64_t base = 0;
  std::uint64_t bytes = 0;  ///< 0: not there

  [[nodiscard]] bool holds(std::uint64_t address) const {
    return address >= base && address - base < bytes;
  }

  bool operator==(const bar_window&) const = default;
};

struct bar_hit {
  bool hit = false;
  std::uint16_t function = 0;
  std::uint8_t bar = 0;
  std::uint64_t offset = 0;
};

/// Beyond the BARs, what a function may do.
struct function_enables {
  bool bus_master = false;  ///< it may read and write host memory
  bool resetting = false;   ///< function-level reset: it answers nobody and sends nothing
  bool msix_enable = false;
  bool msix_mask = false;  ///< of all its vectors

  bool operator==(const function_enables&) const = default;
};

struct function_map {
  std::array<bar_window, BarNumbers.size()> pf{};
  bool pf_memory_enable = false;
  std::array<bar_window, VfBars> vf{};  ///< of VF 0
  std::uint16_t vfs = 0;                ///< enabled ones
  bool vf_memory_enable = false;        ///< VF MSE
  std::uint16_t pf_id = 0;              ///< routing ID: bus << 8 | device and function
  std::uint16_t first_vf_offset = 1;
  std::uint16_t vf_stride = 1;
  std::vector<function_enables> functions;  ///< by number; those that could be enabled, too
  std::uint32_t resets = 0;                 ///< that have begun so far
  // What the host allows every function, by the PF's Device Control registers.
  std::uint16_t max_payload = 4096;  ///< MPS
  std::uint16_t max_read = 4096;     ///< MRRS
  std::uint16_t tags = 1024;         ///< of reads in flight
  bool relaxed_ordering = true;

  [[nodiscard]] bool exists(std::uint16_t function) const {
    return function <= vfs && function < functions.size();
  }

  /// It is no function, or one that is being reset: what it had under way is void.
  [[nodiscard]] bool gone(std::uint16_t function) const {
    return !exists(function) || functions[function].resetting;
  }

  /// The function may read and write host memory now.
  [[nodiscard]] bool masters(std::uint16_t function) const {
    return exists(function) && functions[function].bus_master && !functions[function].resetting;
  }

  /// What its requests carry as requester ID.
  [[nodiscard]] std::uint16_t routing_id(std::uint16_t function) const {
    return static_cast<std::uint16_t>(
        function == 0 ? pf_id : pf_id + first_vf_offset + (function - 1) * vf_stride);
  }

  /// The BAR that an address hits. A function that is being reset is not hit.
  [[nodiscard]] bar_hit find(std::uint64_t address) const {
    if (pf_memory_enable && !functions.empty() && !functions[0].resetting) {
      for (std::size_t i = 0; i < pf.size(); ++i) {
        if (pf[i].holds(address)) {
          return {true, 0, BarNumbers[i], address - pf[i].base};
        }
      }
    }
    if (!vf_memory_enable) {
      return {};
    }
    for (std::size_t i = 0; i < vf.size(); ++i) {
      if (vf[i].bytes == 0 || address < vf[i].base) {
        continue;
      }
      const std::uint64_t index = (address - vf[i].base) / vf[i].bytes;
      if (index < vfs && !functions[index + 1].resetting) {
        return {true, static_cast<std::uint16_t>(index + 1), BarNumbers[i],
                (address - vf[i].base) % vf[i].bytes};
      }
    }
    return {};
  }

  bool operator==(const function_map&) const = default;
};

}  // namespace carillon
