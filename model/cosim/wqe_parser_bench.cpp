// Drives wqe_parser: constrained-random WQEs, a context RAM with varying latency, a sink.
#include <algorithm>
#include <array>

#include "common/items.h"
#include "common/nic_shared.h"
#include "cosim/bench_parts.h"
#include "cosim/stage_benches.h"
#include "cosim/wqe_parser_traffic.h"
#include "gen/stages.h"
#include "gen/wqe.h"
#include "wqe_parser.h"

namespace carillon {

namespace {

namespace spec = stage_spec::wqe_parser;

using contexts = wqe_parser_contexts;

/// Answers reads in order, each after a latency of its own, and lets them wait as the pattern says.
class context_ram final : public stage {
 public:
  context_ram(const char* name, sim_context& context, const contexts& what,
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
    context_line line{read.trace, read.kind, read.index, true};
    if (read.kind == context_kind::mkey) {
      const mkey_line* const key = what_.find_key(read.index);
      line.valid = key != nullptr;
      if (line.valid) {
        key->pack(line.data.data());
      }
    } else {
      const qpc_common* const qp = what_.find_qp(read.index);
      line.valid = qp != nullptr;
      if (line.valid) {
        qp->pack(line.data.data());
      }
    }
    if (random_.chance(1, 12)) {
      turn_a_bit(line.data, random_);
    }
    cycle_t latency = 4;
    if (pattern_ == bench_pattern::random) {
      latency += random_.chance(1, 64) ? random_.below(100) : random_.below(4);
    }
    const cycle_t visible = std::max(t + latency, out_.port_free());
    out_.push(t, static_cast<unsigned>(visible - t), line);
  }

  const contexts& what_;
  stream<context_read>& in_;
  stream<context_line>& out_;
  bench_pattern pattern_;
  pattern_gate gate_;
  random_stream random_;
};

class wqe_feeder final : public stage {
 public:
  wqe_feeder(const char* name, sim_context& context, stream<wqe_item>& out,
             wqe_parser_traffic& maker, pattern_gate gate, std::uint64_t count)
      : stage(name, context, "bench"), out_(out), maker_(maker), gate_(gate), left_(count) {
    out.from(*this, site());
    if (left_ != 0) {
      wake(1);
    }
  }

 private:
  void evaluate(cycle_t t) override {
    if (left_ == 0) {
      return;
    }
    if (!gate_.open(t) || t + 1 < out_.port_free()) {
      wake(t + 1);
      return;
    }
    if (!out_.has_credit(t, out_.max_beats())) {
      out_.ask_credit(t, out_.max_beats());
      return;
    }
    wqe_item wqe = maker_.make();
    wqe.trace = context_.trace.open(time_of(t), {"bench", wqe.qpn, wqe.wqe_index, 0, 0});
    const unsigned beats = beats_of(std::uint64_t{wqe.ds} * 16);
    out_.push(t, 1, std::move(wqe), beats);
    --left_;
    wake(t + 1);
  }

  stream<wqe_item>& out_;
  wqe_parser_traffic& maker_;
  pattern_gate gate_;
  std::uint64_t left_;
};

constexpr std::array Operations = {wqe_opcode::Nop,
                                   wqe_opcode::Send,
                                   wqe_opcode::SendImmediate,
                                   wqe_opcode::RdmaWrite,
                                   wqe_opcode::RdmaRead,
                                   wqe_opcode::RdmaWriteImmediate,
                                   wqe_opcode::AtomicFetchAdd,
                                   wqe_opcode::SendInvalidate,
                                   wqe_opcode::AtomicCompareSwap,
                                   wqe_opcode::LocalInvalidate};

/// What the results were, whoever computed them.
class result_coverage {
 public:
  explicit result_coverage(coverage& cover) : cover_(cover) {}

