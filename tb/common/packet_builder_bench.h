// packet_builder between packets, a context RAM that serves paths, and its two outputs; and what
// the bytes of a frame must be, by zlib and the formats.
#pragma once

#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <utility>
#include <vector>
#include <zlib.h>

#include "packet_builder.h"
#include "tb/common/stage_bench.h"

namespace carillon::bench {

using bytes_t = std::vector<std::uint8_t>;

inline constexpr std::uint32_t Qp = 0x31;
inline constexpr std::uint64_t OwnMac = 0x020000000001;
inline constexpr std::uint64_t PeerMac = 0x0200000000fe;

// mlx5 send opcodes.
inline constexpr std::uint8_t Write = 0x08;
inline constexpr std::uint8_t WriteImm = 0x09;
inline constexpr std::uint8_t Send = 0x0a;
inline constexpr std::uint8_t SendImm = 0x0b;

inline qpc_address plain_path() {
  qpc_address path;
  path.ip_version = 4;
  path.eth_prio = 3;
  path.tclass = 24 << 2 | 2;  // DSCP 24, ECT(0)
  path.hop_limit = 64;
  path.rmac = PeerMac;
  path.udp_sport = 0xc123;
  path.src_ip = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 0, 0, 1};
  path.dst_ip = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 0, 0, 2};
  path.pkey = 0x8001;
  path.remote_qpn = 0xabcdef;
  return path;
}

inline bytes_t bytes_of(const frame_item& frame) {
  const std::uint8_t* data = frame.bytes.data() + frame.offset;
  return {data, data + frame.length};
}

inline std::uint64_t number(const bytes_t& frame, std::size_t at, unsigned count) {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < count; ++i) {
    value = value << 8 | frame.at(at + i);
  }
  return value;
}

inline std::uint32_t crc(const bytes_t& bytes) {
  return static_cast<std::uint32_t>(crc32(0, bytes.data(), static_cast<uInt>(bytes.size())));
}

/// The ICRC by its definition: the CRC of eight bytes of ones and the packet from the IP header to
/// the pad, with the bits that change on the way as ones.
inline std::uint32_t icrc_by_zlib(const bytes_t& frame, std::size_t ip, std::size_t end) {
  bytes_t covered(8, 0xff);
  covered.insert(covered.end(), frame.begin() + static_cast<std::ptrdiff_t>(ip),
                 frame.begin() + static_cast<std::ptrdiff_t>(end));
  std::uint8_t* p = covered.data() + 8;
  const bool ipv6 = p[0] >> 4 == 6;
  if (ipv6) {
    p[0] |= 0x0f;                      // traffic class
    p[1] = p[2] = p[3] = p[7] = 0xff;  // traffic class, flow label, hop limit
    p += 40;
  } else {
    p[1] = p[8] = p[10] = p[11] = 0xff;  // type of service, TTL, checksum
    p += 20;
  }
  p[6] = p[7] = 0xff;  // UDP checksum
  p[8 + 4] = 0xff;     // FECN, BECN and the bits beside them
  return crc(covered);
}

/// Serves paths; a line is visible `delay` cycles after its request is taken.
class path_server : public stage {
 public:
  path_server(stage_bench& bench, stream<context_read>& reads, stream<context_line>& lines)
      : stage("paths", bench.context, "qpc_ram"), reads_(reads), lines_(lines) {
    reads_.to(*this, site());
    lines_.from(*this, site());
    watch(reads_, {blocker::credit(lines_),
                   blocker::condition("closed", [this](cycle_t t) { return t < opens; })});
  }

  std::map<std::uint32_t, qpc_address> paths;
  unsigned delay = 4;
  unsigned first_delay = 0;  ///< of the first line, if not 0
  cycle_t opens = 0;         ///< takes no request before
  unsigned served = 0;
  bool readable = true;
  std::vector<std::uint16_t> functions;  ///< on whose behalf, in order

 private:
  void evaluate(cycle_t t) override {
    if (!reads_.takeable(t)) {
      return;
    }
    if (t < opens) {
      wake(opens);
      return;
    }
    if (!lines_.has_credit(t)) {
      lines_.ask_credit(t);
      return;
    }
    const context_read in = reads_.take(t);
    EXPECT_EQ(in.kind, context_kind::qpc_address);
    context_line out;
    out.trace = in.trace;
    out.kind = in.kind;
    out.index = in.index;
    out.valid = readable;
    functions.push_back(in.function);
    paths.at(in.index).pack(out.data.data());
    lines_.push(t, served == 0 && first_delay != 0 ? first_delay : delay, out);
    ++served;
  }

  stream<context_read>& reads_;
  stream<context_line>& lines_;
};

