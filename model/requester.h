// requester: what was sent and not yet acknowledged, what to do when the acknowledge does not come,
// and the completion of send WQEs.
//
// tx_sched tells it of every packet in PSN order. An ACK settles all packets up to its PSN, a READ
// or an atomic is settled by its own response. What is lost is sent again from the oldest
// unacknowledged packet on (go-back-N): the requester raises the queue's epoch and tells tx_sched
// where to go on; the WQEs are fetched again, since their slots may not be used anew before they
// have completed.
//
// Every WQE completes exactly once and in the order of posting: with success when it is settled,
// with its own error when it is the one that fails the queue, flushed when it is behind that one.
// One completion a cycle, ten cycles after the acknowledge, behind the data of a READ.
#pragma once

#include <memory>
#include <vector>

#include "common/deadlines.h"
#include "common/held_history.h"
#include "common/items.h"
#include "common/nic_shared.h"
#include "common/rate_items.h"
#include "common/ring.h"
#include "common/stage.h"
#include "common/stream.h"
#include "gen/contexts.h"
#include "gen/wqe.h"
#include "requester/response_landing.h"
#include "requester/send_window.h"

namespace carillon {

class key_lookup;

cqe_item cqe_of(const outstanding_wqe& wqe, std::uint8_t syndrome);

class requester : public stage {
 public:
  struct ports {
    stream<sent_packet>& sent;         ///< granted packets and failed WQEs - tx_sched
    stream<rx_packet>& responses;      ///< ACKs, NAKs, READ data, atomic results - rx_parser
    stream<qp_command>& commands;      ///< state changes - pcie_endpoint
    stream<qp_error>& faults;          ///< the other half of a QP failed - responder
    stream<context_line>& key_lines;   ///< keys of READ buffers - qpc_ram
    stream<context_read>& key_reads;   ///< - qpc_ram
    stream<cqe_item>& cqes;            ///< completions of send WQEs - completion
    stream<send_control>& controls;    ///< - tx_sched
    stream<dma_write>& writes;         ///< data of responses - dma_engine
    stream<qp_error>& errors;          ///< a QP or its send queue failed - qpc_ram
    stream<qp_error>& told_responder;  ///< - responder
    stream<async_event>& events;       ///< - completion
    stream<congestion_note>* notes = nullptr;  ///< CNPs, marked packets - rate_control, if any
  };

  requester(const sc_core::sc_module_name& name, nic_shared& shared, const ports& io);
  ~requester() override;

 private:
  /// One send queue.
  struct send_queue {
    send_window window;
    qp_state state = qp_state::Reset;
    bool reliable = true;  ///< RC
    std::uint32_t pd = 0;
    std::uint16_t function = 0;
    std::uint32_t life = 0;  ///< counts resets
    // What it may try, and how much of that is left until something is acknowledged.
    std::uint8_t retry_count = 0;
    std::uint8_t rnr_retry = 0;
    std::uint8_t ack_timeout = 0;
    std::uint8_t retries_left = 0;
    std::uint8_t rnr_left = 0;
    std::uint8_t epoch = 0;      ///< go-back count; notes of an older one are of no interest
    bool halted = false;         ///< waits for a receiver that was not ready
    bool error = false;          ///< what has not completed is flushed
    bool gap_known = false;      ///< the queue has gone back because of the gap at its oldest PSN
    std::uint32_t gap_seen = 0;  ///< ... and this answer beyond it has come since, the last one
    /// A NAK that ends the queue, for a packet that was just being sent again.
    cqe_syndrome late = cqe_syndrome::None;
    std::uint8_t late_vendor = 0;
    std::uint32_t late_psn = 0;
    // What tx_sched was told last.
    std::uint32_t told_oldest = 0;
    std::uint8_t reads_done = 0;
    // SQD: WQE indices behind the last WQE told of, in this epoch and in any.
    std::uint16_t told_to = 0;
    std::uint16_t furthest_to = 0;
    bool marked = false;   ///< nothing else has begun
    bool drained = false;  ///< the event was raised
    unsigned landings = 0;
    bool queued = false;  ///< it has something to complete and is in line

    [[nodiscard]] bool active() const {
      return state != qp_state::Reset && state != qp_state::Init && state != qp_state::Rtr;
    }

    [[nodiscard]] bool listens() const { return active() && reliable && !error && !halted; }
  };

  /// Looks at the timers when the earliest deadline may have come, and at nothing else: a deadline
  /// that has moved costs no evaluation of the stage.
  class alarm_clock final : public timed {
   public:
    explicit alarm_clock(requester& owner) : timed(owner.context_.line), owner_(owner) {}

