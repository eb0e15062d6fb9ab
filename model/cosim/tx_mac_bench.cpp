// Drives tx_mac: frames of all lengths towards a wire whose rate the pattern of the sink sets,
// since a serializer has no other way to hold a frame up; pauses of priorities, from moments to
// such as fill what is put aside; and PFC frames in between.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "common/items.h"
#include "common/level.h"
#include "common/nic_shared.h"
#include "common/pfc_frame.h"
#include "common/roce_packet.h"
#include "cosim/bench_parts.h"
#include "cosim/stage_benches.h"
#include "gen/coverage.h"
#include "gen/stages.h"
#include "gen/wire.h"
#include "tx_mac.h"

namespace carillon {

namespace {

namespace spec = stage_spec::tx_mac;
using bin = coverage_spec::tx_mac::bin;

constexpr std::uint64_t PsOfByteAtOneGbps = 8000;
constexpr std::uint32_t Longest = spec::MaxPacketBytes - FcsBytes;

/// Rates that leave and that do not leave a fraction of a byte to a cycle.
parameters settings(const lockstep_options& options) {
  parameters params;
  switch (options.sink) {
    case bench_pattern::none:
      params.wire.rate_gbps = 512;  // as fast as the core
      break;
    case bench_pattern::every_4th:
      params.wire.rate_gbps = 128;
      break;
    case bench_pattern::random: {
      // Between a few of them every bit of what the twin is told is once 0 and once 1.
      constexpr std::array Rates = {400, 192, 333, 401, 100, 500, 200};
      constexpr std::array Periods = {1024, 990, 1000, 983, 800};
      params.wire.rate_gbps = Rates[options.seed % Rates.size()];
      params.core.clock_period_ps = Periods[options.seed % Periods.size()];
      break;
    }
  }
  return params;
}

/// Counts time in exact fractions of a picosecond.
class bench_wire final : public frame_sink {
 public:
  explicit bench_wire(const parameters& params)
      : rate_(static_cast<std::uint64_t>(params.wire.rate_gbps)) {}

  [[nodiscard]] ps_t free_at() const override {
    return begin_ + bytes_ * PsOfByteAtOneGbps / rate_;
  }

  void send(frame_item frame, ps_t first_bit) override {
    if (first_bit > free_at()) {
      begin_ = first_bit;
      bytes_ = 0;
    }
    bytes_ += frame.length + FcsBytes + PreambleBytes + InterPacketGapBytes;
  }

 private:
  std::uint64_t rate_;
  ps_t begin_ = 0;
  std::uint64_t bytes_ = 0;
};

class frame_source final : public stage {
 public:
  frame_source(sim_context& context, stream<frame_item>& out, buffer_pool& buffers,
               const lockstep_options& options, coverage& cover)
      : stage("source", context, "bench"),
        out_(out),
        buffers_(buffers),
        gate_(options.source, options.seed, "source"),
        rests_(options.source == bench_pattern::random),
        left_(options.transactions),
        random_(context.seed, "tx_mac_bench/frames"),
        cover_(cover) {
    out.from(*this, site());
    if (left_ != 0) {
      wake(1);
    }
  }

  [[nodiscard]] bool done() const { return left_ == 0; }

 private:
  void evaluate(cycle_t t) override {
    if (left_ == 0) {
      return;
    }
    if (!gate_.open(t) || t + 1 < out_.port_free() || t < rest_until_) {
      wake(std::max(t + 1, rest_until_));
      return;
    }
    if (!out_.has_credit(t, out_.max_beats())) {
      out_.ask_credit(t, out_.max_beats());
      return;
    }
    frame_item frame = make();
    frame.trace =
        context_.trace.open(time_of(t), {"bench", static_cast<std::uint32_t>(left_), 0, 0, 0});
    const unsigned beats = beats_of(frame.length);
    out_.push(t, 1, std::move(frame), beats);
    --left_;
    // Now and then the wire catches up, or almost.
    if (rests_ && random_.chance(1, 64)) {
      rest_until_ = t + random_.below(4000);
    }
    wake(t + 1);
  }

  std::uint32_t length() {
    switch (random_.below(12)) {
      case 0:
        return static_cast<std::uint32_t>(random_.between(1, 3));
      case 1:
        return static_cast<std::uint32_t>(random_.between(4, MinFrameBytes - 1));
      case 2:
        return MinFrameBytes;
      case 3:
        return BeatBytes * static_cast<std::uint32_t>(random_.between(1, Longest / BeatBytes));
      case 4:
        return BeatBytes * static_cast<std::uint32_t>(random_.below(Longest / BeatBytes)) + 1;
      case 5:
        return random_.chance(1, 4) ? Longest : BeatBytes;
      case 6:
        return static_cast<std::uint32_t>(random_.between(1, Longest));
      default:
        return static_cast<std::uint32_t>(random_.between(MinFrameBytes, 4 * BeatBytes));
    }
  }