class packet_builder_bench : public testing::TestWithParam<int> {
 protected:
  packet_builder_bench()
      : bench(static_cast<std::uint64_t>(GetParam())),
        vports(bench.context.clock, "nic.vports", vport_table({own_port()})),
        ports{bench.port<packet_item>("filled", 1024, 64),
              bench.port<packet_item>("direct"),
              bench.port<context_read>("reads", 8),
              bench.port<context_line>("lines", 16),
              bench.port<frame_item>("frames", stage_spec::packet_builder::Depth,
                                     stage_spec::packet_builder::MaxBeats),
              bench.port<frame_item>("loopback", stage_spec::packet_builder::Depth,
                                     stage_spec::packet_builder::MaxBeats),
              vports},
        dut("packet_builder", bench.nic, ports),
        filled("filled", bench, ports.filled),
        direct("direct", bench, ports.direct),
        paths(bench, ports.context_reads, ports.context_lines) {
    paths.paths[Qp] = plain_path();
  }

  static vport own_port() {
    vport port;
    port.enabled = true;
    port.mac = OwnMac;
    return port;
  }

  void sink_frames(cycle_t period = 1) {
    frames = std::make_unique<sink<frame_item>>("frames", bench, ports.frames, period);
    // rx_mac takes whatever comes.
    looped = std::make_unique<sink<frame_item>>("looped", bench, ports.loopback);
  }

  static std::uint8_t payload_byte(std::uint32_t i) {
    return static_cast<std::uint8_t>(i * 37 + (i >> 8));
  }

  /// A request packet whose payload is in its frame's buffer.
  packet_item request(std::uint8_t opcode, std::uint32_t payload, bool first = true,
                      bool last = true) {
    packet_item packet;
    packet.qpn = Qp;
    packet.order = next_order++;
    packet.wqe_opcode = opcode;
    packet.psn = 0x123456;
    packet.payload = payload;
    packet.first = first;
    packet.last = last;
    packet.remote_address = 0x1122334455667788ULL;
    packet.rkey = 0x99aabbcc;
    packet.dma_length = 0x10203;
    packet.imm = 0xdeadbeef;
    if (payload != 0) {
      packet.frame = bench.nic.buffers.take();
      for (std::uint32_t i = 0; i < payload; ++i) {
        packet.frame.data()[PayloadOffset + i] = payload_byte(i);
      }
    }
    return packet;
  }

  packet_item in_line(std::uint32_t payload, std::uint32_t message_offset = 0) {
    packet_item packet = request(Send, 0);
    packet.payload = payload;
    packet.is_inline = true;
    packet.message_offset = message_offset;
    packet.body = bench.nic.buffers.take();
    for (std::uint32_t i = 0; i < 1024; ++i) {
      packet.body.data()[i] = payload_byte(i);
    }
    return packet;
  }

  packet_item acknowledge() {
    packet_item packet;
    packet.source = packet_source::acknowledge;
    packet.qpn = Qp;
    packet.order = next_order++;
    packet.psn = 0x42;
    packet.syndrome = 0x1f;
    packet.msn = 0x010203;
    return packet;
  }

  void fill(cycle_t t, packet_item packet) {
    const unsigned beats = beats_of(packet.payload);
    filled.at(t, std::move(packet), beats);
  }

  /// The sums of an untagged IPv4 frame that ends with its ICRC.
  static void expect_sums(const frame_item& item, std::size_t ip = 14) {
    const bytes_t frame = bytes_of(item);
    const std::size_t total = number(frame, ip + 2, 2);
    const std::size_t end = ip + total - 4;
    const std::uint32_t icrc = icrc_by_zlib(frame, ip, end);
    for (unsigned i = 0; i < 4; ++i) {
      EXPECT_EQ(frame.at(end + i), static_cast<std::uint8_t>(icrc >> (8 * i))) << "ICRC byte " << i;
    }
    EXPECT_EQ(item.fcs, crc(frame));
    EXPECT_TRUE(item.fcs_known);
    EXPECT_TRUE(item.icrc_known);
    std::uint32_t sum = 0;
    for (unsigned i = 0; i < 20; i += 2) {
      sum += static_cast<std::uint32_t>(number(frame, ip + i, 2));
    }
    EXPECT_EQ((sum & 0xffff) + (sum >> 16), 0xffffU) << "IPv4 header checksum";
  }

  void finish() { bench.context.check_drained(); }

  stage_bench bench;
  level<vport_table> vports;
  packet_builder::ports ports;
  packet_builder dut;
  source<packet_item> filled;
  source<packet_item> direct;
  path_server paths;
  std::unique_ptr<sink<frame_item>> frames;
  std::unique_ptr<sink<frame_item>> looped;
  std::uint64_t next_order = 0;
};

}  // namespace carillon::bench
