// Stations around switches: what they send, when, and what reaches them.
//
// Times by hand: at 100 Gb/s a byte takes 80 ps. The usual frame here has 998 bytes: first to last
// bit 1002 bytes (with FCS), and the next one may begin 1022 bytes after it (preamble and gap too).
// Cables are 5 m long unless told otherwise: 25 ns.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/pfc_frame.h"
#include "common/roce_packet.h"
#include "common/run.h"
#include "fabric/switch/headroom.h"
#include "fabric/topology.h"

namespace carillon::bench {

inline constexpr ps_t ByteTime = 80;
inline constexpr std::uint32_t Length = 998;
inline constexpr std::uint64_t Held = Length + 4;  ///< of the buffer
inline constexpr ps_t Lasts = 1002 * ByteTime;
inline constexpr ps_t Slot = 1022 * ByteTime;
inline constexpr std::uint8_t Lossless = 24;  ///< DSCP of priority 3
inline constexpr std::uint8_t Lossy = 0;
inline constexpr ps_t Cable = 25'000;
inline constexpr ps_t IngressDelay = 200'000;
inline constexpr ps_t EgressDelay = 100'000;
inline constexpr ps_t Microsecond = 1'000'000;
inline constexpr ps_t Millisecond = 1'000'000'000;

/// Of the n-th station.
inline std::uint64_t address(unsigned n) {
  return 0x0200'0000'0000 + n + 1;
}

struct flow {
  unsigned to = 0;
  std::uint8_t dscp = 0;
  std::uint32_t length = Length;
  ecn_code ecn = ecn_code::NotEct;
  std::uint16_t udp_source = UdpSourcePortBase;
  std::optional<std::uint8_t> pcp = std::nullopt;
  bool ipv6 = false;
};

/// A RoCE packet, right in every respect.
inline frame_item make_frame(buffer_pool& pool, unsigned from, const flow& what,
                             std::uint32_t psn = 0) {
  packet_description packet;
  packet.mac_destination = address(what.to);
  packet.mac_source = address(from);
  packet.tagged = what.pcp.has_value();
  packet.pcp = what.pcp.value_or(0);
  packet.source = gid_of_ipv4(0x0a000001 + from);
  packet.destination = gid_of_ipv4(0x0a000001 + what.to);
  packet.ipv6 = what.ipv6;
  packet.dscp = what.dscp;
  packet.ecn = what.ecn;
  packet.udp_source = what.udp_source;
  packet.opcode = bth_opcode::RcSendMiddle;
  packet.psn = psn;
  const std::uint32_t around = header_bytes(packet) + IcrcBytes;
  packet.payload = what.length > around ? what.length - around : 0;
  frame_item frame;
  frame.bytes = pool.take();
  std::memset(frame.bytes.data() + PayloadOffset, 0x5a, packet.payload);
  const header_place place = build_headers(packet, frame.bytes.data(), PayloadOffset);
  const finished_frame made = finish_frame(frame.bytes.data(), place, packet.payload);
  frame.offset = made.offset;
  frame.length = made.length;
  frame.fcs = made.fcs;
  frame.fcs_known = true;
  return frame;
}

struct received {
  frame_item frame;
  ps_t first_bit = 0;
  ps_t last_bit = 0;

  [[nodiscard]] const std::uint8_t* bytes() const { return frame.bytes.data() + frame.offset; }

  [[nodiscard]] parsed_frame parsed() const { return parse_frame(bytes(), frame.length); }

  [[nodiscard]] std::uint64_t source() const { return eth::unpack(bytes()).src; }
};

/// A host that sends what it is told, or one flow as fast as the wire takes it, and stops for PFC
/// at the latest moment that IEEE 802.3 31B.3.7 allows, or as told.
class station final : public wire_listener, private timed {
 public:
  station(sim_context& context, buffer_pool& pool, unsigned number,
          const switch_port_settings& port, const std::string& name = "station")
      : timed(context.line),
        wire((name + std::to_string(number)).c_str(), context,
             wire_speed::of_gbps(static_cast<std::int64_t>(port.rate_gbps)), port.cable_delay_ps),
        context_(context),
        pool_(pool),
        number_(number),
        response(wire.speed().time_of(pause_bytes(standard_response_quanta(port.rate_gbps)))) {
    wire.listen(*this);
  }

  void send(const flow& what, ps_t when) {
    wire.send(make_frame(pool_, number_, what, psn_++), when);
  }

  /// Begins at `when` and goes on until `frames` were sent.
  void stream(const flow& what, ps_t when, std::uint64_t frames = ~std::uint64_t{0}) {
    streamed_ = what;
    left_ = frames;
    context_.line.at(when, *this, Send);
  }

  /// Asks the switch to pause `priority` for so many quanta.
  void ask_pause(unsigned priority, std::uint16_t quanta, ps_t when) {
    pfc request;
    request.enable = static_cast<std::uint8_t>(1U << priority);
    request.quanta[priority] = quanta;
    wire.send(make_pfc_frame(pool_, address(number_), request), when);
  }

