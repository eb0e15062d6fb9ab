#include "cli/device_settings.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <optional>

#include "cli/scenario.h"
#include "cli/text.h"
#include "common/error.h"
#include "host/vf_partition.h"

namespace carillon {

namespace {

constexpr std::uint16_t MaxVfs = 256;
constexpr std::uint64_t MaxVlan = 4094;
constexpr std::uint64_t MaxRateMbps = 800'000;
constexpr std::uint64_t MaxLines = std::uint64_t{1} << 22;
constexpr std::uint64_t LinkTypeIb = 1;
constexpr std::uint64_t LinkTypeEthernet = 2;

/// The hosts that a key is for; all of them unless a table names one.
using targets = std::vector<device_settings*>;

// [device]
// -----------------------------------------------------------------------------------------------

struct device_key {
  const char* name;
  void (*apply)(device_settings&, const setting&);
};

void apply_sriov(device_settings& d, const setting& v) {
  // The tool knows 0 and 1 as well as False and True.
  d.sriov = v.node().is_integer() ? v.integer(0, 1) == 1 : v.boolean();
}

void apply_link_type(device_settings& /*d*/, const setting& v) {
  if (v.integer(LinkTypeIb, LinkTypeEthernet) == LinkTypeIb) {
    v.fail("1 is InfiniBand, which this device does not have; allowed: 2 (Ethernet)");
  }
}

void apply_next_protocol(device_settings& /*d*/, const setting& v) {
  // RoCE version 1.5 put the transport directly into IP under this number. Nothing here sends it.
  if (v.integer(0, 255) != DefaultNextProtocol) {
    v.fail(fmt::format(
        "is the IP protocol of RoCE version 1.5, which this device does not send; RoCE version 2 "
        "is UDP, whatever it says; allowed: {}",
        DefaultNextProtocol));
  }
}

constexpr device_key DeviceKeys[] = {
    {"SRIOV_EN", apply_sriov},
    {"NUM_OF_VFS",
     [](device_settings& d, const setting& v) {
       d.vfs = static_cast<std::uint16_t>(v.integer(0, MaxVfs));
     }},
    {"LINK_TYPE_P1", apply_link_type},
    {"ROCE_NEXT_PROTOCOL", apply_next_protocol},
    {"pool",
     [](device_settings& d, const setting& v) {
       d.shared = v.choice({"exclusive", "shared"}) == 1;
     }},
    {"arbitration",
     [](device_settings& d, const setting& v) {
       d.arbitration =
           static_cast<function_arbitration>(v.choice({"round_robin", "weighted", "strict"}));
     }},
};

std::vector<std::string> device_names() {
  std::vector<std::string> names;
  for (const device_key& each : DeviceKeys) {
    names.emplace_back(each.name);
  }
  return names;
}

std::optional<std::size_t> host_named(std::string_view word, std::size_t hosts) {
  for (std::size_t i = 0; i < hosts; ++i) {
    if (word == fmt::format("host{}", i)) {
      return i;
    }
  }
  return std::nullopt;
}

void apply_one(std::string_view key, const setting& value, const targets& to) {
  for (const device_key& each : DeviceKeys) {
    if (key == each.name) {
      for (device_settings* host : to) {
        each.apply(*host, value);
      }
      return;
    }
  }
  std::vector<std::string> known = device_names();
  known.insert(known.end(), {"host0", "host1"});
  value.fail("unknown key" + suggestion(key, known));
}

targets all_of(std::vector<device_settings>& hosts) {
  targets to;
  for (device_settings& each : hosts) {
    to.push_back(&each);
  }
  return to;
}

// [[vf]]
// -----------------------------------------------------------------------------------------------

struct vf_key {
  const char* name;
  // cppcheck-suppress unusedStructMember ; the loop over the table calls it
  void (*apply)(vf_settings&, const setting&);
};

/// Six bytes in hexadecimal with colons between them.
std::uint64_t mac_of(const setting& value) {
  constexpr std::size_t Bytes = 6;
  constexpr int Hex = 16;
  const std::string text = value.string();
  std::uint64_t address = 0;
  const std::vector<std::string> parts = split(text, ':');
  bool right = parts.size() == Bytes;
  for (const std::string& part : parts) {
    std::uint32_t byte = 0;
    const char* end = part.data() + part.size();
    const auto [stop, failed] = std::from_chars(part.data(), end, byte, Hex);
    right = right && part.size() == 2 && failed == std::errc() && stop == end;
    address = address << 8 | (byte & 0xff);
  }
  if (!right) {
    value.fail(fmt::format("\"{}\" is no MAC address; for example \"02:00:00:00:00:05\"", text));
  }
  if ((address >> 40 & 1) != 0 || address == 0) {
    value.fail(fmt::format("\"{}\" is no address of one port: a group address or zero", text));
  }
  return address;
}

template <context_table Table>
void apply_lines(vf_settings& vf, const setting& v) {
  vf.lines[Table] = static_cast<std::uint32_t>(v.integer(0, MaxLines));
}

constexpr vf_key VfKeys[] = {
    {"mac", [](vf_settings& f, const setting& v) { f.mac = mac_of(v); }},
    {"vlan", [](vf_settings& f,
                const setting& v) { f.vlan = static_cast<std::uint16_t>(v.integer(1, MaxVlan)); }},
    {"qos",
     [](vf_settings& f, const setting& v) { f.qos = static_cast<std::uint8_t>(v.integer(0, 7)); }},
    {"spoofchk", [](vf_settings& f, const setting& v) { f.spoof_check = v.boolean(); }},
    {"trust", [](vf_settings& f, const setting& v) { f.trust = v.boolean(); }},
    {"max_tx_rate",
     [](vf_settings& f, const setting& v) {
       f.max_tx_rate = static_cast<std::uint32_t>(v.integer(0, MaxRateMbps));
     }},
    {"link_state",
     [](vf_settings& f, const setting& v) {
       constexpr std::array States = {vport_link_state::Auto, vport_link_state::Up,
                                      vport_link_state::Down};
       f.link_state = States.at(v.choice({"auto", "enable", "disable"}));
     }},
    {"weight",
     [](vf_settings& f, const setting& v) {
       f.weight = static_cast<std::uint16_t>(v.integer(1, 65535));
     }},
    {"urgency", [](vf_settings& f,
                   const setting& v) { f.urgency = static_cast<std::uint8_t>(v.integer(0, 255)); }},
    {"qps", apply_lines<context_table::qps>},
    {"cqs", apply_lines<context_table::cqs>},
    {"eqs", apply_lines<context_table::eqs>},
    {"srqs", apply_lines<context_table::srqs>},
    {"mkeys", apply_lines<context_table::mkeys>},
    {"mtt_lines", apply_lines<context_table::mtt_lines>},
};

struct index_range {
  std::uint16_t first = 0;
  std::uint16_t last = 0;
};

/// A number, or "first-last".
index_range range_of(const setting& value) {
  if (value.node().is_integer()) {
    const auto index = static_cast<std::uint16_t>(value.integer(0, MaxVfs - 1));
    return {index, index};
  }
  if (!value.node().is_string()) {
    value.wrong_type("a VF's index or a range of them, for example 3 or \"0-127\"");
  }
  const std::string text = value.string();
  index_range range;
  const char* end = text.data() + text.size();
  const auto [dash, failed] = std::from_chars(text.data(), end, range.first);
  bool right = failed == std::errc() && dash != end && *dash == '-';
  if (right) {
    const auto [stop, bad] = std::from_chars(dash + 1, end, range.last);
    right = bad == std::errc() && stop == end;
  }
  if (!right || range.first > range.last || range.last >= MaxVfs) {
    value.fail(fmt::format("\"{}\" is no range of VFs; allowed: \"first-last\" from 0 to {}", text,
                           MaxVfs - 1));
  }
  return range;
}

void apply_vf_key(std::string_view key, const setting& value, const index_range& which,
                  const targets& to) {
  const auto* found = std::find_if(std::begin(VfKeys), std::end(VfKeys),
                                   [&](const vf_key& each) { return key == each.name; });
  if (found == std::end(VfKeys)) {
    std::vector<std::string> known = {"index", "host"};
    for (const vf_key& each : VfKeys) {
      known.emplace_back(each.name);
    }
    value.fail("unknown key" + suggestion(key, known));
  }
  if (key == "mac" && which.first != which.last) {
    value.fail("is one VF's; this table is about several");
  }
  for (device_settings* host : to) {
    for (std::uint16_t vf = which.first; vf <= which.last; ++vf) {
      found->apply(host->vf[vf], value);
    }
  }
}

void apply_vf_table(const std::string& file, const setting& table, const std::string& path,
                    std::vector<device_settings>& hosts, setting_origins& origin) {
  const toml::node* index = table.table().get("index");
  if (index == nullptr) {
    table.fail("needs `index`: a VF or a range of them, for example 3 or \"0-127\"");
  }
  const index_range which =
      range_of(setting(position(file, index->source()), path + ".index", *index));
  targets to = all_of(hosts);
  if (const toml::node* host = table.table().get("host")) {
    const setting named(position(file, host->source()), path + ".host", *host);
    to = {&hosts[named.integer(0, hosts.size() - 1)]};
  }
  for (device_settings* host : to) {
    if (host->vf.size() <= which.last) {
      host->vf.resize(which.last + std::size_t{1});
    }
  }
  each_key(file, table.table(), path, [&](std::string_view key, const setting& value) {
    if (key != "index" && key != "host") {
      apply_vf_key(key, value, which, to);
    }
    origin[value.key()] = value.where();
  });
  origin[path] = table.where();
}

}  // namespace

void apply_device(const std::string& file, const setting& section,
                  std::vector<device_settings>& hosts, setting_origins& origin) {
  each_key(file, section.table(), section.key(), [&](std::string_view key, const setting& value) {
    const auto host = host_named(key, hosts.size());
    if (!host) {
      apply_one(key, value, all_of(hosts));
      origin[value.key()] = value.where();
    }
  });
  // One host's own keys go before those of both, wherever they stand.
  each_key(file, section.table(), section.key(), [&](std::string_view key, const setting& value) {
    const auto host = host_named(key, hosts.size());
    if (host) {
      each_key(file, value.table(), value.key(), [&](std::string_view inner, const setting& each) {
        apply_one(inner, each, {&hosts[*host]});
        origin[each.key()] = each.where();
      });
    }
  });
}

void apply_device_key(std::string_view path, const setting& value,
                      std::vector<device_settings>& hosts, setting_origins& origin) {
  const std::size_t dot = path.find('.');
  const auto host =
      dot == std::string_view::npos ? std::nullopt : host_named(path.substr(0, dot), hosts.size());
  if (host) {
    apply_one(path.substr(dot + 1), value, {&hosts[*host]});
  } else {
    apply_one(path, value, all_of(hosts));
  }
  origin[fmt::format("device.{}", path)] = value.where();
}

void apply_vfs(const std::string& file, const setting& list, std::vector<device_settings>& hosts,
               setting_origins& origin) {
  if (list.node().is_table()) {
    list.fail("is one table, but VFs are a list: [[vf]]");
  }
  std::size_t number = 0;
  for (const toml::node& each : list.array()) {
    const std::string path = fmt::format("vf.{}", number++);
    apply_vf_table(file, setting(position(file, each.source()), path, each), path, hosts, origin);
  }
}

std::vector<std::string> device_paths() {
  std::vector<std::string> paths;
  for (const std::string& name : device_names()) {
    paths.push_back("device." + name);
    paths.push_back("device.host0." + name);
    paths.push_back("device.host1." + name);
  }
  return paths;
}

void check_devices(const run_point& point, const setting_origins& origin,
                   const std::string& fallback) {
  const auto fail = [&](const std::string& key, const std::string& problem) {
    const auto found = origin.find(key);
    throw config_error(fmt::format("{}: {}{}: {}", found != origin.end() ? found->second : fallback,
                                   key, point.label.empty() ? "" : " (point " + point.label + ")",
                                   problem));
  };
  const auto total = static_cast<std::uint64_t>(point.params.nic.total_vfs);
  for (std::size_t host = 0; host < point.devices.size(); ++host) {
    const device_settings& device = point.devices[host];
    const std::string own = fmt::format("device.host{}.NUM_OF_VFS", host);
    const std::string key = origin.contains(own) ? own : "device.NUM_OF_VFS";
    if (device.vfs > total) {
      fail(key, fmt::format("{} VFs; nic.total_vfs allows {}", device.vfs, total));
    }
    if (device.sriov && device.vfs == 0) {
      fail(origin.contains(key) ? key : "device.SRIOV_EN",
           "SR-IOV without VFs; NUM_OF_VFS says how many");
    }
    if (device.vf.size() > device.enabled_vfs()) {
      fail(key,
           fmt::format("[[vf]] names VF {} of host{}, which has {} VFs{}", device.vf.size() - 1,
                       host, device.enabled_vfs(), device.sriov ? "" : ": SRIOV_EN is not true"));
    }
  }
}

}  // namespace carillon
