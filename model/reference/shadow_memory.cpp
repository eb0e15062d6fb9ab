#include "reference/shadow_memory.h"

#include <algorithm>

namespace carillon::reference {

/// Calls see(page or nullptr, offset in it, bytes) for each page of the range until it says false;
/// whether it never did.
template <class See>
bool shadow_memory::each_page(std::uint64_t address, std::uint64_t length, See see) const {
  for (std::uint64_t i = 0; i < length;) {
    const std::uint64_t offset = (address + i) % PageBytes;
    const std::uint64_t part = std::min<std::uint64_t>(PageBytes - offset, length - i);
    const auto found = pages_.find((address + i) / PageBytes);
    if (!see(found == pages_.end() ? nullptr : &found->second, offset, part)) {
      return false;
    }
    i += part;
  }
  return true;
}

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
  std::size_t i = 0;
  each_page(address, bytes.size(), [&](const page* at, std::size_t offset, std::size_t part) {
    for (std::size_t k = 0; at != nullptr && k < part; ++k) {
      if (at->writer[offset + k] == writer) {
        bytes[i + k] = at->value[offset + k];
      }
    }
    i += part;
    return true;
  });
}

bool shadow_memory::contested(std::uint64_t address, std::uint64_t length) const {
  return !each_page(address, length, [](const page* at, std::size_t offset, std::size_t part) {
    return at == nullptr || std::find(at->writer.data() + offset, at->writer.data() + offset + part,
                                      Several) == at->writer.data() + offset + part;
  });
}

}  // namespace carillon::reference
