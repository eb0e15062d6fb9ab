#include "packet_builder.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/packet_opcode.h"
#include "gen/wqe.h"

namespace carillon {

namespace {

namespace spec = stage_spec::packet_builder;
namespace ram = stage_spec::qpc_ram;

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
                               const ports& connected)
    : stage(name, nic.context, "packet_builder"),
      nic_(nic),
      ports_(connected),
      order_reason_(nic.context.trace.intern("order")) {
  ports_.filled.to(*this, site());
  ports_.direct.to(*this, site());
  ports_.context_reads.from(*this, site());
  ports_.context_lines.to(*this, site());
  ports_.frames.from(*this, site());
  ports_.loopback.from(*this, site());
  const auto waits = [this](stream_base& other) -> std::vector<blocker> {
    return {blocker::arbiter(other),
            blocker::condition("frame_port", [this](cycle_t t) { return port_behind(t); }),
            blocker::credit(ports_.frames, spec::MaxBeats),
            blocker::credit(ports_.loopback, spec::MaxBeats),
            blocker::credit(ports_.context_reads),
            blocker::condition("lookups", [this](cycle_t) { return lookups_full(); })};
  };
  watch(ports_.filled, waits(ports_.direct));
  watch(ports_.direct, waits(ports_.filled));
  watch(ports_.context_lines, {});
}

bool packet_builder::port_behind(cycle_t t) const {
  return port_free() > t + spec::Latency;
}

void packet_builder::evaluate(cycle_t t) {
  take_line(t);
  take_packet(t);
}

stream<packet_item>* packet_builder::oldest(cycle_t t) const {
  const bool filled = ports_.filled.takeable(t);
  const bool direct = ports_.direct.takeable(t);
  if (filled && direct) {
    return ports_.filled.front().order < ports_.direct.front().order ? &ports_.filled
                                                                     : &ports_.direct;
  }
  return filled ? &ports_.filled : direct ? &ports_.direct : nullptr;
}

void packet_builder::take_packet(cycle_t t) {
  stream<packet_item>* input = oldest(t);
  if (input == nullptr) {
    return;
  }
  // The datapath carries one packet's payload at a time, whichever input it came from.
  const stream<packet_item>& other = input == &ports_.filled ? ports_.direct : ports_.filled;
  if (other.transferring(t)) {
    wake(other.busy_until());
    return;
  }
  if (port_behind(t)) {
    wake(port_free() - spec::Latency);
    return;
  }
  if (!ports_.frames.has_credit(t, spec::MaxBeats)) {
    ports_.frames.ask_credit(t, spec::MaxBeats);
    return;
  }
  if (!ports_.loopback.has_credit(t, spec::MaxBeats)) {
    ports_.loopback.ask_credit(t, spec::MaxBeats);
    return;
  }
  if (!ports_.context_reads.has_credit(t)) {
    ports_.context_reads.ask_credit(t);
    return;
  }
  if (lookups_full()) {
    return;  // the line that frees a slot wakes this stage
  }
  const cycle_t busy = t + input->front_beats();
  pending added{input->take(t), t};
  // Where it goes is known with its path.
  ports_.frames.reserve(t, spec::MaxBeats);
  ports_.loopback.reserve(t, spec::MaxBeats);
  context_read request;
  request.trace = added.packet.trace;
  request.kind = context_kind::qpc_address;
  request.index = added.packet.qpn;
  request.function = added.packet.function;
  ports_.context_reads.push(t, ram::Hop, request);
  pending_.push_back(std::move(added));
  if (!other.empty() && other.next_take() <= busy) {
    wake(busy);
  }
}

void packet_builder::take_line(cycle_t t) {
  if (!ports_.context_lines.takeable(t)) {
    return;
  }
  const context_line line = ports_.context_lines.take(t);
  pending front = std::move(pending_.front());
  pending_.pop_front();
  const packet_item& packet = front.packet;
  if (packet.poisoned || !line.valid) {
    drop(t, packet, packet.poisoned ? counter::PayloadReadErrors : counter::TxPathUnreadable);
    return;
  }
  const qpc_address path = qpc_address::unpack(line.data.data());
  if (packet.life != path.life) {
    drop(t, packet, counter::TxStalePackets);
    return;
  }
  const vport_table& vports = ports_.vports.read(t);
  switch (source_allowed(vports, packet.function, source_of(path))) {
    case source_verdict::down:
      drop(t, packet, counter::TxVportDownDrops);
      return;
    case source_verdict::spoofed:
      drop(t, packet, counter::TxSpoofDrops);
      return;
    case source_verdict::allowed:
      build(t, front, line, path, vports);
      return;
  }
}

/// It leaves no trace but the count: its place at the outputs is free again.
void packet_builder::drop(cycle_t t, const packet_item& packet, counter why) {
  nic_.counters.add_for(packet.function, why);
  ports_.frames.cancel(t, spec::MaxBeats);
  ports_.loopback.cancel(t, spec::MaxBeats);
}

void packet_builder::build(cycle_t t, pending& front, const context_line& line,
                           const qpc_address& path, const vport_table& vports) {
  packet_item& packet = front.packet;
  if (!packet.frame) {
    packet.frame = nic_.buffers.take();
    if (packet.payload != 0) {
      std::memcpy(packet.frame.data() + PayloadOffset,
                  packet.body.data() + packet.data_offset + packet.message_offset, packet.payload);
    }
  }
  const packet_description described = describe(packet, path, vports.at(packet.function));
  const header_place headers = build_headers(described, packet.frame.data(), PayloadOffset);
  const finished_frame built = finish_frame(packet.frame.data(), headers, packet.payload);
  frame_item frame;
  frame.bytes = packet.frame;
  frame.offset = built.offset;
  frame.length = built.length;
  frame.fcs = built.fcs;
  frame.fcs_known = true;
  frame.icrc_known = true;
  frame.priority = described.pcp;
  frame.first = packet.first && packet.source == packet_source::request;
  frame.last = packet.last && packet.source == packet_source::request;
  frame.function = packet.function;
  frame.looped = loops_back(described, path, vports);
  if (frame.looped) {
    nic_.counters.add_for(packet.function, counter::TxLoopbackPackets);
    nic_.counters.add_for(packet.function, counter::TxLoopbackBytes, frame.length);
  }
  const unsigned beats = beats_of(built.length);
  stream<frame_item>& out = frame.looped ? ports_.loopback : ports_.frames;
  stream<frame_item>& other = frame.looped ? ports_.frames : ports_.loopback;
  out.cancel(t, spec::MaxBeats - beats);
  other.cancel(t, spec::MaxBeats);
  // 30 cycles from the packet's take, or what is left of them behind a lookup that came late.
  const cycle_t due = std::max(front.taken + spec::Latency, t + spec::Latency - ram::Latency);
  const cycle_t visible = std::max(due, port_free());
  frame.trace = context_.trace.service(line.trace, site(), time_of(t), time_of(due));
  frame.trace =
      context_.trace.wait(frame.trace, site(), order_reason_, time_of(due), time_of(visible));
  out.push_reserved_booked(t, static_cast<unsigned>(visible - t), std::move(frame), beats);
}

}  // namespace carillon
