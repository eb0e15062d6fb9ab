// The configuration spaces of a device's functions, without time: what each register holds, what a
// write changes, which functions are there. The registers are in docs/spec/pci.toml.
//
// Function 0 is the PF, function i + 1 VF i. VFs have a space of their own, but of its header only
// what is theirs: no IDs, no BARs, no memory enable.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/function_map.h"
#include "common/items.h"
#include "gen/params.h"

namespace carillon {

/// What of the configuration space depends on the chip. Sizes of BARs are powers of two.
struct config_shape {
  std::array<std::uint64_t, BarNumbers.size()> pf_bars{};
  std::array<std::uint64_t, VfBars> vf_bars{};
  std::uint16_t total_vfs = 0;  ///< 0: no SR-IOV capability
  std::uint16_t msix_vectors = 1;
  std::uint16_t max_payload = 512;  ///< bytes
  std::uint8_t link_generation = 5;
  std::uint8_t link_width = 16;
};

/// That of the chip that the parameters describe.
config_shape shape_of(const parameters& params);

class config_space {
 public:
  /// What a write did beyond the register.
  struct effects {
    bool map = false;                            ///< the function map is another one
    std::optional<std::uint16_t> reset;          ///< function-level reset of this function
    std::optional<std::uint16_t> vfs_vanishing;  ///< VF Enable was cleared: so many VFs are gone
  };

  explicit config_space(const config_shape& shape);

  /// The function that a request names, if it is there. `local`: of type 0, whatever its bus.
  [[nodiscard]] std::optional<std::uint16_t> find(std::uint16_t routing_id, bool local) const;

  [[nodiscard]] std::uint32_t read(std::uint16_t function, std::uint16_t offset) const;

  /// Writes the enabled bytes of the dword.
  effects write(std::uint16_t function, std::uint16_t offset, std::uint32_t value,
                std::uint8_t enables);

  /// The bus number of a configuration write of type 0. True if it is a new one.
  bool capture_bus(std::uint8_t bus);

  /// The function's registers go back to their reset values, but for those that survive; until
  /// end_reset it answers nobody. A reset of the PF clears VF Enable.
  void begin_reset(std::uint16_t function);
  void end_reset(std::uint16_t function);

  [[nodiscard]] bool resetting(std::uint16_t function) const { return resetting_[function]; }

  /// Notes an error in the status registers.
  void report(std::uint16_t function, pcie_error_kind kind);

  /// What the other stages must know of it.
  [[nodiscard]] function_map map() const;

  [[nodiscard]] std::uint16_t total_vfs() const { return shape_.total_vfs; }

 private:
  static constexpr std::size_t Dwords = 128;  ///< that are not all reserved

  struct image {
    std::array<std::uint32_t, Dwords> value{};
  };

  /// What of each dword can be written, cleared by ones, and survives a reset.
  struct rules {
    image reset;
    image writable;
    image clearable;
    image sticky;
  };

  static rules lay_out(bool vf);
  void set_reset(rules& of, std::uint16_t offset, unsigned bytes, std::uint32_t value);
  void adapt_pf();
  void size_bars(rules& of, std::uint16_t first, std::size_t count, const std::uint64_t* sizes);
  void size_vf_bars();

  [[nodiscard]] const rules& rules_of(std::uint16_t function) const {
    return function == 0 ? pf_rules_ : vf_rules_;
  }

  [[nodiscard]] std::uint32_t get(std::uint16_t function, std::uint16_t offset,
                                  unsigned bytes) const;
  void set(std::uint16_t function, std::uint16_t offset, std::uint32_t bits);
  [[nodiscard]] std::uint64_t bar(std::uint16_t offset) const;
  [[nodiscard]] std::uint64_t vf_bar_bytes(std::size_t index) const;
  [[nodiscard]] std::uint16_t vfs() const;
  [[nodiscard]] bool vf_enable() const;
  std::uint32_t guard_sriov(std::uint16_t offset, std::uint32_t before, std::uint32_t after) const;
  void note_first_error(std::uint16_t function, std::uint32_t status);

  const config_shape shape_;
  rules pf_rules_;
  rules vf_rules_;
  std::vector<image> images_;  ///< by function
  std::vector<bool> resetting_;
  std::uint8_t bus_ = 0;
  std::uint32_t resets_ = 0;
};

}  // namespace carillon
