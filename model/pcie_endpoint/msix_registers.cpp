#include "pcie_endpoint/msix_registers.h"

#include <algorithm>
#include <cstring>

namespace carillon {

namespace {

constexpr std::uint8_t MaskBit = 1;

/// Vectors are masked until the host unmasks them.
constexpr std::array<std::uint8_t, MsixEntryBytes> reset_entry() {
  std::array<std::uint8_t, MsixEntryBytes> bytes{};
  bytes[MsixControlOffset] = MaskBit;
  return bytes;
}

template <class Word>
Word little_endian(const std::uint8_t* bytes) {
  Word value = 0;
  for (std::size_t i = sizeof(Word); i-- != 0;) {
    value = static_cast<Word>(value << 8 | bytes[i]);
  }
  return value;
}

}  // namespace

msix_registers::msix_registers(std::size_t functions, unsigned vectors)
    : vectors_(vectors), tables_(functions, std::vector<entry>(vectors, reset_entry())) {}

msix_registers::entry* msix_registers::find(std::uint16_t function, std::uint64_t offset) {
  if (offset < bar0::MsixTable || offset >= bar0::MsixTable + vectors_ * MsixEntryBytes) {
    return nullptr;
  }
  return &tables_.at(function)[(offset - bar0::MsixTable) / MsixEntryBytes];
}

bool msix_registers::write(std::uint16_t function, std::uint64_t offset,
                           std::span<const std::uint8_t> data) {
  entry* found = find(function, offset);
  if (found == nullptr || (data.size() != 4 && data.size() != 8) || offset % data.size() != 0) {
    return false;
  }
  std::memcpy(found->data() + offset % MsixEntryBytes, data.data(), data.size());
  // Of the vector control only the mask is there.
  std::uint8_t* control = found->data() + MsixControlOffset;
  control[0] &= MaskBit;
  std::fill(control + 1, found->data() + MsixEntryBytes, std::uint8_t{0});
  msix_command told{.kind = msix_command_kind::entry, .function = function};
  told.vector = static_cast<std::uint16_t>((offset - bar0::MsixTable) / MsixEntryBytes);
  told.address = little_endian<std::uint64_t>(found->data());
  told.data = little_endian<std::uint32_t>(found->data() + MsixDataOffset);
  told.masked = control[0] != 0;
  commands_.push(told);
  return true;
}

void msix_registers::read(std::uint16_t function, std::uint64_t offset,
                          std::span<std::uint8_t> into, const msix_pending& pending) const {
  std::fill(into.begin(), into.end(), std::uint8_t{0});
  const std::vector<entry>& table = tables_.at(function);
  for (std::size_t i = 0; i < into.size(); ++i) {
    const std::uint64_t at = offset + i;
    if (at < bar0::MsixTable + vectors_ * MsixEntryBytes) {
      const std::uint64_t in_table = at - bar0::MsixTable;
      into[i] = table[in_table / MsixEntryBytes][in_table % MsixEntryBytes];
    } else if (at >= bar0::MsixPba && at < bar0::MsixPba + bar0::MsixPbaBytes &&
               function < pending.size()) {
      const std::uint64_t byte = at - bar0::MsixPba;
      into[i] = static_cast<std::uint8_t>(pending[function][byte / 8] >> (8 * (byte % 8)));
    }
  }
}

void msix_registers::set_control(std::uint16_t function, bool enable, bool mask) {
  commands_.push({.kind = msix_command_kind::control,
                  .function = function,
                  .masked = mask,
                  .enabled = enable});
}

void msix_registers::reset(std::uint16_t function) {
  std::vector<entry>& table = tables_.at(function);
  std::fill(table.begin(), table.end(), reset_entry());
  commands_.push({.kind = msix_command_kind::reset, .function = function});
}

}  // namespace carillon
