// The link between the NIC's socket and the others. What crosses it waits for what is before it in
// its direction, ours and that of other programs of the machine, then takes its bytes' time and the
// hop. Off (not made) when cores and memory are on the NIC's socket.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "common/context.h"
#include "host/effects/shared_server.h"

namespace carillon {

enum class socket_direction : std::uint8_t { from_nic, to_nic };

class socket_link {
 public:
  /// `name` is the place on which time is booked, "<host>.socket_link".
  socket_link(sim_context& context, const std::string& name);

  /// Whether cores (or memory) are on another socket than the NIC.
  static bool cores_are_far(const parameters& params) {
    return params.host.core_node != params.host.nic_node;
  }

  static bool memory_is_far(const parameters& params) {
    return params.host.memory_node != params.host.nic_node;
  }

  struct passage {
    ps_t begin = 0;  ///< of its own bytes, after the wait
    ps_t end = 0;    ///< at the other socket
  };

  passage cross(socket_direction direction, ps_t when, std::uint64_t bytes);

  /// Books the passage of something that came at `when`.
  trace_ref book(trace_ref history, name_id row, ps_t when, const passage& way);

  /// Both.
  ps_t cross(socket_direction direction, ps_t when, std::uint64_t bytes, name_id row,
             trace_ref& history);

  [[nodiscard]] name_id place() const { return place_; }

  [[nodiscard]] name_id queue_reason() const { return queue_reason_; }

 private:
  sim_context& context_;
  const name_id place_;
  const name_id queue_reason_;
  std::array<shared_server, 2> directions_;
};

}  // namespace carillon
