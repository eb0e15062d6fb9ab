// What a packet will be on the wire: its opcode and its length. packet_builder builds it so, and
// tx_sched charges for it.
#pragma once

#include <cstdint>

#include "common/items.h"
#include "common/roce_packet.h"
#include "gen/wire.h"

namespace carillon {

/// Its BTH opcode: of the kind, the service and the place in its message.
bth_opcode opcode_of(const packet_item& packet);

/// It is a CNP: an acknowledge whose operation is that. The DSCP and the priority are in its
/// `syndrome` and `msn`, its 16 zero bytes in the body.
inline bool is_cnp(const packet_item& packet) {
  return packet.source == packet_source::acknowledge &&
         packet.wqe_opcode == static_cast<std::uint8_t>(bth_opcode::Cnp);
}

/// Bytes that it takes on the wire: frame, FCS, preamble and gap.
std::uint32_t wire_bytes(const packet_item& packet, bool is_ipv6, bool tagged);

/// ... at most, with a payload of `mtu` bytes.
constexpr std::uint32_t longest_wire_bytes(std::uint32_t mtu) {
  return eth::Size + vlan_tag::Size + ipv6::Size + udp::Size + bth::Size + reth::Size +
         immdt::Size + mtu + IcrcBytes + FcsBytes + PreambleBytes + InterPacketGapBytes;
}

}  // namespace carillon
