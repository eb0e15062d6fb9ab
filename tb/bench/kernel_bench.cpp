// What the kernel of the model costs: wakes, streams, spans, callbacks. Figures are host
// nanoseconds each.
#include <benchmark/benchmark.h>
#include <cstdlib>
#include <memory>
#include <vector>

#include <systemc>

#include "common/context.h"
#include "common/stage.h"
#include "common/stream.h"

namespace carillon {
namespace {

constexpr unsigned Stages = 70;

struct token {
  trace_ref trace;
  std::uint32_t id = 0;
};

void advance(const core_clock& clock, cycle_t cycles) {
  sc_core::sc_start(sc_core::sc_time::from_value(clock.time_of(cycles)));
}

/// Wakes its successor, some cycles later.
struct relay : clocked {
  void on_cycle(cycle_t t) override { clock->wake(*next, t + delay); }

  [[nodiscard]] std::string path() const override { return "relay"; }

  core_clock* clock = nullptr;
  relay* next = nullptr;
  cycle_t delay = 1;
};

/// Passes items on.
class passer : public stage {
 public:
  passer(const sc_core::sc_module_name& name, sim_context& context, stream<token>& in,
         stream<token>& out, unsigned latency)
      : stage(name, context, "passer"), in_(in), out_(out), latency_(latency) {
    in.to(*this, site());
    out.from(*this, site());
    watch(in, {blocker::credit(out)});
  }

 private:
  void evaluate(cycle_t t) override {
    if (!in_.takeable(t)) {
      return;
    }
    if (out_.has_credit(t)) {
      out_.push(t, latency_, in_.take(t));
    } else {
      out_.ask_credit(t);
    }
  }

  stream<token>& in_;
  stream<token>& out_;
  unsigned latency_;
};

/// SystemC elaborates once: everything is built before the first run, and each benchmark drives its
/// own part.
struct rings {
  static constexpr unsigned Loads[] = {1, 16, 64};

  struct wake_ring : sc_core::sc_module {
    wake_ring(const sc_core::sc_module_name& name)
        : sc_core::sc_module(name), clock("clock", 1000) {
      relays = std::vector<relay>(Stages);
      for (unsigned i = 0; i < Stages; ++i) {
        relays[i].clock = &clock;
        relays[i].next = &relays[(i + 1) % Stages];
        relays[i].delay = 1 + i % 7;
      }
    }

    core_clock clock;
    std::vector<relay> relays;
  };

  struct stream_ring : sc_core::sc_module {
    stream_ring(const sc_core::sc_module_name& name) : sc_core::sc_module(name), context({}, 1, 0) {
      for (unsigned i = 0; i < Stages; ++i) {
        streams.push_back(
            std::make_unique<stream<token>>(context, "ring." + std::to_string(i), 16));
      }
      for (unsigned i = 0; i < Stages; ++i) {
        stages.push_back(std::make_unique<passer>(sc_core::sc_gen_unique_name("passer"), context,
                                                  *streams[i], *streams[(i + 1) % Stages],
                                                  1 + i % 7));
      }
    }

    sim_context context;
    std::vector<std::unique_ptr<stream<token>>> streams;
    std::vector<std::unique_ptr<passer>> stages;
  };

  struct ticker : timed {
    ticker(timeline& owner, ps_t step) : timed(owner), line(owner), period(step) {}

    void on_time(ps_t now, std::uint64_t what) override { line.at(now + period, *this, what); }

    timeline& line;
    ps_t period;
  };

  wake_ring wakes[3] = {{"wakes_1"}, {"wakes_16"}, {"wakes_64"}};
  stream_ring passes[3] = {{"passes_1"}, {"passes_16"}, {"passes_64"}};
  timeline line{"ticks"};
  std::vector<std::unique_ptr<ticker>> tickers;
  int active = -1;

