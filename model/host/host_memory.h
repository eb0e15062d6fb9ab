// Host memory: sparse 4 KiB pages in a 64-bit space of physical addresses. Memory that was never
// written reads as zero.
//
// It has no time of its own: whoever writes, writes now. A watch tells of writes, so that a CPU's
// polling can be computed from them instead of being executed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "common/tracer.h"

namespace carillon {

class last_level_cache;

/// Told of writes to a watched range, after the bytes are there.
class memory_watcher {
 public:
  virtual ~memory_watcher() = default;
  /// The write as a whole; it overlaps the watched range.
  virtual void on_memory_write(std::uint64_t address, std::uint64_t length) = 0;
};

struct memory_attributes {
  std::uint8_t node = 0;  ///< NUMA node
  bool cached = true;     ///< DMA writes may allocate in the last level cache

  bool operator==(const memory_attributes&) const = default;
};

class host_memory {
 public:
  static constexpr std::size_t PageBytes = 4096;

  host_memory() = default;
  host_memory(const host_memory&) = delete;
  host_memory& operator=(const host_memory&) = delete;

  void read(std::uint64_t address, void* into, std::size_t length) const;
  void write(std::uint64_t address, const void* from, std::size_t length);
  void fill(std::uint64_t address, std::uint8_t value, std::size_t length);

  /// The page around `address`, for as long as the memory lives. Writes through the pointer escape
  /// watches.
  std::uint8_t* page(std::uint64_t address);

  /// Calls `watcher` after every write that overlaps the range, until unwatch. Both may be called
  /// from within a callback.
  void watch(std::uint64_t address, std::uint64_t length, memory_watcher& watcher);
  void unwatch(std::uint64_t address, std::uint64_t length, memory_watcher& watcher);

  /// Of several settings for an address the last counts.
  void set_attributes(std::uint64_t address, std::uint64_t length, memory_attributes attributes);
  [[nodiscard]] memory_attributes attributes(std::uint64_t address) const;

  /// Told of what is written, if there is one.
  last_level_cache* cache = nullptr;

  /// Set while a device's write happens: its history, for watchers that continue it.
  trace_ref writer;

  [[nodiscard]] std::size_t pages() const { return pages_.size(); }

 private:
  struct watch_entry {
    std::uint64_t first;
    std::uint64_t last;
    memory_watcher* watcher;  ///< nullptr: removed while callbacks run
  };

  struct memory_page {
    std::array<std::uint8_t, PageBytes> bytes{};
    std::vector<watch_entry> watches;
  };

  struct attribute_range {
    std::uint64_t first;
    std::uint64_t last;
    memory_attributes attributes;
  };

  struct cache_line {
    std::uint64_t number = 0;
    memory_page* page = nullptr;
  };

  static constexpr std::size_t CacheLines = 64;

  memory_page* find(std::uint64_t number) const;
  memory_page& obtain(std::uint64_t number);
  void tell(std::uint64_t address, std::uint64_t length);

  std::map<std::uint64_t, std::unique_ptr<memory_page>> pages_;
  mutable std::array<cache_line, CacheLines> cache_{};  ///< of pages_, direct mapped
  std::vector<attribute_range> attributes_;
  std::size_t watches_ = 0;
  unsigned telling_ = 0;  ///< depth of running callbacks
  bool removed_ = false;  ///< entries to be swept when they have returned
};

}  // namespace carillon
