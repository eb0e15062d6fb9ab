#include "fabric/switch/frame_headers.h"

#include "common/crc32.h"
#include "common/roce_packet.h"

namespace carillon {

namespace {

void read_udp(frame_headers& into, const std::uint8_t* frame, std::uint32_t length,
              std::uint32_t offset) {
  if (length >= offset + udp::Size) {
    into.udp_source = udp::unpack(frame + offset).src_port;
  }
}

void read_ipv4(frame_headers& into, const std::uint8_t* frame, std::uint32_t length,
               std::uint32_t offset) {
  if (length < offset + ipv4::Size) {
    return;
  }
  constexpr std::uint8_t PlainDwords = 5;
  const ipv4 ip = ipv4::unpack(frame + offset);
  if (ip.version != 4 || ip.ihl != PlainDwords) {
    return;
  }
  into.ip_offset = offset;
  into.dscp = ip.dscp;
  into.ecn = ip.ecn;
  if (ip.protocol == IpProtocolUdp && ip.fragment_offset == 0) {
    read_udp(into, frame, length, offset + ipv4::Size);
  }
}

void read_ipv6(frame_headers& into, const std::uint8_t* frame, std::uint32_t length,
               std::uint32_t offset) {
  if (length < offset + ipv6::Size) {
    return;
  }
  constexpr std::uint8_t Version = 6;
  const ipv6 ip = ipv6::unpack(frame + offset);
  if (ip.version != Version) {
    return;
  }
  into.ip_offset = offset;
  into.ipv6 = true;
  into.dscp = ip.dscp;
  into.ecn = ip.ecn;
  if (ip.next_header == IpProtocolUdp) {
    read_udp(into, frame, length, offset + ipv6::Size);
  }
}

}  // namespace

frame_headers read_headers(const std::uint8_t* frame, std::uint32_t length) {
  frame_headers result;
  if (length < eth::Size) {
    return result;
  }
  const eth header = eth::unpack(frame);
  result.destination = header.dst;
  result.source = header.src;
  ethertype type = header.ether_type;
  std::uint32_t offset = eth::Size;
  if (type == ethertype::Vlan) {
    if (length < offset + vlan_tag::Size) {
      return result;
    }
    const vlan_tag tag = vlan_tag::unpack(frame + offset);
    result.tagged = true;
    result.pcp = tag.pcp;
    type = tag.ether_type;
    offset += vlan_tag::Size;
  }
  if (type == ethertype::Ipv4) {
    read_ipv4(result, frame, length, offset);
  } else if (type == ethertype::Ipv6) {
    read_ipv6(result, frame, length, offset);
  }
  return result;
}

std::uint8_t priority_of(const frame_headers& headers, const switch_settings& settings,
                         const switch_port_settings& port) {
  if (port.trust == switch_trust::dscp && headers.ip_offset != 0) {
    return settings.dscp_to_priority[headers.dscp];
  }
  if (port.trust == switch_trust::pcp && headers.tagged) {
    return settings.pcp_to_priority[headers.pcp];
  }
  return static_cast<std::uint8_t>(port.default_priority);
}

void mark_congestion(frame_item& frame, std::uint32_t ip_offset, bool is_ipv6) {
  std::uint8_t* ip = frame.bytes.data() + frame.offset + ip_offset;
  // What set_ecn() may change: the byte with the mark, and IPv4's checksum.
  const std::uint32_t begin = is_ipv6 ? 0 : 1;
  const std::uint32_t bytes = is_ipv6 ? 2 : ipv4::at::Checksum + 2 - begin;
  const std::uint32_t before = crc32_of(ip + begin, bytes);
  set_ecn(ip, is_ipv6, ecn_code::Ce);
  // CRCs are linear: what changes in the FCS is what changes in the CRC of these bytes, moved on by
  // those behind them. The payload is not read again.
  const std::uint32_t change = before ^ crc32_of(ip + begin, bytes);
  frame.fcs ^= crc32_join(change, 0, frame.length - ip_offset - begin - bytes);
}

}  // namespace carillon
