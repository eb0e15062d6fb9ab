// rx_parser between a source of frames, a context RAM and a responder that decides at once.
#pragma once

#include <gtest/gtest.h>
#include <vector>

#include "common/roce_packet.h"
#include "rx_parser.h"
#include "tb/common/stage_bench.h"

namespace carillon::bench {

inline constexpr std::uint32_t Qpn = 0x31;
inline constexpr std::uint32_t OtherQpn = 0x32;

/// The function whose QPs these are, and the address of its virtual port.
inline constexpr std::uint16_t Function = 3;
inline constexpr std::uint64_t PortMac = 0x020000000004;
inline constexpr std::uint64_t PeerMac = 0x0200000000fe;

/// Ports 0..3, enabled, with the addresses PortMac - 3 .. PortMac.
inline std::vector<vport> four_ports() {
  std::vector<vport> ports(4);
  for (std::uint16_t i = 0; i < ports.size(); ++i) {
    ports[i].enabled = true;
    ports[i].mac = PortMac - Function + i;
  }
  return ports;
}

/// Takes requests as a responder that decides in the cycle of the take: advances ePSN and commits.
class deciding_responder : public stage {
 public:
  deciding_responder(stage_bench& bench, stream<rx_packet>& in, stream<qp_commit>& commits,
                     stream<context_write>& lines, cycle_t period)
      : stage("responder", bench.context, "responder"),
        in_(in),
        commits_(commits),
        lines_(lines),
        period_(period) {
    in_.to(*this, site());
    commits_.from(*this, site());
    lines_.from(*this, site());
    watch(in_, {blocker::condition("bench", [](cycle_t) { return true; })});
  }

  std::vector<sink<rx_packet>::taken> items;

 private:
  void evaluate(cycle_t t) override {
    if (!in_.takeable(t)) {
      return;
    }
    if (t % period_ != 0) {
      wake(t + 1);
      return;
    }
    const cycle_t visible = in_.front_visible();
    rx_packet packet = in_.take(t);
    if (packet.verdict == rx_verdict::accept) {
      qpc_responder line = qpc_responder::unpack(packet.responder.data());
      line.next_rcv_psn = (line.next_rcv_psn + 1) & 0xffffff;
      context_write write;
      write.kind = context_kind::qpc_responder;
      write.index = packet.qpn;
      line.pack(write.data.data());
      lines_.push(t, 1, write);
    }
    commits_.push(t, 1, {{}, packet.qpn});
    items.push_back({t, visible, std::move(packet)});
  }

  stream<rx_packet>& in_;
  stream<qp_commit>& commits_;
  stream<context_write>& lines_;
  cycle_t period_;
};

class rx_parser_bench : public testing::TestWithParam<int> {
 protected:
  rx_parser_bench()
      : bench(static_cast<std::uint64_t>(GetParam())),
        vports(bench.context.clock, "nic.vports", vport_table(four_ports())),
        ports{bench.port<frame_item>("frames", 132, stage_spec::rx_parser::MaxBeats),
              bench.port<qp_commit>("commits"),
              bench.port<context_read>("common_reads"),
              bench.port<context_line>("common_lines"),
              bench.port<context_read>("responder_reads"),
              bench.port<context_line>("responder_lines"),
              bench.port<rx_packet>("requests", 4),
              bench.port<rx_packet>("responses", 4),
              vports},
        lines(bench.port<context_write>("lines")),
        dut("rx_parser", bench.nic, ports),
        frames("rx_mac", bench, ports.frames),
        ram("qpc_ram", bench) {
    ram.serve(ports.common_reads, ports.common_lines);
    ram.serve(ports.responder_reads, ports.responder_lines);
    ram.accept(lines);
    for (const std::uint32_t qpn : {Qpn, OtherQpn}) {
      ram.set(context_kind::qpc_common, qpn, common());
      qpc_responder line;
      line.next_rcv_psn = 100;
      ram.set(context_kind::qpc_responder, qpn, line);
    }
  }

  static qpc_common common() {
    qpc_common line;
    line.valid = 1;
    line.state = qp_state::Rts;
    line.service = qp_service::Rc;
    line.mtu = mtu_code::Mtu4096;
    line.pkey = 0xffff;
    line.function_id = Function;
    return line;
  }

  packet_description request(std::uint32_t psn, std::uint32_t payload, std::uint32_t qpn = Qpn) {
    packet_description packet;
    packet.mac_destination = PortMac;
    packet.mac_source = PeerMac;
    packet.opcode = bth_opcode::RcWriteOnly;
    packet.dest_qpn = qpn;
    packet.psn = psn;
    packet.ack_request = 1;
    packet.remote.va = 0x123456789abc;
    packet.remote.rkey = 0x4400;
    packet.remote.dma_length = payload;
    packet.payload = payload;
    return packet;
  }

  packet_description ack(std::uint32_t psn) {
    packet_description packet;
    packet.mac_destination = PortMac;
    packet.mac_source = PeerMac;
    packet.opcode = bth_opcode::RcAcknowledge;
    packet.dest_qpn = Qpn;
    packet.psn = psn;
    packet.acknowledge.kind = aeth_kind::Ack;
    packet.acknowledge.value = 31;
    packet.acknowledge.msn = 7;
    return packet;
  }

  frame_item frame_of(const packet_description& packet) {
    frame_item frame;
    frame.bytes = bench.nic.buffers.take();
    const header_place place = build_headers(packet, frame.bytes.data(), PayloadOffset);
    for (std::uint32_t i = 0; i < packet.payload; ++i) {
      frame.bytes.data()[PayloadOffset + i] = static_cast<std::uint8_t>(i);
    }
    const finished_frame done = finish_frame(frame.bytes.data(), place, packet.payload);
    frame.offset = done.offset;
    frame.length = done.length;
    return frame;
  }

  void send(cycle_t cycle, frame_item frame) {
    const unsigned beats = beats_of(frame.length);
    frames.at(cycle, std::move(frame), beats);
  }

  void send(cycle_t cycle, const packet_description& packet) { send(cycle, frame_of(packet)); }

  stage_bench bench;
  level<vport_table> vports;
  rx_parser::ports ports;
  stream<context_write>& lines;
  rx_parser dut;
  source<frame_item> frames;
  context_lines ram;
};

}  // namespace carillon::bench
