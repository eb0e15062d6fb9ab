// pcie_rx: decodes incoming TLPs and sends them where they belong.
//
// 40 cycles from a TLP's first symbol to its first beat (PHY, MAC, header decode), one beat a cycle
// from then on. A TLP longer than a beat arrives slower than the core takes it away; its first beat
// is held back just so long that its beats stay contiguous: the last one is visible no earlier than
// 39 cycles after the edge at or before its last symbol. The first symbol starts the count: on a
// core edge it enters there, else at the next edge, and the gap is a wait of its own
// (`clock_sync`). rtl/pcie_rx/pcie_rx.sv is its twin.
#pragma once

#include "common/stage.h"
#include "pcie_rx/pcie_rx_rules.h"

namespace carillon {

class pcie_rx final : public stage {
 public:
  static constexpr const char* Row = "pcie_rx";
  using ports = pcie_rx_ports;
  using rules = pcie_rx_rules;

  pcie_rx(const sc_core::sc_module_name& name, nic_shared& nic, const ports& connected);

 private:
  /// What a TLP that is taken in cycle t leads to.
  struct outcome {
    cycle_t t;
    const tlp_arrival& taken;
    const tlp_verdict& verdict;
    trace_ref history;
  };

  void evaluate(cycle_t t) override;
  void send_on(const outcome& what);
  template <class Item>
  void forward(const outcome& what, stream<Item>& output, Item item);
  [[nodiscard]] static mmio_write write_of(const outcome& what);
  [[nodiscard]] static mmio_read read_of(const outcome& what);
  [[nodiscard]] static mmio_answer refusal_of(const outcome& what);
  [[nodiscard]] static config_request config_of(const outcome& what);
  [[nodiscard]] read_completion completion_of(const outcome& what) const;

  ports ports_;
  rules rules_;
};

}  // namespace carillon