  void see_length(std::uint32_t length) {
    cover_.hit(length < 4                ? bin::LengthTiny
               : length < MinFrameBytes  ? bin::LengthShort
               : length == MinFrameBytes ? bin::LengthMinimum
               : length == Longest       ? bin::LengthLongest
               : length % BeatBytes == 0 ? bin::LengthBeats
               : length % BeatBytes == 1 ? bin::LengthOneMore
                                         : bin::LengthOther);
    const unsigned beats = beats_of(length);
    cover_.hit(beats == 1               ? bin::BeatsOne
               : beats <= spec::Latency ? bin::BeatsSome
                                        : bin::BeatsLong);
  }

  frame_item make() {
    frame_item frame;
    frame.length = length();
    see_length(frame.length);
    frame.bytes = buffers_.take();
    // Frames begin where their headers left room, and what lies around them is nobody's.
    frame.offset = static_cast<std::uint32_t>(random_.below(32));
    std::uint8_t* const all = frame.bytes.data();
    std::fill_n(all, frame.offset + Longest + 8, static_cast<std::uint8_t>(random_.below(256)));
    std::uint8_t* const bytes = all + frame.offset;
    const std::uint64_t kind = random_.below(32);
    if (kind < 2) {
      std::fill_n(bytes, frame.length, static_cast<std::uint8_t>(kind == 0 ? 0 : 0xff));
    } else {
      for (std::uint32_t i = 0; i < frame.length; i += 8) {
        const std::uint64_t value = random_.next();
        std::memcpy(bytes + i, &value, std::min<std::size_t>(8, frame.length - i));
      }
    }
    cover_.hit(kind == 0 ? bin::BytesZeros : kind == 1 ? bin::BytesOnes : bin::BytesRandom);
    frame.fcs = fcs_of_frame(bytes, frame.length);
    frame.fcs_known = true;
    frame.icrc_known = true;
    frame.first = random_.chance(1, 2);
    frame.last = random_.chance(1, 2);
    cover_.hit(frame.first  ? frame.last ? bin::PacketOnly : bin::PacketFirst
               : frame.last ? bin::PacketLast
                            : bin::PacketMiddle);
    frame.function = static_cast<std::uint16_t>(random_.chance(1, 2) ? 0 : random_.below(1 << 16));
    cover_.hit(frame.function == 0 ? bin::FunctionPf : bin::FunctionVf);
    frame.priority = static_cast<std::uint8_t>(random_.below(8));
    cover_.hit(frame.priority == 0 ? bin::PcpZero : bin::PcpOther);
    return frame;
  }

  stream<frame_item>& out_;
  buffer_pool& buffers_;
  pattern_gate gate_;
  bool rests_;
  cycle_t rest_until_ = 0;
  std::uint64_t left_;
  random_stream random_;
  coverage& cover_;
};

/// Pauses and resumes priorities, and asks the other end for the same.
class pause_source final : public stage {
 public:
  pause_source(sim_context& context, level<std::uint8_t>& paused, stream<frame_item>& control,
               buffer_pool& buffers, const frame_source& frames)
      : stage("pauses", context, "bench"),
        paused_(paused),
        control_(control),
        buffers_(buffers),
        frames_(frames),
        random_(context.seed, "tx_mac_bench/pauses") {
    control.from(*this, site());
    wake(1);
  }

 private:
  static constexpr std::uint8_t All = 0xff;

  void evaluate(cycle_t t) override {
    if (frames_.done()) {
      paused_.write(t, 0);
      return;
    }
    if (t >= next_) {
      next_ = change(t);
    }
    if (control_.has_credit(t) && random_.chance(1, 2)) {
      pfc request;
      request.enable = static_cast<std::uint8_t>(random_.between(1, All));
      request.quanta.fill(static_cast<std::uint16_t>(random_.below(1 << 16)));
      control_.push(t, 1, make_pfc_frame(buffers_, random_.below(1 << 16), request));
    }
    wake(t + random_.between(1, 200));
  }

  /// Until when it stays so.
  cycle_t change(cycle_t t) {
    constexpr std::uint64_t Short = 300;
    constexpr std::uint64_t Long = 40'000;
    const std::uint64_t kind = random_.below(64);
    if (kind == 0) {
      paused_.write(t, All);
      return t + random_.between(1, Long);
    }
    if (kind < 16) {
      paused_.write(t, 0);
      return t + random_.between(1, Short);
    }
    if (kind < 20) {
      paused_.write(t, static_cast<std::uint8_t>(1U << random_.below(PriorityCount)));
      return t + random_.between(1, Long);
    }
    paused_.write(t, static_cast<std::uint8_t>(random_.next() & random_.next() & All));
    return t + random_.between(1, Short);
  }

