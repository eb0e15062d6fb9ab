#include "fabric/switch/switch_counters.h"

#include <fmt/format.h>

namespace carillon {

namespace {

struct priority_name {
  const char* side;
  const char* name;
  std::uint64_t priority_counters::*member;
  std::uint64_t unit = 1;
};

constexpr std::uint64_t PsPerMicrosecond = 1'000'000;

constexpr std::array<priority_name, 19> PriorityNames = {{
    {"rx", "packets", &priority_counters::rx_packets},
    {"rx", "bytes", &priority_counters::rx_bytes},
    {"rx", "discards", &priority_counters::rx_discards},
    {"rx", "headroom_discards", &priority_counters::rx_headroom_discards},
    {"rx", "pause", &priority_counters::rx_pause},
    {"rx", "pause_transition", &priority_counters::rx_pause_transitions},
    {"rx", "pause_duration", &priority_counters::rx_pause_ps, PsPerMicrosecond},
    {"tx", "packets", &priority_counters::tx_packets},
    {"tx", "bytes", &priority_counters::tx_bytes},
    {"tx", "discards", &priority_counters::tx_discards},
    {"tx", "pause", &priority_counters::tx_pause},
    {"tx", "xoff", &priority_counters::tx_xoff},
    {"tx", "ecn_marked", &priority_counters::tx_ecn_marked},
    {"tx", "pfcwd_storm_detected", &priority_counters::watchdog_storms},
    {"tx", "pfcwd_storm_restored", &priority_counters::watchdog_restored},
    {"tx", "pfcwd_discards", &priority_counters::watchdog_discards},
    {"tx", "max_queue_bytes", &priority_counters::max_queue_bytes},
    {"rx", "max_buffer_bytes", &priority_counters::max_ingress_bytes},
    {"rx", "max_headroom_bytes", &priority_counters::max_headroom_bytes},
}};

struct port_name {
  const char* name;
  std::uint64_t switch_port_counters::*member;
};

constexpr std::array<port_name, 5> PortNames = {{
    {"rx_crc_errors", &switch_port_counters::rx_crc_errors},
    {"rx_oversize", &switch_port_counters::rx_oversize},
    {"rx_no_route", &switch_port_counters::rx_no_route},
    {"rx_same_port", &switch_port_counters::rx_same_port},
    {"rx_mac_control", &switch_port_counters::rx_mac_control},
}};

}  // namespace

std::vector<std::pair<std::string, std::uint64_t>> listed(const switch_port_counters& counters) {
  std::vector<std::pair<std::string, std::uint64_t>> result;
  for (const port_name& each : PortNames) {
    if (counters.*each.member != 0) {
      result.emplace_back(each.name, counters.*each.member);
    }
  }
  for (unsigned priority = 0; priority < PriorityCount; ++priority) {
    for (const priority_name& each : PriorityNames) {
      if (const std::uint64_t value = counters.priorities[priority].*each.member; value != 0) {
        result.emplace_back(fmt::format("{}_prio{}_{}", each.side, priority, each.name),
                            value / each.unit);
      }
    }
  }
  return result;
}

}  // namespace carillon
