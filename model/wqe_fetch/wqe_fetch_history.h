// The histories of what wqe_fetch reads and hands on: which doorbell rang for a WQE, and which WQEs
// come again. It decides nothing, and the RTL twin knows nothing of it.
#pragma once

#include <cstdint>
#include <vector>

#include "common/nic_shared.h"
#include "common/ring.h"
#include "common/tracer.h"
#include "common/types.h"

namespace carillon {

class wqe_fetch_history {
 public:
  wqe_fetch_history(nic_shared& nic, trace_site site, std::size_t queues);

  void reset(std::uint32_t qpn) { queues_[qpn] = {}; }

  /// A BlueFlame WQE that ends at `behind` was handed on.
  void executed(std::uint32_t qpn, std::uint16_t behind) { queues_[qpn].handed = behind; }

  /// A doorbell moved the producer, in cycle t.
  void rang(cycle_t t, std::uint32_t qpn, std::uint16_t producer, trace_ref trace) {
    queues_[qpn].rings.push({producer, trace, t});
  }

  /// The history with which the read of the QP's WQEBBs from `index` on leaves.
  [[nodiscard]] trace_ref of_read(cycle_t t, std::uint32_t qpn, std::uint16_t index) const;

  /// ... and that of a WQE that came with the read of history `from`. Its WQEBBs end at `behind`.
  trace_ref of_wqe(cycle_t t, std::uint32_t qpn, std::uint16_t index, std::uint16_t behind,
                   trace_ref from);

  /// All before `behind` was read.
  void passed(std::uint32_t qpn, std::uint16_t behind);

 private:
  /// What rang for a WQE: the history of the doorbell that covered it first.
  struct rung {
    std::uint16_t producer = 0;
    trace_ref trace;
    cycle_t known = 0;  ///< when its lookup was answered
  };

  struct queue_state {
    std::uint16_t handed = 0;  ///< first index never handed on; before it: WQEs that come again
    ring<rung> rings;
  };

  [[nodiscard]] const rung* covering(std::uint32_t qpn, std::uint16_t index) const;

  [[nodiscard]] ps_t time_of(cycle_t t) const { return nic_.context.clock.time_of(t); }

  nic_shared& nic_;
  trace_site site_;
  std::vector<queue_state> queues_;
  name_id arbiter_reason_;
  name_id batch_reason_;
  name_id go_back_reason_;
};

}  // namespace carillon
