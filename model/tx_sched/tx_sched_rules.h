// What tx_sched does with what it takes. It follows from the inputs, the level and the room at the
// outputs alone, and all that it holds is bounded.
//
// In a cycle, each seeing what the one before did: the virtual ports, a command, a control, a
// packet that has left payload_dma, a work request, a response, a rate or CNP, marks, held notes,
// failures, functions whose rate lets them send again, the grant, answers that have left, one QP
// that comes back, QPs that find a place.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "common/held_history.h"
#include "common/items.h"
#include "common/level.h"
#include "common/nic_shared.h"
#include "common/pfc_frame.h"
#include "common/rate_items.h"
#include "common/ring.h"
#include "common/stream.h"
#include "common/twin.h"
#include "common/vport.h"
#include "gen/stages.h"
#include "tx_sched/functions.h"
#include "tx_sched/qp_rates.h"
#include "tx_sched/sched_queue.h"
#include "tx_sched/sched_responses.h"
#include "tx_sched/turn_lists.h"

namespace carillon {

struct tx_sched_ports {
  enum index_e : unsigned {
    Work,
    Acknowledges,
    Left,
    Commands,
    Controls,
    Payload,
    Direct,
    Sent,
    Refetches,
    Invalidations,
    Failures,
    Answered,
    Limits,
    Charges
  };

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
  // Of rate control, if there is any.
  stream<rate_limit>* limits = nullptr;
  stream<rate_charge>* charges = nullptr;
  // Priorities that get no grants; without them all do.
  level<std::uint8_t>* paused = nullptr;   ///< from rx_mac
  level<std::uint8_t>* crowded = nullptr;  ///< from tx_mac: too much of them is on its way

  [[nodiscard]] std::vector<stream_base*> all() const {
    std::vector<stream_base*> ports = {&work,      &acknowledges,  &left,     &commands,
                                       &controls,  &payload,       &direct,   &sent,
                                       &refetches, &invalidations, &failures, &answered};
    if (limits != nullptr) {
      ports.insert(ports.end(), {limits, charges});
    }
    return ports;
  }

  [[nodiscard]] twin_levels levels() const {
    return {.vports = &vports, .paused = paused, .crowded = crowded};
  }
};

class tx_sched_rules final : public twin_rules {
 public:
  template <class T>
  struct leaving {
    T item;
    cycle_t pushed = 0;
    cycle_t visible = 0;
  };

  tx_sched_rules(nic_shared& nic, trace_site site, const tx_sched_ports& io);

  std::vector<wait_list> waits() override;
  departure departs(unsigned port, cycle_t visible) override;

  /// Does in cycle t what the items taken in it lead to, and whatever else is due.
  void settle(cycle_t t) override;

  /// No work request can be taken in cycle t. A slot that comes free in it serves from the next one
  /// on. Functions that share the wire do not share slots: who may not send would keep out the
  /// others.
  [[nodiscard]] bool slots_full(cycle_t t) const {
    return settled_ == t ? slots_were_full_ : slots_full();
  }

  /// Nor anything of rate control.
  [[nodiscard]] bool cnps_full(cycle_t t) const {
    return settled_ == t ? cnps_were_full_ : cnps_full();
  }

  /// No response can.
  [[nodiscard]] bool responses_full(cycle_t t) const {
    return settled_ == t ? responses_were_full_ : responses_full();
  }

  /// After settle(): the next cycle in which something is due that no item brings about.
  [[nodiscard]] cycle_t next() const { return next_; }

  ring<leaving<packet_item>> payload;
  ring<leaving<packet_item>> direct;
  ring<leaving<sent_packet>> sent;
  ring<leaving<refetch>> refetches;
  ring<leaving<key_invalidation>> invalidations;
  ring<leaving<response_failure>> failures;
  ring<leaving<response_left>> answered;
  ring<leaving<rate_charge>> charges;

 private:
  /// Remembers what was taken of an input in the present cycle.
  template <class T>
  struct input_tap final : stream_tap<T> {
    void on_take(cycle_t /*t*/, const T& item) override { taken = item; }

    std::optional<T> taken;
  };

