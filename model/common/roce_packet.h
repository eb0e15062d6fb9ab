// Building and parsing RoCEv2 frames: the plain cores of packet_builder and rx_parser.
//
// A frame here starts with its Ethernet header and has no FCS. IP addresses are GIDs; an IPv4
// address is the GID ::ffff:a.b.c.d.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "gen/wire.h"

namespace carillon {

using gid = std::array<std::uint8_t, 16>;

/// The IPv4-mapped GID of an address, and back.
gid gid_of_ipv4(std::uint32_t address);
std::uint32_t ipv4_of_gid(const gid& address);
bool is_ipv4_gid(const gid& address);

/// An AETH by its whole syndrome byte, as the items between stages carry it, and back.
aeth make_aeth(std::uint8_t syndrome, std::uint32_t msn);
std::uint8_t syndrome_of(const aeth& header);

/// The UDP source port that lets routers spread flows: the flow label folded to 14 bits, in the
/// dynamic port range. A flow label of 0 is replaced by one mixed from the QP numbers.
std::uint16_t udp_source_port(std::uint32_t flow_label, std::uint32_t local_qpn,
                              std::uint32_t remote_qpn);

/// Zero bytes that fill a payload to whole dwords.
constexpr std::uint8_t pad_of(std::uint32_t payload) {
  return static_cast<std::uint8_t>((4 - payload % 4) % 4);
}

// Building ----------------------------------------------------------------------------------------

/// Everything a frame says. What is not set keeps what our NIC sends; lengths, pad count and header
/// checksum are computed. The opcode decides which extension headers are written.
struct packet_description {
  std::uint64_t mac_destination = 0;
  std::uint64_t mac_source = 0;
  bool tagged = false;
  std::uint8_t pcp = 0;
  std::uint8_t dei = 0;
  std::uint16_t vid = 0;

  bool ipv6 = false;
  gid source{};
  gid destination{};
  std::uint8_t dscp = 0;
  ecn_code ecn = ecn_code::NotEct;
  std::uint8_t ttl = 64;
  std::uint16_t ip_id = 0;       ///< IPv4: unfragmentable packets need no identification
  std::uint8_t ip_df = 1;        ///< IPv4
  std::uint32_t flow_label = 0;  ///< IPv6

  std::uint16_t udp_source = UdpSourcePortBase;
  std::uint16_t udp_checksum = 0;  ///< 0 is "not computed": the ICRC protects the packet

  bth_opcode opcode = bth_opcode::RcSendOnly;
  std::uint8_t solicited = 0;
  std::uint8_t migreq = 1;
  std::uint16_t pkey = DefaultPkey;
  std::uint8_t fecn = 0;
  std::uint8_t becn = 0;
  std::uint32_t dest_qpn = 0;
  std::uint8_t ack_request = 0;
  std::uint32_t psn = 0;

  deth datagram;
  reth remote;
  aeth acknowledge;
  atomiceth atomic;
  atomicacketh atomic_result;
  std::uint32_t immediate = 0;
  std::uint32_t invalidate_rkey = 0;

  std::uint32_t payload = 0;  ///< bytes
};

/// Where build_headers put the headers in its buffer.
struct header_place {
  std::uint32_t offset = 0;     ///< of the Ethernet header
  std::uint32_t ip_offset = 0;  ///< of the IP header
  std::uint32_t end = 0;        ///< behind the last extension header: where the payload begins
  bool ipv6 = false;

