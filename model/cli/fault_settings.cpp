#include "cli/fault_settings.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <limits>

#include "cli/text.h"
#include "common/buffer.h"
#include "common/error.h"

namespace carillon {

namespace {

using origins = std::map<std::string, std::string, std::less<>>;

constexpr std::string_view Prefix = "fault.";
constexpr ps_t PsPerNs = 1000;
constexpr std::uint64_t MaxWindowNs = NeverPs / PsPerNs - 1;
constexpr std::uint64_t MaxHoldNs = 1'000'000'000;  // a second: beyond every timer of a QP
constexpr std::uint64_t Many = std::uint64_t{1} << 40;
constexpr std::uint32_t Max24Bits = 0xffffff;
constexpr std::uint32_t MaxBehind = 65536;
constexpr std::uint32_t MaxBit = (BufferBytes + 4) * 8 - 1;  // of the largest frame and its FCS

std::string rule_path(std::size_t number) {
  return fmt::format("{}{}", Prefix, number);
}

std::vector<std::string> action_words() {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < FaultActionCount; ++i) {
    words.emplace_back(to_string(static_cast<fault_action>(i)));
  }
  return words;
}

std::uint32_t small(const setting& value, std::uint64_t min, std::uint64_t max) {
  return static_cast<std::uint32_t>(value.integer(min, max));
}

/// The elements of a list, or the value itself.
std::vector<setting> each_of(const setting& value) {
  std::vector<setting> result;
  if (!value.node().is_array()) {
    result.push_back(value);
    return result;
  }
  for (const toml::node& each : value.array()) {
    result.emplace_back(value.where(), value.key(), each);
  }
  if (result.empty()) {
    value.fail("the list is empty");
  }
  return result;
}

void apply_opcode(fault_rule& rule, const setting& value) {
  opcode_set chosen;
  for (const setting& each : each_of(value)) {
    const std::string word = each.string();
    const auto named = opcodes_named(word);
    if (!named) {
      each.fail(fmt::format("there is no opcode `{}`{}", word, suggestion(word, opcode_words())));
    }
    chosen |= *named;
  }
  rule.opcodes = chosen;
}

void apply_nth(fault_rule& rule, const setting& value) {
  std::vector<std::uint64_t> chosen;
  for (const setting& each : each_of(value)) {
    chosen.push_back(each.integer(1, Many));
  }
  std::sort(chosen.begin(), chosen.end());
  const auto twice = std::adjacent_find(chosen.begin(), chosen.end());
  if (twice != chosen.end()) {
    value.fail(fmt::format("{} stands in the list twice", *twice));
  }
  rule.nth = std::move(chosen);
}

void apply_probability(fault_rule& rule, const setting& value) {
  const double chance = value.number();
  if (!(chance >= 0 && chance <= 1)) {
    value.fail(fmt::format("{} is out of range; allowed: 0 to 1", chance));
  }
  // Scaling by a power of two is exact; what is finer than one part is cut off.
  rule.chance = static_cast<std::uint64_t>(chance * static_cast<double>(fault_rule::Certain));
}

struct fault_key {
  const char* name;
  void (*apply)(fault_rule&, const setting&);
};

const std::array<fault_key, 15> FaultKeys = {{
    {"do",
     [](fault_rule& r, const setting& v) {
       r.action = static_cast<fault_action>(v.choice(action_words()));
     }},
    {"direction",
     [](fault_rule& r, const setting& v) {
       r.direction = static_cast<fault_direction>(v.choice(
           {to_string(fault_direction::host0_to_host1), to_string(fault_direction::host1_to_host0),
            to_string(fault_direction::both)}));
     }},
    {"opcode", apply_opcode},
    {"psn", [](fault_rule& r, const setting& v) { r.psn = small(v, 0, Max24Bits); }},
    {"qpn", [](fault_rule& r, const setting& v) { r.qpn = small(v, 0, Max24Bits); }},
    {"from_ns",
     [](fault_rule& r, const setting& v) { r.from = v.integer(0, MaxWindowNs) * PsPerNs; }},
    {"to_ns", [](fault_rule& r, const setting& v) { r.to = v.integer(0, MaxWindowNs) * PsPerNs; }},
    {"every", [](fault_rule& r, const setting& v) { r.every = v.integer(1, Many); }},
    {"probability", apply_probability},
    {"nth", apply_nth},
    {"count", [](fault_rule& r, const setting& v) { r.count = v.integer(1, Many); }},
    {"where",
     [](fault_rule& r, const setting& v) {
       r.target = static_cast<corrupt_target>(
           v.choice({to_string(corrupt_target::fcs), to_string(corrupt_target::icrc)}));
     }},
    {"bit", [](fault_rule& r, const setting& v) { r.bit = small(v, 0, MaxBit); }},
    {"by_ns", [](fault_rule& r, const setting& v) { r.by = v.integer(1, MaxHoldNs) * PsPerNs; }},
    {"behind", [](fault_rule& r, const setting& v) { r.behind = small(v, 1, MaxBehind); }},
}};

std::vector<std::string> key_names() {
  std::vector<std::string> names;
  for (const fault_key& each : FaultKeys) {
    names.emplace_back(each.name);
  }
  return names;
}

/// A parameter of an action, as opposed to what selects frames.
struct action_key {
  std::string_view name;
  std::vector<fault_action> of;
};

const std::vector<action_key>& action_keys() {
  static const std::vector<action_key> Keys = {
      {"where", {fault_action::corrupt}},
      {"bit", {fault_action::corrupt}},
      {"by_ns", {fault_action::duplicate, fault_action::delay, fault_action::reorder}},
      {"behind", {fault_action::reorder}},
  };
  return Keys;
}

void apply_key(fault_rule& rule, std::string_view key, const setting& value) {
  for (const fault_key& each : FaultKeys) {
    if (key == each.name) {
      each.apply(rule, value);
      return;
    }
  }
  value.fail("unknown key" + suggestion(key, key_names()));
}

std::string in_point(const run_point& point) {
  return point.label.empty() ? "" : fmt::format(" (point {})", point.label);
}

void check_rule(const run_point& point, std::size_t number, const origins& origin) {
  const fault_rule& rule = point.faults[number];
  const std::string action = to_string(rule.action);
  const auto where = [&](std::string_view key) {
    return origin.find(fmt::format("{}.{}", rule_path(number), key));
  };
  const auto fail = [&](const std::string& place, std::string_view key, std::string_view problem) {
    throw config_error(fmt::format("{}: {}{}{}{}: {}", place, rule_path(number),
                                   key.empty() ? "" : ".", key, in_point(point), problem));
  };
  for (const action_key& each : action_keys()) {
    const auto found = where(each.name);
    if (found == origin.end() ||
        std::find(each.of.begin(), each.of.end(), rule.action) != each.of.end()) {
      continue;
    }
    std::vector<std::string> users;
    for (const fault_action user : each.of) {
      users.emplace_back(to_string(user));
    }
    fail(found->second, each.name,
         fmt::format("is for {}, but this rule does {}", any_of(users), action));
  }
  const auto require = [&](std::string_view key, std::string_view example) {
    if (where(key) == origin.end()) {
      fail(origin.at(rule_path(number)), "",
           fmt::format("{} needs `{}`, for example {}", action, key, example));
    }
  };
  if (rule.action == fault_action::corrupt) {
    require("where", "where = \"icrc\"");
  } else if (rule.action == fault_action::delay) {
    require("by_ns", "by_ns = 1000");
  }
  if (rule.from >= rule.to) {
    const auto from = where("from_ns");
    fail((from != origin.end() ? from : where("to_ns"))->second, "from_ns",
         fmt::format("{} is not before to_ns {}", rule.from / PsPerNs, rule.to / PsPerNs));
  }
}

}  // namespace

