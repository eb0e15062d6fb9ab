#include "fabric/wire_link.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "common/clock.h"
#include "common/error.h"
#include "gen/wire.h"

namespace carillon {

namespace {

/// A byte at 1 Gb/s takes 8 ns.
constexpr std::uint64_t PsOfByteAtOneGbps = 8000;

constexpr std::uint64_t OverheadBytes = FcsBytes + PreambleBytes + InterPacketGapBytes;

}  // namespace

wire_speed wire_speed::of_gbps(std::int64_t gbps) {
  if (gbps <= 0) {
    throw config_error(fmt::format("wire rate {} Gb/s: must be 1 or more", gbps));
  }
  const auto rate = static_cast<std::uint64_t>(gbps);
  const std::uint64_t common = std::gcd(PsOfByteAtOneGbps, rate);
  return {PsOfByteAtOneGbps / common, rate / common};
}

std::uint64_t wire_bytes(std::uint64_t frame_length) {
  return frame_length + OverheadBytes;
}

frame_serializer::slot frame_serializer::take(ps_t first_bit, std::uint64_t frame_length) {
  if (first_bit > free_at()) {
    begin_ = first_bit;
    bytes_ = 0;
  }
  const slot result{free_at(), begin_ + speed_.time_of(bytes_ + frame_length + FcsBytes)};
  bytes_ += wire_bytes(frame_length);
  return result;
}

wire_port::wire_port(const sc_core::sc_module_name& name, sim_context& context)
    : wire_port(name, context, wire_speed::of_gbps(context.params.wire.rate_gbps),
                static_cast<ps_t>(context.params.wire.delay_ps)) {}

wire_port::wire_port(const sc_core::sc_module_name& name, sim_context& context, wire_speed speed,
                     ps_t delay)
    : sc_core::sc_module(name),
      transmit("transmit"),
      receive("receive"),
      context_(context),
      speed_(speed),
      delay_(delay),
      site_(context.trace.site(this->name(), "wire")),
      busy_(context.trace.intern("wire")),
      serializer_(speed) {
  receive.bind(*this);
}

void wire_port::connect(wire_port& other) {
  transmit.bind(other.receive);
  if (&other != this) {
    other.transmit.bind(receive);
  }
}

void wire_port::send(frame_item frame, ps_t first_bit, ps_t lag) {
  CARILLON_CHECK(transmit.size() == 1, "{}: a frame is sent but no cable is connected", name());
  CARILLON_CHECK(first_bit >= now_ps(), "{}: a frame is sent for {} ps at {} ps", name(), first_bit,
                 now_ps());
  const auto [first, free_last] = serializer_.take(first_bit, frame.length);
  // Rounded to whole picoseconds, a slot may end a picosecond before the frame has come.
  const ps_t last = std::max(free_last, first + lag);
  ++sent_frames_;
  sent_bytes_ += wire_bytes(frame.length);

  tracer& trace = context_.trace;
  frame.trace = trace.wait(frame.trace, site_, busy_, first_bit + lag, first + lag);
  if (frame.first) {
    trace.mark(frame.trace, milestone::first_bit);
  }
  frame.trace = trace.service(frame.trace, site_, first + lag, last);
  if (frame.last) {
    trace.mark(frame.trace, milestone::last_bit, true);
  }
  frame.trace = trace.flight(frame.trace, site_, last, last + delay_);
  for (frame_tap* each : taps_) {
    each->on_frame(first, frame);
  }
  if (filter_ != nullptr) [[unlikely]] {
    filter_->on_frame(std::move(frame), first + delay_, last + delay_);
    return;
  }
  deliver(std::move(frame), first + delay_, last + delay_);
}

void wire_port::tell_fate(std::string_view what) {
  for (frame_tap* each : taps_) {
    each->on_fate(what);
  }
}

void wire_port::carry(frame_item&& frame, ps_t first_bit, ps_t last_bit) {
  CARILLON_CHECK(listener_ != nullptr, "{}: a frame arrives but nobody listens", name());
  listener_->on_frame(std::move(frame), first_bit, last_bit);
}

}  // namespace carillon
