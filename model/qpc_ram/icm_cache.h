// The lines that the chip holds of contexts in host memory, without time: set-associative, least
// recently used, written back.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "qpc_ram/context_store.h"

namespace carillon {

/// Which context a line is.
struct context_id {
  context_kind kind = context_kind::qpc_common;
  std::uint32_t index = 0;

  bool operator==(const context_id&) const = default;
};

class icm_cache {
 public:
  using line = context_store::line;

  struct entry {
    context_id id;
    bool valid = false;
    bool dirty = false;      ///< memory has an older line
    std::uint64_t used = 0;  ///< greater: later
    line data{};
  };

  /// `lines` / `ways` must be a power of two: config_error otherwise.
  icm_cache(std::uint32_t lines, std::uint32_t ways);

  /// The context's line, or nullptr.
  [[nodiscard]] const entry* find(const context_id& id) const;
  /// The same for a use of it.
  [[nodiscard]] entry* use(const context_id& id);

  /// Where the context's line can be put: a free place of its set, else the one least recently used
  /// of those for which `keep(id)` is false; nullptr if all are kept.
  template <class Keep>
  [[nodiscard]] entry* place_for(const context_id& id, Keep keep) {
    entry* found = nullptr;
    entry* const begin = set_of(id);
    for (entry* each = begin; each != begin + ways_; ++each) {
      if (!each->valid) {
        return each;
      }
      if ((found == nullptr || each->used < found->used) && !keep(each->id)) {
        found = each;
      }
    }
    return found;
  }

  /// Puts a line at a place that place_for gave.
  void put(entry& place, const context_id& id, const line& data, bool dirty);

  /// Forgets everything, dirty lines too.
  void clear();

  [[nodiscard]] std::uint32_t set_number(const context_id& id) const;

 private:
  [[nodiscard]] entry* set_of(const context_id& id) {
    return &entries_[std::size_t{set_number(id)} * ways_];
  }

  std::uint32_t ways_;
  std::uint32_t sets_;
  std::vector<entry> entries_;  ///< set by set
  std::uint64_t uses_ = 0;
};

}  // namespace carillon
