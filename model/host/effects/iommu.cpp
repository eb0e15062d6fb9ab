#include "host/effects/iommu.h"

#include <algorithm>
#include <bit>

namespace carillon {

namespace {

constexpr unsigned SmallPageBits = 12;
constexpr unsigned LevelBits = 9;
constexpr unsigned SmallPageLevels = 4;
constexpr unsigned AddressBits = 48;

}  // namespace

iommu::iommu(sim_context& context, const std::string& name)
    : context_(context),
      place_(context.trace.intern(name)),
      walker_reason_(context.trace.intern("page_walker")),
      pending_reason_(context.trace.intern("page_walk")),
      order_reason_(context.trace.intern("translation_order")),
      page_bits_(static_cast<unsigned>(
          std::countr_zero(static_cast<std::uint64_t>(context.params.host.page_bytes)))),
      levels_(SmallPageLevels - (page_bits_ - SmallPageBits) / LevelBits),
      iotlb_(static_cast<std::size_t>(context.params.iommu.iotlb_entries),
             static_cast<std::size_t>(context.params.iommu.iotlb_ways)),
      walkers_(static_cast<std::size_t>(context.params.iommu.walkers)) {
  const auto cached = static_cast<std::size_t>(context.params.iommu.walk_cache_entries);
  for (unsigned level = 1; cached != 0 && level < levels_; ++level) {
    walk_caches_.emplace_back(cached, cached);
  }
}

/// The page's number in the device's address space.
std::uint64_t iommu::page_of(std::uint64_t address) const {
  const std::uint64_t page = address >> page_bits_;
  if (!context_.params.iommu.scattered) {
    return page;
  }
  // An odd factor permutes the pages: neighbours come to lie far from each other.
  constexpr std::uint64_t Golden = 0x9e3779b97f4a7c15;
  return page * Golden & ((std::uint64_t{1} << (AddressBits - page_bits_)) - 1);
}

unsigned iommu::reads_of_walk(std::uint64_t page) {
  // From the lowest table whose address a walk cache knows, down to the page's entry.
  unsigned reads = 1;
  std::uint64_t table = page >> LevelBits;
  for (number_cache& each : walk_caches_) {
    if (each.find(table) != nullptr) {
      return reads;
    }
    each.insert(table, 0);
    ++reads;
    table >>= LevelBits;
  }
  return walk_caches_.empty() ? levels_ : reads;
}

ps_t iommu::translate(std::uint64_t address, ps_t when, name_id row, trace_ref& history) {
  const trace_site site{place_, row};
  const ps_t known = look_up(address, when, site, history);
  const ps_t leaves = std::max(known, last_);
  last_ = leaves;
  history = context_.trace.wait(history, site, order_reason_, known, leaves);
  return leaves;
}

ps_t iommu::look_up(std::uint64_t address, ps_t when, trace_site site, trace_ref& history) {
  const ps_t looked_up = when + static_cast<ps_t>(context_.params.iommu.lookup_ps);
  history = context_.trace.service(history, site, when, looked_up);
  const std::uint64_t page = page_of(address);
  if (const ps_t* valid_from = iotlb_.find(page)) {
    ++stats_.hits;
    const ps_t known = std::max(looked_up, *valid_from);
    history = context_.trace.wait(history, site, pending_reason_, looked_up, known);
    return known;
  }
  ++stats_.misses;
  ps_t& walker = *std::min_element(walkers_.begin(), walkers_.end());
  const ps_t begin = std::max(looked_up, walker);
  const unsigned reads = reads_of_walk(page);
  stats_.reads += reads;
  const ps_t end = begin + reads * static_cast<ps_t>(context_.params.host.memory_read_ps);
  walker = end;
  iotlb_.insert(page, end);
  history = context_.trace.wait(history, site, walker_reason_, looked_up, begin);
  history = context_.trace.service(history, site, begin, end);
  return end;
}

}  // namespace carillon
