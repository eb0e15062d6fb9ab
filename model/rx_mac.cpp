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

/// By its DSCP, or the tag of a frame without; 0 if it says nothing.
std::uint8_t priority_of(const frame_item& frame) {
  constexpr unsigned ClassShift = 3;  // a DSCP's class selector
  constexpr unsigned DscpShift = 2;   // above the ECN field
  constexpr std::uint32_t FirstWord = 4;
  const std::uint8_t* bytes = frame.bytes.data() + frame.offset;
  std::uint32_t at = eth::Size;
  if (frame.length < at + vlan_tag::Size + FirstWord) {
    return 0;
  }
  ethertype type = eth::unpack(bytes).ether_type;
  std::uint8_t tagged = 0;
  if (type == ethertype::Vlan) {
    const vlan_tag tag = vlan_tag::unpack(bytes + at);
    tagged = static_cast<std::uint8_t>(tag.pcp);
    type = tag.ether_type;
    at += vlan_tag::Size;
  }
  if (type == ethertype::Ipv4) {
    return static_cast<std::uint8_t>(bytes[at + 1] >> (DscpShift + ClassShift));
  }
  if (type == ethertype::Ipv6) {
    // Behind four bits of version.
    const unsigned traffic_class = (bytes[at] << 4 | bytes[at + 1] >> 4) & 0xffU;
    return static_cast<std::uint8_t>(traffic_class >> (DscpShift + ClassShift));
  }
  return tagged;
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
      control_(*this, shared, io.control),
      clock_sync_(context_.trace.intern("clock_sync")),
      order_(context_.trace.intern("order")),
      credit_(context_.trace.intern("credit:" + io.out.name())) {
  io_.loopback.to(*this, site());
  io_.out.from(*this, site());
  if (io_.control.out != nullptr) {
    io_.control.out->from(*this, site());
  }
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
  control_.settle(t);
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
    if (is_mac_control(in.frame.bytes.data() + in.frame.offset, in.frame.length)) {
      take_control(t, in.frame);
      continue;
    }
    const std::uint8_t priority = priority_of(in.frame);
    if (accepts(in.frame, priority)) {
      const trace_ref history =
          context_.trace.wait(in.frame.trace, site(), clock_sync_, in.last_bit, time_of(t));
      control_.asked.add(priority, in.frame.length, held_bytes_);
      buffer_.push({std::move(in.frame), held_history(history, t, order_), priority});
    }
  }
  if (looped_ && looped_->entry <= t) {
    CARILLON_CHECK(looped_->entry == t, "{}: a looped frame of cycle {} seen in cycle {}", path(),
                   looped_->entry, t);
    if (accepts(looped_->frame, NoPriority)) {
      const trace_ref history = looped_->frame.trace;
      buffer_.push({std::move(looped_->frame), held_history(history, t, order_), NoPriority});
    }
    looped_.reset();
  }
}

/// A frame for the MAC needs no room.
void rx_mac::take_control(cycle_t t, const frame_item& frame) {
  shared_.counters.add(counter::RxPackets);
  shared_.counters.add(counter::RxBytes, frame.length);
  if (judge_frame(frame, io_.out.max_beats(), 0, frame.length) == rx_mac_verdict::accept) {
    control_.receive(t, frame);
  } else {
    shared_.counters.add(counter::RxDropFcs);
  }
}

void rx_mac::stick(unsigned priority, ps_t from, ps_t to) {
  const cycle_t begin = std::max<cycle_t>(context_.clock.entry(from), 1);
  control_.asked.force(priority, begin, to == NeverPs ? NeverCycle : context_.clock.entry(to));
  wake(begin);
}

/// Counts a frame that is in the core; if it may stay, its bytes are held.
bool rx_mac::accepts(const frame_item& frame, std::uint8_t priority) {
  shared_.counters.add(counter::RxPackets);
  shared_.counters.add(counter::RxBytes, frame.length);
  const auto mtu = static_cast<std::uint64_t>(context_.params.wire.ethernet_mtu);
  // Without room it is no longer than the room that is left.
  const std::uint64_t buffer = control_.asked.has_room(priority, frame.length, held_bytes_)
                                   ? held_bytes_ + frame.length
                                   : held_bytes_;
  switch (beyond_mtu(frame, mtu) ? rx_mac_verdict::oversize
                                 : judge_frame(frame, io_.out.max_beats(), held_bytes_, buffer)) {
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
  control_.asked.remove(out.priority, out.frame.length, held_bytes_);
  out.frame.trace = out.history.wait_until(context_, site(), t);
  io_.out.push(t, Latency, std::move(out.frame), beats);
  if (!buffer_.empty()) {
    wake(std::max(t + 1, io_.out.port_free() - Latency));
  }
}

}  // namespace carillon
