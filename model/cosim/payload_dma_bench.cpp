// Drives payload_dma: constrained-random packets, a DMA engine that answers in any order, a context
// RAM with varying latency, sinks for packets and notes.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/items.h"
#include "common/nic_shared.h"
#include "cosim/bench_parts.h"
#include "cosim/payload_dma_traffic.h"
#include "cosim/stage_benches.h"
#include "gen/stages.h"
#include "payload_dma.h"

namespace carillon {

namespace {

namespace spec = stage_spec::payload_dma;

/// Answers reads in order, each after a latency of its own.
class key_ram final : public stage {
 public:
  key_ram(const char* name, sim_context& context, const payload_dma_contexts& what,
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
    const context_line line = what_.line_of(in_.take(t));
    cycle_t latency = 4;
    if (pattern_ == bench_pattern::random) {
      latency += random_.chance(1, 64) ? random_.below(200) : random_.below(4);
    }
    const cycle_t visible = std::max(t + latency, out_.port_free());
    out_.push(t, static_cast<unsigned>(visible - t), line);
  }

  const payload_dma_contexts& what_;
  stream<context_read>& in_;
  stream<context_line>& out_;
  bench_pattern pattern_;
  pattern_gate gate_;
  random_stream random_;
};

/// Reads host memory; answers come in the order in which they are ready, and a few have failed.
/// From stretch to stretch it has other habits, so that packets are complete one by one, many at
/// once, or not before all of their reads have left.
class host_reads final : public stage {
 public:
  host_reads(const char* name, sim_context& context, stream<dma_read>& in,
             stream<dma_read_done>& out, bench_pattern pattern, std::uint64_t seed,
             pattern_gate gate, coverage& cover)
      : stage(name, context, "dma_engine"),
        in_(in),
        out_(out),
        pattern_(pattern),
        gate_(gate),
        random_(seed, this->name()),
        cover_(cover),
        order_(context.trace.intern("order")) {
    in.to(*this, site());
    out.from(*this, site());
    watch(in, {blocker::condition("bench", [this](cycle_t t) { return !gate_.open(t); })});
  }

 private:
  struct pending {
    dma_read read;
    cycle_t taken = 0;
  };

  void evaluate(cycle_t t) override {
    if (in_.takeable(t)) {
      if (gate_.open(t)) {
        const cycle_t due = t + delay(t);
        pending_.emplace(due, pending{in_.take(t), t});
        wake(due);
      } else {
        wake(t + 1);
      }
    }
    if (pending_.empty() || pending_.begin()->first > t) {
      return;
    }
    if (!out_.has_credit(t)) {
      out_.ask_credit(t);
      return;
    }
    pending answered = std::move(pending_.begin()->second);
    pending_.erase(pending_.begin());
    answer(t, answered);
    if (!pending_.empty()) {
      wake(std::max(t + 1, pending_.begin()->first));
    }
  }

  void answer(cycle_t t, pending& answered) {
    dma_read& read = answered.read;
    // cppcheck-suppress redundantInitialization; the handle's buffer, not the handle
    std::uint8_t* const to = read.into.data() + read.into_offset;
    for (std::uint32_t i = 0; i < read.length; ++i) {
      to[i] = payload_byte(read.address + i);
    }
    dma_read_done done;
    done.trace =
        context_.trace.wait(read.trace, site(), order_, time_of(answered.taken), time_of(t));
    done.cookie = read.cookie;
    if (random_.chance(1, failing_ ? 4 : 100)) {
      done.status = static_cast<dma_status>(random_.between(1, 4));
    }
    static constexpr const char* Bins[] = {"read.ok", "read.unsupported_request",
                                           "read.completer_abort", "read.poisoned", "read.timeout"};
    cover_.hit(Bins[static_cast<unsigned>(done.status)]);
    cover_.hit_if(read.length == 1, "read.one_byte");
    cover_.hit_if(read.length == 4096, "read.largest");
    cover_.hit_if(std::any_of(pending_.begin(), pending_.end(),
                              [&](const auto& each) { return each.second.taken < answered.taken; }),
                  "read.passed_by");
    constexpr std::uint64_t StoreBytes = std::uint64_t{spec::Depth} * BeatBytes;
    cover_.hit_if((read.cookie >> 6) % StoreBytes + read.length > StoreBytes, "read.wraps_store");
    out_.push(t, 1, done);
  }

  enum class habit_e : std::uint8_t { quick, lagging, slow, count_ };

  cycle_t delay(cycle_t t) {
    if (pattern_ != bench_pattern::random) {
      return 20;
    }
    if (t >= habit_ends_) {
      habit_ends_ = t + 2000;
      habit_ = static_cast<habit_e>(random_.below(static_cast<std::uint64_t>(habit_e::count_)));
      failing_ = random_.chance(1, 4);
    }
    switch (habit_) {
      case habit_e::lagging:
        return random_.chance(1, 24) ? 300 + random_.below(600) : 1 + random_.below(20);
      case habit_e::slow:
        return 200 + random_.below(700);
      default:
        return random_.chance(1, 300) ? 1 + random_.below(3000) : 1 + random_.below(60);
    }
  }

