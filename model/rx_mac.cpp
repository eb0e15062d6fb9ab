#include "rx_mac.h"

#include <algorithm>
#include <utility>

#include "common/roce_packet.h"
#include "gen/stages.h"

namespace carillon {

namespace {

/// The MTU counts what follows the Ethernet header and its tag.
bool beyond_mtu(const frame_item& frame, std::uint64_t mtu) {
  const std::uint8_t* bytes = frame.bytes.data() + frame.offset;
  const bool tagged = frame.length >= eth::Size && eth::unpack(bytes).ether_type == ethertype::Vlan;
  return frame.length > eth::Size + (tagged ? vlan_tag::Size : 0U) + mtu;
}

}  // namespace

rx_mac_verdict judge_frame(const frame_item& frame, unsigned max_beats, std::uint64_t held,
                           std::uint64_t buffer_bytes) {
  if (beats_of(frame.length) > max_beats) {
    return rx_mac_verdict::oversize;
  }
  if (held + frame.length > buffer_bytes) {
    return rx_mac_verdict::no_buffer;
  }
  const std::uint8_t* bytes = frame.bytes.data() + frame.offset;
  if (!frame.fcs_known && fcs_of_frame(bytes, frame.length) != frame.fcs) {
    return rx_mac_verdict::bad_fcs;
  }
  return rx_mac_verdict::accept;
}

rx_mac::rx_mac(const sc_core::sc_module_name& name, nic_shared& shared, const ports& io)
    : stage(name, shared.context, "rx_mac"),
      shared_(shared),
      io_(io),
      clock_sync_(context_.trace.intern("clock_sync")),
      order_(context_.trace.intern("order")),
      credit_(context_.trace.intern("credit:" + io.out.name())) {
  io_.out.from(*this, site());
}

void rx_mac::on_frame(frame_item&& frame, ps_t first_bit, ps_t last_bit) {
  CARILLON_CHECK(first_bit < last_bit && last_bit > last_announced_,
                 "{}: a frame announced for {}..{} ps behind one that ends at {} ps", path(),
                 first_bit, last_bit, last_announced_);
  last_announced_ = last_bit;
  const cycle_t entry = context_.clock.entry(last_bit);
  arrivals_.push({std::move(frame), last_bit, entry});
  wake(entry);
}

void rx_mac::evaluate(cycle_t t) {
  admit(t);
  forward(t);
  if (!arrivals_.empty()) {
    wake(arrivals_.front().entry);
  }
}

void rx_mac::admit(cycle_t t) {
  while (!arrivals_.empty() && arrivals_.front().entry <= t) {
    arrival in = arrivals_.pop();
    CARILLON_CHECK(in.entry == t, "{}: a frame of cycle {} seen in cycle {}", path(), in.entry, t);
    shared_.counters.add(counter::RxPackets);
    shared_.counters.add(counter::RxBytes, in.frame.length);
    const auto mtu = static_cast<std::uint64_t>(context_.params.wire.ethernet_mtu);
    switch (beyond_mtu(in.frame, mtu) ? rx_mac_verdict::oversize
                                      : judge_frame(in.frame, io_.out.max_beats(), held_bytes_,
                                                    context_.params.nic.rx_buffer_bytes)) {
      case rx_mac_verdict::bad_fcs:
        shared_.counters.add(counter::RxDropFcs);
        continue;
      case rx_mac_verdict::oversize:
        shared_.counters.add(counter::RxDropOversize);
        continue;
      case rx_mac_verdict::no_buffer:
        shared_.counters.add(counter::RxDropBuffer);
        continue;
      case rx_mac_verdict::accept:
        break;
    }
    const trace_ref history =
        context_.trace.wait(in.frame.trace, site(), clock_sync_, in.last_bit, time_of(t));
    held_bytes_ += in.frame.length;
    buffer_.push({std::move(in.frame), held_history(history, t, order_)});
  }
}

void rx_mac::forward(cycle_t t) {
  if (buffer_.empty()) {
    return;
  }
  constexpr unsigned Latency = stage_spec::rx_mac::Latency;
  held_frame& front = buffer_.front();
  const unsigned beats = beats_of(front.frame.length);
  // The port may still be giving out the beats of the frame before.
  const cycle_t port_free = io_.out.port_free();
  if (t + Latency < port_free) {
    wake(port_free - Latency);
    return;
  }
  if (!io_.out.has_credit(t, beats)) {
    front.history.waits_for(context_, site(), t, credit_);
    io_.out.ask_credit(t, beats);
    return;
  }
  held_frame out = buffer_.pop();
  held_bytes_ -= out.frame.length;
  out.frame.trace = out.history.wait_until(context_, site(), t);
  io_.out.push(t, Latency, std::move(out.frame), beats);
  if (!buffer_.empty()) {
    wake(std::max(t + 1, io_.out.port_free() - Latency));
  }
}

}  // namespace carillon
