// Two programs, each on a core with a device, that bring everything up and connect their QPs: what
// a workload or a test needs before its traffic. What peers must know of each other is exchanged
// out of band, that is in plain C++.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "host/driver.h"
#include "host/verbs.h"

namespace carillon {

struct session_options {
  unsigned qps = 1;
  unsigned log_cq_size = 8;
  std::uint64_t buffer_bytes = 65536;
  queue_pair_options qp;
  connection_options connection;
  bool buffer_atomics = false;                ///< peers may do atomics on the buffer
  std::optional<shared_receive_options> srq;  ///< all QPs of a side receive from one queue
  std::optional<unsigned> log_eq_size;        ///< both CQs and the QPs report to an EQ
  std::optional<unsigned> interrupt_core;     ///< ... which interrupts this core, by vector 0
  event_moderation moderation;                ///< of both CQs
};

struct session_side {
  session_side(cpu& runs_on, device& uses) : core(runs_on), adapter(uses) {}

  cpu& core;
  device& adapter;
  std::uint32_t pd = 0;
  uar_handle* uar = nullptr;
  memory_region buffer;
  std::unique_ptr<event_queue> events;
  std::unique_ptr<shared_receive_queue> srq;
  std::unique_ptr<completion_queue> send_cq;
  std::unique_ptr<completion_queue> receive_cq;
  std::vector<std::unique_ptr<queue_pair>> qps;
};

class session {
 public:
  session(session_options options, cpu& first_core, device& first, cpu& second_core,
          device& second);

  /// The head of the program of side 0 or 1. When it returns, both sides are in RTS.
  task<> establish(unsigned side);

  [[nodiscard]] session_side& side(unsigned index) { return sides_[index]; }

 private:
  const session_options options_;
  std::array<session_side, 2> sides_;
  rendezvous created_{2};
  rendezvous connected_{2};
};

}  // namespace carillon
