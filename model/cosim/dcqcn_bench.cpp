// Drives dcqcn: random slices of a few QPs, so that they meet in the pipeline.
#include <algorithm>
#include <array>
#include <functional>

#include "common/nic_shared.h"
#include "cosim/bench_parts.h"
#include "cosim/dcqcn_coverage.h"
#include "cosim/dcqcn_traffic.h"
#include "cosim/stage_benches.h"
#include "dcqcn/dcqcn.h"
#include "gen/coverage.h"
#include "gen/stages.h"

namespace carillon {

namespace {

namespace spec = stage_spec::dcqcn;
using bin = coverage_spec::dcqcn::bin;

class slice_source final : public stage {
 public:
  slice_source(sim_context& context, stream<rate_slice_item>& out, const lockstep_options& options,
               coverage& cover)
      : stage("source", context, "bench"),
        out_(out),
        gate_(options.source, options.seed, "source"),
        left_(options.transactions),
        traffic_(options.seed),
        seen_(traffic_, [&cover](bin which) { cover.hit(which); }) {
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
    if (!gate_.open(t)) {
      wake(t + 1);
      return;
    }
    if (!out_.has_credit(t)) {
      out_.ask_credit(t);
      return;
    }
    const rate_slice_item slice = traffic_.next();
    seen_.observe(slice);
    out_.push(t, 1, slice);
    if (--left_ != 0) {
      wake(t + 1);
    }
  }

  stream<rate_slice_item>& out_;
  pattern_gate gate_;
  std::uint64_t left_;
  dcqcn_traffic traffic_;
  dcqcn_coverage<std::function<void(bin)>> seen_;
};

/// What the slices did to each other in the pipeline, whoever took them.
class pipeline_coverage final : private stream_tap<rate_slice_item> {
 public:
  pipeline_coverage(stream<rate_slice_item>& slices, coverage& cover)
      : slices_(slices), cover_(cover) {
    slices.tap(this);
  }

 private:
  struct issue {
    cycle_t at = 0;
    std::uint16_t slot = 0;
    bool setup = false;
  };

  void on_take(cycle_t t, const rate_slice_item& slice) override {
    const cycle_t last = recent_[(next_ + recent_.size() - 1) % recent_.size()].at;
    const cycle_t could = std::max(slices_.last_taken_visible(), taken_ + 1);
    if (t > could) {
      cover_.hit(last > could ? bin::WaitSlot : bin::WaitCreditRates);
    }
    issue now{t + 1, slice.slot, slice.op == rate_op::Setup};
    bool same_qp = false;
    bool after_setup = false;
    for (const issue& before : recent_) {
      const cycle_t written = before.at + spec::Latency - 1;
      if (before.at == 0 || written <= t + 1) {
        continue;
      }
      same_qp |= !now.setup && !before.setup && before.slot == now.slot;
      after_setup |= !now.setup && before.setup;
      if (now.setup || before.setup || before.slot == now.slot) {
        now.at = std::max(now.at, written);
      }
    }
    cover_.hit_if(same_qp, bin::PipelineSameQp);
    cover_.hit_if(after_setup, bin::PipelineSetup);
    cover_.hit_if(last != 0 && now.at == last + 1, bin::PipelineFlowing);
    taken_ = t;
    recent_[next_] = now;
    next_ = (next_ + 1) % recent_.size();
  }

  stream<rate_slice_item>& slices_;
  coverage& cover_;
  cycle_t taken_ = 0;
  std::array<issue, 4> recent_{};
  std::size_t next_ = 0;
};

}  // namespace

lockstep_report run_dcqcn_bench(const lockstep_options& options) {
  const parameters params;
  sim_context context(params, options.seed, options.shuffle_seed);
  tlp_pool tlps;
  nic_shared nic(context, "bench", tlps);
  rtl_domain domain(context, rtl_options_of(options));
  run_digest digest(context);
  coverage cover(options.stage);

  stream<rate_slice_item> slices(context, "bench.slices", spec::SliceDepth);
  stream<rate_update_item> rates(context, "bench.rates", spec::Depth);
  pipeline_coverage pipeline(slices, cover);
  slice_source source(context, slices, options, cover);

  lockstep_report report;
  bench_sink<rate_update_item> sink("sink", context, rates, {options.sink, options.seed, "sink"},
                                    [&](cycle_t t, const rate_update_item& /*update*/) {
                                      ++report.transactions;
                                      report.cycles = t;
                                    });
  {
    const twin_instance stage =
        make_twin<dcqcn>("dcqcn", nic, {slices, rates}, options.impl, &domain);
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
