#include "common/random.h"

#include <bit>

namespace carillon {

namespace {

std::uint64_t splitmix64(std::uint64_t& x) {
  x += 0x9e3779b97f4a7c15ULL;
  std::uint64_t z = x;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

}  // namespace

random_stream::random_stream(std::uint64_t run_seed, std::string_view path) {
  std::uint64_t x = run_seed ^ stable_hash(path);
  for (auto& word : state_) {
    word = splitmix64(x);
  }
}

std::uint64_t random_stream::next() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

std::uint64_t random_stream::below(std::uint64_t bound) {
  if (bound == 0) {
    return 0;
  }
  // Values under `threshold` would make the first residues more likely than the others.
  const std::uint64_t threshold = (0 - bound) % bound;
  while (true) {
    const std::uint64_t value = next();
    if (value >= threshold) {
      return value % bound;
    }
  }
}

std::uint64_t random_stream::between(std::uint64_t low, std::uint64_t high) {
  const std::uint64_t span = high - low + 1;
  // cppcheck-suppress knownConditionTrueFalse ; it wraps to 0 when all 2^64 values are allowed
  return span == 0 ? next() : low + below(span);
}

}  // namespace carillon
