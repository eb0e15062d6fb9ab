// tx_sched: which QP sends its next packet.
//
// Acknowledges and atomic results go first, in the order in which they became ready. Then it is a
// function's turn (tx_sched/functions.h). Of a function the packets of READ responses go first, in
// turn over its QPs, then its requests: they wait in per-QP queues, served by deficit round robin
// with a quantum of one MTU of the port. One packet a grant, one grant a cycle, 5 cycles to the
// next stage. A QP that may not send is out of the round, one that finds no room keeps its turn;
// neither blocks anybody else. Packets with nothing to fetch pass payload_dma by; within one
// direction of a QP they wait until its packets have left it, so PSNs stay in order.
//
// The requester governs the send queues: it says what is acknowledged, and it sets a queue back. A
// go-back raises the queue's epoch; work of an older one is dropped and comes again from wqe_fetch.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "common/held_history.h"
#include "common/items.h"
#include "common/level.h"
#include "common/nic_shared.h"
#include "common/ring.h"
#include "common/stage.h"
#include "common/vport.h"
#include "tx_sched/functions.h"
#include "tx_sched/number_list.h"
#include "tx_sched/sched_queue.h"
#include "tx_sched/sched_responses.h"

namespace carillon {

class tx_sched final : public stage {
 public:
  struct ports {
    stream<work_item>& work;
    stream<response_item>& acknowledges;  ///< all responses, from responder
    stream<payload_left>& left;
    stream<qp_command>& commands;
    stream<send_control>& controls;           ///< from requester
    stream<packet_item>& payload;             ///< to payload_dma
    stream<packet_item>& direct;              ///< past it, to packet_builder
    stream<sent_packet>& sent;                ///< to requester
    stream<refetch>& refetches;               ///< to wqe_fetch
    stream<key_invalidation>& invalidations;  ///< to qpc_ram
    stream<response_failure>& failures;       ///< to responder
    stream<response_left>& answered;          ///< to responder
    level<vport_table>& vports;
  };

  tx_sched(const sc_core::sc_module_name& name, nic_shared& nic, const ports& connected);

 private:
  enum class outcome : std::uint8_t { granted, blocked, parked };

  /// What a function has to send: QPs, whose turn it is in front.
  struct sender {
    number_list requests;
    number_list reads;  ///< QPs whose next response is READ data

    [[nodiscard]] bool empty() const { return requests.empty() && reads.empty(); }
  };

  void evaluate(cycle_t t) override;

  // What comes in (tx_sched.cpp)
  void take_command(cycle_t t);
  void start(sched_queue& queue, const qp_command& item);
  void discard(std::uint32_t qpn);
  void take_control(cycle_t t);
  void take_left(cycle_t t);
  void payload_failed(cycle_t t, const payload_left& item);
  void take_work(cycle_t t);
  void drop_stale(cycle_t t, std::uint32_t qpn);

  // Functions (tx_sched/turns.cpp)
  void look_at_vports(cycle_t t);
  void let_in(cycle_t t);
  bool grant_function(cycle_t t);
  std::int64_t offer(cycle_t t, std::uint16_t function);
  void enter(cycle_t t, std::uint16_t function);
  void leave_if_done(std::uint16_t function);
  void fronts_wait_for(cycle_t t, std::uint16_t function, name_id reason);
  [[nodiscard]] std::uint32_t cost_of(const packet_item& packet) const;

  // Requests (tx_sched/requests.cpp)
  std::int64_t grant_request(cycle_t t, sender& from);
  outcome try_grant(cycle_t t, std::uint32_t qpn);
  outcome grant_local(cycle_t t, std::uint32_t qpn);
  outcome fail(cycle_t t, std::uint32_t qpn);
  outcome block(cycle_t t, std::uint32_t qpn, name_id reason);
  void begin(sched_queue& queue, held_work& head);
  packet_item packet_of(sched_queue& queue, const held_work& head, trace_ref history);
  [[nodiscard]] sent_packet note_of(const sched_queue& queue, const held_work& head,
                                    trace_ref history) const;
  void add_note(cycle_t t, std::uint32_t qpn, sent_packet note);
  void send_notes(cycle_t t);
  void push_note(cycle_t t, sent_packet note);
  void mark_drained(cycle_t t);
  void finish_work(cycle_t t, std::uint32_t qpn);
  void enter_round(cycle_t t, std::uint32_t qpn);
  void leave_round(std::uint32_t qpn);
  [[nodiscard]] bool ends_turn(const sched_queue& queue) const;

  // Responses (tx_sched/responses.cpp)
  void take_response(cycle_t t);
  packet_item response_of(cycle_t t, std::uint32_t qpn);
  bool grant_control(cycle_t t);
  std::int64_t grant_read(cycle_t t, sender& from);
  void line_up(cycle_t t, std::uint32_t qpn);
  void forget_responses(std::uint32_t qpn);
  void report_failures(cycle_t t);
  void report_answered(cycle_t t);

  /// Functions that share the wire do not share slots: who may not send would keep out the others.
  [[nodiscard]] bool slots_full() const {
    return held_ >= stage_spec::tx_sched::WorkSlots && functions_.alone();
  }

  [[nodiscard]] bool anything_waits() const { return functions_.any() || !controls_.empty(); }

  nic_shared& nic_;
  ports ports_;
  std::vector<sched_queue> queues_;
  std::vector<sched_responses> responses_;
  sched_functions functions_;
  std::vector<sender> senders_;  ///< by function
  number_links requests_;        ///< of the QPs in senders_
  number_links reads_;
  std::uint64_t vports_seen_ = 0;   ///< changes of the level
  std::uint32_t sent_bytes_ = 0;    ///< on the wire, of the packet just granted; 0 if nobody asks
  cycle_t next_work_ = NeverCycle;  ///< a work request will be complete
  ring<std::uint32_t> controls_;  ///< QPs whose next response is an acknowledge or an atomic result
  ring<std::uint32_t> noting_;    ///< QPs with a held note that may go
  ring<std::uint32_t> draining_;  ///< QPs that owe the requester a mark
  ring<response_failure> failures_;
  ring<response_left> answered_;
  std::uint64_t order_ = 0;
  unsigned held_ = 0;             ///< slots: work requests, those of QPs in SQD excepted
  cycle_t full_in_ = NeverCycle;  ///< the last cycle in which all slots were held
  const std::uint32_t quantum_;
  const std::uint32_t window_;
  name_id order_reason_;
  name_id weight_reason_;
  name_id rate_reason_;
  name_id payload_reason_;
  name_id direct_reason_;
  name_id overtake_reason_;
  name_id sent_reason_;
  name_id invalidate_reason_;
  name_id data_reason_;
  std::array<name_id, SchedHolds> hold_reasons_{};
};

}  // namespace carillon
