// packet_builder: headers, FIRST/MIDDLE/LAST/ONLY, padding, ICRC and FCS. Cut-through: 30 cycles to
// the first beat, then one beat a cycle.
//
// The QP's path (qpc_address) is read while the payload's first beats pass; the lookup hides in the
// 30 cycles. Of two packets that are ready, the one that was granted first goes first.
//
// With the path the packet meets its function's virtual port: it must come from there, it gets the
// port's VLAN, and if it is for another port of this NIC it goes back in instead of to the wire.
// rtl/packet_builder/packet_builder.sv is its twin.
#pragma once

#include "common/nic_shared.h"
#include "common/roce_packet.h"
#include "common/stage.h"
#include "common/steering.h"
#include "gen/contexts.h"
#include "packet_builder/packet_builder_rules.h"

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
  static constexpr const char* Row = "packet_builder";
  using ports = packet_builder_ports;
  using rules = packet_builder_rules;

  packet_builder(const sc_core::sc_module_name& name, nic_shared& nic, const ports& io);

 private:
  void evaluate(cycle_t t) override;
  void take_packet(cycle_t t);
  void release(cycle_t t);
  [[nodiscard]] stream<packet_item>* oldest(cycle_t t) const;

  ports io_;
  rules rules_;
};

}  // namespace carillon
