// Drives pcie_rx: constrained-random TLPs back to back, at several rates and with pauses, BARs that
// move meanwhile, and a sink at each output.
#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "common/items.h"
#include "common/level.h"
#include "common/nic_shared.h"
#include "common/pcie_port.h"
#include "cosim/bench_parts.h"
#include "cosim/pcie_rx_traffic.h"
#include "cosim/stage_benches.h"
#include "gen/coverage.h"
#include "gen/stages.h"
#include "pcie_rx.h"

namespace carillon {

namespace {

namespace spec = stage_spec::pcie_rx;
using bin = coverage_spec::pcie_rx::bin;
using port = pcie_rx_ports;

constexpr unsigned MostBacklog = 192;  ///< beats that the link is ahead of the stage

/// The host's end of the link, of which the bench needs nothing.
struct silent_end final : pcie_listener {
  void on_tlp(tlp* packet) override { packet->release(); }

  void on_credits() override {}
};

/// Moves BARs and resets functions at random times, as long as there are TLPs to come.
class administrator final : public stage {
 public:
  administrator(const char* name, sim_context& context, level<function_map>& functions,
                const std::uint64_t& left, std::uint64_t seed)
      : stage(name, context, "bench"),
        functions_(functions),
        left_(left),
        maps_(seed),
        random_(seed, this->name()) {
    functions_.write(0, maps_.next());
    wake(1 + random_.below(400));
  }

 private:
  void evaluate(cycle_t t) override {
    if (left_ == 0) {
      return;
    }
    functions_.write(t, maps_.next());
    wake(t + 1 + random_.below(random_.chance(1, 4) ? 16 : 2000));
  }

  level<function_map>& functions_;
  const std::uint64_t& left_;
  pcie_rx_maps maps_;
  random_stream random_;
};

/// TLPs one behind the other on the link, each a message of its own.
class bench_link final : public stage {
 public:
  bench_link(const char* name, sim_context& context, pcie_arrivals& arrivals, tlp_pool& tlps,
             const level<function_map>& functions, pcie_rx_traffic& maker, bench_pattern pattern,
             std::uint64_t seed, std::uint64_t& left)
      : stage(name, context, "bench"),
        arrivals_(arrivals),
        tlps_(tlps),
        functions_(functions),
        maker_(maker),
        pattern_(pattern),
        gate_(pattern, seed, this->name()),
        random_(seed, this->name()),
        left_(left) {
    if (left_ != 0) {
      wake(1);
    }
  }

  [[nodiscard]] const std::vector<trace_ref>& opened() const { return opened_; }

 private:
  void evaluate(cycle_t t) override {
    const bool room = arrivals_.tlps().credits(t) + MostBacklog > spec::TlpDepth;
    if (room && gate_.open(t)) {
      // Short ones pass faster than the core's cycles.
      for (std::uint64_t more = 1 + random_.below(3); more != 0 && left_ != 0; --more) {
        send(t);
      }
    }
    if (left_ != 0) {
      wake(t + 1);
    }
  }

  void send(cycle_t t) {
    if (left_at_rate_ == 0) {
      // Bytes in 16 ns: the reference link, slower ones, and one as fast as the core.
      constexpr std::array<std::uint64_t, 6> Rates = {917, 917, 917, 229, 1024, 4};
      rate_ = pattern_ == bench_pattern::random ? Rates[random_.below(Rates.size())] : Rates[0];
      left_at_rate_ = rate_ < 16 ? 4 : random_.between(20, 300);
    }
    --left_at_rate_;
    tlp* packet = tlps_.take();
    maker_.make(*packet, functions_.read(t));
    ps_t first = std::max(free_, time_of(t) + 1);
    if (random_.chance(1, 8)) {
      first = std::max(free_, time_of(t + 1 + random_.below(2)));  // on an edge
    } else if (pattern_ == bench_pattern::random && random_.chance(1, 8)) {
      first += random_.below(random_.chance(1, 16) ? 200'000 : 3'000);
    }
    const std::uint64_t bytes = wire_bytes(*packet);
    packet->first_symbol = first;
    packet->last_symbol = first + bytes * 16'000 / rate_;
    free_ = packet->last_symbol;
    packet->trace = context_.trace.open(first, {"bench", 0, 0, 0, packet->payload_bytes});
    packet->row = site().row;
    opened_.push_back(packet->trace);
    arrivals_.on_tlp(packet);
    --left_;
  }

