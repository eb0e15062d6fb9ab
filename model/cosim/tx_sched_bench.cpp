// Drives tx_sched: constrained-random work requests, responses, commands, controls and virtual
// ports, a payload_dma that reads in order and fails at times, sinks for all that comes out.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/items.h"
#include "common/nic_shared.h"
#include "common/packet_opcode.h"
#include "common/ring.h"
#include "cosim/bench_parts.h"
#include "cosim/coverage.h"
#include "cosim/stage_benches.h"
#include "cosim/tx_sched_limits.h"
#include "cosim/tx_sched_traffic.h"
#include "gen/stages.h"
#include "gen/wqe.h"
#include "tx_sched.h"

namespace carillon {

namespace {

namespace spec = stage_spec::tx_sched;

class bench_neighbours final : public stage {
 public:
  bench_neighbours(const char* name, sim_context& context, tx_sched_traffic& what,
                   const tx_sched_ports& io, const lockstep_options& options)
      : stage(name, context, "bench"),
        what_(what),
        io_(io),
        gate_(options.source, options.seed, this->name()),
        pauses_(options.seed, this->name()),
        left_(options.transactions) {
    io.work.from(*this, site());
    io.acknowledges.from(*this, site());
    io.commands.from(*this, site());
    io.controls.from(*this, site());
    if (left_ != 0) {
      wake(1);
    }
  }

  [[nodiscard]] const std::vector<trace_ref>& opened() const { return opened_; }

  [[nodiscard]] bool over(cycle_t t) const { return left_ == 0 && t > last_; }

 private:
  void evaluate(cycle_t t) override {
    what_.catch_up(t);
    if (left_ == 0) {
      end(t);
      return;
    }
    wake(t + 1);
    if ((what_.more_commands() || t >= next_command_) && io_.commands.has_credit(t)) {
      io_.commands.push(t, 1, what_.make_command());
      next_command_ = t + 1 + pauses_.below(200);
    }
    govern(t);
    if (t >= next_ports_) {
      io_.vports.write(t, what_.make_ports());
      next_ports_ = t + 1 + pauses_.below(300);
    }
    if (t >= next_pause_) {
      (pauses_.chance(2, 3) ? io_.paused : io_.crowded)->write(t, what_.make_pause());
      next_pause_ = t + 1 + pauses_.below(t / 8192 % 2 == 0 ? 400 : 60);
    }
    if (t >= next_response_ && io_.acknowledges.has_credit(t)) {
      if (auto item = what_.make_response()) {
        item->trace = open(t, item->qpn, 0);
        io_.acknowledges.push(t, 1, *item);
      }
      next_response_ = t + 1 + pauses_.below(t / 2048 % 2 == 0 ? 3 : 60);
    }
    if (gate_.open(t)) {
      send_work(t);
    }
  }

  void govern(cycle_t t) {
    if (t >= next_control_ && io_.controls.has_credit(t)) {
      if (auto item = what_.make_control()) {
        io_.controls.push(t, 1, *item);
      }
      next_control_ = t + 1 + pauses_.below(t / 4096 % 2 == 0 ? 4 : 40);
    }
  }

  void send_work(cycle_t t) {
    if (!work_) {
      work_ = what_.make_work();
    }
    const unsigned beats = work_ ? beats_of(work_->body_bytes()) : 0;
    if (work_ && io_.work.has_credit(t, beats)) {
      const cycle_t visible = std::max(t + 1, io_.work.port_free());
      work_->trace = open(t, work_->qpn, work_->wqe_index);
      io_.work.push(t, static_cast<unsigned>(visible - t), std::move(*work_), beats);
      work_.reset();
      --left_;
      last_ = t;
    }
  }

  /// What can still be sent is; then nothing is left of any QP.
  void end(cycle_t t) {
    constexpr cycle_t Rest = 3000;
    if (io_.paused->read(t) != 0 || io_.crowded->read(t) != 0) {
      io_.paused->write(t, 0);
      io_.crowded->write(t, 0);
    }
    if (t < last_ + Rest) {
      govern(t);
    } else if (io_.commands.has_credit(t)) {
      if (auto item = what_.make_end()) {
        io_.commands.push(t, 1, *item);
      } else {
        return;
      }
    }
    wake(t + 1);
  }

  trace_ref open(cycle_t t, std::uint32_t qpn, std::uint16_t index) {
    opened_.push_back(context_.trace.open(time_of(t), {"bench", qpn, index, 0, 0}));
    return opened_.back();
  }

