// Drives qpc_ram twice: once with its lines on the chip, once with them in host memory. Readers,
// writers, errors and invalidations as they like, functions with parts that change, memory that
// moves.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "common/items.h"
#include "common/nic_shared.h"
#include "cosim/bench_parts.h"
#include "cosim/qpc_ram_traffic.h"
#include "cosim/stage_benches.h"
#include "gen/contexts.h"
#include "qpc_ram.h"

namespace carillon {

namespace {

/// One of so many cycles changes who has which lines, or where they are.
constexpr std::uint64_t PartitionPeriod = 97;
constexpr std::uint64_t BasePeriod = 641;

/// Feeds all streams of both RAMs, so that what it draws does not depend on the order of
/// evaluation.
class ram_feeder final : public stage {
 public:
  ram_feeder(const char* name, sim_context& context, ram_traffic& maker,
             const std::vector<ram_side*>& sides, bench_pattern pattern, std::uint64_t seed,
             std::uint64_t reads)
      : stage(name, context, "bench"), maker_(maker), sides_(sides), pattern_(pattern) {
    const std::size_t readers = sides.size() * ram_side::Readers;
    std::uint64_t given = 0;
    for (std::size_t s = 0; s < sides.size(); ++s) {
      ram_side& side = *sides[s];
      for (std::size_t i = 0; i < side.requests.size(); ++i) {
        const std::size_t nth = s * ram_side::Readers + i;
        const std::uint64_t count = reads / readers + (nth < reads % readers ? 1 : 0);
        given += count;
        side.requests[i]->from(*this, site());
        reads_.push_back({side.requests[i].get(), gate(seed, "reader", nth), count});
      }
      for (std::size_t i = 0; i < 2; ++i) {
        side.writes[i]->from(*this, site());
        side.errors[i]->from(*this, site());
        side.strikes[i]->from(*this, site());
        const std::size_t nth = 2 * s + i;
        writes_.push_back({side.writes[i].get(), gate(seed, "writer", nth), reads / 8});
        errors_.push_back({side.errors[i].get(), gate(seed, "errors", nth), reads / 24});
        strikes_.push_back({side.strikes[i].get(), gate(seed, "strikes", nth), reads / 24});
      }
    }
    CARILLON_CHECK(given == reads, "{} reads of {}", given, reads);
    if (reads != 0) {
      wake(1);
    }
  }

 private:
  template <class T>
  struct share {
    stream<T>* out;
    pattern_gate gate;
    std::uint64_t left;
  };

  pattern_gate gate(std::uint64_t seed, const char* what, std::size_t nth) const {
    return {pattern_, seed, what + std::to_string(nth)};
  }

  void evaluate(cycle_t t) override {
    bool more = false;
    more |= feed(t, reads_, 3, [&](std::size_t) { return maker_.make_read(); });
    const bool reading = more;
    more |= feed(t, writes_, 4, [&](std::size_t) { return maker_.make_write(); });
    more |= feed(t, errors_, 8, [&](std::size_t) { return maker_.make_error(); });
    more |= feed(t, strikes_, 8, [&](std::size_t) { return maker_.make_strike(); });
    if (reading && t % PartitionPeriod == 0) {
      sides_[t / PartitionPeriod % sides_.size()]->partitions.write(t, maker_.make_partitions());
    }
    if (reading && t % BasePeriod == 0) {
      sides_.back()->base.write(t, maker_.make_base());
    }
    if (more) {
      wake(t + 1);
    }
  }

  /// True while there is something left.
  template <class T, class Make>
  bool feed(cycle_t t, std::vector<share<T>>& shares, std::uint64_t thin, Make make) {
    bool more = false;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      share<T>& each = shares[i];
      if (each.left == 0) {
        continue;
      }
      more = true;
      // Stretches in which everybody asks, and others in which few do.
      const bool quiet = pattern_ == bench_pattern::random && t / 512 % 4 != 3 &&
                         (t * 0x9e3779b97f4a7c15ULL >> 40 ^ i * 37) % thin != 0;
      if (!each.gate.open(t) || quiet || !each.out->has_credit(t)) {
        continue;
      }
      T item = make(i);
      item.trace = open(t, item);
      each.out->push(t, 1, std::move(item));
      --each.left;
    }
    return more;
  }

  trace_ref open(cycle_t t, const context_read& item) {
    return context_.trace.open(time_of(t), {"bench", item.index & 0xffffffU, 0, 0, BeatBytes});
  }

