// One simulation: the system, its workload, and everything that listens to them.

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <optional>

#include "cli/breakdown.h"
#include "cli/output_file.h"
#include "cli/progress.h"
#include "cli/runner.h"
#include "cli/scoreboard.h"
#include "cli/series.h"
#include "cli/system.h"
#include "cli/trace_sink.h"
#include "cli/traffic.h"
#include "fabric/capture.h"
#include "fabric/fault_log.h"

#if CARILLON_RTL
#include "cosim/rtl_domain.h"
#endif

namespace carillon {

namespace {

using wall_clock = std::chrono::steady_clock;

run_effort effort_of(system_model& system) {
  run_effort effort;
  effort.wakes = system.context.clock.wakes();
  effort.activations = system.context.clock.activations() + system.context.line.activations();
  effort.callbacks = system.context.line.callbacks();
  for (unsigned i = 0; i < system.size(); ++i) {
    for (const pcie_port* port : {&system.at(i).host.bus.port, &system.at(i).adapter.pcie()}) {
      effort.tlps += port->sent_tlps();
      effort.tlp_bytes += port->sent_bytes();
    }
  }
  return effort;
}

/// Moves the bar, and measures the effort from the first message's completion on: bringing up two
/// devices takes more TLPs than many a run.
class progress_observer final : public message_observer {
 public:
  progress_observer(progress_bar& bar, system_model& system) : bar_(bar), system_(system) {}

  void on_message(const message_record& /*message*/) override {
    bar_.advance();
    if (messages_++ == 0) {
      first_ = effort_of(system_);
      begin_ = wall_clock::now();
    }
  }

  /// Of all messages but the first, to the end of the run.
  [[nodiscard]] run_effort effort() const {
    run_effort result = effort_of(system_);
    result.wakes -= first_.wakes;
    result.activations -= first_.activations;
    result.callbacks -= first_.callbacks;
    result.tlps -= first_.tlps;
    result.tlp_bytes -= first_.tlp_bytes;
    result.messages = messages_ == 0 ? 0 : messages_ - 1;
    result.wall_seconds = std::chrono::duration<double>(wall_clock::now() - begin_).count();
    return result;
  }

 private:
  progress_bar& bar_;
  system_model& system_;
  std::uint64_t messages_ = 0;
  run_effort first_;
  wall_clock::time_point begin_ = wall_clock::now();
};

#if CARILLON_RTL
/// The command that repeats this very run.
std::string replay_command(const scenario& what, const run_point& point) {
  std::string impl;
  for (const auto& [stage, kind] : point.impl) {
    impl += fmt::format("{}{}={}", impl.empty() ? "" : ",", stage, to_string(kind));
  }
  return fmt::format("carillon run {} --impl {} --seed {} --shuffle {} --rtl-clock {}", what.file,
                     impl, point.seed, point.shuffle, point.rtl_clock_always ? "always" : "busy");
}
#endif

/// The taps of both ends of the cable.
class wire_taps {
 public:
  wire_taps(system_model& system, const trace_spec& trace, const std::filesystem::path& folder,
            trace_outputs* outputs) {
    if (trace.pcap) {
      capture_window window{trace.from, trace.to, std::numeric_limits<std::uint64_t>::max()};
      capture_.emplace((folder / "wire.pcapng").string(), window);
    }
    for (unsigned i = 0; i < system.size(); ++i) {
      node& end = system.at(i);
      if (capture_) {
        end.wire.tap(capture_->interface(end.adapter.shared().name));
      }
      if (outputs != nullptr) {
        end.wire.tap(outputs->tap(end.adapter.shared().name));
        end.adapter.pcie().tap(outputs->tap_tlps(end.adapter.shared().name));
        end.host.bus.port.tap(outputs->tap_tlps(end.name));
      }
    }
  }

  void close() {
    if (capture_) {
      capture_->close();
    }
  }

 private:
  std::optional<capture> capture_;
};

/// What the cable did to frames, written to faults.json beside the capture.
class fault_output {
 public:
  fault_output(system_model& system, std::filesystem::path folder) : folder_(std::move(folder)) {
    if (system.faults() != nullptr && !folder_.empty()) {
      make_output_folder(folder_);
      system.faults()->observe(log_);
      active_ = true;
    }
  }

  fault_output(const fault_output&) = delete;
  fault_output& operator=(const fault_output&) = delete;

  void close() const {
    if (active_) {
      write_file(folder_ / "faults.json", log_.json_lines());
    }
  }

