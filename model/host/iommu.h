// Address translation of the device's accesses: an IOTLB, and walks of the page table when it has
// no entry.
//
// A hit costs host.iommu_hit_ps. A miss takes host.iommu_miss_ps and one read of memory for each
// level of the table that the walk cache does not know: of four for pages of 4 KiB, three for 2
// MiB, two for 1 GiB (host.page_bytes). There are host.iommu_walkers; a miss that finds none waits.
// The IOTLB has host.iotlb_entries in sets of host.iotlb_ways, least recently used; the walk cache
// has host.iommu_walk_entries for each level above the last.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/context.h"

namespace carillon {

/// Which of some numbers were used last.
class recent_set {
 public:
  recent_set(std::uint32_t entries, std::uint32_t ways);

  /// Whether it is there; from now on it is.
  bool touch(std::uint64_t key);

 private:
  struct entry {
    std::uint64_t key = 0;
    std::uint64_t used = 0;  ///< 0: never
  };

  std::uint32_t ways_;
  std::uint32_t sets_;
  std::vector<entry> entries_;
  std::uint64_t clock_ = 0;
};

class iommu {
 public:
  struct statistics {
    std::uint64_t hits = 0;
    std::uint64_t misses = 0;
    std::uint64_t walk_reads = 0;
  };

  /// `host` is the name of the machine. Throws config_error for a geometry that cannot be.
  iommu(sim_context& context, const std::string& host);

  [[nodiscard]] bool active() const { return active_; }

  /// Translates an access that begins at `now`; the page walk is a wait for `page_walk`, the time
  /// before a walker takes it one for `iommu_walker`. Returns when it is done.
  ps_t translate(std::uint64_t address, trace_ref& history, name_id row, ps_t now);

  /// Reads of memory for a walk: the levels that no cache knows.
  unsigned walk(std::uint64_t address);

  [[nodiscard]] const statistics& stats() const { return stats_; }

 private:
  sim_context& context_;
  const bool active_;
  const unsigned page_bits_;
  const unsigned levels_;
  const ps_t hit_;
  const ps_t miss_;
  const ps_t read_;
  const name_id place_;
  const name_id walk_reason_;
  const name_id walker_reason_;
  recent_set iotlb_;
  std::vector<recent_set> upper_;  ///< of the levels above the last, from the lowest
  std::vector<ps_t> walkers_;      ///< when each is free
  statistics stats_;
};

}  // namespace carillon
