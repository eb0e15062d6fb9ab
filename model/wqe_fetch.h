// wqe_fetch: from a doorbell to the WQE's bytes.
//
// Lookup of base and state in the context RAM (5 cycles), arbiter over the QPs with work (10), DMA
// read, 9 cycles to the parser. Round robin in arrival order; one grant a cycle reads at most
// GrantWqebbs WQEBBs of one QP, never at or beyond its producer index, never over the ring's end or
// a 4 KiB boundary. A request is sent only with room for its WQEBBs reserved at the parser; should
// unfinished WQEs of several QPs come to hold all of that room, all but one are given up and read
// again later, so that one can be finished. Doorbells coalesce: a QP is pending once, its producer
// moves by modular maximum. A BlueFlame WQE is handed on as it is if it is the QP's next and
// nothing of the QP is pending or in flight; otherwise it is a doorbell.
//
// A send queue that goes back is fetched again from an older index on: what was read for it before
// is given up, and what it hands on carries its new epoch.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "common/items.h"
#include "common/nic_shared.h"
#include "common/stage.h"

namespace carillon {

class wqe_fetch final : public stage {
 public:
  struct ports {
    stream<doorbell>& doorbells;
    stream<context_read>& context_reads;
    stream<context_line>& context_lines;
    stream<dma_read>& reads;
    stream<dma_read_done>& done;
    stream<qp_command>& commands;
    stream<refetch>& refetches;
    stream<wqe_item>& wqes;
  };

  wqe_fetch(const sc_core::sc_module_name& name, nic_shared& nic, const ports& connected);

 private:
  static constexpr std::uint32_t Nobody = 0xffffffff;

  /// What rang for a WQE: the history of the doorbell that covered it first.
  struct rung {
    std::uint16_t producer = 0;
    trace_ref trace;
    cycle_t known = 0;  ///< when its lookup was answered
  };

  struct queue_state {
    std::uint64_t base = 0;
    std::uint16_t producer = 0;  ///< first index not posted
    std::uint16_t fetch = 0;     ///< first index not requested
    std::uint16_t handed = 0;    ///< first index never handed on; before it: WQEs that come again
    std::uint16_t function = 0;
    std::uint8_t log_size = 0;
    std::uint8_t epoch = 0;  ///< go-back count
    bool reset = false;      ///< not moved to RTS since
    bool queued = false;     ///< on the way to the arbiter or in its FIFO
    std::uint32_t generation =
        0;  ///< counts resets: what was asked for before one is not wanted any more
    std::uint32_t round = 0;      ///< counts resets and go-backs: likewise, for reads
    std::uint32_t lookups = 0;    ///< doorbells whose lookup is under way
    std::uint32_t in_flight = 0;  ///< reads under way, those of the present round
    std::deque<rung> rings;
    // A WQE of which only the first WQEBBs have arrived.
    buffer_ref partial;
    std::uint16_t partial_index = 0;
    std::uint8_t partial_wqebbs = 0;
  };

  struct candidate {
    std::uint32_t qpn = 0;
    cycle_t eligible = 0;
  };

  struct lookup {
    doorbell rang;
    std::uint32_t generation = 0;
  };

  struct fetch {
    std::uint32_t qpn = 0;
    std::uint16_t index = 0;
    std::uint8_t wqebbs = 0;
    std::uint32_t round = 0;
    buffer_ref bytes;
    bool done = false;
    trace_ref trace;
    dma_status status = dma_status::ok;
  };

  void evaluate(cycle_t t) override;
  void take_command(cycle_t t);
  void take_refetch(cycle_t t);
  void take_doorbell(cycle_t t);
  bool execute_blueflame(cycle_t t);
  void take_line(cycle_t t);
  void learn(cycle_t t, const doorbell& rang, const context_line& line);
  void reset(cycle_t t, std::uint32_t qpn);
  void grant(cycle_t t);
  /// Gives up the unfinished WQEs of all QPs but one.
  void preempt(cycle_t t);
  void give_up(cycle_t t, queue_state& queue);
  void take_done(cycle_t t);
  void emit(cycle_t t, fetch& front);
  /// The QP's WQE is complete, or cannot become so: it goes to the parser.
  void hand_on(cycle_t t, const fetch& from, unsigned ds);
  [[nodiscard]] const rung* covering(const queue_state& queue, std::uint16_t index) const;
  [[nodiscard]] trace_ref history(cycle_t t, const fetch& from, std::uint16_t index);
  /// The history with which the read of the QP's next WQEBBs leaves.
  [[nodiscard]] trace_ref reason_to_read(cycle_t t, std::uint32_t qpn) const;
  [[nodiscard]] unsigned chunk(const queue_state& queue) const;

  [[nodiscard]] bool lookups_full() const {
    return lookups_.size() >= ports_.context_lines.depth();
  }

  nic_shared& nic_;
  ports ports_;
  trace_site uar_site_;  ///< handing on a BlueFlame WQE is the last cycle of the UAR's budget
  std::vector<queue_state> queues_;
  std::deque<lookup> lookups_;
  std::deque<candidate> coming_;     ///< in the arbiter's pipeline
  std::deque<std::uint32_t> ready_;  ///< QPs with work, in the order in which they are served
  unsigned held_ = 0;  ///< beats reserved for WQEBBs that wait for the rest of their WQE
  std::uint32_t favoured_ =
      Nobody;  ///< QP that is served first until its unfinished WQE is complete
  std::deque<fetch> fetches_;
  std::uint64_t first_fetch_ = 0;  ///< number of the oldest fetch
  name_id arbiter_reason_;
  name_id order_reason_;
  name_id batch_reason_;
  name_id go_back_reason_;
};

}  // namespace carillon
