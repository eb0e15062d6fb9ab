// Drives packet_builder: constrained-random packets at both inputs, a context RAM that serves their
// paths, virtual ports and QPs that change meanwhile, and two sinks.
#include <algorithm>
#include <string>
#include <utility>

#include "common/items.h"
#include "common/level.h"
#include "common/nic_shared.h"
#include "common/roce_packet.h"
#include "common/steering.h"
#include "cosim/bench_parts.h"
#include "cosim/packet_builder_traffic.h"
#include "cosim/stage_benches.h"
#include "gen/stages.h"
#include "gen/wire.h"
#include "packet_builder.h"

namespace carillon {

namespace {

namespace spec = stage_spec::packet_builder;

using world = packet_builder_world;

/// What changes while packets pass, each from the cycle after its change on.
struct moving_parts {
  explicit moving_parts(sim_context& context)
      : lives(context.clock, "bench.lives", {}),
        vports(context.clock, "bench.vports", world::first_ports()) {}

  level<world::lives> lives;
  level<vport_table> vports;
  bool over = false;  ///< the last packet is made
};

/// Resets QPs and changes virtual ports at random times; now and then a function as a whole.
class administrator final : public stage {
 public:
  administrator(const char* name, sim_context& context, moving_parts& parts, std::uint64_t seed,
                coverage& cover)
      : stage(name, context, "bench"), parts_(parts), random_(seed, this->name()), cover_(cover) {
    wake(1 + random_.below(400));
  }

 private:
  void evaluate(cycle_t t) override {
    if (parts_.over) {
      return;
    }
    wake(t + 1 + random_.below(400));
    world::lives lives = parts_.lives.read(t);
    switch (random_.below(8)) {
      case 0: {
        cover_.hit("change.function_reset");
        const auto function = static_cast<std::uint16_t>(random_.below(world::Functions));
        for (unsigned qpn = 0; qpn < world::Qps; ++qpn) {
          lives[qpn] =
              static_cast<std::uint8_t>(lives[qpn] + (world::function_of(qpn) == function ? 1 : 0));
        }
        parts_.lives.write(t, lives);
        break;
      }
      case 1:
      case 2:
        cover_.hit("change.qp_reset");
        ++lives[random_.below(world::Qps)];
        parts_.lives.write(t, lives);
        break;
      default:
        cover_.hit("change.vport");
        parts_.vports.write(t, world::changed(parts_.vports.read(t), random_));
        break;
    }
  }

  moving_parts& parts_;
  random_stream random_;
  coverage& cover_;
};

/// Answers reads in order, each after a latency of its own, and lets them wait as the pattern says.
class path_ram final : public stage {
 public:
  path_ram(const char* name, sim_context& context, const world& what, const moving_parts& parts,
           stream<context_read>& in, stream<context_line>& out, bench_pattern pattern,
           std::uint64_t seed, pattern_gate gate)
      : stage(name, context, "qpc_ram"),
        what_(what),
        parts_(parts),
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
    const context_read read = in_.take(t);
    context_line line{read.trace, read.kind, read.index, !random_.chance(1, 128)};
    if (line.valid) {
      const unsigned index = world::index_of(read.index);
      qpc_address path = what_.paths.at(index);
      path.life = parts_.lives.read(t).at(index);
      path.pack(line.data.data());
      if (random_.chance(1, 12)) {
        turn_a_bit(line.data, random_);
      }
    }
    cycle_t latency = stage_spec::qpc_ram::Ram;
    if (pattern_ == bench_pattern::random) {
      latency += random_.chance(1, 64)  ? random_.below(100)
                 : random_.chance(1, 4) ? random_.below(4)
                                        : 0;
    }
    const cycle_t visible = std::max(t + latency, out_.port_free());
    out_.push(t, static_cast<unsigned>(visible - t), line);
  }