  void see(const work_item& work) {
    const auto opcode = static_cast<wqe_opcode>(work.opcode);
    const auto syndrome = static_cast<cqe_syndrome>(work.syndrome);
    const bool ok = !work.drop && syndrome == cqe_syndrome::None;
    cover_.hit(work.drop ? "result.drop"
               : ok      ? "result.ok"
                         : fmt::format("result.{}", to_string(syndrome)));
    if (std::find(Operations.begin(), Operations.end(), opcode) == Operations.end()) {
      cover_.hit("opcode.other");
      return;
    }
    if (work.service > static_cast<std::uint8_t>(qp_service::Ud)) {
      return;
    }
    if (ok || syndrome == cqe_syndrome::LocalQpOperation) {
      const std::string bin =
          fmt::format("{}{}.{}", ok ? "" : "no_", to_string(static_cast<qp_service>(work.service)),
                      to_string(opcode));
      cover_.hit_if(cover_.has(bin), bin);
    }
    if (ok) {
      see_body(work);
    }
  }

 private:
  void see_body(const work_item& work) {
    const bool datagram = work.datagram() && work.opcode != 0;
    const bool empty = work.length == 0 && work.sge_count == 0 && !work.is_inline;
    cover_.hit(datagram         ? empty            ? "body.datagram_empty"
                                  : work.is_inline ? "body.datagram_inline"
                                                   : "body.datagram"
               : empty          ? "body.none"
               : work.is_inline ? "body.inline"
                                : "body.pointers");
    if (work.sge_count != 0) {
      cover_.hit(work.paged ? "keys.paged" : "keys.contiguous");
      cover_.hit_if(work.paged && work.opcode == static_cast<std::uint8_t>(wqe_opcode::RdmaRead),
                    "keys.paged_read");
    }
  }

  coverage& cover_;
};

}  // namespace

lockstep_report run_wqe_parser_bench(const lockstep_options& options) {
  sim_context context(parameters{}, options.seed, options.shuffle_seed);
  tlp_pool tlps;
  nic_shared nic(context, "bench", tlps);
  rtl_domain domain(context, rtl_options_of(options));
  run_digest digest(context);
  coverage cover(options.stage);
  result_coverage results(cover);

  stream<wqe_item> wqes(context, "bench.wqe", stage_spec::wqe_fetch::Depth, spec::MaxBeats);
  stream<context_read> ctx_reads(context, "bench.ctx_read", spec::CtxReadDepth);
  stream<context_line> ctx_lines(context, "bench.ctx_line", spec::CtxSlots);
  stream<context_read> mkey_reads(context, "bench.mkey_read", spec::KeyReadDepth);
  stream<context_line> mkey_lines(context, "bench.mkey_line", spec::KeySlots);
  stream<work_item> works(context, "bench.work", spec::Depth, spec::MaxBeats);

  const contexts what(options.seed);
  wqe_parser_traffic maker(what, nic.buffers, options.seed, cover);
  wqe_feeder source("source", context, wqes, maker, {options.source, options.seed, "source"},
                    options.transactions);
  context_ram qps("qps", context, what, ctx_reads, ctx_lines, options.sink, options.seed);
  context_ram keys("keys", context, what, mkey_reads, mkey_lines, options.sink, options.seed);

  lockstep_report report;
  bench_sink<work_item> sink("sink", context, works, {options.sink, options.seed, "sink"},
                             [&](cycle_t t, const work_item& work) {
                               ++report.transactions;
                               report.cycles = t;
                               results.see(work);
                               context.trace.release(work.trace);
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
    const twin_instance stage = make_twin<wqe_parser>(
        "wqe_parser", nic, {wqes, ctx_reads, ctx_lines, mkey_reads, mkey_lines, works},
        options.impl, &domain);
    run_bench(domain, context, options, {&stage});
    report.edges = domain.edges();
    domain.finish();
    context.check_drained();
  }
  CARILLON_CHECK(report.transactions == options.transactions, "{} of {} transactions came through",
                 report.transactions, options.transactions);
  report.trace_digest = digest.value();
  report.coverage = cover.bins();
  return report;
}

}  // namespace carillon
