#include "cosim/coverage.h"

#include <algorithm>

#include "gen/coverage.h"

namespace carillon {

coverage::coverage(std::string_view stage) {
  const auto* const found =
      std::find_if(CoverageTable.begin(), CoverageTable.end(),
                   [stage](const coverage_stage_desc& each) { return each.stage == stage; });
  CARILLON_CHECK(found != CoverageTable.end(), "docs/spec/coverage.toml has no bins of {}", stage);
  for (const coverage_bin_desc& each : found->bins) {
    index_.emplace(each.name, bins_.size());
    bins_.push_back({each.name, 0, each.excluded});
  }
}

}  // namespace carillon