  const world& what_;
  const moving_parts& parts_;
  stream<context_read>& in_;
  stream<context_line>& out_;
  bench_pattern pattern_;
  pattern_gate gate_;
  random_stream random_;
};

/// Grants packets. Those with payload from memory take longer on their way.
class packet_feeder final : public stage {
 public:
  packet_feeder(const char* name, sim_context& context, stream<packet_item>& filled,
                stream<packet_item>& direct, packet_builder_traffic& maker, moving_parts& parts,
                pattern_gate gate, std::uint64_t seed, std::uint64_t count)
      : stage(name, context, "bench"),
        filled_(filled),
        direct_(direct),
        maker_(maker),
        parts_(parts),
        gate_(gate),
        random_(seed, this->name()),
        left_(count) {
    filled.from(*this, site());
    direct.from(*this, site());
    parts.over = left_ == 0;
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
    if (!made_) {
      next_ = maker_.make(parts_.lives.read(t));
      made_ = true;
      far_ = random_.chance(1, 4) ? random_.below(120) : 20;
    }
    stream<packet_item>& out = next_.frame ? filled_ : direct_;
    const unsigned beats = next_.frame ? beats_of(next_.payload) : 1;
    if (!out.has_credit(t, beats)) {
      out.ask_credit(t, beats);
      return;
    }
    const cycle_t visible = std::max(t + 1 + (next_.frame ? far_ : 0), out.port_free());
    next_.trace = context_.trace.open(time_of(t), {"bench", next_.qpn, 0, 0, next_.payload});
    out.push(t, static_cast<unsigned>(visible - t), std::move(next_), beats);
    made_ = false;
    --left_;
    parts_.over = left_ == 0;
    wake(t + 1);
  }

  stream<packet_item>& filled_;
  stream<packet_item>& direct_;
  packet_builder_traffic& maker_;
  moving_parts& parts_;
  pattern_gate gate_;
  random_stream random_;
  std::uint64_t left_;
  packet_item next_;
  bool made_ = false;
  cycle_t far_ = 0;
};

/// Follows packets to their paths: why they are dropped, whoever drops them.
class drop_watch final : public stream_tap<packet_item>, public stream_tap<context_line> {
 public:
  drop_watch(sim_context& context, stream<packet_item>& filled, stream<packet_item>& direct,
             stream<context_line>& lines, const moving_parts& parts, coverage& cover)
      : context_(context), parts_(parts), cover_(cover) {
    filled.tap(this);
    direct.tap(this);
    lines.tap(this);
  }

  void on_take(cycle_t /*t*/, const packet_item& packet) override { pending_.push(packet); }

  void on_take(cycle_t t, const context_line& line) override {
    const packet_item packet = pending_.pop();
    const char* why = reason(t, packet, line);
    if (why == nullptr) {
      return;
    }
    cover_.hit(why);
    ++dropped;
    last = t;
    context_.trace.release(line.trace);
  }

  std::uint64_t dropped = 0;
  cycle_t last = 0;

 private:
  const char* reason(cycle_t t, const packet_item& packet, const context_line& line) {
    const qpc_address path = qpc_address::unpack(line.data.data());
    if (packet.poisoned) {
      return "drop.poisoned";
    }
    if (!line.valid) {
      return "drop.unreadable";
    }
    if (packet.life != path.life) {
      return "drop.stale";
    }
    const vport_table& table = parts_.vports.read(t);
    if (packet.function >= table.size()) {
      return "drop.no_port";
    }
    const vport& port = table.at(packet.function);
    switch (source_allowed(table, packet.function, source_of(path))) {
      case source_verdict::down:
        return "drop.port_down";
      case source_verdict::spoofed:
        if (path.smac != 0 && path.smac != port.mac) {
          return "drop.mac";
        }
        if (port.vlan && path.vlan_valid != 0 && path.vlan_id != *port.vlan) {
          return "drop.vlan";
        }
        return path.gid_index >= port.sources.size()    ? "drop.beyond_list"
               : !port.sources.at(path.gid_index).valid ? "drop.empty_entry"
                                                        : "drop.other_address";
      case source_verdict::allowed:
        break;
    }
    cover_.hit_if(!port.spoof_check, "pass.unchecked");
    cover_.hit_if(path.ip_version != 4 && path.ip_version != 6, "pass.other_version");
    if (port.spoof_check) {
      cover_.hit_if(!port.sources.empty(), "pass.listed");
      cover_.hit(path.smac != 0 ? "pass.own_mac" : "pass.port_mac");
      cover_.hit_if(port.vlan && path.vlan_valid != 0, "pass.own_vlan");
    }
    return nullptr;
  }

  sim_context& context_;
  const moving_parts& parts_;
  coverage& cover_;
  ring<packet_item> pending_;
};

/// What the frames were, whoever built them.
class frame_coverage {
 public:
  static constexpr std::array PadBins = {"pad.none", "pad.one", "pad.two", "pad.three"};

  explicit frame_coverage(coverage& cover) : cover_(cover) {}

