// How much can still come after a switch has decided to pause a priority.
//
// The worst case that IEEE 802.1Q (Annex N, "Buffer requirements for Priority-based Flow Control",
// from 802.1Qbb) adds up, with what this model has of it. All terms are bytes that arrive at full
// rate R, times being those of the ingress port's cable:
//
//   the frame that crossed the threshold          max_frame
//   frames that have come but are not counted     ingress_delay * R
//   a frame just begun in the other direction     egress_delay * R + max_frame + preamble and gap
//   the PFC frame itself, to its last bit         64
//   there and back again                          2 * cable_delay * R
//   what the other end may take to respond        peer_response_quanta * 64
//   a frame just begun there at that moment       max_frame + preamble and gap
//
// A switch port begins a frame when it takes it from the buffer, an egress delay before its first
// bit. Receivers that need longer than the quanta of IEEE 802.3 31B.3.7, which a peer is granted
// unless told otherwise, need larger peer_response_quanta.
#pragma once

#include <cstdint>

#include "fabric/switch/switch_settings.h"

namespace carillon {

/// Of one lossless priority of one port.
std::uint64_t headroom_bytes(const switch_settings& settings, const switch_port_settings& port);

}  // namespace carillon
