// The order of evaluation within a cycle must not matter.
//
// A small network with everything that could make it matter (arbiters, a fork, a join,
// back-pressure, tight credits, a loop of wakes) runs under twenty shuffles; every handshake must
// be the same. Then each rule of the stream contract is broken on purpose, in a stand-in for the
// stream: the comparison, or the end of the run, must notice.
#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include <systemc>

#include "common/loose_stream.h"
#include "common/stage.h"
#include "common/stream_bench.h"

namespace carillon {
namespace {

using bench::broken_rule;
using bench::loose_stream;
using bench::pattern;
using bench::token;

/// (cycle, node, item) of every take, in a canonical order.
using handshakes = std::vector<std::tuple<cycle_t, std::string, std::uint32_t>>;

template <class Port>
constexpr bool is_real = std::is_base_of_v<stream_base, Port>;

/// A stage over either kind of stream.
template <class Port>
class node : public stage {
 public:
  node(const char* name, sim_context& context, handshakes& log)
      : stage(name, context, name), log_(log) {}

 protected:
  virtual void step(cycle_t t) = 0;

  void input(Port& port, std::vector<std::function<blocker()>> why) {
    port.to(*this, site());
    if constexpr (is_real<Port>) {
      std::vector<blocker> blockers;
      for (auto& each : why) {
        blockers.push_back(each());
      }
      watch(port, std::move(blockers));
    }
    inputs_.push_back(&port);
  }

  static std::function<blocker()> credit(Port& out, unsigned beats = 1) {
    return [&out, beats] {
      if constexpr (is_real<Port>) {
        return blocker::credit(out, beats);
      } else {
        return blocker::condition("", {});
      }
    };
  }

  static std::function<blocker()> when(std::string name, pattern holds) {
    return [=] { return blocker::condition(name, holds); };
  }

  token take(Port& from, cycle_t t) {
    token item = from.take(t);
    log_.emplace_back(t, from.name(), item.id);
    return item;
  }

 private:
  void evaluate(cycle_t t) final {
    step(t);
    if constexpr (!is_real<Port>) {
      for (Port* each : inputs_) {
        if (!each->takeable(t) && each->next_take() != NeverCycle) {
          wake(each->next_take());
        }
      }
    }
  }

  handshakes& log_;
  std::vector<Port*> inputs_;
};

template <class Port>
class source : public node<Port> {
 public:
  source(const char* name, sim_context& context, handshakes& log, Port& out, std::uint32_t first,
         unsigned count, pattern willing)
      : node<Port>(name, context, log),
        out_(out),
        next_(first),
        left_(count),
        willing_(std::move(willing)) {
    out.from(*this, this->site());
    this->wake(1);
  }

 private:
  void step(cycle_t t) override {
    if (left_ == 0) {
      return;
    }
    if (!willing_(t)) {
      this->wake(t + 1);
    } else if (!out_.has_credit(t)) {
      out_.ask_credit(t);
    } else {
      out_.push(t, 1, {{}, next_++});
      --left_;
      this->wake(t + 1);
    }
  }

  Port& out_;
  std::uint32_t next_;
  unsigned left_;
  pattern willing_;
};

/// Both outputs or none.
template <class Port>
class fork : public node<Port> {
 public:
  fork(const char* name, sim_context& context, handshakes& log, Port& in, Port& near, Port& far)
      : node<Port>(name, context, log), in_(in), near_(near), far_(far) {
    near.from(*this, this->site());
    far.from(*this, this->site());
    this->input(in, {this->credit(near), this->credit(far)});
  }

 private:
  void step(cycle_t t) override {
    if (!in_.takeable(t)) {
      return;
    }
    for (Port* out : {&near_, &far_}) {
      if (!out->has_credit(t)) {
        out->ask_credit(t);
        return;
      }
    }
    const token item = this->take(in_, t);
    near_.push(t, 1, item);
    far_.push(t, 5, item);
  }

