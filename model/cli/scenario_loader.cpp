#include "cli/scenario_loader.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <sstream>
#include <toml++/toml.h>
#include <utility>

#include "cli/device_settings.h"
#include "cli/expect_settings.h"
#include "cli/fault_settings.h"
#include "cli/network_settings.h"
#include "cli/paths.h"
#include "cli/pcie_fault_settings.h"
#include "cli/point_settings.h"
#include "cli/profiles.h"
#include "cli/setting.h"
#include "cli/sweep_settings.h"
#include "cli/tenant_settings.h"
#include "cli/text.h"
#include "cli/workload_settings.h"
#include "common/error.h"

namespace carillon {

namespace {

constexpr unsigned Hosts = 2;
constexpr std::uint64_t MaxSeed = (std::uint64_t{1} << 63) - 1;

toml::table parse_toml(std::string_view text, const std::string& file) {
  try {
    return toml::parse(text, file);
  } catch (const toml::parse_error& bad) {
    throw config_error(
        fmt::format("{}: not TOML: {}", position(file, bad.source()), bad.description()));
  }
}

std::string read_text(const std::string& file, std::string_view kind) {
  std::error_code failed;
  if (std::filesystem::is_directory(file, failed)) {
    throw config_error(fmt::format("{}: is a folder, not a {}", file, kind));
  }
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) {
    throw config_error(fmt::format("{}: cannot read this {}", file, kind));
  }
  return text.str();
}

bool plain_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

/// Everything that is filled while reading. Keys are applied in the order profile, scenario, point,
/// command line; later ones win.
class loader {
 public:
  loader(const toml::table& root, std::string file, const scenario_overrides& overrides)
      : root_(root), file_(std::move(file)), overrides_(overrides) {}

  scenario load();

 private:
  [[nodiscard]] setting at(std::string key, const toml::node& node) const {
    return {position(file_, node.source()), std::move(key), node};
  }

  template <class Function>
  void each_key(const toml::table& table, const std::string& prefix, Function&& apply) const {
    carillon::each_key(file_, table, prefix, std::forward<Function>(apply));
  }

  void read_top(std::string_view key, const setting& value);
  void read_scenario(std::string_view key, const setting& value);
  void read_report(std::string_view key, const setting& value);
  void read_trace(std::string_view key, const setting& value);
  void read_profile(const setting& value);
  void check_provenance(const std::map<std::string, std::string, std::less<>>& sources) const;

  void read_workload(const setting& table);
  void read_sizes(const setting& value);
  void read_points(const toml::array& list);
  void read_point(const setting& table);
  void expand_sizes();
  void apply_overrides();
  void apply_set(const std::string& text);
  void apply_set(const setting& value);
  void read_sweep_section(const setting& section);
  void apply_impl_option(const std::string& text);

