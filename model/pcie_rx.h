// pcie_rx: decodes incoming TLPs and sends them where they belong.
//
// 40 cycles from a TLP's first symbol to its first beat (PHY, MAC, header decode), one beat a cycle
// from then on. A TLP longer than a beat arrives slower than the core takes it away; its first beat
// is held back just so long that its beats stay contiguous: the last one is visible no earlier than
// 39 cycles after the edge at or before its last symbol. The first symbol starts the count: on a
// core edge it enters there, else at the next edge, and the gap is a wait of its own
// (`clock_sync`).
#pragma once

#include <deque>

#include "common/function_map.h"
#include "common/items.h"
#include "common/level.h"
#include "common/nic_shared.h"
#include "common/pcie_port.h"
#include "common/stage.h"
#include "common/tlp_codec.h"

namespace carillon {

class pcie_rx final : public stage, public pcie_listener {
 public:
  struct ports {
    pcie_port& link;
    const level<function_map>& functions;
    stream<mmio_write>& uar_writes;
    stream<mmio_read>& uar_reads;
    stream<mmio_write>& register_writes;
    stream<mmio_read>& register_reads;
    stream<read_completion>& completions;
    stream<mmio_answer>& refusals;  ///< reads that no BAR serves
    stream<config_request>& configs;
    stream<pcie_error>& errors;  ///< always taken
    /// Told when credits came home, for the transmit side of the same port.
    std::function<void()> on_credits;
  };

  pcie_rx(const sc_core::sc_module_name& name, nic_shared& nic, ports connected);

  void on_tlp(tlp* packet) override;

  void on_credits() override { ports_.on_credits(); }

 private:
  struct arrival {
    tlp* packet;
    cycle_t entry;  ///< of the first symbol
    cycle_t last;   ///< of the last symbol
  };

  void evaluate(cycle_t t) override;
  /// Sends the front arrival on, drops it, or asks for the credit that its output lacks.
  void route(cycle_t t, const arrival& front);
  void route_write(cycle_t t, const arrival& front, const tlp_header& header);
  void route_read(cycle_t t, const arrival& front, const tlp_header& header);
  void route_completion(cycle_t t, const arrival& front, const tlp_header& header);
  void route_config(cycle_t t, const arrival& front, const tlp_header& header);
  void refuse(cycle_t t, const arrival& front, const tlp_header& header, std::uint16_t function);
  void report(cycle_t t, const tlp_header& header, std::uint16_t function);
  template <class Item>
  void forward(cycle_t t, const arrival& front, stream<Item>& output, Item item,
               unsigned beats = 1);
  void retire(cycle_t t, unsigned beats);

  nic_shared& nic_;
  ports ports_;
  std::deque<arrival> arrivals_;
  cycle_t busy_until_ = 0;    ///< the datapath carries the previous TLP's beats
  cycle_t waiting_from_ = 0;  ///< since when the front arrival's trace is booked
  name_id clock_sync_;
  name_id order_;
  name_id output_;
};

}  // namespace carillon
