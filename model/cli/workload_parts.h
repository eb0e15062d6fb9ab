// What the two sources of the workload share: who runs where, and what each side holds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "cli/workload.h"

namespace carillon {

inline constexpr std::size_t MainCore = 0;
inline constexpr std::size_t ReceiverCore = 1;
inline constexpr std::size_t FirstBackgroundCore = 2;
inline constexpr unsigned MinLogCqSize = 12;
inline constexpr unsigned LogEqSize = 8;  ///< an event for each arm at most
inline constexpr unsigned MaxLogRqSize = 12;
inline constexpr std::size_t PollBatch = 16;
inline constexpr std::uint32_t MinReceives = 16;

/// Receives that are posted ahead: twice what the peer may send, so that reposting does not hold it
/// up.
inline std::uint32_t receives_ahead(std::uint32_t outstanding) {
  return std::clamp(2 * outstanding, MinReceives, std::uint32_t{1} << MaxLogRqSize);
}

/// One queue pair and its buffers. Message n uses slot n modulo the number of slots at both ends.
struct workload::connection {
  std::uint32_t index = 0;
  bool background = false;
  work_opcode opcode = work_opcode::write;
  std::uint32_t size = 0;
  std::uint32_t outstanding = 1;
  std::uint32_t slots = 1;
  std::unique_ptr<completion_queue> own_send_cq;  ///< of a background connection
  std::unique_ptr<queue_pair> qp;
  memory_region source;
  memory_region target;
  connection* peer = nullptr;
  std::uint64_t quota = 0;  ///< messages that it will carry; a background has none
  std::uint64_t posted = 0;
  std::uint64_t completed = 0;
  std::uint64_t received = 0;
  std::uint64_t receives_posted = 0;

  [[nodiscard]] std::uint64_t slot_offset(std::uint64_t number) const {
    return number % slots * std::max<std::uint64_t>(size, 1);
  }
};

struct workload::side {
  side(unsigned number, node& where) : index(number), home(where) {}

  unsigned index;
  node& home;
  std::uint32_t pd = 0;
  uar_handle* uar = nullptr;
  // Of completions by events: the vector of the first wakes the main program, that of the second
  // the receiver's.
  std::unique_ptr<event_queue> send_events;
  std::unique_ptr<event_queue> receive_events;
  std::unique_ptr<completion_queue> send_cq;
  std::unique_ptr<completion_queue> receive_cq;
  std::vector<std::unique_ptr<connection>> links;
  std::uint64_t total = 0;  ///< messages to post, warm-up included
  std::uint64_t warmup = 0;
  ps_t measured_from = NeverPs;
  bool measure_next = false;
  std::vector<work_request> batch;
  bool finished = false;  ///< the measured traffic of this side is done
  // The last message's way to the NIC, for the next one's alignment.
  std::uint64_t doorbell_delay = 0;
  bool delay_known = false;

  struct delay_watcher final : message_observer {
    side* owner = nullptr;

    void on_message(const message_record& message) override {
      if (message.info.node == owner->home.host.name() && message.reached(milestone::doorbell)) {
        owner->doorbell_delay =
            message.time_of(milestone::doorbell) - message.time_of(milestone::post);
        owner->delay_known = true;
      }
    }
  };

  delay_watcher watcher;
};

}  // namespace carillon
