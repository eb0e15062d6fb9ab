// responder: serves RC requests in order. Checks the message, finds where its bytes go, writes
// them, acknowledges and reports.
//
// A packet's decision (accepted or not, the new ePSN) is made in the cycle in which it is taken and
// announced to the parser by a commit; only a SEND or WRITE with immediate without a known receive
// credit has to ask first. The rest follows at its own pace: packets of one QP finish in order,
// packets of different QPs do not wait for each other's receive WQEs.
#pragma once

#include <array>
#include <unordered_map>
#include <vector>

#include "common/held_history.h"
#include "common/items.h"
#include "common/nic_shared.h"
#include "common/ring.h"
#include "common/stage.h"
#include "common/stream.h"
#include "responder/receive_queue.h"
#include "responder/rules.h"

namespace carillon {

class responder : public stage {
 public:
  struct ports {
    stream<rx_packet>& packets;         ///< requests with a verdict - rx_parser
    stream<qp_command>& commands;       ///< state changes - pcie_endpoint
    stream<context_read>& key_reads;    ///< memory keys - qpc_ram
    stream<context_line>& key_lines;    ///< their answers - qpc_ram
    stream<dma_read>& reads;            ///< receive doorbell records and WQEs - dma_engine
    stream<dma_read_done>& reads_done;  ///< their answers - dma_engine
    stream<dma_write>& writes;          ///< payload - dma_engine
    stream<context_write>& lines;       ///< qpc_responder - qpc_ram
    stream<qp_commit>& commits;         ///< decided requests - rx_parser
    stream<response_item>& acks;             ///< acknowledges - tx_sched
    stream<cqe_item>& cqes;             ///< completions of receive WQEs - completion
  };

  /// Packets between take and last write.
  static constexpr unsigned Slots = stage_spec::responder::Outstanding;

  responder(const sc_core::sc_module_name& name, nic_shared& shared, const ports& io);

 private:
  enum class phase : std::uint8_t {
    credit,   ///< is there a receive WQE?
    decided,  ///< wants to commit
    receive,  ///< waits for the receive WQE's bytes
    keys,     ///< waits for memory keys
    write     ///< knows where its bytes go
  };

  struct packet_slot {
    bool used = false;
    rx_packet packet;
    qpc_common common;
    request_step step;
    phase at = phase::write;
    request_fault fault = request_fault::none;
    bool refused = false;    ///< no receive WQE: ePSN stays
    bool abandoned = false;  ///< the QP was reset
    cycle_t ready = 0;       ///< earliest write
    std::uint64_t asked_before = 0;
    std::uint16_t receive_index = 0;
    scatter_list pieces;
    unsigned pieces_written = 0;
    unsigned keys_wanted = 0;
    held_history history;
  };

  struct qp_state_row {
    bool started = false;
    bool error = false;  ///< a request failed; later ones are dropped
    std::uint8_t generation = 0;
    qpc_responder line;  ///< as last written
    receive_queue queue;
    std::uint16_t message_receive = 0;  ///< receive WQE of the message in progress
    std::uint64_t write_delta = 0;      ///< IOVA minus virtual address of the WRITE in progress
    bool record_wanted = false;
    bool record_pending = false;
    std::uint64_t records_asked = 0;
    std::uint64_t records_answered = 0;
    buffer_ref record;
    bool batch_wanted = false;
    std::uint64_t record_address = 0;
    std::uint16_t function = 0;
  };

  struct key_request {
    std::uint8_t slot = 0;
    std::uint8_t piece = 0;
  };

  struct read_request {
    std::uint32_t qpn = 0;
    bool record = false;
  };

  static constexpr std::uint8_t NoSlot = 0xff;

  void evaluate(cycle_t t) override;
  void take_commands(cycle_t t);
  void take_keys(cycle_t t);
  void take_reads(cycle_t t);
  void take_packet(cycle_t t);
  void advance(cycle_t t, std::uint8_t id);
  void decide(cycle_t t, packet_slot& slot);
  void find_receive(cycle_t t, std::uint8_t id);
  void request_keys(cycle_t t, std::uint8_t id);
  void write(cycle_t t);
  bool write_one(cycle_t t, std::uint8_t id);
  bool fail(cycle_t t, packet_slot& slot, qp_state_row& row);
  void leave(cycle_t t, std::uint8_t id);
  void issue_keys(cycle_t t);
  void issue_reads(cycle_t t);
  void want_record(cycle_t t, std::uint32_t qpn, qp_state_row& row);
  void want_batch(cycle_t t, std::uint32_t qpn, qp_state_row& row);
  void write_line(cycle_t t, std::uint32_t qpn, const qpc_responder& line);
  void commit(cycle_t t, std::uint32_t qpn, const qpc_responder* line);
  bool may_commit(cycle_t t, held_history* waiting);
  [[nodiscard]] bool older_of_qp(std::uint8_t id) const;
  [[nodiscard]] std::uint8_t waiting_slot(std::uint32_t qpn, phase at) const;
  [[nodiscard]] bool any_at(phase at) const;
  void count_fault(request_fault fault);

  nic_shared& shared_;
  ports io_;
  std::array<packet_slot, Slots> slots_;
  std::vector<std::uint8_t> age_;                         ///< used slots, oldest first
  std::unordered_map<std::uint32_t, qp_state_row> rows_;  // never iterated
  ring<key_request> key_queue_;                           ///< not yet asked
  ring<key_request> keys_asked_;                          ///< answers come in this order
  ring<read_request> read_queue_;
  cycle_t last_commit_ = NeverCycle;
  cycle_t last_write_ = NeverCycle;
  name_id order_;
  name_id arbiter_;
  name_id commit_;
  name_id record_;
  name_id receive_wqe_;
  name_id line_credit_;
  name_id commit_credit_;
  name_id write_credit_;
  name_id ack_credit_;
  name_id cqe_credit_;
};

}  // namespace carillon