void read_faults(const std::string& file, const setting& list, std::vector<fault_rule>& rules,
                 origins& origin) {
  if (list.node().is_table()) {
    list.fail("is one table, but rules are a list: [[fault]]");
  }
  rules.clear();
  std::erase_if(origin, [](const auto& each) { return each.first.rfind(Prefix, 0) == 0; });
  for (const toml::node& each : list.array()) {
    const std::string path = rule_path(rules.size());
    const setting table(position(file, each.source()), path, each);
    fault_rule rule;
    each_key(file, table.table(), path, [&](std::string_view key, const setting& value) {
      apply_key(rule, key, value);
      origin[value.key()] = value.where();
    });
    if (origin.find(path + ".do") == origin.end()) {
      table.fail(fmt::format("needs `do`; allowed: {}", any_of(action_words())));
    }
    origin[path] = table.where();
    rules.push_back(std::move(rule));
  }
}

void apply_fault(std::vector<fault_rule>& rules, std::string_view path, const setting& value,
                 origins& origin) {
  const std::string_view rest = path.substr(std::min(path.size(), Prefix.size()));
  const std::size_t dot = std::min(rest.find('.'), rest.size());
  std::size_t number = 0;
  const auto [stop, failed] = std::from_chars(rest.data(), rest.data() + dot, number);
  if (failed != std::errc() || stop != rest.data() + dot || dot == rest.size()) {
    value.fail("must be fault.<number>.<key>, for example fault.0.probability");
  }
  if (number >= rules.size()) {
    value.fail(rules.empty() ? "the scenario has no [[fault]]"
                             : fmt::format("there is no rule {}; allowed: 0 to {}", number,
                                           rules.size() - 1));
  }
  apply_key(rules[number], rest.substr(dot + 1), value);
  origin[std::string(path)] = value.where();
}

std::vector<std::string> fault_paths(std::size_t rules) {
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < rules; ++i) {
    for (const fault_key& each : FaultKeys) {
      paths.push_back(fmt::format("{}.{}", rule_path(i), each.name));
    }
  }
  return paths;
}

void check_faults(const run_point& point, const origins& origin) {
  for (std::size_t i = 0; i < point.faults.size(); ++i) {
    check_rule(point, i, origin);
  }
}

}  // namespace carillon
