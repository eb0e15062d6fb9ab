// Where every packet in the builder stands: what it holds at the outputs, when its frame leaves and
// what becomes of it. It follows from the inputs alone, so the model and the RTL share it.
#pragma once

#include <algorithm>
#include <vector>

#include "common/items.h"
#include "common/level.h"
#include "common/nic_shared.h"
#include "common/ring.h"
#include "common/stream.h"
#include "common/twin.h"
#include "common/vport.h"
#include "gen/contexts.h"
#include "gen/stages.h"

namespace carillon {

struct packet_builder_ports {
  /// In the order of the twin's port table: a path gives places at the outputs back that packets of
  /// the same cycle may take.
  enum index_e : unsigned { CtxLine, Filled, Direct, CtxRead, Frame, Loopback };

  stream<packet_item>& filled;  ///< with payload, from payload_dma
  stream<packet_item>& direct;  ///< inline, empty and acknowledge packets, from tx_sched
  stream<context_read>& context_reads;
  stream<context_line>& context_lines;
  stream<frame_item>& frames;
  stream<frame_item>& loopback;  ///< frames for a virtual port of this NIC, to rx_mac
  level<vport_table>& vports;

  [[nodiscard]] std::vector<stream_base*> all() const {
    return {&context_lines, &filled, &direct, &context_reads, &frames, &loopback};
  }

  [[nodiscard]] twin_levels levels() const { return {&vports}; }
};

class packet_builder_rules final : public twin_rules {
 public:
  /// A frame whose beats have not begun to leave.
  struct built_frame {
    frame_item item;
    cycle_t built = 0;    ///< the path came
    cycle_t visible = 0;  ///< its first beat leaves
    unsigned beats = 0;
  };

  packet_builder_rules(nic_shared& nic, trace_site site, const packet_builder_ports& io);

  std::vector<wait_list> waits() override;
  departure departs(unsigned port, cycle_t visible) override;

  [[nodiscard]] item_handles handles() const override { return handles_; }

  [[nodiscard]] bool books(unsigned port) const override {
    return port != packet_builder_ports::CtxRead;
  }

  /// Both outputs share the datapath: one frame's beats at a time, to one of them. From this cycle
  /// on it is free.
  [[nodiscard]] cycle_t port_free() const { return port_free_; }

  /// The frames before still occupy the outputs when one taken in cycle t would be due.
  [[nodiscard]] bool port_behind(cycle_t t) const {
    return port_free_ > t + stage_spec::packet_builder::Latency;
  }

  [[nodiscard]] bool lookups_full() const { return pending_.size() >= io_.context_lines.depth(); }

  /// Frames for output `port` that have not departed, oldest first.
  [[nodiscard]] ring<built_frame>& built(unsigned port) {
    return port == packet_builder_ports::Frame ? wire_ : looped_;
  }

 private:
  struct pending_packet {
    packet_item packet;
    cycle_t taken = 0;
  };

  struct path_ask {
    trace_ref history;
    cycle_t taken = 0;
  };

  /// Calls a member for each item of one input.
  template <class T>
  struct input_tap final : stream_tap<T> {
    using handler = void (packet_builder_rules::*)(cycle_t, const T&);

    input_tap(packet_builder_rules& to, handler which) : rules(to), method(which) {}

    void on_take(cycle_t t, const T& item) override { (rules.*method)(t, item); }

    packet_builder_rules& rules;
    handler method;
  };

  void took_packet(cycle_t t, const packet_item& packet);
  void took_line(cycle_t t, const context_line& line);
  void drop(cycle_t t, const packet_item& packet, counter why);
  void build(cycle_t t, pending_packet& front, const context_line& line, const qpc_address& path,
             const vport_table& vports);

  nic_shared& nic_;
  trace_site site_;
  name_id order_reason_;
  packet_builder_ports io_;
  input_tap<packet_item> filled_tap_{*this, &packet_builder_rules::took_packet};
  input_tap<packet_item> direct_tap_{*this, &packet_builder_rules::took_packet};
  input_tap<context_line> line_tap_{*this, &packet_builder_rules::took_line};

  ring<pending_packet> pending_;  ///< without path
  ring<path_ask> asks_;           ///< reads that have not left yet
  ring<built_frame> wire_;
  ring<built_frame> looped_;
  cycle_t port_free_ = 0;
  item_handles handles_;
};

}  // namespace carillon
