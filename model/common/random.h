// Deterministic random numbers: the same seed gives the same run on every machine.
//
// Every component owns a stream of its own, seeded by the run's seed and a hash of the component's
// path, so that adding a component never changes what another one draws. std:: distributions are
// not used because their results differ between standard libraries.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace carillon {

/// xoshiro256** 1.0 (Blackman and Vigna, public domain algorithm), seeded through splitmix64.
class random_stream {
 public:
  random_stream(std::uint64_t run_seed, std::string_view path);

  /// Starts from a given state, not all zero: for comparison with published sequences.
  explicit random_stream(const std::array<std::uint64_t, 4>& state) : state_(state) {}

  /// Uniform over all 64-bit values.
  std::uint64_t next();

  /// Uniform in [0, bound); bound 0 gives 0. Unbiased (values that would favour low residues are
  /// drawn again).
  std::uint64_t below(std::uint64_t bound);

  /// Uniform in [low, high], both included.
  std::uint64_t between(std::uint64_t low, std::uint64_t high);

  /// True with probability numerator / denominator.
  bool chance(std::uint64_t numerator, std::uint64_t denominator) {
    return below(denominator) < numerator;
  }

 private:
  std::array<std::uint64_t, 4> state_{};
};

/// FNV-1a, 64 bit: a hash that is the same on every platform.
constexpr std::uint64_t stable_hash(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  }
  return hash;
}

}  // namespace carillon
