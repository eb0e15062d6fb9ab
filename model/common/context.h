// What every component of a run is built with: the clock, the timeline, the tracer, the parameters,
// and the registry of streams that is checked at the end of the run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/timeline.h"
#include "common/tracer.h"
#include "common/types.h"
#include "gen/params.h"

namespace carillon {

class stream_base;

/// One handshake on one stream: the unit of the stage traces, the same for the model and the RTL.
struct transfer {
  cycle_t taken = 0;
  cycle_t visible = 0;
  std::uint32_t stream = 0;  ///< index into sim_context::streams
  std::uint32_t message = 0;
  std::uint32_t beats = 0;
};

/// Sees every handshake, in no particular order within a cycle.
class transfer_observer {
 public:
  virtual ~transfer_observer() = default;
  virtual void on_transfer(const transfer& seen) = 0;
};

struct sim_context {
  sim_context(const parameters& values, std::uint64_t run_seed, std::uint64_t shuffle_seed)
      : params(values),
        seed(run_seed),
        clock("clock", values.core.clock_period_ps, shuffle_seed),
        line("timeline") {}

  const parameters params;
  const std::uint64_t seed;
  core_clock clock;
  timeline line;
  tracer trace;
  std::vector<stream_base*> streams;
  transfer_observer* transfers = nullptr;

  /// At the end of a run every stream is empty and every credit home; throws model_error naming the
  /// stream and its stages otherwise.
  void check_drained() const;
};

}  // namespace carillon
