// A cable whose frames pass a fault injector, between two listeners.
//
// Times by hand: at 400 Gb/s a byte takes 20 ps. The usual frame here has 998 bytes: first to last
// bit 1002 bytes (with FCS), and the next one may begin 1022 bytes after it (preamble and gap too).
// The cable takes 10 ns.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "fabric/fault_injector.h"
#include "fabric/fault_log.h"
#include "rx_mac.h"

namespace carillon::bench {

inline constexpr ps_t Delay = 10000;
inline constexpr std::uint32_t Length = 998;
inline constexpr ps_t Lasts = 1002 * 20;
inline constexpr ps_t Slot = 1022 * 20;
inline constexpr std::uint32_t Payload = 940;  // 998 - Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4

inline constexpr auto Forward = fault_direction::host0_to_host1;

struct arrival {
  frame_item frame;
  ps_t first_bit;
  ps_t last_bit;
};

struct receiver : wire_listener {
  std::vector<arrival> arrivals;

  void on_frame(frame_item&& frame, ps_t first_bit, ps_t last_bit) override {
    EXPECT_GE(first_bit, now_ps());
    arrivals.push_back({std::move(frame), first_bit, last_bit});
  }

  [[nodiscard]] std::vector<ps_t> first_bits() const {
    std::vector<ps_t> times;
    for (const arrival& each : arrivals) {
      times.push_back(each.first_bit);
    }
    return times;
  }

  [[nodiscard]] std::vector<std::uint32_t> psns() const {
    std::vector<std::uint32_t> result;
    for (const arrival& each : arrivals) {
      result.push_back(
          parse_frame(each.frame.bytes.data() + each.frame.offset, each.frame.length).base.psn);
    }
    return result;
  }
};

inline fault_rule rule(fault_action action) {
  fault_rule made;
  made.action = action;
  return made;
}

inline fault_rule delay_of(ps_t by) {
  fault_rule made = rule(fault_action::delay);
  made.by = by;
  return made;
}

/// A cable whose left end's frames pass an injector. SystemC elaborates once per process, so each
/// test is one.
struct cable {
  wire_port left;
  wire_port right;
  receiver at_left;
  receiver at_right;
  fault_injector faults;
  fault_log log;

  cable(sim_context& context, buffer_pool& buffers, const std::string& name,
        std::vector<fault_rule> rules, ps_t delay = Delay)
      : left(("left" + name).c_str(), context, wire_speed::of_gbps(400), delay),
        right(("right" + name).c_str(), context, wire_speed::of_gbps(400), delay),
        faults(context, std::move(rules), buffers) {
    left.connect(right);
    left.listen(at_left);
    right.listen(at_right);
    faults.insert(Forward, left);
    faults.insert(fault_direction::host1_to_host0, right);
    faults.observe(log);
  }

  [[nodiscard]] std::vector<std::uint64_t> done(fault_action action) const {
    return log.frames(Forward, action);
  }
};

struct faulty_wire : testing::Test {
  parameters params;
  buffer_pool buffers;
  buffer_pool fault_buffers;
  sim_context context{params, 1, 0};

  /// A frame as packet_builder makes it.
  frame_item frame_of(const packet_description& packet) {
    constexpr std::uint32_t PayloadAt = 128;
    frame_item item;
    item.bytes = buffers.take();
    for (std::uint32_t i = 0; i < packet.payload; ++i) {
      item.bytes.data()[PayloadAt + i] = static_cast<std::uint8_t>(i * 7 + packet.psn);
    }
    const header_place headers = build_headers(packet, item.bytes.data(), PayloadAt);
    const finished_frame made = finish_frame(item.bytes.data(), headers, packet.payload);
    item.offset = made.offset;
    item.length = made.length;
    item.fcs = made.fcs;
    item.fcs_known = true;
    item.icrc_known = true;
    return item;
  }

  frame_item frame(std::uint32_t psn, bth_opcode opcode = bth_opcode::RcSendOnly,
                   std::uint32_t qpn = 17) {
    packet_description packet;
    packet.source = gid_of_ipv4(0x0a000001);
    packet.destination = gid_of_ipv4(0x0a000002);
    packet.opcode = opcode;
    packet.psn = psn;
    packet.dest_qpn = qpn;
    packet.payload = find_opcode(opcode)->has_payload ? Payload : 0;
    return frame_of(packet);
  }

  /// Sends frames with PSN 1, 2, ... at these times, all announced now.
  void send(cable& on, const std::vector<ps_t>& times) {
    std::uint32_t psn = 0;
    for (const ps_t when : times) {
      on.left.send(frame(++psn), when);
    }
  }

  /// The frames 1 to `count`, far enough apart to leave each other alone.
  void send_many(cable& on, std::uint64_t count) {
    for (std::uint64_t i = 1; i <= count; ++i) {
      on.left.send(frame(static_cast<std::uint32_t>(i)), i * 100000);
    }
  }

  static void run_to(ps_t time) {
    sc_core::sc_start(sc_core::sc_time::from_value(time - now_ps()));
  }

  /// What happens at `time` included.
  static void run_through(ps_t time) { run_to(time + 1); }

  static void elaborate() { sc_core::sc_start(sc_core::SC_ZERO_TIME); }

  /// The spans that end the history of a traced frame.
  std::vector<span> waits_of(trace_ref ref) {
    std::vector<span> waits;
    const message_record* record = context.trace.record(ref.message);
    for (std::uint32_t at = ref.span; at != 0; at = record->spans[at].previous) {
      if (record->spans[at].kind == span_kind::wait) {
        waits.insert(waits.begin(), record->spans[at]);
      }
    }
    return waits;
  }

  /// "reason begin..end" of each wait.
  std::vector<std::string> shown(const std::vector<span>& waits) {
    std::vector<std::string> text;
    for (const span& each : waits) {
      text.push_back(
          fmt::format("{} {}..{}", context.trace.name(each.reason), each.begin, each.end));
    }
    return text;
  }

  trace_ref open() { return context.trace.open(0, {"node", 1, 0, 8, 64}); }

  frame_item traced(frame_item item, trace_ref history, ps_t leaves) {
    item.trace =
        context.trace.service(history, context.trace.site("nic0.tx_mac", "tx_mac"), 0, leaves);
    item.first = item.last = true;
    return item;
  }
};

inline std::uint32_t fcs_of(const frame_item& frame) {
  return fcs_of_frame(frame.bytes.data() + frame.offset, frame.length);
}

inline parse_error verified(const frame_item& frame) {
  return parse_frame(frame.bytes.data() + frame.offset, frame.length).error;
}

}  // namespace carillon::bench