  Port& in_;
  Port& near_;
  Port& far_;
};

template <class Port>
class join : public node<Port> {
 public:
  join(const char* name, sim_context& context, handshakes& log, Port& a, Port& b, Port& out)
      : node<Port>(name, context, log), a_(a), b_(b), out_(out) {
    out.from(*this, this->site());
    this->input(
        a, {this->when("partner", [&b](cycle_t t) { return !b.takeable(t); }), this->credit(out)});
    this->input(
        b, {this->when("partner", [&a](cycle_t t) { return !a.takeable(t); }), this->credit(out)});
  }

 private:
  void step(cycle_t t) override {
    if (!a_.takeable(t) || !b_.takeable(t)) {
      return;
    }
    if (!out_.has_credit(t)) {
      out_.ask_credit(t);
      return;
    }
    const token item = this->take(a_, t);
    EXPECT_EQ(this->take(b_, t).id, item.id);
    out_.push(t, 1, item);
  }

  Port& a_;
  Port& b_;
  Port& out_;
};

/// Round robin.
template <class Port>
class arbiter : public node<Port> {
 public:
  arbiter(const char* name, sim_context& context, handshakes& log, std::vector<Port*> inputs,
          Port& out, unsigned latency, unsigned beats = 1)
      : node<Port>(name, context, log),
        inputs_(std::move(inputs)),
        out_(out),
        latency_(latency),
        beats_(beats) {
    out.from(*this, this->site());
    for (Port* each : inputs_) {
      this->input(*each,
                  {this->when("arbiter", [this](cycle_t t) { return last_ == t; }),
                   this->when("port", [this](cycle_t t) { return out_free() > t + latency_; }),
                   this->credit(out, beats)});
    }
  }

 private:
  void step(cycle_t t) override {
    for (std::size_t i = 1; i <= inputs_.size(); ++i) {
      const std::size_t candidate = (turn_ + i) % inputs_.size();
      if (!inputs_[candidate]->takeable(t)) {
        continue;
      }
      if (out_free() > t + latency_) {
        this->wake(out_free() - latency_);
        return;
      }
      if (!out_.has_credit(t, beats_)) {
        out_.ask_credit(t, beats_);
        return;
      }
      turn_ = candidate;
      last_ = t;
      if constexpr (is_real<Port>) {
        out_.push(t, latency_, this->take(*inputs_[candidate], t), beats_);
      } else {
        out_.push(t, latency_, this->take(*inputs_[candidate], t));
      }
      this->wake(t + 1);
      return;
    }
  }

  [[nodiscard]] cycle_t out_free() const {
    if constexpr (is_real<Port>) {
      return out_.port_free();
    } else {
      return 0;
    }
  }

  std::vector<Port*> inputs_;
  Port& out_;
  unsigned latency_;
  unsigned beats_;
  std::size_t turn_ = 0;
  cycle_t last_ = NeverCycle;
};

template <class Port>
class sink : public node<Port> {
 public:
  sink(const char* name, sim_context& context, handshakes& log, Port& in, pattern willing)
      : node<Port>(name, context, log), in_(in), willing_(willing) {
    this->input(in, {this->when("unwilling", [willing](cycle_t t) { return !willing(t); })});
  }

 private:
  void step(cycle_t t) override {
    if (!in_.takeable(t)) {
      return;
    }
    if (willing_(t)) {
      this->take(in_, t);
    } else {
      this->wake(t + 1);
    }
  }