  pcie_arrivals& arrivals_;
  tlp_pool& tlps_;
  const level<function_map>& functions_;
  pcie_rx_traffic& maker_;
  bench_pattern pattern_;
  pattern_gate gate_;
  random_stream random_;
  std::uint64_t& left_;
  ps_t free_ = 0;
  std::uint64_t rate_ = 1;
  std::uint64_t left_at_rate_ = 0;
  std::vector<trace_ref> opened_;
};

/// A taker that now and then does nothing for so long that even a deep queue fills.
template <class Item>
class resting_sink final : public stage {
 public:
  resting_sink(const char* name, sim_context& context, stream<Item>& in, bench_pattern pattern,
               std::uint64_t seed, std::function<void(cycle_t, const Item&)> use)
      : stage(name, context, "bench"),
        in_(in),
        rests_(pattern == bench_pattern::random && in.depth() > spec::ErrorDepth),
        gate_(pattern, seed, this->name()),
        random_(seed, this->name()),
        use_(std::move(use)) {
    in.to(*this, site());
    watch(in, {blocker::condition("bench", [this](cycle_t t) { return !open(t); })});
  }

 private:
  [[nodiscard]] bool open(cycle_t t) const { return t >= rest_until_ && gate_.open(t); }

  void evaluate(cycle_t t) override {
    if (!in_.takeable(t)) {
      return;
    }
    if (!open(t)) {
      wake(std::max(t + 1, rest_until_));
      return;
    }
    use_(t, in_.take(t));
    if (rests_ && random_.chance(1, 80)) {
      rest_until_ = t + 1 + random_.below(3000);
    }
  }

  stream<Item>& in_;
  bool rests_;
  pattern_gate gate_;
  random_stream random_;
  std::function<void(cycle_t, const Item&)> use_;
  cycle_t rest_until_ = 0;
};

/// What was taken, and what it met.
class tlp_coverage final : private stream_tap<tlp_arrival> {
 public:
  tlp_coverage(nic_shared& nic, const pcie_rx_ports& io, coverage& cover)
      : nic_(nic),
        io_(io),
        judge_(nic, nic.context.trace.site("coverage", "bench"), io, false),
        cover_(cover) {
    io.tlps.tap(this);
  }

  std::uint64_t taken = 0;
  cycle_t last = 0;

 private:
  void on_take(cycle_t t, const tlp_arrival& item) override {
    ++taken;
    last = t;
    const tlp& packet = *item.packet;
    const tlp_verdict verdict = judge_.judge(t, packet);
    see_header(verdict.header);
    if (verdict.header.valid()) {
      see_kind(packet, verdict);
      see_bar(t, verdict);
    }
    see_times(t, item, verdict);
  }

  void see_header(const tlp_header& header) {
    switch (header.fault) {
      case tlp_fault::none:
        cover_.hit(header.four_dw ? bin::HeaderDw4 : bin::HeaderDw3);
        cover_.hit_if(header.four_dw && header.address != 0 && header.address >> 32 == 0,
                      bin::HeaderDw4Low);
        break;
      case tlp_fault::header_length:
        cover_.hit(bin::FaultHeaderLength);
        break;
      case tlp_fault::reserved_code:
        cover_.hit(bin::FaultReservedCode);
        break;
      case tlp_fault::payload_length:
        cover_.hit(bin::FaultPayloadLength);
        break;
      case tlp_fault::byte_enables:
        cover_.hit(bin::FaultByteEnables);
        break;
      case tlp_fault::page_crossing:
        cover_.hit(bin::FaultPageCrossing);
        break;
    }
  }

