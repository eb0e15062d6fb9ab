// A tiny vocabulary for benches around streams: when something may happen (pattern), a producer and
// a consumer that follow patterns, a script that does single steps in single cycles, and runs that
// end with the text of the error.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <systemc>

#include "common/context.h"
#include "common/random.h"
#include "common/stage.h"
#include "common/stream.h"

namespace carillon::bench {

/// In which cycles a side is willing. A function of the cycle alone: how often it is asked must not
/// matter.
using pattern = std::function<bool(cycle_t)>;

inline pattern always() {
  return [](cycle_t) { return true; };
}

inline pattern every(cycle_t period, cycle_t phase = 0) {
  return [=](cycle_t t) { return t % period == phase; };
}

inline pattern from(cycle_t first) {
  return [=](cycle_t t) { return t >= first; };
}

/// Willing in `percent` of the cycles.
inline pattern randomly(std::uint64_t seed, unsigned percent) {
  return [=](cycle_t t) {
    return random_stream(seed, "pattern/" + std::to_string(t)).chance(percent, 100);
  };
}

/// The smallest item a stream can carry.
struct token {
  trace_ref trace;
  std::uint32_t id = 0;
};

/// Runs for so many cycles from where simulated time stands.
inline void run(const core_clock& clock, cycle_t cycles) {
  sc_core::sc_start(sc_core::sc_time::from_value(clock.time_of(cycles)));
}

/// The same, and returns the text of the error that ended the run ("" for none). SystemC hands on
/// what a process throws as a report; the simulation cannot be continued after it.
inline std::string run_to_error(const core_clock& clock, cycle_t cycles) {
  sc_core::sc_report_handler::set_actions(sc_core::SC_ERROR, sc_core::SC_THROW);
  try {
    run(clock, cycles);
  } catch (const sc_core::sc_report& report) {
    return report.get_msg();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

/// Pushes `count` items, numbered from `first`, as fast as willingness, port and credits allow.
template <class T, class Make = std::function<T(std::uint32_t)>>
class producer : public stage {
 public:
  producer(const sc_core::sc_module_name& name, sim_context& context, stream<T>& out, Make make,
           std::uint32_t count, unsigned latency = 1, unsigned beats = 1,
           pattern willing = always())
      : stage(name, context, "bench"),
        out_(out),
        make_(std::move(make)),
        count_(count),
        latency_(latency),
        beats_(beats),
        willing_(std::move(willing)) {
    out_.from(*this, site());
    if (count_ != 0) {
      wake(0);
    }
  }

  /// Opens a message for each item.
  void trace() { traced_ = true; }

  std::vector<cycle_t> pushed;

 private:
  void evaluate(cycle_t t) override {
    if (pushed.size() == count_) {
      return;
    }
    if (out_.port_free() > t + latency_) {
      wake(out_.port_free() - latency_);
    } else if (!willing_(t)) {
      wake(t + 1);
    } else if (!out_.has_credit(t, beats_)) {
      out_.ask_credit(t, beats_);
    } else {
      T item = make_(static_cast<std::uint32_t>(pushed.size()));
      if (traced_) {
        item.trace = context_.trace.open(time_of(t), {});
      }
      out_.push(t, latency_, std::move(item), beats_);
      pushed.push_back(t);
      wake(t + 1);
    }
  }

  stream<T>& out_;
  Make make_;
  std::uint32_t count_;
  unsigned latency_;
  unsigned beats_;
  pattern willing_;
  bool traced_ = false;
};

/// Takes whenever it is willing and something is there.
template <class T>
class consumer : public stage {
 public:
  struct taken {
    cycle_t cycle;
    T item;
  };

  consumer(const sc_core::sc_module_name& name, sim_context& context, stream<T>& in,
           pattern willing = always())
      : stage(name, context, "bench"), in_(in), willing_(std::move(willing)) {
    in_.to(*this, site());
    watch(in_, {blocker::condition("unwilling", [this](cycle_t t) { return !willing_(t); })});
  }

  std::vector<taken> items;

 private:
  void evaluate(cycle_t t) override {
    if (!in_.takeable(t)) {
      return;
    }
    if (willing_(t)) {
      items.push_back({t, in_.take(t)});
    } else {
      wake(t + 1);
    }
  }

  stream<T>& in_;
  pattern willing_;
};

/// Does each step in its cycle, and notes the cycles in which somebody else woke it.
class script : public clocked {
 public:
  using step = std::function<void(cycle_t)>;

  script(core_clock& clock, std::string name) : clock_(clock), name_(std::move(name)) {}

  /// Evaluated after all others of a cycle.
  script& late() {
    evaluate_late();
    return *this;
  }

  /// Only before the run, or from a step for a later cycle.
  script& at(cycle_t t, step what) {
    steps_.emplace(t, std::move(what));
    clock_.wake(*this, t);
    return *this;
  }

  [[nodiscard]] std::string path() const override { return name_; }

  std::vector<cycle_t> woken;

 private:
  void on_cycle(cycle_t t) override {
    const auto [first, last] = steps_.equal_range(t);
    if (first == last) {
      woken.push_back(t);
    }
    for (auto each = first; each != last; ++each) {
      each->second(t);
    }
    if (const auto next = steps_.upper_bound(t); next != steps_.end()) {
      clock_.wake(*this, next->first);
    }
  }

  core_clock& clock_;
  std::string name_;
  std::multimap<cycle_t, step> steps_;
};

}  // namespace carillon::bench
