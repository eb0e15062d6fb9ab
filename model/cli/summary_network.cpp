#include "cli/summary_network.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>

#include "gen/counters.h"

namespace carillon {

namespace {

constexpr double PsPerUs = 1'000'000;
constexpr double GigabitsOfByte = 8000;  // a byte a picosecond, in Gb/s

/// What several queue pairs have together.
struct sums {
  std::uint64_t queues = 0;
  std::uint64_t messages = 0;
  std::uint64_t unfinished = 0;
  std::uint64_t failures = 0;
  std::uint64_t failed_queues = 0;
  std::uint64_t bytes = 0;
  unsigned syndrome = 0;  ///< the first one

  void add(const flow_facts::queue& queue) {
    ++queues;
    messages += queue.rate.messages;
    bytes += queue.rate.bytes;
    unfinished += queue.posted - queue.completed;
    failures += queue.failures;
    failed_queues += queue.failures != 0 ? 1 : 0;
    syndrome = syndrome == 0 ? queue.syndrome : syndrome;
  }

  [[nodiscard]] json to_json() const {
    return {{"qps", queues},       {"messages", messages},
            {"bytes", bytes},      {"unfinished", unfinished},
            {"failed", failures},  {"failed_qps", failed_queues},
            {"syndrome", syndrome}};
  }
};

json priorities_json(const run_facts& facts) {
  struct of_priority {
    sums all;
    double gigabits = 0;
    ps_t last = 0;
  };

  std::map<unsigned, of_priority> found;
  for (const flow_facts& each : facts.flows) {
    for (const flow_facts::queue& queue : each.queues) {
      of_priority& of = found[queue.priority];
      of.all.add(queue);
      of.gigabits += queue.rate.gigabits();
      of.last = std::max(of.last, queue.rate.last);
    }
  }
  json result = json::object();
  for (const auto& [priority, of] : found) {
    json one = of.all.to_json();
    one["goodput_gbps"] = of.gigabits;
    one["last_delivery_us"] = static_cast<double>(of.last) / PsPerUs;
    json latency = json::object();
    for (std::size_t i = 0; i < LatencyPathCount; ++i) {
      const distribution& samples = facts.priority_latency[priority][i];
      if (samples.count() != 0) {
        latency[LatencyPaths[i].name] = latency_json(samples);
      }
    }
    one["latency"] = std::move(latency);
    result[std::to_string(priority)] = std::move(one);
  }
  return result;
}

std::uint64_t of_all(const run_facts& facts, counter which) {
  std::uint64_t sum = 0;
  for (const node_counters& each : facts.counters) {
    sum += each.counters->value(which);
  }
  return sum;
}

/// Frames that came to a switch and left it by none of its ports.
std::uint64_t lost_at(const switch_port_counters& port) {
  std::uint64_t sum = port.rx_crc_errors + port.rx_oversize + port.rx_no_route;
  for (const priority_counters& each : port.priorities) {
    sum += each.rx_discards + each.watchdog_discards;
  }
  return sum;
}

json measured_json(const measured_network& found) {
  return {{"us", found.microseconds},
          {"xoffs", found.xoffs},
          {"ecn_marked_packets", found.marked},
          {"discards", found.discards},
          {"queue", found.queue},
          {"mean_queue_bytes", found.mean_queue},
          {"queue_deviation_bytes", found.queue_deviation},
          {"utilisation", found.utilisation}};
}

}  // namespace

double fairness(const std::vector<double>& rates) {
  double sum = 0;
  double squares = 0;
  for (const double each : rates) {
    sum += each;
    squares += each * each;
  }
  return squares == 0 ? 1.0 : sum * sum / (static_cast<double>(rates.size()) * squares);
}

void add_flows(const run_facts& facts, json& summary) {
  if (facts.flows.empty()) {
    return;
  }
  std::vector<double> rates;
  sums total;
  json each_flow = json::object();  // not a list, so that [expect] can name what is in it
  for (const flow_facts& each : facts.flows) {
    sums own;
    for (const flow_facts::queue& queue : each.queues) {
      own.add(queue);
      total.add(queue);
    }
    rates.push_back(each.rate.gigabits());
    json one = own.to_json();
    one["goodput_gbps"] = rates.back();
    each_flow[fmt::format("{}_{}", each.from, each.to)] = std::move(one);
  }
  json result = total.to_json();
  result["count"] = facts.flows.size();
  result["goodput_gbps"] = facts.flow_time == 0
                               ? 0.0
                               : GigabitsOfByte * static_cast<double>(facts.flow_bytes) /
                                     static_cast<double>(facts.flow_time);
  result["goodput_gbps_min"] = *std::min_element(rates.begin(), rates.end());
  result["goodput_gbps_max"] = *std::max_element(rates.begin(), rates.end());
  result["jain_index"] = fairness(rates);
  result["go_backs"] = of_all(facts, counter::ReqGoBacks);
  result["timeouts"] = of_all(facts, counter::LocalAckTimeoutErr);
  result["sequence_naks"] = of_all(facts, counter::PacketSeqErr);
  result["cnps_sent"] = of_all(facts, counter::NpCnpSent);
  result["cnps_handled"] = of_all(facts, counter::RpCnpHandled);
  result["priorities"] = priorities_json(facts);
  result["each"] = std::move(each_flow);
  summary["flows"] = std::move(result);
}

void add_network(const run_facts& facts, json& summary) {
  const network_spec& spec = facts.point->network;
  if (facts.switches.empty()) {
    return;
  }
  std::uint64_t lost = 0;
  std::uint64_t queued = 0;
  std::uint64_t marked = 0;
  std::uint64_t xoffs = 0;
  std::uint64_t storms = 0;
  std::uint64_t dropped_by_watchdog = 0;
  std::uint64_t longest_queue = 0;
  std::uint64_t packets = 0;
  json switches = json::object();
  for (const switch_facts& each : facts.switches) {
    queued += each.queued_bytes;
    json ports = json::object();
    for (std::size_t i = 0; i < each.ports.size(); ++i) {
      const switch_port_counters& port = each.ports[i];
      lost += lost_at(port);
      for (const priority_counters& of : port.priorities) {
        packets += of.tx_packets;
        marked += of.tx_ecn_marked;
        xoffs += of.tx_xoff;
        storms += of.watchdog_storms;
        dropped_by_watchdog += of.watchdog_discards;
        longest_queue = std::max(longest_queue, of.max_queue_bytes);
      }
      json counted = json::object();
      for (const auto& [name, value] : listed(port)) {
        counted[name] = value;
      }
      ports[fmt::format("port{}", i)] = std::move(counted);
    }
    switches[each.name] = std::move(ports);
  }
  summary["network"] = {{"topology", to_string(spec.shape)},
                        {"hosts", spec.hosts},
                        {"stopped", facts.stopped},
                        {"packets", packets},
                        {"lost_packets", lost},
                        {"queued_bytes", queued},
                        {"max_queue_bytes", longest_queue},
                        {"ecn_marked_packets", marked},
                        {"xoffs", xoffs},
                        {"pfcwd_storms", storms},
                        {"pfcwd_discards", dropped_by_watchdog},
                        {"switches", std::move(switches)}};
  if (facts.measured) {
    summary["network"]["measured"] = measured_json(*facts.measured);
  }
}

}  // namespace carillon
