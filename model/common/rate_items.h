// What the rate control of QPs tells its stages and hears from them. None of it belongs to a
// message: what waits for a rate waits in tx_sched.
#pragma once

#include <cstdint>

#include "common/tracer.h"
#include "gen/contexts.h"
#include "gen/streams.h"

namespace carillon {

/// Something that happened to the rate of a QP (rate_control -> dcqcn).
struct rate_slice_item {
  trace_ref trace;
  std::uint16_t slot = 0;  ///< of the QP; of a Setup the register, a rate_setting
  rate_op op = rate_op::Time;
  std::uint32_t value = 0;
  std::uint64_t now = 0;  ///< ns
};

/// What became of it (dcqcn -> rate_control); of a Setup all is zero but slot, op and due.
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

enum class note_kind : std::uint8_t {
  marked,  ///< a packet with the congestion mark came
  cnp      ///< a CNP did
};

/// A packet of interest to rate control (responder, requester -> rate_control).
struct congestion_note {
  trace_ref trace;
  note_kind kind = note_kind::marked;
  std::uint16_t function = 0;
  std::uint32_t qpn = 0;           ///< here
  std::uint64_t address_high = 0;  ///< who sent it: IPv6, or an IPv4 address mapped to it
  std::uint64_t address_low = 0;
};

enum class limit_kind : std::uint8_t {
  rate,  ///< from now on the QP sends at this rate
  cnp    ///< a CNP is to be sent to the QP's peer
};

/// rate_control -> tx_sched.
struct rate_limit {
  trace_ref trace;
  limit_kind kind = limit_kind::rate;
  std::uint16_t function = 0;
  std::uint32_t qpn = 0;
  std::uint16_t slot = 0;     ///< of the QP's rate
  std::uint32_t rate = 0;     ///< bytes a nanosecond, 24 bits behind the point; 0: no limit
  std::uint8_t dscp = 0;      ///< of the CNP
  std::uint8_t priority = 0;  ///< likewise
};

/// What a QP with a limit has sent (tx_sched -> rate_control).
struct rate_charge {
  trace_ref trace;
  std::uint16_t slot = 0;
  std::uint32_t qpn = 0;
  std::uint32_t bytes = 0;  ///< on the wire
};

enum class rate_command_kind : std::uint8_t {
  forget,       ///< the QP was reset: its rate begins anew
  write,        ///< an RP register of the QP was written
  reaction,     ///< the parameters of the reaction point are others
  notification  ///< those of the notification point are
};

/// pcie_endpoint -> rate_control.
struct rate_command {
  trace_ref trace;
  rate_command_kind kind = rate_command_kind::forget;
  std::uint32_t qpn = 0;
  rate_op op = rate_op::Current;  ///< of a write: which register
  std::uint32_t value = 0;
  roce_ecn_rp rp;
  roce_ecn_np np;
};

/// What rate control knows of a QP that was told to slow down once, for those who look on.
struct qp_rate {
  std::uint32_t qpn = 0;
  std::uint32_t current = 0;  ///< bytes a nanosecond, 24 bits behind the point
  std::uint32_t target = 0;
  std::uint32_t alpha = 0;  ///< 24 bits behind the point
};

/// What the RP registers show of a QP (rate_control -> pcie_endpoint).
struct rate_value {
  trace_ref trace;
  std::uint32_t qpn = 0;
  std::uint32_t current = 0;
  std::uint32_t target = 0;
};

}  // namespace carillon