  stream<dma_read>& in_;
  stream<dma_read_done>& out_;
  bench_pattern pattern_;
  pattern_gate gate_;
  random_stream random_;
  coverage& cover_;
  name_id order_;
  habit_e habit_ = habit_e::quick;
  cycle_t habit_ends_ = 0;
  bool failing_ = false;  ///< many reads fail
  std::multimap<cycle_t, pending> pending_;
};

class packet_feeder final : public stage {
 public:
  packet_feeder(const char* name, sim_context& context, stream<packet_item>& out,
                payload_dma_traffic& maker,
                std::map<std::uint64_t, std::vector<payload_dma_traffic::range>>& expected,
                pattern_gate gate, std::uint64_t count)
      : stage(name, context, "bench"),
        out_(out),
        maker_(maker),
        expected_(expected),
        gate_(gate),
        left_(count) {
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
    auto [packet, ranges] = maker_.make();
    packet.trace = context_.trace.open(time_of(t), {"bench", packet.qpn, 0, 0, 0});
    expected_.emplace(packet.order, std::move(ranges));
    out_.push(t, 1, std::move(packet));
    --left_;
    wake(t + 1);
  }

  stream<packet_item>& out_;
  payload_dma_traffic& maker_;
  std::map<std::uint64_t, std::vector<payload_dma_traffic::range>>& expected_;
  pattern_gate gate_;
  std::uint64_t left_;
};

/// The bytes of a packet that is not poisoned, each where its list, keys and pages say.
void check_payload(const payload_dma_contexts& what, const packet_item& packet,
                   const std::vector<payload_dma_traffic::range>& ranges) {
  const std::uint8_t* at = packet.frame.data() + PayloadOffset;
  for (const auto& each : ranges) {
    for (std::uint32_t i = 0; i < each.length; ++i, ++at) {
      const std::uint64_t address = each.address + i;
      const auto iova = each.paged ? what.iova(each.key, address) : address;
      CARILLON_CHECK(iova.has_value() && *at == payload_byte(*iova),
                     "packet {}: byte {} at {:#x} is {:#04x}", packet.order,
                     at - packet.frame.data() - PayloadOffset, address, *at);
    }
  }
}

}  // namespace

lockstep_report run_payload_dma_bench(const lockstep_options& options) {
  sim_context context(parameters{}, options.seed, options.shuffle_seed);
  tlp_pool tlps;
  nic_shared nic(context, "bench", tlps);
  rtl_domain domain(context, rtl_options_of(options));
  run_digest digest(context);
  coverage cover(options.stage);

  stream<packet_item> packets(context, "bench.packets", stage_spec::tx_sched::Depth);
  stream<dma_read> reads(context, "bench.reads", spec::ReadDepth);
  stream<dma_read_done> done(context, "bench.done", spec::Outstanding * MaxSge);
  stream<packet_item> filled(context, "bench.filled", spec::Depth, spec::MaxBeats);
  stream<payload_left> left(context, "bench.left", spec::LeftDepth);
  stream<context_read> key_reads(context, "bench.key_reads", spec::KeyReadDepth);
  stream<context_line> key_lines(context, "bench.key_lines", stage_spec::qpc_ram::Depth);

  const payload_dma_contexts what(options.seed);
  payload_dma_traffic maker(what, nic.buffers, options.seed, cover);
  std::map<std::uint64_t, std::vector<payload_dma_traffic::range>> expected;

  enum party_e : unsigned { Source, Host, Keys, Sink, Notes, Parties };

  const auto gate = [&](bench_pattern pattern, const char* path, party_e turn) {
    return pattern_gate(pattern, options.seed, path).take_turns(options.seed, turn, Parties);
  };
  packet_feeder source("source", context, packets, maker, expected,
                       gate(options.source, "source", Source), options.transactions);
  host_reads host("host", context, reads, done, options.sink, options.seed,
                  gate(options.sink, "host", Host), cover);
  key_ram keys("keys", context, what, key_reads, key_lines, options.sink, options.seed,
               gate(options.sink, "keys", Keys));

  lockstep_report report;
  bench_sink<packet_item> sink(
      "sink", context, filled, gate(options.sink, "sink", Sink),
      [&](cycle_t t, const packet_item& packet) {
        ++report.transactions;
        report.cycles = t;
        cover.hit(packet.poisoned ? "packet.poisoned" : "packet.good");
        const auto ranges = expected.extract(packet.order);
        CARILLON_CHECK(!ranges.empty() && packet.order == report.transactions,
                       "packet {} came as number {}", packet.order, report.transactions);
        if (!packet.poisoned) {
          check_payload(what, packet, ranges.mapped());
        }
        context.trace.release(packet.trace);
      });
  bench_sink<payload_left> notes("notes", context, left, gate(options.sink, "notes", Notes),
                                 [&](cycle_t /*t*/, const payload_left& note) {
                                   cover.hit(note.response ? "note.response" : "note.request");
                                   cover.hit_if(note.status != dma_status::ok, "note.failed");
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
    const twin_instance stage = make_twin<payload_dma>(
        "payload_dma", nic, {packets, reads, done, filled, left, key_reads, key_lines},
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
