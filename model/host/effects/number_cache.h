// A set associative table of numbers: what caches of lines, pages and tables have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/types.h"

namespace carillon {

/// In each set the number that was not used for longest goes.
class number_cache {
 public:
  number_cache(std::size_t entries, std::size_t ways);

  /// The entry of a number that it holds, else nullptr. It counts as used.
  ps_t* find(std::uint64_t number);
  void insert(std::uint64_t number, ps_t valid_from);
  void erase(std::uint64_t number);

 private:
  struct entry {
    std::uint64_t number = ~std::uint64_t{0};
    std::uint64_t used = 0;
    ps_t valid_from = 0;  ///< of what is still under way
  };

  [[nodiscard]] entry* set_of(std::uint64_t number);

  const std::size_t ways_;
  const std::size_t sets_;
  std::uint64_t uses_ = 0;
  std::vector<entry> entries_;
};

}  // namespace carillon
