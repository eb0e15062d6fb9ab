// Something that one user at a time has, first come first served, and that others use as well: the
// socket link, the lock of a shared device, the kernel's packet path.
//
// The others are not simulated one by one. Each of their streams is a process of bursts, and what
// they have left to do is computed when somebody comes: no events of their own. A burst that begins
// asks for `peak` percent of the server as long as it lasts; with 0 all its work is there at once.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "common/random.h"
#include "common/types.h"
#include "host/effects/heavy_tail.h"

namespace carillon {

/// One stream of bursts: exponential gaps, lengths by a Pareto distribution.
struct burst_stream {
  ps_t mean_gap = 0;
  pareto length;
  std::uint32_t peak = 0;  ///< percent of the server; 0: all at once

  /// The gap that makes them use this share of the server.
  static ps_t gap_for(const pareto& length, std::uint32_t peak, std::uint32_t permille);
};

class shared_server {
 public:
  /// `limit`: the others never have more than that waiting.
  explicit shared_server(ps_t limit = NeverPs) : limit_(limit) {}

  void add(const burst_stream& stream, std::uint64_t seed, std::string_view path);

  /// Somebody comes and needs it for `work`: when its turn begins. Whoever asks later comes later.
  ps_t enter(ps_t when, ps_t work);

  /// What is left to do at the last time that somebody came.
  [[nodiscard]] ps_t backlog() const { return backlog_; }

 private:
  struct source {
    burst_stream stream;
    random_stream random;
    bool bursting = false;
    ps_t until = 0;  ///< the end of its burst or gap
  };

  void advance(ps_t to);
  void turn(source& which);
  void others_add(ps_t work);

  const ps_t limit_;
  std::vector<source> sources_;
  ps_t at_ = 0;       ///< up to where it is computed
  ps_t backlog_ = 0;  ///< then
};

}  // namespace carillon
