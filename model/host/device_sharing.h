// Several tenants on the queues of one function: every post takes a lock that others hold now and
// then, and finds the lock and the state of the queue in another core's cache.
//
// The others are not simulated one by one: cpu.neighbours of them post every
// cpu.neighbour_interval_ps and hold the lock for cpu.neighbour_hold_ps, with a heavy tail, as a
// holder that loses its core takes the lock along.
#pragma once

#include <memory>
#include <string>

#include "common/context.h"
#include "host/busy_process.h"

namespace carillon {

class cpu;

class device_sharing {
 public:
  /// `host` is the name of the machine.
  device_sharing(sim_context& context, const std::string& host);

  [[nodiscard]] bool active() const { return others_ != nullptr; }

  /// The core takes the lock: waits for `tenant_lock`, then pays for the switch of tenants.
  trace_ref enter(cpu& core, trace_ref history);

 private:
  sim_context& context_;
  const name_id lock_reason_;
  const name_id switch_place_;
  const name_id switch_row_;
  const ps_t switch_;
  std::unique_ptr<busy_process> others_;
};

}  // namespace carillon
