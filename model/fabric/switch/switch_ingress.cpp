#include "fabric/switch/switch_ingress.h"

#include <algorithm>
#include <utility>

#include "common/roce_packet.h"

namespace carillon {

switch_ingress::switch_ingress(sim_context& context, owner& up, std::uint32_t port,
                               const switch_settings& settings, wire_speed speed, bool cuts_through,
                               switch_port_counters& counters)
    : timed(context.line),
      context_(context),
      up_(up),
      port_(port),
      settings_(settings),
      speed_(speed),
      cuts_through_(cuts_through),
      counters_(counters) {}

void switch_ingress::on_frame(frame_item&& frame, ps_t first_bit, ps_t last_bit) {
  if (is_mac_control(frame.bytes.data() + frame.offset, frame.length)) {
    on_mac_control(frame, last_bit);
    return;
  }
  ps_t known = last_bit;
  if (cuts_through_) {
    const std::uint64_t enough =
        std::min<std::uint64_t>(settings_.cut_through_bytes, frame.length + FcsBytes);
    known = std::min(last_bit, first_bit + speed_.time_of(enough));
  }
  context_.line.at(known + settings_.ingress_delay_ps, *this, Arrival);
  arrivals_.push({std::move(frame), first_bit, last_bit});
}

void switch_ingress::on_mac_control(const frame_item& frame, ps_t last_bit) {
  const std::uint8_t* bytes = frame.bytes.data() + frame.offset;
  const bool good = frame.fcs_known || fcs_of_frame(bytes, frame.length) == frame.fcs;
  if (const auto request = parse_pfc(bytes, frame.length); good && request) {
    requests_.push(*request);
    context_.line.at(last_bit + settings_.pause_response_ps, *this, Request);
  } else {
    std::uint64_t& count = good ? counters_.rx_mac_control : counters_.rx_crc_errors;
    ++count;
  }
}

void switch_ingress::on_time(ps_t now, std::uint64_t what) {
  if (what == Request) {
    up_.on_pause(port_, requests_.pop(), now);
  } else {
    up_.on_arrival(port_, arrivals_.pop(), now);
  }
}

}  // namespace carillon
