// Functional coverage of a lockstep bench: how often each bin of docs/spec/coverage.toml was hit.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "common/error.h"
#include "cosim/lockstep_bench.h"

namespace carillon {

class coverage {
 public:
  /// The bins of a stage, in the order in which the spec lists them.
  explicit coverage(std::string_view stage);

  /// One of the stage's own, coverage_spec::<stage>::bin.
  template <class Bin>
  requires std::is_enum_v<Bin> void hit(Bin bin) {
    ++bins_.at(static_cast<std::size_t>(bin)).hits;
  }

  /// By name, where the name follows from what was seen.
  void hit(std::string_view name) {
    const auto found = index_.find(name);
    CARILLON_CHECK(found != index_.end(), "no coverage bin '{}'", name);
    ++bins_[found->second].hits;
  }

  template <class Bin>
  void hit_if(bool condition, const Bin& bin) {
    if (condition) {
      hit(bin);
    }
  }

  [[nodiscard]] bool has(std::string_view name) const { return index_.find(name) != index_.end(); }

  [[nodiscard]] const std::vector<coverage_bin>& bins() const { return bins_; }

 private:
  std::vector<coverage_bin> bins_;
  std::map<std::string_view, std::size_t> index_;  ///< names of the generated table
};

}  // namespace carillon
