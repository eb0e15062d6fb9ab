// wqe_fetch: from a doorbell to the WQE's bytes.
//
// Lookup of base and state in the context RAM (5 cycles), arbiter over the QPs with work (10), DMA
// read, 9 cycles to the parser. Round robin in arrival order; one grant a cycle reads at most
// GrantWqebbs WQEBBs of one QP, never at or beyond its producer index, never over the ring's end or
// a 4 KiB boundary. A request is sent only with room for its WQEBBs reserved at the parser; should
// unfinished WQEs of several QPs come to hold all of that room, they are given up but for one, and
// read again later, so that one can be finished. Doorbells coalesce: a QP is pending once, its
// producer moves by modular maximum. A BlueFlame WQE is handed on as it is if it is the QP's next
// and nothing of the QP is pending or in flight; otherwise it is a doorbell.
//
// A send queue that goes back is fetched again from an older index on: what was read for it before
// is given up, and what it hands on carries its new epoch.
//
// docs/stages/wqe_fetch.md has the timing; rtl/wqe_fetch/wqe_fetch.sv is its twin.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/items.h"
#include "common/nic_shared.h"
#include "common/ring.h"
#include "common/stage.h"
#include "common/stream.h"
#include "common/twin.h"
#include "wqe_fetch/wqe_fetch_core.h"
#include "wqe_fetch/wqe_fetch_history.h"

namespace carillon {

struct wqe_fetch_ports {
  enum index_e : unsigned {
    Doorbells,
    ContextReads,
    ContextLines,
    Reads,
    Done,
    Commands,
    Refetches,
    Wqes
  };

  stream<doorbell>& doorbells;          ///< from uar
  stream<context_read>& context_reads;  ///< to qpc_ram
  stream<context_line>& context_lines;  ///< from qpc_ram
  stream<dma_read>& reads;              ///< to dma_engine
  stream<dma_read_done>& done;          ///< from dma_engine
  stream<qp_command>& commands;         ///< from pcie_endpoint
  stream<refetch>& refetches;           ///< from tx_sched
  stream<wqe_item>& wqes;               ///< to wqe_parser

  [[nodiscard]] std::vector<stream_base*> all() const {
    return {&doorbells, &context_reads, &context_lines, &reads,
            &done,      &commands,      &refetches,     &wqes};
  }
};

/// What the stage does with what it takes. It follows from the inputs and the room at the outputs
/// alone, so the model and the RTL share it: the one sends it, the other finds histories in it.
class wqe_fetch_rules final : public twin_rules {
 public:
  template <class T>
  struct sent {
    T item;
    cycle_t pushed = 0;
    cycle_t visible = 0;
    unsigned beats = 1;
  };

  wqe_fetch_rules(nic_shared& nic, trace_site site, const wqe_fetch_ports& io);

  std::vector<wait_list> waits() override;
  departure departs(unsigned port, cycle_t visible) override;

  [[nodiscard]] bool books(unsigned port) const override { return port == wqe_fetch_ports::Wqes; }

  /// Does in cycle t what the items taken in it lead to, and whatever else is due.
  void settle(cycle_t t) override;

  /// A doorbell cannot be taken in cycle t: as many lookups are under way as there is room for.
  [[nodiscard]] bool lookups_full(cycle_t t) const;

  // After settle():
  /// Beats of room at the parser without which nothing can be read, or 0.
  [[nodiscard]] unsigned short_of() const { return short_of_; }

  /// The next cycle in which something is due that no item brings about.
  [[nodiscard]] cycle_t next() const { return next_; }

  ring<sent<context_read>> lookups;  ///< that leave
  ring<sent<dma_read>> reads;
  ring<sent<wqe_item>> wqes;

 private:
  /// Remembers what was taken of an input in the present cycle.
  template <class T>
  struct input_tap final : stream_tap<T> {
    void on_take(cycle_t /*t*/, const T& item) override { taken = item; }

    std::optional<T> taken;
  };

  void control(cycle_t t);
  void learn(cycle_t t, const context_line& line);
  void answer(cycle_t t);
  void hand_on(cycle_t t, wqe_fetch_core::ended_read& ended);
  void rung(cycle_t t);
  void execute(cycle_t t, doorbell item);
  void give_turn(cycle_t t);
  void give_back(cycle_t t, unsigned wqebbs);

  [[nodiscard]] ps_t time_of(cycle_t t) const { return nic_.context.clock.time_of(t); }

  nic_shared& nic_;
  trace_site site_;
  trace_site uar_site_;  ///< handing on a BlueFlame WQE is the last cycle of the UAR's budget
  name_id order_reason_;
  wqe_fetch_ports io_;
  wqe_fetch_core core_;
  wqe_fetch_history history_;
  input_tap<doorbell> doorbell_;
  input_tap<context_line> line_;
  input_tap<dma_read_done> done_;
  input_tap<qp_command> command_;
  input_tap<refetch> refetch_;
  cycle_t settled_ = NeverCycle;
  cycle_t port_free_ = 0;  ///< of the WQEs' stream: the RTL pushes later
  unsigned short_of_ = 0;
  cycle_t next_ = NeverCycle;
};

class wqe_fetch final : public stage {
 public:
  static constexpr const char* Row = "wqe_fetch";
  using ports = wqe_fetch_ports;
  using rules = wqe_fetch_rules;

  wqe_fetch(const sc_core::sc_module_name& name, nic_shared& nic, const ports& io);

  /// The twin's tables have a fixed size.
  static void check_twin(const nic_shared& nic);

 private:
  void evaluate(cycle_t t) override;
  void take_inputs(cycle_t t);
  void take_doorbell(cycle_t t);
  void send();

  nic_shared& nic_;
  ports io_;
  rules rules_;
};

}  // namespace carillon
