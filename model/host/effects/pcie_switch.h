// A switch between the root port and the device: two ports, each with receive buffers of its own,
// and a queue in front of each. What comes in at one goes out at the other, by PCIe's rules of
// order.
//
// pcie.switch_latency_ps is from the first symbol at its port to the first symbol at the next
// receiver, which is what data sheets call cut-through latency and holds the PHYs on the way. So it
// keeps a TLP for what the next link's pcie.link_delay_ps leaves of that. Storing and forwarding
// counts it from the last symbol on. Off (not made) with pcie.switches = 0.
#pragma once

#include <cstdint>

#include <systemc>

#include "common/context.h"
#include "common/pcie_port.h"
#include "common/tlp_egress.h"
#include "host/fifo.h"

namespace carillon {

class pcie_switch final : public sc_core::sc_module {
 public:
  /// All its time is booked on `name`.
  pcie_switch(const sc_core::sc_module_name& name, sim_context& context);

  [[nodiscard]] pcie_port& towards_root() { return root_.port; }

  [[nodiscard]] pcie_port& towards_device() { return device_.port; }

 private:
  /// One port: what it receives leaves at the other one.
  class side final : private pcie_listener, private tlp_tap, private timed {
   public:
    side(const char* name, pcie_switch& owner, sim_context& context,
         const std::array<flow_credits, 3>& buffers);

    void face(side& other) { other_ = &other; }

    pcie_port port;

   private:
    void on_tlp(tlp* packet) override;

    void on_credits() override { egress_.pump(); }

    void on_tlp(ps_t departure, const tlp& packet) override;
    void on_time(ps_t now, std::uint64_t what) override;
    unsigned on_debug(tlm::tlm_generic_payload& access) override;
    bool on_direct_access(tlm::tlm_generic_payload& access, tlm::tlm_dmi& granted) override;

    sim_context& context_;
    pcie_switch& owner_;
    side* other_ = nullptr;
    tlp_egress egress_;
    fifo<tlp*> inside_;  ///< received, not yet in the other side's queue
  };

  const name_id place_;
  const ps_t hold_;
  const bool whole_;  ///< forwards what it has stored
  side root_;
  side device_;
};

}  // namespace carillon