  const toml::table& root_;
  std::string file_;
  const scenario_overrides& overrides_;
  scenario result_;
  run_point base_;
  setting_origins base_origin_;
  std::vector<setting_origins> point_origins_;
  std::vector<std::uint32_t> sizes_;
};

void loader::read_scenario(std::string_view key, const setting& value) {
  if (key == "name") {
    result_.name = value.string();
    if (result_.name.empty() || result_.name.front() == '.' ||
        result_.name.find('/') != std::string::npos) {
      value.fail("names the output folder: not empty, no . in front and no /");
    }
  } else if (key == "question") {
    result_.question = value.string();
  } else if (key == "seed") {
    base_.seed = value.integer(0, MaxSeed);
  } else if (key != "profile") {
    value.fail("unknown key" + suggestion(key, {"name", "question", "seed", "profile"}));
  }
}

void loader::read_report(std::string_view key, const setting& value) {
  if (key != "path") {
    value.fail("unknown key" + suggestion(key, {"path"}));
  }
  result_.report_path = LatencyPaths[value.choice(latency_path_names())].name;
}

void loader::read_trace(std::string_view key, const setting& value) {
  constexpr std::uint64_t PsPerNs = 1000;
  constexpr std::uint64_t MaxNs = NeverPs / PsPerNs - 1;
  if (key == "sinks") {
    for (const toml::node& each : value.array()) {
      const setting sink(value.where(), value.key(), each);
      add_sink(result_.trace, sink.string(), fmt::format("{}: {}", value.where(), value.key()));
    }
  } else if (key == "from_ns") {
    result_.trace.from = value.integer(0, MaxNs) * PsPerNs;
  } else if (key == "to_ns") {
    result_.trace.to = value.integer(0, MaxNs) * PsPerNs;
  } else if (key == "limit") {
    result_.trace.limit = value.integer(0, MaxSeed);
  } else if (key == "series_ns") {
    result_.trace.series = value.integer(0, MaxNs) * PsPerNs;
  } else {
    value.fail("unknown key" +
               suggestion(key, {"sinks", "from_ns", "to_ns", "limit", "series_ns"}));
  }
}

void loader::read_profile(const setting& value) {
  result_.profile = value.string();
  const std::string profile_file = find_profile(result_.profile, file_);
  if (profile_file.empty()) {
    if (result_.profile == "reference") {
      return;  // the defaults of the parameters
    }
    value.fail(fmt::format("there is no profile `{}`; allowed: {}", result_.profile,
                           any_of(known_profiles(file_))));
  }
  const toml::table profile = parse_toml(read_text(profile_file, "profile"), profile_file);
  const std::string scenario_file = std::exchange(file_, profile_file);
  std::map<std::string, std::string, std::less<>> sources;  // parameter -> where its source stands
  each_key(profile, "", [&](std::string_view key, const setting& each) {
    if (key == "parameters") {
      apply_point_section(file_, key, each, base_, base_origin_);
    } else if (key == "provenance") {
      each_key(each.table(), each.key(), [&](std::string_view name, const setting& source) {
        if (source.string().empty()) {
          source.fail("says nothing; where is the value from?");
        }
        sources[std::string(name)] = source.where();
      });
    } else if (key != "description") {
      each.fail("unknown key" + suggestion(key, {"parameters", "provenance", "description"}));
    }
  });
  check_provenance(sources);
  for (auto& [name, where] : base_origin_) {
    where = "profile " + result_.profile;
  }
  file_ = scenario_file;
}

/// Each parameter that a profile sets says where its value is from, and nothing else does.
void loader::check_provenance(
    const std::map<std::string, std::string, std::less<>>& sources) const {
  for (const auto& [name, where] : base_origin_) {
    if (sources.find(name) == sources.end()) {
      throw config_error(fmt::format("{}: {}: has no line in [provenance]", where, name));
    }
  }
  for (const auto& [name, where] : sources) {
    if (base_origin_.find(name) == base_origin_.end()) {
      throw config_error(
          fmt::format("{}: provenance.{}: the profile does not set this parameter", where, name));
    }
  }
}

void loader::read_workload(const setting& table) {
  each_key(table.table(), table.key(), [&](std::string_view key, const setting& value) {
    if (key == "sizes") {
      read_sizes(value);
    } else {
      apply_workload_key(key, value, base_, base_origin_);
    }
  });
}

void loader::read_sizes(const setting& value) {
  for (const toml::node& each : value.array()) {
    workload_spec probe;
    apply_workload(probe, "size", setting(value.where(), value.key(), each));
    if (std::find(sizes_.begin(), sizes_.end(), probe.size) != sizes_.end()) {
      value.fail(fmt::format("{} stands in the list twice", probe.size));
    }
    sizes_.push_back(probe.size);
  }
  if (sizes_.empty()) {
    value.fail("the list is empty");
  }
  base_origin_["workload.sizes"] = value.where();
}

void loader::read_point(const setting& table) {
  const toml::table& keys = table.table();
  const toml::node* label = keys.get("label");
  if (label == nullptr) {
    table.fail("needs a label");
  }
  const setting label_setting = at("points.label", *label);
  run_point point = base_;
  point.label = label_setting.string();
  if (!plain_name(point.label)) {
    label_setting.fail("letters, digits and _ only: it is a name in the summary and a folder");
  }
  for (const run_point& other : result_.points) {
    if (other.label == point.label) {
      label_setting.fail(fmt::format("`{}` is the label of another point", point.label));
    }
  }
  setting_origins origin = base_origin_;
  each_key(keys, fmt::format("points.{}", point.label),
           [&](std::string_view key, const setting& value) {
             if (key != "label" && !apply_point_section(file_, key, value, point, origin)) {
               std::vector<std::string> known = point_sections();
               known.emplace_back("label");
               value.fail("unknown key" + suggestion(key, known));
             }
           });
  result_.points.push_back(std::move(point));
  point_origins_.push_back(std::move(origin));
}

void loader::read_points(const toml::array& list) {
  for (const toml::node& each : list) {
    read_point(at("points", each));
  }
}

void loader::expand_sizes() {
  if (sizes_.empty()) {
    return;
  }
  std::vector<run_point> points;
  std::vector<setting_origins> origin;
  for (std::size_t i = 0; i < result_.points.size(); ++i) {
    for (const std::uint32_t size : sizes_) {
      run_point point = result_.points[i];
      point.workload.size = size;
      point.label = fmt::format("{}{}size_{}", point.label, point.label.empty() ? "" : "_", size);
      points.push_back(std::move(point));
      origin.push_back(point_origins_[i]);
      origin.back()["workload.size"] = origin.back()["workload.sizes"];
    }
  }
  result_.points = std::move(points);
  point_origins_ = std::move(origin);
}

void loader::apply_set(const setting& value) {
  const std::string& key = value.key();
  if (key == "scenario.seed") {
    for (run_point& point : result_.points) {
      point.seed = value.integer(0, MaxSeed);
    }
  } else if (key == "report.path") {
    read_report("path", value);
  } else if (key == "trace.series_ns") {
    read_trace("series_ns", value);
  } else {
    for (std::size_t i = 0; i < result_.points.size(); ++i) {
      apply_point_key(value, result_.points[i], point_origins_[i]);
    }
  }
}

void loader::apply_set(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw config_error(
        fmt::format("--set {}: must be key=value, for example --set pcie.generation=4", text));
  }
  const std::string key = text.substr(0, equals);
  const std::string value = text.substr(equals + 1);
  toml::table parsed;
  try {
    parsed = toml::parse("value = " + value);
  } catch (const toml::parse_error&) {
    parsed = toml::table{{"value", value}};  // a word without quotes
  }
  const toml::node* node = parsed.get("value");
  if (node == nullptr || parsed.size() != 1) {
    throw config_error(fmt::format("--set {}: {}: not one value", text, key));
  }
  apply_set(setting("--set " + text, key, *node));
}