  Port& in_;
  pattern willing_;
};

constexpr unsigned Items = 60;

/// one -> fork -> (near, far) -> join -> arbiter <- two; arbiter -> sink; two goes through an
/// arbiter of its own with three.
template <class Port>
struct network : sc_core::sc_module {
  network(const sc_core::sc_module_name& name, std::uint64_t shuffle_seed, broken_rule broken,
          unsigned beats = 1)
      : sc_core::sc_module(name), context(parameters{}, 1, shuffle_seed) {
    const auto port = [&](const char* what, unsigned depth, unsigned max_beats = 1) -> Port& {
      if constexpr (is_real<Port>) {
        ports.push_back(std::make_unique<Port>(context, what, depth, max_beats));
      } else {
        ports.push_back(std::make_unique<Port>(context, what, depth, broken));
      }
      return *ports.back();
    };
    Port& one = port("one", 2);
    Port& near = port("near", 4);
    Port& far = port("far", 3);
    Port& joined = port("joined", 1);
    Port& two = port("two", 1);
    Port& three = port("three", 2);
    Port& mixed = port("mixed", beats, beats);
    Port& out = port("out", 2 * beats, beats);
    const auto add = [&](auto made) { nodes.push_back(std::move(made)); };
    add(std::make_unique<source<Port>>("source_one", context, log, one, 0, Items,
                                       bench::randomly(1, 70)));
    add(std::make_unique<fork<Port>>("fork", context, log, one, near, far));
    add(std::make_unique<join<Port>>("join", context, log, near, far, joined));
    add(std::make_unique<source<Port>>("source_two", context, log, two, 1000, Items,
                                       bench::randomly(2, 40)));
    add(std::make_unique<source<Port>>("source_three", context, log, three, 2000, Items,
                                       bench::every(3)));
    add(std::make_unique<arbiter<Port>>("mixer", context, log, std::vector<Port*>{&two, &three},
                                        mixed, 1, beats));
    add(std::make_unique<arbiter<Port>>("arbiter", context, log,
                                        std::vector<Port*>{&joined, &mixed}, out, 2, beats));
    add(std::make_unique<sink<Port>>("sink", context, log, out, bench::randomly(3, 85)));
  }

  handshakes sorted() {
    std::sort(log.begin(), log.end());
    return log;
  }

  [[nodiscard]] bool drained() const {
    return std::all_of(ports.begin(), ports.end(), [](const auto& each) { return each->empty(); });
  }

