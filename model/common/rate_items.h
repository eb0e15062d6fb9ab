// What goes to dcqcn and comes from it. Neither belongs to a message: what waits for a rate waits
// in tx_sched.
#pragma once

#include <cstdint>

#include "common/tracer.h"
#include "gen/streams.h"

namespace carillon {

/// Something that happened to the rate of a QP.
struct rate_slice_item {
  trace_ref trace;
  std::uint16_t slot = 0;  ///< of the QP; of a Setup the register, a rate_setting
  rate_op op = rate_op::Time;
  std::uint32_t value = 0;
  std::uint64_t now = 0;  ///< ns
};

/// What became of it; of a Setup all is zero but slot, op and due.
struct rate_update_item {
  trace_ref trace;
  std::uint16_t slot = 0;
  rate_op op = rate_op::Time;
  bool again = false;  ///< a timer took the slice: offer it once more
  bool limited = false;
  bool pending = false;
  std::uint8_t byte_stage = 0;
  std::uint8_t time_stage = 0;
  std::uint32_t current = 0;  ///< bytes a nanosecond, 24 bits behind the point
  std::uint32_t target = 0;
  std::uint32_t alpha = 0;
  std::uint64_t due = 0;  ///< ns
};

}  // namespace carillon
