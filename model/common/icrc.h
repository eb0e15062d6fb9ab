// The invariant CRC of RoCEv2: what no router on the way may change.
//
// It is the CRC-32 of eight bytes of ones, then the IP header through the last pad byte, in which
// the bits that routers and switches change (marked icrc_ones in the format specification) count as
// ones. It is sent least significant byte first. Ethernet header, VLAN tag and FCS are not covered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace carillon {

/// The CRC of the eight leading ones and of `header_bytes` bytes from the IP header on. These must
/// hold the IP, UDP and base transport headers; what follows them (extension headers, payload) is
/// not masked.
std::uint32_t icrc_of_headers(const std::uint8_t* ip, bool ipv6, std::size_t header_bytes);

/// The ICRC of `bytes` bytes from the IP header on through the last pad byte.
inline std::uint32_t icrc_of_packet(const std::uint8_t* ip, bool ipv6, std::size_t bytes) {
  return icrc_of_headers(ip, ipv6, bytes);
}

/// Where a frame's ICRC stands and what it should be.
struct frame_icrc {
  std::uint32_t offset = 0;    ///< of its four bytes in the frame
  std::uint32_t on_wire = 0;   ///< as found there
  std::uint32_t computed = 0;  ///< as it must be

  [[nodiscard]] bool good() const { return on_wire == computed; }
};

/// Of a frame that begins with its Ethernet header, with or without a VLAN tag; nothing if it is
/// too short for, or is not, IP with UDP and BTH. Ports and opcode are not looked at, so this also
/// serves frames that a parser refuses.
std::optional<frame_icrc> icrc_of_frame(const std::uint8_t* frame, std::size_t length);

/// Least significant byte first.
std::uint32_t load_icrc(const std::uint8_t* p);
void store_icrc(std::uint8_t* p, std::uint32_t icrc);

}  // namespace carillon
