// An Ethernet switch with a shared buffer, PFC and ECN: docs/switch.md.
//
// Each frame costs two callbacks of the timeline: it comes to the buffer, and it is chosen to
// leave. Within an instant, all that comes is handled before anything is chosen, in the order of
// the ports.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <systemc>

#include "common/buffer.h"
#include "common/context.h"
#include "fabric/switch/forwarding_table.h"
#include "fabric/switch/frame_headers.h"
#include "fabric/switch/shared_buffer.h"
#include "fabric/switch/switch_counters.h"
#include "fabric/switch/switch_egress.h"
#include "fabric/switch/switch_ingress.h"
#include "fabric/switch/switch_settings.h"
#include "fabric/wire_link.h"

namespace carillon {

enum class switch_event_kind : std::uint8_t {
  xoff,          ///< an ingress account crossed its threshold
  xon,           ///< and is below it again
  pause,         ///< the other end of the port's cable asked for a pause
  resume,        ///< and took it back
  discard,       ///< a frame was dropped at the port that it came to
  storm,         ///< the watchdog found the port's queue paused for too long
  storm_is_over  ///< and let it go
};

struct switch_event {
  ps_t time = 0;
  switch_event_kind kind = switch_event_kind::xoff;
  std::uint32_t port = 0;
  std::uint8_t priority = 0;
};

/// Told of what is rare, for plots and logs; queues are read by those who plot them.
class switch_observer {
 public:
  virtual ~switch_observer() = default;
  virtual void on_event(const switch_event& event) = 0;
};

class ethernet_switch final : public sc_core::sc_module,
                              private switch_ingress::owner,
                              private switch_egress::owner {
 public:
  /// Throws config_error for settings that cannot be.
  ethernet_switch(const sc_core::sc_module_name& name, sim_context& context,
                  switch_settings settings);

  [[nodiscard]] std::uint32_t ports() const { return static_cast<std::uint32_t>(wires_.size()); }

  /// Where the cable of that port is plugged in.
  [[nodiscard]] wire_port& wire(std::uint32_t port) { return *wires_.at(port); }

  /// Frames for that address leave by that port, or by one of several equal ones.
  void add_route(std::uint64_t address, std::vector<std::uint32_t> ports);

  void observe(switch_observer& observer) { observers_.push_back(&observer); }

  [[nodiscard]] const switch_settings& settings() const { return settings_; }

  [[nodiscard]] const shared_buffer& buffer() const { return buffer_; }

  [[nodiscard]] const switch_egress& egress(std::uint32_t port) const {
    return *egresses_.at(port);
  }

  [[nodiscard]] const switch_ingress& ingress(std::uint32_t port) const {
    return *ingresses_.at(port);
  }

  /// Pauses in force count up to now.
  [[nodiscard]] const switch_port_counters& counters(std::uint32_t port);

  /// At the end of a run: no frame is left in the switch.
  void check_drained() const;

 private:
  void on_arrival(std::uint32_t port, switch_arrival&& arrival, ps_t now) override;
  void on_pause(std::uint32_t port, const pfc& request, ps_t now) override;
  void on_left(const shared_buffer::place& place, std::uint64_t bytes, ps_t now) override;
  void on_storm(std::uint32_t port, unsigned priority, bool begins, ps_t now) override;

  [[nodiscard]] bool acceptable(std::uint32_t port, const frame_item& frame);
  void flood(std::uint32_t port, const queued_frame& item, ps_t now);
  bool forward(queued_frame&& item, ps_t now);
  void discard(const shared_buffer::place& place, buffer_verdict why, ps_t now);
  void tell(ps_t now, switch_event_kind kind, std::uint32_t port, unsigned priority);

  sim_context& context_;
  const switch_settings settings_;
  shared_buffer buffer_;
  forwarding_table table_;
  buffer_pool buffers_;  ///< of what the switch itself writes
  trace_site site_;
  std::vector<switch_port_counters> counters_;
  std::vector<std::unique_ptr<wire_port>> wires_;
  std::vector<std::unique_ptr<switch_ingress>> ingresses_;
  std::vector<std::unique_ptr<switch_egress>> egresses_;
  std::vector<switch_observer*> observers_;
};

}  // namespace carillon