  rings() {
    for (unsigned i = 0; i < 16; ++i) {
      tickers.push_back(std::make_unique<ticker>(line, 900 + 37 * i));
    }
  }
};

rings* all = nullptr;

// A benchmark adds its load to the simulation once and cannot take it away again, so a second one
// in the same process would also pay for the first: run them one at a time with --benchmark_filter.

void wakes(benchmark::State& state) {
  const auto which = static_cast<std::size_t>(state.range(0));
  auto& ring = all->wakes[which];
  const cycle_t start = now_ps() / ring.clock.period() + 1;
  for (unsigned i = 0; ring.clock.wakes() == 0 && i < rings::Loads[which]; ++i) {
    ring.clock.wake(ring.relays[i * Stages / rings::Loads[which]], start);
  }
  advance(ring.clock, 1000);
  const std::uint64_t before = ring.clock.wakes();
  for (auto _ : state) {
    advance(ring.clock, 10'000);
  }
  state.counters["in_flight"] = rings::Loads[which];
  state.counters["each"] =
      benchmark::Counter(static_cast<double>(ring.clock.wakes() - before),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

BENCHMARK(wakes)->DenseRange(0, 2);

void stream_push_take(benchmark::State& state) {
  const auto which = static_cast<std::size_t>(state.range(0));
  auto& ring = all->passes[which];

  struct counter : transfer_observer {
    void on_transfer(const transfer&) override { ++seen; }

    std::uint64_t seen = 0;
  } count;

  ring.context.transfers = &count;
  const cycle_t start = now_ps() / ring.context.clock.period() + 1;
  for (unsigned i = 0; ring.context.clock.wakes() == 0 && i < rings::Loads[which]; ++i) {
    ring.streams[i]->push(start, 1, {{}, i});
  }
  advance(ring.context.clock, 1000);
  const std::uint64_t before = count.seen;
  for (auto _ : state) {
    advance(ring.context.clock, 10'000);
  }
  state.counters["in_flight"] = rings::Loads[which];
  state.counters["each"] =
      benchmark::Counter(static_cast<double>(count.seen - before),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  ring.context.transfers = nullptr;
}

BENCHMARK(stream_push_take)->DenseRange(0, 2);

void timeline_callbacks(benchmark::State& state) {
  for (auto& each : all->tickers) {
    if (all->line.callbacks() >= all->tickers.size()) {
      break;  // they tick since an earlier call
    }
    all->line.at(sc_core::sc_time_stamp().value() + 1, *each);
  }
  const std::uint64_t before = all->line.callbacks();
  for (auto _ : state) {
    sc_core::sc_start(sc_core::sc_time::from_value(1'000'000));
  }
  state.counters["each"] =
      benchmark::Counter(static_cast<double>(all->line.callbacks() - before),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

BENCHMARK(timeline_callbacks);

/// A message of 60 spans from open to release, 64 of them alive.
void tracer_spans(benchmark::State& state) {
  constexpr unsigned Spans = 60;
  tracer trace;
  const trace_site site = trace.site("nic0.uar", "uar");
  std::vector<trace_ref> alive(64);
  ps_t now = 0;
  std::uint64_t spans = 0;
  for (auto _ : state) {
    for (auto& slot : alive) {
      trace.release(slot);
      slot = trace.open(now, {});
      for (unsigned i = 0; i < Spans; ++i) {
        slot = trace.service(slot, site, now + i, now + i + 1);
      }
    }
    now += 100;
    spans += Spans * alive.size();
  }
  state.counters["each"] = benchmark::Counter(
      static_cast<double>(spans), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

BENCHMARK(tracer_spans);

}  // namespace
}  // namespace carillon

int sc_main(int argc, char** argv) {
  carillon::all =
      new carillon::rings();  // lives as long as the program: SystemC tears modules down at exit
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

int main(int argc, char** argv) {
  setenv("SC_COPYRIGHT_MESSAGE", "DISABLE", 1);
  return sc_core::sc_elab_and_sim(argc, argv);
}
