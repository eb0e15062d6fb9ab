// rx_mac: the end of the wire, and of the way back into the NIC. Store and forward: a frame enters
// the core with its last bit, its FCS is checked, and it leaves towards rx_parser 20 cycles later.
//
// A frame of packet_builder enters with its last beat. It is taken whatever happens: without room
// it is dropped, as one from the wire is, so that what is sent never waits for what is received. Of
// two that enter in one cycle, the one from the wire comes first.
//
// Frames for the MAC end here: those of PFC say which priorities tx_mac must not send, and where
// the buffer fills up the other end is asked for the same (rx_mac/mac_control.h).
#pragma once

#include <optional>
#include <string_view>

#include "common/held_history.h"
#include "common/items.h"
#include "common/nic_shared.h"
#include "common/ring.h"
#include "common/stage.h"
#include "common/stream.h"
#include "rx_mac/mac_control.h"

namespace carillon {

/// What becomes of a frame that has arrived whole.
enum class rx_mac_verdict : std::uint8_t { accept, bad_fcs, oversize, no_buffer };

/// `held` bytes of the receive buffer are in use by frames that wait to leave.
rx_mac_verdict judge_frame(const frame_item& frame, unsigned max_beats, std::uint64_t held,
                           std::uint64_t buffer_bytes);

class rx_mac : public stage {
 public:
  struct ports {
    stream<frame_item>& loopback;  ///< frames for a virtual port of this NIC - packet_builder
    stream<frame_item>& out;       ///< good frames - rx_parser
    mac_control_ports control = {};
  };

  rx_mac(const sc_core::sc_module_name& name, nic_shared& shared, const ports& io);

  /// A frame is on its way: its first and last bit arrive at these times, the last one not in the
  /// past. Its history ends at `last_bit`. Frames are announced in the order in which they arrive.
  void on_frame(frame_item&& frame, ps_t first_bit, ps_t last_bit);

  /// The receiver is stuck between these times: it asks for pauses of that priority all the while.
  void stick(unsigned priority, ps_t from, ps_t to);

 private:
  struct arrival {
    frame_item frame;
    ps_t last_bit = 0;
    cycle_t entry = 0;
  };

  /// Of looped frames: no pause keeps them away.
  static constexpr std::uint8_t NoPriority = PriorityCount;

  struct held_frame {
    frame_item frame;
    held_history history;
    std::uint8_t priority = NoPriority;  ///< that it has in the account of PFC
  };

  void evaluate(cycle_t t) override;
  void take_looped(cycle_t t);
  void admit(cycle_t t);
  [[nodiscard]] bool accepts(const frame_item& frame, std::uint8_t priority);
  void take_control(cycle_t t, const frame_item& frame);
  void forward(cycle_t t);

  nic_shared& shared_;
  ports io_;
  ring<arrival> arrivals_;         ///< announced, not yet in the core
  std::optional<arrival> looped_;  ///< its beats are being taken
  ring<held_frame> buffer_;
  std::uint64_t held_bytes_ = 0;
  mac_control control_;
  ps_t last_announced_ = 0;
  name_id clock_sync_;
  name_id order_;
  name_id credit_;
};

}  // namespace carillon
