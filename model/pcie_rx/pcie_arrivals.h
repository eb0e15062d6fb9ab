// The receiving end of the link as far as pcie_rx is concerned: TLPs in the order in which they
// come, each takeable from the edge at or after its first symbol.
//
// A TLP is known ahead of its arrival, so however many are on their way they wait here in time; the
// stream has room for those next in line.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "common/clock.h"
#include "common/pcie_port.h"
#include "common/ring.h"
#include "common/stream.h"
#include "common/tlp.h"

namespace carillon {

/// Keeps a TLP as long as somebody may still look at its bytes.
class tlp_ref {
 public:
  tlp_ref() = default;

  /// Takes over the caller's own reference.
  explicit tlp_ref(tlp* packet) : packet_(packet) {}

  tlp_ref(const tlp_ref& other) : packet_(other.packet_) {
    if (packet_ != nullptr) {
      packet_->carrier().acquire();
    }
  }

  tlp_ref(tlp_ref&& other) noexcept : packet_(std::exchange(other.packet_, nullptr)) {}

  tlp_ref& operator=(const tlp_ref& other) {
    tlp_ref copy(other);
    std::swap(packet_, copy.packet_);
    return *this;
  }

  tlp_ref& operator=(tlp_ref&& other) noexcept {
    std::swap(packet_, other.packet_);
    return *this;
  }

  ~tlp_ref() {
    if (packet_ != nullptr) {
      packet_->release();
    }
  }

  [[nodiscard]] tlp& operator*() const { return *packet_; }

  [[nodiscard]] tlp* operator->() const { return packet_; }

 private:
  tlp* packet_ = nullptr;
};

/// A TLP on the link, with its payload in beats of 64 bytes. Its history is the TLP's own: it is
/// booked on the account of the stage for which it comes.
struct tlp_arrival {
  trace_ref trace;  ///< none
  tlp_ref packet;
  cycle_t entry = 0;  ///< of the first symbol
  cycle_t last = 0;   ///< of the last symbol
};

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