  tx_sched_traffic& what_;
  tx_sched_ports io_;
  pattern_gate gate_;
  random_stream pauses_;
  std::uint64_t left_;
  cycle_t last_ = 0;
  std::optional<work_item> work_;
  std::vector<trace_ref> opened_;
  cycle_t next_command_ = 500;
  cycle_t next_control_ = 50;
  cycle_t next_ports_ = 100;
  cycle_t next_response_ = 20;
  cycle_t next_pause_ = 200;
};

/// In place of payload_dma.
class bench_payload final : public stage {
 public:
  bench_payload(const char* name, sim_context& context, const tx_sched_ports& io,
                const lockstep_options& options, coverage& cover)
      : stage(name, context, "bench"),
        io_(io),
        cover_(cover),
        gate_(options.sink, options.seed, this->name()),
        random_(options.seed, this->name()) {
    io.payload.to(*this, site());
    io.left.from(*this, site());
    watch(io.payload, {blocker::condition("bench", [this](cycle_t t) { return t != taken_; })});
  }

 private:
  struct inside {
    cycle_t leaves;
    payload_left note;
  };

  void evaluate(cycle_t t) override {
    if (io_.payload.takeable(t) && gate_.open(t) && inside_.size() < 80) {
      const packet_item packet = io_.payload.take(t);
      taken_ = t;
      payload_left note;
      note.qpn = packet.qpn;
      note.response = packet.source == packet_source::read_response;
      note.psn = packet.psn;
      if (random_.chance(1, 100)) {
        note.status = static_cast<dma_status>(1 + random_.below(4));
        cover_.hit(note.response ? "left.answer_unread" : "left.unread");
      }
      cover_.hit(note.response ? "left.answer" : "left.request");
      inside_.push({t + 5 + random_.below(t / 1024 % 2 == 0 ? 10 : 200), note});
    }
    if (!inside_.empty() && inside_.front().leaves <= t && io_.left.has_credit(t)) {
      io_.left.push(t, 1, inside_.pop().note);
    }
    if (!inside_.empty() || io_.payload.takeable(t)) {
      wake(t + 1);
    }
  }

