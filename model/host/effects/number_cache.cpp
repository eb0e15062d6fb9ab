#include "host/effects/number_cache.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>

#include "common/error.h"

namespace carillon {

number_cache::number_cache(std::size_t entries, std::size_t ways)
    : ways_(ways), sets_(entries / ways), entries_(entries) {
  if (sets_ == 0 || sets_ * ways != entries || !std::has_single_bit(sets_)) {
    throw config_error(fmt::format(
        "a cache of {} entries and {} ways; the entries must be a power of two times the ways",
        entries, ways));
  }
}

number_cache::entry* number_cache::set_of(std::uint64_t number) {
  return entries_.data() + (number & (sets_ - 1)) * ways_;
}

ps_t* number_cache::find(std::uint64_t number) {
  entry* const first = set_of(number);
  for (entry* each = first; each != first + ways_; ++each) {
    if (each->number == number) {
      each->used = ++uses_;
      return &each->valid_from;
    }
  }
  return nullptr;
}

void number_cache::erase(std::uint64_t number) {
  entry* const first = set_of(number);
  entry* const found = std::find_if(first, first + ways_,
                                    [number](const entry& each) { return each.number == number; });
  if (found != first + ways_) {
    *found = {};
  }
}

void number_cache::insert(std::uint64_t number, ps_t valid_from) {
  entry* const first = set_of(number);
  entry* const oldest = std::min_element(
      first, first + ways_, [](const entry& a, const entry& b) { return a.used < b.used; });
  *oldest = {number, ++uses_, valid_from};
}

}  // namespace carillon
