// What the benches of all stages share: patterns, a sink, a digest over everything that a run did.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/context.h"
#include "common/error.h"
#include "common/random.h"
#include "common/stage.h"
#include "common/twin.h"
#include "cosim/coverage.h"
#include "cosim/lockstep_bench.h"
#include "cosim/rtl_domain.h"

namespace carillon {

/// Whether a source or sink may move in a cycle. The coin of a cycle does not depend on how often
/// it is looked at.
class pattern_gate {
 public:
  pattern_gate(bench_pattern pattern, std::uint64_t seed, std::string_view path)
      : pattern_(pattern), salt_(random_stream(seed, path).next()) {}

  /// Of `parties` that take turns, number `turn`: in most stretches one of them only is slow, at
  /// random, so that what it holds up shows. Of all parties alike `seed` is the same.
  pattern_gate take_turns(std::uint64_t seed, unsigned turn, unsigned parties) const {
    pattern_gate result = *this;
    result.turn_salt_ = random_stream(seed, "turns").next();
    result.turn_ = turn;
    result.parties_ = parties;
    return result;
  }

  [[nodiscard]] bool open(cycle_t t) const {
    if (parties_ != 0 && pattern_ == bench_pattern::random) {
      // One after the last: nobody is slow; and one more: all of them are.
      const std::uint64_t slow = mix(t / TurnCycles, turn_salt_) % (parties_ + 2);
      if (slow != turn_ && slow != parties_ + 1) {
        return true;
      }
    }
    switch (pattern_) {
      case bench_pattern::none:
        return true;
      case bench_pattern::every_4th:
        return t % 4 == 0;
      case bench_pattern::random:
        return coin(t);
    }
    return true;
  }

 private:
  /// Long stretches of either kind as well as short ones, so that queues fill up and run dry.
  [[nodiscard]] bool coin(cycle_t t) const {
    const std::uint64_t stretch = mix(t / 256, salt_);
    const std::uint64_t open_of_8 = 1 + stretch % 8;
    return mix(t ^ 0x5bd1e995ULL << 32, salt_) % 8 < open_of_8;
  }

  static std::uint64_t mix(std::uint64_t x, std::uint64_t salt) {
    x = (x ^ salt) * 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93ULL;
    return x ^ (x >> 32);
  }

  static constexpr cycle_t TurnCycles = 2048;

  bench_pattern pattern_;
  std::uint64_t salt_;
  std::uint64_t turn_salt_ = 0;
  unsigned turn_ = 0;
  unsigned parties_ = 0;  ///< 0: it takes no turns
};

/// What differs from a good context in one bit shows which bits are looked at.
template <class Line>
void turn_a_bit(Line& line, random_stream& random) {
  const std::uint64_t bit = random.below(8 * line.size());
  line[bit / 8] ^= static_cast<std::uint8_t>(1U << bit % 8);
}

/// A number that two runs share only if they made the same transfers and the same spans. The order
/// of transfers within a cycle does not count.
class run_digest final : public transfer_observer, public message_observer {
 public:
  explicit run_digest(sim_context& context) : context_(context) {
    context.transfers = this;
    context.trace.observe(*this);
  }

  void on_transfer(const transfer& seen) override {
    std::uint64_t one = 0;
    for (const std::uint64_t part : {seen.taken, seen.visible, std::uint64_t{seen.stream},
                                     std::uint64_t{seen.message}, std::uint64_t{seen.beats}}) {
      one = mix(one, part);
    }
    sum_ += one;
  }

  void on_message(const message_record& message) override {
    std::uint64_t one = message.id;
    for (const span& each : message.spans) {
      // A branch that leads nowhere may be appended sooner or later; the sum does not depend on it.
      std::uint64_t part = 0;
      for (const std::uint64_t value :
           {each.begin, each.end, name_hash(each.place), name_hash(each.reason),
            static_cast<std::uint64_t>(each.kind)}) {
        part = mix(part, value);
      }
      one += part;
    }
    sum_ += mix(one, message.spans.size());
    if (seen_) {
      seen_(message);
    }
  }

  void each_message(std::function<void(const message_record&)> seen) { seen_ = std::move(seen); }

  [[nodiscard]] std::uint64_t value() const { return sum_; }

 private:
  /// Numbers of names depend on the order in which they were first used.
  std::uint64_t name_hash(name_id id) {
    while (hashes_.size() <= id) {
      hashes_.push_back(stable_hash(context_.trace.name(static_cast<name_id>(hashes_.size()))));
    }
    return hashes_[id];
  }

  static std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    a = (a ^ b) * 0x9e3779b97f4a7c15ULL;
    return a ^ (a >> 29);
  }

  sim_context& context_;
  std::uint64_t sum_ = 0;
  std::vector<std::uint64_t> hashes_;
  std::function<void(const message_record&)> seen_;
};

/// Takes items whenever its pattern allows.
template <class T>
class bench_sink final : public stage {
 public:
  bench_sink(const char* name, sim_context& context, stream<T>& in, pattern_gate gate,
             std::function<void(cycle_t, const T&)> use)
      : stage(name, context, "bench"), in_(in), gate_(gate), use_(std::move(use)) {
    in.to(*this, site());
    watch(in, {blocker::condition("bench", [this](cycle_t t) { return !gate_.open(t); })});
  }

 private:
  void evaluate(cycle_t t) override {
    if (!in_.takeable(t)) {
      return;
    }
    if (!gate_.open(t)) {
      wake(t + 1);
      return;
    }
    use_(t, in_.take(t));
  }

  stream<T>& in_;
  pattern_gate gate_;
  std::function<void(cycle_t, const T&)> use_;
};

/// What the options ask of the RTL side.
inline rtl_options rtl_options_of(const lockstep_options& options) {
  rtl_options result;
  result.always = options.rtl_clock_always;
  result.audit = options.audit;
  result.variants = {{options.stage, options.variant}};
  result.reset_seed = options.reset_seed;
  result.replay = replay_command(options);
  result.waves = options.waves;
  result.waves_from_cycle = options.waves_from;
  result.waves_to_cycle = options.waves_to;
  return result;
}

/// Runs until nothing is left to do; what a component threw arrives as it was thrown.
inline void run_bench(const rtl_domain& domain) {
  try {
    sc_core::sc_start();
  } catch (const sc_core::sc_report& report) {
    domain.rethrow();
    throw model_error(report.get_msg());
  }
}

/// Looks at models in every cycle up to one, however little there is to do. What they write must
/// not depend on it: a twin in their place is looked at in other cycles than they would be.
class onlooker final : public stage {
 public:
  onlooker(sim_context& context, std::vector<clocked*> models, cycle_t until)
      : stage("onlooker", context, "bench"), models_(std::move(models)), until_(until) {
    if (until != 0 && !models_.empty()) {
      wake(1);
    }
  }

 private:
  void evaluate(cycle_t t) override {
    if (t < until_) {
      for (clocked* each : models_) {
        context_.clock.wake(*each, t + 1);
      }
      wake(t + 1);
    }
  }

  std::vector<clocked*> models_;
  cycle_t until_;
};

/// The same, and looks at the models of `stages` as often as the options say.
inline void run_bench(const rtl_domain& domain, sim_context& context,
                      const lockstep_options& options,
                      std::initializer_list<const twin_instance*> stages) {
  std::vector<clocked*> models;
  for (const twin_instance* each : stages) {
    if (each->model) {
      models.push_back(each->model.get());
    }
  }
  // cppcheck-suppress unreadVariable ; it looks while the bench runs
  const onlooker looks(context, std::move(models), options.looks_until);
  run_bench(domain);
}

}  // namespace carillon
