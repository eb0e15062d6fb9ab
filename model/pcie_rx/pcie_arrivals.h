// The receiving end of the link as far as pcie_rx is concerned: TLPs in the order in which they
// come, each takeable from the edge at or after its first symbol.
//
// A TLP is known ahead of its arrival, so however many are on their way they wait here in time; the
// stream has room for those next in line.
#pragma once

#include <functional>
#include <string>

#include "common/clock.h"
#include "common/pcie_port.h"
#include "common/ring.h"
#include "common/stream.h"
#include "common/tlp_arrival.h"

namespace carillon {

class pcie_arrivals final : public clocked, public pcie_listener {
 public:
  /// `on_credits` is told when credits came home, for the transmit side of the same port.
  pcie_arrivals(sim_context& context, const std::string& name, pcie_port& link,
                std::function<void()> on_credits);

  [[nodiscard]] stream<tlp_arrival>& tlps() { return tlps_; }

  void on_tlp(tlp* packet) override;

  void on_credits() override { on_credits_(); }

  /// There is room for the next one again.
  void on_cycle(cycle_t t) override;

  [[nodiscard]] std::string path() const override { return tlps_.name(); }

 private:
  bool push(cycle_t t, tlp_arrival& arrival);

  sim_context& context_;
  std::function<void()> on_credits_;
  stream<tlp_arrival> tlps_;
  ring<tlp_arrival> further_;  ///< those that the stream has no room for
  ps_t gone_by_ = 0;           ///< when the last symbol of the TLP before has come
};

}  // namespace carillon
