#include "cli/series.h"

#include <fmt/format.h>
#include <utility>

#include "cli/flow_workload.h"
#include "gen/counters.h"

namespace carillon {

namespace {

constexpr double PsPerUs = 1'000'000;
constexpr double GigabitsOfByte = 8000;  // a byte a picosecond, in Gb/s
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
      file_(folder / "series.csv") {
  file_.write("time_us,series,value\n");
  for (unsigned i = 0; i < system.size(); ++i) {
    const std::string& nic = system.at(i).adapter.shared().name;
    sent_.push_back({0, add(nic + ".tx_gbps")});
    received_.push_back({0, add(nic + ".rx_gbps")});
    paused_.push_back(add(nic + ".paused"));
  }
  if (workload.flows()) {
    for (const auto& [from, to] : flows_of(workload, system.size())) {
      flows_.push_back({0, add(fmt::format("flow.{}_{}.gbps", from, to))});
    }
  }
  network_ = names_.size();
  topology* network = system.network();
  for (std::size_t i = 0; network != nullptr && i < network->switches(); ++i) {
    ethernet_switch& each = network->at(i);
    add(fmt::format("{}.free_bytes", each.name()));
    for (std::uint32_t port = 0; port < each.ports(); ++port) {
      for (unsigned priority = 0; priority < PriorityCount; ++priority) {
        const std::string queue = fmt::format("{}.port{}.prio{}", each.name(), port, priority);
        add(queue + ".queue_bytes");
        add(queue + ".paused");
        add(queue + ".xoff");
      }
    }
  }
  system.context.line.timer(now_ps() + interval, *this);
}

std::size_t series_output::add(std::string name) {
  names_.push_back(std::move(name));
  last_.push_back(0);
  return names_.size() - 1;
}

void series_output::on_time(ps_t now, std::uint64_t /*what*/) {
  sample(now);
  if (system_.running()) {
    system_.context.line.timer(now + interval_, *this);
  }
}

/// Values begin with 0; one that stays is not repeated.
void series_output::put(ps_t now, std::size_t series, double value) {
  if (value != last_[series]) {
    last_[series] = value;
    file_.write(fmt::format("{:.3f},{},{:.6g}\n", static_cast<double>(now) / PsPerUs,
                            names_[series], value));
  }
}

void series_output::put_rate(ps_t now, rate& of, std::uint64_t bytes) {
  put(now, of.series,
      GigabitsOfByte * static_cast<double>(bytes - of.bytes) / static_cast<double>(interval_));
  of.bytes = bytes;
}

void series_output::sample(ps_t now) {
  for (unsigned i = 0; i < system_.size(); ++i) {
    const nic& adapter = system_.at(i).adapter;
    put_rate(now, sent_[i], adapter.counters().value(counter::TxBytes));
    put_rate(now, received_[i], adapter.counters().value(counter::RxBytes));
    put(now, paused_[i], adapter.paused());
  }
  const std::vector<std::uint64_t> delivered = programs_.delivered_bytes();
  for (std::size_t i = 0; i < flows_.size(); ++i) {
    put_rate(now, flows_[i], delivered[i]);
  }
  sample_network(now);
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
