// completion: turns completion requests into CQEs in host memory.
//
// Completions are served in the order in which they are taken; of two that come in the same cycle
// the responder's goes first. Ten cycles from the request to the write, the read of the CQ's line
// included.
#pragma once

#include <array>
#include <unordered_map>

#include "common/held_history.h"
#include "common/items.h"
#include "common/nic_shared.h"
#include "common/ring.h"
#include "common/stage.h"
#include "common/stream.h"
#include "gen/contexts.h"
#include "gen/wqe.h"

namespace carillon {

/// What the chip knows of a CQ's ring. Counters are modulo 2^24, as in the doorbell record.
struct cq_ring {
  std::uint32_t producer = 0;
  std::uint32_t consumer = 0;
  bool overrun = false;  ///< nothing is written any more

  [[nodiscard]] bool full(unsigned log_size) const {
    return ((producer - consumer) & CqIndexMask) >= (std::uint32_t{1} << log_size);
  }
};

/// Where entry `producer` of the ring stands in host memory: its last 64 bytes.
std::uint64_t cqe_address(const cqc_line& cq, std::uint32_t producer);

/// The 64 bytes of a CQE, an error CQE included. `now` is the time stamp in core cycles.
std::array<std::uint8_t, cqe64::Size> build_cqe(const cqe_item& item, unsigned log_size,
                                                std::uint32_t producer, std::uint64_t now);

class completion : public stage {
 public:
  struct ports {
    stream<cqe_item>& from_responder;     ///< completions of receive WQEs - responder
    stream<cqe_item>& from_requester;     ///< completions of send WQEs - requester
    stream<cq_command>& commands;         ///< CQs created or destroyed - pcie_endpoint
    stream<context_read>& context_reads;  ///< cqc - qpc_ram
    stream<context_line>& context_lines;  ///< its answers - qpc_ram
    stream<dma_read>& record_reads;       ///< CQ doorbell records - dma_engine
    stream<dma_read_done>& records;       ///< their answers - dma_engine
    stream<dma_write>& writes;            ///< CQEs - dma_engine
  };

  static constexpr unsigned Slots = stage_spec::completion::Outstanding;

  completion(const sc_core::sc_module_name& name, nic_shared& shared, const ports& io);

 private:
  struct request_slot {
    cqe_item item;
    held_history history;
    bool has_line = false;
    bool line_valid = false;
    cqc_line cq;
    bool waits_for_record = false;   ///< its CQ looked full
    std::uint64_t asked_before = 0;  ///< record reads of the CQ queued before
  };

  struct cq_state {
    cq_ring ring;
    bool record_wanted = false;   ///< its read is queued
    bool record_pending = false;  ///< its read is on the way
    std::uint64_t asked = 0;      ///< reads queued so far
    std::uint64_t answered = 0;
    buffer_ref record;
  };

  struct record_request {
    std::uint32_t cqn = 0;
    std::uint16_t function = 0;
    std::uint64_t address = 0;
    bool for_front = false;
  };

  void evaluate(cycle_t t) override;
  void take_answers(cycle_t t);
  void write_front(cycle_t t);
  void take_requests(cycle_t t);
  void read_records(cycle_t t);
  void want_record(cycle_t t, request_slot& slot, cq_state& state, bool for_front);
  void lose_front(cycle_t t);
  void accept(cycle_t t, stream<cqe_item>& in);

  nic_shared& shared_;
  ports io_;
  ring<request_slot> slots_;
  ring<record_request> record_queue_;
  std::unordered_map<std::uint32_t, cq_state> cqs_;  // never iterated
  cycle_t last_written_ = 0;
  bool written_any_ = false;
  name_id order_;
  name_id record_;
  name_id write_credit_;
};

}  // namespace carillon
