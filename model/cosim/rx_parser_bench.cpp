// Drives rx_parser: constrained-random frames, virtual ports and QPs that change meanwhile, a
// context RAM, a responder that takes its time, a requester.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "common/congestion.h"
#include "common/items.h"
#include "common/level.h"
#include "common/nic_shared.h"
#include "common/psn.h"
#include "common/roce_packet.h"
#include "common/steering.h"
#include "cosim/bench_parts.h"
#include "cosim/coverage.h"
#include "cosim/rx_parser_traffic.h"
#include "cosim/stage_benches.h"
#include "gen/stages.h"
#include "rx_parser.h"

namespace carillon {

namespace {

namespace spec = stage_spec::rx_parser;

using world = rx_parser_world;

/// What changes while frames pass, each from the cycle after its change on.
struct moving_parts {
  moving_parts(sim_context& context, random_stream&& random)
      : lines(context.clock, "bench.lines", world::first_lines(random)),
        vports(context.clock, "bench.vports", world::first_ports()),
        flood(context.clock, "bench.flood", false) {}

  level<world::lines> lines;
  level<vport_table> vports;
  level<bool> flood;  ///< of good requests
  bool over = false;  ///< the last frame is made
};

/// Changes QPs and virtual ports at random times.
class administrator final : public stage {
 public:
  administrator(const char* name, sim_context& context, moving_parts& parts, std::uint64_t seed)
      : stage(name, context, "bench"), parts_(parts), random_(seed, this->name()) {
    wake(1 + random_.below(200));
  }

 private:
  void evaluate(cycle_t t) override {
    if (parts_.over) {
      return;
    }
    wake(t + 1 + random_.below(200));
    if (random_.chance(1, 2)) {
      parts_.lines.write(t, world::changed(parts_.lines.read(t), random_));
    } else {
      parts_.vports.write(t, world::changed(parts_.vports.read(t), random_));
    }
  }

  moving_parts& parts_;
  random_stream random_;
};

/// Sends frames, each a message of its own.
class frame_feeder final : public stage {
 public:
  frame_feeder(const char* name, sim_context& context, stream<frame_item>& out,
               rx_parser_traffic& maker, moving_parts& parts, pattern_gate gate,
               std::uint64_t count)
      : stage(name, context, "bench"),
        out_(out),
        maker_(maker),
        parts_(parts),
        gate_(gate),
        left_(count) {
    out.from(*this, site());
    parts.over = left_ == 0;
    if (left_ != 0) {
      wake(1);
    }
  }

  [[nodiscard]] const std::vector<trace_ref>& opened() const { return opened_; }

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
      next_ = maker_.make(parts_.vports.read(t), parts_.lines.read(t));
      made_ = true;
      parts_.flood.write(t, maker_.flooding());
    }
    const unsigned beats = beats_of(next_.length);
    if (!out_.has_credit(t, beats)) {
      out_.ask_credit(t, beats);
      return;
    }
    const cycle_t visible = std::max(t + 1, out_.port_free());
    next_.trace = context_.trace.open(time_of(t), {"bench", maker_.qpn(), 0, 0, next_.length});
    opened_.push_back(next_.trace);
    out_.push(t, static_cast<unsigned>(visible - t), std::move(next_), beats);
    made_ = false;
    --left_;
    parts_.over = left_ == 0;
    wake(t + 1);
  }

  stream<frame_item>& out_;
  rx_parser_traffic& maker_;
  moving_parts& parts_;
  pattern_gate gate_;
  std::uint64_t left_;
  frame_item next_;
  bool made_ = false;
  std::vector<trace_ref> opened_;
};

