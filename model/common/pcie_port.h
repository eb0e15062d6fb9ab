// One end of a PCIe link: serializer, flow-control credits and TLM-2.0 sockets.
//
// Each direction of the link is one socket pair. A TLP is sent as BEGIN_REQ with the flight time to
// its first symbol as annotated delay and answered TLM_COMPLETED; the receiver is told at once,
// ahead of the arrival.
//
// Timing: a TLP of header h and payload p bytes occupies the serializer for (h + p + 8 framing)
// bytes (4 more with ECRC) at the link's effective rate: lanes * GT/s * encoding, less the DLLP
// share as a fluid derate (pcie-bench's model, docs/spec/ tlp.toml). Times are kept as integer
// fractions, never accumulated.
//
// Credits: one header credit per TLP and one data credit per 16 bytes of payload, in each of three
// classes. The sender subtracts when it sends; the receiver's consumed() sends them home. A return
// counts from its arrival on, that instant included.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <systemc>
#include <tlm>
#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>

#include "common/context.h"
#include "common/pcie_rate.h"
#include "common/tlp.h"

namespace carillon {

/// Told of TLPs that are on their way and of credits that came home.
class pcie_listener {
 public:
  virtual ~pcie_listener() = default;
  /// `packet` will arrive: packet->first_symbol and last_symbol lie in the future. The listener
  /// owns it now, calls pcie_port::consumed when its buffer space is free, and releases it.
  virtual void on_tlp(tlp* packet) = 0;
  /// At time now: credits arrived; can_send may have become true.
  virtual void on_credits() = 0;

  // Outside time. The default is that there is nothing to see behind this end of the link.
  /// Serves a debug access; the number of bytes transferred.
  virtual unsigned on_debug(tlm::tlm_generic_payload& /*access*/) { return 0; }

  /// Grants a pointer, as tlm_fw_direct_mem_if::get_direct_mem_ptr does.
  virtual bool on_direct_access(tlm::tlm_generic_payload& /*access*/, tlm::tlm_dmi& /*granted*/) {
    return false;
  }
};

/// Sees TLPs as they leave, in the order in which they are sent.
class tlp_tap {
 public:
  virtual ~tlp_tap() = default;
  /// `departure` is the time at which the first symbol leaves, now or later.
  virtual void on_tlp(ps_t departure, const tlp& packet) = 0;
};

struct flow_credits {
  std::uint32_t header = 0;  ///< TLPs; 0 is infinite
  std::uint32_t data = 0;    ///< units of 16 bytes; 0 is infinite
};

class pcie_port : public sc_core::sc_module, private timed {
 public:
  /// `advertised`: the receive buffers this end grants to the other, by tlp_class.
  pcie_port(const sc_core::sc_module_name& name, sim_context& context,
            const std::array<flow_credits, 3>& advertised);

  tlm_utils::simple_initiator_socket<pcie_port> transmit;
  tlm_utils::simple_target_socket<pcie_port> receive;

  /// Binds both directions and exchanges the initial credits.
  void connect(pcie_port& other);

  /// The credits alone, for a link whose sockets go through something in between.
  void introduce(pcie_port& other);

  void listen(pcie_listener& listener) { listener_ = &listener; }

  /// Flights and waits of what it sends are booked on `place` instead of its own name.
  void book_on(name_id place) { place_ = place; }

  void tap(tlp_tap& observer) { taps_.push_back(&observer); }

  /// Credits are there for such a TLP now.
  [[nodiscard]] bool can_send(tlp_class flow, std::uint32_t payload_bytes) const;

  /// When the serializer can take another first symbol: at or before now if it is idle.
  [[nodiscard]] ps_t free_at() const;

  /// The message of the TLP that the serializer sent last: what follows of the same message waits
  /// for nobody but itself.
  [[nodiscard]] std::uint32_t last_message() const { return last_message_; }

  /// Sends now. The first symbol leaves at max(now, free_at()); the wait for the serializer is a
  /// wait span ("link"), the flight to the first symbol at the receiver a flight span, both on
  /// packet->row's account. The caller has checked can_send.
  void send(tlp* packet);

  /// The receiver has freed the buffer of a TLP of that size: its credits travel back in an
  /// UpdateFC, arriving at the other end a link delay later.
  void consumed(tlp_class flow, std::uint32_t payload_bytes);

  [[nodiscard]] std::uint64_t sent_tlps() const { return sent_; }

  [[nodiscard]] std::uint64_t sent_bytes() const { return sent_bytes_; }  ///< framing included

 private:
  /// What may still be sent of one class.
  struct budget {
    bool header_infinite = false;
    bool data_infinite = false;
    std::uint32_t header = 0;
    std::uint32_t data = 0;
  };

  struct credit_return {
    ps_t when;
    tlp_class flow;
    std::uint32_t data;
  };

  tlm::tlm_sync_enum on_transport(tlm::tlm_generic_payload& carrier, tlm::tlm_phase& phase,
                                  sc_core::sc_time& delay);
  void on_blocking_transport(tlm::tlm_generic_payload& carrier, sc_core::sc_time& delay);
  unsigned on_debug_transport(tlm::tlm_generic_payload& carrier);
  bool on_direct_memory(tlm::tlm_generic_payload& carrier, tlm::tlm_dmi& granted);
  void on_time(ps_t now, std::uint64_t what) override;
  void grant(const std::array<flow_credits, 3>& advertised);
  void credits_come_home(const credit_return& credits);
  void fold(ps_t now) const;

  sim_context& context_;
  name_id place_;
  const name_id link_reason_;
  const ps_t delay_;
  const std::array<flow_credits, 3> advertised_;
  pcie_listener* listener_ = nullptr;
  std::vector<tlp_tap*> taps_;
  pcie_port* other_ = nullptr;
  serializer serializer_;
  // Credits on their way home are counted when somebody looks, so that a port which nobody waits
  // for costs no event.
  mutable std::array<budget, 3> budgets_{};
  mutable std::vector<credit_return>
      returns_;  ///< in the order of their arrival, from returns_head_ on
  mutable std::size_t returns_head_ = 0;
  mutable bool starved_ = false;  ///< somebody was told that he cannot send
  mutable bool alarm_set_ = false;
  std::uint64_t sent_ = 0;
  std::uint64_t sent_bytes_ = 0;
  std::uint32_t last_message_ = 0;
};

}  // namespace carillon