void loader::read_sweep_section(const setting& section) {
  std::vector<std::string> fixed;
  for (const std::string& each : overrides_.set) {
    fixed.push_back(each.substr(0, each.find('=')));
  }
  const scenario kept = result_;
  const std::vector<setting_origins> kept_origins = point_origins_;
  result_.sweep = read_sweep(file_, section, fixed, [&](const setting& value) {
    apply_set(value);
    result_ = kept;
    point_origins_ = kept_origins;
  });
}

void loader::apply_impl_option(const std::string& text) {
  if (text.empty()) {
    throw config_error("--impl: is empty; for example --impl wqe_parser=rtl");
  }
  for (const std::string& part : split(text, ',')) {
    const auto equals = part.find('=');
    const toml::value<std::string> node(equals == std::string::npos ? std::string()
                                                                    : part.substr(equals + 1));
    const std::string stage = part.substr(0, equals);
    const setting value("--impl " + text, stage, node);
    if (equals == std::string::npos || equals == 0) {
      value.fail("must be stage=model, stage=rtl or stage=lockstep, or all=...");
    }
    for (run_point& point : result_.points) {
      apply_impl(stage, node.get(), value, point);
    }
  }
}

void loader::apply_overrides() {
  for (const std::string& each : overrides_.set) {
    apply_set(each);
  }
  for (const std::string& each : overrides_.impl) {
    apply_impl_option(each);
  }
  for (run_point& point : result_.points) {
    point.seed = overrides_.seed.value_or(point.seed);
    point.shuffle = overrides_.shuffle.value_or(point.shuffle);
    point.rtl_clock_always = overrides_.rtl_clock_always.value_or(point.rtl_clock_always);
  }
}

