#include "reference/shadow_memory.h"

#include <algorithm>

namespace carillon::reference {

void shadow_memory::write(std::uint32_t writer, std::uint64_t address, const std::uint8_t* bytes,
                          std::size_t length) {
  for (std::size_t i = 0; i < length;) {
    page& at = pages_[(address + i) / PageBytes];
    for (std::size_t offset = (address + i) % PageBytes; offset < PageBytes && i < length;
         ++offset, ++i) {
      std::uint32_t& owner = at.writer[offset];
      const bool agrees = owner == Nobody || owner == writer || at.value[offset] == bytes[i];
      owner = agrees && owner != Several ? writer : Several;
      at.value[offset] = bytes[i];
    }
  }
}

void shadow_memory::forget(std::uint64_t address, std::uint64_t length) {
  for (std::uint64_t i = 0; i < length;) {
    const std::uint64_t offset = (address + i) % PageBytes;
    const std::uint64_t part = std::min<std::uint64_t>(PageBytes - offset, length - i);
    if (const auto found = pages_.find((address + i) / PageBytes); found != pages_.end()) {
      std::fill_n(found->second.writer.begin() + static_cast<std::ptrdiff_t>(offset), part, Nobody);
    }
    i += part;
  }
}

void shadow_memory::overlay(std::uint32_t writer, std::uint64_t address,
                            std::vector<std::uint8_t>& bytes) const {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto found = pages_.find((address + i) / PageBytes);
    if (found == pages_.end()) {
      i += PageBytes - (address + i) % PageBytes - 1;
      continue;
    }
    const std::size_t offset = (address + i) % PageBytes;
    if (found->second.writer[offset] == writer) {
      bytes[i] = found->second.value[offset];
    }
  }
}

bool shadow_memory::contested(std::uint64_t address, std::uint64_t length) const {
  for (std::uint64_t i = 0; i < length; ++i) {
    const auto found = pages_.find((address + i) / PageBytes);
    if (found == pages_.end()) {
      i += PageBytes - (address + i) % PageBytes - 1;
      continue;
    }
    if (found->second.writer[(address + i) % PageBytes] == Several) {
      return true;
    }
  }
  return false;
}

}  // namespace carillon::reference
