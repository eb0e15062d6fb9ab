// Drives wqe_fetch: constrained-random doorbells, commands and queues that go back, a context RAM,
// a DMA engine that answers in any order, a sink.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "common/items.h"
#include "common/nic_shared.h"
#include "cosim/bench_parts.h"
#include "cosim/stage_benches.h"
#include "cosim/wqe_fetch_traffic.h"
#include "gen/stages.h"
#include "wqe_fetch.h"

namespace carillon {

namespace {

namespace spec = stage_spec::wqe_fetch;

/// Sends what `make` makes, with a pause before each, until it is told that all is over.
template <class T>
class feeder final : public stage {
 public:
  using maker = std::function<std::optional<T>(cycle_t)>;

  feeder(const char* name, sim_context& context, stream<T>& out, pattern_gate gate,
         std::function<cycle_t()> pause, std::function<bool()> over, maker make)
      : stage(name, context, "bench"),
        out_(out),
        gate_(gate),
        pause_(std::move(pause)),
        over_(std::move(over)),
        make_(std::move(make)) {
    out.from(*this, site());
    wake(1 + pause_());
  }

 private:
  void evaluate(cycle_t t) override {
    if (over_()) {
      return;
    }
    if (t < next_ || !gate_.open(t)) {
      wake(std::max(next_, t + 1));
      return;
    }
    if (!out_.has_credit(t)) {
      out_.ask_credit(t);
      return;
    }
    if (auto item = make_(t)) {
      out_.push(t, 1, std::move(*item));
    }
    next_ = t + 1 + pause_();
    wake(next_);
  }

  stream<T>& out_;
  pattern_gate gate_;
  std::function<cycle_t()> pause_;
  std::function<bool()> over_;
  maker make_;
  cycle_t next_ = 0;
};

/// Answers lookups in order, each after a latency of its own.
class context_ram final : public stage {
 public:
  context_ram(const char* name, sim_context& context, wqe_fetch_traffic& what,
              stream<context_read>& in, stream<context_line>& out, bench_pattern pattern,
              std::uint64_t seed)
      : stage(name, context, "qpc_ram"),
        what_(what),
        in_(in),
        out_(out),
        pattern_(pattern),
        gate_(pattern, seed, this->name()),
        random_(seed, this->name()) {
    in.to(*this, site());
    out.from(*this, site());
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
    CARILLON_CHECK(out_.has_credit(t), "an answer without room, cycle {}", t);
    cycle_t latency = 4;
    if (pattern_ == bench_pattern::random) {
      latency += random_.chance(1, 64) ? random_.below(100) : random_.below(4);
    }
    const cycle_t visible = std::max(t + latency, out_.port_free());
    out_.push(t, static_cast<unsigned>(visible - t), what_.answer(in_.take(t)));
  }

  wqe_fetch_traffic& what_;
  stream<context_read>& in_;
  stream<context_line>& out_;
  bench_pattern pattern_;
  pattern_gate gate_;
  random_stream random_;
};

/// Answers reads after a latency of its own each, at most one a cycle.
class host_memory final : public stage {
 public:
  host_memory(const char* name, sim_context& context, wqe_fetch_traffic& what, stream<dma_read>& in,
              stream<dma_read_done>& out, bench_pattern pattern, std::uint64_t seed)
      : stage(name, context, "dma_engine"),
        what_(what),
        in_(in),
        out_(out),
        pattern_(pattern),
        gate_(pattern, seed, this->name()),
        random_(seed, this->name()) {
    in.to(*this, site());
    out.from(*this, site());
    watch(in, {blocker::condition("bench", [this](cycle_t t) { return !gate_.open(t); })});
  }

 private:
  void evaluate(cycle_t t) override {
    if (in_.takeable(t) && gate_.open(t)) {
      const dma_read read = in_.take(t);
      cycle_t latency = 20;
      if (pattern_ == bench_pattern::random) {
        // At times in order, at times not at all.
        latency = 1 + random_.below(t / 2048 % 2 == 0 ? 20 : 300);
      }
      answers_.emplace(t + latency, what_.answer(t, read));
    }
    if (!answers_.empty() && answers_.begin()->first <= t) {
      CARILLON_CHECK(out_.has_credit(t), "an answer without room, cycle {}", t);
      out_.push(t, 1, std::move(answers_.begin()->second));
      answers_.erase(answers_.begin());
    }
    if (!answers_.empty()) {
      wake(std::max(t + 1, answers_.begin()->first));
    }
    if (in_.next_take() <= t + 1) {
      wake(t + 1);
    }
  }

