// What a switch reads of a frame, and what it changes.
#pragma once

#include <cstdint>

#include "common/items.h"
#include "fabric/switch/switch_settings.h"
#include "gen/wire.h"

namespace carillon {

/// Headers that were recognised; nothing of a frame that is cut short.
struct frame_headers {
  std::uint64_t destination = 0;
  std::uint64_t source = 0;
  bool tagged = false;
  std::uint8_t pcp = 0;
  std::uint32_t ip_offset = 0;  ///< in the frame; 0: no IP
  bool ipv6 = false;
  std::uint8_t dscp = 0;
  ecn_code ecn = ecn_code::NotEct;
  std::uint16_t udp_source = 0;  ///< 0: no UDP

  /// To many: no single port is its.
  [[nodiscard]] bool to_group() const { return (destination >> 40 & 1) != 0; }

  [[nodiscard]] bool capable() const { return ip_offset != 0 && ecn != ecn_code::NotEct; }
};

frame_headers read_headers(const std::uint8_t* frame, std::uint32_t length);

std::uint8_t priority_of(const frame_headers& headers, const switch_settings& settings,
                         const switch_port_settings& port);

/// Sets CE. IPv4's checksum and the FCS follow; the ICRC does not cover the mark. An FCS that was
/// wrong stays wrong.
void mark_congestion(frame_item& frame, std::uint32_t ip_offset, bool ipv6);

}  // namespace carillon
