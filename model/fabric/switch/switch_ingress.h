// Where frames come into a switch: when they count as having come, and what the MAC keeps.
//
// Frames are announced ahead of their arrival. A frame that is stored and forwarded goes on to the
// buffer an ingress delay after its last bit; one that is cut through, an ingress delay after as
// many of its first bytes as the look-up needs. A PFC frame acts a response time after its last
// bit.
#pragma once

#include <cstdint>

#include "common/context.h"
#include "common/pfc_frame.h"
#include "common/ring.h"
#include "common/timeline.h"
#include "fabric/switch/switch_counters.h"
#include "fabric/switch/switch_settings.h"
#include "fabric/wire_link.h"

namespace carillon {

/// A frame that goes on to the buffer.
struct switch_arrival {
  frame_item frame;
  ps_t first_bit = 0;
  ps_t last_bit = 0;
};

class switch_ingress final : public wire_listener, private timed {
 public:
  class owner {
   public:
    virtual void on_arrival(std::uint32_t port, switch_arrival&& arrival, ps_t now) = 0;
    virtual void on_pause(std::uint32_t port, const pfc& request, ps_t now) = 0;

   protected:
    ~owner() = default;
  };

  /// `cuts_through`: no port of the switch is faster, so that a frame that has begun to come can
  /// leave without a hole.
  switch_ingress(sim_context& context, owner& up, std::uint32_t port,
                 const switch_settings& settings, wire_speed speed, bool cuts_through,
                 switch_port_counters& counters);

  void on_frame(frame_item&& frame, ps_t first_bit, ps_t last_bit) override;

  [[nodiscard]] bool cuts_through() const { return cuts_through_; }

  [[nodiscard]] bool idle() const { return arrivals_.empty() && requests_.empty(); }

 private:
  enum task : std::uint64_t { Arrival, Request };

  void on_time(ps_t now, std::uint64_t what) override;
  void on_mac_control(const frame_item& frame, ps_t last_bit);

  sim_context& context_;
  owner& up_;
  std::uint32_t port_;
  const switch_settings& settings_;
  wire_speed speed_;
  bool cuts_through_;
  switch_port_counters& counters_;
  ring<switch_arrival> arrivals_;
  ring<pfc> requests_;
};

}  // namespace carillon