  tx_sched_ports io_;
  coverage& cover_;
  pattern_gate gate_;
  random_stream random_;
  ring<inside> inside_;
  cycle_t taken_ = NeverCycle;
};

void see_note(coverage& cover, const sent_packet& note) {
  constexpr auto Flushed = static_cast<std::uint8_t>(cqe_syndrome::WrFlushed);
  constexpr auto Unread = static_cast<std::uint8_t>(vendor_syndrome::PayloadRead);
  if (note.drain_mark) {
    cover.hit("note.drained");
  } else if (note.syndrome != 0) {
    cover.hit(note.syndrome == Flushed         ? "note.flushed"
              : note.vendor_syndrome == Unread ? "note.unread"
                                               : "note.failed");
  } else {
    cover.hit(note.no_packet        ? "note.no_packet"
              : note.sge_count != 0 ? "note.segments"
              : note.last           ? "note.last_packet"
                                    : "note.packet");
  }
}

/// Past payload_dma.
void see_direct(coverage& cover, const packet_item& packet) {
  switch (packet.source) {
    case packet_source::request:
      cover.hit(packet.payload == 0 ? "direct.empty" : "direct.inline");
      break;
    case packet_source::acknowledge:
      cover.hit(is_cnp(packet) ? "direct.cnp" : "direct.acknowledge");
      break;
    case packet_source::atomic_acknowledge:
      cover.hit("direct.atomic");
      break;
    case packet_source::read_response:
      cover.hit("direct.empty_read");
      break;
  }
}

struct counted_bin {
  counter which;
  const char* bin;
};

constexpr std::array Counted = {counted_bin{counter::AcksCoalesced, "counted.coalesced"},
                                counted_bin{counter::WqeDroppedState, "counted.dropped"},
                                counted_bin{counter::TxStaleWork, "counted.stale"}};

}  // namespace

lockstep_report run_tx_sched_bench(const lockstep_options& options) {
  parameters params;
  // Small ones are used up before an acknowledge comes.
  const std::array Windows = {params.nic.send_window, std::int64_t{64}, std::int64_t{8}};
  params.nic.send_window = Windows[options.seed % Windows.size()];
  sim_context context(params, options.seed, options.shuffle_seed);
  tlp_pool tlps;
  nic_shared nic(context, "bench", tlps);
  rtl_domain domain(context, rtl_options_of(options));
  run_digest digest(context);
  coverage cover(options.stage);

  stream<work_item> work(context, "bench.work", stage_spec::wqe_parser::Depth,
                         stage_spec::wqe_parser::MaxBeats);
  stream<response_item> acknowledges(context, "bench.acknowledge", 16);
  stream<payload_left> left(context, "bench.left", 128);
  stream<qp_command> commands(context, "bench.command", 8);
  stream<send_control> controls(context, "bench.control", 16);
  stream<packet_item> payload(context, "bench.payload", spec::Depth);
  stream<packet_item> direct(context, "bench.direct", spec::Depth);
  stream<sent_packet> sent(context, "bench.sent", spec::Depth);
  stream<refetch> refetches(context, "bench.refetch", 16);
  stream<key_invalidation> invalidations(context, "bench.invalidation", 8);
  stream<response_failure> failures(context, "bench.failure", 8);
  stream<response_left> answered(context, "bench.answered", 8);
  stream<rate_limit> limits(context, "bench.limit", stage_spec::rate_control::Depth);
  stream<rate_charge> charges(context, "bench.charge", stage_spec::rate_control::NoteDepth);
  tx_sched_traffic what(nic.buffers, options.seed, cover);
  tx_sched_traffic::register_queues(nic.posted);
  level<vport_table> vports(
      context.clock, "vports",
      vport_table(std::vector<vport>(tx_sched_traffic::Functions, vport{.enabled = true})));
  level<std::uint8_t> paused(context.clock, "paused", 0);
  level<std::uint8_t> crowded(context.clock, "crowded", 0);
  const tx_sched_ports io{.work = work,
                          .acknowledges = acknowledges,
                          .left = left,
                          .commands = commands,
                          .controls = controls,
                          .payload = payload,
                          .direct = direct,
                          .sent = sent,
                          .refetches = refetches,
                          .invalidations = invalidations,
                          .failures = failures,
                          .answered = answered,
                          .vports = vports,
                          .limits = &limits,
                          .charges = &charges,
                          .paused = &paused,
                          .crowded = &crowded};

  lockstep_report report;
  report.transactions = options.transactions;
  const bench_neighbours neighbours("neighbours", context, what, io, options);
  const tx_sched_limits rates("rates", context, io, what, options.seed, cover,
                              [&neighbours](cycle_t t) { return neighbours.over(t); });
  const bench_payload reader("payload", context, io, options, cover);
  const auto gate = [&options](const char* name) {
    return pattern_gate(options.sink, options.seed, name);
  };
  const bench_sink<packet_item> direct_sink(
      "direct_sink", context, direct, gate("direct"), [&](cycle_t t, const packet_item& packet) {
        report.cycles = t;
        see_direct(cover, packet);
        if (packet.source != packet_source::request && !is_cnp(packet)) {
          what.answered(t);
        }
      });
  const bench_sink<sent_packet> sent_sink("sent_sink", context, sent, gate("sent"),
                                          [&](cycle_t t, const sent_packet& note) {
                                            see_note(cover, note);
                                            what.told(t, note);
                                          });
  const bench_sink<refetch> refetch_sink(
      "refetch_sink", context, refetches, gate("refetch"),
      [&](cycle_t t, const refetch& item) { what.gone_back(t, item); });
  const bench_sink<key_invalidation> invalidation_sink("invalidation_sink", context, invalidations,
                                                       gate("invalidation"),
                                                       [](cycle_t, const auto&) {});
  const bench_sink<response_failure> failure_sink("failure_sink", context, failures,
                                                  gate("failure"), [](cycle_t, const auto&) {});
  const bench_sink<response_left> answered_sink("answered_sink", context, answered,
                                                gate("answered"),
                                                [&](cycle_t t, const auto&) { what.answered(t); });
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
    const twin_instance stage = make_twin<tx_sched>("tx_sched", nic, io, options.impl, &domain);
    run_bench(domain, context, options, {&stage});
    report.edges = domain.edges();
    domain.finish();
    context.check_drained();
  }
  for (const trace_ref each : neighbours.opened()) {
    context.trace.release(each);
  }
  for (const counted_bin& each : Counted) {
    cover.hit_if(nic.counters.value(each.which) != 0, each.bin);
  }
  report.coverage = cover.bins();
  report.trace_digest = digest.value();
  return report;
}

}  // namespace carillon
