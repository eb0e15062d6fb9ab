#include "host/host_memory.h"

#include <algorithm>
#include <cstring>

#include "common/error.h"
#include "host/effects/last_level_cache.h"

namespace carillon {

namespace {

/// Calls body(address, length, offset) for the part in each page.
template <class Body>
void by_page(std::uint64_t address, std::size_t length, Body body) {
  CARILLON_CHECK(length == 0 || address + (length - 1) >= address,
                 "host memory: {} bytes at {:#x} wrap around", length, address);
  for (std::size_t done = 0; done < length;) {
    const std::uint64_t at = address + done;
    const std::size_t room = host_memory::PageBytes - at % host_memory::PageBytes;
    const std::size_t part = std::min(room, length - done);
    body(at, part, done);
    done += part;
  }
}

}  // namespace

host_memory::memory_page* host_memory::find(std::uint64_t number) const {
  cache_line& line = cache_[number % CacheLines];
  if (line.page != nullptr && line.number == number) {
    return line.page;
  }
  const auto found = pages_.find(number);
  if (found == pages_.end()) {
    return nullptr;
  }
  line = {number, found->second.get()};
  return line.page;
}

host_memory::memory_page& host_memory::obtain(std::uint64_t number) {
  if (memory_page* known = find(number)) {
    return *known;
  }
  auto& slot = pages_[number];
  slot = std::make_unique<memory_page>();
  return *slot;
}

void host_memory::read(std::uint64_t address, void* into, std::size_t length) const {
  auto* to = static_cast<std::uint8_t*>(into);
  by_page(address, length, [&](std::uint64_t at, std::size_t part, std::size_t offset) {
    if (const memory_page* source = find(at / PageBytes)) {
      std::memcpy(to + offset, source->bytes.data() + at % PageBytes, part);
    } else {
      std::memset(to + offset, 0, part);
    }
  });
}

void host_memory::write(std::uint64_t address, const void* from, std::size_t length) {
  const auto* source = static_cast<const std::uint8_t*>(from);
  by_page(address, length, [&](std::uint64_t at, std::size_t part, std::size_t offset) {
    std::memcpy(obtain(at / PageBytes).bytes.data() + at % PageBytes, source + offset, part);
  });
  tell(address, length);
}

void host_memory::fill(std::uint64_t address, std::uint8_t value, std::size_t length) {
  by_page(address, length, [&](std::uint64_t at, std::size_t part, std::size_t) {
    std::memset(obtain(at / PageBytes).bytes.data() + at % PageBytes, value, part);
  });
  tell(address, length);
}

std::uint8_t* host_memory::page(std::uint64_t address) {
  return obtain(address / PageBytes).bytes.data();
}

void host_memory::watch(std::uint64_t address, std::uint64_t length, memory_watcher& watcher) {
  by_page(address, length, [&](std::uint64_t at, std::size_t, std::size_t) {
    obtain(at / PageBytes).watches.push_back({address, address + length - 1, &watcher});
    ++watches_;
  });
}

void host_memory::unwatch(std::uint64_t address, std::uint64_t length, memory_watcher& watcher) {
  by_page(address, length, [&](std::uint64_t at, std::size_t, std::size_t) {
    auto& watches = obtain(at / PageBytes).watches;
    const auto found = std::find_if(watches.begin(), watches.end(), [&](const watch_entry& entry) {
      return entry.first == address && entry.last == address + length - 1 &&
             entry.watcher == &watcher;
    });
    CARILLON_CHECK(found != watches.end(), "host memory: no such watch at {:#x}", address);
    --watches_;
    if (telling_ == 0) {
      watches.erase(found);
    } else {
      found->watcher = nullptr;
      removed_ = true;
    }
  });
}

void host_memory::tell(std::uint64_t address, std::uint64_t length) {
  if (cache != nullptr) {
    cache->written(address, length);
  }
  if (watches_ == 0 || length == 0) {
    return;
  }
  const std::uint64_t last = address + (length - 1);
  ++telling_;
  by_page(address, length, [&](std::uint64_t at, std::size_t part, std::size_t) {
    memory_page* touched = find(at / PageBytes);
    // By index: a callback may add watches, which see the next write only.
    const std::size_t known = touched->watches.size();
    for (std::size_t i = 0; i < known; ++i) {
      const watch_entry entry = touched->watches[i];
      if (entry.watcher == nullptr || entry.first > last || entry.last < address) {
        continue;
      }
      // A watch over several pages is told once, in the page in which the overlap begins.
      const std::uint64_t overlap = std::max(entry.first, address);
      if (overlap >= at && overlap - at < part) {
        entry.watcher->on_memory_write(address, length);
      }
    }
  });
  --telling_;
  if (telling_ == 0 && removed_) {
    removed_ = false;
    for (auto& [number, swept] : pages_) {
      std::erase_if(swept->watches,
                    [](const watch_entry& entry) { return entry.watcher == nullptr; });
    }
  }
}

void host_memory::set_attributes(std::uint64_t address, std::uint64_t length,
                                 memory_attributes attributes) {
  CARILLON_CHECK(length != 0 && address + (length - 1) >= address,
                 "host memory: attributes for {} bytes at {:#x}", length, address);
  attributes_.push_back({address, address + (length - 1), attributes});
}

memory_attributes host_memory::attributes(std::uint64_t address) const {
  for (auto range = attributes_.rbegin(); range != attributes_.rend(); ++range) {
    if (address >= range->first && address <= range->last) {
      return range->attributes;
    }
  }
  return {};
}

}  // namespace carillon
