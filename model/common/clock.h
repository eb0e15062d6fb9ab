// The core clock: a cycle wheel behind one process.
//
// Nothing runs freely. A component asks to be evaluated at a cycle (`wake`) and is evaluated at
// most once in that cycle; when nothing is due, simulated time jumps. The rules that make the order
// of evaluation within a cycle irrelevant:
//
//  1. What a component may see in cycle t (items, credits, levels) is a function of what happened
//     before t. The streams and levels enforce it.
//  2. A component evaluated in t looks at all its ports and then re-arms the earliest cycle at
//  which
//     anything it knows of could move. A needless wake changes nothing.
//  3. Wakes merge to the earliest and are never cancelled. Because of rule 2 an earlier wake loses
//  none:
//     the component re-arms what it still waits for. A wake that arrives while the component is
//     about to be evaluated is kept beside that evaluation, which cannot see yet what it is for.
//
// `shuffle_seed` other than 0 permutes the evaluation order in every cycle; every result must stay
// the same byte for byte.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include <systemc>

#include "common/due_process.h"
#include "common/random.h"
#include "common/types.h"

namespace carillon {

class core_clock;

/// Something that the wheel evaluates.
class clocked {
 public:
  clocked() = default;
  clocked(const clocked&) = delete;
  clocked& operator=(const clocked&) = delete;
  virtual ~clocked() = default;

  /// Called at most once a cycle, in the cycles that somebody asked for.
  virtual void on_cycle(cycle_t t) = 0;

  /// The hierarchical name, for messages.
  [[nodiscard]] virtual std::string path() const = 0;

 protected:
  /// Late components are evaluated after all others of the same cycle: the RTL domain, whose settle
  /// step needs the transfers of the cycle. They must not change what others see in that cycle.
  void evaluate_late() { late_ = true; }

 private:
  friend class core_clock;
  cycle_t next_wake_ = NeverCycle;
  cycle_t after_ = NeverCycle;  ///< the wake after next_wake_, known only while that one is due now
  bool late_ = false;
};

class core_clock final : public due_process {
 public:
  /// `period_ps` must be a whole number of picoseconds (it is an integer) and at least 1.
  core_clock(const sc_core::sc_module_name& name, ps_t period_ps, std::uint64_t shuffle_seed = 0);

  /// Asks for an evaluation of `who` in cycle `cycle`, which must lie in the future.
  void wake(clocked& who, cycle_t cycle);

  /// Asks for an evaluation of a late component in the cycle that is being evaluated, while the
  /// others are. The RTL domain hears in this way that a stage took what one of its blocks offers.
  void wake_late(clocked& who);

  [[nodiscard]] ps_t period() const { return period_; }

  [[nodiscard]] ps_t time_of(cycle_t cycle) const { return cycle * period_; }

  /// The cycle in which something that arrives at `time` enters the core: the first edge after it,
  /// also when it arrives exactly on an edge.
  [[nodiscard]] cycle_t entry(ps_t time) const { return time / period_ + 1; }

  /// The first edge at or after `time`: for the first symbol of a TLP, which starts the reference
  /// count of cycles. Only valid for arrivals announced before `time`.
  [[nodiscard]] cycle_t first_edge(ps_t time) const { return (time + period_ - 1) / period_; }

  /// The cycle being evaluated, or the last one evaluated.
  [[nodiscard]] cycle_t now() const { return now_; }

  /// Evaluations so far (for `run --stats`).
  [[nodiscard]] std::uint64_t wakes() const { return wakes_; }

 private:
  static constexpr unsigned SlotBits = 10;
  static constexpr unsigned Slots = 1U << SlotBits;
  static constexpr cycle_t SlotMask = Slots - 1;
  static_assert(Slots <= 64 * 64, "one word tells which words are occupied");

  struct far_wake {
    cycle_t cycle;
    std::uint64_t order;
    clocked* who;

    bool operator<(const far_wake& other) const {
      return cycle != other.cycle ? cycle > other.cycle : order > other.order;
    }
  };

  /// One wake in the wheel. Those of a slot form a list, in the order in which they were asked for.
  struct node {
    clocked* who;
    std::uint32_t next;
  };

  struct slot_list {
    std::uint32_t first = None;
    std::uint32_t last = None;
  };

  static constexpr std::uint32_t None = ~std::uint32_t{0};

  void run_due() override;
  void take_slot(unsigned slot);
  void evaluate(clocked& who, cycle_t t);
  void wake_after_due(clocked& who, cycle_t cycle);
  void insert(clocked& who, cycle_t cycle);
  void put(clocked& who, cycle_t cycle);
  void import_far(cycle_t base);
  [[nodiscard]] cycle_t next_due(cycle_t from) const;

  ps_t period_;
  std::unique_ptr<random_stream> shuffle_;
  cycle_t now_ = 0;
  cycle_t base_ = 0;  ///< no wake before this cycle is in the wheel
  bool running_ = false;
  bool late_phase_ = false;
  std::uint64_t wakes_ = 0;
  std::uint64_t far_order_ = 0;
  std::vector<slot_list> slots_;
  // All slots share their nodes, and the one that was free last is used first: so few of them are
  // ever touched that they stay in the cache.
  std::vector<node> nodes_;
  std::uint32_t free_node_ = None;
  std::array<std::uint64_t, Slots / 64> occupied_{};
  std::uint64_t occupied_words_ = 0;  ///< which words of occupied_ are not 0
  std::priority_queue<far_wake> far_;
  std::vector<clocked*> batch_;
  std::vector<clocked*> late_;
};

/// Throws config_error unless the SystemC time resolution is 1 ps (it is checked, never set).
void require_picosecond_resolution();

}  // namespace carillon