  sim_context context;
  handshakes log;
  std::vector<std::unique_ptr<Port>> ports;
  std::vector<std::unique_ptr<stage>> nodes;
};

constexpr std::uint64_t Seeds = 20;
// Every item is taken from each stream on its way: five for those that are forked, three for the
// others.
constexpr std::size_t Handshakes = Items * (5 + 3 + 3);
constexpr cycle_t Enough = 5000;

/// One network for each seed, 0 being no shuffle.
template <class Port>
std::vector<std::unique_ptr<network<Port>>> all_seeds(broken_rule broken = broken_rule::none,
                                                      unsigned beats = 1) {
  std::vector<std::unique_ptr<network<Port>>> all;
  for (std::uint64_t seed = 0; seed <= Seeds; ++seed) {
    all.push_back(std::make_unique<network<Port>>(sc_core::sc_gen_unique_name("network"), seed,
                                                  broken, beats));
  }
  return all;
}

template <class Port>
bool all_alike(std::vector<std::unique_ptr<network<Port>>>& all) {
  const handshakes reference = all.front()->sorted();
  return std::all_of(all.begin(), all.end(),
                     [&](auto& each) { return each->sorted() == reference; });
}

void run_all(const core_clock& clock) {
  bench::run(clock, Enough);
}

TEST(stream_shuffle, every_handshake_is_the_same_under_every_order_of_evaluation) {
  auto all = all_seeds<stream<token>>();
  run_all(all.front()->context.clock);
  for (auto& each : all) {
    EXPECT_EQ(each->log.size(), Handshakes);
    EXPECT_NO_THROW(each->context.check_drained());
  }
  EXPECT_TRUE(all_alike(all));
}

TEST(stream_shuffle, also_with_items_of_several_beats) {
  auto all = all_seeds<stream<token>>(broken_rule::none, 3);
  run_all(all.front()->context.clock);
  EXPECT_EQ(all.front()->log.size(), Handshakes);
  EXPECT_NO_THROW(all.front()->context.check_drained());
  EXPECT_TRUE(all_alike(all));
}

TEST(stream_shuffle, the_stand_in_that_keeps_the_rules_moves_the_same_items_in_the_same_cycles) {
  auto loose = all_seeds<loose_stream>();
  network<stream<token>> real("real", 5, broken_rule::none);
  run_all(real.context.clock);
  EXPECT_TRUE(all_alike(loose));
  EXPECT_EQ(loose.front()->sorted(), real.sorted());
}

TEST(stream_shuffle, notices_items_seen_in_the_cycle_of_their_push) {
  auto all = all_seeds<loose_stream>(broken_rule::visible_in_the_cycle_of_its_push);
  run_all(all.front()->context.clock);
  EXPECT_FALSE(all_alike(all));
}

TEST(stream_shuffle, notices_credits_used_in_the_cycle_of_their_pop) {
  auto all = all_seeds<loose_stream>(broken_rule::credit_in_the_cycle_of_its_pop);
  run_all(all.front()->context.clock);
  EXPECT_FALSE(all_alike(all));
}

TEST(stream_shuffle, notices_a_request_for_credits_that_forgets_a_pop_of_its_cycle) {
  auto all = all_seeds<loose_stream>(broken_rule::ask_forgets_a_pop_of_its_cycle);
  run_all(all.front()->context.clock);
  EXPECT_FALSE(all_alike(all));
  const bool starved = std::any_of(all.begin(), all.end(), [](const auto& each) {
    return !each->drained() || each->log.size() != Handshakes;
  });
  EXPECT_TRUE(starved) << "it starves without a single wrong item";
}

// Throughput
// ----------------------------------------------------------------------------------------

// A credit is away from its push in t until the take in t + latency, and usable again one cycle
// later: depth items per latency + 1 cycles, but never more than one a cycle.
TEST(stream_throughput, is_depth_over_latency_plus_one_and_at_most_one) {
  struct lane : sc_core::sc_module {
    lane(const sc_core::sc_module_name& name, unsigned depth, unsigned away)
        : sc_core::sc_module(name),
          latency(away),
          context(parameters{}, 1, depth),
          port(context, "port", depth),
          from(
              "from", context, port,
              [](std::uint32_t i) {
                return token{{}, i};
              },
              1'000'000, away),
          to("to", context, port) {}

    unsigned latency;
    sim_context context;
    stream<token> port;
    bench::producer<token> from;
    bench::consumer<token> to;
  };

  std::vector<std::unique_ptr<lane>> lanes;
  for (const unsigned latency : {1U, 2U, 5U, 9U}) {
    for (unsigned depth = 1; depth <= latency + 3; ++depth) {
      lanes.push_back(std::make_unique<lane>(sc_core::sc_gen_unique_name("lane"), depth, latency));
    }
  }
  // 2520 is a multiple of 2, 3, 6 and 10. The run ends before cycle 2520 + latency, the first push
  // is in 0.
  bench::run(lanes.front()->context.clock, 2520 + 20);
  for (const auto& each : lanes) {
    const unsigned depth = each->port.depth();
    const unsigned turn = each->latency + 1;
    const auto pushed = std::count_if(each->from.pushed.begin(), each->from.pushed.end(),
                                      [](cycle_t t) { return t < 2520; });
    EXPECT_EQ(pushed, 2520 / turn * std::min(depth, turn))
        << "depth " << depth << " latency " << each->latency;
  }
}

// A producer that starts an item only with all its credits there: the next one may start when the
// last beat is home. Latency 2, four beats, depth 4: taken in t+2, credits from t+3 to t+6.
TEST(stream_throughput, of_long_items_follows_from_the_last_credit) {
  sim_context context(parameters{}, 1, 0);
  stream<token> port(context, "port", 4, 4);
  bench::producer<token> from(
      "from", context, port,
      [](std::uint32_t i) {
        return token{{}, i};
      },
      4, 2, 4);
  bench::consumer<token> to("to", context, port);
  bench::run(context.clock, 100);
  EXPECT_EQ(from.pushed, (std::vector<cycle_t>{0, 6, 12, 18}));
}

// max_beats + latency + 1 is enough for a port that never pauses: 4 + 2 + 1.
TEST(stream_throughput, of_long_items_is_full_with_credits_for_the_round_trip) {
  sim_context context(parameters{}, 1, 0);
  stream<token> port(context, "port", 7, 4);
  bench::producer<token> from(
      "from", context, port,
      [](std::uint32_t i) {
        return token{{}, i};
      },
      4, 2, 4);
  bench::consumer<token> to("to", context, port);
  bench::run(context.clock, 100);
  EXPECT_EQ(from.pushed, (std::vector<cycle_t>{0, 4, 8, 12}));
}

}  // namespace
}  // namespace carillon
