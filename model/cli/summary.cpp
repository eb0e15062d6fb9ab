#include "cli/summary.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "cli/summary_functions.h"
#include "cli/summary_network.h"
#include "cli/text.h"
#include "gen/counters.h"
#include "gen/params.h"
#include "gen/stages.h"

namespace carillon {

namespace {

constexpr double PsPerNs = 1000.0;

json statistics_of(const distribution& samples, double unit, bool with_count) {
  json result;
  if (with_count) {
    result["count"] = samples.count();
  }
  const auto scaled = [unit](std::uint64_t value) { return static_cast<double>(value) / unit; };
  result["min"] = scaled(samples.min());
  result["mean"] = samples.mean() / unit;
  result["p50"] = scaled(samples.p50());
  result["p99"] = scaled(samples.p99());
  result["p999"] = scaled(samples.p999());
  result["max"] = scaled(samples.max());
  return result;
}

json account_json(const time_account& account, const tracer& names, double unit) {
  json result;
  result["messages"] = account.total.count();
  result["service"] = statistics_of(account.service, unit, false);
  result["wait"] = statistics_of(account.wait, unit, false);
  result["total"] = statistics_of(account.total, unit, false);
  const auto count = static_cast<double>(std::max<std::uint64_t>(1, account.total.count()));
  result["flight"] = static_cast<double>(account.flight) / count / unit;
  json waits = json::object();
  std::map<std::string, std::uint64_t> by_name;  // interned names have the order of their first use
  for (const auto& [reason, sum] : account.waits) {
    by_name[names.name(reason)] += sum;
  }
  for (const auto& [reason, sum] : by_name) {
    waits[reason] = static_cast<double>(sum) / count / unit;
  }
  result["waits"] = std::move(waits);
  return result;
}

json stages_json(const breakdown& times, double period) {
  json result = json::object();
  for (const auto& [name, account] : times.stages()) {
    result[name] = account_json(*account, times.names(), period);
  }
  return result;
}

json places_json(const breakdown& times) {
  json result = json::object();
  const double unit =
      PsPerNs * static_cast<double>(std::max<std::uint64_t>(1, times.total().total.count()));
  for (const auto& [name, place] : times.places()) {
    result[name] = {{"service", static_cast<double>(place.service) / unit},
                    {"wait", static_cast<double>(place.wait) / unit},
                    {"flight", static_cast<double>(place.flight) / unit}};
  }
  return result;
}

json rates_json(const breakdown& times) {
  json result;
  double gigabits = 0;
  double per_second = 0;
  json nodes = json::object();
  for (const auto& [node, rate] : times.rates()) {
    gigabits += rate.gigabits();
    per_second += rate.messages_per_second();
    nodes[node] = {{"goodput_gbps", rate.gigabits()},
                   {"messages_per_second", rate.messages_per_second()}};
  }
  result["goodput_gbps"] = gigabits;
  result["messages_per_second"] = per_second;
  result["nodes"] = std::move(nodes);
  return result;
}

json counters_json(const std::vector<node_counters>& counters) {
  json result = json::object();
  for (const node_counters& node : counters) {
    json values = json::object();
    for (std::size_t i = 0; i < CounterCount; ++i) {
      values[CounterTable[i].name] = node.counters->value(static_cast<counter>(i));
    }
    result[node.node] = std::move(values);
  }
  return result;
}

json fault_counts_json(const fault_counts& counts) {
  json result = json::object();
  for (std::size_t i = 0; i < FaultActionCount; ++i) {
    result[to_string(static_cast<fault_action>(i))] = counts[i];
  }
  return result;
}

json faults_json(const fault_injector& faults) {
  json result = fault_counts_json(faults.counts());
  for (std::size_t i = 0; i < FaultDirectionCount; ++i) {
    const auto direction = static_cast<fault_direction>(i);
    result[to_string(direction)] = fault_counts_json(faults.counts(direction));
  }
  json rules = json::object();  // not a list, so that [expect] can name what is in it
  for (std::size_t i = 0; i < faults.rules().size(); ++i) {
    const fault_rule_count count = faults.rule_count(i);
    rules[std::to_string(i)] = {{"do", to_string(faults.rules()[i].action)},
                                {"direction", to_string(faults.rules()[i].direction)},
                                {"matched", count.matched},
                                {"applied", count.applied}};
  }
  result["rules"] = std::move(rules);
  return result;
}

json param_json(const parameters& from, const param_desc& about) {
  const std::string text = get_param(from, about.name);
  switch (about.type) {
    case param_type::Flag:
      return text == "true";
    case param_type::Integer:
      return std::stoll(text);
    case param_type::Real:
      return std::stod(text);
    default:
      return text;
  }
}

json parameters_json(const run_point& point) {
  json result = json::object();
  for (const std::size_t i : changed_params(point.params)) {
    const param_desc& about = ParamTable[i];
    const auto origin = point.set_by.find(about.name);
    result[about.name] = {{"value", param_json(point.params, about)},
                          {"default", param_json(parameters{}, about)},
                          {"unit", about.unit},
                          {"provenance", to_string(about.origin)},
                          {"set_by", origin != point.set_by.end() ? origin->second : ""}};
  }
  return result;
}

json workload_json(const workload_spec& workload) {
  return {{"kind", to_string(workload.kind)},
          {"opcode", to_string(workload.opcode)},
          {"size", workload.size},
          {"messages", workload.messages},
          {"warmup", workload.warmup},
          {"outstanding", workload.outstanding},
          {"qps", workload.qps},
          {"queue_depth", workload.queue_depth},
          {"submit", to_string(workload.submit)},
          {"inline", to_string(workload.inline_data)},
          {"batch", workload.batch},
          {"signaled_every", workload.signaled_every},
          {"completion", to_string(workload.completions)},
          {"cq_moderation_count", workload.moderation_count},
          {"cq_moderation_period", workload.moderation_period},
          {"directions", workload.both_directions ? "both" : "one"},
          {"align_doorbell", workload.align_doorbell},
          {"verify", workload.verify},
          {"scoreboard", workload.scoreboard},
          {"background_qps", workload.background.qps}};
}

json impl_json(const run_point& point) {
  json result = json::object();
  for (const stage_desc& each : StageTable) {
    if (each.twin) {
      result[each.name] = to_string(point.impl_of(each.name));
    }
  }
  return result;
}

json effort_json(const run_facts& facts) {
  const run_effort& effort = facts.effort;
  const double per = effort.messages == 0 ? 0.0 : 1.0 / static_cast<double>(effort.messages);
  json result;
  result["impl_events"] = effort.impl_events;
  result["rtl_cycles"] = effort.rtl_cycles;
  result["wall_seconds"] = effort.wall_seconds;
  result["messages"] = effort.messages;
  result["messages_per_wall_second"] =
      effort.wall_seconds > 0 ? static_cast<double>(effort.messages) / effort.wall_seconds : 0.0;
  result["wakes"] = effort.wakes;
  result["kernel_events"] = effort.activations;
  result["callbacks"] = effort.callbacks;
  result["tlps"] = effort.tlps;
  result["tlp_bytes"] = effort.tlp_bytes;
  result["wakes_per_message"] = static_cast<double>(effort.wakes) * per;
  result["kernel_events_per_message"] = static_cast<double>(effort.activations) * per;
  result["tlps_per_message"] = static_cast<double>(effort.tlps) * per;
  return result;
}

std::string shown(const json& value) {
  return value.is_number_float() ? trimmed(value.get<double>()) : value.dump();
}

std::string wanted(const expectation& expect) {
  if (expect.text) {
    return fmt::format("\"{}\"", *expect.text);
  }
  if (expect.flag) {
    return *expect.flag ? "true" : "false";
  }
  std::vector<std::string> parts;
  if (expect.value) {
    parts.push_back(trimmed(*expect.value) +
                    (expect.tolerance != 0 ? " +- " + trimmed(expect.tolerance) : ""));
  }
  if (expect.min) {
    parts.push_back("at least " + trimmed(*expect.min));
  }
  if (expect.max) {
    parts.push_back("at most " + trimmed(*expect.max));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

bool holds(const expectation& expect, const json& actual) {
  if (expect.text) {
    return actual.is_string() && actual.get<std::string>() == *expect.text;
  }
  if (expect.flag) {
    return actual.is_boolean() && actual.get<bool>() == *expect.flag;
  }
  if (!actual.is_number()) {
    return false;
  }
  const auto value = actual.get<double>();
  // "Exact" is exact in what both sides can write: a double has about 15 digits.
  const double slack = expect.value ? std::abs(*expect.value) * 1e-12 : 0;
  return (!expect.value || std::abs(value - *expect.value) <= expect.tolerance + slack) &&
         (!expect.min || value >= *expect.min) && (!expect.max || value <= *expect.max);
}

/// The longest part of the path that exists, and the keys that could follow.
std::string missing_key(const json& root, std::string_view path) {
  const json* at = &root;
  std::string found;
  for (const std::string& part : split(path, '.')) {
    const bool here = at->is_object() && at->contains(part);
    if (!here) {
      std::vector<std::string> known;
      if (at->is_object()) {
        for (const auto& [key, value] : at->items()) {
          known.push_back(key);
        }
      }
      return fmt::format("there is no `{}` in {}{}", part, found.empty() ? "the summary" : found,
                         suggestion(part, known));
    }
    at = &(*at)[part];
    found += (found.empty() ? "" : ".") + part;
  }
  return "is not a value";
}

}  // namespace

json latency_json(const distribution& samples) {
  return statistics_of(samples, PsPerNs, true);
}

json point_summary(const run_facts& facts) {
  const breakdown& times = *facts.times;
  const auto period = static_cast<double>(facts.point->params.core.clock_period_ps);
  json result;
  result["impl"] = impl_json(*facts.point);
  result["messages"] = times.messages();
  result["simulated_ns"] = static_cast<double>(facts.simulated) / PsPerNs;
  json latency = json::object();
  for (std::size_t i = 0; i < LatencyPathCount; ++i) {
    if (times.latency(i).count() != 0) {
      latency[LatencyPaths[i].name] = latency_json(times.latency(i));
    }
  }
  for (const auto& [name, samples] : facts.extra_latency) {
    latency[name] = latency_json(samples);
  }
  result["latency"] = std::move(latency);
  result["stages"] = stages_json(times, period);
  if (times.total().total.count() != 0) {
    result["path"] = account_json(times.total(), times.names(), period);
  }
  result["places"] = places_json(times);
  result["rates"] = rates_json(times);
  result["checks"] = facts.checks;
  result["counters"] = counters_json(facts.counters);
  if (facts.faults != nullptr) {
    result["faults"] = faults_json(*facts.faults);
  }
  add_flows(facts, result);
  add_network(facts, result);
  add_functions(facts, result);
  if (facts.perftest.is_null()) {
    result["workload"] = workload_json(facts.point->workload);
  } else {
    result["perftest"] = facts.perftest;
  }
  result["parameters"] = parameters_json(*facts.point);
  // The lines of the stage table, for the terminal and for reports.
  json lines = json::array();
  for (const breakdown::table_line* each : times.lines()) {
    json line = account_json(each->account, times.names(), period);
    line["number"] = each->number;
    line["title"] = each->title;
    lines.push_back(std::move(line));
  }
  result["table"] = std::move(lines);
  result["stats"] = effort_json(facts);
  return result;
}

json scenario_summary(const scenario& what, const std::vector<json>& points) {
  json result;
  result["schema"] = SummarySchema;
  result["scenario"] = what.name;
  result["question"] = what.question;
  result["seed"] = what.points.front().seed;
  result["profile"] = what.profile;
  result["report_path"] = what.report_path;
  json stats = json::object();
  // The effort of all points goes under one key, at the end.
  const auto place = [](json& into, json point) {
    json effort = std::move(point["stats"]);
    point.erase("stats");
    for (auto& [key, value] : point.items()) {
      into[key] = std::move(value);
    }
    return effort;
  };
  if (what.single()) {
    stats = place(result, points.front());
  } else {
    const bool alike = std::all_of(points.begin(), points.end(), [&](const json& each) {
      return each["impl"] == points.front()["impl"];
    });
    result["impl"] = alike ? points.front()["impl"] : json("by point");
    std::uint64_t messages = 0;
    json parts = json::object();
    json efforts = json::object();
    for (std::size_t i = 0; i < points.size(); ++i) {
      const std::string& label = what.points[i].label;
      messages += points[i]["messages"].get<std::uint64_t>();
      parts[label] = json::object();
      efforts[label] = place(parts[label], points[i]);
    }
    result["messages"] = messages;
    result["points"] = std::move(parts);
    stats["points"] = std::move(efforts);
  }
  result["expect"] = {{"passed", 0}, {"failed", json::array()}};
  result["stats"] = std::move(stats);
  return result;
}

const json* find_value(const json& root, std::string_view path) {
  const json* at = &root;
  for (const std::string& part : split(path, '.')) {
    if (!at->is_object()) {
      return nullptr;
    }
    const auto found = at->find(part);
    if (found == at->end()) {
      return nullptr;
    }
    at = &*found;
  }
  return at;
}

bool check_expectations(const scenario& what, json& summary) {
  json met = json::array();
  json failed = json::array();
  for (const expectation& expect : what.expect) {
    const json* actual = find_value(summary, expect.path);
    if (actual != nullptr && holds(expect, *actual)) {
      met.push_back({{"path", expect.path},
                     {"where", expect.where},
                     {"expected", wanted(expect)},
                     {"actual", shown(*actual)}});
      continue;
    }
    const bool value = actual != nullptr && actual->is_primitive();
    failed.push_back({{"path", expect.path},
                      {"where", expect.where},
                      {"expected", wanted(expect)},
                      {"actual", value ? shown(*actual) : missing_key(summary, expect.path)}});
  }
  add_unexpected(what, summary, failed);
  const bool all = failed.empty();
  summary["expect"] = {
      {"passed", met.size()}, {"failed", std::move(failed)}, {"met", std::move(met)}};
  return all;
}

}  // namespace carillon
