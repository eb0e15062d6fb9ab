#include "fabric/switch/wred.h"

#include <algorithm>

namespace carillon {

namespace {

constexpr unsigned ProbabilityBits = 32;
constexpr double ProbabilityUnits = 4294967296.0;  // 2^32

}  // namespace

wred::wred(const switch_priority_settings& settings)
    : enabled_(settings.ecn),
      shift_(static_cast<unsigned>(settings.average_shift)),
      kmin_(settings.kmin_bytes),
      kmax_(settings.kmax_bytes),
      pmax_(static_cast<std::uint64_t>(settings.pmax * ProbabilityUnits)) {}

void wred::sample(std::uint64_t queued, std::uint64_t idle_frames) {
  // Behind so many steps nothing is left of an average.
  const std::uint64_t steps = std::min<std::uint64_t>(idle_frames, std::uint64_t{64} << shift_);
  for (std::uint64_t i = 0; i < steps && average_ >> shift_ != 0; ++i) {
    average_ -= average_ >> shift_;
  }
  average_ = average_ - (average_ >> shift_) + ((queued << FractionBits) >> shift_);
}

bool wred::marks(std::uint64_t queued, random_stream& random) const {
  const std::uint64_t q = averages() ? average_bytes() : queued;
  if (q <= kmin_) {
    return false;
  }
  if (q > kmax_) {
    return true;
  }
  const std::uint64_t chance = pmax_ * (q - kmin_) / (kmax_ - kmin_);
  return random.next() >> (64 - ProbabilityBits) < chance;
}

}  // namespace carillon
