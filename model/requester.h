// requester: what was sent and not yet acknowledged, and the completion of send WQEs.
//
// tx_sched tells it of every packet in PSN order; an ACK completes all WQEs whose last packet it
// covers. WQEs of a QP complete in the order in which they were posted, failed ones included. One
// completion a cycle, ten cycles after the acknowledge.
#pragma once

#include <unordered_map>

#include "common/held_history.h"
#include "common/items.h"
#include "common/nic_shared.h"
#include "common/ring.h"
#include "common/stage.h"
#include "common/stream.h"

namespace carillon {

/// One WQE that was sent, or failed before it was, and has not completed.
struct outstanding_wqe {
  std::uint32_t last_psn = 0;  ///< of its last packet; of no meaning for a failed one
  std::uint16_t wqe_index = 0;
  std::uint8_t opcode = 0;
  std::uint8_t syndrome = 0;
  bool signaled = false;
  bool acknowledged = false;
  std::uint32_t length = 0;
  std::uint32_t send_cqn = 0;
  held_history history;
  trace_ref sent;

  [[nodiscard]] bool completable() const { return acknowledged || syndrome != 0; }

  [[nodiscard]] bool reports() const { return signaled || syndrome != 0; }
};

/// a before b in the 24-bit space of PSNs.
bool psn_before(std::uint32_t a, std::uint32_t b);

/// The send side of one QP.
struct send_window {
  ring<outstanding_wqe> wqes;  ///< oldest first
  bool any_sent = false;
  bool any_acked = false;
  std::uint32_t first_psn = 0;  ///< first packet sent
  std::uint32_t last_sent = 0;
  std::uint32_t last_acked = 0;
  bool queued = false;  ///< it has something to complete and is in the requester's queue

  void send(const sent_packet& packet, const held_history& history);

  /// An ACK for `psn` acknowledges something new.
  [[nodiscard]] bool advances(std::uint32_t psn) const;

  /// Marks what an ACK for `psn` covers; returns how many WQEs it newly covers, the first at index
  /// `from`.
  std::size_t acknowledge(std::uint32_t psn, std::size_t& from);
};

cqe_item cqe_of(std::uint32_t qpn, const outstanding_wqe& wqe);

class requester : public stage {
 public:
  struct ports {
    stream<sent_packet>& sent;     ///< granted packets and failed WQEs - tx_sched
    stream<rx_packet>& responses;  ///< ACKs - rx_parser
    stream<qp_command>& commands;  ///< state changes - pcie_endpoint
    stream<cqe_item>& cqes;        ///< completions of send WQEs - completion
  };

  requester(const sc_core::sc_module_name& name, nic_shared& shared, const ports& io);

 private:
  void evaluate(cycle_t t) override;
  void take_sent(cycle_t t);
  void take_response(cycle_t t);
  void complete(cycle_t t);
  void enqueue(std::uint32_t qpn, send_window& window);
  trace_ref join(trace_ref sent, trace_ref acknowledge, cycle_t t);
  void refuse(const rx_packet& response);

  nic_shared& shared_;
  ports io_;
  std::unordered_map<std::uint32_t, send_window> windows_;  // never iterated
  ring<std::uint32_t> completable_;  ///< QPs whose oldest WQE completes, in order of the event
  cycle_t last_completed_ = 0;
  bool completed_any_ = false;
  name_id order_;
  name_id acknowledge_;
  name_id cqe_credit_;
};

}  // namespace carillon
