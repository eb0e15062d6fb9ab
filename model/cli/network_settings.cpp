#include "cli/network_settings.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>
#include <optional>

#include "cli/text.h"
#include "common/error.h"
#include "fabric/switch/shared_buffer.h"
#include "fabric/topology.h"

namespace carillon {

namespace {

using origins = std::map<std::string, std::string, std::less<>>;

constexpr std::uint64_t MaxMetres = 200'000;  // a millisecond, as wire.delay_ps allows
constexpr std::uint64_t MaxTiers = 16;
constexpr std::uint64_t PsPerUs = 1'000'000;
constexpr std::uint64_t MaxUs = NeverPs / PsPerUs - 1;
constexpr std::uint64_t MaxDscp = 63;
constexpr std::string_view SwitchPrefix = "switch.";
constexpr std::string_view PriorityPrefix = "prio";

std::vector<std::string> shape_words() {
  return {to_string(network_shape::direct), to_string(network_shape::star),
          to_string(network_shape::leaf_spine), to_string(network_shape::ring)};
}

// One priority
// -----------------------------------------------------------------------------------------------

struct priority_flag {
  const char* name;
  bool switch_priority_settings::*member;
};

constexpr std::array<priority_flag, 3> PriorityFlags = {{
    {"lossless", &switch_priority_settings::lossless},
    {"strict", &switch_priority_settings::strict},
    {"ecn", &switch_priority_settings::ecn},
}};

/// A key whose value is a number of a priority; false if it is none.
bool apply_number(switch_priority_settings& of, std::string_view key, const setting& value) {
  for (const priority_integer& each : PriorityIntegers) {
    if (key == each.name) {
      of.*each.member = value.integer(each.low, each.high);
      return true;
    }
  }
  for (const priority_fraction& each : PriorityFractions) {
    if (key == each.name) {
      const double number = value.number();
      if (!(number >= each.low && number <= each.high)) {
        value.fail(
            fmt::format("{} is out of range; allowed: {} to {}", number, each.low, each.high));
      }
      of.*each.member = number;
      return true;
    }
  }
  return false;
}

std::vector<std::string> number_names() {
  std::vector<std::string> names;
  for (const priority_integer& each : PriorityIntegers) {
    names.emplace_back(each.name);
  }
  for (const priority_fraction& each : PriorityFractions) {
    names.emplace_back(each.name);
  }
  return names;
}

void apply_priority(switch_priority_settings& of, std::string_view key, const setting& value) {
  for (const priority_flag& each : PriorityFlags) {
    if (key == each.name) {
      of.*each.member = value.boolean();
      return;
    }
  }
  if (!apply_number(of, key, value)) {
    std::vector<std::string> known = number_names();
    for (const priority_flag& each : PriorityFlags) {
      known.emplace_back(each.name);
    }
    value.fail("unknown key" + suggestion(key, known));
  }
}

std::optional<unsigned> priority_named(std::string_view word) {
  if (word.size() == PriorityPrefix.size() + 1 && word.rfind(PriorityPrefix, 0) == 0 &&
      word.back() >= '0' && word.back() < '0' + static_cast<int>(PriorityCount)) {
    return static_cast<unsigned>(word.back() - '0');
  }
  return std::nullopt;
}

// [network.switch]
// -----------------------------------------------------------------------------------------------

/// The list names the priorities that have it.
void apply_flags(network_spec& network, bool switch_priority_settings::*member,
                 const setting& value) {
  for (switch_priority_settings& each : network.switches.priorities) {
    each.*member = false;
  }
  for (const toml::node& each : value.array()) {
    const setting one(value.where(), value.key(), each);
    network.switches.priorities.at(one.integer(0, PriorityCount - 1)).*member = true;
  }
}

/// A table of numbers: "26" = 3.
template <std::size_t N>
void apply_map(std::array<std::uint8_t, N>& map, const setting& value) {
  for (const auto& [key, node] : value.table()) {
    const setting one(value.where(), fmt::format("{}.{}", value.key(), key.str()), node);
    std::size_t index = N;
    const std::string_view word = key.str();
    const auto [stop, failed] = std::from_chars(word.data(), word.data() + word.size(), index);
    if (failed != std::errc() || stop != word.data() + word.size() || index >= N) {
      one.fail(fmt::format("`{}` is out of range; allowed: 0 to {}", word, N - 1));
    }
    map[index] = static_cast<std::uint8_t>(one.integer(0, PriorityCount - 1));
  }
}

struct switch_key {
  const char* name;
  void (*apply)(network_spec&, const setting&);
};

constexpr switch_key SwitchKeys[] = {
    {"forwarding",
     [](network_spec& n, const setting& v) {
       n.switches.forwarding =
           static_cast<switch_forwarding>(v.choice({"store_and_forward", "cut_through"}));
     }},
    {"watchdog",
     [](network_spec& n, const setting& v) {
       n.switches.watchdog = static_cast<watchdog_action>(v.choice({"off", "drop", "forward"}));
     }},
    {"learn", [](network_spec& n, const setting& v) { n.switches.learn = v.boolean(); }},
    {"flood", [](network_spec& n, const setting& v) { n.switches.flood = v.boolean(); }},
    {"trust",
     [](network_spec& n, const setting& v) {
       n.port.trust = static_cast<switch_trust>(v.choice({"dscp", "pcp", "port"}));
     }},
    {"default_priority",
     [](network_spec& n, const setting& v) {
       n.port.default_priority = v.integer(0, PriorityCount - 1);
     }},
    {"lossless", [](network_spec& n,
                    const setting& v) { apply_flags(n, &switch_priority_settings::lossless, v); }},
    {"strict", [](network_spec& n,
                  const setting& v) { apply_flags(n, &switch_priority_settings::strict, v); }},
    {"ecn",
     [](network_spec& n, const setting& v) { apply_flags(n, &switch_priority_settings::ecn, v); }},
    {"dscp_to_priority",
     [](network_spec& n, const setting& v) { apply_map(n.switches.dscp_to_priority, v); }},
    {"pcp_to_priority",
     [](network_spec& n, const setting& v) { apply_map(n.switches.pcp_to_priority, v); }},
};
static_assert(std::tuple_size_v<decltype(switch_settings::dscp_to_priority)> == MaxDscp + 1);

std::vector<std::string> switch_names() {
  std::vector<std::string> names;
  for (const switch_key& each : SwitchKeys) {
    names.emplace_back(each.name);
  }
  for (const switch_integer& each : SwitchIntegers) {
    names.emplace_back(each.name);
  }
  return names;
}

void apply_switch(network_spec& network, std::string_view key, const setting& value) {
  for (const switch_key& each : SwitchKeys) {
    if (key == each.name) {
      each.apply(network, value);
      return;
    }
  }
  for (const switch_integer& each : SwitchIntegers) {
    if (key == each.name) {
      // What TOML can write.
      constexpr auto Most = static_cast<std::uint64_t>(INT64_MAX);
      network.switches.*each.member = value.integer(each.low, std::min(each.high, Most));
      return;
    }
  }
  if (value.node().is_number() && std::ranges::count(number_names(), key) != 0) {
    for (switch_priority_settings& each : network.switches.priorities) {
      apply_number(each, key, value);
    }
    return;
  }
  std::vector<std::string> known = switch_names();
  const std::vector<std::string> numbers = number_names();
  known.insert(known.end(), numbers.begin(), numbers.end());
  for (unsigned i = 0; i < PriorityCount; ++i) {
    known.push_back(fmt::format("{}{}", PriorityPrefix, i));
  }
  value.fail("unknown key" + suggestion(key, known));
}

// [network]
// -----------------------------------------------------------------------------------------------

struct storm_key {
  const char* name;
  // cppcheck-suppress unusedStructMember ; the loop over the table calls it
  void (*apply)(storm_rule&, const setting&);
};

constexpr storm_key StormKeys[] = {
    {"host", [](storm_rule& s,
                const setting& v) { s.host = static_cast<unsigned>(v.integer(0, MaxHosts - 1)); }},
    {"priority",
     [](storm_rule& s, const setting& v) {
       s.priority = static_cast<std::uint8_t>(v.integer(0, PriorityCount - 1));
     }},
    {"from_us", [](storm_rule& s, const setting& v) { s.from = v.integer(0, MaxUs) * PsPerUs; }},
    {"to_us", [](storm_rule& s, const setting& v) { s.to = v.integer(1, MaxUs) * PsPerUs; }},
};

std::string storm_path(std::size_t number) {
  return fmt::format("network.storm.{}", number);
}

void read_storms(const std::string& file, const setting& list, network_spec& network,
                 origins& origin) {
  if (list.node().is_table()) {
    list.fail("is one table, but storms are a list: [[network.storm]]");
  }
  network.storms.clear();
  std::vector<std::string> known;
  for (const storm_key& each : StormKeys) {
    known.emplace_back(each.name);
  }
  for (const toml::node& each : list.array()) {
    const std::string path = storm_path(network.storms.size());
    const setting table(position(file, each.source()), path, each);
    storm_rule storm;
    each_key(file, table.table(), path, [&](std::string_view key, const setting& value) {
      const auto* found = std::find_if(std::begin(StormKeys), std::end(StormKeys),
                                       [&](const storm_key& one) { return key == one.name; });
      if (found == std::end(StormKeys)) {
        value.fail("unknown key" + suggestion(key, known));
      }
      found->apply(storm, value);
      origin[value.key()] = value.where();
    });
    for (const char* needed : {"host", "priority"}) {
      if (!origin.contains(fmt::format("{}.{}", path, needed))) {
        table.fail(fmt::format("needs `{}`", needed));
      }
    }
    origin[path] = table.where();
    network.storms.push_back(storm);
  }
}

struct network_key {
  const char* name;
  void (*apply)(run_point&, const setting&);
};

constexpr network_key NetworkKeys[] = {
    {"topology",
     [](run_point& p, const setting& v) {
       p.network.shape = static_cast<network_shape>(v.choice(shape_words()));
     }},
    {"hosts",
     [](run_point& p, const setting& v) {
       p.network.hosts = static_cast<unsigned>(v.integer(2, MaxHosts));
     }},
    {"leaves",
     [](run_point& p, const setting& v) {
       p.network.leaves = static_cast<unsigned>(v.integer(1, MaxTiers));
     }},
    {"spines",
     [](run_point& p, const setting& v) {
       p.network.spines = static_cast<unsigned>(v.integer(1, MaxTiers));
     }},
    {"cable_m",
     [](run_point& p, const setting& v) {
       p.params.wire.delay_ps = static_cast<std::int64_t>(cable_delay(v.integer(0, MaxMetres)));
     }},
    {"uplink_m",
     [](run_point& p, const setting& v) { p.network.uplink_metres = v.integer(1, MaxMetres); }},
    {"uplink_gbps",
     [](run_point& p, const setting& v) { p.network.uplink_gbps = v.integer(1, 800); }},
    {"end_us",
     [](run_point& p, const setting& v) { p.network.end = v.integer(1, MaxUs) * PsPerUs; }},
};

/// One key of the table but `switch` and `storm`.
void apply_key(run_point& point, std::string_view key, const setting& value, origins& origin) {
  for (const network_key& each : NetworkKeys) {
    if (key == each.name) {
      each.apply(point, value);
      origin[fmt::format("network.{}", key)] = value.where();
      if (key == "cable_m") {
        origin["wire.delay_ps"] = value.where();
      }
      return;
    }
  }
  std::vector<std::string> known = {"switch", "storm"};
  for (const network_key& each : NetworkKeys) {
    known.emplace_back(each.name);
  }
  value.fail("unknown key" + suggestion(key, known));
}

void apply_switches(const std::string& file, const setting& section, network_spec& network,
                    origins& origin) {
  each_key(file, section.table(), section.key(), [&](std::string_view key, const setting& value) {
    if (!priority_named(key)) {
      apply_switch(network, key, value);
      origin[value.key()] = value.where();
    }
  });
  // A priority's own keys go before those of all, wherever they stand.
  each_key(file, section.table(), section.key(), [&](std::string_view key, const setting& value) {
    if (const auto priority = priority_named(key)) {
      each_key(file, value.table(), value.key(), [&](std::string_view inner, const setting& each) {
        apply_priority(network.switches.priorities[*priority], inner, each);
        origin[each.key()] = each.where();
      });
    }
  });
}

}  // namespace

const char* to_string(network_shape shape) {
  constexpr std::array Names = {"direct", "star", "leaf_spine", "ring"};
  return Names[static_cast<std::size_t>(shape)];
}

void apply_network(const std::string& file, const setting& section, run_point& point,
                   origins& origin) {
  each_key(file, section.table(), section.key(), [&](std::string_view key, const setting& value) {
    if (key == "switch") {
      apply_switches(file, setting(value.where(), "network.switch", value.node()), point.network,
                     origin);
    } else if (key == "storm") {
      read_storms(file, value, point.network, origin);
    } else {
      apply_key(point, key, value, origin);
    }
  });
}

void apply_network_key(std::string_view path, const setting& value, run_point& point,
                       origins& origin) {
  if (path.rfind(SwitchPrefix, 0) != 0) {
    apply_key(point, path, value, origin);
    return;
  }
  const std::string_view rest = path.substr(SwitchPrefix.size());
  const std::size_t dot = rest.find('.');
  const auto priority =
      dot == std::string_view::npos ? std::nullopt : priority_named(rest.substr(0, dot));
  if (priority) {
    apply_priority(point.network.switches.priorities[*priority], rest.substr(dot + 1), value);
  } else {
    apply_switch(point.network, rest, value);
  }
  origin[fmt::format("network.{}", path)] = value.where();
}

std::vector<std::string> network_paths() {
  std::vector<std::string> paths;
  for (const network_key& each : NetworkKeys) {
    paths.push_back(fmt::format("network.{}", each.name));
  }
  std::vector<std::string> names = switch_names();
  const std::vector<std::string> numbers = number_names();
  names.insert(names.end(), numbers.begin(), numbers.end());
  for (const std::string& name : names) {
    paths.push_back("network.switch." + name);
  }
  for (unsigned i = 0; i < PriorityCount; ++i) {
    for (const std::string& name : numbers) {
      paths.push_back(fmt::format("network.switch.{}{}.{}", PriorityPrefix, i, name));
    }
  }
  return paths;
}

void check_network(const run_point& point, const origins& origin, const std::string& fallback) {
  const network_spec& network = point.network;
  const auto require = [&](bool holds, const std::string& key, const std::string& problem) {
    if (holds) {
      return;
    }
    const auto found = origin.find(key);
    throw config_error(fmt::format("{}: {}{}: {}", found != origin.end() ? found->second : fallback,
                                   key, point.label.empty() ? "" : " (point " + point.label + ")",
                                   problem));
  };
  const network_shape shape = network.shape;
  require(network.switched() || network.hosts == 2, "network.hosts",
          fmt::format("{} hosts need a switch: network.topology = \"star\"", network.hosts));
  require(shape != network_shape::leaf_spine || network.hosts % network.leaves == 0,
          "network.leaves",
          fmt::format("{} hosts cannot be shared among {} leaves", network.hosts, network.leaves));
  for (const char* key : {"leaves", "spines"}) {
    const std::string path = fmt::format("network.{}", key);
    require(shape == network_shape::leaf_spine || !origin.contains(path), path,
            fmt::format("is for \"leaf_spine\", but the topology is \"{}\"", to_string(shape)));
  }
  for (const char* key : {"uplink_m", "uplink_gbps"}) {
    const std::string path = fmt::format("network.{}", key);
    const bool uplinks = shape == network_shape::leaf_spine || shape == network_shape::ring;
    require(uplinks || !origin.contains(path), path,
            fmt::format("is for \"leaf_spine\" and \"ring\", but the topology is \"{}\"",
                        to_string(shape)));
  }
  if (!network.switched()) {
    const auto about = std::find_if(origin.begin(), origin.end(), [](const auto& each) {
      return each.first.rfind("network.switch.", 0) == 0;
    });
    require(about == origin.end(), about == origin.end() ? "" : about->first,
            "two hosts on one cable have no switch; network.topology = \"star\" has one");
  }
  for (std::size_t i = 0; i < network.storms.size(); ++i) {
    const storm_rule& storm = network.storms[i];
    require(storm.host < network.hosts, storm_path(i) + ".host",
            fmt::format("there is no host {}; allowed: 0 to {}", storm.host, network.hosts - 1));
    require(storm.from < storm.to, storm_path(i) + ".to_us", "is not after from_us");
  }
  if (network.switched()) {
    // What only the whole of the settings shows.
    try {
      for (const switch_settings& each : switches_of(point)) {
        each.check("network.switch");
        const shared_buffer fits(each, "network.switch");
      }
    } catch (const config_error& wrong) {
      const auto found = origin.find("network.switch.buffer_bytes");
      throw config_error(fmt::format("{}: {}{}", found != origin.end() ? found->second : fallback,
                                     wrong.what(),
                                     point.label.empty() ? "" : " (point " + point.label + ")"));
    }
  }
}

namespace {

switch_port_settings cable_of(const run_point& point, bool uplink) {
  switch_port_settings port = point.network.port;
  port.rate_gbps = static_cast<std::uint64_t>(point.params.wire.rate_gbps);
  port.cable_delay_ps = static_cast<std::uint64_t>(point.params.wire.delay_ps);
  if (uplink && point.network.uplink_gbps != 0) {
    port.rate_gbps = point.network.uplink_gbps;
  }
  if (uplink && point.network.uplink_metres != 0) {
    port.cable_delay_ps = cable_delay(point.network.uplink_metres);
  }
  return port;
}

leaf_spine tiers_of(const run_point& point) {
  leaf_spine tiers;
  tiers.leaves = point.network.leaves;
  tiers.spines = point.network.spines;
  tiers.hosts_per_leaf = point.network.hosts / point.network.leaves;
  tiers.host_port = cable_of(point, false);
  tiers.uplink_port = cable_of(point, true);
  return tiers;
}

}  // namespace

std::vector<switch_settings> switches_of(const run_point& point) {
  const network_spec& network = point.network;
  switch_settings each = network.switches;
  const switch_port_settings host = cable_of(point, false);
  const switch_port_settings uplink = cable_of(point, true);
  switch (network.shape) {
    case network_shape::direct:
      return {};
    case network_shape::star:
      each.ports.assign(network.hosts, host);
      return {each};
    case network_shape::ring:
      each.ports = {host, uplink, uplink};
      return {each};
    case network_shape::leaf_spine:
      break;
  }
  each.ports.assign(network.hosts / network.leaves, host);
  each.ports.insert(each.ports.end(), network.spines, uplink);
  switch_settings spine = network.switches;
  spine.ports.assign(network.leaves, uplink);
  return {each, spine};
}

std::optional<topology> make_topology(sim_context& context, const run_point& point) {
  const network_spec& network = point.network;
  switch (network.shape) {
    case network_shape::direct:
      break;
    case network_shape::star:
      return topology::star(context, "switch", switches_of(point).front());
    case network_shape::leaf_spine:
      return topology::two_tiers(context, "net", tiers_of(point), network.switches);
    case network_shape::ring:
      return topology::ring(context, "ring", network.hosts, switches_of(point).front());
  }
  return std::nullopt;
}

}  // namespace carillon