  void see_kind(const tlp& packet, const tlp_verdict& verdict) {
    const tlp_header& header = verdict.header;
    const bool data = packet.payload_bytes != 0;
    switch (header.kind) {
      case tlp_kind::memory_write:
        cover_.hit(bin::KindWrite);
        see_write(packet, verdict);
        break;
      case tlp_kind::memory_read:
        cover_.hit(bin::KindRead);
        see_read(verdict);
        break;
      case tlp_kind::completion:
        cover_.hit(data ? bin::KindCompletion : bin::KindCompletionWithoutData);
        see_completion(packet, verdict);
        break;
      case tlp_kind::config_read:
      case tlp_kind::config_write:
        cover_.hit(data ? bin::KindConfigWrite : bin::KindConfigRead);
        cover_.hit_if(header.other_bus, bin::KindOtherBus);
        cover_.hit_if(header.poisoned, bin::RefusedConfig);
        break;
      case tlp_kind::message:
        cover_.hit(data ? bin::KindMessageWithData : bin::KindMessage);
        break;
      case tlp_kind::other:
        cover_.hit(data ? bin::KindOtherWithData : bin::KindOther);
        cover_.hit(header.poisoned ? bin::RefusedPoisoned : bin::RefusedOther);
        break;
    }
  }

  void see_write(const tlp& packet, const tlp_verdict& verdict) {
    const tlp_header& header = verdict.header;
    if (!verdict.leaves()) {
      cover_.hit(header.poisoned         ? bin::WritePoisoned
                 : !verdict.hit.hit      ? bin::WriteMissed
                 : header.length_dw == 1 ? bin::WriteHolesDword
                                         : bin::WriteHolesQword);
      return;
    }
    const std::uint32_t bytes = verdict.range.bytes;
    const unsigned lead = verdict.range.address % 4;
    cover_.hit(verdict.hit.bar == 2 ? bin::WriteUar : bin::WriteRegister);
    cover_.hit_if(bytes == 0, bin::WriteNoBytes);
    cover_.hit_if(bytes != 0 && bytes < 4, bin::WriteBytes);
    cover_.hit_if(bytes == BeatBytes, bin::WriteLine);
    cover_.hit_if(bytes > BeatBytes, bin::WriteLonger);
    cover_.hit_if(bytes <= BeatBytes && packet.payload_bytes > BeatBytes, bin::WriteOverTwoBeats);
    if (lead != 0) {
      cover_.hit(lead == 1 ? bin::WriteLead1 : lead == 2 ? bin::WriteLead2 : bin::WriteLead3);
    }
  }

  void see_read(const tlp_verdict& verdict) {
    const std::uint32_t bytes = verdict.range.bytes;
    if (verdict.output != port::Refusals) {
      cover_.hit(verdict.hit.bar == 2 ? bin::ReadUar : bin::ReadRegister);
      cover_.hit(bytes == 4 ? bin::ReadDword : bin::ReadQword);
    } else if (verdict.header.poisoned) {
      cover_.hit(bin::ReadPoisoned);
    } else if (!verdict.hit.hit) {
      cover_.hit(bin::ReadMissed);
    } else {
      cover_.hit(bytes == 0                   ? bin::ReadNoBytes
                 : bytes == PageBoundaryBytes ? bin::ReadLargest
                                              : bin::ReadSize);
    }
  }

  void see_completion(const tlp& packet, const tlp_verdict& verdict) {
    cover_.hit(verdict.beats == 1               ? bin::CompletionOneBeat
               : verdict.beats <= spec::Latency ? bin::CompletionSomeBeats
                                                : bin::CompletionLonger);
    cover_.hit_if(packet.payload_bytes == TlpMaxPayload, bin::CompletionLargest);
    cover_.hit_if(verdict.header.poisoned, bin::CompletionPoisoned);
    cover_.hit_if(verdict.header.byte_count == 4096, bin::CompletionLastBytes);
    switch (verdict.header.status) {
      case completion_status::Success:
        break;
      case completion_status::UnsupportedRequest:
        cover_.hit(bin::CompletionRefused);
        break;
      case completion_status::ConfigRetry:
        cover_.hit(bin::CompletionRetry);
        break;
      case completion_status::CompleterAbort:
        cover_.hit(bin::CompletionAborted);
        break;
      default:
        cover_.hit(bin::CompletionReservedStatus);
        break;
    }
  }

