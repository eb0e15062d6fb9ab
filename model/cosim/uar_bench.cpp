// Drives uar: constrained-random stores and loads, a context RAM with varying latency, sinks.
#include <algorithm>
#include <bit>
#include <vector>

#include "common/items.h"
#include "common/nic_shared.h"
#include "cosim/bench_parts.h"
#include "cosim/coverage.h"
#include "cosim/stage_benches.h"
#include "cosim/uar_resets.h"
#include "cosim/uar_traffic.h"
#include "gen/stages.h"
#include "uar.h"

namespace carillon {

namespace {

namespace spec = stage_spec::uar;

/// One load for so many stores.
constexpr std::uint64_t StoresPerLoad = 4;

/// Settings change with the seed: the twin gets them by ports.
parameters settings_of(std::uint64_t seed) {
  static constexpr std::array<std::int64_t, 4> Timeouts = {1000, 300, 60, 17};
  static constexpr std::array<std::int64_t, 3> Slots = {12, 16, 5};
  static constexpr std::array<std::int64_t, 7> Pages = {16, 64, 5, 32, 1, 512, 4096};
  static constexpr std::array<std::int64_t, 4> Vfs = {256, 64, 7, 200};
  parameters params;
  params.uar.bf_timeout_cycles = Timeouts[seed % Timeouts.size()];
  if (seed % 7 == 3) {
    params.uar.bf_timeout_cycles = seed % 2 == 0 ? 0x2aaaaaa : 0x5555555;
  }
  params.uar.bf_slots = Slots[seed % Slots.size()];
  params.nic.uar_pages = Pages[seed % Pages.size()];
  if (uar_contexts::all_functions(seed)) {
    params.nic.uar_pages = std::min<std::int64_t>(params.nic.uar_pages, 16);
  }
  const auto most = static_cast<std::int64_t>(
      spec::Pages / std::bit_ceil(static_cast<std::uint64_t>(params.nic.uar_pages)));
  const std::int64_t vfs =
      uar_contexts::all_functions(seed) ? Vfs.front() : Vfs[seed / 2 % Vfs.size()];
  params.nic.total_vfs = std::min(vfs, most - 1);
  return params;
}

/// Answers lookups in order, each after a latency of its own, and lets them wait as the pattern
/// says.
class qp_contexts final : public stage {
 public:
  qp_contexts(const char* name, sim_context& context, const uar_contexts& what,
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
    watch(in, {blocker::condition("bench", [this](cycle_t t) { return !gate_.open(t); }),
               blocker::credit(out)});
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
    if (!out_.has_credit(t)) {
      out_.ask_credit(t);
      return;
    }
    const context_read read = in_.take(t);
    const qpc_common* const qp = what_.find(read.index);
    context_line line{read.trace, read.kind, read.index, qp != nullptr};
    if (qp != nullptr) {
      qp->pack(line.data.data());
      if (random_.chance(1, 24)) {
        turn_a_bit(line.data, random_);
      }
    }
    cycle_t latency = 4;
    if (pattern_ == bench_pattern::random) {
      latency += random_.chance(1, 64) ? random_.below(100) : random_.below(4);
    }
    const cycle_t visible = std::max(t + latency, out_.port_free());
    out_.push(t, static_cast<unsigned>(visible - t), line);
  }

  const uar_contexts& what_;
  stream<context_read>& in_;
  stream<context_line>& out_;
  bench_pattern pattern_;
  pattern_gate gate_;
  random_stream random_;
};

/// Pushes stores and loads, each a message of its own.
class bench_host final : public stage {
 public:
  bench_host(const char* name, sim_context& context, uar_traffic& maker, stream<mmio_write>& writes,
             stream<mmio_read>& reads, bench_pattern pattern, std::uint64_t seed,
             std::uint64_t stores, std::uint64_t loads)
      : stage(name, context, "bench"),
        maker_(maker),
        writes_(writes),
        reads_(reads),
        stores_{{pattern, seed, "stores"}, stores},
        loads_{{pattern, seed, "loads"}, loads} {
    writes.from(*this, site());
    reads.from(*this, site());
    if (stores != 0) {
      wake(1);
    }
  }

  [[nodiscard]] const std::vector<trace_ref>& opened() const { return opened_; }

  [[nodiscard]] bool more() const { return stores_.left != 0 || loads_.left != 0; }

 private:
  struct share {
    pattern_gate gate;
    std::uint64_t left = 0;
  };

  void evaluate(cycle_t t) override {
    feed(t, writes_, stores_, [this] { return maker_.make_write(); });
    feed(t, reads_, loads_, [this] { return maker_.make_read(); });
  }

  template <class T, class Make>
  void feed(cycle_t t, stream<T>& out, share& part, Make make) {
    if (part.left == 0) {
      return;
    }
    if (!part.gate.open(t)) {
      wake(t + 1);
      return;
    }
    if (!out.has_credit(t)) {
      out.ask_credit(t);
      return;
    }
    if (out.port_free() > t + 1) {
      wake(t + 1);
      return;
    }
    T item = make();
    item.trace = context_.trace.open(time_of(t), {"bench", 0, 0, 0, item.length});
    opened_.push_back(item.trace);
    out.push(t, 1, std::move(item));
    --part.left;
    wake(t + 1);
  }

  uar_traffic& maker_;
  stream<mmio_write>& writes_;
  stream<mmio_read>& reads_;
  share stores_;
  share loads_;
  std::vector<trace_ref> opened_;
};

/// Counts what is taken.
template <class T>
class tally final : public stream_tap<T> {
 public:
  explicit tally(stream<T>& from) { from.tap(this); }

  void on_take(cycle_t t, const T& /*item*/) override {
    ++count;
    last = t;
  }

