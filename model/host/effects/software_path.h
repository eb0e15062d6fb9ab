// Software that handles each message at each end instead of the device's functions: the packet path
// of an overlay network or of macvlan. One server per host with a queue, which other packets use as
// well. Off (not made) with software.service_ps = 0.
#pragma once

#include <string>

#include "common/context.h"
#include "host/effects/shared_server.h"

namespace carillon {

class software_path {
 public:
  /// `name` is the place on which time is booked, "<host>.software_path".
  software_path(sim_context& context, const std::string& name);

  /// A message that comes at `when`: when it is through.
  ps_t pass(ps_t when, name_id row, trace_ref& history);

 private:
  sim_context& context_;
  const name_id place_;
  const name_id queue_reason_;
  shared_server packets_;
};

}  // namespace carillon
