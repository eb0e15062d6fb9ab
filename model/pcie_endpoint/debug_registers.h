// BAR4 as a plain core: the loading of firmware, the state of the link's training, the internal
// SRAM.
//
// Firmware from flash runs from the start. Firmware from the host is stored into the SRAM through
// its window and checked when the driver says that it is complete; until it runs, the chip takes no
// commands.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/types.h"
#include "gen/params.h"
#include "gen/registers.h"

namespace carillon {

class debug_registers {
 public:
  explicit debug_registers(const parameters& params);

  /// The dword at a multiple of 4, in cycle t; none if it is of the SRAM and beyond its end.
  [[nodiscard]] std::optional<std::uint32_t> read(std::uint64_t offset, cycle_t t) const;
  /// False for what cannot be written, or not now.
  bool write(std::uint64_t offset, std::uint32_t value, cycle_t t);

  [[nodiscard]] firmware_state firmware() const { return firmware_; }

  /// Cycles since it runs.
  [[nodiscard]] cycle_t runs_for(cycle_t t) const {
    return firmware_ == firmware_state::Running ? t - running_since_ : 0;
  }

 private:
  bool control(bar4::fw_control_value command, cycle_t t);
  /// Where the window's dword lies in the SRAM.
  [[nodiscard]] std::optional<std::uint64_t> place(std::uint64_t offset) const;
  [[nodiscard]] std::uint32_t link_status(cycle_t t) const;

  std::vector<std::uint8_t> sram_;
  firmware_state firmware_;
  cycle_t running_since_ = 0;
  std::uint32_t length_ = 0;
  std::uint32_t crc_ = 0;
  std::uint32_t address_ = 0;
  const cycle_t trained_;  ///< the link is
  const std::uint8_t width_;
  const std::uint8_t generation_;
};

}  // namespace carillon
