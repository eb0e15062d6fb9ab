// Two sockets: which one the NIC hangs on, where the programs run and their memory lies, and the
// link between the two.
//
// If they differ (host.cpu_node, host.nic_node), everything that crosses pays host.socket_hop_ps: a
// store of a core to the device once, a write of the device once, a read twice. Other traffic of
// the machine uses the same link in bursts (host.socket_load of the time); what comes during a
// burst waits for its end. Each direction has bursts of its own.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "common/context.h"
#include "host/busy_process.h"

namespace carillon {

class socket_link {
 public:
  enum class direction : std::uint8_t {
    to_memory,  ///< from the NIC's socket to the programs'
    to_device,
  };

  /// `host` is the name of the machine.
  socket_link(sim_context& context, const std::string& host);

  /// Whether the programs and their memory are on the other socket.
  [[nodiscard]] bool crossed() const { return crossed_; }

  /// Carries a history over, from `now` on: waits for `socket_link` while others use it, then the
  /// hop. Returns when it is there. Not to be called unless crossed.
  ps_t cross(direction way, trace_ref& history, name_id row, ps_t now);

 private:
  sim_context& context_;
  const bool crossed_;
  const ps_t hop_;
  const name_id place_;
  const name_id busy_reason_;
  std::array<std::unique_ptr<busy_process>, 2> load_;  ///< by direction; nullptr: nobody else
};

}  // namespace carillon
