#include "host/iommu.h"

#include <algorithm>
#include <bit>

#include "common/error.h"

namespace carillon {

namespace {

constexpr unsigned BitsPerLevel = 9;
constexpr unsigned AddressBits = 48;

}  // namespace

recent_set::recent_set(std::uint32_t entries, std::uint32_t ways)
    : ways_(ways), sets_(entries / ways), entries_(entries) {}

bool recent_set::touch(std::uint64_t key) {
  const auto first = entries_.begin() + static_cast<std::ptrdiff_t>(key % sets_ * ways_);
  const auto last = first + static_cast<std::ptrdiff_t>(ways_);
  ++clock_;
  auto oldest = first;
  for (auto at = first; at != last; ++at) {
    if (at->used != 0 && at->key == key) {
      at->used = clock_;
      return true;
    }
    if (at->used < oldest->used) {
      oldest = at;
    }
  }
  *oldest = {key, clock_};
  return false;
}

iommu::iommu(sim_context& context, const std::string& host)
    : context_(context),
      active_(context.params.host.iommu),
      page_bits_(static_cast<unsigned>(
          std::countr_zero(static_cast<std::uint64_t>(context.params.host.page_bytes)))),
      levels_((AddressBits - page_bits_) / BitsPerLevel),
      hit_(static_cast<ps_t>(context.params.host.iommu_hit_ps)),
      miss_(static_cast<ps_t>(context.params.host.iommu_miss_ps)),
      read_(static_cast<ps_t>(context.params.host.iommu_walk_read_ps)),
      place_(context.trace.intern(host + ".iommu")),
      walk_reason_(context.trace.intern("page_walk")),
      walker_reason_(context.trace.intern("iommu_walker")),
      iotlb_(static_cast<std::uint32_t>(context.params.host.iotlb_entries),
             static_cast<std::uint32_t>(
                 std::min(context.params.host.iotlb_ways, context.params.host.iotlb_entries))),
      upper_(levels_ - 1,
             recent_set(static_cast<std::uint32_t>(context.params.host.iommu_walk_entries),
                        static_cast<std::uint32_t>(context.params.host.iommu_walk_entries))),
      walkers_(static_cast<std::size_t>(context.params.host.iommu_walkers), 0) {
  const auto& params = context.params.host;
  if (params.iotlb_entries % std::min(params.iotlb_ways, params.iotlb_entries) != 0) {
    throw config_error(
        fmt::format("host.iotlb_entries: {} entries are not sets of {} "
                    "(host.iotlb_ways)",
                    params.iotlb_entries, params.iotlb_ways));
  }
}

unsigned iommu::walk(std::uint64_t address) {
  // The last level is always read; one above it only if it is not known where that table lies.
  unsigned reads = 1;
  const std::uint64_t page = address >> page_bits_;
  for (std::size_t level = 0; level < upper_.size(); ++level) {
    const bool known = upper_[level].touch(page >> BitsPerLevel * (level + 1));
    if (known) {
      break;
    }
    ++reads;
  }
  return reads;
}

ps_t iommu::translate(std::uint64_t address, trace_ref& history, name_id row, ps_t now) {
  const trace_site here{place_, row};
  history = context_.trace.service(history, here, now, now + hit_);
  ps_t done = now + hit_;
  if (iotlb_.touch(address >> page_bits_)) {
    ++stats_.hits;
    return done;
  }
  ++stats_.misses;
  ps_t& walker = *std::min_element(walkers_.begin(), walkers_.end());
  const ps_t begin = std::max(done, walker);
  history = context_.trace.wait(history, here, walker_reason_, done, begin);
  const unsigned reads = walk(address);
  stats_.walk_reads += reads;
  done = begin + miss_ + reads * read_;
  walker = done;
  history = context_.trace.wait(history, here, walk_reason_, begin, done);
  return done;
}

}  // namespace carillon
