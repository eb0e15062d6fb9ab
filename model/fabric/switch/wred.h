// Which frames a switch marks: random early detection by the length of the egress queue.
//
// p(q) = 0 up to Kmin, (q - Kmin) / (Kmax - Kmin) * Pmax up to Kmax, 1 above. q is what is left in
// the queue when a frame is taken from it, or an average of that over the frames that came (Floyd
// and Jacobson, "Random early detection gateways for congestion avoidance", 1993): each counts for
// 2^-n of it, and while the queue was empty, each frame that could have left counts as an empty
// one.
#pragma once

#include <cstdint>

#include "common/random.h"
#include "common/types.h"
#include "fabric/switch/switch_settings.h"

namespace carillon {

class wred {
 public:
  explicit wred(const switch_priority_settings& settings);

  [[nodiscard]] bool enabled() const { return enabled_; }

  [[nodiscard]] bool averages() const { return shift_ != 0; }

  /// A frame comes to `queued` bytes that wait. `idle_frames`: the most that could have left since
  /// the queue was empty.
  void sample(std::uint64_t queued, std::uint64_t idle_frames);

  /// Decides for a frame that leaves `queued` bytes behind.
  [[nodiscard]] bool marks(std::uint64_t queued, random_stream& random) const;

  [[nodiscard]] std::uint64_t average_bytes() const { return average_ >> FractionBits; }

 private:
  static constexpr unsigned FractionBits = 16;

  bool enabled_;
  unsigned shift_;
  std::uint64_t kmin_;
  std::uint64_t kmax_;
  std::uint64_t pmax_;         ///< of 2^32
  std::uint64_t average_ = 0;  ///< with FractionBits behind the point
};

}  // namespace carillon