    /// `cycle` is the one that `now` is the edge of.
    void on_time(ps_t now, std::uint64_t cycle) override;

    /// The owner will be evaluated in `deadline`, which has not come.
    void arm(cycle_t t, cycle_t deadline);

   private:
    requester& owner_;
    cycle_t armed_ = NeverCycle;
  };

  void evaluate(cycle_t t) override;

  // What comes in (requester.cpp)
  void take_command(cycle_t t);
  void start(cycle_t t, send_queue& queue, const qp_command& item);
  void reset(send_queue& queue, std::uint32_t qpn);
  void take_sent(cycle_t t);
  void take_fault(cycle_t t);

  // Responses (requester/responses.cpp)
  void take_response(cycle_t t);
  void notified(cycle_t t, const rx_packet& cnp);
  void acknowledged(cycle_t t, const rx_packet& response);
  void refused(cycle_t t, const rx_packet& response);
  void fatal_nak(cycle_t t, std::uint32_t qpn, send_queue& queue, std::uint32_t psn,
                 cqe_syndrome syndrome, std::uint8_t vendor);
  void answered(cycle_t t, const rx_packet& response);
  void accept(cycle_t t, send_queue& queue, const rx_packet& response);
  void land(cycle_t t);
  void landed(cycle_t t, response_landing& landing);
  window_step settle(cycle_t t, std::uint32_t qpn, send_queue& queue, std::uint32_t end,
                     const trace_ref* evidence);
  trace_ref join(trace_ref sent, trace_ref acknowledge, cycle_t t);
  send_queue* addressee(const rx_packet& response);

  // When something goes wrong (requester/recovery.cpp)
  void progress(cycle_t t, std::uint32_t qpn, send_queue& queue);
  void start_timer(cycle_t t, std::uint32_t qpn, const send_queue& queue);
  void expire(cycle_t t);
  void gap(cycle_t t, std::uint32_t qpn, send_queue& queue, std::uint32_t beyond);
  static void look_for_new_gap(send_queue& queue, std::uint32_t beyond);
  void retry(cycle_t t, std::uint32_t qpn, send_queue& queue, name_id reason,
             vendor_syndrome vendor);
  void receiver_not_ready(cycle_t t, std::uint32_t qpn, send_queue& queue, std::uint8_t code);
  void restart(cycle_t t, std::uint32_t qpn, send_queue& queue, name_id reason);
  void fail(cycle_t t, std::uint32_t qpn, send_queue& queue, outstanding_wqe& wqe,
            cqe_syndrome syndrome, vendor_syndrome vendor);
  void stop(cycle_t t, std::uint32_t qpn, send_queue& queue);
  void check_head(cycle_t t, std::uint32_t qpn, send_queue& queue);
  void tell_progress(std::uint32_t qpn, send_queue& queue);

  // What goes out (requester.cpp)
  void check_drained(std::uint32_t qpn, send_queue& queue);
  void enqueue(std::uint32_t qpn, send_queue& queue);
  [[nodiscard]] bool completable(const send_queue& queue) const;
  void complete(cycle_t t);
  [[nodiscard]] std::uint8_t syndrome_of(const send_queue& queue) const;
  void count(std::uint16_t function, std::uint8_t syndrome);
  void send_out(cycle_t t);
  [[nodiscard]] cycle_t cycles_of(std::uint64_t ns) const;

  [[nodiscard]] send_queue* find(std::uint32_t qpn) const {
    return qpn < queues_.size() ? queues_[qpn].get() : nullptr;
  }

  nic_shared& shared_;
  ports io_;
  std::vector<std::unique_ptr<send_queue>> queues_;  ///< by QP number; made by the first command
  deadlines timers_;
  alarm_clock alarm_;
  landing_queue landings_;
  std::unique_ptr<key_lookup> keys_;
  ring<std::uint32_t> completable_;  ///< QPs whose oldest WQE completes, in order of the event
  ring<send_control> controls_;
  ring<qp_error> errors_;
  ring<qp_error> faults_;
  ring<async_event> events_;
  cycle_t full_in_ = NeverCycle;  ///< the last cycle in which a response found all slots taken
  name_id order_;
  name_id acknowledge_;
  name_id cqe_credit_;
  name_id write_credit_;
  name_id write_port_;
  const std::uint32_t progress_step_;
  name_id ack_timeout_;
  name_id go_back_;
  name_id rnr_timer_;
};

}  // namespace carillon
