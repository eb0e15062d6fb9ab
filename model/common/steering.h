// The switch inside the NIC: which virtual port a frame is for, and what a virtual port may send.
// The plain cores of rx_parser's steering and of packet_builder's checks; neither keeps any state.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "common/vport.h"

namespace carillon {

/// The Ethernet addresses of a frame, and the VLAN of its tag if it has one.
struct frame_address {
  std::uint64_t destination = 0;
  std::uint64_t source = 0;
  std::optional<std::uint16_t> vlan;
};

/// A group address (multicast, broadcast): the lowest bit of its first byte is set.
constexpr bool is_group_address(std::uint64_t mac) {
  constexpr unsigned GroupBit = 40;
  return (mac >> GroupBit & 1) != 0;
}

// Receive -----------------------------------------------------------------------------------------

enum class steering_verdict : std::uint8_t {
  port,         ///< it is for that virtual port
  nobody,       ///< no port has its destination and VLAN
  alien_source  ///< it came by the wire, but its source address is one of our own ports'
};

struct steering {
  steering_verdict verdict = steering_verdict::nobody;
  std::uint16_t port = 0;
};

/// Where a received frame belongs; `looped`: it comes from a port of this NIC. Group addresses are
/// nobody's: there are no multicast groups.
steering steer(const vport_table& ports, const frame_address& frame, bool looped);

// Transmit ----------------------------------------------------------------------------------------

/// The port to which a frame goes inside the NIC; none: it goes to the wire.
inline std::optional<std::uint16_t> destination_port(const vport_table& ports,
                                                     const frame_address& frame) {
  return ports.find(frame.destination, frame.vlan);
}

/// What the path of a QP says about where its frames come from.
struct claimed_source {
  std::uint64_t mac = 0;  ///< 0: the port's
  std::optional<std::uint16_t> vlan;
  std::uint8_t gid_index = 0;
  std::array<std::uint8_t, 16> address{};
};

enum class source_verdict : std::uint8_t {
  allowed,
  down,    ///< the port sends nothing
  spoofed  ///< the port is checked, and something claimed is not its own
};

/// May such a frame leave by the port of this function? A port with a VLAN tags frames without a
/// tag itself, so they are its own; one without has tagged frames only if it may choose (any_vlan).
/// One without a list of addresses has them all.
source_verdict source_allowed(const vport_table& ports, std::uint16_t function,
                              const claimed_source& claimed);

}  // namespace carillon
