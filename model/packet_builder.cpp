#include "packet_builder.h"

#include <utility>

#include "common/packet_opcode.h"
#include "gen/wqe.h"

namespace carillon {

namespace {

namespace spec = stage_spec::packet_builder;
namespace ram = stage_spec::qpc_ram;

constexpr unsigned DscpMask = 0x3f;
constexpr unsigned PcpMask = 7;

/// An address as the IP header wants it: an IPv4 address is kept in the last four bytes of a line.
gid ip_address(const gid& address, bool ipv6) {
  if (ipv6) {
    return address;
  }
  return gid_of_ipv4(std::uint32_t{address[12]} << 24 | std::uint32_t{address[13]} << 16 |
                     std::uint32_t{address[14]} << 8 | address[15]);
}

/// The path of a UD packet comes with its work request.
void describe_datagram(const packet_item& packet, const qpc_address& path,
                       packet_description& frame) {
  const datagram_seg to = datagram_seg::unpack(packet.body.data());
  frame.mac_destination = to.rmac;
  frame.pcp = static_cast<std::uint8_t>(to.sl >> 1);
  frame.ipv6 = !is_ipv4_gid(to.rgid);
  frame.source = ip_address(path.src_ip, frame.ipv6);
  frame.destination = to.rgid;
  frame.dscp = to.tclass >> 2;
  frame.ecn = static_cast<ecn_code>(to.tclass & 3);
  frame.ttl = to.hop_limit;
  frame.flow_label = to.flow_label;
  frame.udp_source = to.udp_sport;
  frame.dest_qpn = to.dest_qpn;
  frame.datagram.qkey = to.qkey;
  frame.datagram.src_qpn = packet.qpn;
}

}  // namespace

claimed_source source_of(const qpc_address& path) {
  claimed_source source;
  source.mac = path.smac;
  if (path.vlan_valid != 0) {
    source.vlan = path.vlan_id;
  }
  source.gid_index = path.gid_index;
  source.address = path.src_ip;
  return source;
}

bool loops_back(const packet_description& frame, const qpc_address& path,
                const vport_table& ports) {
  frame_address address{frame.mac_destination, frame.mac_source, std::nullopt};
  if (frame.tagged) {
    address.vlan = frame.vid;
  }
  return path.loopback != 0 || destination_port(ports, address).has_value();
}

packet_description describe(const packet_item& packet, const qpc_address& path, const vport& port) {
  packet_description frame;
  frame.mac_destination = path.rmac;
  frame.mac_source = path.smac != 0 ? path.smac : port.mac;
  frame.tagged = path.vlan_valid != 0;
  frame.pcp = path.eth_prio;
  frame.vid = path.vlan_id;
  frame.ipv6 = path.ip_version == 6;
  frame.source = ip_address(path.src_ip, frame.ipv6);
  frame.destination = ip_address(path.dst_ip, frame.ipv6);
  frame.dscp = path.tclass >> 2;
  frame.ecn = static_cast<ecn_code>(path.tclass & 3);
  frame.ttl = path.hop_limit;
  frame.flow_label = path.flow_label;
  frame.udp_source = path.udp_sport;
  frame.pkey = path.pkey;
  frame.dest_qpn = path.remote_qpn;
  frame.psn = packet.psn;
  frame.opcode = opcode_of(packet);
  frame.payload = packet.payload;
  const bool request = packet.source == packet_source::request;
  if (request && static_cast<qp_service>(packet.service) == qp_service::Ud) {
    describe_datagram(packet, path, frame);
  }
  if (port.vlan) {
    frame.tagged = true;
    frame.vid = *port.vlan;
    frame.pcp = port.priority;
  }
  if (is_cnp(packet)) {
    frame.becn = 1;
    frame.dscp = packet.syndrome & DscpMask;
    frame.pcp = static_cast<std::uint8_t>(packet.msn & PcpMask);
    return frame;
  }
  if (!request) {
    frame.acknowledge = make_aeth(packet.syndrome, packet.msn);
    frame.atomic_result.original = packet.swap_add;
    return frame;
  }
  frame.solicited = packet.solicited ? 1 : 0;
  frame.ack_request = packet.ack_request ? 1 : 0;
  frame.remote.va = packet.remote_address;
  frame.remote.rkey = packet.rkey;
  frame.remote.dma_length = packet.dma_length;
  frame.atomic.va = packet.remote_address;
  frame.atomic.rkey = packet.rkey;
  frame.atomic.swap_add = packet.swap_add;
  frame.atomic.compare = packet.compare;
  frame.immediate = packet.imm;
  frame.invalidate_rkey = packet.imm;
  return frame;
}

packet_builder::packet_builder(const sc_core::sc_module_name& name, nic_shared& nic,
                               const ports& io)
    : stage(name, nic.context, Row), io_(io), rules_(nic, site(), io) {
  io_.filled.to(*this, site());
  io_.direct.to(*this, site());
  io_.context_lines.to(*this, site());
  io_.context_reads.from(*this, site());
  io_.frames.from(*this, site());
  io_.loopback.from(*this, site());
  for (auto& [input, blockers] : rules_.waits()) {
    watch(*input, std::move(blockers));
  }
}

void packet_builder::evaluate(cycle_t t) {
  if (io_.context_lines.takeable(t)) {
    io_.context_lines.take(t);
    release(t);
  }
  take_packet(t);
}

/// The frame of the path that was just taken, if it has one.
void packet_builder::release(cycle_t t) {
  for (const unsigned port : {ports::Frame, ports::Loopback}) {
    if (rules_.built(port).empty()) {
      continue;
    }
    rules::built_frame& frame = rules_.built(port).front();
    frame_item item = std::move(frame.item);
    const unsigned beats = frame.beats;
    const cycle_t visible = frame.visible;
    rules_.built(port).pop();
    (port == ports::Frame ? io_.frames : io_.loopback)
        .push_reserved_booked(t, static_cast<unsigned>(visible - t), std::move(item), beats);
  }
}

stream<packet_item>* packet_builder::oldest(cycle_t t) const {
  const bool filled = io_.filled.takeable(t);
  const bool direct = io_.direct.takeable(t);
  if (filled && direct) {
    return io_.filled.front().order < io_.direct.front().order ? &io_.filled : &io_.direct;
  }
  return filled ? &io_.filled : direct ? &io_.direct : nullptr;
}

void packet_builder::take_packet(cycle_t t) {
  stream<packet_item>* input = oldest(t);
  if (input == nullptr) {
    return;
  }
  // The datapath carries one packet's payload at a time, whichever input it came from.
  const stream<packet_item>& other = input == &io_.filled ? io_.direct : io_.filled;
  if (other.transferring(t)) {
    wake(other.busy_until());
    return;
  }
  if (rules_.port_behind(t)) {
    wake(rules_.port_free() - spec::Latency);
    return;
  }
  if (!io_.frames.has_credit(t, spec::MaxBeats)) {
    io_.frames.ask_credit(t, spec::MaxBeats);
    return;
  }
  if (!io_.loopback.has_credit(t, spec::MaxBeats)) {
    io_.loopback.ask_credit(t, spec::MaxBeats);
    return;
  }
  if (!io_.context_reads.has_credit(t)) {
    io_.context_reads.ask_credit(t);
    return;
  }
  if (rules_.lookups_full()) {
    return;  // the line that frees a slot wakes this stage
  }
  const cycle_t busy = t + input->front_beats();
  const packet_item packet = input->take(t);
  const auto [history, begin] = rules_.departs(ports::CtxRead, t + ram::Hop);
  context_read request;
  request.trace = history;
  request.kind = context_kind::qpc_address;
  request.index = packet.qpn;
  request.function = packet.function;
  io_.context_reads.push_reserved(begin, ram::Hop, request);
  if (!other.empty() && other.next_take() <= busy) {
    wake(busy);
  }
}

}  // namespace carillon
