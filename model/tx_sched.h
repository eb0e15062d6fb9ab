// tx_sched: which QP sends its next packet.
//
// Work requests wait in per-QP queues; deficit round robin over the QPs with a quantum of one MTU
// of the port, one packet a grant, one grant a cycle, 5 cycles to the next stage. Acknowledges go
// before everything. So a QP that waits for room in payload_dma blocks nobody else. Packets with
// nothing to fetch (inline data, zero length, acknowledges) pass payload_dma by; within a QP they
// wait until its packets have left payload_dma, so PSNs stay in order.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "common/held_history.h"
#include "common/items.h"
#include "common/nic_shared.h"
#include "common/stage.h"

namespace carillon {

class tx_sched final : public stage {
 public:
  struct ports {
    stream<work_item>& work;
    stream<response_item>& acknowledges;
    stream<payload_left>& left;
    stream<qp_command>& commands;
    stream<packet_item>& payload;  ///< to payload_dma
    stream<packet_item>& direct;   ///< past it, to packet_builder
    stream<sent_packet>& sent;     ///< to requester
    stream<qp_error>& errors;      ///< to qpc_ram
  };

  tx_sched(const sc_core::sc_module_name& name, nic_shared& nic, const ports& connected);

 private:
  struct active_work {
    work_item item;
    cycle_t available = 0;     ///< its last beat is in
    std::uint32_t offset = 0;  ///< bytes granted so far
    held_history next;         ///< of its next packet
  };

  struct queue_state {
    std::deque<active_work> works;
    std::uint32_t psn = 0;         ///< of the next packet
    std::uint32_t in_payload = 0;  ///< packets inside payload_dma
    std::uint32_t since_ack_request = 0;
    std::uint32_t deficit = 0;  ///< bytes it may still send in its turn, or is owed for the next
    bool active = false;        ///< in the round
    bool error = false;         ///< everything is flushed
    bool reset = false;         ///< what still comes in is dropped
  };

  enum class outcome : std::uint8_t { granted, blocked };

  void evaluate(cycle_t t) override;
  void take_command(cycle_t t);
  void take_work(cycle_t t);
  bool grant_acknowledge(cycle_t t);
  bool grant_request(cycle_t t);
  outcome try_grant(cycle_t t, std::uint32_t qpn);
  outcome fail(cycle_t t, std::uint32_t qpn);
  outcome block(cycle_t t, std::uint32_t qpn, name_id reason);
  bool ends_turn(const queue_state& queue) const;
  void finish_work(cycle_t t, std::uint32_t qpn);
  void discard(std::uint32_t qpn);

  [[nodiscard]] bool slots_full() const { return held_ >= stage_spec::tx_sched::WorkSlots; }

  nic_shared& nic_;
  ports ports_;
  std::vector<queue_state> queues_;
  std::deque<std::uint32_t> round_;  ///< active QPs, whose turn it is in front
  std::uint64_t order_ = 0;
  unsigned held_ = 0;
  cycle_t full_in_ = NeverCycle;  ///< the last cycle in which all slots were held
  const std::uint32_t quantum_;
  name_id order_reason_;
  name_id weight_reason_;
  name_id payload_reason_;
  name_id direct_reason_;
  name_id overtake_reason_;
  name_id sent_reason_;
  name_id error_reason_;
};

}  // namespace carillon