void loader::read_top(std::string_view key, const setting& value) {
  const auto section = [&](void (loader::*read)(std::string_view, const setting&)) {
    each_key(value.table(), value.key(),
             [&](std::string_view inner, const setting& each) { (this->*read)(inner, each); });
  };
  if (key == "scenario") {
    section(&loader::read_scenario);
  } else if (key == "report") {
    section(&loader::read_report);
  } else if (key == "trace") {
    section(&loader::read_trace);
  } else if (key == "workload") {
    read_workload(value);
  } else if (key == "expect") {
    read_expectations(file_, value, result_.expect);
  } else if (key == "pcie_fault") {
    read_pcie_faults(file_, value, Hosts, base_.pcie_faults);
  } else if (key != "profile" && key != "points" && key != "sweep" &&
             !apply_point_section(file_, key, value, base_, base_origin_)) {
    std::vector<std::string> known = point_sections();
    known.insert(known.end(), {"scenario", "profile", "points", "report", "trace", "expect",
                               "pcie_fault", "sweep"});
    value.fail("unknown section" + suggestion(key, known));
  }
}

scenario loader::load() {
  result_.file = file_;
  result_.name = std::filesystem::path(file_).stem().string();
  // The profile is what everything else changes, wherever it stands in the file.
  if (overrides_.profile) {
    const toml::value<std::string> node(*overrides_.profile);
    read_profile(setting("--profile " + *overrides_.profile, "profile", node));
  } else if (const toml::node* profile = root_.get("profile")) {
    read_profile(at("profile", *profile));
  } else if (const toml::node* named = root_.at_path("scenario.profile").node()) {
    read_profile(at("scenario.profile", *named));
  }
  if (root_.empty()) {
    throw config_error(fmt::format("{}: is empty; a scenario has at least [workload]", file_));
  }
  each_key(root_, "", [this](std::string_view key, const setting& value) { read_top(key, value); });
  if (const toml::node* points = root_.get("points")) {
    read_points(at("points", *points).array());
  }
  if (result_.points.empty()) {
    result_.points.push_back(base_);
    point_origins_.push_back(base_origin_);
  }
  expand_sizes();
  if (const toml::node* sweep = root_.get("sweep")) {
    read_sweep_section(at("sweep", *sweep));
  }
  apply_overrides();
  for (std::size_t i = 0; i < result_.points.size(); ++i) {
    check_point(result_.points[i], point_origins_[i], file_);
    check_faults(result_.points[i], point_origins_[i]);
    check_devices(result_.points[i], point_origins_[i], file_);
    check_network(result_.points[i], point_origins_[i], file_);
    check_tenants(result_.points[i], point_origins_[i], file_);
    result_.points[i].set_by = std::move(point_origins_[i]);
  }
  if (result_.trace.from > result_.trace.to) {
    at("trace.from_ns", *root_.at_path("trace.from_ns").node()).fail("is after trace.to_ns");
  }
  return std::move(result_);
}

}  // namespace

void add_sink(trace_spec& trace, std::string_view name, const std::string& where) {
  const std::vector<std::string> known = {"sqlite", "perfetto", "stages", "pcap", "all"};
  const bool all = name == "all";
  trace.sqlite |= all || name == "sqlite";
  trace.perfetto |= all || name == "perfetto";
  trace.stages |= all || name == "stages";
  trace.pcap |= all || name == "pcap";
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    throw config_error(
        fmt::format("{}: there is no trace `{}`{}", where, name, suggestion(name, known)));
  }
}

scenario parse_scenario(std::string_view text, const std::string& file,
                        const scenario_overrides& overrides) {
  return loader(parse_toml(text, file), file, overrides).load();
}

scenario load_scenario(const std::string& file, const scenario_overrides& overrides) {
  return parse_scenario(read_text(file, "scenario"), file, overrides);
}

}  // namespace carillon
