// One end of an Ethernet link: serializer, cable and a pair of SystemC ports that carry frames.
//
// The first bit of a frame is that of its destination address, the last that of its FCS. Preamble
// and gap keep the serializer busy for 20 more bytes after it. Times are kept as integer fractions:
// within a busy period every bit leaves at (start of the period) + (bytes before it) * numerator /
// denominator, rounded down once, never accumulated.
//
// The receiver is told at once, ahead of the arrival, and must not act on a frame before its bits
// are there.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <systemc>

#include "common/context.h"
#include "common/items.h"
#include "common/tracer.h"
#include "common/types.h"

namespace carillon {

/// The time that a byte takes, in ps, as a reduced fraction.
struct wire_speed {
  std::uint64_t numerator = 0;
  std::uint64_t denominator = 1;

  /// Throws config_error for a rate that is not positive.
  static wire_speed of_gbps(std::int64_t gbps);

  [[nodiscard]] ps_t time_of(std::uint64_t bytes) const { return bytes * numerator / denominator; }

  bool operator==(const wire_speed&) const = default;
};

/// Bytes for which a frame keeps the wire busy: its own, FCS, preamble and gap.
std::uint64_t wire_bytes(std::uint64_t frame_length);

/// When frames leave that follow each other on one wire.
class frame_serializer {
 public:
  struct slot {
    ps_t first_bit;
    ps_t last_bit;
  };

  explicit frame_serializer(wire_speed speed) : speed_(speed) {}

  /// When another first bit can leave.
  [[nodiscard]] ps_t free_at() const { return begin_ + speed_.time_of(bytes_); }

  /// The next frame, of `frame_length` bytes, ready at `first_bit`.
  slot take(ps_t first_bit, std::uint64_t frame_length);

 private:
  wire_speed speed_;
  ps_t begin_ = 0;           ///< first bit since which the wire was never idle
  std::uint64_t bytes_ = 0;  ///< since then, gaps included
};

/// Told of frames that are on their way.
class wire_listener {
 public:
  virtual ~wire_listener() = default;
  /// The times are those at this end; both lie in the future, or first_bit is now. The frame's
  /// history ends at last_bit.
  virtual void on_frame(frame_item&& frame, ps_t first_bit, ps_t last_bit) = 0;
};

/// Sees frames as they leave, in the order in which they are sent.
class frame_tap {
 public:
  virtual ~frame_tap() = default;
  /// `first_bit` is the time at which the first bit leaves, now or later.
  virtual void on_frame(ps_t first_bit, const frame_item& frame) = 0;

  /// The frame that was seen last meets a fault on its way. Most taps have no use for it.
  virtual void on_fate(std::string_view /*what*/) {}
};

/// Stands between a serializer and the far end of its cable, and hands on what arrives there.
class wire_filter {
 public:
  virtual ~wire_filter() = default;
  /// The times are those at the far end.
  virtual void on_frame(frame_item&& frame, ps_t first_bit, ps_t last_bit) = 0;
};

/// What travels through the SystemC ports.
class wire_interface : public sc_core::sc_interface {
 public:
  virtual void carry(frame_item&& frame, ps_t first_bit, ps_t last_bit) = 0;
};

class wire_port : public sc_core::sc_module, private wire_interface {
 public:
  /// Rate and delay of the parameters wire.rate_gbps and wire.delay_ps.
  wire_port(const sc_core::sc_module_name& name, sim_context& context);

  wire_port(const sc_core::sc_module_name& name, sim_context& context, wire_speed speed,
            ps_t delay);

  sc_core::sc_port<wire_interface, 1, sc_core::SC_ZERO_OR_MORE_BOUND> transmit;
  sc_core::sc_export<wire_interface> receive;

  /// Binds both directions. A port may be connected to itself: a loopback plug.
  void connect(wire_port& other);

  void listen(wire_listener& listener) { listener_ = &listener; }

  void tap(frame_tap& tap) { taps_.push_back(&tap); }

  /// What this end sends goes through the filter, which calls deliver() and, for the taps,
  /// tell_fate() while it is told of a frame.
  void insert(wire_filter& filter) { filter_ = &filter; }

  void deliver(frame_item&& frame, ps_t first_bit, ps_t last_bit) {
    transmit->carry(std::move(frame), first_bit, last_bit);
  }

  void tell_fate(std::string_view what);

  /// When the serializer can take another first bit: at or before now if it is idle.
  [[nodiscard]] ps_t free_at() const { return serializer_.free_at(); }

  /// The first bit leaves at max(first_bit, free_at()); `first_bit` is now or later, and the end of
  /// the frame's history. The wait for the serializer is a wait span ("wire"), the time from first
  /// to last bit a service span, the cable a flight span. Frames leave in the order of the calls.
  /// The history of a frame that is cut through may end later by `lag`: it is that of its last bit,
  /// which leaves no earlier than that.
  void send(frame_item frame, ps_t first_bit, ps_t lag = 0);

  [[nodiscard]] bool connected() const { return transmit.size() != 0; }

  [[nodiscard]] wire_speed speed() const { return speed_; }

  [[nodiscard]] ps_t delay() const { return delay_; }

  [[nodiscard]] std::uint64_t sent_frames() const { return sent_frames_; }

  [[nodiscard]] std::uint64_t sent_bytes() const { return sent_bytes_; }  ///< gap and all

 private:
  void carry(frame_item&& frame, ps_t first_bit, ps_t last_bit) override;

  sim_context& context_;
  wire_speed speed_;
  ps_t delay_;
  trace_site site_;
  name_id busy_;
  wire_listener* listener_ = nullptr;
  std::vector<frame_tap*> taps_;
  wire_filter* filter_ = nullptr;
  frame_serializer serializer_;
  std::uint64_t sent_frames_ = 0;
  std::uint64_t sent_bytes_ = 0;
};

}  // namespace carillon