  void on_frame(frame_item&& frame, ps_t first_bit, ps_t last_bit) override {
    if (const auto request = parse_pfc(frame.bytes.data() + frame.offset, frame.length)) {
      requests.emplace_back(last_bit, *request);
      if (obeys) {
        pending_.emplace_back(*request);
        context_.line.at(last_bit, *this, Obey);
      }
      return;
    }
    ++frames_received;
    bytes_received += frame.length;
    if (keeps) {
      arrivals.push_back({std::move(frame), first_bit, last_bit});
    }
  }

  [[nodiscard]] std::vector<ps_t> first_bits() const {
    std::vector<ps_t> result;
    for (const received& each : arrivals) {
      result.push_back(each.first_bit);
    }
    return result;
  }

  wire_port wire;
  bool obeys = true;
  bool keeps = true;
  std::uint64_t frames_received = 0;
  std::uint64_t bytes_received = 0;
  std::uint64_t frames_sent = 0;
  std::vector<received> arrivals;
  std::vector<std::pair<ps_t, pfc>> requests;

 private:
  enum task : std::uint64_t { Send, Obey };

  void on_time(ps_t now, std::uint64_t what) override {
    if (what == Obey) {
      obey(now);
      return;
    }
    if (left_ == 0) {
      return;
    }
    const unsigned priority = streamed_.dscp >> 3;
    if (now > pauses_[priority].first && now < pauses_[priority].second) {
      resume_at_ = pauses_[priority].second;
      context_.line.at(resume_at_, *this, Send);
      return;
    }
    resume_at_ = 0;
    send(streamed_, now);
    ++frames_sent;
    if (--left_ != 0) {
      context_.line.at(wire.free_at(), *this, Send);
    }
  }

  void obey(ps_t now) {
    const pfc request = pending_.front();
    pending_.pop_front();
    for (unsigned priority = 0; priority < PriorityCount; ++priority) {
      if ((request.enable >> priority & 1) == 0) {
        continue;
      }
      auto& [from, until] = pauses_[priority];
      if (request.quanta[priority] == 0) {
        until = now;
        if (resume_at_ > now && priority == streamed_.dscp >> 3) {
          resume_at_ = 0;
          context_.line.at(now, *this, Send);
        }
        continue;
      }
      // A pause that is in force goes on.
      from = now < until ? from : now + response;
      until = now + response + wire.speed().time_of(pause_bytes(request.quanta[priority]));
    }
  }

  sim_context& context_;
  buffer_pool& pool_;
  unsigned number_;
  flow streamed_;
  std::uint64_t left_ = 0;
  ps_t resume_at_ = 0;
  std::uint32_t psn_ = 0;
  std::array<std::pair<ps_t, ps_t>, PriorityCount> pauses_{};
  std::deque<pfc> pending_;

 public:
  ps_t response;  ///< from the last bit of a PFC frame to the last moment at which a frame begins
};

/// Everything is built before the first run: SystemC elaborates once a process.
struct switch_bench : testing::Test {
  parameters params;
  sim_context context{params, 1, 0};
  buffer_pool pool;
  std::vector<std::unique_ptr<station>> stations;
  std::optional<topology> net;

  static switch_settings of_ports(unsigned count) {
    switch_port_settings port;
    port.cable_delay_ps = Cable;
    return switch_settings::of_ports(count, port);
  }

  /// Stations on one switch, which knows where they are.
  ethernet_switch& one_switch(const switch_settings& settings) {
    net.emplace(topology::star(context, "switch", settings));
    attach(settings.ports);
    return net->at(0);
  }

  ethernet_switch& one_switch(unsigned count) { return one_switch(of_ports(count)); }

  void attach(const std::vector<switch_port_settings>& ports) {
    for (unsigned i = 0; i < net->hosts(); ++i) {
      stations.push_back(std::make_unique<station>(context, pool, i, ports[i % ports.size()]));
      stations.back()->wire.connect(net->host_port(i));
      net->add_address(i, address(i));
    }
  }

  station& at(unsigned number) { return *stations.at(number); }

  static void run_to(ps_t time) {
    sc_core::sc_start(sc_core::sc_time::from_value(time - now_ps()));
  }

  /// The first bit of a frame that a station sends at 0, where the switch's other cable ends, if
  /// nothing is in its way.
  static constexpr ps_t StoredAndForwarded = Cable + Lasts + IngressDelay + EgressDelay + Cable;
};

/// Priority 3 alone is lossless; besides headroom there are `shared` bytes.
inline switch_settings crowded(unsigned ports, std::uint64_t shared = 200'000) {
  switch_settings settings = switch_bench::of_ports(ports);
  for (switch_priority_settings& each : settings.priorities) {
    each.lossless = false;
    each.ecn = false;
  }
  settings.priorities[3].lossless = true;
  settings.buffer_bytes = shared;
  for (const switch_port_settings& each : settings.ports) {
    settings.buffer_bytes += headroom_bytes(settings, each);
  }
  return settings;
}

/// Frames that were dropped for want of buffer.
inline std::uint64_t discards(ethernet_switch& of) {
  std::uint64_t sum = 0;
  for (std::uint32_t port = 0; port < of.ports(); ++port) {
    for (const priority_counters& each : of.counters(port).priorities) {
      sum += each.rx_discards;
    }
  }
  return sum;
}

}  // namespace carillon::bench
