// completion: turns completion requests into CQEs in host memory, tells the EQs, and interrupts.
//
// Completions are served in the order in which they are taken; of two that come in the same cycle
// the responder's goes first. Ten cycles from the request to the write, the read of the CQ's line
// included. An event takes ten cycles likewise, from the cycle in which it is raised; the EQE goes
// to memory behind all CQEs written before, by the same stream. An MSI-X message follows the EQE
// that raised it in the next cycle, likewise by the same stream.
#pragma once

#include <span>
#include <unordered_map>

#include "common/deadlines.h"
#include "common/held_history.h"
#include "common/items.h"
#include "common/level.h"
#include "common/msix.h"
#include "common/nic_shared.h"
#include "common/ring.h"
#include "common/stage.h"
#include "common/stream.h"
#include "completion/cq_notification.h"
#include "completion/event_queues.h"
#include "completion/msix_vectors.h"
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

class completion : public stage, private timed {
 public:
  struct ports {
    stream<cqe_item>& from_responder;        ///< completions of receive WQEs - responder
    stream<cqe_item>& from_requester;        ///< completions of send WQEs - requester
    stream<async_event>& responder_events;   ///< of QPs and SRQs - responder
    stream<async_event>& requester_events;   ///< of QPs - requester
    stream<async_event>& command_events;     ///< commands done - pcie_endpoint
    stream<queue_doorbell>& doorbells;       ///< CQ arms and EQ consumer indices - uar
    stream<cq_command>& commands;            ///< CQs and EQs created or changed - pcie_endpoint
    stream<context_read>& context_reads;     ///< cqc, eqc - qpc_ram
    stream<context_line>& context_lines;     ///< its answers - qpc_ram
    stream<dma_read>& record_reads;          ///< CQ doorbell records - dma_engine
    stream<dma_read_done>& records;          ///< their answers - dma_engine
    stream<dma_write>& writes;               ///< CQEs, EQEs, MSI-X messages - dma_engine
    stream<msix_command>& msix;              ///< table, enables, resets - pcie_endpoint
    level<msix_pending>& msix_pending_bits;  ///< held back by a mask - pcie_endpoint
  };

  static constexpr unsigned Slots = stage_spec::completion::Outstanding;
  /// Asynchronous events are taken up to this many events in hand. Those of CQs are at most one a
  /// CQ (and its error), and wait for nothing.
  static constexpr unsigned EventSlots = stage_spec::completion::Outstanding;

  completion(const sc_core::sc_module_name& name, nic_shared& shared, const ports& io);

 private:
  struct request_slot {
    cqe_item item;
    std::uint32_t generation = 0;  ///< which of the CQs that had this number
    held_history history;
    bool has_line = false;
    bool line_valid = false;
    cqc_line cq;
    bool waits_for_record = false;   ///< its CQ looked full
    std::uint64_t asked_before = 0;  ///< record reads of the CQ queued before
  };

  struct event_slot {
    event_record event;
    std::uint8_t eqn = 0;
    std::uint32_t generation = 0;  ///< of the CQ that completed
    held_history history;
    bool has_line = false;
    bool line_valid = false;
    eqc_line eq;
  };

  struct cq_state {
    cq_ring ring;
    cq_notification notification;
    bool valid = false;  ///< exists, with this owner and EQ
    std::uint16_t function = 0;
    std::uint32_t uar_page = 0;
    std::uint8_t eqn = 0;
    std::uint32_t generation = 0;  ///< which of the CQs that had this number
    bool record_wanted = false;    ///< its read is queued
    bool record_pending = false;   ///< its read is on the way
    std::uint64_t asked = 0;       ///< reads queued so far
    std::uint64_t answered = 0;
    bool unreadable = false;  ///< the last of them failed
    buffer_ref record;
    held_history first_waiting;  ///< of the first CQE since the last event, if events are moderated
  };

  struct interrupt_slot {
    std::uint16_t function = 0;
    unsigned vector = 0;
    held_history history;
  };

  struct record_request {
    std::uint32_t cqn = 0;
    std::uint16_t function = 0;
    std::uint64_t address = 0;
    bool for_front = false;
    std::uint32_t generation = 0;
  };

  void evaluate(cycle_t t) override;
  void take_command(cycle_t t);
  void take_record(cycle_t t);
  void take_line(cycle_t t);
  void write_front(cycle_t t);
  void take_requests(cycle_t t);
  [[nodiscard]] bool request_takeable(cycle_t t) const;
  void read_records(cycle_t t);
  void want_record(cycle_t t, request_slot& slot, cq_state& state, bool for_front);
  void lose_front(cycle_t t);
  void accept(cycle_t t, stream<cqe_item>& in);
  void push_write(cycle_t t, dma_write write, std::span<const std::uint8_t> bytes);

  // Events (completion/events.cpp)
  void take_doorbell(cycle_t t);
  void take_event(cycle_t t);
  void raise_completion(cycle_t t, trace_ref history, std::uint32_t cqn, const cq_state& state);
  void raise_async(cycle_t t, trace_ref history, const event_record& event);
  void queue_event(cycle_t t, trace_ref history, event_slot slot);
  void read_event_line(cycle_t t);
  void write_event(cycle_t t);
  void end_event(cycle_t t, bool lost);

  // Interrupts and moderation (completion/interrupts.cpp)
  void on_time(ps_t now, std::uint64_t cycle) override;
  void take_msix(cycle_t t);
  void raise_interrupt(cycle_t t, trace_ref history, std::uint16_t function, unsigned vector);
  void write_interrupt(cycle_t t);
  [[nodiscard]] cq_moderation moderation_of(const cqc_line& line) const;
  void modify_moderation(cycle_t t, std::uint32_t cqn, const cqc_line& line);
  /// After something that an event could wait for: its CQ is looked at when that ends.
  void set_deadline(std::uint32_t cqn, const cq_state& state);
  void ripen_due(cycle_t t);
  void set_alarm(cycle_t t, cycle_t deadline);

  nic_shared& shared_;
  ports io_;
  ring<request_slot> slots_;
  ring<record_request> record_queue_;
  unsigned records_due_ = 0;  ///< reads under way; each has a place for its answer
  ring<event_slot> events_;
  std::size_t event_lines_ = 0;                      ///< how many of them have asked for their line
  std::unordered_map<std::uint32_t, cq_state> cqs_;  // never iterated
  event_queues queues_;
  msix_vectors vectors_;
  ring<interrupt_slot> interrupts_;     ///< messages to be sent
  deadlines moderated_;                 ///< of the CQs whose event waits for a period to pass
  cycle_t alarm_ = NeverCycle;          ///< when they are looked at
  cycle_t event_read_ = NeverCycle;     ///< when the last line of an EQ was asked for
  cycle_t event_written_ = NeverCycle;  ///< when the last EQE or message was written
  bool event_read_last_ = false;        ///< ... and no line of a CQ since
  bool event_written_last_ = false;     ///< ... and no CQE since
  name_id order_;
  name_id record_;
  name_id event_;
  name_id interrupt_;
  name_id moderation_;
  name_id arbiter_;
  name_id write_credit_;
};

}  // namespace carillon
