#include "cli/series.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "cli/flow_workload.h"
#include "common/fixed_point.h"
#include "gen/counters.h"

namespace carillon {

namespace {

constexpr double PsPerNs = 1000;
constexpr double GigabitsOfByte = 8000;  // a byte a picosecond, in Gb/s
constexpr double MbpsPerGbps = 1000;
/// Of a queue of a switch: its bytes, whether it is paused, whether its sender is asked to pause.
constexpr std::size_t PerQueue = 3;

}  // namespace

series_output::series_output(system_model& system, const traffic& programs,
                             const workload_spec& workload, const std::filesystem::path& folder,
                             ps_t interval)
    : timed(system.context.line),
      system_(system),
      programs_(programs),
      interval_(interval),
      begin_(now_ps()),
      file_(folder / "series.csv") {
  file_.write("time_ns,kind,name,value\n");
  for (unsigned i = 0; i < system.size(); ++i) {
    adapter each;
    each.name = system.at(i).adapter.shared().name;
    each.sent.series = add("rate", each.name + ".tx");
    each.received.series = add("rate", each.name + ".rx");
    each.pauses = lines_.size();
    for (unsigned priority = 0; priority < PriorityCount; ++priority) {
      add("pause", fmt::format("{}.prio{}", each.name, priority));
    }
    each.cnps = add("cnps", each.name + ".sent");
    add("cnps", each.name + ".handled");
    adapters_.push_back(std::move(each));
  }
  if (workload.flows()) {
    for (const auto& [from, to] : flows_of(workload, system.size())) {
      flows_.push_back({0, add("goodput", fmt::format("flow.{}_{}", from, to))});
    }
  }
  network_ = lines_.size();
  topology* network = system.network();
  for (std::size_t i = 0; network != nullptr && i < network->switches(); ++i) {
    ethernet_switch& each = network->at(i);
    lines_[add("free_bytes", each.name())].begun = true;  // at no time there are none
    for (std::uint32_t port = 0; port < each.ports(); ++port) {
      for (unsigned priority = 0; priority < PriorityCount; ++priority) {
        const std::string queue = fmt::format("{}.port{}.prio{}", each.name(), port, priority);
        add("queue_depth", queue);
        add("pause", queue);
        add("xoff", queue);
      }
    }
  }
  system.context.line.timer(now_ps() + interval, *this);
}

std::size_t series_output::add(std::string_view kind, std::string name) {
  lines_.push_back({fmt::format("{},{}", kind, std::move(name)), 0, false});
  return lines_.size() - 1;
}

void series_output::on_time(ps_t now, std::uint64_t /*what*/) {
  sample(now);
  if (system_.running()) {
    system_.context.line.timer(now + interval_, *this);
  }
}

/// Values begin with 0; one that stays is not repeated, and what is always 0 has no line.
void series_output::put(ps_t now, std::size_t series, double value) {
  line& of = lines_[series];
  if (value == of.last) {
    return;
  }
  if (!of.begun) {
    of.begun = true;
    write(begin_, of, 0);
  }
  of.last = value;
  write(now, of, value);
}

void series_output::write(ps_t time, const line& of, double value) {
  file_.write(fmt::format("{},{},{:.6g}\n", static_cast<double>(time) / PsPerNs, of.name, value));
}

void series_output::put_rate(ps_t now, rate& of, std::uint64_t bytes) {
  put(now, of.series,
      GigabitsOfByte * static_cast<double>(bytes - of.bytes) / static_cast<double>(interval_));
  of.bytes = bytes;
}

void series_output::sample(ps_t now) {
  for (unsigned i = 0; i < system_.size(); ++i) {
    sample_adapter(now, system_.at(i).adapter, adapters_[i]);
  }
  const std::vector<std::uint64_t> delivered = programs_.delivered_bytes();
  for (std::size_t i = 0; i < flows_.size(); ++i) {
    put_rate(now, flows_[i], delivered[i]);
  }
  sample_network(now);
}

void series_output::sample_adapter(ps_t now, const nic& from, adapter& to) {
  const counter_block& counters = from.counters();
  put_rate(now, to.sent, counters.value(counter::TxBytes));
  put_rate(now, to.received, counters.value(counter::RxBytes));
  const unsigned paused = from.paused();
  for (unsigned priority = 0; priority < PriorityCount; ++priority) {
    put(now, to.pauses + priority, paused >> priority & 1);
  }
  put(now, to.cnps, static_cast<double>(counters.value(counter::NpCnpSent)));
  put(now, to.cnps + 1, static_cast<double>(counters.value(counter::RpCnpHandled)));
  sample_rates(now, from, to);
}

/// A QP has series from when it was told to slow down.
void series_output::sample_rates(ps_t now, const nic& from, adapter& to) {
  found_.clear();
  from.list_rates(found_);
  for (const qp_rate& each : found_) {
    auto known = std::find_if(to.queue_pairs.begin(), to.queue_pairs.end(),
                              [&each](const queue_pair& other) { return other.qpn == each.qpn; });
    if (known == to.queue_pairs.end()) {
      const std::string name = fmt::format("{}.qp{}", to.name, each.qpn);
      const std::size_t first = add("qp_rate", name);
      add("qp_target", name);
      add("alpha", name);
      // They begin now: a rate of 0 there never was.
      std::for_each(lines_.begin() + static_cast<std::ptrdiff_t>(first), lines_.end(),
                    [](line& begins) { begins.begun = true; });
      known = to.queue_pairs.insert(known, {each.qpn, first});
    }
    put(now, known->first, mbps_of(each.current) / MbpsPerGbps);
    put(now, known->first + 1, mbps_of(each.target) / MbpsPerGbps);
    put(now, known->first + 2, static_cast<double>(each.alpha) / FractionOne);
  }
}

void series_output::sample_network(ps_t now) {
  std::size_t series = network_;
  topology* network = system_.network();
  for (std::size_t i = 0; network != nullptr && i < network->switches(); ++i) {
    const ethernet_switch& each = network->at(i);
    put(now, series++, static_cast<double>(each.buffer().free_bytes()));
    for (std::uint32_t port = 0; port < each.ports(); ++port) {
      const switch_egress& egress = each.egress(port);
      for (unsigned priority = 0; priority < PriorityCount; ++priority, series += PerQueue) {
        put(now, series, static_cast<double>(egress.queue_bytes(priority)));
        put(now, series + 1, egress.paused(priority, now) ? 1 : 0);
        put(now, series + 2, each.buffer().xoff(port, priority) ? 1 : 0);
      }
    }
  }
}

void series_output::close() {
  file_.commit();
}

}  // namespace carillon
