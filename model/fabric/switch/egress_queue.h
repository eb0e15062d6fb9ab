// One of the eight queues of a switch port: its frames, its pauses, its marks.
#pragma once

#include <cstdint>

#include "common/items.h"
#include "common/ring.h"
#include "fabric/switch/pause_watchdog.h"
#include "fabric/switch/shared_buffer.h"
#include "fabric/switch/switch_counters.h"
#include "fabric/switch/switch_settings.h"
#include "fabric/switch/wred.h"

namespace carillon {

/// A frame that waits in a switch.
struct queued_frame {
  frame_item frame;
  shared_buffer::place place;
  ps_t since = 0;
  ps_t lag = 0;                 ///< of its history: see wire_port::send
  ps_t paused_before = 0;       ///< of the queue, when the frame came
  std::uint32_t ip_offset = 0;  ///< 0: it cannot be marked
  bool ipv6 = false;
  bool has_copies = false;  ///< that share its bytes
};

/// For one more port: the bytes are shared until one of them is changed.
queued_frame copy_of(const queued_frame& item, std::uint32_t egress);

/// What a frame takes of the buffer: FCS and all.
inline std::uint64_t buffer_bytes_of(const frame_item& frame) {
  return frame.length + FcsBytes;
}

struct egress_queue {
  egress_queue(const switch_priority_settings& settings, watchdog_action action, ps_t detection,
               ps_t restoration)
      : marker(settings), watchdog(action != watchdog_action::off, detection, restoration) {}

  [[nodiscard]] bool paused(ps_t now) const { return now < paused_until; }

  /// The pause that was in force counts up to now.
  void count_pause(ps_t now, priority_counters& counters) {
    if (pause_begin != NeverPs) {
      const ps_t end = now < paused_until ? now : paused_until;
      counters.rx_pause_ps += end - pause_begin;
      pause_begin = now < paused_until ? now : NeverPs;
    }
  }

  /// The queue as it was counts up to now.
  void count_bytes(ps_t now, priority_counters& counters) {
    const auto held = static_cast<double>(bytes);
    const double sum = held * static_cast<double>(now - counted_until);
    counters.queue_byte_ps += sum;
    counters.queue_square_ps += held * sum;
    counted_until = now;
  }

  ring<queued_frame> frames;
  std::uint64_t bytes = 0;
  ps_t counted_until = 0;  ///< what `bytes` were has been counted
  ps_t paused_until = 0;
  ps_t pause_begin = NeverPs;  ///< since when the pause in force has not been counted
  ps_t empty_since = 0;
  wred marker;
  pause_watchdog watchdog;
};

}  // namespace carillon
