// rx_parser: the header FSM, the steering to a virtual port, the context lookup, the ICRC check,
// and one verdict a packet.
//
// A packet taken in cycle t passes ST_ETH, ST_IP, ST_UDP and ST_BTH in t..t+3, is looked up from
// t+4 on, and its ICRC is known four cycles after its last beat; the verdict is visible at t +
// max(9, beats + 3). Packets leave in order.
//
// The virtual ports are looked at with the first beat. The lookup is made on behalf of the function
// whose port the packet came to, and a QP that is another's is not touched.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "common/held_history.h"
#include "common/items.h"
#include "common/level.h"
#include "common/nic_shared.h"
#include "common/ring.h"
#include "common/roce_packet.h"
#include "common/stage.h"
#include "common/steering.h"
#include "common/stream.h"
#include "gen/contexts.h"
#include "gen/counters.h"

namespace carillon {

/// The counter of a frame that the header FSM or the ICRC check refused.
counter counter_of(parse_error error);

/// The counter of a frame that the steering refused.
counter counter_of(steering_verdict verdict);

/// What a PSN is to a responder that expects another one: 24-bit modular, half of the space lies
/// ahead.
rx_verdict verdict_of_psn(std::uint32_t psn, std::uint32_t expected);

/// The verdict of ST_CTX_LOOKUP. `responder` counts for requests only.
rx_verdict look_up(const opcode_info& opcode, std::uint32_t psn, bool exists,
                   const qpc_common& common, const qpc_responder& responder);

/// Why a packet ends here although its QP was looked up, if it does; `port` is the one it came to.
std::optional<counter> end_of(const parsed_frame& packet, rx_verdict verdict,
                              const qpc_common& common, std::uint16_t port);

class rx_parser : public stage {
 public:
  struct ports {
    stream<frame_item>& frames;             ///< frames with a good FCS - rx_mac
    stream<qp_commit>& commits;             ///< decided requests - responder
    stream<context_read>& common_reads;     ///< qpc_common - qpc_ram
    stream<context_line>& common_lines;     ///< its answers - qpc_ram
    stream<context_read>& responder_reads;  ///< qpc_responder - qpc_ram
    stream<context_line>& responder_lines;  ///< its answers - qpc_ram
    stream<rx_packet>& requests;            ///< requests with a verdict - responder
    stream<rx_packet>& responses;           ///< ACKs and responses - requester
    level<vport_table>& vports;             ///< where frames are for - pcie_endpoint
  };

  /// Packets between the first beat and the verdict. A pipeline without a stall holds at most nine.
  static constexpr unsigned Slots = 12;

  rx_parser(const sc_core::sc_module_name& name, nic_shared& shared, const ports& io);

 private:
  struct packet_slot {
    frame_item frame;
    parsed_frame parsed;
    cycle_t taken = 0;
    cycle_t checked = 0;  ///< the ICRC is known
    /// A header state refused it or no port takes it: it is counted and dropped without a lookup.
    std::optional<counter> refused;
    std::optional<std::uint16_t> port;  ///< that it is for
    bool request = false;
    bool issued = false;
    bool has_common = false;
    bool has_responder = false;
    cycle_t looked_up = 0;
    held_history own;     ///< along the beats to the ICRC
    held_history lookup;  ///< along the header FSM and the context RAM
    context_line common;
    context_line responder;
  };

  void evaluate(cycle_t t) override;
  void take_lines(cycle_t t);
  void issue_lookup(cycle_t t);
  void deliver(cycle_t t);
  void take_frame(cycle_t t);
  void take_address(packet_slot& slot, cycle_t t);
  void drop(cycle_t t, counter why);
  void count(const packet_slot& slot, rx_verdict verdict);
  rx_packet result_of(packet_slot& slot, rx_verdict verdict);
  [[nodiscard]] bool busy(std::uint32_t qpn) const;
  void release(std::uint32_t qpn);
  [[nodiscard]] bool lookup_stalled(cycle_t t) const;

  nic_shared& shared_;
  ports io_;
  ring<packet_slot> slots_;
  std::vector<std::uint32_t> busy_;  ///< QPs with a request between lookup and commit
  cycle_t last_left_ = 0;            ///< when the packet before the front one left, + 1
  name_id order_;
  name_id qp_busy_;
  name_id read_credit_;
  name_id request_credit_;
  name_id response_credit_;
};

}  // namespace carillon