  template <class T>
  trace_ref open(cycle_t /*t*/, const T& /*item*/) {
    return {};
  }

  ram_traffic& maker_;
  std::vector<ram_side*> sides_;
  bench_pattern pattern_;
  std::vector<share<context_read>> reads_;
  std::vector<share<context_write>> writes_;
  std::vector<share<qp_error>> errors_;
  std::vector<share<key_invalidation>> strikes_;
};

void see_line(coverage& cover, const context_line& line) {
  if (!line.valid) {
    cover.hit("line.none");
  } else if (line.kind == context_kind::qpc_common) {
    const qp_state state = qpc_common::unpack(line.data.data()).state;
    cover.hit(state == qp_state::Err    ? "line.err"
              : state == qp_state::Sqer ? "line.sqer"
                                        : "line.other");
  } else if (line.kind == context_kind::mkey) {
    cover.hit(mkey_line::unpack(line.data.data()).valid != 0 ? "line.good_key" : "line.bad_key");
  } else {
    cover.hit("line.other");
  }
}

void see_waits(coverage& cover, const tracer& trace, const message_record& message) {
  for (const span& each : message.spans) {
    if (each.kind != span_kind::wait) {
      continue;
    }
    std::string reason = trace.name(each.reason);
    reason = reason.rfind("credit:", 0) == 0 ? "credit" : reason;
    const std::string bin = "wait." + reason;
    cover.hit_if(cover.has(bin), bin);
  }
}

struct counted_bin {
  const char* bin;
  carillon::counter counter;
};

constexpr counted_bin Counted[] = {
    {"cache.hit", counter::IcmHits},
    {"cache.miss", counter::IcmMisses},
    {"cache.merge", counter::IcmMerges},
    {"cache.eviction", counter::IcmEvictions},
    {"cache.error", counter::IcmErrors},
    {"cache.write_back", counter::IcmWriteBacks},
    {"read.denied", counter::CtxPartitionDenied},
};

}  // namespace

lockstep_report run_qpc_ram_bench(const lockstep_options& options) {
  sim_context context(qpc_ram_settings(options.seed), options.seed, options.shuffle_seed);
  tlp_pool tlps;
  nic_shared chip_nic(context, "chip", tlps);
  nic_shared memory_nic(context, "memory", tlps);
  rtl_domain domain(context, rtl_options_of(options));
  run_digest digest(context);
  coverage cover(options.stage);

  ram_side chip(context, "chip", chip_nic, false);
  ram_side memory(context, "memory", memory_nic, true);
  const std::vector<ram_side*> sides = {&chip, &memory};
  ram_traffic maker(context.params, options.seed, cover);
  ram_feeder feeder("feeder", context, maker, sides, options.source, options.seed,
                    options.transactions);
  ram_memory host("host", context, memory, options.sink, options.seed, cover);
  const forward_watch chip_forwards(chip, cover);
  const forward_watch memory_forwards(memory, cover);

  lockstep_report report;
  std::vector<std::unique_ptr<bench_sink<context_line>>> sinks;
  for (std::size_t s = 0; s < sides.size(); ++s) {
    for (unsigned i = 0; i < ram_side::Readers; ++i) {
      const std::string name = fmt::format("sink{}", s * ram_side::Readers + i);
      sinks.push_back(std::make_unique<bench_sink<context_line>>(
          name.c_str(), context, *sides[s]->lines[i],
          pattern_gate(options.sink, options.seed, name), [&](cycle_t t, const context_line& line) {
            ++report.transactions;
            report.cycles = std::max(report.cycles, t);
            see_line(cover, line);
            context.trace.release(line.trace);
          }));
    }
  }
  digest.each_message(
      [&](const message_record& message) { see_waits(cover, context.trace, message); });

  {
    const twin_instance on_chip =
        make_twin<qpc_ram>("chip_ram", chip_nic, chip.ports(), options.impl, &domain);
    const twin_instance cached =
        make_twin<qpc_ram>("memory_ram", memory_nic, memory.ports(), options.impl, &domain);
    run_bench(domain);
    report.edges = domain.edges();
    domain.finish();
    context.check_drained();
  }
  for (const counted_bin& each : Counted) {
    for (std::uint64_t i = memory_nic.counters.value(each.counter); i != 0; --i) {
      cover.hit(each.bin);
    }
  }
  CARILLON_CHECK(report.transactions == options.transactions, "{} of {} reads came through",
                 report.transactions, options.transactions);
  report.trace_digest = digest.value();
  report.coverage = cover.bins();
  return report;
}

}  // namespace carillon
