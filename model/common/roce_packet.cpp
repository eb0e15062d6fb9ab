#include "common/roce_packet.h"

#include <algorithm>
#include <cstring>

#include "common/crc32.h"
#include "common/error.h"
#include "common/icrc.h"

namespace carillon {

namespace {

constexpr gid Ipv4Prefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0};
constexpr std::size_t Ipv4PrefixBytes = 12;

/// The syndrome byte is the kind and, below it, the value.
constexpr unsigned SyndromeValueBits = 8 - AethKindWidth;

/// Calls `visit(header)` for the extension headers of an opcode in the order of the wire; Packet is
/// a packet_description or a parsed_frame.
template <class Packet, class Visitor>
void visit_extensions(const opcode_info& opcode, Packet& packet, Visitor visit) {
  if (opcode.has_deth) {
    visit(packet.datagram);
  }
  if (opcode.has_reth) {
    visit(packet.remote);
  }
  if (opcode.has_aeth) {
    visit(packet.acknowledge);
  }
  if (opcode.has_atomiceth) {
    visit(packet.atomic);
  }
  if (opcode.has_atomicacketh) {
    visit(packet.atomic_result);
  }
}

std::uint16_t ipv4_checksum(const std::uint8_t* header) {
  std::uint32_t sum = 0;
  for (unsigned i = 0; i < ipv4::Size; i += 2) {
    sum += static_cast<std::uint32_t>(bytes::load_be<2>(header + i));
  }
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

std::uint32_t ip_bytes(bool is_ipv6) {
  return is_ipv6 ? ipv6::Size : ipv4::Size;
}

const opcode_info& opcode_of(const packet_description& packet) {
  const opcode_info* opcode = find_opcode(static_cast<std::uint8_t>(packet.opcode));
  CARILLON_CHECK(opcode != nullptr, "roce_packet: cannot build opcode 0x{:02x}",
                 static_cast<unsigned>(packet.opcode));
  return *opcode;
}

std::uint8_t* put_ip(std::uint8_t* p, const packet_description& packet, std::uint32_t udp_bytes) {
  if (packet.ipv6) {
    ipv6 header;
    header.version = 6;
    header.dscp = packet.dscp;
    header.ecn = packet.ecn;
    header.flow_label = packet.flow_label;
    header.payload_length = static_cast<std::uint16_t>(udp_bytes);
    header.next_header = IpProtocolUdp;
    header.hop_limit = packet.ttl;
    header.src = packet.source;
    header.dst = packet.destination;
    header.pack(p);
    return p + ipv6::Size;
  }
  ipv4 header;
  header.version = 4;
  header.ihl = ipv4::Size / 4;
  header.dscp = packet.dscp;
  header.ecn = packet.ecn;
  header.total_length = static_cast<std::uint16_t>(ipv4::Size + udp_bytes);
  header.id = packet.ip_id;
  header.df = packet.ip_df;
  header.ttl = packet.ttl;
  header.protocol = IpProtocolUdp;
  header.src = ipv4_of_gid(packet.source);
  header.dst = ipv4_of_gid(packet.destination);
  header.pack(p);
  bytes::store_be<2>(p + ipv4::at::Checksum, ipv4_checksum(p));
  return p + ipv4::Size;
}

std::uint8_t* put_transport(std::uint8_t* p, const packet_description& packet,
                            const opcode_info& opcode) {
  bth base;
  base.opcode = packet.opcode;
  base.se = packet.solicited;
  base.migreq = packet.migreq;
  base.pad_count = pad_of(packet.payload);
  base.pkey = packet.pkey;
  base.fecn = packet.fecn;
  base.becn = packet.becn;
  base.dest_qpn = packet.dest_qpn;
  base.ack_req = packet.ack_request;
  base.psn = packet.psn;
  base.pack(p);
  p += bth::Size;
  visit_extensions(opcode, packet, [&p](const auto& header) {
    header.pack(p);
    p += header.Size;
  });
  if (opcode.has_immdt) {
    bytes::store_be<immdt::Size>(p, packet.immediate);
    p += immdt::Size;
  }
  if (opcode.has_ieth) {
    bytes::store_be<ieth::Size>(p, packet.invalidate_rkey);
    p += ieth::Size;
  }
  return p;
}

// The states of the header FSM. Each looks at its header, advances `at` behind it and says why it
// refuses.

struct walker {
  const std::uint8_t* frame;
  std::size_t length;
  std::size_t at = 0;   ///< next byte to look at
  std::size_t end = 0;  ///< behind the ICRC, known after ST_IP

  [[nodiscard]] const std::uint8_t* here() const { return frame + at; }

  [[nodiscard]] std::size_t rest() const { return (end != 0 ? end : length) - at; }
};

parse_error walk_eth(walker& w, parsed_frame& out) {
  if (w.rest() < eth::Size) {
    return parse_error::eth_truncated;
  }
  const eth header = eth::unpack(w.here());
  w.at += eth::Size;
  out.mac_destination = header.dst;
  out.mac_source = header.src;
  ethertype type = header.ether_type;
  if (type == ethertype::Vlan) {
    if (w.rest() < vlan_tag::Size) {
      return parse_error::eth_truncated;
    }
    const vlan_tag tag = vlan_tag::unpack(w.here());
    w.at += vlan_tag::Size;
    out.tagged = true;
    out.pcp = tag.pcp;
    out.dei = tag.dei;
    out.vid = tag.vid;
    type = tag.ether_type;
  }
  if (type != ethertype::Ipv4 && type != ethertype::Ipv6) {
    return type == ethertype::RoceV1 ? parse_error::roce_v1 : parse_error::eth_type;
  }
  out.ipv6 = type == ethertype::Ipv6;
  out.ip_offset = static_cast<std::uint32_t>(w.at);
  return parse_error::none;
}

/// ST_IP's last check, the same for both versions: `bytes` from the IP header on belong to the
/// packet.
parse_error end_at(walker& w, parsed_frame& out, std::size_t packet_bytes) {
  const std::size_t header = ip_bytes(out.ipv6);
  if (packet_bytes < header + udp::Size || packet_bytes > w.rest()) {
    return parse_error::ip_length;
  }
  w.end = w.at + packet_bytes;
  w.at += header;
  out.udp_offset = static_cast<std::uint32_t>(w.at);
  return parse_error::none;
}

parse_error walk_ipv4(walker& w, parsed_frame& out) {
  if (w.rest() < ipv4::Size) {
    return parse_error::ip_truncated;
  }
  const ipv4 header = ipv4::unpack(w.here());
  if (header.version != 4) {
    return parse_error::ip_version;
  }
  if (header.ihl != ipv4::Size / 4) {
    return parse_error::ip_options;
  }
  if (header.mf != 0 || header.fragment_offset != 0) {
    return parse_error::ip_fragment;
  }
  if (header.protocol != IpProtocolUdp) {
    return parse_error::ip_protocol;
  }
  out.source = gid_of_ipv4(header.src);
  out.destination = gid_of_ipv4(header.dst);
  out.dscp = header.dscp;
  out.ecn = header.ecn;
  out.ttl = header.ttl;
  return end_at(w, out, header.total_length);
}

parse_error walk_ipv6(walker& w, parsed_frame& out) {
  if (w.rest() < ipv6::Size) {
    return parse_error::ip_truncated;
  }
  const ipv6 header = ipv6::unpack(w.here());
  if (header.version != 6) {
    return parse_error::ip_version;
  }
  if (header.next_header != IpProtocolUdp) {
    return parse_error::ip_protocol;
  }
  out.source = header.src;
  out.destination = header.dst;
  out.dscp = header.dscp;
  out.ecn = header.ecn;
  out.ttl = header.hop_limit;
  return end_at(w, out, std::size_t{ipv6::Size} + header.payload_length);
}

parse_error walk_udp(walker& w, parsed_frame& out) {
  const udp header = udp::unpack(w.here());
  if (header.dst_port != RoceUdpPort) {
    return parse_error::udp_port;
  }
  if (header.length != w.rest()) {
    return parse_error::udp_length;
  }
  w.at += udp::Size;
  out.udp_source = header.src_port;
  out.bth_offset = static_cast<std::uint32_t>(w.at);
  return parse_error::none;
}

parse_error walk_bth(walker& w, parsed_frame& out) {
  if (w.rest() < bth::Size + IcrcBytes) {
    return parse_error::bth_truncated;
  }
  out.base = bth::unpack(w.here());
  w.at += bth::Size;
  if (out.base.version != 0) {
    return parse_error::bth_version;
  }
  out.opcode = find_opcode(static_cast<std::uint8_t>(out.base.opcode));
  if (out.opcode == nullptr) {
    return parse_error::bth_opcode;
  }
  const std::size_t behind = w.rest();
  if (behind < std::size_t{out.opcode->extension_bytes} + IcrcBytes || behind % 4 != 0) {
    return parse_error::bth_length;
  }
  const std::size_t data = behind - out.opcode->extension_bytes - IcrcBytes;
  if (data != 0 && !out.opcode->has_payload) {
    return parse_error::bth_length;
  }
  if (data < out.base.pad_count) {
    return parse_error::bth_pad;
  }
  out.extension_offset = static_cast<std::uint32_t>(w.at);
  visit_extensions(*out.opcode, out, [&w](auto& header) {
    header = header.unpack(w.here());
    w.at += header.Size;
  });
  if (out.opcode->has_immdt) {
    out.immediate = static_cast<std::uint32_t>(bytes::load_be<immdt::Size>(w.here()));
    w.at += immdt::Size;
  }
  if (out.opcode->has_ieth) {
    out.invalidate_rkey = static_cast<std::uint32_t>(bytes::load_be<ieth::Size>(w.here()));
    w.at += ieth::Size;
  }
  out.payload_offset = static_cast<std::uint32_t>(w.at);
  out.payload = static_cast<std::uint32_t>(data - out.base.pad_count);
  out.icrc_offset = static_cast<std::uint32_t>(w.end - IcrcBytes);
  return parse_error::none;
}

}  // namespace

gid gid_of_ipv4(std::uint32_t address) {
  gid result = Ipv4Prefix;
  bytes::store_be<4>(result.data() + Ipv4PrefixBytes, address);
  return result;
}

std::uint32_t ipv4_of_gid(const gid& address) {
  return static_cast<std::uint32_t>(bytes::load_be<4>(address.data() + Ipv4PrefixBytes));
}

bool is_ipv4_gid(const gid& address) {
  return std::equal(address.begin(), address.begin() + Ipv4PrefixBytes, Ipv4Prefix.begin());
}

aeth make_aeth(std::uint8_t syndrome, std::uint32_t msn) {
  aeth header;
  header.kind = static_cast<aeth_kind>(syndrome >> SyndromeValueBits);
  header.value = static_cast<std::uint8_t>(syndrome & ((1U << SyndromeValueBits) - 1));
  header.msn = msn;
  return header;
}

std::uint8_t syndrome_of(const aeth& header) {
  return static_cast<std::uint8_t>(static_cast<unsigned>(header.kind) << SyndromeValueBits |
                                   header.value);
}

std::uint16_t udp_source_port(std::uint32_t flow_label, std::uint32_t local_qpn,
                              std::uint32_t remote_qpn) {
  constexpr std::uint32_t LabelMask = 0xfffff;
  constexpr unsigned PortBits = 14;
  constexpr std::uint32_t PortMask = (1U << PortBits) - 1;
  std::uint32_t label = flow_label & LabelMask;
  if (label == 0) {
    std::uint64_t mixed = std::uint64_t{local_qpn} * remote_qpn;
    mixed ^= mixed >> 20;
    mixed ^= mixed >> 40;
    label = static_cast<std::uint32_t>(mixed) & LabelMask;
  }
  return static_cast<std::uint16_t>(((label & PortMask) ^ (label >> PortBits)) | UdpSourcePortBase);
}

std::uint32_t header_bytes(const packet_description& packet) {
  return eth::Size + (packet.tagged ? vlan_tag::Size : 0) + ip_bytes(packet.ipv6) + udp::Size +
         bth::Size + opcode_of(packet).extension_bytes;
}

header_place build_headers(const packet_description& packet, std::uint8_t* buffer,
                           std::uint32_t payload_offset) {
  const opcode_info& opcode = opcode_of(packet);
  CARILLON_CHECK(packet.payload == 0 || opcode.has_payload, "roce_packet: {} cannot carry {} bytes",
                 opcode.name, packet.payload);
  const std::uint32_t bytes = header_bytes(packet);
  CARILLON_CHECK(bytes <= payload_offset, "roce_packet: {} header bytes, room for {}", bytes,
                 payload_offset);
  header_place place;
  place.offset = payload_offset - bytes;
  place.end = payload_offset;
  place.ipv6 = packet.ipv6;
  const std::uint32_t udp_bytes = udp::Size + bth::Size + opcode.extension_bytes + packet.payload +
                                  pad_of(packet.payload) + IcrcBytes;
  CARILLON_CHECK(udp_bytes + ipv4::Size <= 0xffff, "roce_packet: {} bytes of payload do not fit IP",
                 packet.payload);

  const ethertype ip_type = packet.ipv6 ? ethertype::Ipv6 : ethertype::Ipv4;
  std::uint8_t* p = buffer + place.offset;
  eth{packet.mac_destination, packet.mac_source, packet.tagged ? ethertype::Vlan : ip_type}.pack(p);
  p += eth::Size;
  if (packet.tagged) {
    vlan_tag{packet.pcp, packet.dei, packet.vid, ip_type}.pack(p);
    p += vlan_tag::Size;
  }
  place.ip_offset = static_cast<std::uint32_t>(p - buffer);
  p = put_ip(p, packet, udp_bytes);
  udp{packet.udp_source, static_cast<std::uint16_t>(RoceUdpPort),
      static_cast<std::uint16_t>(udp_bytes), packet.udp_checksum}
      .pack(p);
  p += udp::Size;
  p = put_transport(p, packet, opcode);
  CARILLON_CHECK(p == buffer + payload_offset,
                 "roce_packet: the headers of {} end at {} instead of {}", opcode.name, p - buffer,
                 payload_offset);
  return place;
}

finished_frame finish_frame(std::uint8_t* buffer, const header_place& headers,
                            std::uint32_t payload) {
  const std::uint32_t padded = payload + pad_of(payload);
  std::uint8_t* const data = buffer + headers.end;
  std::memset(data + payload, 0, padded - payload);
  const std::uint32_t payload_crc = crc32_of(data, padded);
  const std::uint32_t covered =
      icrc_of_headers(buffer + headers.ip_offset, headers.ipv6, headers.end - headers.ip_offset);
  std::uint8_t* const tail = data + padded;
  store_icrc(tail, crc32_join(covered, payload_crc, padded));

  const std::uint32_t packet_end = headers.bytes() + padded + IcrcBytes;
  const std::uint32_t length = std::max<std::uint32_t>(packet_end, MinFrameBytes);
  std::memset(tail + IcrcBytes, 0, length - packet_end);
  const std::uint32_t header_crc = crc32_of(buffer + headers.offset, headers.bytes());
  const std::uint32_t fcs =
      crc32_add(crc32_join(header_crc, payload_crc, padded), tail, IcrcBytes + length - packet_end);
  return {headers.offset, length, fcs};
}

std::uint32_t fcs_of_frame(const std::uint8_t* frame, std::size_t length) {
  return crc32_of(frame, length);
}

void set_ecn(std::uint8_t* ip, bool is_ipv6, ecn_code ecn) {
  if (is_ipv6) {
    ipv6 header = ipv6::unpack(ip);
    header.ecn = ecn;
    header.pack(ip);
    return;
  }
  ipv4 header = ipv4::unpack(ip);
  header.ecn = ecn;
  header.checksum = 0;
  header.pack(ip);
  bytes::store_be<2>(ip + ipv4::at::Checksum, ipv4_checksum(ip));
}

const char* to_string(parse_error error) {
  static constexpr std::array<const char*, ParseErrorCount> Names = {
      "none",          "eth_truncated", "eth_type",    "roce_v1",    "ip_truncated", "ip_version",
      "ip_options",    "ip_fragment",   "ip_protocol", "ip_length",  "udp_port",     "udp_length",
      "bth_truncated", "bth_version",   "bth_opcode",  "bth_length", "bth_pad",      "icrc"};
  const auto index = static_cast<std::size_t>(error);
  return index < Names.size() ? Names[index] : "?";
}

parsed_frame parse_frame(const std::uint8_t* frame, std::size_t length, icrc_check check) {
  parsed_frame out;
  walker w{frame, length};
  const auto passed = [&out](parse_error error) {
    out.error = error;
    return error == parse_error::none;
  };
  if (passed(walk_eth(w, out)) && passed(out.ipv6 ? walk_ipv6(w, out) : walk_ipv4(w, out)) &&
      passed(walk_udp(w, out)) && passed(walk_bth(w, out)) && check == icrc_check::verify) {
    const std::uint8_t* const ip = frame + out.ip_offset;
    const std::uint32_t computed = icrc_of_packet(ip, out.ipv6, out.icrc_offset - out.ip_offset);
    passed(load_icrc(frame + out.icrc_offset) == computed ? parse_error::none : parse_error::icrc);
  }
  return out;
}

}  // namespace carillon
