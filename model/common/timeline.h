// Time outside the core clock: host, links, switches, with a tick of 1 ps.
//
// The same contract as the core's: what happens at one instant is ordered by (time, port,
// sequence), port being the rank in which the receivers were registered, never by the order in
// which the kernel runs processes. One process serves all receivers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <systemc>

#include "common/due_process.h"
#include "common/types.h"

namespace carillon {

class timeline;

/// A receiver of timed callbacks.
class timed {
 public:
  explicit timed(timeline& line);
  timed(const timed&) = delete;
  timed& operator=(const timed&) = delete;
  virtual ~timed() = default;

  /// `what` is the cookie given to timeline::at.
  virtual void on_time(ps_t now, std::uint64_t what) = 0;

 private:
  friend class timeline;
  std::uint32_t rank_;
};

class timeline final : public due_process {
 public:
  explicit timeline(const sc_core::sc_module_name& name);

  /// Calls who.on_time(when, what) at time `when`, which must not lie in the past.
  void at(ps_t when, timed& who, std::uint64_t what = 0);

  /// The same for a timer that may find nothing to do any more: a run is over before it expires, so
  /// it does not count for last().
  void timer(ps_t when, timed& who, std::uint64_t what = 0);

  /// The last callback that was no timer's.
  [[nodiscard]] ps_t last() const { return last_; }

  /// Callbacks so far (for `run --stats`).
  [[nodiscard]] std::uint64_t callbacks() const { return callbacks_; }

  [[nodiscard]] bool idle() const { return heap_.empty(); }

 private:
  friend class timed;

  struct entry {
    ps_t when;
    std::uint64_t sequence;
    timed* who;
    std::uint64_t what;
    std::uint32_t rank;
    bool timer;
  };

  /// A type of its own, unlike a function pointer, is inlined into the heap's algorithms.
  struct comes_later {
    bool operator()(const entry& a, const entry& b) const {
      if (a.when != b.when) {
        return a.when > b.when;
      }
      return a.rank != b.rank ? a.rank > b.rank : a.sequence > b.sequence;
    }
  };

  void run_due() override;
  void add(ps_t when, timed& who, std::uint64_t what, bool timer);

  bool running_ = false;
  std::uint32_t ranks_ = 0;
  std::uint64_t sequence_ = 0;
  std::uint64_t callbacks_ = 0;
  ps_t last_ = 0;
  std::vector<entry> heap_;
};

}  // namespace carillon