  void see(const frame_item& frame) {
    const parsed_frame parsed = parse_frame(frame.bytes.data() + frame.offset, frame.length);
    CARILLON_CHECK(parsed.good(), "packet_builder bench: a frame that is refused: {}",
                   to_string(parsed.error));
    cover_.hit(fmt::format("opcode.{}", parsed.opcode->name));
    cover_.hit(parsed.ipv6 ? "frame.ipv6" : "frame.ipv4");
    cover_.hit(parsed.tagged ? "frame.tagged" : "frame.plain");
    cover_.hit(frame.looped ? "frame.looped" : "frame.wire");
    cover_.hit_if(frame.length == MinFrameBytes, "frame.shortest");
    cover_.hit_if(frame.length <= BeatBytes, "frame.one_beat");
    cover_.hit_if(beats_of(frame.length) == spec::MaxBeats, "frame.longest");
    cover_.hit(PadBins.at(pad_of(parsed.payload)));
    cover_.hit_if(parsed.icrc_offset % BeatBytes == BeatBytes - 2, "icrc.across_beats");
    cover_.hit_if(parsed.icrc_offset % BeatBytes == 2 && parsed.payload != 0, "icrc.in_next_beat");
    cover_.hit_if(parsed.payload_offset > BeatBytes, "headers.two_beats");
    if (parsed.opcode->has_deth) {
      cover_.hit(parsed.ipv6 ? "datagram.ipv6" : "datagram.ipv4");
    }
  }

 private:
  coverage& cover_;
};

void see_waits(coverage& cover, const tracer& trace, const message_record& message) {
  for (const span& each : message.spans) {
    if (each.kind != span_kind::wait) {
      continue;
    }
    std::string reason = trace.name(each.reason);
    constexpr std::string_view Credit = "credit:bench.";
    if (reason.rfind(Credit, 0) == 0) {
      reason = "credit_" + reason.substr(Credit.size());
    }
    const std::string bin = "wait." + reason;
    cover.hit_if(cover.has(bin), bin);
  }
}

}  // namespace

lockstep_report run_packet_builder_bench(const lockstep_options& options) {
  sim_context context(parameters{}, options.seed, options.shuffle_seed);
  tlp_pool tlps;
  nic_shared nic(context, "bench", tlps);
  rtl_domain domain(context, rtl_options_of(options));
  run_digest digest(context);
  coverage cover(options.stage);
  frame_coverage frames_seen(cover);

  stream<packet_item> filled(context, "bench.filled", stage_spec::payload_dma::Depth,
                             stage_spec::payload_dma::MaxBeats);
  stream<packet_item> direct(context, "bench.direct", stage_spec::tx_sched::Depth);
  stream<context_read> reads(context, "bench.ctx_read", spec::CtxReadDepth);
  stream<context_line> lines(context, "bench.ctx_line", stage_spec::qpc_ram::Depth);
  stream<frame_item> frames(context, "bench.frame", spec::Depth, spec::MaxBeats);
  stream<frame_item> looped(context, "bench.loopback", spec::Depth, spec::MaxBeats);

  const world what(options.seed);
  moving_parts parts(context);
  packet_builder_traffic maker(nic.buffers, options.seed, cover);

  enum party_e : unsigned { Source, Paths, Wire, Back, Parties };

  const auto gate = [&](bench_pattern pattern, const char* path, party_e turn) {
    return pattern_gate(pattern, options.seed, path).take_turns(options.seed, turn, Parties);
  };
  packet_feeder source("source", context, filled, direct, maker, parts,
                       gate(options.source, "source", Source), options.seed, options.transactions);
  administrator admin("admin", context, parts, options.seed, cover);
  path_ram paths("paths", context, what, parts, reads, lines, options.sink, options.seed,
                 gate(options.sink, "paths", Paths));
  drop_watch drops(context, filled, direct, lines, parts, cover);

  lockstep_report report;
  const auto arrived = [&](cycle_t t, const frame_item& frame) {
    ++report.transactions;
    report.cycles = std::max(report.cycles, t);
    frames_seen.see(frame);
    context.trace.release(frame.trace);
  };
  bench_sink<frame_item> wire("wire", context, frames, gate(options.sink, "wire", Wire), arrived);
  bench_sink<frame_item> back("back", context, looped, gate(options.sink, "back", Back), arrived);
  digest.each_message(
      [&](const message_record& message) { see_waits(cover, context.trace, message); });

  {
    const twin_instance stage = make_twin<packet_builder>(
        "packet_builder", nic, {filled, direct, reads, lines, frames, looped, parts.vports},
        options.impl, &domain);
    run_bench(domain, context, options, {&stage});
    report.edges = domain.edges();
    domain.finish();
    context.check_drained();
  }
  report.transactions += drops.dropped;
  report.cycles = std::max(report.cycles, drops.last);
  CARILLON_CHECK(report.transactions == options.transactions, "{} of {} transactions came through",
                 report.transactions, options.transactions);
  report.trace_digest = digest.value();
  report.coverage = cover.bins();
  return report;
}

}  // namespace carillon