  wqe_fetch_traffic& what_;
  stream<dma_read>& in_;
  stream<dma_read_done>& out_;
  bench_pattern pattern_;
  pattern_gate gate_;
  random_stream random_;
  std::multimap<cycle_t, dma_read_done> answers_;
};

struct counted {
  counter which;
  const char* bin;
};

constexpr std::array Counted = {counted{counter::BfExecuted, "counted.blueflame_executed"},
                                counted{counter::BfDemoted, "counted.blueflame_demoted"},
                                counted{counter::DoorbellsCoalesced, "counted.coalesced"},
                                counted{counter::DbIgnoredRange, "counted.ignored"},
                                counted{counter::WqeDroppedState, "counted.dropped"},
                                counted{counter::WqeRefetches, "counted.gone_back"}};

}  // namespace

lockstep_report run_wqe_fetch_bench(const lockstep_options& options) {
  sim_context context(parameters{}, options.seed, options.shuffle_seed);
  tlp_pool tlps;
  nic_shared nic(context, "bench", tlps);
  rtl_domain domain(context, {options.rtl_clock_always,
                              options.audit,
                              {{options.stage, options.variant}},
                              replay_command(options)});
  run_digest digest(context);
  coverage cover;
  wqe_fetch_traffic::declare(cover);
  for (const counted& each : Counted) {
    cover.declare({each.bin});
  }
  cover.declare({"wait.lookups", "wait.credit_context_read", "wait.order"});

  stream<doorbell> doorbells(context, "bench.doorbell", stage_spec::uar::Depth);
  stream<context_read> context_reads(context, "bench.context_read", spec::CtxReadDepth);
  stream<context_line> context_lines(context, "bench.context_line", spec::Lookups);
  stream<dma_read> reads(context, "bench.read", spec::Outstanding);
  stream<dma_read_done> done(context, "bench.done", spec::Outstanding);
  stream<qp_command> commands(context, "bench.command", 8);
  stream<refetch> refetches(context, "bench.refetch", 16);
  stream<wqe_item> wqes(context, "bench.wqe", spec::Depth, spec::MaxBeats);

  wqe_fetch_traffic what(nic.buffers, options.seed, cover);
  random_stream pauses(options.seed, "wqe_fetch_bench/pauses");
  std::uint64_t left = options.transactions;
  const auto over = [&] { return left == 0; };
  lockstep_report report;
  feeder<doorbell> source(
      "source", context, doorbells, {options.source, options.seed, "source"},
      [] { return cycle_t{0}; }, over,
      [&](cycle_t t) {
        doorbell bell = what.make_doorbell();
        bell.trace =
            context.trace.open(context.clock.time_of(t), {"bench", bell.qpn, bell.wqe_index, 0, 0});
        --left;
        ++report.transactions;
        return std::optional(std::move(bell));
      });
  feeder<qp_command> admin(
      "admin", context, commands, {options.source, options.seed, "admin"},
      [&] { return pauses.chance(1, 16) ? pauses.below(8) : 100 + pauses.below(400); }, over,
      [&](cycle_t) { return std::optional(what.make_command()); });
  feeder<refetch> back(
      "back", context, refetches, {options.source, options.seed, "back"},
      [&] { return pauses.chance(1, 8) ? pauses.below(8) : 50 + pauses.below(200); }, over,
      [&](cycle_t) { return what.make_refetch(); });
  context_ram ram("ram", context, what, context_reads, context_lines, options.sink, options.seed);
  host_memory memory("memory", context, what, reads, done, options.sink, options.seed);
  bench_sink<wqe_item> sink("sink", context, wqes, {options.sink, options.seed, "sink"},
                            [&](cycle_t t, const wqe_item& wqe) {
                              report.cycles = t;
                              what.see(wqe);
                              if (wqe.trace.message != 0) {
                                context.trace.release(wqe.trace);
                              }
                            });
  digest.each_message([&](const message_record& message) {
    for (const span& each : message.spans) {
      if (each.kind == span_kind::wait) {
        std::string reason = context.trace.name(each.reason);
        if (reason.rfind("credit:bench.", 0) == 0) {
          reason = "credit_" + reason.substr(13);
        }
        const std::string bin = "wait." + reason;
        cover.hit_if(cover.has(bin), bin);
      }
    }
  });

  {
    const twin_instance stage = make_twin<wqe_fetch>(
        "wqe_fetch", nic,
        {doorbells, context_reads, context_lines, reads, done, commands, refetches, wqes},
        options.impl, &domain);
    run_bench(domain);
    report.edges = domain.edges();
    domain.finish();
    context.check_drained();
  }
  for (const counted& each : Counted) {
    cover.hit_if(nic.counters.value(each.which) != 0, each.bin);
  }
  CARILLON_CHECK(report.transactions == options.transactions, "{} of {} transactions came through",
                 report.transactions, options.transactions);
  report.trace_digest = digest.value();
  report.coverage = cover.bins();
  return report;
}

}  // namespace carillon