  void see_bar(cycle_t t, const tlp_verdict& verdict) {
    const tlp_header& header = verdict.header;
    if (header.kind != tlp_kind::memory_write && header.kind != tlp_kind::memory_read) {
      return;
    }
    const function_map& map = io_.functions.read(t);
    const std::uint64_t at = verdict.range.address;
    if (const bar_hit& hit = verdict.hit; hit.hit) {
      if (hit.function == 0) {
        cover_.hit(hit.bar == 0 ? bin::BarPf0 : hit.bar == 2 ? bin::BarPf2 : bin::BarPf4);
      } else {
        cover_.hit(hit.bar == 0 ? bin::BarVf0 : bin::BarVf2);
        cover_.hit_if(hit.function == map.vfs, bin::BarLastVf);
        cover_.hit_if(hit.function + 1U == spec::Functions, bin::BarLastFunction);
      }
      const bar_window& window = hit.function == 0 ? map.pf[hit.bar / 2U] : map.vf[hit.bar / 2U];
      cover_.hit_if(hit.offset == 0, bin::BarFirstByte);
      cover_.hit_if(hit.offset + verdict.range.bytes == window.bytes, bin::BarLastByte);
      return;
    }
    cover_.hit(bin::BarMissed);
    function_map other = map;
    other.pf_memory_enable = true;
    cover_.hit_if(!map.pf_memory_enable && other.find(at).hit, bin::BarMissedPfOff);
    other = map;
    other.vf_memory_enable = true;
    cover_.hit_if(!map.vf_memory_enable && other.find(at).hit, bin::BarMissedVfOff);
    other = map;
    for (function_enables& each : other.functions) {
      each.resetting = false;
    }
    if (const bar_hit kept = other.find(at); kept.hit) {
      cover_.hit(kept.function == 0 ? bin::BarMissedResettingPf : bin::BarMissedResettingVf);
    }
    for (const bar_window& each : map.pf) {
      cover_.hit_if(each.bytes != 0 && at == each.base + each.bytes, bin::BarMissedBehind);
      cover_.hit_if(each.bytes != 0 && at + verdict.range.bytes == each.base, bin::BarMissedBelow);
    }
    for (const bar_window& each : map.vf) {
      cover_.hit_if(each.bytes != 0 && map.vf_memory_enable && map.vfs != 0 && at >= each.base &&
                        (at - each.base) / each.bytes == map.vfs,
                    bin::BarMissedBeyond);
    }
  }

  void see_times(cycle_t t, const tlp_arrival& item, const tlp_verdict& verdict) {
    const tlp& packet = *item.packet;
    const cycle_t entered = item.entry;
    together_ = entered == entered_ ? together_ + 1 : 1;
    entered_ = entered;
    cover_.hit_if(together_ == 2, bin::ArrivalSameCycle);
    cover_.hit_if(together_ == 3, bin::ArrivalTogether);
    const bool edge = packet.first_symbol % nic_.context.clock.period() == 0;
    cover_.hit(edge ? bin::ArrivalOnAnEdge : bin::WaitClockSync);
    cover_.hit_if(entered > idle_from_, bin::ArrivalAlone);
    const cycle_t visible = pcie_rx_rules::visible(t, item, verdict.beats);
    if (verdict.leaves()) {
      cover_.hit_if(visible > t + spec::Latency, bin::ArrivalHeldBack);
      cover_.hit_if(visible > t + 2 * spec::Latency, bin::ArrivalHeldBackLong);
      idle_from_ = visible + verdict.beats;
    }
    const cycle_t free = std::max(free_, entered);
    cover_.hit_if(free > entered, bin::WaitOrder);
    if (t > free) {
      see_wait(verdict);
    }
    free_ = t + beats_of(packet.payload_bytes);
  }

  /// For an output.
  void see_wait(const tlp_verdict& verdict) {
    switch (verdict.output) {
      case port::UarWrites:
        cover_.hit(bin::WaitUarWrite);
        break;
      case port::UarReads:
        cover_.hit(bin::WaitUarRead);
        break;
      case port::RegisterWrites:
        cover_.hit(bin::WaitRegisterWrite);
        break;
      case port::RegisterReads:
        cover_.hit(bin::WaitRegisterRead);
        break;
      case port::Completions:
        cover_.hit(bin::WaitCompletion);
        break;
      case port::Refusals:
        cover_.hit(bin::WaitRefusal);
        break;
      case port::Configs:
        cover_.hit(bin::WaitConfig);
        break;
      case port::Tlps:
      case port::Errors:
      case port::count_:
        // What is dropped waits for nobody: it was to go to an output.
        cover_.hit(bin::WaitElsewhere);
        break;
    }
  }

