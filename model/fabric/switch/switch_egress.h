// Where frames leave a switch: eight queues, the scheduler, pauses in both directions.
//
// A frame is taken from its queue when the wire will be free within the egress delay, so that a
// port with frames never idles, and at the earliest at the end of the instant in which it came:
// what comes at one instant is queued before anything is chosen. Pauses act when a frame is
// chosen, never on one that was. PFC frames are put in front of the next frame.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "common/buffer.h"
#include "common/context.h"
#include "common/random.h"
#include "common/timeline.h"
#include "fabric/switch/egress_queue.h"
#include "fabric/switch/queue_scheduler.h"
#include "fabric/switch/switch_counters.h"
#include "fabric/switch/switch_settings.h"
#include "fabric/wire_link.h"

namespace carillon {

class switch_egress final : private timed {
 public:
  class owner {
   public:
    /// A frame left its queue, sent or dropped.
    virtual void on_left(const shared_buffer::place& place, std::uint64_t bytes, ps_t now) = 0;
    virtual void on_storm(std::uint32_t port, unsigned priority, bool begins, ps_t now) = 0;

   protected:
    ~owner() = default;
  };

  switch_egress(sim_context& context, owner& up, std::uint32_t port,
                const switch_settings& settings, wire_port& wire, buffer_pool& buffers,
                std::uint64_t address, switch_port_counters& counters);

  /// False if the watchdog drops what comes for that queue; the frame is still the caller's.
  [[nodiscard]] bool accepts(unsigned priority);

  void enqueue(queued_frame&& item, ps_t now);

  /// The other end asks for pauses of its direction, this port's egress.
  void pause(const pfc& request, ps_t now);

  /// The other end should stop, or go on.
  void ask(unsigned priority, bool xoff, ps_t now);

  [[nodiscard]] std::uint64_t queue_bytes(unsigned priority) const {
    return queues_[priority].bytes;
  }

  [[nodiscard]] std::uint64_t average_bytes(unsigned priority) const {
    return queues_[priority].marker.average_bytes();
  }

  [[nodiscard]] bool paused(unsigned priority, ps_t now) const {
    return queues_[priority].paused(now);
  }

  [[nodiscard]] bool storm(unsigned priority) const { return queues_[priority].watchdog.storm(); }

  /// Nothing waits.
  [[nodiscard]] bool empty() const { return waiting_ == 0; }

  /// Pauses that are in force count up to now.
  void settle(ps_t now);

 private:
  enum task : std::uint64_t { Choose, Refresh, Watch };  ///< Watch + priority

  void on_time(ps_t now, std::uint64_t what) override;
  void choose_at(ps_t when);
  void choose(ps_t now);
  void send(unsigned priority, ps_t now);
  void send_request(ps_t now);
  void refresh(ps_t now);
  void watch(unsigned priority, ps_t now);
  void observe(unsigned priority, ps_t now, bool progress);
  void drop_all(unsigned priority, ps_t now);
  [[nodiscard]] bool free_to_send(const egress_queue& queue, ps_t now) const;
  [[nodiscard]] ps_t wire_free() const;
  queued_frame take(unsigned priority, ps_t now);
  void mark(queued_frame& item, egress_queue& queue, priority_counters& counters);
  void explain(queued_frame& item, const priority_counters& counters, ps_t now);

  sim_context& context_;
  owner& up_;
  std::uint32_t port_;
  const switch_settings& settings_;
  wire_port& wire_;
  buffer_pool& buffers_;
  std::uint64_t address_;
  switch_port_counters& counters_;
  random_stream random_;
  trace_site site_;
  name_id queue_reason_;
  name_id pause_reason_;
  std::vector<egress_queue> queues_;
  queue_scheduler scheduler_;
  queue_scheduler::front_bytes fronts_{};  ///< bytes on the wire of each queue's first frame
  std::uint8_t waiting_ = 0;               ///< queues with frames
  ps_t choose_at_ = NeverPs;
  ps_t largest_time_;  ///< that the largest frame keeps the wire busy

  // What is asked of the other end.
  ps_t pause_time_;
  std::uint8_t xoff_ = 0;    ///< priorities that should be paused there
  std::uint8_t untold_ = 0;  ///< that the next PFC frame must speak of
  ps_t refresh_due_ = 0;
  bool refreshing_ = false;
};

}  // namespace carillon
