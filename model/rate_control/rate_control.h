// rate_control: what DCQCN needs around the rate machine. Tells dcqcn what happens to the rates of
// QPs, slice by slice, and tx_sched what becomes of them; and has CNPs sent for marked packets.
//
// A QP gets one of dcqcn's contexts with its first CNP, or when one of its RP registers is written;
// until then it costs nothing. A context is given away again when its QP is reset, or when another
// QP needs one and this one is at the highest rate, the one that has been there longest first. If
// all are in use, a CNP or a write is without effect.
#pragma once

#include <cstdint>
#include <vector>

#include "common/dcqcn_settings.h"
#include "common/deadlines.h"
#include "common/nic_shared.h"
#include "common/rate_items.h"
#include "common/ring.h"
#include "common/stage.h"
#include "common/stream.h"
#include "rate_control/cnp_limiter.h"

namespace carillon {

class rate_control final : public stage {
 public:
  struct ports {
    stream<rate_command>& commands;      ///< resets, registers, parameters - pcie_endpoint
    stream<congestion_note>& requests;   ///< marked ones - responder
    stream<congestion_note>& responses;  ///< marked ones, and CNPs - requester
    stream<rate_charge>& charges;        ///< what limited QPs send - tx_sched
    stream<rate_update_item>& rates;     ///< - dcqcn
    stream<rate_slice_item>& slices;     ///< - dcqcn
    stream<rate_limit>& limits;          ///< rates, and CNPs to send - tx_sched
    stream<rate_value>& values;          ///< for the RP registers - pcie_endpoint
  };

  rate_control(const sc_core::sc_module_name& name, nic_shared& nic, const ports& io);

  /// Adds those of all QPs that have a context and an answer of dcqcn.
  void list(std::vector<qp_rate>& into) const;

 private:
  static constexpr std::uint16_t NoSlot = 0xffff;

  /// What happened to a QP and is not yet with dcqcn.
  struct event {
    rate_op op = rate_op::Time;
    std::uint32_t value = 0;
    std::uint64_t now = 0;
  };

  /// A QP's place in dcqcn. One of its slices is there at a time.
  struct rate_context {
    std::uint32_t qpn = 0;
    bool used = false;
    bool busy = false;       ///< its slice is in dcqcn
    bool forgotten = false;  ///< free as soon as that is back
    bool limited = false;
    bool pinned = false;        ///< an RP register was written
    bool time_asked = false;    ///< among the events is one of time
    std::uint32_t told = 0;     ///< rate that tx_sched has; 0: none
    std::uint32_t current = 0;  ///< as pcie_endpoint has them
    std::uint32_t target = 0;
    std::uint32_t alpha = 0;
    std::uint64_t released = 0;  ///< when it came to the highest rate: the how manieth that did
    ring<event> events;          ///< the first of them is in dcqcn while busy

    [[nodiscard]] bool idle() const {
      return used && !busy && !limited && !pinned && events.empty();
    }
  };

  void evaluate(cycle_t t) override;
  void take_command(cycle_t t, const rate_command& item);
  void take_note(cycle_t t, const congestion_note& item);
  void take_charge(cycle_t t, const rate_charge& item);
  void take_rate(cycle_t t, const rate_update_item& item);
  void set_up(const dcqcn_settings& settings);
  void set_notification(const roce_ecn_np& np);
  std::uint16_t context_of(cycle_t t, std::uint32_t qpn);
  std::uint16_t free_context();
  void forget(std::uint32_t qpn);
  void give_back(std::uint16_t slot);
  void add(std::uint16_t slot, const event& happened);
  void limit(std::uint16_t slot, std::uint32_t rate);
  void send(cycle_t t);

  [[nodiscard]] std::uint64_t ns_of(cycle_t t) const;
  [[nodiscard]] cycle_t cycle_of(std::uint64_t ns) const;

  nic_shared& nic_;
  ports io_;
  cnp_limiter limiter_;
  roce_ecn_np np_;
  std::vector<rate_context> contexts_;
  std::vector<std::uint16_t> slots_;  ///< by QP number
  ring<std::uint16_t> free_;
  std::size_t used_ = 0;  ///< contexts that a QP has
  std::uint64_t releases_ = 0;
  ring<std::uint16_t> ready_;    ///< contexts with a slice for dcqcn
  ring<rate_slice_item> setup_;  ///< go before all of those
  ring<rate_limit> limits_;
  ring<rate_value> values_;
  deadlines due_;
};

}  // namespace carillon
