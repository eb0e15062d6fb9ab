#include "common/icrc.h"

#include <array>

#include "common/crc32.h"
#include "common/error.h"
#include "gen/wire.h"

namespace carillon {

namespace {

/// IcrcSeed is the bare shift register; the CRC functions take and return it inverted.
constexpr std::uint32_t AfterLeadingOnes = ~IcrcSeed;

template <class Header>
std::uint8_t* put_masked(std::uint8_t* to, const std::uint8_t* from) {
  for (unsigned i = 0; i < Header::Size; ++i) {
    to[i] = from[i] | Header::IcrcMask[i];
  }
  return to + Header::Size;
}

}  // namespace

std::uint32_t icrc_of_headers(const std::uint8_t* ip, bool is_ipv6, std::size_t header_bytes) {
  std::array<std::uint8_t, ipv6::Size + udp::Size + bth::Size> masked;
  std::uint8_t* end = masked.data();
  end = is_ipv6 ? put_masked<ipv6>(end, ip) : put_masked<ipv4>(end, ip);
  const auto ip_bytes = static_cast<std::size_t>(end - masked.data());
  end = put_masked<udp>(end, ip + ip_bytes);
  end = put_masked<bth>(end, ip + ip_bytes + udp::Size);
  const auto bytes = static_cast<std::size_t>(end - masked.data());
  CARILLON_CHECK(header_bytes >= bytes, "icrc: {} bytes are too few for IP, UDP and BTH headers",
                 header_bytes);
  return crc32_add(crc32_add(AfterLeadingOnes, masked.data(), bytes), ip + bytes,
                   header_bytes - bytes);
}

std::optional<frame_icrc> icrc_of_frame(const std::uint8_t* frame, std::size_t length) {
  std::size_t at = eth::Size;
  if (length < at) {
    return std::nullopt;
  }
  ethertype type = eth::unpack(frame).ether_type;
  if (type == ethertype::Vlan) {
    if (length < at + vlan_tag::Size) {
      return std::nullopt;
    }
    type = vlan_tag::unpack(frame + at).ether_type;
    at += vlan_tag::Size;
  }
  const bool is_ipv6 = type == ethertype::Ipv6;
  if (!is_ipv6 && type != ethertype::Ipv4) {
    return std::nullopt;
  }
  const std::size_t ip_bytes = is_ipv6 ? ipv6::Size : ipv4::Size;
  if (length < at + ip_bytes) {
    return std::nullopt;
  }
  const std::uint8_t* const ip = frame + at;
  const std::size_t packet_bytes = is_ipv6
                                       ? std::size_t{ipv6::Size} + ipv6::unpack(ip).payload_length
                                       : ipv4::unpack(ip).total_length;
  if (packet_bytes < ip_bytes + udp::Size + bth::Size + IcrcBytes || at + packet_bytes > length) {
    return std::nullopt;
  }
  const std::size_t covered = packet_bytes - IcrcBytes;
  return frame_icrc{static_cast<std::uint32_t>(at + covered), load_icrc(ip + covered),
                    icrc_of_packet(ip, is_ipv6, covered)};
}

std::uint32_t load_icrc(const std::uint8_t* p) {
  return std::uint32_t{p[0]} | std::uint32_t{p[1]} << 8 | std::uint32_t{p[2]} << 16 |
         std::uint32_t{p[3]} << 24;
}

void store_icrc(std::uint8_t* p, std::uint32_t icrc) {
  for (unsigned i = 0; i < IcrcBytes; ++i) {
    p[i] = static_cast<std::uint8_t>(icrc >> (8 * i));
  }
}

}  // namespace carillon
