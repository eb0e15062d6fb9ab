#include "fabric/switch/ethernet_switch.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "common/error.h"
#include "common/random.h"
#include "common/roce_packet.h"

namespace carillon {

namespace {

switch_settings checked(switch_settings settings, const char* owner) {
  settings.check(owner);
  return settings;
}

/// A locally administered address of the switch's own, the last byte for the port.
std::uint64_t address_of(const char* name, std::uint32_t port) {
  constexpr std::uint64_t Local = 0x02'00'00'00'00'00ULL;
  constexpr std::uint64_t Middle = 0xff'ff'ff'00ULL;
  return Local | (stable_hash(name) & Middle) << 8 | (port & 0xffff);
}

/// 01-80-c2-00-00-00 to -0f: for the bridge itself, never forwarded (IEEE 802.1Q, 8.6.3).
bool stays_on_link(std::uint64_t address) {
  constexpr std::uint64_t First = PfcDestination & ~std::uint64_t{0xf};
  return (address & ~std::uint64_t{0xf}) == First;
}

}  // namespace

ethernet_switch::ethernet_switch(const sc_core::sc_module_name& name, sim_context& context,
                                 switch_settings settings)
    : sc_core::sc_module(name),
      context_(context),
      settings_(checked(std::move(settings), this->name())),
      buffer_(settings_, this->name()),
      table_(settings_.ecmp_seed ^ stable_hash(this->name())),
      site_(context.trace.site(this->name(), "switch")),
      counters_(settings_.ports.size()) {
  std::uint64_t fastest = 0;
  for (const switch_port_settings& each : settings_.ports) {
    fastest = std::max(fastest, each.rate_gbps);
  }
  const auto count = static_cast<std::uint32_t>(settings_.ports.size());
  for (std::uint32_t i = 0; i < count; ++i) {
    const switch_port_settings& port = settings_.ports[i];
    const std::string wire = fmt::format("port{}", i);
    wires_.push_back(std::make_unique<wire_port>(
        wire.c_str(), context, wire_speed::of_gbps(static_cast<std::int64_t>(port.rate_gbps)),
        port.cable_delay_ps));
  }
  switch_ingress::owner& of_ingress = *this;
  switch_egress::owner& of_egress = *this;
  // Ranks on the timeline: whatever comes at an instant is seen before anything leaves.
  for (std::uint32_t i = 0; i < count; ++i) {
    const bool cuts = settings_.forwarding == switch_forwarding::cut_through &&
                      settings_.ports[i].rate_gbps == fastest;
    ingresses_.push_back(std::make_unique<switch_ingress>(context, of_ingress, i, settings_,
                                                          wires_[i]->speed(), cuts, counters_[i]));
    wires_[i]->listen(*ingresses_[i]);
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    egresses_.push_back(std::make_unique<switch_egress>(context, of_egress, i, settings_,
                                                        *wires_[i], buffers_,
                                                        address_of(this->name(), i), counters_[i]));
  }
}

void ethernet_switch::add_route(std::uint64_t address, std::vector<std::uint32_t> ports) {
  for (const std::uint32_t port : ports) {
    if (port >= this->ports()) {
      throw config_error(fmt::format("{}: a route by port {}, but there are {} ports", name(), port,
                                     this->ports()));
    }
  }
  table_.set(address, std::move(ports));
}

bool ethernet_switch::acceptable(std::uint32_t port, const frame_item& frame) {
  if (frame.length + FcsBytes > settings_.max_frame_bytes) {
    ++counters_[port].rx_oversize;
    return false;
  }
  if (!frame.fcs_known &&
      fcs_of_frame(frame.bytes.data() + frame.offset, frame.length) != frame.fcs) {
    ++counters_[port].rx_crc_errors;
    // What is cut through has left already when its FCS comes.
    return ingresses_[port]->cuts_through();
  }
  return true;
}

void ethernet_switch::on_arrival(std::uint32_t port, switch_arrival&& arrival, ps_t now) {
  queued_frame item;
  item.frame = std::move(arrival.frame);
  frame_item& frame = item.frame;
  if (!acceptable(port, frame)) {
    return;
  }
  const frame_headers headers = read_headers(frame.bytes.data() + frame.offset, frame.length);
  item.place.ingress = port;
  item.place.priority = priority_of(headers, settings_, settings_.ports[port]);
  item.ip_offset = headers.capable() && headers.ecn != ecn_code::Ce ? headers.ip_offset : 0;
  item.ipv6 = headers.ipv6;
  // The milestones of the wire are those of the sender's.
  frame.first = false;
  frame.last = false;
  // The history is that of the last bit, which has yet to come if the frame is cut through.
  const bool cuts = ingresses_[port]->cuts_through();
  item.lag = cuts ? arrival.last_bit - arrival.first_bit : 0;
  frame.trace = context_.trace.service(frame.trace, site_, arrival.last_bit, now + item.lag);

  priority_counters& counters = counters_[port].priorities[item.place.priority];
  ++counters.rx_packets;
  counters.rx_bytes += buffer_bytes_of(frame);
  if (settings_.learn) {
    table_.learn(headers.source, port);
  }
  const auto to =
      headers.to_group() ? std::nullopt : table_.find(headers.destination, headers.udp_source);
  if (!to && settings_.flood && !stays_on_link(headers.destination)) {
    flood(port, item, now);
    return;
  }
  if (!to || !wires_[*to]->connected()) {
    ++counters_[port].rx_no_route;
    return;
  }
  if (*to == port) {
    ++counters_[port].rx_same_port;
    return;
  }
  item.place.egress = *to;
  forward(std::move(item), now);
}

void ethernet_switch::flood(std::uint32_t port, const queued_frame& item, ps_t now) {
  bool sent = false;
  for (std::uint32_t to = 0; to < ports(); ++to) {
    if (to == port || !wires_[to]->connected()) {
      continue;
    }
    queued_frame copy = copy_of(item, to);
    if (sent) {
      copy.frame.trace = {};  // a message has one history, which the first copy continues
    }
    sent = forward(std::move(copy), now) || sent;
  }
}

bool ethernet_switch::forward(queued_frame&& item, ps_t now) {
  const shared_buffer::place place = item.place;
  switch_egress& out = *egresses_[place.egress];
  if (!out.accepts(place.priority)) {
    tell(now, switch_event_kind::discard, place.ingress, place.priority);
    return false;
  }
  const bool was_xoff = buffer_.xoff(place.ingress, place.priority);
  const buffer_verdict verdict = buffer_.admit(place, buffer_bytes_of(item.frame));
  if (!was_xoff && buffer_.xoff(place.ingress, place.priority)) {
    tell(now, switch_event_kind::xoff, place.ingress, place.priority);
    egresses_[place.ingress]->ask(place.priority, true, now);
  }
  if (verdict != buffer_verdict::accepted && verdict != buffer_verdict::in_headroom) {
    discard(place, verdict, now);
    return false;
  }
  priority_counters& counters = counters_[place.ingress].priorities[place.priority];
  counters.max_ingress_bytes =
      std::max(counters.max_ingress_bytes, buffer_.held(place.ingress, place.priority));
  counters.max_headroom_bytes =
      std::max(counters.max_headroom_bytes, buffer_.in_headroom(place.ingress, place.priority));
  out.enqueue(std::move(item), now);
  return true;
}

void ethernet_switch::discard(const shared_buffer::place& place, buffer_verdict why, ps_t now) {
  priority_counters& counters = counters_[place.ingress].priorities[place.priority];
  ++counters.rx_discards;
  counters.rx_headroom_discards += why == buffer_verdict::headroom_full ? 1 : 0;
  counters_[place.egress].priorities[place.priority].tx_discards +=
      why == buffer_verdict::egress_full ? 1 : 0;
  tell(now, switch_event_kind::discard, place.ingress, place.priority);
}

void ethernet_switch::on_left(const shared_buffer::place& place, std::uint64_t bytes, ps_t now) {
  const bool was_xoff = buffer_.xoff(place.ingress, place.priority);
  buffer_.release(place, bytes);
  if (was_xoff && !buffer_.xoff(place.ingress, place.priority)) {
    tell(now, switch_event_kind::xon, place.ingress, place.priority);
    egresses_[place.ingress]->ask(place.priority, false, now);
  }
}

void ethernet_switch::on_pause(std::uint32_t port, const pfc& request, ps_t now) {
  egresses_[port]->pause(request, now);
  if (!observers_.empty()) {
    for (unsigned priority = 0; priority < PriorityCount; ++priority) {
      if ((request.enable >> priority & 1) != 0) {
        tell(now,
             request.quanta[priority] != 0 ? switch_event_kind::pause : switch_event_kind::resume,
             port, priority);
      }
    }
  }
}

void ethernet_switch::on_storm(std::uint32_t port, unsigned priority, bool begins, ps_t now) {
  tell(now, begins ? switch_event_kind::storm : switch_event_kind::storm_is_over, port, priority);
}

void ethernet_switch::tell(ps_t now, switch_event_kind kind, std::uint32_t port,
                           unsigned priority) {
  for (switch_observer* each : observers_) {
    each->on_event({now, kind, port, static_cast<std::uint8_t>(priority)});
  }
}

const switch_port_counters& ethernet_switch::counters(std::uint32_t port) {
  egresses_.at(port)->settle(now_ps());
  return counters_.at(port);
}

void ethernet_switch::check_drained() const {
  for (std::uint32_t i = 0; i < ports(); ++i) {
    CARILLON_CHECK(ingresses_[i]->idle() && egresses_[i]->empty(),
                   "{}: frames of port {} are left at the end of the run", name(), i);
  }
  CARILLON_CHECK(buffer_.empty(), "{}: its buffer is not empty at the end of the run", name());
}

}  // namespace carillon
