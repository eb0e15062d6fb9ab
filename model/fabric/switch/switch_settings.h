// What a user can say about a switch: names, units, ranges, defaults and where these come from.
//
// Nothing here knows how a switch works; headroom.h and shared_buffer.h say what follows.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "common/pfc_frame.h"
#include "common/types.h"

namespace carillon {

enum class switch_forwarding : std::uint8_t { store_and_forward, cut_through };

/// Where a frame's priority is read.
enum class switch_trust : std::uint8_t {
  dscp,  ///< of the IP header; other frames get the port's default
  pcp,   ///< of the VLAN tag; other frames get the port's default
  port,  ///< the port's default for all
};

/// What happens to a queue that was paused for too long.
enum class watchdog_action : std::uint8_t {
  off,
  drop,     ///< the queue's frames are dropped, and what comes for it, until the pause is over
  forward,  ///< the queue does not obey until the pause is over
};

/// One end of a cable.
struct switch_port_settings {
  std::uint64_t rate_gbps = 100;          ///< Gb/s, 1..800
  std::uint64_t cable_delay_ps = 25'000;  ///< ps one way, up to 1 ms; a metre of fibre is 5000
  switch_trust trust = switch_trust::dscp;
  std::uint64_t default_priority = 0;  ///< 0..7, of frames that do not say
};

/// One priority, on every port: its ingress account and its egress queue.
struct switch_priority_settings {
  bool lossless = false;  ///< PFC protects it
  bool strict = false;    ///< goes before every weighted queue; of several, the highest first
  bool ecn = false;       ///< WRED marks it

  // Integers: see PriorityIntegers for units and ranges.
  std::uint64_t weight = 1;
  std::uint64_t reserved_bytes = 0;
  std::uint64_t egress_reserved_bytes = 0;
  std::uint64_t xon_offset_bytes = 4222;
  std::uint64_t kmin_bytes = 40'000;
  std::uint64_t kmax_bytes = 100'000;
  std::uint64_t average_shift = 0;

  // Fractions: see PriorityFractions.
  double ingress_alpha = 1;
  double egress_alpha = 1;
  double pmax = 0.1;
};

struct switch_settings {
  std::vector<switch_port_settings> ports;
  std::array<switch_priority_settings, PriorityCount> priorities = default_priorities();

  switch_forwarding forwarding = switch_forwarding::store_and_forward;
  watchdog_action watchdog = watchdog_action::off;
  bool learn = true;  ///< where a source address is; static entries stay
  bool flood = true;  ///< frames for unknown and group addresses go to all other ports

  /// DSCP or PCP to priority. By default a DSCP's class selector: 24 and 26 give 3, 32 gives 4, the
  /// CNP's 48 gives 6.
  std::array<std::uint8_t, 64> dscp_to_priority = class_selectors();
  std::array<std::uint8_t, PriorityCount> pcp_to_priority{0, 1, 2, 3, 4, 5, 6, 7};

  // See SwitchIntegers for units and ranges.
  std::uint64_t buffer_bytes = 16'000'000;
  std::uint64_t max_frame_bytes = 4222;
  std::uint64_t ingress_delay_ps = 200'000;
  std::uint64_t egress_delay_ps = 100'000;
  std::uint64_t cut_through_bytes = 64;
  std::uint64_t pause_quanta = LongestPause;
  std::uint64_t pause_response_ps = 100'000;
  std::uint64_t peer_response_quanta = 0;
  std::uint64_t watchdog_detection_ps = 200'000'000'000;
  std::uint64_t watchdog_restoration_ps = 200'000'000'000;
  std::uint64_t ecmp_seed = 0;

  /// `count` ports alike.
  static switch_settings of_ports(unsigned count, const switch_port_settings& port = {});

  /// Throws config_error naming what is wrong, its range and what it is.
  void check(std::string_view owner) const;

