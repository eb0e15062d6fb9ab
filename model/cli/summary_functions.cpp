#include "cli/summary_functions.h"

#include <algorithm>
#include <fmt/format.h>

#include "gen/counters.h"

namespace carillon {

namespace {

constexpr const char* Healthy = "none";

std::string function_name(std::uint16_t function) {
  return function == 0 ? std::string("PF") : fmt::format("VF {}", function - 1);
}

json end_json(const tenant_facts& tenant, std::size_t end) {
  const auto& function = tenant.function[end];
  return {{"host", tenant.host[end]},
          {"function", function ? function_name(*function) : "nothing"}};
}

json tenant_json(const tenant_facts& tenant) {
  json result;
  result["from"] = end_json(tenant, 0);
  result["to"] = end_json(tenant, 1);
  result["opcode"] = to_string(tenant.spec.opcode);
  result["size"] = tenant.spec.size;
  result["qps"] = tenant.spec.qps;
  result["outstanding"] = tenant.spec.outstanding;
  result["background"] = tenant.spec.background;
  result["messages"] = tenant.messages;
  result["failed"] = tenant.failures;
  result["goodput_gbps"] = tenant.rate.gigabits();
  result["messages_per_second"] = tenant.rate.messages_per_second();
  json latency = json::object();
  for (std::size_t i = 0; i < LatencyPathCount; ++i) {
    if (tenant.latency[i].count() != 0) {
      latency[LatencyPaths[i].name] = latency_json(tenant.latency[i]);
    }
  }
  result["latency"] = std::move(latency);
  return result;
}

std::map<std::string, std::uint64_t, std::less<>> counts_of(const node_functions& node,
                                                            std::uint16_t function) {
  std::map<std::string, std::uint64_t, std::less<>> counts;
  for (std::size_t i = 0; i < CounterCount; ++i) {
    const std::uint64_t value = node.counters->value_for(function, static_cast<counter>(i));
    if (value != 0) {
      counts.emplace(CounterTable[i].name, value);
    }
  }
  return counts;
}

json function_json(const node_functions& node, std::uint16_t function) {
  json result;
  result["name"] = function_name(function);
  if (function != 0) {
    const vf_partition& part = node.partitions[function - std::size_t{1}];
    result["context_ram_bytes"] = context_bytes(part);
    for (std::size_t i = 0; i < ContextTables; ++i) {
      const auto table = static_cast<context_table>(i);
      result[to_string(table)] = part[table].count;
    }
  }
  json counters = json::object();
  for (const auto& [name, value] : counts_of(node, function)) {
    counters[name] = value;
  }
  result["counters"] = std::move(counters);
  return result;
}

json functions_json(const std::vector<node_functions>& nodes) {
  json result = json::object();
  for (const node_functions& node : nodes) {
    json functions = json::object();
    functions["vfs"] = node.partitions.size();
    functions["reused"] = node.reused;
    std::uint64_t most = 0;
    for (const vf_partition& each : node.partitions) {
      most = std::max(most, context_bytes(each));
    }
    functions["context_ram_bytes_per_vf"] = most;
    for (std::uint16_t i = 0; i <= node.partitions.size(); ++i) {
      functions[std::to_string(i)] = function_json(node, i);
    }
    result[node.node] = std::move(functions);
  }
  return result;
}

json diagnosis_json(const run_facts& facts) {
  std::vector<function_counts> functions;
  for (const node_functions& node : facts.functions) {
    for (std::uint16_t i = 0; i <= node.partitions.size(); ++i) {
      functions.push_back(
          {fmt::format("{} of {}", function_name(i), node.host), counts_of(node, i)});
    }
  }
  const std::vector<finding> found = diagnose(facts.symptoms, functions);
  json result;
  std::string causes;
  for (const finding& each : found) {
    causes += (causes.empty() ? "" : ", ") + each.cause;
  }
  result["causes"] = causes.empty() ? Healthy : causes;
  for (const finding& each : found) {
    result[each.cause] = {{"text", each.text}, {"where", each.where}, {"count", each.count}};
  }
  return result;
}

}  // namespace

void add_functions(const run_facts& facts, json& summary) {
  if (facts.tenants.empty()) {
    return;
  }
  json tenants = json::object();  // not a list, so that [expect] can name what is in it
  for (std::size_t i = 0; i < facts.tenants.size(); ++i) {
    tenants[std::to_string(i)] = tenant_json(facts.tenants[i]);
  }
  summary["tenants"] = std::move(tenants);
  summary["functions"] = functions_json(facts.functions);
  summary["diagnosis"] = diagnosis_json(facts);
}

void add_unexpected(const scenario& what, const json& summary, json& failed) {
  const auto look = [&](const json& run, const std::string& prefix) {
    const auto found = run.find("diagnosis");
    if (found == run.end() || found->at("causes") == Healthy) {
      return;
    }
    const std::string path = prefix + "diagnosis";
    const bool expected =
        std::any_of(what.expect.begin(), what.expect.end(),
                    [&](const expectation& each) { return each.path.rfind(path + ".", 0) == 0; });
    if (!expected) {
      failed.push_back({{"path", path + ".causes"},
                        {"where", what.file},
                        {"expected", Healthy},
                        {"actual", found->at("causes")}});
    }
  };
  if (!summary.contains("points")) {
    look(summary, "");
    return;
  }
  for (const auto& [label, point] : summary["points"].items()) {
    look(point, "points." + label + ".");
  }
}

}  // namespace carillon
