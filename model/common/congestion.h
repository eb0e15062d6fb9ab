// What a received packet tells rate control, and what that is set to at first.
#pragma once

#include "common/items.h"
#include "common/rate_items.h"
#include "gen/params.h"

namespace carillon {

/// A switch has marked it, and its QP knows the way back: a datagram's peer is in no context. A CNP
/// is never answered by another.
[[nodiscard]] bool asks_for_cnp(const rx_packet& packet);

[[nodiscard]] bool is_cnp(const rx_packet& packet);

[[nodiscard]] congestion_note note_of(const rx_packet& packet, note_kind kind);

/// The vendor's parameters as its commands carry them.
[[nodiscard]] roce_ecn_rp reaction_parameters(const parameters& params);
[[nodiscard]] roce_ecn_np notification_parameters(const parameters& params);

}  // namespace carillon