  nic_shared& nic_;
  const pcie_rx_ports& io_;
  pcie_rx_rules judge_;
  coverage& cover_;
  cycle_t entered_ = NeverCycle;
  unsigned together_ = 0;
  cycle_t idle_from_ = 0;  ///< nothing that was taken before is inside
  cycle_t free_ = 0;       ///< the beats of the TLP before have passed
};

/// Takes items by `pattern` and ends their messages; `last` is the cycle of the last one.
template <class Item>
std::unique_ptr<resting_sink<Item>> releasing_sink(const char* name, sim_context& context,
                                                   stream<Item>& from, bench_pattern pattern,
                                                   std::uint64_t seed, cycle_t& last) {
  return std::make_unique<resting_sink<Item>>(name, context, from, pattern, seed,
                                              [&](cycle_t t, const Item& item) {
                                                last = std::max(last, t);
                                                if (item.trace.message != 0) {
                                                  context.trace.release(item.trace);
                                                }
                                              });
}

}  // namespace

lockstep_report run_pcie_rx_bench(const lockstep_options& options) {
  sim_context context({}, options.seed, options.shuffle_seed);
  tlp_pool tlps;
  nic_shared nic(context, "bench", tlps);
  rtl_domain domain(context, rtl_options_of(options));
  run_digest digest(context);
  coverage cover(options.stage);

  level<function_map> functions(context.clock, "bench.functions", {});
  silent_end host;
  pcie_port host_port("host_pcie", context, {});
  pcie_port nic_port("nic_pcie", context, {});
  host_port.listen(host);
  host_port.connect(nic_port);
  pcie_arrivals arrivals(context, "bench.tlp", nic_port, [] {});
  stream<mmio_write> uar_writes(context, "bench.uar_write", spec::Depth);
  stream<mmio_read> uar_reads(context, "bench.uar_read", spec::ReadDepth);
  stream<mmio_write> register_writes(context, "bench.register_write", spec::Depth);
  stream<mmio_read> register_reads(context, "bench.register_read", spec::ReadDepth);
  stream<read_completion> completions(context, "bench.completion", spec::CompletionDepth,
                                      spec::MaxBeats);
  stream<mmio_answer> refusals(context, "bench.refusal", spec::RefusalDepth);
  stream<config_request> configs(context, "bench.config", spec::ConfigDepth);
  stream<pcie_error> errors(context, "bench.error", spec::ErrorDepth);
  const pcie_rx_ports io{nic_port,  arrivals.tlps(), functions,      uar_writes,
                         uar_reads, register_writes, register_reads, completions,
                         refusals,  configs,         errors};

  std::uint64_t left = options.transactions;
  pcie_rx_traffic maker(options.seed);
  administrator moves("administrator", context, functions, left, options.seed);
  const bench_link link("link", context, arrivals, tlps, functions, maker, options.source,
                        options.seed, left);
  tlp_coverage seen(nic, io, cover);

  lockstep_report report;
  const auto sink = [&](const char* name, auto& from, bench_pattern pattern) {
    return releasing_sink(name, context, from, pattern, options.seed, report.cycles);
  };
  const auto uar_write_sink = sink("uar_writes", uar_writes, options.sink);
  const auto uar_read_sink = sink("uar_reads", uar_reads, options.sink);
  const auto register_write_sink = sink("register_writes", register_writes, options.sink);
  const auto register_read_sink = sink("register_reads", register_reads, options.sink);
  const auto completion_sink = sink("completions", completions, options.sink);
  const auto refusal_sink = sink("refusals", refusals, options.sink);
  const auto config_sink = sink("configs", configs, options.sink);
  const auto error_sink = sink("errors", errors, bench_pattern::none);

  {
    const twin_instance stage = make_twin<pcie_rx>("pcie_rx", nic, io, options.impl, &domain);
    run_bench(domain, context, options, {&stage});
    report.edges = domain.edges();
    domain.finish();
    context.check_drained();
  }
  // TLPs that led nowhere.
  for (const trace_ref each : link.opened()) {
    if (context.trace.live(each)) {
      context.trace.release(each);
    }
  }
  CARILLON_CHECK(seen.taken == options.transactions, "{} of {} TLPs were taken", seen.taken,
                 options.transactions);
  report.transactions = seen.taken;
  report.cycles = std::max(report.cycles, seen.last);
  report.trace_digest = digest.value();
  report.coverage = cover.bins();
  return report;
}

}  // namespace carillon
