#include "cosim/packet_builder_traffic.h"

#include <algorithm>

#include "common/packet_opcode.h"
#include "common/roce_packet.h"
#include "gen/wqe.h"

namespace carillon {

namespace {

/// The longest inline payload that a packet may have.
constexpr std::uint32_t MaxInline = 992;
constexpr std::uint32_t MaxPayload = 4096;

constexpr std::array RcOpcodes = {
    wqe_opcode::Send,      wqe_opcode::SendImmediate,     wqe_opcode::SendInvalidate,
    wqe_opcode::RdmaWrite, wqe_opcode::RdmaWrite,         wqe_opcode::RdmaWriteImmediate,
    wqe_opcode::RdmaRead,  wqe_opcode::AtomicCompareSwap, wqe_opcode::AtomicFetchAdd};
constexpr std::array UcOpcodes = {wqe_opcode::Send, wqe_opcode::SendImmediate,
                                  wqe_opcode::RdmaWrite, wqe_opcode::RdmaWriteImmediate};
constexpr std::array UdOpcodes = {wqe_opcode::Send, wqe_opcode::SendImmediate};

template <class Bytes>
void fill(Bytes& bytes, random_stream& random) {
  for (std::uint8_t& each : bytes) {
    each = static_cast<std::uint8_t>(random.next());
  }
}

void fill(std::uint8_t* to, std::uint32_t bytes, random_stream& random) {
  for (std::uint32_t i = 0; i < bytes; i += 8) {
    const std::uint64_t value = random.next();
    for (std::uint32_t j = i; j < std::min(i + 8, bytes); ++j) {
      to[j] = static_cast<std::uint8_t>(value >> 8 * (j - i));
    }
  }
}

/// One of this NIC's ports, or somebody on the wire.
std::uint64_t some_destination(random_stream& random) {
  if (!random.chance(1, 3)) {
    return random.next() & 0xffffffffffff;
  }
  const std::uint64_t mac = packet_builder_world::mac_of(
      static_cast<unsigned>(random.below(packet_builder_world::Ports)));
  return random.chance(1, 8) ? mac ^ std::uint64_t{1} << random.below(48) : mac;
}

constexpr std::uint16_t vlan_of(unsigned port) {
  return static_cast<std::uint16_t>(1 + (0x9a5 + port * 0x2b3) % 4094);
}

}  // namespace

// The world
// ----------------------------------------------------------------------------------------------

std::array<std::uint8_t, 16> packet_builder_world::address_of(unsigned port, unsigned index) {
  return {0xfe, 0x80,
          0,    0,
          0,    0,
          0,    0,
          0,    0,
          0,    0,
          10,   static_cast<std::uint8_t>(port),
          0,    static_cast<std::uint8_t>(index)};
}

packet_builder_world::packet_builder_world(std::uint64_t seed) {
  random_stream random(seed, "packet_builder_bench/world");
  for (unsigned qpn = 0; qpn < Qps; ++qpn) {
    const unsigned own = function_of(qpn);
    qpc_address& path = paths[qpn];
    // What is not 6 is 4.
    path.ip_version = static_cast<std::uint8_t>(random.chance(1, 8)   ? random.below(16)
                                                : random.chance(1, 2) ? 6
                                                                      : 4);
    path.vlan_valid = random.chance(1, 2) ? 1 : 0;
    path.vlan_id =
        random.chance(7, 8) ? vlan_of(own) : static_cast<std::uint16_t>(random.below(4096));
    path.eth_prio = static_cast<std::uint8_t>(random.below(8));
    path.gid_index = static_cast<std::uint8_t>(random.below(Addresses + 1));
    path.loopback = random.chance(1, 12) ? 1 : 0;
    path.tclass = static_cast<std::uint8_t>(random.next());
    path.hop_limit = static_cast<std::uint8_t>(random.next());
    path.rmac = some_destination(random);
    path.udp_sport = static_cast<std::uint16_t>(random.next());
    path.pkey = static_cast<std::uint16_t>(random.next());
    if (random.chance(3, 4)) {
      path.src_ip = address_of(own, path.gid_index);
    } else {
      fill(path.src_ip, random);
    }
    fill(path.dst_ip, random);
    path.flow_label = static_cast<std::uint32_t>(random.below(1U << 20));
    path.remote_qpn = static_cast<std::uint32_t>(random.below(1U << 24));
    const std::uint64_t claim = random.below(8);
    path.smac = claim < 3 ? 0 : claim < 7 ? mac_of(own) : random.next() & 0xffffffffffff;
    claim_all_but_one(qpn / Functions, own, random, path);
  }
}

/// Some QPs of every function claim what is the function's own but for one thing, or one bit of it.
void packet_builder_world::claim_all_but_one(unsigned which, unsigned own, random_stream& random,
                                             qpc_address& path) {
  constexpr unsigned Kinds = 5;
  if (which >= Kinds) {
    return;
  }
  path.smac = mac_of(own);
  path.vlan_valid = 1;
  path.vlan_id = vlan_of(own);
  path.gid_index = 0;
  switch (which) {
    case 0:
      path.vlan_id ^= 1U << random.below(12);
      break;
    case 1:
      path.smac ^= std::uint64_t{1} << random.below(48);
      break;
    case 2:
      path.gid_index = EmptyAddress;
      break;
    case 3:
      path.gid_index = Addresses;
      break;
    default:
      break;
  }
  path.src_ip = address_of(own, path.gid_index);
  if (which == Kinds - 1) {
    path.src_ip[random.below(path.src_ip.size())] ^=
        static_cast<std::uint8_t>(1U << random.below(8));
  }
}

vport_table packet_builder_world::first_ports() {
  std::vector<vport> ports(Ports);
  for (unsigned i = 0; i < Ports; ++i) {
    vport& port = ports[i];
    port.enabled = true;
    port.mac = mac_of(i);
    port.priority = static_cast<std::uint8_t>(7 - i);
    port.spoof_check = i != 0;
    if (i == 2 || i == 5) {
      port.vlan = vlan_of(i);
    }
    if (i >= 3) {
      // One entry of the list is empty.
      for (unsigned j = 0; j < Addresses; ++j) {
        port.sources.push_back({j != EmptyAddress, address_of(i, j)});
      }
    }
  }
  return vport_table(std::move(ports));
}

vport_table packet_builder_world::changed(const vport_table& before, random_stream& random) {
  std::vector<vport> ports;
  for (unsigned i = 0; i < Ports; ++i) {
    ports.push_back(before.at(static_cast<std::uint16_t>(i)));
  }
  const auto which = static_cast<unsigned>(random.below(Ports));
  vport& port = ports[which];
  switch (random.below(6)) {
    case 0:
      port.enabled = false;
      break;
    case 1:
      port.vlan = port.vlan ? std::nullopt : std::optional(vlan_of(which));
      break;
    case 2:
      port.spoof_check = !port.spoof_check;
      break;
    case 3:
      port.priority = static_cast<std::uint8_t>(random.below(8));
      break;
    case 4:
      port.mac = port.mac == mac_of(which) ? mac_of(which) ^ 0x10 : mac_of(which);
      break;
    default:
      port.enabled = true;
      break;
  }
  return vport_table(std::move(ports));
}

// Packets
// ------------------------------------------------------------------------------------------------

packet_item packet_builder_traffic::make(const packet_builder_world::lives& lives) {
  packet_item packet;
  packet.order = order_++;
  auto index = static_cast<unsigned>(random_.below(packet_builder_world::Qps));
  // Few come from a function without a port.
  if (packet_builder_world::function_of(index) == packet_builder_world::Ports &&
      random_.chance(3, 4)) {
    --index;
  }
  packet.qpn = packet_builder_world::number_of(index);
  packet.function = packet_builder_world::function_of(index);
  packet.service = static_cast<std::uint8_t>(packet_builder_world::service_of(index));
  packet.life = lives[index];
  packet.solicited = random_.chance(1, 2);
  packet.ack_request = random_.chance(1, 2);
  packet.psn = static_cast<std::uint32_t>(random_.below(1U << 24));
  packet.first = random_.chance(1, 2);
  packet.last = random_.chance(1, 2);
  packet.remote_address = random_.next();
  packet.rkey = static_cast<std::uint32_t>(random_.next());
  packet.dma_length = static_cast<std::uint32_t>(random_.next());
  packet.imm = static_cast<std::uint32_t>(random_.next());
  packet.swap_add = random_.next();
  packet.compare = random_.next();
  packet.syndrome = static_cast<std::uint8_t>(random_.next());
  packet.msn = static_cast<std::uint32_t>(random_.below(1U << 24));
  if (static_cast<qp_service>(packet.service) == qp_service::Rc && random_.chance(1, 3)) {
    make_response(packet);
  } else {
    make_request(packet);
  }
  cover_.hit(packet.frame          ? "packet.filled"
             : packet.payload != 0 ? "packet.inline"
                                   : "packet.empty");
  return packet;
}

void packet_builder_traffic::make_request(packet_item& packet) {
  wqe_opcode opcode = wqe_opcode::Send;
  switch (static_cast<qp_service>(packet.service)) {
    case qp_service::Rc:
      opcode = RcOpcodes[random_.below(RcOpcodes.size())];
      break;
    case qp_service::Uc:
      opcode = UcOpcodes[random_.below(UcOpcodes.size())];
      break;
    case qp_service::Ud:
      opcode = UdOpcodes[random_.below(UdOpcodes.size())];
      packet.first = true;
      packet.last = true;
      packet.body = buffers_.take();
      add_address(packet);
      break;
  }
  packet.wqe_opcode = static_cast<std::uint8_t>(opcode);
  switch (opcode) {
    case wqe_opcode::RdmaRead:
    case wqe_opcode::AtomicCompareSwap:
    case wqe_opcode::AtomicFetchAdd:
      break;
    default:
      add_payload(packet);
      break;
  }
  if (opcode == wqe_opcode::RdmaWrite && random_.chance(1, 64)) {
    // What is no other operation is a WRITE.
    packet.wqe_opcode = other_opcode();
    cover_.hit("packet.other_opcode");
  }
}

/// One bit away from an operation, and none itself.
std::uint8_t packet_builder_traffic::other_opcode() {
  for (;;) {
    const wqe_opcode near = RcOpcodes[random_.below(RcOpcodes.size())];
    const auto other =
        static_cast<wqe_opcode>(static_cast<std::uint8_t>(near) ^ 1U << random_.below(8));
    if (std::find(RcOpcodes.begin(), RcOpcodes.end(), other) == RcOpcodes.end()) {
      return static_cast<std::uint8_t>(other);
    }
  }
}

void packet_builder_traffic::make_response(packet_item& packet) {
  constexpr std::array Sources = {packet_source::acknowledge, packet_source::atomic_acknowledge,
                                  packet_source::read_response};
  packet.source = Sources[random_.below(Sources.size())];
  packet.wqe_opcode = static_cast<std::uint8_t>(random_.next());
  if (packet.source == packet_source::acknowledge && random_.chance(1, 4)) {
    packet.wqe_opcode = static_cast<std::uint8_t>(bth_opcode::Cnp);
  }
  if (is_cnp(packet)) {
    packet.payload = CnpPayloadBytes;
    packet.is_inline = true;
    packet.body = buffers_.take();
    std::fill_n(packet.body.data(), CnpPayloadBytes, std::uint8_t{0});
  }
  if (packet.source == packet_source::read_response && random_.chance(7, 8)) {
    add_payload(packet);
  }
}

/// The datagram segment at the start of a work request's body.
void packet_builder_traffic::add_address(packet_item& packet) {
  datagram_seg to;
  to.qkey = static_cast<std::uint32_t>(random_.next());
  to.extended = 1;
  to.dest_qpn = static_cast<std::uint32_t>(random_.below(1U << 24));
  to.stat_rate = static_cast<std::uint8_t>(random_.below(16));
  to.sl = static_cast<std::uint8_t>(random_.below(16));
  to.udp_sport = static_cast<std::uint16_t>(random_.next());
  to.rmac = some_destination(random_);
  to.tclass = static_cast<std::uint8_t>(random_.next());
  to.hop_limit = static_cast<std::uint8_t>(random_.next());
  to.gid_index = static_cast<std::uint8_t>(random_.next());
  to.flow_label = static_cast<std::uint32_t>(random_.below(1U << 20));
  if (random_.chance(1, 2)) {
    to.rgid = gid_of_ipv4(static_cast<std::uint32_t>(random_.next()));
    if (random_.chance(1, 8)) {
      to.rgid[random_.below(12)] ^= static_cast<std::uint8_t>(1U << random_.below(8));
    }
  } else {
    fill(to.rgid, random_);
  }
  to.pack(packet.body.data());
}

std::uint32_t packet_builder_traffic::payload_bytes() {
  switch (random_.below(24)) {
    case 0:
      cover_.hit("payload.one_byte");
      return 1;
    case 1:
      cover_.hit("payload.one_beat");
      return 64;
    case 2:
      cover_.hit("payload.beat_and_byte");
      return 65;
    case 3:
      cover_.hit("payload.mtu");
      return MaxPayload;
    case 4:
      return static_cast<std::uint32_t>(random_.between(MaxPayload - 70, MaxPayload));
    case 5:
    case 6:
      return static_cast<std::uint32_t>(random_.between(1, MaxPayload));
    case 7:
    case 8:
    case 9:
      return static_cast<std::uint32_t>(random_.between(1, 1100));
    default:
      return static_cast<std::uint32_t>(random_.between(1, 200));
  }
}

void packet_builder_traffic::add_payload(packet_item& packet) {
  const std::uint64_t how = random_.below(8);
  if (how == 0) {
    return;  // an empty message
  }
  packet.payload = payload_bytes();
  const bool request = packet.source == packet_source::request;
  if (request && how <= 3) {
    if (random_.chance(1, 8)) {
      packet.payload = MaxInline - static_cast<std::uint32_t>(random_.below(3));
      cover_.hit_if(packet.payload == MaxInline, "inline.longest");
    }
    packet.payload = std::min(packet.payload, MaxInline);
    packet.is_inline = true;
    if (!packet.body) {
      packet.body = buffers_.take();
    }
    packet.data_offset =
        static_cast<qp_service>(packet.service) == qp_service::Ud ? datagram_seg::Size : 0;
    packet.message_offset = static_cast<std::uint32_t>(random_.below(1024));
    fill(packet.body.data() + packet.data_offset + packet.message_offset, packet.payload, random_);
    return;
  }
  packet.frame = buffers_.take();
  fill(packet.frame.data() + PayloadOffset, packet.payload, random_);
  packet.poisoned = random_.chance(1, 32);
}

}  // namespace carillon
