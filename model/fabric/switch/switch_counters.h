// What a switch counts, by the names that users of switches and NICs know.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/pfc_frame.h"

namespace carillon {

/// Of one priority of one port. Bytes are those of frames with FCS.
struct priority_counters {
  std::uint64_t rx_packets = 0;
  std::uint64_t rx_bytes = 0;
  std::uint64_t rx_discards = 0;           ///< at this port, whatever was full
  std::uint64_t rx_headroom_discards = 0;  ///< of these, loss of a lossless priority
  std::uint64_t rx_pause = 0;              ///< PFC frames that spoke of the priority, resumes too
  std::uint64_t rx_pause_transitions = 0;  ///< from going to paused
  std::uint64_t rx_pause_ps = 0;           ///< time paused
  std::uint64_t tx_packets = 0;
  std::uint64_t tx_bytes = 0;
  std::uint64_t tx_discards = 0;  ///< frames for this port, at its queue's threshold
  std::uint64_t tx_pause = 0;     ///< PFC frames that spoke of the priority, resumes too
  std::uint64_t tx_xoff = 0;      ///< times that the ingress account crossed its threshold
  std::uint64_t tx_ecn_marked = 0;
  std::uint64_t watchdog_storms = 0;
  std::uint64_t watchdog_restored = 0;
  std::uint64_t watchdog_discards = 0;
  std::uint64_t max_queue_bytes = 0;     ///< of the egress queue
  std::uint64_t max_ingress_bytes = 0;   ///< of the ingress account, headroom included
  std::uint64_t max_headroom_bytes = 0;  ///< of the headroom
  // Of the egress queue over time, in ps: its bytes, and their squares. For means.
  double queue_byte_ps = 0;
  double queue_square_ps = 0;
};

struct switch_port_counters {
  std::array<priority_counters, PriorityCount> priorities;
  std::uint64_t rx_crc_errors = 0;
  std::uint64_t rx_oversize = 0;
  std::uint64_t rx_no_route = 0;     ///< nowhere to go
  std::uint64_t rx_same_port = 0;    ///< behind the port it came from
  std::uint64_t rx_mac_control = 0;  ///< for the MAC, but no PFC
};

/// Names and values of all that are not 0: "rx_prio3_pause", "rx_crc_errors" ...; pause durations
/// in microseconds, as NICs give them.
std::vector<std::pair<std::string, std::uint64_t>> listed(const switch_port_counters& counters);

}  // namespace carillon