  std::uint64_t count = 0;
  cycle_t last = 0;
};

struct counted_bin {
  const char* bin;
  carillon::counter counter;
};

constexpr counted_bin Counted[] = {
    {"result.accepted", counter::Doorbells},
    {"result.not_the_owner", counter::DbIgnoredOwner},
    {"result.half", counter::DbHalfWrites},
    {"result.ignored", counter::DbIgnoredSize},
    {"result.complete", counter::BfOk},
    {"result.overlap", counter::BfDiscardedOverlap},
    {"result.restart", counter::BfDiscardedRestart},
    {"result.length", counter::BfDiscardedLength},
    {"result.gap", counter::BfDiscardedGap},
    {"result.timeout", counter::BfDiscardedTimeout},
    {"result.slots", counter::BfDiscardedSlots},
};

void see_bell(coverage& cover, const doorbell& bell) {
  if (!bell.blueflame) {
    cover.hit("bell.plain");
    return;
  }
  cover.hit(fmt::format("bell.blueflame_{}", beats_of(std::uint64_t{bell.ds} * SegmentBytes)));
}

void see_waits(coverage& cover, const tracer& trace, const message_record& message) {
  for (const span& each : message.spans) {
    if (each.kind != span_kind::wait) {
      continue;
    }
    std::string reason = trace.name(each.reason);
    for (const std::string_view prefix : {"credit:bench.", "credit:"}) {
      if (reason.rfind(prefix, 0) == 0) {
        reason = "credit_" + reason.substr(prefix.size());
        break;
      }
    }
    const std::string bin = "wait." + reason;
    cover.hit_if(cover.has(bin), bin);
  }
}

}  // namespace

lockstep_report run_uar_bench(const lockstep_options& options) {
  sim_context context(settings_of(options.seed), options.seed, options.shuffle_seed);
  tlp_pool tlps;
  nic_shared nic(context, "bench", tlps);
  rtl_domain domain(context, rtl_options_of(options));
  run_digest digest(context);
  coverage cover(options.stage);

  stream<mmio_write> writes(context, "bench.write", stage_spec::pcie_rx::Depth);
  stream<mmio_read> reads(context, "bench.read", 8);
  stream<context_read> ctx_reads(context, "bench.ctx_read", spec::CtxReadDepth);
  stream<context_line> ctx_lines(context, "bench.ctx_line", spec::Lookups);
  stream<doorbell> bells(context, "bench.doorbell", spec::Depth);
  stream<queue_doorbell> queue_bells(context, "bench.queue_doorbell", spec::Depth);
  stream<mmio_answer> answers(context, "bench.answer", spec::AnswerDepth);

  const uar_contexts what(context.params, options.seed);
  uar_traffic maker(what, options.seed, cover);
  const std::uint64_t loads = options.transactions / StoresPerLoad;
  const bench_host pages("pages", context, maker, writes, reads, options.source, options.seed,
                         options.transactions, loads);
  qp_contexts qps("qps", context, what, ctx_reads, ctx_lines, options.sink, options.seed);

  level<function_map> functions(context.clock, "bench.functions",
                                uar_resets::all_there(context.params));
  uar_resets resets("resets", context, what, {functions, writes, reads, ctx_lines}, options.seed,
                    cover, [&] { return pages.more(); });

  tally<mmio_write> taken(writes);
  std::uint64_t answered = 0;
  cycle_t last = 0;
  bench_sink<doorbell> fetch("fetch", context, bells, {options.sink, options.seed, "fetch"},
                             [&](cycle_t t, const doorbell& bell) {
                               last = std::max(last, t);
                               see_bell(cover, bell);
                               resets.note(bell);
                               context.trace.release(bell.trace);
                             });
  bench_sink<queue_doorbell> completion("completion", context, queue_bells,
                                        {options.sink, options.seed, "completion"},
                                        [&](cycle_t t, const queue_doorbell& bell) {
                                          last = std::max(last, t);
                                          context.trace.release(bell.trace);
                                        });
  bench_sink<mmio_answer> host("host", context, answers, {options.sink, options.seed, "host"},
                               [&](cycle_t t, const mmio_answer& answer) {
                                 last = std::max(last, t);
                                 ++answered;
                                 cover.hit(std::any_of(answer.data.begin(), answer.data.end(),
                                                       [](std::uint8_t byte) { return byte != 0; })
                                               ? "answer.record"
                                               : "answer.zero");
                                 context.trace.release(answer.trace);
                               });
  digest.each_message(
      [&](const message_record& message) { see_waits(cover, context.trace, message); });

  lockstep_report report;
  {
    const twin_instance stage = make_twin<uar>(
        "uar", nic, {writes, reads, answers, ctx_reads, ctx_lines, bells, queue_bells, &functions},
        options.impl, &domain);
    run_bench(domain, context, options, {&stage});
    report.edges = domain.edges();
    domain.finish();
    context.check_drained();
  }
  // Stores that led nowhere.
  for (const trace_ref each : pages.opened()) {
    if (context.trace.live(each)) {
      context.trace.release(each);
    }
  }
  for (const counted_bin& each : Counted) {
    for (std::uint64_t i = nic.counters.value(each.counter); i != 0; --i) {
      cover.hit(each.bin);
    }
  }
  CARILLON_CHECK(taken.count == options.transactions && answered == loads,
                 "{} of {} stores were taken, {} of {} loads answered", taken.count,
                 options.transactions, answered, loads);
  report.transactions = taken.count;
  report.cycles = std::max(taken.last, last);
  report.trace_digest = digest.value();
  report.coverage = cover.bins();
  return report;
}

}  // namespace carillon