  level<std::uint8_t>& paused_;
  stream<frame_item>& control_;
  buffer_pool& buffers_;
  const frame_source& frames_;
  random_stream random_;
  cycle_t next_ = 0;
};

/// What a frame finds when it is taken, of pauses.
class pause_coverage final : private stream_tap<frame_item> {
 public:
  pause_coverage(stream<frame_item>& frames, const level<std::uint8_t>& paused,
                 const level<std::uint8_t>& crowded, coverage& cover)
      : paused_(paused), crowded_(crowded), cover_(cover) {
    frames.tap(this);
  }

 private:
  void on_take(cycle_t t, const frame_item& frame) override {
    const std::uint8_t paused = paused_.read(t);
    const auto own = static_cast<std::uint8_t>(1U << frame.priority);
    aside_ &= paused;
    if ((paused & own) != 0) {
      aside_ |= own;
      cover_.hit(bin::PauseAside);
    } else {
      cover_.hit_if(paused != 0, bin::PausePasses);
    }
    cover_.hit_if(std::popcount(aside_) > 1, bin::PauseSeveral);
    cover_.hit_if(crowded_.read(t) != 0, bin::PauseCrowded);
  }

  const level<std::uint8_t>& paused_;
  const level<std::uint8_t>& crowded_;
  coverage& cover_;
  std::uint8_t aside_ = 0;  ///< priorities of which some were, in this pause
};

/// What the serializer is doing when a frame goes on its way. Only in runs without pauses a frame
/// does when it is taken.
class pace_coverage {
 public:
  pace_coverage(const parameters& params, coverage& cover) : pacer_(params), cover_(cover) {}

  /// A frame became visible behind the stage in cycle `visible`, its first beat in front.
  void leaves(cycle_t visible, const frame_item& frame) {
    const cycle_t t = visible - spec::Latency;
    const bool idle = !pacer_.owes(t);
    if (frame.trace.message == 0) {
      cover_.hit(idle ? bin::ControlIdle : bin::ControlInside);
    } else {
      cover_.hit(idle ? bin::PaceIdle : bin::PaceInside);
      cover_.hit_if(pacer_.owes(gone_) && t > gone_, bin::PaceAlone);
    }
    gone_ = t + beats_of(frame.length) + spec::Latency;
    pacer_.take(t, frame.length);
    cover_.hit_if(begun_ >= recent_.size() && t - recent_[begun_ % recent_.size()] < spec::Latency,
                  bin::PaceCrowd);
    recent_[begun_++ % recent_.size()] = t;
  }

 private:
  tx_pacer pacer_;
  coverage& cover_;
  cycle_t gone_ = 0;  ///< the last beat before has left
  std::array<cycle_t, 3> recent_{};
  std::uint64_t begun_ = 0;
};

}  // namespace

lockstep_report run_tx_mac_bench(const lockstep_options& options) {
  const parameters params = settings(options);
  sim_context context(params, options.seed, options.shuffle_seed);
  tlp_pool tlps;
  nic_shared nic(context, "bench", tlps);
  rtl_domain domain(context, rtl_options_of(options));
  run_digest digest(context);
  coverage cover(options.stage);

  stream<frame_item> frames(context, "bench.frame", stage_spec::packet_builder::Depth,
                            spec::MaxBeats);
  stream<frame_item> leaving(context, "bench.leaving", spec::Depth, spec::MaxBeats);
  bench_wire wire(params);
  stream<frame_item> control(context, "bench.control", spec::ControlDepth);
  level<std::uint8_t> paused(context.clock, "bench.paused", 0);
  level<std::uint8_t> crowded(context.clock, "bench.crowded", 0);
  pace_coverage pace(params, cover);
  pause_coverage pauses(frames, paused, crowded, cover);
  frame_source source(context, frames, nic.buffers, options, cover);
  pause_source pauser(context, paused, control, nic.buffers, source);

  lockstep_report report;
  bench_sink<frame_item> sink("sink", context, leaving, {bench_pattern::none, options.seed, "sink"},
                              [&](cycle_t t, const frame_item& frame) {
                                pace.leaves(leaving.last_taken_visible(), frame);
                                report.transactions += frame.trace.message != 0 ? 1 : 0;
                                report.cycles = t;
                                context.trace.release(frame.trace);
                              });
  digest.each_message([&](const message_record& message) {
    for (const span& each : message.spans) {
      if (each.kind == span_kind::wait) {
        const std::string name = "wait." + context.trace.name(each.reason);
        cover.hit_if(cover.has(name), std::string_view(name));
      }
    }
  });

  {
    const twin_instance stage =
        make_twin<tx_mac>("tx_mac", nic, {frames, wire, &leaving, &control, &paused, &crowded},
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
