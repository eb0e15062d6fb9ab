#include "host/effects/last_level_cache.h"

#include <algorithm>

namespace carillon {

last_level_cache::last_level_cache(const parameters& params)
    : saving_(static_cast<ps_t>(std::min(params.host.llc_saving_ps, params.host.memory_read_ps))),
      lines_(static_cast<std::size_t>(params.host.llc_bytes) >> LineBits,
             static_cast<std::size_t>(params.host.llc_ways)) {}

void last_level_cache::written(std::uint64_t address, std::uint64_t bytes) {
  if (bytes == 0) {
    return;
  }
  for (std::uint64_t line = address >> LineBits; line <= (address + bytes - 1) >> LineBits;
       ++line) {
    if (lines_.find(line) == nullptr) {
      lines_.insert(line, 0);
    }
  }
}

void last_level_cache::forget(std::uint64_t address, std::uint64_t bytes) {
  for (std::uint64_t line = address >> LineBits; line <= (address + bytes - 1) >> LineBits;
       ++line) {
    lines_.erase(line);
  }
}

ps_t last_level_cache::saving(std::uint64_t address, std::uint64_t bytes) {
  const std::uint64_t last = (address + std::max<std::uint64_t>(bytes, 1) - 1) >> LineBits;
  for (std::uint64_t line = address >> LineBits; line <= last; ++line) {
    if (lines_.find(line) == nullptr) {
      return 0;  // as slow as the slowest of its lines
    }
  }
  return saving_;
}

}  // namespace carillon
