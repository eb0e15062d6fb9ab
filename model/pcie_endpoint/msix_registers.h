// The MSI-X table of each function as the host reads and writes it, and what completion, which
// sends the messages, is to hear of it.
//
// A table entry is accessed by aligned words of 4 or 8 bytes, as the PCI Express base specification
// (6.1.4) demands of software; other writes are refused. Bytes are little-endian, as they are on
// the bus.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/items.h"
#include "common/msix.h"
#include "common/ring.h"

namespace carillon {

class msix_registers {
 public:
  /// `vectors`: entries of a function's table.
  msix_registers(std::size_t functions, unsigned vectors);

  /// The access lies in the pages of table and pending bits, where nothing else is.
  [[nodiscard]] static bool holds(std::uint64_t offset) {
    return offset >= bar0::MsixTable && offset < bar0::MsixPba + PageBytes;
  }

  /// False if the write is refused. `offset` is in BAR0.
  bool write(std::uint16_t function, std::uint64_t offset, std::span<const std::uint8_t> data);

  /// `pending`: the level of that name.
  void read(std::uint16_t function, std::uint64_t offset, std::span<std::uint8_t> into,
            const msix_pending& pending) const;

  /// The configuration space says so.
  void set_control(std::uint16_t function, bool enable, bool mask);

  /// Function-level reset.
  void reset(std::uint16_t function);

  /// What completion has not been told, in order.
  [[nodiscard]] bool untold() const { return !commands_.empty(); }

  msix_command tell() { return commands_.pop(); }

 private:
  static constexpr std::uint32_t PageBytes = 0x1000;

  using entry = std::array<std::uint8_t, MsixEntryBytes>;

  [[nodiscard]] entry* find(std::uint16_t function, std::uint64_t offset);

  unsigned vectors_;
  std::vector<std::vector<entry>> tables_;  ///< by function
  ring<msix_command> commands_;
};

}  // namespace carillon
