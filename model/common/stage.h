// stage: the thin sc_module shell of a pipeline stage, and port_monitor, which explains its waits.
//
// A stage says once, when it is built, what each input may have to wait for; the monitor then names
// the reason of every waiting cycle from port activity alone, in this order: `arbiter` (another
// input is being taken), `credit:<stream>`, a level or state by name. (`order`, the port's previous
// item still being taken, is known to the stream itself.) A takeable item that was not taken with
// no reason that holds is an "unexplained cycle": a model error, and so is one that was booked for
// a lack of credits, or for another input, beyond the cycle in which that ended. So whatever a
// stage waits for must be a stream or a named condition, and a lost wake cannot hide.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/context.h"
#include "common/stream.h"

namespace carillon {

/// One thing that can keep an input from being taken.
struct blocker {
  enum class kind_e : std::uint8_t { arbiter, credit, condition };

  kind_e kind;
  stream_base* port = nullptr;
  unsigned beats = 1;
  std::string name;
  std::function<bool(cycle_t)> holds;

  /// Another input of the same stage is being taken.
  static blocker arbiter(stream_base& other) { return {kind_e::arbiter, &other, 1, "arbiter", {}}; }

  /// An output has fewer than `beats` credits.
  static blocker credit(stream_base& output, unsigned beats = 1) {
    return {kind_e::credit, &output, beats, "credit:" + output.name(), {}};
  }

  /// A named condition (a level, an unanswered request, a window); a function of what happened up
  /// to and including cycle t on the stage's ports.
  static blocker condition(std::string name, std::function<bool(cycle_t)> holds) {
    return {kind_e::condition, nullptr, 1, std::move(name), std::move(holds)};
  }
};

class port_monitor {
 public:
  explicit port_monitor(sim_context& context) : context_(context) {}

  /// Declares an input and what it may wait for, in order of precedence.
  void watch(stream_base& input, std::vector<blocker> blockers);

  /// To be called before the evaluation of cycle t: an input that waited since an evaluation before
  /// t-1 must have been kept by what it was booked for until now.
  void recall(cycle_t t) {
    if (port_bound_ && t - evaluated_ > 1) {
      check_kept(t);
    }
    evaluated_ = t;
  }

  /// To be called after the evaluation of cycle t. Returns the first cycle after t in which an item
  /// that is already known becomes takeable, NeverCycle if there is none: a wake for it may have
  /// been merged into this evaluation.
  cycle_t explain(cycle_t t);

 private:
  struct watched {
    stream_base* input;
    std::vector<blocker> blockers;
    std::vector<name_id> reasons;
    const blocker* kept_by = nullptr;  ///< why it could not be taken in the last evaluation
    bool port_bound = false;           ///< ... and no condition held then
  };

  void check_kept(cycle_t t) const;
  void explain(watched& each, cycle_t t);
  [[nodiscard]] static bool holds(const blocker& each, cycle_t t);
  [[nodiscard]] static bool any_condition(const watched& each, cycle_t t);

  sim_context& context_;
  std::vector<watched> inputs_;
  cycle_t evaluated_ = 0;
  bool port_bound_ = false;  ///< an input is
};

class stage : public sc_core::sc_module, public clocked {
 public:
  /// `row` is the stage's name in the stage table.
  stage(const sc_core::sc_module_name& name, sim_context& context, std::string_view row)
      : sc_core::sc_module(name),
        context_(context),
        site_(context.trace.site(this->name(), row)),
        monitor_(context) {}

  [[nodiscard]] std::string path() const override { return this->name(); }

  void on_cycle(cycle_t t) final {
    monitor_.recall(t);
    evaluate(t);
    if (const cycle_t next = monitor_.explain(t); next != NeverCycle) {
      wake(next);
    }
  }

  [[nodiscard]] trace_site site() const { return site_; }

 protected:
  /// Looks at all ports, moves what can move, and re-arms. For items on watched inputs the base
  /// class does it, so a stage only re-arms for time of its own and asks for credits it lacks.
  virtual void evaluate(cycle_t t) = 0;

  void watch(stream_base& input, std::vector<blocker> blockers) {
    monitor_.watch(input, std::move(blockers));
  }

  [[nodiscard]] ps_t time_of(cycle_t t) const { return context_.clock.time_of(t); }

  void wake(cycle_t t) { context_.clock.wake(*this, t); }

  sim_context& context_;

 private:
  trace_site site_;
  port_monitor monitor_;
};

}  // namespace carillon
