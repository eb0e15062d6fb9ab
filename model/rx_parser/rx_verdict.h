// What rx_parser decides about a packet whose headers and context lines are there. Plain functions;
// the RTL has the same in rx_parser_verdict.
#pragma once

#include <cstdint>

#include "common/items.h"
#include "common/roce_packet.h"
#include "common/steering.h"
#include "gen/contexts.h"
#include "gen/counters.h"
#include "gen/streams.h"

namespace carillon {

/// The counter of a frame that the header FSM or the ICRC check refused.
counter counter_of(parse_error error);

/// The counter of a packet that ends in the parser.
counter counter_of(rx_refusal refusal);

rx_refusal refusal_of(parse_error error);

/// Nothing for a frame that has a port.
rx_refusal refusal_of(steering_verdict verdict);

/// What a PSN is to a responder that expects another one: 24-bit modular, half of the space lies
/// ahead.
rx_verdict verdict_of_psn(std::uint32_t psn, std::uint32_t expected);

/// The verdict of ST_CTX_LOOKUP. `responder` counts for requests only.
rx_verdict look_up(const opcode_info& opcode, std::uint32_t psn, bool exists,
                   const qpc_common& common, const qpc_responder& responder);

/// Why a packet ends here although its QP was looked up, if it does; `port` is the one it came to.
rx_refusal end_of(const parsed_frame& packet, rx_verdict verdict, const qpc_common& common,
                  std::uint16_t port);

/// Where the FSM goes with a packet that is handed on.
rx_state state_of(rx_verdict verdict);

}  // namespace carillon
