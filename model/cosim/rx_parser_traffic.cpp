#include "cosim/rx_parser_traffic.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "common/icrc.h"
#include "gen/stages.h"
#include "gen/wire.h"

namespace carillon {

namespace {

using world = rx_parser_world;

constexpr std::uint16_t FullMember = 0x8000;

template <class T, std::size_t N>
const T& one_of(random_stream& random, const std::array<T, N>& values) {
  return values[random.below(N)];
}

std::uint16_t pkey_of(unsigned qp) {
  return static_cast<std::uint16_t>(0x1200 + qp % 5);
}

/// A state in which QPs mostly are, or any.
qp_state some_state(random_stream& random) {
  return random.chance(3, 4) ? qp_state::Rts : static_cast<qp_state>(random.below(8));
}

void renew(world::qp_lines& lines, unsigned qp, random_stream& random) {
  qpc_common common;
  common.valid = random.chance(31, 32) ? 1 : 0;
  common.state = some_state(random);
  common.service =
      random.chance(31, 32) ? world::service_of(qp) : static_cast<qp_service>(random.below(3));
  common.mtu = mtu_code::Mtu4096;
  common.pkey = pkey_of(qp) | (random.chance(3, 4) ? FullMember : 0);
  common.function_id = random.chance(31, 32) ? world::function_of(qp)
                                             : static_cast<std::uint16_t>(random.below(1U << 16));
  common.qkey = static_cast<std::uint32_t>(random.next());
  common.dbr_addr = random.next();
  common.wqe_base_addr = random.next();
  common.pack(lines.common.data());
  qpc_responder responder;
  responder.error = random.chance(1, 16) ? 1 : 0;
  responder.next_rcv_psn = static_cast<std::uint32_t>(random.below(1U << 24));
  responder.rmsn = static_cast<std::uint32_t>(random.below(1U << 24));
  responder.cur_va = random.next();
  responder.pack(lines.responder.data());
}

/// Writes the right ICRC, if there is a place for one.
void seal(frame_item& frame) {
  std::uint8_t* const bytes = frame.bytes.data() + frame.offset;
  if (const auto icrc = icrc_of_frame(bytes, frame.length)) {
    store_icrc(bytes + icrc->offset, icrc->computed);
  }
}

std::uint32_t ip_at(const packet_description& packet) {
  return eth::Size + (packet.tagged ? vlan_tag::Size : 0);
}

std::uint32_t udp_at(const packet_description& packet) {
  return ip_at(packet) + (packet.ipv6 ? ipv6::Size : ipv4::Size);
}

}  // namespace

// World
// ------------------------------------------------------------------------------------------------

std::uint32_t world::number_of(unsigned qp) {
  constexpr unsigned Bits = 24;
  const std::uint64_t base = random_stream(qp / 2, "rx_parser_bench/numbers").below(1U << Bits);
  return static_cast<std::uint32_t>(base) ^ (qp % 2) << qp / 2 % Bits;
}

std::optional<unsigned> world::find(std::uint32_t qpn) {
  static const auto Numbers = [] {
    std::map<std::uint32_t, unsigned> all;
    for (unsigned qp = 0; qp < Qps; ++qp) {
      all.emplace(number_of(qp), qp);
    }
    return all;
  }();
  const auto found = Numbers.find(qpn);
  return found == Numbers.end() ? std::nullopt : std::optional(found->second);
}

vport_table world::first_ports() {
  std::vector<vport> ports(Ports);
  for (unsigned i = 0; i < Ports; ++i) {
    ports[i].enabled = true;
    ports[i].mac = mac_of(i);
    if (i % 2 == 1) {
      ports[i].vlan = vlan_of(i);
    }
  }
  return vport_table(std::move(ports));
}

vport_table world::changed(const vport_table& before, random_stream& random) {
  std::vector<vport> ports;
  for (unsigned i = 0; i < Ports; ++i) {
    ports.push_back(before.at(static_cast<std::uint16_t>(i)));
  }
  const auto which = static_cast<unsigned>(random.below(Ports));
  vport& port = ports[which];
  switch (random.below(6)) {
    case 0:
      port.enabled = random.chance(1, 4);
      break;
    case 1:
      port.vlan = port.vlan ? std::nullopt : std::optional(vlan_of(which));
      break;
    case 2:
      port.promiscuous = random.chance(1, 3);
      break;
    case 3:
      // Two ports with the same address are told apart by their VLANs.
      port.mac = port.mac == mac_of(which) ? mac_of((which + 1) % Ports) : mac_of(which);
      break;
    default:
      port.enabled = true;
      break;
  }
  return vport_table(std::move(ports));
}

world::lines world::first_lines(random_stream& random) {
  lines all;
  for (unsigned qp = 0; qp < Qps; ++qp) {
    renew(all[qp], qp, random);
  }
  return all;
}

world::lines world::changed(lines before, random_stream& random) {
  for (std::uint64_t left = random.chance(1, 16) ? Qps : 1 + random.below(4); left != 0; --left) {
    const auto qp = static_cast<unsigned>(random.below(Qps));
    renew(before[qp], qp, random);
  }
  return before;
}

// Packets
// ------------------------------------------------------------------------------------------------

unsigned rx_parser_traffic::choose_qp() {
  if (habit_ == 0) {
    habit_ = 1 + random_.below(random_.chance(1, 8) ? 500 : 100);
    answers_ = random_.chance(1, 6);
    flood_ = random_.chance(1, 8);
    first_qp_ = static_cast<unsigned>(random_.below(world::Qps));
    qps_ = one_of(random_, std::array<unsigned, 4>{1, 3, 16, world::Qps});
    turn_ = 0;
    if (flood_) {
      habit_ = 150;
      qps_ = world::Qps;
    }
  }
  --habit_;
  return (first_qp_ + turn_++ % qps_) % world::Qps;
}

bth_opcode rx_parser_traffic::choose_opcode() {
  // Mostly of the QP's service, so that it has something to decide.
  constexpr std::array Services = {transport_service::Rc, transport_service::Uc,
                                   transport_service::Ud};
  const transport_service wanted = Services[static_cast<std::size_t>(world::service_of(qp_))];
  const bool any_service = random_.chance(1, 16);
  while (true) {
    const opcode_info& info = OpcodeInfo[random_.below(OpcodeInfo.size())];
    const bool welcome = flood_ ? !info.is_response
                                : info.is_response || !answers_ || wanted != transport_service::Rc;
    if (any_service || (info.service == wanted && welcome)) {
      return info.code;
    }
  }
}

std::uint32_t rx_parser_traffic::choose_payload() {
  switch (random_.below(8)) {
    case 0:
      return static_cast<std::uint32_t>(random_.below(5));
    case 1:
      return random_.chance(1, 4) ? 4096 - static_cast<std::uint32_t>(random_.below(2) * 3) : 1024;
    case 2:
      return static_cast<std::uint32_t>(random_.below(1024));
    default:
      return static_cast<std::uint32_t>(random_.below(160));
  }
}

packet_description rx_parser_traffic::choose_packet(const world::lines& lines) {
  qp_ = choose_qp();
  qpn_ = world::number_of(qp_);
  const qpc_common common = qpc_common::unpack(lines[qp_].common.data());
  const qpc_responder responder = qpc_responder::unpack(lines[qp_].responder.data());
  packet_description packet;
  packet.opcode = choose_opcode();
  packet.dest_qpn = qpn_;
  if (random_.chance(1, 48)) {
    qpn_ = static_cast<std::uint32_t>(any(24));
    packet.dest_qpn = qpn_;
  }
  packet.pkey = common.pkey;
  switch (random_.below(16)) {
    case 0:
      packet.pkey ^= static_cast<std::uint16_t>(1U << random_.below(15));
      break;
    case 1:
    case 2:
    case 3:
      packet.pkey &= 0x7fff;
      break;
    default:
      packet.pkey |= FullMember;
      break;
  }
  constexpr std::array<std::uint32_t, 8> Distances = {0,        1,        2,        0xffffff,
                                                      0x7fffff, 0x800000, 0x7ffffe, 0x800001};
  const std::uint32_t distance = random_.chance(5, 8)   ? 0
                                 : random_.chance(7, 8) ? one_of(random_, Distances)
                                                        : static_cast<std::uint32_t>(any(24));
  packet.psn = (responder.next_rcv_psn + distance) & 0xffffff;
  packet.solicited = random_.chance(1, 2) ? 1 : 0;
  packet.migreq = random_.chance(1, 2) ? 1 : 0;
  packet.fecn = random_.chance(1, 4) ? 1 : 0;
  packet.becn = random_.chance(1, 4) ? 1 : 0;
  packet.ack_request = random_.chance(1, 2) ? 1 : 0;
  packet.ipv6 = random_.chance(1, 2);
  packet.tagged = random_.chance(1, 3);
  packet.pcp = static_cast<std::uint8_t>(random_.below(8));
  packet.dei = static_cast<std::uint8_t>(random_.below(2));
  for (unsigned i = 0; i < packet.source.size(); ++i) {
    packet.source[i] = static_cast<std::uint8_t>(random_.next());
    packet.destination[i] = static_cast<std::uint8_t>(random_.next());
  }
  packet.dscp = static_cast<std::uint8_t>(random_.below(64));
  packet.ecn = static_cast<ecn_code>(random_.below(4));
  packet.ttl = static_cast<std::uint8_t>(random_.next());
  packet.ip_id = static_cast<std::uint16_t>(random_.next());
  packet.ip_df = static_cast<std::uint8_t>(random_.below(2));
  packet.flow_label = static_cast<std::uint32_t>(any(20));
  packet.udp_source = static_cast<std::uint16_t>(random_.next());
  packet.udp_checksum = static_cast<std::uint16_t>(random_.next());
  packet.datagram = {static_cast<std::uint32_t>(random_.next()),
                     static_cast<std::uint32_t>(any(24))};
  packet.remote.va = random_.next();
  packet.remote.rkey = static_cast<std::uint32_t>(random_.next());
  packet.remote.dma_length = static_cast<std::uint32_t>(random_.next());
  packet.acknowledge =
      make_aeth(static_cast<std::uint8_t>(random_.next()), static_cast<std::uint32_t>(any(24)));
  packet.atomic.va = random_.next();
  packet.atomic.rkey = static_cast<std::uint32_t>(random_.next());
  packet.atomic.swap_add = random_.next();
  packet.atomic.compare = random_.next();
  packet.atomic_result.original = random_.next();
  packet.immediate = static_cast<std::uint32_t>(random_.next());
  packet.invalidate_rkey = static_cast<std::uint32_t>(random_.next());
  packet.payload = find_opcode(packet.opcode)->has_payload ? choose_payload() : 0;
  return packet;
}

void rx_parser_traffic::choose_addresses(packet_description& packet, const vport_table& ports,
                                         bool looped) {
  unsigned to = world::function_of(qp_);
  if (to == world::Ports || random_.chance(1, 24)) {
    to = static_cast<unsigned>(random_.below(world::Ports));
  }
  const vport& port = ports.at(static_cast<std::uint16_t>(to));
  packet.mac_destination = port.mac;
  packet.vid = world::vlan_of(to);
  if (port.vlan && random_.chance(15, 16)) {
    packet.tagged = true;
    packet.vid = *port.vlan;
  } else if (random_.chance(1, 4)) {
    packet.vid = random_.chance(1, 2) ? 0 : static_cast<std::uint16_t>(any(12));
  }
  switch (flood_ ? 48 : random_.below(48)) {
    case 0:
      packet.mac_destination = any(48) | 1ULL << 40;  // a group
      break;
    case 1:
    case 2:
      packet.mac_destination = any(48) & ~(1ULL << 40);  // nobody's
      break;
    case 3:
      packet.mac_destination ^= 1ULL << random_.below(48);
      break;
    default:
      break;
  }
  packet.mac_source = any(48);
  if (random_.chance(1, looped ? 2 : 24)) {
    packet.mac_source = ports.at(static_cast<std::uint16_t>(random_.below(world::Ports))).mac;
  }
}

frame_item rx_parser_traffic::build(const packet_description& packet) {
  frame_item frame;
  frame.bytes = buffers_.take();
  std::uint8_t* const bytes = frame.bytes.data();
  const std::uint32_t at = PayloadOffset + static_cast<std::uint32_t>(random_.below(64));
  const header_place place = build_headers(packet, bytes, at);
  for (std::uint32_t i = 0; i < packet.payload; ++i) {
    bytes[at + i] = static_cast<std::uint8_t>(random_.next());
  }
  const finished_frame done = finish_frame(bytes, place, packet.payload);
  frame.offset = done.offset;
  frame.length = done.length;
  return frame;
}

// What is not as it should be
// ------------------------------------------------------------------------------------------------

void rx_parser_traffic::damage_ip(std::uint8_t* ip, bool is_ipv6) {
  const auto nudged = [this](std::uint16_t length) {
    return static_cast<std::uint16_t>(random_.chance(1, 4) ? random_.next()
                                                           : length + random_.below(5) - 2);
  };
  if (is_ipv6) {
    ipv6 header = ipv6::unpack(ip);
    switch (random_.below(3)) {
      case 0:
        header.version = static_cast<std::uint8_t>(random_.below(16));
        break;
      case 1:
        header.next_header ^= static_cast<std::uint8_t>(1U << random_.below(8));
        break;
      default:
        header.payload_length = nudged(header.payload_length);
        break;
    }
    header.pack(ip);
    return;
  }
  ipv4 header = ipv4::unpack(ip);
  switch (random_.below(6)) {
    case 0:
      header.version = static_cast<std::uint8_t>(random_.below(16));
      break;
    case 1:
      header.ihl = static_cast<std::uint8_t>(random_.below(16));
      break;
    case 2:
      header.mf = 1;
      break;
    case 3:
      header.fragment_offset = static_cast<std::uint16_t>(1U << random_.below(13));
      break;
    case 4:
      header.protocol ^= static_cast<std::uint8_t>(1U << random_.below(8));
      break;
    default:
      header.total_length = nudged(header.total_length);
      break;
  }
  header.pack(ip);
}

void rx_parser_traffic::damage_transport(std::uint8_t* udp_header) {
  std::uint8_t* const bth_header = udp_header + udp::Size;
  switch (random_.below(6)) {
    case 0: {
      udp header = udp::unpack(udp_header);
      header.dst_port ^= static_cast<std::uint16_t>(1U << random_.below(16));
      header.pack(udp_header);
      break;
    }
    case 1: {
      udp header = udp::unpack(udp_header);
      header.length ^= static_cast<std::uint16_t>(1U << random_.below(16));
      header.pack(udp_header);
      break;
    }
    case 2: {
      bth header = bth::unpack(bth_header);
      header.version = static_cast<std::uint8_t>(random_.below(16));
      header.pack(bth_header);
      break;
    }
    case 3:
    case 4: {
      bth header = bth::unpack(bth_header);
      header.opcode = static_cast<bth_opcode>(random_.next() & 0xff);
      if (random_.chance(1, 2)) {
        header.opcode = OpcodeInfo[random_.below(OpcodeInfo.size())].code;
      }
      header.pack(bth_header);
      break;
    }
    default: {
      bth header = bth::unpack(bth_header);
      header.pad_count = static_cast<std::uint8_t>(random_.below(4));
      header.pack(bth_header);
      break;
    }
  }
}

/// IP and UDP agree about another length.
void rx_parser_traffic::stretch(frame_item& frame, const packet_description& packet) {
  std::uint8_t* const bytes = frame.bytes.data() + frame.offset;
  std::uint8_t* const ip = bytes + ip_at(packet);
  std::uint8_t* const udp_header = bytes + udp_at(packet);
  udp transport = udp::unpack(udp_header);
  const std::uint32_t room = frame.length - udp_at(packet);
  const std::uint32_t least = random_.chance(1, 4) ? 0 : udp::Size;
  std::uint32_t length = least + static_cast<std::uint32_t>(random_.below(52));
  if (random_.chance(1, 2)) {
    length = static_cast<std::uint32_t>(transport.length + random_.below(9) - 4);
  }
  length = std::min(length, room);
  transport.length = static_cast<std::uint16_t>(length);
  transport.pack(udp_header);
  if (packet.ipv6) {
    ipv6 header = ipv6::unpack(ip);
    header.payload_length = static_cast<std::uint16_t>(length);
    header.pack(ip);
  } else {
    ipv4 header = ipv4::unpack(ip);
    header.total_length = static_cast<std::uint16_t>(ipv4::Size + length);
    header.pack(ip);
  }
}

/// Bytes behind the IP packet are Ethernet padding.
void rx_parser_traffic::pad(frame_item& frame) {
  const auto bytes = static_cast<std::uint32_t>(1 + random_.below(random_.chance(1, 2) ? 200 : 4));
  constexpr std::uint32_t Most = stage_spec::rx_parser::MaxBeats * BeatBytes;
  if (frame.offset + frame.length + bytes > BufferBytes || frame.length + bytes > Most) {
    return;
  }
  std::uint8_t* const behind = frame.bytes.data() + frame.offset + frame.length;
  for (std::uint32_t i = 0; i < bytes; ++i) {
    behind[i] = static_cast<std::uint8_t>(random_.next());
  }
  frame.length += bytes;
}

/// What routers and switches change.
void rx_parser_traffic::touch_masked(std::uint8_t* ip, bool is_ipv6) {
  std::uint8_t* udp_header = ip + ipv4::Size;
  if (is_ipv6) {
    ipv6 header = ipv6::unpack(ip);
    header.dscp = static_cast<std::uint8_t>(any(6));
    header.flow_label = static_cast<std::uint32_t>(any(20));
    header.hop_limit = static_cast<std::uint8_t>(any(8));
    header.pack(ip);
    udp_header = ip + ipv6::Size;
  } else {
    ipv4 header = ipv4::unpack(ip);
    header.dscp = static_cast<std::uint8_t>(any(6));
    header.ttl = static_cast<std::uint8_t>(any(8));
    header.checksum = static_cast<std::uint16_t>(any(16));
    header.pack(ip);
  }
  set_ecn(ip, is_ipv6, static_cast<ecn_code>(any(2)));
  udp transport = udp::unpack(udp_header);
  transport.checksum = static_cast<std::uint16_t>(any(16));
  transport.pack(udp_header);
  udp_header[udp::Size + 4] = static_cast<std::uint8_t>(any(8));
}

void rx_parser_traffic::damage(frame_item& frame, const packet_description& packet) {
  std::uint8_t* const bytes = frame.bytes.data() + frame.offset;
  const bool sealed = random_.chance(1, 2);
  switch (random_.below(8)) {
    case 0:
      bytes[random_.below(frame.length)] ^= static_cast<std::uint8_t>(1U << random_.below(8));
      return;
    case 1: {
      // Near the end of its Ethernet, IP or transport headers, or anywhere.
      const std::array<std::uint32_t, 6> ends = {
          0, 2, 4, ip_at(packet), udp_at(packet), udp_at(packet) + udp::Size + bth::Size};
      const auto length = one_of(random_, ends) + static_cast<std::uint32_t>(random_.below(20));
      frame.length = std::min(length, frame.length);
      return;
    }
    case 2: {
      std::uint8_t* const type = bytes + ip_at(packet) - 2;
      constexpr std::array Types = {ethertype::RoceV1, ethertype::Vlan, ethertype::Ipv4,
                                    ethertype::Ipv6, ethertype::MacControl};
      bytes::store_be<2>(type, random_.chance(1, 4)
                                   ? bytes::load_be<2>(type) ^ 1U << random_.below(16)
                                   : static_cast<std::uint64_t>(one_of(random_, Types)));
      return;
    }
    case 3:
      damage_ip(bytes + ip_at(packet), packet.ipv6);
      break;
    case 4:
    case 5:
      damage_transport(bytes + udp_at(packet));
      break;
    case 6:
      stretch(frame, packet);
      break;
    default:
      if (const auto icrc = icrc_of_frame(bytes, frame.length)) {
        bytes[icrc->offset + random_.below(IcrcBytes)] ^=
            static_cast<std::uint8_t>(1U << random_.below(8));
      }
      return;
  }
  if (sealed) {
    seal(frame);
  }
}

frame_item rx_parser_traffic::make(const vport_table& ports, const world::lines& lines) {
  packet_description packet = choose_packet(lines);
  const bool looped = random_.chance(1, 4);
  choose_addresses(packet, ports, looped);
  frame_item frame = build(packet);
  frame.looped = looped;
  frame.icrc_known = random_.chance(1, 8);
  if (random_.chance(1, 8)) {
    pad(frame);
  }
  if (!flood_ && random_.chance(1, 4)) {
    damage(frame, packet);
  } else if (random_.chance(1, 4)) {
    cover_.hit("icrc.masked");
    touch_masked(frame.bytes.data() + frame.offset + ip_at(packet), packet.ipv6);
  }
  return frame;
}

}  // namespace carillon
