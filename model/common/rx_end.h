// How a packet left rx_parser. The counters are kept by the stage's rules; a twin tells the same by
// a stream of its own, which only a stage with a twin has.
#pragma once

#include <cstdint>
#include <optional>

#include "common/items.h"
#include "gen/streams.h"

namespace carillon {

struct rx_ended {
  trace_ref trace;
  rx_state state = rx_state::StDrop;
  rx_refusal refusal = rx_refusal::Nothing;
  rx_verdict verdict = rx_verdict::accept;  ///< of one that was not dropped
  std::optional<std::uint16_t> port;
  bool marked = false;  ///< with the congestion mark, and not dropped
};

}  // namespace carillon