  [[nodiscard]] std::uint32_t bytes() const { return end - offset; }
};

/// Bytes of all headers of such a frame.
std::uint32_t header_bytes(const packet_description& packet);

/// Writes the headers so that they end where the payload begins, at `payload_offset`, which must
/// leave room for them.
header_place build_headers(const packet_description& packet, std::uint8_t* buffer,
                           std::uint32_t payload_offset);

struct finished_frame {
  std::uint32_t offset = 0;
  std::uint32_t length = 0;  ///< FCS not included
  std::uint32_t fcs = 0;
};

/// Writes what comes behind the payload (pad, ICRC, zeros up to the smallest Ethernet frame) and
/// computes the FCS. Headers and payload are in place. The buffer must have room for 3 + 4 bytes
/// behind the payload, and for the smallest frame.
finished_frame finish_frame(std::uint8_t* buffer, const header_place& headers,
                            std::uint32_t payload);

/// The FCS of a frame, as it is kept in frame_item::fcs.
std::uint32_t fcs_of_frame(const std::uint8_t* frame, std::size_t length);

/// Changes the congestion mark of an IP header, as a switch does: IPv4's checksum follows, the ICRC
/// stays as it is, the frame's FCS is out of date.
void set_ecn(std::uint8_t* ip, bool ipv6, ecn_code ecn);

// Parsing -----------------------------------------------------------------------------------------

/// Why a frame is refused, in the order in which the header FSM looks at it.
enum class parse_error : std::uint8_t {
  none,
  // ST_ETH
  eth_truncated,  ///< shorter than its Ethernet header or VLAN tag
  eth_type,       ///< neither IPv4 nor IPv6 (a second VLAN tag included)
  roce_v1,        ///< RoCE version 1
  // ST_IP
  ip_truncated,  ///< shorter than its IP header
  ip_version,    ///< the version field contradicts the EtherType
  ip_options,    ///< the IPv4 header is not five dwords long
  ip_fragment,   ///< more fragments, or not the first
  ip_protocol,   ///< not UDP
  ip_length,     ///< longer than the frame, or too short for a UDP header
  // ST_UDP
  udp_port,    ///< not the RoCEv2 port
  udp_length,  ///< differs from what IP carries
  // ST_BTH
  bth_truncated,  ///< no room for BTH and ICRC
  bth_version,    ///< transport version not 0
  bth_opcode,     ///< no such opcode here
  bth_length,     ///< does not hold its extension headers, or holds what it must not
  bth_pad,        ///< pad count larger than the payload
  // behind the last beat
  icrc,
  count_
};

inline constexpr std::size_t ParseErrorCount = static_cast<std::size_t>(parse_error::count_);

const char* to_string(parse_error error);

enum class icrc_check : std::uint8_t { verify, trust };

/// What a frame says. After a refusal the members that belong to states passed before it are valid.
struct parsed_frame {
  parse_error error = parse_error::none;

  std::uint64_t mac_destination = 0;
  std::uint64_t mac_source = 0;
  bool tagged = false;
  std::uint8_t pcp = 0;
  std::uint8_t dei = 0;
  std::uint16_t vid = 0;

  bool ipv6 = false;
  gid source{};
  gid destination{};
  std::uint8_t dscp = 0;
  ecn_code ecn = ecn_code::NotEct;
  std::uint8_t ttl = 0;

  std::uint16_t udp_source = 0;
  bth base;
  const opcode_info* opcode = nullptr;

  deth datagram;
  reth remote;
  aeth acknowledge;
  atomiceth atomic;
  atomicacketh atomic_result;
  std::uint32_t immediate = 0;
  std::uint32_t invalidate_rkey = 0;

  // Offsets from the start of the frame.
  std::uint32_t ip_offset = 0;
  std::uint32_t udp_offset = 0;
  std::uint32_t bth_offset = 0;
  std::uint32_t extension_offset = 0;
  std::uint32_t payload_offset = 0;
  std::uint32_t payload = 0;  ///< bytes, padding removed
  std::uint32_t icrc_offset = 0;

  [[nodiscard]] bool good() const { return error == parse_error::none; }
};

/// Walks the headers of a frame of `length` bytes (FCS not included); never reads beyond them.
/// Bytes behind the IP packet are Ethernet padding and are ignored. `trust` leaves out the ICRC,
/// for frames that nobody touched since it was computed. The IPv4 header checksum and the UDP
/// checksum are not looked at: FCS and ICRC are the stronger checks.
parsed_frame parse_frame(const std::uint8_t* frame, std::size_t length,
                         icrc_check check = icrc_check::verify);

}  // namespace carillon
