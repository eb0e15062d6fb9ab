// packet_builder: headers, FIRST/MIDDLE/LAST/ONLY, padding, ICRC and FCS. Cut-through: 30 cycles to
// the first beat, then one beat a cycle.
//
// The QP's path (qpc_address) is read while the payload's first beats pass; the lookup hides in the
// 30 cycles. Of two packets that are ready, the one that was granted first goes first.
#pragma once

#include <deque>

#include "common/items.h"
#include "common/nic_shared.h"
#include "common/roce_packet.h"
#include "common/stage.h"
#include "gen/contexts.h"

namespace carillon {

/// The frame of a packet as the path of its QP wants it, or, for UD, as its work request does;
/// `own_mac` is the port's.
packet_description describe(const packet_item& packet, const qpc_address& path,
                            std::uint64_t own_mac);

class packet_builder final : public stage {
 public:
  struct ports {
    stream<packet_item>& filled;  ///< with payload, from payload_dma
    stream<packet_item>& direct;  ///< inline, empty and acknowledge packets, from tx_sched
    stream<context_read>& context_reads;
    stream<context_line>& context_lines;
    stream<frame_item>& frames;
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

  [[nodiscard]] bool port_behind(cycle_t t) const;

  nic_shared& nic_;
  ports ports_;
  std::deque<pending> pending_;
  name_id order_reason_;
};

}  // namespace carillon
