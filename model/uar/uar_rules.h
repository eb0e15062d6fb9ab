// Where every store, lookup and read in the UAR stands. It follows from the inputs and from time
// alone, so the model and the RTL share it: the stores are put together here, and what is left to
// an implementation is to move items.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "common/items.h"
#include "common/nic_shared.h"
#include "common/ring.h"
#include "common/stream.h"
#include "common/twin.h"
#include "uar/uar_core.h"

namespace carillon {

struct uar_ports {
  /// Of the port table, which all() follows.
  enum index_e : unsigned { CtxLine, Write, Read, CtxRead, Doorbell, QueueDoorbell, Answer };

  stream<mmio_write>& writes;               ///< from pcie_rx
  stream<mmio_read>& reads;                 ///< from pcie_rx
  stream<mmio_answer>& answers;             ///< to dma_engine
  stream<context_read>& context_reads;      ///< to qpc_ram: the QP's context
  stream<context_line>& context_lines;      ///< from qpc_ram
  stream<doorbell>& doorbells;              ///< to wqe_fetch
  stream<queue_doorbell>& queue_doorbells;  ///< to completion

  [[nodiscard]] std::vector<stream_base*> all() const {
    return {&context_lines, &writes,          &reads,  &context_reads,
            &doorbells,     &queue_doorbells, &answers};
  }
};

class uar_rules final : public twin_rules {
 public:
  uar_rules(nic_shared& nic, trace_site site, const uar_ports& io);

  std::vector<wait_list> waits() override;
  departure departs(unsigned port, cycle_t visible) override;

  /// Everything that time alone brings about up to cycle t has happened: bursts timed out.
  void settle(cycle_t t);

  [[nodiscard]] cycle_t next_timeout() const { return core_.next_timeout(); }

  // Conditions of cycle t
  // -----------------------------------------------------------------------------
  /// No write may be taken: it may lead to two lookups. Counts what happened before t, and the line
  /// taken in t.
  [[nodiscard]] bool lookups_full(cycle_t t);

  /// The front read, visible in t, must wait for writes that came before it. Counts the writes
  /// taken before t, the line taken in t and the burst that times out in t.
  [[nodiscard]] bool earlier_writes_open(cycle_t t);

  /// An event, the first whose lookup has not left; nullptr if there is none, or if as many lookups
  /// are under way as there is room for their lines.
  [[nodiscard]] const uar_event* to_look_up() const;

  /// Of the line taken last: the event whose owner it confirmed, nullptr if it did not.
  [[nodiscard]] const uar_event* rung() const { return accepted_ ? &rung_ : nullptr; }

  /// Of the write taken last: the CQ or EQ doorbell that it is.
  [[nodiscard]] const std::optional<queue_doorbell>& queue_bell() const { return queue_bell_; }

  /// What a read of DB_REC returns: the last accepted value, as a big-endian number.
  [[nodiscard]] std::uint64_t doorbell_record(uar_page_id page) const {
    return core_.doorbell_record(page);
  }

 private:
  /// An item on its way out.
  struct leaving {
    trace_ref history;
    cycle_t taken = 0;
  };

  /// Calls a member for each item of one input.
  template <class T>
  struct input_tap final : stream_tap<T> {
    using handler = void (uar_rules::*)(cycle_t, const T&);

    input_tap(uar_rules& to, handler which) : rules(to), method(which) {}

    void on_take(cycle_t t, const T& item) override { (rules.*method)(t, item); }

    uar_rules& rules;
    handler method;
  };

  void took_write(cycle_t t, const mmio_write& item);
  void took_line(cycle_t t, const context_line& line);
  void took_read(cycle_t t, const mmio_read& item);
  unsigned add_events(cycle_t t);
  void set_barrier(cycle_t t);

  nic_shared& nic_;
  trace_site site_;
  name_id burst_reason_;
  name_id lookup_reason_;
  uar_ports io_;
  unsigned log_pages_;
  uar_core core_;
  input_tap<mmio_write> write_tap_{*this, &uar_rules::took_write};
  input_tap<context_line> line_tap_{*this, &uar_rules::took_line};
  input_tap<mmio_read> read_tap_{*this, &uar_rules::took_read};

  std::vector<uar_event> events_;  ///< of one write or timeout
  ring<uar_event> lookups_;        ///< in order: those under way, then those to send
  std::size_t sent_ = 0;           ///< under way
  ring<leaving> bells_;
  ring<leaving> queue_bells_;
  ring<leaving> answers_;
  uar_event rung_;
  bool accepted_ = false;
  std::optional<queue_doorbell> queue_bell_;

  // Reads do not pass posted writes. When a read comes to the front, the writes that wait at their
  // port are counted, and the lookups that are not answered; it is taken when none of them is left.
  bool barrier_ = false;          ///< they are counted for the front read
  std::size_t writes_left_ = 0;   ///< of them, writes not taken
  std::size_t lookups_left_ = 0;  ///< of them and of what these writes led to
  bool passed_ = false;           ///< a later write was taken
  // What happened in the last cycle in which it did.
  cycle_t last_write_ = NeverCycle;
  unsigned write_events_ = 0;
  bool write_counted_ = false;  ///< among those that the read waits for
  cycle_t last_timeout_ = NeverCycle;
  unsigned timeout_events_ = 0;
};

}  // namespace carillon
