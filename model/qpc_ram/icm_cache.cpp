#include "qpc_ram/icm_cache.h"

#include <bit>
#include <span>

#include "common/error.h"

namespace carillon {

icm_cache::icm_cache(std::uint32_t lines, std::uint32_t ways)
    : ways_(ways), sets_(lines / ways), entries_(lines) {
  if (lines % ways != 0 || !std::has_single_bit(sets_)) {
    throw config_error(
        fmt::format("nic.icm_cache_lines {} in {} ways: {:.3g} sets; allowed: a power of two",
                    lines, ways, static_cast<double>(lines) / ways));
  }
}

std::uint32_t icm_cache::set_number(const context_id& id) const {
  // The kinds are spread, so that the lines of objects with like numbers do not meet in a set.
  const std::uint32_t step = sets_ / std::bit_floor(static_cast<std::uint32_t>(ContextKinds));
  return (id.index + static_cast<std::uint32_t>(id.kind) * (step | 1)) & (sets_ - 1);
}

const icm_cache::entry* icm_cache::find(const context_id& id) const {
  const std::span<const entry> all(entries_);
  for (const entry& each : all.subspan(std::size_t{set_number(id)} * ways_, ways_)) {
    if (each.valid && each.id == id) {
      return &each;
    }
  }
  return nullptr;
}

icm_cache::entry* icm_cache::use(const context_id& id) {
  entry* const begin = set_of(id);
  for (entry* each = begin; each != begin + ways_; ++each) {
    if (each->valid && each->id == id) {
      each->used = ++uses_;
      return each;
    }
  }
  return nullptr;
}

void icm_cache::put(entry& place, const context_id& id, const line& data, bool dirty) {
  place = {id, true, dirty, ++uses_, data};
}

void icm_cache::clear() {
  for (entry& each : entries_) {
    each.valid = false;
  }
}

}  // namespace carillon
