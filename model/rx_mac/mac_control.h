// What the MACs at both ends of a cable tell each other: PFC, in both directions.
//
// A received request acts 20 cycles after its frame has entered the core. Requests of our own are
// frames for tx_mac. Far deadlines (a pause is over, one must be asked for again) are timers of the
// timeline: a run does not last until they have come.
#pragma once

#include <cstdint>

#include "common/items.h"
#include "common/level.h"
#include "common/nic_shared.h"
#include "common/ring.h"
#include "common/stream.h"
#include "common/timeline.h"
#include "rx_mac/asked_pauses.h"
#include "rx_mac/received_pauses.h"

namespace carillon {

struct mac_control_ports {
  stream<frame_item>* out = nullptr;      ///< PFC frames - tx_mac
  level<std::uint8_t>* paused = nullptr;  ///< priorities that must not send - tx_mac
  std::uint64_t address = 0;              ///< of the port
};

class mac_control final : private timed {
 public:
  /// `owner` calls settle() in every cycle in which it is evaluated, and is woken for it.
  mac_control(clocked& owner, nic_shared& shared, const mac_control_ports& io);

  /// A frame for the MAC, whole and with a good FCS, has entered in cycle t.
  void receive(cycle_t t, const frame_item& frame);

  /// Once everything of cycle t has come and gone.
  void settle(cycle_t t);

  asked_pauses asked;

 private:
  struct request {
    cycle_t acts;
    pfc what;
  };

  void on_time(ps_t now, std::uint64_t cycle) override;
  void ask(cycle_t t);
  void arm(cycle_t t, cycle_t deadline);

  clocked& owner_;
  nic_shared& shared_;
  mac_control_ports io_;
  received_pauses received_;
  ring<request> requests_;
  cycle_t armed_ = NeverCycle;
};

}  // namespace carillon
