#include <charconv>
#include <utility>

#include "common/error.h"
#include "cosim/rtl_block.h"

namespace carillon {

namespace {

/// N of "mutation<N>", 0 for another variant.
unsigned mutation_of(std::string_view variant) {
  constexpr std::string_view Prefix = "mutation";
  unsigned which = 0;
  if (variant.starts_with(Prefix)) {
    variant.remove_prefix(Prefix.size());
    std::from_chars(variant.data(), variant.data() + variant.size(), which);
  }
  return which;
}

}  // namespace

bool rtl_has_waves() {
#ifdef CARILLON_WAVES
  return true;
#else
  return false;
#endif
}

bool rtl_has_random_reset() {
#ifdef CARILLON_RTL_RANDOM_RESET
  return true;
#else
  return false;
#endif
}

rtl_registry& rtl_registry::instance() {
  static rtl_registry only;
  return only;
}

rtl_registry::rtl_registry() {
#if CARILLON_RTL
  add_twin_blocks(*this);
#endif
}

void rtl_registry::add(std::string_view stage, std::string_view variant, maker make) {
  entries_.push_back({std::string(stage), std::string(variant), std::move(make)});
}

std::unique_ptr<rtl_block> rtl_registry::make(std::string_view stage, std::string_view variant,
                                              unsigned reset_seed) const {
  if (const unsigned mutation = mutation_of(variant); mutation != 0) {
    auto block = make(stage, "", reset_seed);
    if (!block->mutate(mutation)) {
      throw config_error(fmt::format(
          "{}: the RTL in this program has no mutations; scripts/mutate.sh {} makes one that has",
          stage, stage));
    }
    return block;
  }
  std::string known;
  for (const entry& each : entries_) {
    if (each.stage == stage && each.variant == variant) {
      return each.make(reset_seed);
    }
    if (each.stage == stage) {
      known += fmt::format("{}'{}'", known.empty() ? "" : ", ", each.variant);
    }
  }
  if (entries_.empty()) {
    throw config_error(fmt::format(
        "{}: this program has no RTL; configure it with -DCARILLON_RTL=ON, or choose {}=model",
        stage, stage));
  }
  if (known.empty()) {
    throw config_error(
        fmt::format("{}: has no RTL twin in this program; choose {}=model", stage, stage));
  }
  throw config_error(fmt::format("{}: no RTL variant '{}'; allowed: {}", stage, variant, known));
}

std::vector<std::string> rtl_registry::stages() const {
  std::vector<std::string> result;
  for (const entry& each : entries_) {
    if (each.variant.empty()) {
      result.push_back(each.stage);
    }
  }
  return result;
}

}  // namespace carillon