  /// 3 and 4 are lossless and marked, 6 (CNPs) is strict, the others share by weight.
  static std::array<switch_priority_settings, PriorityCount> default_priorities();
  static std::array<std::uint8_t, 64> class_selectors();
};

/// One way through a cable: light in fibre takes 5 ns a metre.
constexpr ps_t cable_delay(std::uint64_t metres) {
  return metres * 5000;
}

// What a reader of a settings file needs ----------------------------------------------------------

template <class Owner, class Value>
struct setting_info {
  const char* name;
  const char* unit;
  Value Owner::*member;
  Value low;
  Value high;
  const char* provenance;  ///< of the default: reference, documented or assumed
  const char* doc;
};

using switch_integer = setting_info<switch_settings, std::uint64_t>;
using priority_integer = setting_info<switch_priority_settings, std::uint64_t>;
using priority_fraction = setting_info<switch_priority_settings, double>;

inline constexpr std::uint64_t OneSecondPs = 1'000'000'000'000;

inline constexpr std::array<switch_integer, 11> SwitchIntegers = {{
    {"buffer_bytes", "B", &switch_settings::buffer_bytes, 10'000, 1'000'000'000, "assumed",
     "memory of the packets of all ports, headroom and reserved parts included"},
    {"max_frame_bytes", "B", &switch_settings::max_frame_bytes, 64, 16'000, "reference",
     "largest frame with tag and FCS: 4200 bytes of Ethernet MTU and 22; longer ones are dropped"},
    {"ingress_delay_ps", "ps", &switch_settings::ingress_delay_ps, 0, OneSecondPs, "assumed",
     "from the bits that are needed to the buffer: parser and look-up"},
    {"egress_delay_ps", "ps", &switch_settings::egress_delay_ps, 0, OneSecondPs, "assumed",
     "from the buffer to the first bit on an idle wire"},
    {"cut_through_bytes", "B", &switch_settings::cut_through_bytes, 14, 16'000, "assumed",
     "of a frame must have come before cutting through begins"},
    {"pause_quanta", "512 bit times", &switch_settings::pause_quanta, 16, LongestPause, "assumed",
     "pause asked for by an XOFF, which is repeated every half of it"},
    {"pause_response_ps", "ps", &switch_settings::pause_response_ps, 0, OneSecondPs, "assumed",
     "from the last bit of a PFC frame to the queue that stops"},
    {"peer_response_quanta", "512 bit times", &switch_settings::peer_response_quanta, 0,
     LongestPause, "documented",
     "what headroom allows the other end to respond; 0: what IEEE 802.3 31B.3.7 allows it"},
    {"watchdog_detection_ps", "ps", &switch_settings::watchdog_detection_ps, 1, 100 * OneSecondPs,
     "documented", "a queue that is paused for so long is in a storm"},
    {"watchdog_restoration_ps", "ps", &switch_settings::watchdog_restoration_ps, 1,
     100 * OneSecondPs, "documented", "without a pause for so long, a storm is over"},
    {"ecmp_seed", "", &switch_settings::ecmp_seed, 0, ~std::uint64_t{0}, "assumed",
     "of the hash that chooses among equal paths"},
}};

inline constexpr std::array<priority_integer, 7> PriorityIntegers = {{
    {"weight", "", &switch_priority_settings::weight, 1, 1000, "assumed",
     "share of the wire among weighted queues"},
    {"reserved_bytes", "B", &switch_priority_settings::reserved_bytes, 0, 1'000'000'000, "assumed",
     "of an ingress account, never lent to others"},
    {"egress_reserved_bytes", "B", &switch_priority_settings::egress_reserved_bytes, 0,
     1'000'000'000, "assumed", "of an egress queue, free of its threshold"},
    {"xon_offset_bytes", "B", &switch_priority_settings::xon_offset_bytes, 0, 1'000'000'000,
     "assumed", "an account must be so far below its threshold before XON"},
    {"kmin_bytes", "B", &switch_priority_settings::kmin_bytes, 0, 1'000'000'000, "reference",
     "no mark up to this queue"},
    {"kmax_bytes", "B", &switch_priority_settings::kmax_bytes, 0, 1'000'000'000, "reference",
     "every frame is marked above this queue"},
    {"average_shift", "", &switch_priority_settings::average_shift, 0, 15, "assumed",
     "marks follow an average in which a new sample weighs 2^-n; 0: the queue as it is"},
}};

inline constexpr std::array<priority_fraction, 3> PriorityFractions = {{
    {"ingress_alpha", "1/128", &switch_priority_settings::ingress_alpha, 1.0 / 128, 64, "assumed",
     "an ingress account may hold so many times the free shared buffer"},
    {"egress_alpha", "1/128", &switch_priority_settings::egress_alpha, 1.0 / 128, 64, "assumed",
     "likewise a lossy egress queue"},
    {"pmax", "", &switch_priority_settings::pmax, 0, 1, "reference",
     "probability of a mark at kmax"},
}};

}  // namespace carillon
