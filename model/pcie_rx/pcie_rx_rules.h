// What pcie_rx makes of a TLP: where it goes, what is counted, and how the history of what leaves
// follows from what came. The model and its twin use the same.
#pragma once

#include <array>
#include <vector>

#include "common/function_map.h"
#include "common/items.h"
#include "common/level.h"
#include "common/nic_shared.h"
#include "common/pcie_port.h"
#include "common/ring.h"
#include "common/stage.h"
#include "common/tlp_codec.h"
#include "common/twin.h"
#include "pcie_rx/pcie_arrivals.h"

namespace carillon {

struct pcie_rx_ports {
  enum index_e : unsigned {
    Tlps,
    UarWrites,
    UarReads,
    RegisterWrites,
    RegisterReads,
    Completions,
    Refusals,
    Configs,
    Errors,
    count_
  };

  pcie_port& link;  ///< credits go home by it
  stream<tlp_arrival>& tlps;
  level<function_map>& functions;
  stream<mmio_write>& uar_writes;
  stream<mmio_read>& uar_reads;
  stream<mmio_write>& register_writes;
  stream<mmio_read>& register_reads;
  stream<read_completion>& completions;
  stream<mmio_answer>& refusals;  ///< requests that are answered "unsupported request"
  stream<config_request>& configs;
  stream<pcie_error>& errors;  ///< always taken

  [[nodiscard]] std::vector<stream_base*> all() const {
    return {&tlps,        &uar_writes, &uar_reads, &register_writes, &register_reads,
            &completions, &refusals,   &configs,   &errors};
  }

  [[nodiscard]] twin_levels levels() const {
    twin_levels levels;
    levels.functions = &functions;
    return levels;
  }
};

/// What becomes of a TLP.
struct tlp_verdict {
  tlp_header header;
  pcie_rx_ports::index_e output = pcie_rx_ports::Tlps;  ///< Tlps: none, it is dropped
  unsigned beats = 1;                                   ///< of what leaves
  byte_range range;                                     ///< of a memory request
  bar_hit hit;                                          ///< likewise
  bool missed = false;                                  ///< ... of which no BAR knows
  bool unsupported = false;                             ///< refused or dropped for another reason
  bool reported = false;                                ///< to the function's status registers

  [[nodiscard]] bool leaves() const { return output != pcie_rx_ports::Tlps; }
};

class pcie_rx_rules final : public twin_rules, private stream_tap<tlp_arrival> {
 public:
  /// The RTL's, which follow the TLPs by themselves.
  pcie_rx_rules(nic_shared& nic, trace_site site, const pcie_rx_ports& io)
      : pcie_rx_rules(nic, site, io, true) {}

  /// The model's are told of each TLP that is taken.
  pcie_rx_rules(nic_shared& nic, trace_site site, const pcie_rx_ports& io, bool rtl);

  std::vector<wait_list> waits() override;
  departure departs(unsigned port, cycle_t visible) override;

  [[nodiscard]] bool books(unsigned port) const override { return port != pcie_rx_ports::Errors; }

  [[nodiscard]] item_handles handles() const override { return {{}, departed_, 0}; }

  /// Of a TLP that is to be taken in cycle t.
  [[nodiscard]] tlp_verdict judge(cycle_t t, const tlp& packet) const;

  /// Its output has credits for it.
  [[nodiscard]] bool room(cycle_t t, const tlp_verdict& verdict) const;

  /// Counts it and sends its credits home. Returns its history up to cycle t, in which it was
  /// taken.
  trace_ref account(cycle_t t, const tlp_arrival& taken, const tlp_verdict& verdict);

  /// On whose account the way of a TLP is booked.
  [[nodiscard]] trace_site booked_for(const tlp& packet) const { return {site_.place, packet.row}; }

  [[nodiscard]] stream_base& output(unsigned port) const { return *outputs_[port]; }

  /// The cycle in which what a TLP leads to is visible, if it is taken in cycle t. Its beats are
  /// contiguous, and the last one is not ahead of the TLP's own.
  [[nodiscard]] static cycle_t visible(cycle_t t, const tlp_arrival& taken, unsigned beats);

  [[nodiscard]] static pcie_error error_of(const tlp_verdict& verdict);
  /// The payload of a completion in a buffer of its own.
  [[nodiscard]] buffer_ref body_of(const tlp& packet) const;

 private:
  /// What leaves and when it was taken.
  struct leaving {
    trace_ref history;
    trace_site site;
    cycle_t taken = 0;
    buffer_ref body;
  };

  void on_take(cycle_t t, const tlp_arrival& item) override;

  nic_shared& nic_;
  trace_site site_;
  pcie_rx_ports io_;
  std::vector<stream_base*> outputs_;
  cycle_t waiting_from_ = 0;  ///< since when the front TLP may wait for its own output
  name_id clock_sync_;
  name_id order_;
  name_id output_;
  std::array<ring<leaving>, pcie_rx_ports::count_> leaving_;  ///< of the RTL's
  buffer_ref departed_;
};

}  // namespace carillon