 private:
  std::filesystem::path folder_;
  fault_log log_;
  bool active_ = false;
};

std::vector<switch_facts> facts_of(topology* network) {
  std::vector<switch_facts> result;
  for (std::size_t i = 0; network != nullptr && i < network->switches(); ++i) {
    ethernet_switch& from = network->at(i);
    switch_facts one;
    one.name = from.name();
    for (std::uint32_t port = 0; port < from.ports(); ++port) {
      one.ports.push_back(from.counters(port));
      for (unsigned priority = 0; priority < PriorityCount; ++priority) {
        one.queued_bytes += from.egress(port).queue_bytes(priority);
      }
    }
    result.push_back(std::move(one));
  }
  return result;
}

/// Completes the traces of a run that failed; that failure is the one to report.
void keep_traces(trace_outputs* outputs, wire_taps& taps, const fault_output& faults) {
  try {
    faults.close();
    if (outputs != nullptr) {
      outputs->close({});
    }
    taps.close();
  } catch (const output_error&) {
    return;
  }
}

}  // namespace

json simulate(const scenario& what, const run_point& point, const run_options& options) {
  require_picosecond_resolution();
  const trace_spec trace = options.out.empty() ? trace_spec{} : what.trace;
  if (trace.any()) {
    make_output_folder(options.out);
  }
#if CARILLON_RTL
  rtl_domain* rtl = nullptr;
  const auto make_twins = [&](sim_context& context) {
    rtl_options rtl_with;
    rtl_with.always = point.rtl_clock_always;
    rtl_with.replay = replay_command(what, point);
    if (trace.waves) {
      rtl_with.waves = options.out.string();
      rtl_with.waves_from = trace.from;
      rtl_with.waves_to = trace.to;
    }
    auto made = std::make_unique<rtl_domain>(context, std::move(rtl_with));
    rtl = made.get();
    return std::unique_ptr<twin_host>(std::move(made));
  };
#else
  const std::function<std::unique_ptr<twin_host>(sim_context&)> make_twins;
#endif
  system_model system(point, cores_of(point), make_twins);
  std::optional<scoreboard> judge;
  if (point.workload.scoreboard) {
    judge.emplace(system);
  }
  const std::unique_ptr<traffic> programs = make_traffic(system, point);

  breakdown times(system.context.trace, what.report_path,
                  [&](const message_record& message) { return programs->measured(message); });
  system.context.trace.observe(times);
  progress_bar bar(point.label.empty() ? what.name : point.label,
                   point.workload.messages + point.workload.warmup, options.progress);
  progress_observer progress(bar, system);
  system.context.trace.observe(progress);
  const bool traced = !point.perftest || point.perftest->traced || trace.any();
  if (!traced) {
    system.context.trace.disable();
    programs->show_progress(bar);
  }
  std::optional<trace_outputs> outputs;
  if (trace.sqlite || trace.perfetto || trace.stages) {
    outputs.emplace(system.context, trace, options.out,
                    [&](const message_record& message) { return programs->measured(message); });
  }
  wire_taps taps(system, trace, options.out, outputs ? &*outputs : nullptr);
  fault_output faults(system, options.out);
  std::optional<series_output> series;
  if (trace.series != 0) {
    series.emplace(system, *programs, point.workload, options.out, trace.series);
  }

  try {
    programs->start();
    system.run();
    if (system.stopped()) {
      system.leave_undone();
    } else {
      programs->check_finished();
      programs->finish();
      system.check_drained();
    }
    if (judge && !system.stopped()) {
      judge->finish();
      CARILLON_CHECK(judge->result().mismatches == 0,
                     "{} times the run is not what verbs promise: {}", judge->result().mismatches,
                     judge->complaints().front());
    }
  } catch (...) {
    // A run that failed is the one whose trace is wanted most: it ends where the run ended.
    keep_traces(outputs ? &*outputs : nullptr, taps, faults);
    throw;
  }
  run_effort effort = progress.effort();
  if (!traced) {
    effort.messages = programs->measured_messages();
  }
  CARILLON_CHECK(!traced || times.messages() == programs->measured_messages(),
                 "{} messages were measured, but the workload has {}", times.messages(),
                 programs->measured_messages());

  run_facts facts;
  facts.point = &point;
  facts.times = &times;
  facts.simulated = system.stopped()
                        ? now_ps()
                        : std::max(system.context.line.last(),
                                   system.context.clock.time_of(system.context.clock.now()));
  for (unsigned i = 0; i < system.size(); ++i) {
    const nic& adapter = system.at(i).adapter;
    facts.counters.push_back({const_cast<nic&>(adapter).shared().name, &adapter.counters()});
  }
  facts.checks = {{"failed_completions", programs->failed_completions()},
                  {"verified_messages", programs->verified_messages()},
                  {"wrong_bytes", programs->wrong_bytes()}};
  if (judge) {
    facts.checks["judged_sends"] = judge->result().sends;
    facts.checks["judged_receives"] = judge->result().receives;
    facts.checks["judged_failures"] = judge->result().failed;
    facts.checks["judged_bytes"] = judge->result().bytes_compared;
    facts.checks["lost_messages"] = judge->result().lost;
  }
  facts.effort = effort;
  programs->report(facts);
  facts.stopped = system.stopped();
  facts.switches = facts_of(system.network());
  facts.faults = system.faults();
#if CARILLON_RTL
  if (rtl != nullptr) {
    facts.effort.impl_events["rtl"] = rtl->edges();
    facts.effort.rtl_cycles = rtl->busy_cycles();
  }
#endif
  if (outputs) {
    outputs->close(facts.counters);
  }
  taps.close();
  faults.close();
  if (series) {
    series->close();
  }
  return point_summary(facts);
}

}  // namespace carillon
