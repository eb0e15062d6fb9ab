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
//
// What it decides is in tx_sched/tx_sched_rules.h; here items only move.
#pragma once

#include "common/nic_shared.h"
#include "common/stage.h"
#include "tx_sched/tx_sched_rules.h"

namespace carillon {

class tx_sched final : public stage {
 public:
  static constexpr const char* Row = "tx_sched";
  using ports = tx_sched_ports;
  using rules = tx_sched_rules;

  /// Throws config_error if the RTL has no room for what the settings ask for.
  static void check_twin(const nic_shared& nic);

  tx_sched(const sc_core::sc_module_name& name, nic_shared& nic, const ports& io);

 private:
  void evaluate(cycle_t t) override;
  void take_inputs(cycle_t t);
  void send();

  ports io_;
  rules rules_;
};

}  // namespace carillon
