// Translates the addresses of the device. A page that the IOTLB does not hold is walked: one read
// of memory for each level that no walk cache knows, one after the other, by one of few walkers.
// Off (not made) unless iommu.enabled.
//
// The page size is host.page_bytes: tables have four levels for 4 KiB, three for 2 MiB, two for
// 1 GiB. With iommu.scattered the pages of a buffer lie anywhere in the device's address space, as
// those of a guest do: each has its own tables above it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/context.h"
#include "host/effects/number_cache.h"

namespace carillon {

class iommu {
 public:
  /// `name` is the place on which time is booked, "<host>.iommu".
  iommu(sim_context& context, const std::string& name);

  /// An access that comes at `when`, within one page: when it goes on, with its address known and
  /// behind those that came before it.
  ps_t translate(std::uint64_t address, ps_t when, name_id row, trace_ref& history);

  struct statistics {
    std::uint64_t hits = 0;
    std::uint64_t misses = 0;
    std::uint64_t reads = 0;  ///< of tables
  };

  [[nodiscard]] const statistics& stats() const { return stats_; }

 private:
  static constexpr unsigned MaxLevels = 4;

  ps_t look_up(std::uint64_t address, ps_t when, trace_site site, trace_ref& history);
  [[nodiscard]] std::uint64_t page_of(std::uint64_t address) const;
  [[nodiscard]] unsigned reads_of_walk(std::uint64_t page);

  sim_context& context_;
  const name_id place_;
  const name_id walker_reason_;
  const name_id pending_reason_;
  const name_id order_reason_;
  const unsigned page_bits_;
  const unsigned levels_;
  number_cache iotlb_;
  std::vector<number_cache> walk_caches_;  ///< of the levels above the last, lowest first
  std::vector<ps_t> walkers_;              ///< when each is free
  ps_t last_ = 0;                          ///< when the last access went on
  statistics stats_;
};

}  // namespace carillon
