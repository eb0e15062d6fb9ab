// uar: the user access region. Doorbells and BlueFlame bursts of each page, checked for ownership.
//
// 10 cycles from a write to the doorbell at wqe_fetch: decode, a look at the QP's context (5) and
// the check. Function and UAR page of the write must own the QP; else it is dropped and counted.
// CQ and EQ doorbells reach completion, which knows their owners, after 5. A read is answered 10
// cycles after everything that was written before it has taken effect.
#pragma once

#include <deque>
#include <vector>

#include "common/function_map.h"
#include "common/items.h"
#include "common/level.h"
#include "common/nic_shared.h"
#include "common/stage.h"
#include "uar/uar_core.h"

namespace carillon {

class uar final : public stage {
 public:
  struct ports {
    stream<mmio_write>& writes;
    stream<mmio_read>& reads;
    stream<mmio_answer>& answers;
    stream<context_read>& context_reads;
    stream<context_line>& context_lines;
    stream<doorbell>& doorbells;
    stream<queue_doorbell>& queue_doorbells;
    level<function_map>* functions = nullptr;  ///< none: no function is ever reset
  };

  uar(const sc_core::sc_module_name& name, nic_shared& nic, const ports& connected);

 private:
  void evaluate(cycle_t t) override;
  void follow_resets(cycle_t t);
  /// What comes from it is from before its reset.
  [[nodiscard]] bool gone(cycle_t t, std::uint16_t function) const;
  void take_write(cycle_t t);
  void take_line(cycle_t t);
  void answer_read(cycle_t t);
  void look_up(cycle_t t);
  [[nodiscard]] bool lookups_full() const;
  [[nodiscard]] bool earlier_writes_open(cycle_t t);

  /// An event and the number of the write that led to it (0 for a timeout).
  struct lookup {
    uar_event event;
    std::uint64_t write = 0;
  };

  nic_shared& nic_;
  ports ports_;
  uar_core core_;
  std::vector<uar_event> events_;
  std::deque<lookup> pending_;    ///< to send, in order
  std::deque<lookup> in_flight_;  ///< under way, in order
  std::uint64_t taken_ = 0;       ///< writes taken so far
  std::uint32_t resets_seen_ = 0;
  std::uint64_t barrier_ = 0;  ///< writes that the front read must see done; 0: not determined yet
  name_id burst_reason_;
  name_id lookup_reason_;
};

}  // namespace carillon
