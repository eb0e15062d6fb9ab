#include "cli/expect_settings.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <optional>
#include <string_view>

#include "cli/paths.h"
#include "cli/text.h"
#include "gen/counters.h"

namespace carillon {

namespace {

double limit(const setting& value) {
  const double number = value.number();
  if (std::isnan(number)) {
    value.fail("nothing equals nan");
  }
  return number;
}

void read_limits(const std::string& file, const setting& value, expectation& to) {
  std::optional<double> percent;
  each_key(file, value.table(), value.key(), [&](std::string_view key, const setting& each) {
    if (key == "min") {
      to.min = limit(each);
    } else if (key == "max") {
      to.max = limit(each);
    } else if (key == "value") {
      to.value = limit(each);
    } else if (key == "tolerance") {
      to.tolerance = limit(each);
    } else if (key == "percent") {
      percent = limit(each);
    } else {
      each.fail("unknown key" + suggestion(key, {"min", "max", "value", "tolerance", "percent"}));
    }
  });
  if (!to.value && !to.min && !to.max) {
    value.fail("needs value, min or max");
  }
  if ((percent || to.tolerance != 0) && !to.value) {
    value.fail("tolerance and percent need a value");
  }
  if (to.tolerance < 0 || percent.value_or(0) < 0) {
    value.fail("a tolerance below 0 can never be met");
  }
  if (to.min && to.max && *to.min > *to.max) {
    value.fail(fmt::format("min {} is above max {}", *to.min, *to.max));
  }
  if (percent) {
    to.tolerance = std::abs(*to.value) * *percent / 100;
  }
}

const std::vector<std::string>& summary_keys() {
  static const std::vector<std::string> Keys = {
      "schema",   "scenario",  "seed",       "profile", "impl",   "messages", "simulated_ns",
      "latency",  "stages",    "path",       "places",  "rates",  "checks",   "points",
      "counters", "workload",  "parameters", "stats",   "faults", "flows",    "network",
      "tenants",  "functions", "diagnosis",  "perftest"};
  return Keys;
}

std::vector<std::string> counter_names() {
  std::vector<std::string> names;
  for (const counter_desc& each : CounterTable) {
    names.emplace_back(each.name);
  }
  return names;
}

void require_known(const setting& value, const std::string& word,
                   const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), word) == known.end()) {
    value.fail(fmt::format("no summary has \"{}\"{}", word, suggestion(word, known)));
  }
}

/// Refuses a path that no summary can have. Which stages, places and points a run passes is only
/// known afterwards.
void check_path(const setting& value, const std::string& path) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find('.', at), path.size());
    words.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  require_known(value, words[0], summary_keys());
  const std::size_t first = words[0] == "points" && words.size() > 2 ? 2 : 0;
  if (first != 0) {
    require_known(value, words[first], summary_keys());
  }
  if (words[first] == "latency" && words.size() > first + 1) {
    require_known(value, words[first + 1], latency_path_names());
  }
  if (words[first] == "counters" && words.size() > first + 2) {
    require_known(value, words[first + 2], counter_names());
  }
}

}  // namespace

void read_expectations(const std::string& file, const setting& section,
                       std::vector<expectation>& to) {
  each_key(file, section.table(), section.key(), [&](std::string_view, const setting& value) {
    const toml::node& node = value.node();
    if (node.is_table() && !node.as_table()->is_inline()) {
      read_expectations(file, value, to);
      return;
    }
    expectation expect;
    expect.path = value.key().substr(std::string_view("expect.").size());
    expect.where = value.where();
    if (node.is_table()) {
      read_limits(file, value, expect);
    } else if (node.is_number()) {
      expect.value = limit(value);
    } else if (node.is_boolean()) {
      expect.flag = value.boolean();
    } else if (node.is_string()) {
      expect.text = value.string();
    } else {
      value.wrong_type("a number, a string, true, false or {min, max, value, tolerance, percent}");
    }
    check_path(value, expect.path);
    to.push_back(std::move(expect));
  });
}

}  // namespace carillon
