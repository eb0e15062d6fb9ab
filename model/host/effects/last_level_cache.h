// Which lines of memory the last level cache holds, for the device's reads: those that were written
// last, by the cores or, with DDIO, by the device. Off (not made) with host.llc_bytes = 0.
#pragma once

#include <cstdint>

#include "common/types.h"
#include "gen/params.h"
#include "host/effects/number_cache.h"

namespace carillon {

class last_level_cache {
 public:
  explicit last_level_cache(const parameters& params);

  /// Written by somebody whose writes allocate.
  void written(std::uint64_t address, std::uint64_t bytes);

  /// Written by somebody whose writes do not.
  void forget(std::uint64_t address, std::uint64_t bytes);

  /// By how much a read of these bytes is faster than memory.
  [[nodiscard]] ps_t saving(std::uint64_t address, std::uint64_t bytes);

 private:
  static constexpr unsigned LineBits = 6;

  const ps_t saving_;
  number_cache lines_;
};

}  // namespace carillon
