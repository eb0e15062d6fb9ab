// PFC frames: how a receiver asks the other end of its cable to pause some priorities.
//
// Their format is in docs/spec/wire.toml; this is what NIC and switch share about their use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "common/buffer.h"
#include "common/items.h"
#include "gen/wire.h"

namespace carillon {

inline constexpr unsigned PriorityCount = 8;

/// The longest pause that a frame can ask for; asking again before it ends makes it last.
inline constexpr std::uint16_t LongestPause = 0xffff;

/// Byte times of a pause: those of the link that it is asked on.
constexpr std::uint64_t pause_bytes(std::uint64_t quanta) {
  return quanta * (PauseQuantumBits / 8);
}

/// Pause quanta that a station may take to stop after a PAUSE or PFC frame, by rate: IEEE 802.3
/// 31B.3.7. A rate between two of the table's gets those of the one above, a higher one the most.
std::uint64_t standard_response_quanta(std::uint64_t rate_gbps);

/// A frame that no MAC hands on: it is for the MAC itself, whether that understands it or not.
bool is_mac_control(const std::uint8_t* frame, std::size_t length);

/// What a frame asks for; nothing if it is no PFC frame (a link-wide pause is not one). A field of
/// a priority that is not enabled means nothing. The FCS is not looked at.
std::optional<pfc> parse_pfc(const std::uint8_t* frame, std::size_t length);

/// Asks for a pause of `quanta[n]`, 0 being "go on", of every priority n that is enabled.
frame_item make_pfc_frame(buffer_pool& buffers, std::uint64_t source, const pfc& request);

}  // namespace carillon
