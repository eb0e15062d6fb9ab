// Where TLPs wait for a PCIe port: for its serializer, for credits, and for those that they must
// not pass.
//
// Order: within a class first in, first out. Posted TLPs may pass the others; nothing passes a
// posted one that was there before. Among the classes the oldest that may go, goes. The wait is
// booked as it was: "link" while the serializer was taken, "flow_control" while credits were
// missing, "order" behind an earlier posted write.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/context.h"
#include "common/pcie_port.h"
#include "common/tlp.h"

namespace carillon {

class tlp_egress : private timed {
 public:
  /// `place` is who waits, for the trace.
  tlp_egress(sim_context& context, pcie_port& port, name_id place);

  /// Sends as soon as possible. The history of the packet must end now.
  void push(tlp* packet);

  /// To be called when credits arrived (pcie_listener::on_credits).
  void pump();

  [[nodiscard]] std::size_t waiting() const;

 private:
  struct entry {
    tlp* packet;
    std::uint64_t order;
    ps_t since;
  };

  /// From `since` on the class waited for `reason`.
  struct cause {
    ps_t since;
    name_id reason;
    std::uint32_t occupant;  ///< message that the link carries
  };

  struct queue {
    std::vector<entry> entries;  ///< from `head` on
    std::size_t head = 0;
    std::vector<cause> causes;

    [[nodiscard]] bool empty() const { return head == entries.size(); }

    [[nodiscard]] const entry& front() const { return entries[head]; }
  };

  void on_time(ps_t now, std::uint64_t what) override;
  void blocked(queue& waiting, ps_t now, name_id reason, std::uint32_t occupant = 0);
  void send_front(queue& from, ps_t now);

  sim_context& context_;
  pcie_port& port_;
  const name_id place_;
  const name_id link_;
  const name_id flow_control_;
  const name_id order_;
  std::array<queue, 3> queues_;  ///< by tlp_class
  std::uint64_t pushed_ = 0;
  ps_t alarm_ = 0;
  bool pumping_ = false;
};

}  // namespace carillon
