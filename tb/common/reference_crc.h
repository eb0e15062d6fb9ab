// CRC-32 and ICRC worked out bit by bit from their definitions, sharing nothing with the model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace carillon::test {

/// The textbook register: most significant bit first, each byte fed least significant bit first,
/// then the register reflected and inverted.
inline std::uint32_t reference_crc(const std::vector<std::uint8_t>& bytes) {
  std::uint32_t shift_register = 0xffffffff;
  for (const std::uint8_t byte : bytes) {
    for (int bit = 0; bit < 8; ++bit) {
      const bool in = (byte >> bit & 1) != 0;
      const bool out = shift_register >> 31 != 0;
      shift_register <<= 1;
      if (in != out) {
        shift_register ^= 0x04c11db7;
      }
    }
  }
  std::uint32_t reflected = 0;
  for (int bit = 0; bit < 32; ++bit) {
    reflected |= (shift_register >> bit & 1) << (31 - bit);
  }
  return ~reflected;
}

/// Whether a bit of the packet from the IP header on is counted as one by the ICRC, from the list
/// in the InfiniBand architecture's RoCEv2 annex: traffic class, flow label and hop limit of IPv6;
/// type of service, time to live and header checksum of IPv4; the UDP checksum; byte 4 of the BTH.
inline bool is_masked(bool ipv6, std::size_t byte, unsigned bit) {
  const std::size_t udp = ipv6 ? 40 : 20;
  const std::size_t bth = udp + 8;
  if (byte == udp + 6 || byte == udp + 7 || byte == bth + 4) {
    return true;
  }
  if (ipv6) {
    return (byte == 0 && bit < 4) || (byte >= 1 && byte <= 3) || byte == 7;
  }
  return byte == 1 || byte == 8 || byte == 10 || byte == 11;
}

/// The ICRC of a packet that starts with its IP header and ends with its last pad byte.
inline std::uint32_t reference_icrc(const std::vector<std::uint8_t>& packet, bool ipv6) {
  std::vector<std::uint8_t> counted(8, 0xff);
  for (std::size_t byte = 0; byte < packet.size(); ++byte) {
    std::uint8_t value = packet[byte];
    for (unsigned bit = 0; bit < 8; ++bit) {
      if (is_masked(ipv6, byte, bit)) {
        value = static_cast<std::uint8_t>(value | 1U << bit);
      }
    }
    counted.push_back(value);
  }
  return reference_crc(counted);
}

}  // namespace carillon::test
