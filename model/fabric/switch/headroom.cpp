#include "fabric/switch/headroom.h"

#include "fabric/wire_link.h"
#include "gen/wire.h"

namespace carillon {

namespace {

/// Bytes that pass in a time, the last one counted whole.
std::uint64_t bytes_in(ps_t time, const wire_speed& speed) {
  return (time * speed.denominator + speed.numerator - 1) / speed.numerator;
}

}  // namespace

std::uint64_t headroom_bytes(const switch_settings& settings, const switch_port_settings& port) {
  const wire_speed speed = wire_speed::of_gbps(static_cast<std::int64_t>(port.rate_gbps));
  constexpr std::uint64_t Gap = PreambleBytes + InterPacketGapBytes;
  const std::uint64_t response = settings.peer_response_quanta != 0
                                     ? settings.peer_response_quanta
                                     : standard_response_quanta(port.rate_gbps);
  const ps_t times = settings.ingress_delay_ps + settings.egress_delay_ps + 2 * port.cable_delay_ps;
  return settings.max_frame_bytes + 2 * (settings.max_frame_bytes + Gap) + MinFrameBytes +
         FcsBytes + pause_bytes(response) + bytes_in(times, speed);
}

}  // namespace carillon
