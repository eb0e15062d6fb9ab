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
  io_.loopback.to(*this, site());
  io_.out.from(*this, site());
  watch(io_.loopback, {});
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
  take_looped(t);
  admit(t);
  forward(t);
  if (!arrivals_.empty()) {
    wake(arrivals_.front().entry);
  }
  if (looped_) {
    wake(looped_->entry);
  }
}

void rx_mac::take_looped(cycle_t t) {
  if (!io_.loopback.takeable(t)) {
    return;
  }
  CARILLON_CHECK(!looped_, "{}: two looped frames at once", path());
  const cycle_t entry = t + io_.loopback.front_beats() - 1;
  frame_item frame = io_.loopback.take(t);
  frame.trace = context_.trace.service(frame.trace, site(), time_of(t), time_of(entry));
  looped_ = arrival{std::move(frame), time_of(entry), entry};
}

void rx_mac::admit(cycle_t t) {
  while (!arrivals_.empty() && arrivals_.front().entry <= t) {
    arrival in = arrivals_.pop();
    CARILLON_CHECK(in.entry == t, "{}: a frame of cycle {} seen in cycle {}", path(), in.entry, t);
    if (accepts(in.frame)) {
      const trace_ref history =
          context_.trace.wait(in.frame.trace, site(), clock_sync_, in.last_bit, time_of(t));
      buffer_.push({std::move(in.frame), held_history(history, t, order_)});
    }
  }
  if (looped_ && looped_->entry <= t) {
    CARILLON_CHECK(looped_->entry == t, "{}: a looped frame of cycle {} seen in cycle {}", path(),
                   looped_->entry, t);
    if (accepts(looped_->frame)) {
      const trace_ref history = looped_->frame.trace;
      buffer_.push({std::move(looped_->frame), held_history(history, t, order_)});
    }
    looped_.reset();
  }
}

/// Counts a frame that is in the core; if it may stay, its bytes are held.
bool rx_mac::accepts(const frame_item& frame) {
  shared_.counters.add(counter::RxPackets);
  shared_.counters.add(counter::RxBytes, frame.length);
  const auto mtu = static_cast<std::uint64_t>(context_.params.wire.ethernet_mtu);
  switch (beyond_mtu(frame, mtu) ? rx_mac_verdict::oversize
                                 : judge_frame(frame, io_.out.max_beats(), held_bytes_,
                                               context_.params.nic.rx_buffer_bytes)) {
    case rx_mac_verdict::bad_fcs:
      shared_.counters.add(counter::RxDropFcs);
      return false;
    case rx_mac_verdict::oversize:
      shared_.counters.add(counter::RxDropOversize);
      return false;
    case rx_mac_verdict::no_buffer:
      shared_.counters.add(counter::RxDropBuffer);
      return false;
    case rx_mac_verdict::accept:
      break;
  }
  held_bytes_ += frame.length;
  return true;
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