/// Answers reads of one line of each QP in order, each after a latency of its own, and lets them
/// wait as the pattern says.
class line_ram final : public stage {
 public:
  line_ram(const char* name, sim_context& context, const moving_parts& parts,
           world::line world::qp_lines::*which, stream<context_read>& in, stream<context_line>& out,
           bench_pattern pattern, std::uint64_t seed)
      : stage(name, context, "qpc_ram"),
        parts_(parts),
        which_(which),
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
    const auto qp = world::find(read.index);
    context_line line{read.trace, read.kind, read.index, qp.has_value()};
    if (line.valid) {
      line.data = parts_.lines.read(t)[*qp].*which_;
      line.valid = !random_.chance(1, 256);
      if (random_.chance(1, 24)) {
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

  const moving_parts& parts_;
  world::line world::qp_lines::*which_;
  stream<context_read>& in_;
  stream<context_line>& out_;
  bench_pattern pattern_;
  pattern_gate gate_;
  random_stream random_;
};

/// A consumer that now and then takes nothing for a long time, so that its queue fills up.
class moody_gate {
 public:
  moody_gate(bench_pattern pattern, std::uint64_t seed, const char* path)
      : pattern_(pattern), gate_(pattern, seed, path), random_(seed, path) {}

  /// To be asked only if it could take something.
  bool open(cycle_t t) {
    if (pattern_ == bench_pattern::random && t >= until_) {
      if (random_.chance(1, 100)) {
        closed_until_ = t + random_.below(1000);
      }
      until_ = std::max(t + 1, closed_until_);
    }
    return t >= closed_until_ && gate_.open(t);
  }

 private:
  bench_pattern pattern_;
  pattern_gate gate_;
  random_stream random_;
  cycle_t until_ = 0;
  cycle_t closed_until_ = 0;
};

/// Takes responses.
class moody_requester final : public stage {
 public:
  using use = std::function<void(cycle_t, const rx_packet&)>;

  moody_requester(const char* name, sim_context& context, stream<rx_packet>& in,
                  bench_pattern pattern, std::uint64_t seed, use seen)
      : stage(name, context, "requester"),
        in_(in),
        gate_(pattern, seed, this->name()),
        seen_(std::move(seen)) {
    in.to(*this, site());
    watch(in, {blocker::condition("bench", [](cycle_t) { return true; })});
  }

 private:
  void evaluate(cycle_t t) override {
    if (!in_.takeable(t)) {
      return;
    }
    if (gate_.open(t)) {
      seen_(t, in_.take(t));
    } else {
      wake(t + 1);
    }
  }

  stream<rx_packet>& in_;
  moody_gate gate_;
  use seen_;
};

/// Takes requests and commits to each after a while of its own, in any order.
class slow_responder final : public stage {
 public:
  using use = std::function<void(cycle_t, const rx_packet&)>;

  slow_responder(const char* name, sim_context& context, const moving_parts& parts,
                 stream<rx_packet>& in, stream<qp_commit>& out, bench_pattern pattern,
                 std::uint64_t seed, use seen)
      : stage(name, context, "responder"),
        parts_(parts),
        in_(in),
        out_(out),
        pattern_(pattern),
        gate_(pattern, seed, this->name()),
        random_(seed, this->name()),
        seen_(std::move(seen)) {
    in.to(*this, site());
    out.from(*this, site());
    watch(in, {blocker::condition("bench", [](cycle_t) { return true; })});
  }

 private:
  struct held_request {
    std::uint32_t qpn = 0;
    cycle_t until = 0;
  };

  void evaluate(cycle_t t) override {
    const std::size_t room = parts_.flood.read(t) ? std::size_t{spec::Undecided} : room_;
    if (in_.takeable(t) && held_.size() < room && gate_.open(t)) {
      const rx_packet packet = in_.take(t);
      held_.push_back({packet.qpn, t + think(t)});
      seen_(t, packet);
    }
    const auto due = std::find_if(held_.begin(), held_.end(),
                                  [t](const held_request& each) { return each.until <= t; });
    if (due != held_.end() && out_.has_credit(t)) {
      out_.push(t, 1, {{}, due->qpn});
      held_.erase(due);
    }
    if (!held_.empty() || !in_.empty()) {
      wake(t + 1);
    }
  }

  /// How long it takes to decide. Its pace and its room change: with little room its queue fills
  /// up, in a flood the parser's table.
  cycle_t think(cycle_t t) {
    if (pattern_ != bench_pattern::random) {
      return 0;
    }
    if (parts_.flood.read(t)) {
      return 2000 + random_.below(500);
    }
    if (paced_ == 0) {
      paced_ = 1 + random_.below(200);
      most_ = random_.chance(1, 8) ? 300 : 1 + random_.below(30);
      room_ = random_.chance(1, 2) ? 4 : std::size_t{spec::Undecided};
    }
    --paced_;
    return random_.below(most_);
  }

  const moving_parts& parts_;
  stream<rx_packet>& in_;
  stream<qp_commit>& out_;
  bench_pattern pattern_;
  moody_gate gate_;
  random_stream random_;
  use seen_;
  std::vector<held_request> held_;
  std::size_t room_ = spec::Undecided;
  std::uint64_t paced_ = 0;  ///< requests until it has another pace
  cycle_t most_ = 1;
};

/// What frames are, whoever parses them.
class frame_watch final : public stream_tap<frame_item> {
 public:
  frame_watch(stream<frame_item>& frames, const moving_parts& parts, coverage& cover)
      : parts_(parts), cover_(cover) {
    frames.tap(this);
  }

  void on_take(cycle_t t, const frame_item& frame) override {
    const parsed_frame parsed = parse_frame(frame.bytes.data() + frame.offset, frame.length);
    cover_.hit_if(frame.length < eth::Size, "frame.shorter_than_a_header");
    cover_.hit_if(frame.length <= BeatBytes, "frame.one_beat");
    cover_.hit_if(beats_of(frame.length) == spec::MaxBeats, "frame.longest");
    cover_.hit(frame.looped ? "frame.looped" : "frame.wire");
    if (parsed.error != parse_error::eth_truncated) {
      see_address(t, frame, parsed);
    }
    if (parsed.error == parse_error::icrc) {
      cover_.hit(frame.icrc_known ? "icrc.wrong_but_known" : "icrc.wrong");
    }
    if (parsed.good()) {
      see_packet(frame, parsed);
    }
  }

 private:
  void see_address(cycle_t t, const frame_item& frame, const parsed_frame& parsed) {
    const vport_table& ports = parts_.vports.read(t);
    frame_address address{parsed.mac_destination, parsed.mac_source, std::nullopt};
    if (parsed.tagged) {
      address.vlan = parsed.vid;
    }
    const steering way = steer(ports, address, frame.looped);
    if (way.verdict == steering_verdict::alien_source) {
      cover_.hit("steer.alien_source");
    } else if (way.verdict == steering_verdict::nobody) {
      cover_.hit(is_group_address(address.destination) ? "steer.group" : "steer.nobody");
    } else if (!ports.find(address.destination, address.vlan)) {
      cover_.hit("steer.promiscuous");
    } else {
      cover_.hit(!ports.at(way.port).vlan ? address.vlan ? "steer.any_vlan" : "steer.untagged"
                                          : "steer.own_vlan");
      cover_.hit_if(frame.looped && ports.find(address.source, address.vlan),
                    "steer.looped_from_a_port");
    }
  }

  void see_packet(const frame_item& frame, const parsed_frame& parsed) {
    cover_.hit(fmt::format("opcode.{}", parsed.opcode->name));
    cover_.hit(parsed.ipv6     ? parsed.tagged ? "headers.ipv6_tagged" : "headers.ipv6"
               : parsed.tagged ? "headers.ipv4_tagged"
                               : "headers.ipv4");
    cover_.hit_if(parsed.payload_offset > BeatBytes, "headers.two_beats");
    cover_.hit_if(parsed.bth_offset > BeatBytes, "headers.bth_in_second_beat");
    const std::uint32_t end = parsed.icrc_offset + IcrcBytes;
    cover_.hit_if(end < frame.length, "padding.some");
    cover_.hit_if(beats_of(end) < beats_of(frame.length), "padding.whole_beats");
    cover_.hit_if(parsed.icrc_offset % BeatBytes == BeatBytes - 2, "icrc.across_beats");
    cover_.hit_if(parsed.icrc_offset % BeatBytes == 2 && parsed.icrc_offset > BeatBytes,
                  "icrc.in_next_beat");
  }

  const moving_parts& parts_;
  coverage& cover_;
};

/// How packets end.
class end_watch final : public stream_tap<rx_ended> {
 public:
  end_watch(stream<rx_ended>& ends, coverage& cover) : cover_(cover) { ends.tap(this); }

  void on_take(cycle_t t, const rx_ended& end) override {
    ++count;
    last = t;
    if (end.refusal != rx_refusal::Nothing) {
      cover_.hit(fmt::format("refused.{}", to_string(end.refusal)));
      return;
    }
    cover_.hit(fmt::format("verdict.{}", to_string(static_cast<rx_verdict_code>(end.verdict))));
    cover_.hit_if(end.marked, "verdict.marked");
  }

  std::uint64_t count = 0;
  cycle_t last = 0;

 private:
  coverage& cover_;
};

void see_request(coverage& cover, const rx_packet& packet) {
  const qpc_common common = qpc_common::unpack(packet.common.data());
  const qpc_responder responder = qpc_responder::unpack(packet.responder.data());
  if (packet.verdict == rx_verdict::no_qp) {
    return;
  }
  cover.hit(fmt::format("request.{}", to_string(common.state)));
  if (packet.verdict == rx_verdict::bad_state) {
    cover.hit_if(common.state == qp_state::Rts && responder.error != 0, "request.error_bit");
    return;
  }
  if (common.service == qp_service::Rc) {
    switch (psn_distance(responder.next_rcv_psn, packet.psn)) {
      case 0:
        cover.hit("psn.expected");
        break;
      case 1:
        cover.hit("psn.next");
        break;
      case PsnHalf - 1:
        cover.hit("psn.furthest_ahead");
        break;
      case PsnHalf:
        cover.hit("psn.furthest_behind");
        break;
      case PsnMask:
        cover.hit("psn.last");
        break;
      default:
        break;
    }
  }
}

void see_response(coverage& cover, const rx_packet& packet) {
  cover.hit_if(is_cnp(packet), "response.cnp");
  if (packet.verdict != rx_verdict::no_qp) {
    cover.hit(
        fmt::format("response.{}", to_string(qpc_common::unpack(packet.common.data()).state)));
  }
}

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

lockstep_report run_rx_parser_bench(const lockstep_options& options) {
  sim_context context(parameters{}, options.seed, options.shuffle_seed);
  tlp_pool tlps;
  nic_shared nic(context, "bench", tlps);
  rtl_domain domain(context, rtl_options_of(options));
  run_digest digest(context);
  coverage cover(options.stage);

  stream<frame_item> frames(context, "bench.frame", stage_spec::rx_mac::Depth,
                            stage_spec::rx_mac::MaxBeats);
  stream<qp_commit> commits(context, "bench.commit", stage_spec::responder::Depth);
  stream<context_read> common_reads(context, "bench.common_read", spec::ReadDepth);
  stream<context_line> common_lines(context, "bench.common_line", stage_spec::qpc_ram::Depth);
  stream<context_read> responder_reads(context, "bench.responder_read", spec::ReadDepth);
  stream<context_line> responder_lines(context, "bench.responder_line", stage_spec::qpc_ram::Depth);
  stream<rx_packet> requests(context, "bench.request", spec::PacketDepth);
  stream<rx_packet> responses(context, "bench.response", spec::PacketDepth);
  stream<rx_ended> ends(context, "bench.end", spec::EndDepth);

  moving_parts parts(context, {options.seed, "rx_parser_bench/lines"});
  rx_parser_traffic maker(nic.buffers, options.seed, cover);
  const frame_feeder source("source", context, frames, maker, parts,
                            {options.source, options.seed, "source"}, options.transactions);
  administrator admin("admin", context, parts, options.seed);
  line_ram common_ram("common_ram", context, parts, &world::qp_lines::common, common_reads,
                      common_lines, options.sink, options.seed);
  line_ram responder_ram("responder_ram", context, parts, &world::qp_lines::responder,
                         responder_reads, responder_lines, options.sink, options.seed);
  frame_watch seen(frames, parts, cover);
  rx_parser_ends counters("counters", nic, ends);
  end_watch ended(ends, cover);

  cycle_t last = 0;
  slow_responder responder("responder", context, parts, requests, commits, options.sink,
                           options.seed, [&](cycle_t t, const rx_packet& packet) {
                             last = std::max(last, t);
                             see_request(cover, packet);
                             context.trace.release(packet.trace);
                           });
  moody_requester requester("requester", context, responses, options.sink, options.seed,
                            [&](cycle_t t, const rx_packet& packet) {
                              last = std::max(last, t);
                              see_response(cover, packet);
                              context.trace.release(packet.trace);
                            });
  digest.each_message(
      [&](const message_record& message) { see_waits(cover, context.trace, message); });

  lockstep_report report;
  {
    rx_parser::ports io{frames,          commits,  common_reads, common_lines, responder_reads,
                        responder_lines, requests, responses,    parts.vports, &ends};
    const twin_instance stage = make_twin<rx_parser>("rx_parser", nic, io, options.impl, &domain);
    run_bench(domain, context, options, {&stage});
    report.edges = domain.edges();
    domain.finish();
    context.check_drained();
  }
  // Packets that were dropped.
  for (const trace_ref each : source.opened()) {
    if (context.trace.live(each)) {
      context.trace.release(each);
    }
  }
  CARILLON_CHECK(ended.count == options.transactions, "{} of {} transactions came through",
                 ended.count, options.transactions);
  report.transactions = ended.count;
  report.cycles = std::max(last, ended.last);
  report.trace_digest = digest.value();
  report.coverage = cover.bins();
  return report;
}

}  // namespace carillon
