// summary.json: what a run found, for programs. docs/cli.md describes every key.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/breakdown.h"
#include "cli/diagnosis.h"
#include "cli/scenario.h"
#include "cli/tenant_settings.h"
#include "cli/trace_sink.h"
#include "fabric/fault_injector.h"
#include "fabric/switch/switch_counters.h"
#include "host/vf_partition.h"

namespace carillon {

using json = nlohmann::ordered_json;

/// Changes whenever a key changes its meaning or goes away; new keys do not change it.
inline constexpr const char* SummarySchema = "carillon-summary-1";

/// How the run went, as opposed to what it found, from the first message's completion to the end:
/// no claim that two runs are identical covers it.
struct run_effort {
  double wall_seconds = 0;
  std::uint64_t wakes = 0;
  std::uint64_t activations = 0;  ///< kernel activations of clock and timeline
  std::uint64_t callbacks = 0;    ///< of the timeline
  std::uint64_t tlps = 0;         ///< sent over PCIe, all links and directions
  std::uint64_t tlp_bytes = 0;
  std::uint64_t messages = 0;  ///< completed after the first, warm-up and background included
  std::map<std::string, std::uint64_t> impl_events;  ///< clock edges in RTL blocks
  std::uint64_t rtl_cycles = 0;                      ///< cycles in which some RTL block was clocked
};

/// What one tenant had and measured.
struct tenant_facts {
  tenant_spec spec;
  std::array<unsigned, 2> host{};                        ///< of the sender, of its peer
  std::array<std::optional<std::uint16_t>, 2> function;  ///< likewise; empty: it got none
  std::uint64_t messages = 0;
  std::uint64_t failures = 0;
  std::array<distribution, LatencyPathCount> latency;  ///< by path, in ps
  node_rate rate;
};

/// What one flow over the network carried.
struct flow_facts {
  struct queue {
    std::uint8_t priority = 0;
    std::uint64_t posted = 0;
    std::uint64_t completed = 0;
    std::uint64_t failures = 0;
    std::uint8_t syndrome = 0;  ///< of the first failure
    node_rate rate;
  };

  unsigned from = 0;
  unsigned to = 0;
  node_rate rate;
  std::vector<queue> queues;
};

/// Of all messages of a priority, by path, in ps.
using priority_latencies = std::array<std::array<distribution, LatencyPathCount>, PriorityCount>;

struct switch_facts {
  std::string name;
  std::vector<switch_port_counters> ports;
  std::uint64_t queued_bytes = 0;  ///< at the end of the run
};

/// Of a part of the run: all switches, and the queue that was longest on average.
struct measured_network {
  double microseconds = 0;
  std::uint64_t xoffs = 0;
  std::uint64_t marked = 0;
  std::uint64_t discards = 0;
  std::string queue;
  double mean_queue = 0;       ///< bytes behind the frame on the wire, over time
  double queue_deviation = 0;  ///< of them, the standard deviation
  double utilisation = 0;      ///< of the wire behind it, preambles and gaps included
};

/// The functions of one device.
struct node_functions {
  std::string node;
  std::string host;
  std::vector<vf_partition> partitions;  ///< by VF
  std::uint64_t reused = 0;              ///< VFs that were reset for another user
  const counter_block* counters = nullptr;
};

struct run_facts {
  const run_point* point = nullptr;
  const breakdown* times = nullptr;
  std::vector<node_counters> counters;
  ps_t simulated = 0;
  std::map<std::string, distribution> extra_latency;  ///< of the workload, in ps
  std::map<std::string, std::uint64_t> checks;        ///< of the workload: bytes compared, ...
  std::vector<tenant_facts> tenants;                  ///< empty: one user
  std::vector<node_functions> functions;              ///< likewise
  std::vector<flow_facts> flows;                      ///< empty: two hosts talk
  std::uint64_t flow_bytes = 0;                       ///< that they delivered together ...
  ps_t flow_time = 0;                        ///< ... from the first post to the last delivery
  priority_latencies priority_latency;       ///< of the flows
  std::vector<switch_facts> switches;        ///< empty: a cable
  std::optional<measured_network> measured;  ///< of flows, with measure_from_ns
  bool stopped = false;                      ///< the run was ended with work under way
  std::vector<symptom> symptoms;
  const fault_injector* faults = nullptr;  ///< nullptr: there were no rules
  json perftest;  ///< what the test has found; null: it was another workload
  run_effort effort;
};

/// Of a distribution in ps: count, min, mean and percentiles in ns.
json latency_json(const distribution& samples);

/// What one simulation found: everything but the head and `expect`.
json point_summary(const run_facts& facts);

/// The whole document. With points, each one's part is at points.<label>.
json scenario_summary(const scenario& what, const std::vector<json>& points);

/// Compares and fills `expect`; returns whether all held.
bool check_expectations(const scenario& what, json& summary);

/// The value at a dotted path, or nullptr.
const json* find_value(const json& root, std::string_view path);

}  // namespace carillon
