// Memory that a device may reach: keys, what they permit, and regions whose pages lie anywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gen/contexts.h"
#include "host/host_memory.h"
#include "host/machine.h"

namespace carillon {

/// A key is the index of its context and a variant that makes old keys of the same index useless.
constexpr std::uint32_t make_key(std::uint32_t index, std::uint8_t variant) {
  return index << MkeyVariantBits | variant;
}

constexpr std::uint32_t key_index(std::uint32_t key) {
  return key >> MkeyVariantBits;
}

constexpr std::uint8_t key_variant(std::uint32_t key) {
  return static_cast<std::uint8_t>(key & ((1U << MkeyVariantBits) - 1));
}

struct memory_access_rights {
  bool local_write = true;
  bool remote_read = true;
  bool remote_write = true;
  bool remote_atomic = false;
  bool local_read = true;
};

struct memory_region {
  std::uint64_t address = 0;
  std::uint64_t length = 0;
  std::uint32_t key = 0;  ///< lkey and rkey are the same number

  [[nodiscard]] std::uint32_t index() const { return key_index(key); }

  [[nodiscard]] std::uint8_t variant() const { return key_variant(key); }
};

/// One range of virtual addresses over pages that lie anywhere in memory.
struct page_list {
  std::uint64_t start = 0;  ///< first virtual address; as far into its page as into the first one
  unsigned log_page_size = LogPageBase;
  std::vector<std::uint64_t> pages;  ///< their addresses, in the order of the virtual ones

  /// How many pages `length` bytes from `start` on touch.
  [[nodiscard]] std::size_t pages_for(std::uint64_t length) const;
  /// Where the byte of that virtual address is.
  [[nodiscard]] std::uint64_t locate(std::uint64_t address) const;

  /// What a program sees at the virtual address.
  void read(const host_memory& memory, std::uint64_t address, void* into, std::size_t length) const;
  void write(host_memory& memory, std::uint64_t address, const void* from,
             std::size_t length) const;

  /// New memory for `length` bytes at the virtual address `start`: no page is followed by its
  /// neighbour.
  static page_list scattered(machine& host, std::uint64_t start, std::uint64_t length,
                             unsigned log_page_size = LogPageBase);
};

}  // namespace carillon
