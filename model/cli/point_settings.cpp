#include "cli/point_settings.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <variant>

#include "cli/device_settings.h"
#include "cli/fault_settings.h"
#include "cli/network_settings.h"
#include "cli/perftest_settings.h"
#include "cli/tenant_settings.h"
#include "cli/text.h"
#include "cli/workload_settings.h"
#include "common/error.h"
#include "cosim/rtl_block.h"
#include "gen/stages.h"

namespace carillon {

namespace {

std::vector<std::string> parameter_names() {
  std::vector<std::string> result;
  for (const param_desc& each : ParamTable) {
    result.emplace_back(each.name);
  }
  return result;
}

/// The parameters of a group; all, if there is no such group.
std::vector<std::string> group_names(std::string_view group) {
  const std::vector<std::string> all = parameter_names();
  std::vector<std::string> own;
  std::copy_if(all.begin(), all.end(), std::back_inserter(own),
               [&](std::string_view name) { return name.substr(0, name.find('.')) == group; });
  return own.empty() ? all : own;
}

const std::vector<std::string>& impl_words() {
  static const std::vector<std::string> Words = {"model", "rtl", "lockstep"};
  return Words;
}

/// What the tables of a section hold, with its prefix.
struct section_of_point {
  const char* name;
  // cppcheck-suppress unusedStructMember ; apply_point_section() calls it
  void (*apply)(const std::string& file, const setting& value, run_point& point,
                setting_origins& origin);
};

void apply_parameters(const std::string& file, const setting& groups, run_point& point,
                      setting_origins& origin) {
  each_key(file, groups.table(), groups.key(), [&](std::string_view group, const setting& value) {
    if (!value.node().is_table()) {
      value.fail(fmt::format("is {}, but must be a table of parameters{}", type_name(value.node()),
                             suggestion(group, group_names(group))));
    }
    each_key(file, *value.node().as_table(), value.key(),
             [&](std::string_view name, const setting& each) {
               apply_parameter(fmt::format("{}.{}", group, name), each, point, origin);
             });
  });
}

void apply_workload_table(const std::string& file, const setting& table, run_point& point,
                          setting_origins& origin) {
  each_key(file, table.table(), table.key(), [&](std::string_view key, const setting& value) {
    apply_workload_key(key, value, point, origin);
  });
}

void apply_perftest_table(const std::string& file, const setting& table, run_point& point,
                          setting_origins& origin) {
  each_key(file, table.table(), table.key(), [&](std::string_view key, const setting& value) {
    apply_perftest_key(key, value, point);
    origin[fmt::format("perftest.{}", key)] = value.where();
  });
}

void apply_impl_table(const std::string& file, const setting& table, run_point& point,
                      setting_origins& /*origin*/) {
  each_key(file, table.table(), table.key(), [&](std::string_view stage, const setting& each) {
    apply_impl(std::string(stage), each.string(), each, point);
  });
}

constexpr section_of_point Sections[] = {
    {"parameters", apply_parameters},
    {"workload", apply_workload_table},
    {"impl", apply_impl_table},
    {"fault", [](const std::string& file, const setting& value, run_point& point,
                 setting_origins& origin) { read_faults(file, value, point.faults, origin); }},
    {"device", [](const std::string& file, const setting& value, run_point& point,
                  setting_origins& origin) { apply_device(file, value, point.devices, origin); }},
    {"network", [](const std::string& file, const setting& value, run_point& point,
                   setting_origins& origin) { apply_network(file, value, point, origin); }},
    {"vf", [](const std::string& file, const setting& value, run_point& point,
              setting_origins& origin) { apply_vfs(file, value, point.devices, origin); }},
    {"tenant",
     [](const std::string& file, const setting& value, run_point& point, setting_origins& origin) {
       read_tenants(file, value, point.workload.tenant, origin);
     }},
    {"perftest", apply_perftest_table},
};

/// `key` without `prefix`, if it begins so.
std::optional<std::string_view> behind(std::string_view key, std::string_view prefix) {
  return key.substr(0, prefix.size()) == prefix ? std::optional(key.substr(prefix.size()))
                                                : std::nullopt;
}

[[noreturn]] void fail_unknown(const setting& value, const run_point& point) {
  std::vector<std::string> known = parameter_names();
  for (const std::string& each : workload_keys()) {
    known.push_back(fmt::format("workload.{}", each));
  }
  for (const std::vector<std::string>& some :
       {fault_paths(point.faults.size()), device_paths(), network_paths()}) {
    known.insert(known.end(), some.begin(), some.end());
  }
  known.insert(known.end(), {"scenario.seed", "report.path", "trace.series_ns"});
  const std::string near = closest(value.key(), known);
  value.fail("unknown key" +
             (near.empty()
                  ? "; allowed: workload.<key>, fault.<number>.<key>, "
                    "device.<key>, network.<key>, scenario.seed, report.path or a parameter "
                    "(`carillon params` lists them)"
                  : fmt::format("; did you mean `{}`?", near)));
}

}  // namespace

std::vector<std::string> point_sections() {
  std::vector<std::string> names;
  for (const section_of_point& each : Sections) {
    names.emplace_back(each.name);
  }
  return names;
}

bool apply_point_section(const std::string& file, std::string_view key, const setting& value,
                         run_point& point, setting_origins& origin) {
  const auto* found = std::find_if(std::begin(Sections), std::end(Sections),
                                   [&](const section_of_point& each) { return key == each.name; });
  if (found == std::end(Sections)) {
    return false;
  }
  found->apply(file, value, point, origin);
  return true;
}

void apply_parameter(const std::string& name, const setting& value, run_point& point,
                     setting_origins& origin) {
  const int found = find_param(name);
  if (found < 0) {
    value.fail("unknown parameter" + suggestion(name, parameter_names()) +
               " (`carillon params` lists all)");
  }
  const param_desc& about = ParamTable[static_cast<std::size_t>(found)];
  param_value converted;
  const toml::node& node = value.node();
  if (node.is_integer()) {
    converted = *node.value_exact<std::int64_t>();
  } else if (node.is_floating_point()) {
    converted = *node.value_exact<double>();
  } else if (node.is_boolean()) {
    converted = *node.value_exact<bool>();
  } else if (node.is_string()) {
    converted = *node.value_exact<std::string>();
  } else {
    value.wrong_type(about.allowed);
  }
  parameters changed = point.params;
  if (!set_param_value(changed, name, converted).empty()) {
    const bool number = about.type == param_type::Integer || about.type == param_type::Real;
    const bool whole = about.type == param_type::Integer;
    const bool right_type = whole                            ? node.is_integer()
                            : number                         ? node.is_number()
                            : about.type == param_type::Flag ? node.is_boolean()
                                                             : node.is_string();
    const std::string what =
        right_type
            ? fmt::format("{} is out of range",
                          std::visit([](const auto& v) { return fmt::format("{}", v); }, converted))
            : fmt::format("is {}", type_name(node));
    value.fail(fmt::format("{}; allowed: {}{}{}", what, about.allowed,
                           *about.unit != '\0' ? ", in " : "", about.unit));
  }
  point.params = changed;
  origin[name] = value.where();
}

void apply_workload_key(std::string_view key, const setting& value, run_point& point,
                        setting_origins& origin) {
  if (key == "sizes") {
    value.fail("a point has one size");
  }
  apply_workload(point.workload, key, value);
  origin[fmt::format("workload.{}", key)] = value.where();
  if (key == "kind" && point.workload.kind == workload_kind::ping_pong &&
      origin.find("workload.directions") == origin.end()) {
    point.workload.both_directions = true;
  }
}

void apply_impl(const std::string& stage, std::string_view impl, const setting& value,
                run_point& point) {
  const auto word = std::find(impl_words().begin(), impl_words().end(), impl);
  if (word == impl_words().end()) {
    value.fail(fmt::format("there is no `{}`; allowed: {}", impl, any_of(impl_words())));
  }
  const auto chosen = static_cast<impl_kind>(word - impl_words().begin());
  const std::vector<std::string> twins = rtl_registry::instance().stages();
  if (twins.empty() && chosen != impl_kind::model) {
    value.fail(
        "this program was built without RTL (-DCARILLON_RTL=ON builds with it); allowed: model");
  }
  if (stage == "all") {
    for (const std::string& each : twins) {
      point.impl[each] = chosen;
    }
    return;
  }
  std::vector<std::string> known = {"all"};
  for (const stage_desc& each : StageTable) {
    known.emplace_back(each.name);
  }
  if (std::find(known.begin(), known.end(), stage) == known.end()) {
    value.fail("unknown stage" + suggestion(stage, known));
  }
  if (chosen != impl_kind::model && std::find(twins.begin(), twins.end(), stage) == twins.end()) {
    value.fail(
        fmt::format("has no RTL twin; allowed: model; stages with a twin: {}", any_of(twins)));
  }
  point.impl[stage] = chosen;
}

void apply_point_key(const setting& value, run_point& point, setting_origins& origin) {
  const std::string& path = value.key();
  if (behind(path, "fault.")) {
    apply_fault(point.faults, path, value, origin);
  } else if (const auto device = behind(path, "device.")) {
    apply_device_key(*device, value, point.devices, origin);
  } else if (const auto network = behind(path, "network.")) {
    apply_network_key(*network, value, point, origin);
  } else if (const auto workload = behind(path, "workload.")) {
    apply_workload(point.workload, *workload, value);
    origin[path] = value.where();
    // Who asks for it here means it, whatever the file says of directions.
    if (*workload == "kind" && point.workload.kind == workload_kind::ping_pong) {
      point.workload.both_directions = true;
    }
  } else if (find_param(path) >= 0) {
    apply_parameter(path, value, point, origin);
  } else {
    fail_unknown(value, point);
  }
}

}  // namespace carillon
