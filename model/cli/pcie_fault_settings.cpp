#include "cli/pcie_fault_settings.h"

#include <cmath>
#include <fmt/format.h>
#include <tuple>
#include <utility>

#include "cli/text.h"

namespace carillon {

namespace {

constexpr std::uint64_t Most = (std::uint64_t{1} << 63) - 1;
constexpr std::uint64_t MaxReadBytes = 4096;
constexpr std::uint64_t MaxDelayNs = 100'000'000'000;  // longer than the longest time-out
constexpr std::uint64_t PsPerNs = 1000;

/// In the order of read_fault.
const std::vector<std::string>& faults() {
  static const std::vector<std::string> Words = {
      "unsupported_request", "completer_abort",       "poison",
      "no_completion",       "unexpected_completion", "late"};
  return Words;
}

/// In the order of read_kind.
const std::vector<std::string>& kinds() {
  static const std::vector<std::string> Words = {"any",         "wqe",    "payload",   "record",
                                                 "receive_wqe", "atomic", "cq_record", "context"};
  return Words;
}

const std::vector<std::string>& keys() {
  static const std::vector<std::string> Words = {"do",   "kind",    "address", "length",
                                                 "nth",  "every",   "count",   "probability",
                                                 "host", "delay_ns"};
  return Words;
}

/// A value, or the two ends of a range.
std::pair<std::uint64_t, std::uint64_t> range(const setting& value, std::uint64_t max) {
  if (!value.node().is_array()) {
    const std::uint64_t only = value.integer(0, max);
    return {only, only};
  }
  const toml::array& ends = value.array();
  if (ends.size() != 2) {
    value.fail("a range has two ends: [first, last]");
  }
  const auto bound = [&](std::size_t i) {
    return setting(value.where(), value.key(), ends[i]).integer(0, max);
  };
  if (bound(0) > bound(1)) {
    value.fail(fmt::format("{} is above {}", bound(0), bound(1)));
  }
  return {bound(0), bound(1)};
}

double probability(const setting& value) {
  const double number = value.number();
  if (std::isnan(number) || number <= 0 || number > 1) {
    value.fail(fmt::format("{} is out of range; allowed: above 0, up to 1", number));
  }
  return number;
}

void apply(read_fault_rule& rule, std::string_view key, const setting& value, unsigned hosts) {
  if (key == "do") {
    rule.fault = static_cast<read_fault>(value.choice(faults()));
  } else if (key == "kind") {
    rule.kind = static_cast<read_kind>(value.choice(kinds()));
  } else if (key == "address") {
    std::tie(rule.first, rule.last) = range(value, Most);
  } else if (key == "length") {
    const auto [least, largest] = range(value, MaxReadBytes);
    rule.min_bytes = static_cast<std::uint32_t>(least);
    rule.max_bytes = static_cast<std::uint32_t>(largest);
  } else if (key == "nth") {
    rule.nth = value.integer(1, Most);
  } else if (key == "every") {
    rule.every = value.integer(1, Most);
  } else if (key == "count") {
    rule.count = value.integer(1, Most);
  } else if (key == "probability") {
    rule.probability = probability(value);
  } else if (key == "host") {
    rule.host = static_cast<std::uint32_t>(value.integer(0, hosts - 1));
  } else if (key == "delay_ns") {
    rule.delay = value.integer(1, MaxDelayNs) * PsPerNs;
  } else {
    value.fail("unknown key" + suggestion(key, keys()));
  }
}

read_fault_rule read_rule(const std::string& file, const setting& entry, unsigned hosts) {
  read_fault_rule rule;
  const toml::table& table = entry.table();
  if (!table.contains("do")) {
    entry.fail(fmt::format("needs do: {}", any_of(faults())));
  }
  each_key(file, table, entry.key(),
           [&](std::string_view key, const setting& value) { apply(rule, key, value, hosts); });
  if ((rule.fault == read_fault::late) != (rule.delay != 0)) {
    entry.fail(rule.delay == 0 ? "late needs delay_ns" : "only late has delay_ns");
  }
  return rule;
}

}  // namespace

void read_pcie_faults(const std::string& file, const setting& value, unsigned hosts,
                      std::vector<read_fault_rule>& rules) {
  for (const toml::node& each : value.array()) {
    const setting entry(position(file, each.source()), value.key(), each);
    rules.push_back(read_rule(file, entry, hosts));
  }
}

}  // namespace carillon