  /// `aside`: parked because its priority is paused or its rate lets it not send, which uses the
  /// cycle.
  enum class outcome : std::uint8_t { granted, blocked, parked, aside };

  // What comes in (tx_sched_rules.cpp)
  void command(cycle_t t, const qp_command& item);
  void start(sched_queue& queue, const qp_command& item);
  void discard(std::uint32_t qpn);
  void control(cycle_t t, const send_control& item);
  void has_left(cycle_t t, const payload_left& item);
  void payload_failed(cycle_t t, const payload_left& item);
  void hold_work(cycle_t t, work_item&& item);
  void drop_stale(cycle_t t, std::uint32_t qpn);
  void forget_works(sched_queue& queue);

  // Functions (turns.cpp)
  void look_at_vports(cycle_t t);
  void let_in(cycle_t t);
  bool grant_function(cycle_t t);
  std::int64_t offer(cycle_t t, std::uint16_t function);
  void enter(cycle_t t, std::uint16_t function);
  void leave_if_done(std::uint16_t function);
  void sweep();
  void fronts_wait_for(cycle_t t, std::uint16_t function, name_id reason);
  [[nodiscard]] std::uint32_t cost_of(const packet_item& packet) const;
  [[nodiscard]] std::uint32_t wire_bytes_of(const packet_item& packet) const;
  void admit(cycle_t t);

  // Rates of QPs, CNPs (rates.cpp)
  void limit(cycle_t t, const rate_limit& item);
  [[nodiscard]] bool rate_closed(cycle_t t, std::uint32_t qpn);
  void charge_rate(cycle_t t, const packet_item& packet);
  void choose_back(cycle_t t);
  void come_back(cycle_t t);
  bool grant_cnp(cycle_t t);
  // Pauses (pauses.cpp)
  [[nodiscard]] std::uint8_t halted(cycle_t t) const;
  [[nodiscard]] bool paused(cycle_t t, std::uint32_t qpn, std::uint16_t function) const;
  [[nodiscard]] unsigned priority_of(cycle_t t, std::uint32_t qpn, std::uint16_t function) const;
  void stop_requests(cycle_t t, std::uint32_t qpn);
  void stop_responses(cycle_t t, std::uint32_t qpn);
  void let_go(cycle_t t);

  // Requests (requests.cpp)
  std::int64_t grant_request(cycle_t t, std::uint16_t function);
  outcome try_grant(cycle_t t, std::uint32_t qpn);
  outcome grant_local(cycle_t t, std::uint32_t qpn);
  outcome fail(cycle_t t, std::uint32_t qpn);
  outcome block(cycle_t t, std::uint32_t qpn, name_id reason);
  packet_item packet_of(sched_queue& queue, const held_work& head, trace_ref history);
  void finish_work(cycle_t t, std::uint32_t qpn);
  void enter_round(cycle_t t, std::uint32_t qpn);
  bool unpark(cycle_t t, std::uint32_t qpn);
  void leave_round(std::uint32_t qpn);

  // Notes (notes.cpp)
  [[nodiscard]] sent_packet note_of(const sched_queue& queue, const held_work& head,
                                    trace_ref history) const;
  void add_note(cycle_t t, std::uint32_t qpn, sent_packet note);
  void forget_notes(sched_queue& queue);
  void line_up_note(std::uint32_t qpn);
  void send_notes(cycle_t t);
  void push_note(cycle_t t, sent_packet note);
  void see_drained(std::uint32_t qpn);
  void send_marks(cycle_t t);

  // Responses (responses.cpp)
  void hold_response(cycle_t t, const response_item& item);
  packet_item response_of(cycle_t t, std::uint32_t qpn);
  bool grant_control(cycle_t t);
  std::int64_t grant_read(cycle_t t, std::uint16_t function);
  std::int64_t try_read(cycle_t t, std::uint32_t qpn, std::uint16_t function);
  void line_up(cycle_t t, std::uint32_t qpn);
  response_line line_for(cycle_t t, std::uint32_t qpn);
  void leave_line(std::uint32_t qpn);
  void forget_responses(std::uint32_t qpn);
  [[nodiscard]] bool room_to_answer(std::uint32_t qpn) const;
  void report_failures(cycle_t t);
  void report_answered(cycle_t t);

