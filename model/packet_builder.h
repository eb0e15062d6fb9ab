// packet_builder: headers, FIRST/MIDDLE/LAST/ONLY, padding, ICRC and FCS. Cut-through: 30 cycles to
// the first beat, then one beat a cycle.
//
// The QP's path (qpc_address) is read while the payload's first beats pass; the lookup hides in the
// 30 cycles. Of two packets that are ready, the one that was granted first goes first.
//
// With the path the packet meets its function's virtual port: it must come from there, it gets the
// port's VLAN, and if it is for another port of this NIC it goes back in instead of to the wire.
#pragma once

#include <algorithm>
#include <deque>

#include "common/items.h"
#include "common/level.h"
#include "common/nic_shared.h"
#include "common/roce_packet.h"
#include "common/stage.h"
#include "common/steering.h"
#include "gen/contexts.h"

namespace carillon {

/// Where the frames of a QP come from, as its path says.
claimed_source source_of(const qpc_address& path);

/// The frame of a packet as the path of its QP wants it, or, for UD, as its work request does; what
/// the path leaves open, and the VLAN if it has one, is the virtual port's.
packet_description describe(const packet_item& packet, const qpc_address& path, const vport& port);

/// The packet stays inside the NIC: for a virtual port of it, or because its QP sends nowhere else.
bool loops_back(const packet_description& frame, const qpc_address& path, const vport_table& ports);

class packet_builder final : public stage {
 public:
  struct ports {
    stream<packet_item>& filled;  ///< with payload, from payload_dma
    stream<packet_item>& direct;  ///< inline, empty and acknowledge packets, from tx_sched
    stream<context_read>& context_reads;
    stream<context_line>& context_lines;
    stream<frame_item>& frames;
    stream<frame_item>& loopback;  ///< frames for a virtual port of this NIC, to rx_mac
    level<vport_table>& vports;
  };

  packet_builder(const sc_core::sc_module_name& name, nic_shared& nic, const ports& connected);

 private:
  struct pending {
    packet_item packet;
    cycle_t taken = 0;
  };

  void evaluate(cycle_t t) override;
  void take_packet(cycle_t t);
  void take_line(cycle_t t);
  [[nodiscard]] stream<packet_item>* oldest(cycle_t t) const;

  [[nodiscard]] bool lookups_full() const {
    return pending_.size() >= ports_.context_lines.depth();
  }

  /// Both outputs share the datapath: one frame's beats at a time, to one of them.
  [[nodiscard]] cycle_t port_free() const {
    return std::max(ports_.frames.port_free(), ports_.loopback.port_free());
  }

  [[nodiscard]] bool port_behind(cycle_t t) const;
  void drop(cycle_t t, const packet_item& packet, counter why);
  void build(cycle_t t, pending& front, const context_line& line, const qpc_address& path,
             const vport_table& vports);

  nic_shared& nic_;
  ports ports_;
  std::deque<pending> pending_;
  name_id order_reason_;
};

}  // namespace carillon
