// One device whose queues many tenants post through: each post takes the device's lock and has the
// queues switched to its tenant. The others are a load on the lock: ordinary posts, and posts whose
// thread is taken off its core while it holds the lock. Off (not made) with sharing.tenants = 0.
#pragma once

#include <cstdint>
#include <string>

#include "common/context.h"
#include "host/effects/shared_server.h"

namespace carillon {

class device_sharing {
 public:
  /// `name` is the place on which time is booked, "<host>.shared_device".
  device_sharing(sim_context& context, const std::string& name);

  /// A post that comes at `when`: when it has the lock and the queues.
  ps_t enter(ps_t when, name_id row, trace_ref& history);

 private:
  sim_context& context_;
  const name_id place_;
  const name_id lock_reason_;
  shared_server lock_;
};

}  // namespace carillon