  [[nodiscard]] bool slots_full() const {
    return works_ == stage_spec::tx_sched::Works ||
           (held_ >= stage_spec::tx_sched::WorkSlots && functions_.alone());
  }

  [[nodiscard]] bool responses_full() const {
    return responses_held_ == stage_spec::tx_sched::Responses;
  }

  [[nodiscard]] bool cnps_full() const { return cnps_.size() == stage_spec::rate_control::Cnps; }

  [[nodiscard]] bool anything_waits() const {
    return functions_.any() || !controls_.empty() || !cnps_.empty();
  }

  [[nodiscard]] bool nothing_of(std::uint16_t function) const {
    return requests_.empty(function) && reads_.empty(function);
  }

  void wake(cycle_t t) { next_ = std::min(next_, t); }

  [[nodiscard]] ps_t time_of(cycle_t t) const { return context_.clock.time_of(t); }

  [[nodiscard]] trace_site site() const { return site_; }

  nic_shared& nic_;
  sim_context& context_;
  trace_site site_;
  tx_sched_ports ports_;
  std::vector<sched_queue> queues_;
  std::vector<sched_responses> responses_;
  sched_functions functions_;
  qp_rates rates_;
  turn_lists requests_;
  turn_lists reads_;                ///< QPs whose next response is READ data
  std::uint64_t vports_seen_ = 0;   ///< changes of the level
  std::vector<port_share> shares_;  ///< what of it counts here
  std::uint32_t sent_bytes_ = 0;    ///< on the wire, of the packet just granted; 0 if nobody asks
  cycle_t next_work_ = NeverCycle;  ///< a work request will be complete
  ring<std::uint16_t> doubtful_;    ///< functions that may have nothing left
  ring<std::uint32_t> controls_;  ///< QPs whose next response is an acknowledge or an atomic result
  std::uint32_t back_ = NoNumber;  ///< a QP that comes back in this cycle, because of its rate
  ring<rate_limit> cnps_;          ///< to be sent
  ring<std::uint32_t> noting_;     ///< QPs with a held note that may go
  ring<std::uint32_t> marks_;      ///< QPs that owe the requester a mark, and can give it
  ring<response_failure> failures_;
  ring<response_left> answered_;
  std::uint64_t order_ = 0;
  // By priority: QPs that stopped because of it, be it in a former life.
  std::array<ring<std::uint32_t>, PriorityCount> stopped_requests_;
  std::array<ring<std::uint32_t>, PriorityCount> stopped_responses_;
  std::uint8_t stopped_ = 0;  ///< priorities of which there are any
  unsigned held_ = 0;         ///< slots: work requests, those of QPs in SQD excepted
  unsigned works_ = 0;        ///< work requests
  unsigned notes_ = 0;        ///< held
  unsigned inside_ = 0;  ///< packets of requests in payload_dma: each may fail, and lead to a note
  unsigned reads_inside_ = 0;
  unsigned ends_ = 0;  ///< saved READs whose last packet is there
  unsigned responses_held_ = 0;
  const std::uint32_t quantum_;
  const std::uint32_t window_;
  const std::uint32_t ack_interval_;
  cycle_t settled_ = NeverCycle;
  cycle_t next_ = NeverCycle;
  cycle_t sent_free_ = 0;    ///< of the notes' stream: the RTL pushes later
  bool mark_waits_ = false;  ///< the first in line has found no room in this cycle
  bool note_waits_ = false;
  bool slots_were_full_ = false;
  bool responses_were_full_ = false;
  bool cnps_were_full_ = false;
  input_tap<work_item> work_;
  input_tap<response_item> response_;
  input_tap<payload_left> left_;
  input_tap<qp_command> command_;
  input_tap<send_control> control_;
  input_tap<rate_limit> limit_;
  name_id order_reason_;
  name_id weight_reason_;
  name_id rate_reason_;
  name_id payload_reason_;
  name_id direct_reason_;
  name_id overtake_reason_;
  name_id sent_reason_;
  name_id invalidate_reason_;
  name_id answered_reason_;
  name_id data_reason_;
  name_id pause_reason_;
  std::array<name_id, SchedHolds> hold_reasons_{};
};

}  // namespace carillon
