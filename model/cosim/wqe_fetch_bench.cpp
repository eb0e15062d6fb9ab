// Drives wqe_fetch: constrained-random doorbells, commands and queues that go back, a context RAM,
// a DMA engine that answers in any order, a sink.
#include <algorithm>
#include <map>
#include <utility>

#include "common/items.h"
#include "common/nic_shared.h"
#include "cosim/bench_parts.h"
#include "cosim/coverage.h"
#include "cosim/stage_benches.h"
#include "cosim/wqe_fetch_traffic.h"
#include "gen/stages.h"
#include "wqe_fetch.h"

namespace carillon {

namespace {

namespace spec = stage_spec::wqe_fetch;

/// What the host does, and tx_sched: all in one place, since each knows what the others do.
class bench_host final : public stage {
 public:
  struct ports {
    stream<doorbell>& doorbells;
    stream<qp_command>& commands;
    stream<refetch>& refetches;
  };

  bench_host(const char* name, sim_context& context, wqe_fetch_traffic& what, const ports& io,
             const lockstep_options& options, pattern_gate gate)
      : stage(name, context, "bench"),
        what_(what),
        io_(io),
        gate_(gate),
        pauses_(options.seed, this->name()),
        left_(options.transactions) {
    io.doorbells.from(*this, site());
    io.commands.from(*this, site());
    io.refetches.from(*this, site());
    if (left_ != 0) {
      wake(1);
    }
  }

 private:
  void evaluate(cycle_t t) override {
    if (left_ == 0) {
      return;
    }
    wake(t + 1);
    what_.catch_up(t);
    if (t >= next_command_ && io_.commands.has_credit(t)) {
      io_.commands.push(t, 1, what_.make_command(t));
      next_command_ = t + pause(8, hectic(t) ? 60 : 300);
    }
    if (t >= next_refetch_ && io_.refetches.has_credit(t)) {
      if (auto item = what_.make_refetch(t)) {
        io_.refetches.push(t, 1, *item);
      }
      next_refetch_ = t + pause(16, hectic(t) ? 12 : 100);
    }
    if (gate_.open(t) && io_.doorbells.has_credit(t)) {
      if (auto bell = what_.make_doorbell()) {
        bell->trace = context_.trace.open(time_of(t), {"bench", bell->qpn, bell->wqe_index, 0, 0});
        io_.doorbells.push(t, 1, std::move(*bell));
        --left_;
      }
    }
  }

  /// Queues come and go.
  static bool hectic(cycle_t t) { return t / 8192 % 3 == 1; }

  /// Sometimes none.
  cycle_t pause(unsigned often, cycle_t most) {
    return pauses_.chance(1, often) ? 1 : 1 + pauses_.below(most);
  }

  wqe_fetch_traffic& what_;
  ports io_;
  pattern_gate gate_;
  random_stream pauses_;
  std::uint64_t left_;
  cycle_t next_command_ = 100;
  cycle_t next_refetch_ = 0;
};

/// Answers lookups in order, each after a latency of its own.
class context_ram final : public stage {
 public:
  context_ram(const char* name, sim_context& context, wqe_fetch_traffic& what,
              stream<context_read>& in, stream<context_line>& out, bench_pattern pattern,
              std::uint64_t seed, pattern_gate gate)
      : stage(name, context, "qpc_ram"),
        what_(what),
        in_(in),
        out_(out),
        pattern_(pattern),
        gate_(gate),
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
    out_.push(t, static_cast<unsigned>(visible - t), what_.answer(t, in_.take(t)));
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
              stream<dma_read_done>& out, bench_pattern pattern, std::uint64_t seed,
              pattern_gate gate)
      : stage(name, context, "dma_engine"),
        what_(what),
        in_(in),
        out_(out),
        pattern_(pattern),
        gate_(gate),
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
      answers_.emplace(t + latency, std::pair(t, what_.answer(t, read, answers_.size())));
    }
    if (!answers_.empty() && answers_.begin()->first <= t) {
      CARILLON_CHECK(out_.has_credit(t), "an answer without room, cycle {}", t);
      auto [taken, answer] = std::move(answers_.begin()->second);
      answers_.erase(answers_.begin());
      answer.trace = context_.trace.service(answer.trace, site(), time_of(taken), time_of(t));
      out_.push(t, 1, std::move(answer));
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
  std::multimap<cycle_t, std::pair<cycle_t, dma_read_done>> answers_;  ///< and when it was taken
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
  rtl_domain domain(context, rtl_options_of(options));
  run_digest digest(context);
  coverage cover(options.stage);

  stream<doorbell> doorbells(context, "bench.doorbell", stage_spec::uar::Depth);
  stream<context_read> context_reads(context, "bench.context_read", spec::CtxReadDepth);
  stream<context_line> context_lines(context, "bench.context_line", spec::Lookups);
  stream<dma_read> reads(context, "bench.read", spec::Outstanding);
  stream<dma_read_done> done(context, "bench.done", spec::Outstanding);
  stream<qp_command> commands(context, "bench.command", 8);
  stream<refetch> refetches(context, "bench.refetch", 16);
  stream<wqe_item> wqes(context, "bench.wqe", spec::Depth, spec::MaxBeats);

  wqe_fetch_traffic what(nic.buffers, options.seed, cover);
  lockstep_report report;
  report.transactions = options.transactions;

  enum party_e : unsigned { Host, Ram, Memory, Sink, Parties };

  const auto gate = [&](bench_pattern pattern, const char* path, party_e turn) {
    return pattern_gate(pattern, options.seed, path).take_turns(options.seed, turn, Parties);
  };
  const bench_host host("host", context, what, {doorbells, commands, refetches}, options,
                        gate(options.source, "host", Host));
  context_ram ram("ram", context, what, context_reads, context_lines, options.sink, options.seed,
                  gate(options.sink, "ram", Ram));
  host_memory memory("memory", context, what, reads, done, options.sink, options.seed,
                     gate(options.sink, "memory", Memory));
  bench_sink<wqe_item> sink("sink", context, wqes, gate(options.sink, "sink", Sink),
                            [&](cycle_t t, const wqe_item& wqe) {
                              report.cycles = t;
                              what.see(t, wqe);
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
    run_bench(domain, context, options, {&stage});
    report.edges = domain.edges();
    domain.finish();
    context.check_drained();
  }
  for (const counted& each : Counted) {
    cover.hit_if(nic.counters.value(each.which) != 0, each.bin);
  }
  report.trace_digest = digest.value();
  report.coverage = cover.bins();
  return report;
}

}  // namespace carillon
