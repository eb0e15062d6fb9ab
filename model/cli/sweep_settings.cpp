#include "cli/sweep_settings.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "cli/text.h"

namespace carillon {

namespace {

constexpr std::size_t MostPoints = 100000;

/// A value as --set takes it.
std::string set_text(const setting& value) {
  const toml::node& node = value.node();
  if (const auto whole = node.value_exact<std::int64_t>()) {
    return fmt::format("{}", *whole);
  }
  if (const auto real = node.value_exact<double>()) {
    const std::string text = fmt::format("{}", *real);
    return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
  }
  if (const auto flag = node.value_exact<bool>()) {
    return *flag ? "true" : "false";
  }
  return value.string();
}

struct found_axis {
  toml::source_position at;
  sweep_axis axis;
};

/// Tables of tables down to lists: `workload.size = [1, 2]`.
void find_axes(const std::string& file, const toml::table& table, const std::string& prefix,
               const std::function<void(const setting&)>& try_value,
               std::vector<found_axis>& into) {
  each_key(file, table, prefix, [&](std::string_view key, const setting& value) {
    if (prefix.empty() && (key == "mode" || key == "zip")) {
      return;
    }
    if (value.node().is_table()) {
      find_axes(file, value.table(), value.key(), try_value, into);
      return;
    }
    sweep_axis axis{value.key(), value.where(), {}};
    for (const toml::node& each : value.array()) {
      const setting one(value.where(), value.key(), each);
      try_value(one);
      const std::string text = set_text(one);
      if (std::find(axis.values.begin(), axis.values.end(), text) != axis.values.end()) {
        value.fail(fmt::format("{} stands in the list twice", text));
      }
      axis.values.push_back(text);
    }
    if (axis.values.empty()) {
      value.fail("the list is empty");
    }
    into.push_back({value.node().source().begin, std::move(axis)});
  });
}

std::size_t axis_index(const sweep_spec& sweep, const setting& name) {
  std::vector<std::string> known;
  for (const sweep_axis& each : sweep.axes) {
    known.push_back(each.key);
  }
  const auto found = std::find(known.begin(), known.end(), name.string());
  if (found == known.end()) {
    name.fail(fmt::format("`{}` is not swept{}", name.string(), suggestion(name.string(), known)));
  }
  return static_cast<std::size_t>(found - known.begin());
}

/// `zip = [["a", "b"]]`: which axes advance together.
std::vector<std::vector<std::size_t>> read_groups(const sweep_spec& sweep, const setting* zip) {
  std::vector<std::size_t> group_of(sweep.axes.size());
  for (std::size_t i = 0; i < group_of.size(); ++i) {
    group_of[i] = i;
  }
  if (zip != nullptr) {
    std::vector<bool> taken(sweep.axes.size());
    for (const toml::node& list : zip->array()) {
      std::vector<std::size_t> members;
      const setting group(zip->where(), zip->key(), list);
      for (const toml::node& name : group.array()) {
        const std::size_t i = axis_index(sweep, setting(zip->where(), zip->key(), name));
        if (taken[i]) {
          zip->fail(fmt::format("`{}` is named twice", sweep.axes[i].key));
        }
        taken[i] = true;
        members.push_back(i);
      }
      for (const std::size_t i : members) {
        const sweep_axis& first = sweep.axes[members.front()];
        if (sweep.axes[i].values.size() != first.values.size()) {
          zip->fail(fmt::format("`{}` has {} values, but `{}` has {}", first.key,
                                first.values.size(), sweep.axes[i].key,
                                sweep.axes[i].values.size()));
        }
        group_of[i] = *std::min_element(members.begin(), members.end());
      }
    }
  }
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t first = 0; first < sweep.axes.size(); ++first) {
    std::vector<std::size_t> members;
    for (std::size_t i = 0; i < sweep.axes.size(); ++i) {
      if (group_of[i] == first) {
        members.push_back(i);
      }
    }
    if (!members.empty()) {
      groups.push_back(std::move(members));
    }
  }
  return groups;
}

/// The last part of a key, or the whole key if another axis ends alike.
std::string short_name(const sweep_spec& sweep, std::size_t axis) {
  const auto last = [](const std::string& key) { return key.substr(key.rfind('.') + 1); };
  const std::string own = last(sweep.axes[axis].key);
  const auto alike = std::count_if(sweep.axes.begin(), sweep.axes.end(),
                                   [&](const auto& each) { return last(each.key) == own; });
  return alike == 1 ? own : sweep.axes[axis].key;
}

void set_value(const sweep_spec& sweep, std::size_t axis, std::size_t value, sweep_point& point) {
  const std::string& text = sweep.axes[axis].values[value];
  point.settings.push_back({sweep.axes[axis].key, text});
  point.label +=
      fmt::format("{}{}={}", point.label.empty() ? "" : " ", short_name(sweep, axis), text);
}

}  // namespace

sweep_spec read_sweep(const std::string& file, const setting& section,
                      const std::vector<std::string>& fixed,
                      const std::function<void(const setting&)>& try_value) {
  sweep_spec sweep;
  const toml::table& table = section.table();
  const auto own = [&](const char* key) {
    const toml::node* node = table.get(key);
    return std::make_pair(node, fmt::format("{}.{}", section.key(), key));
  };
  if (const auto [node, key] = own("mode"); node != nullptr) {
    const setting mode(position(file, node->source()), key, *node);
    sweep.mode = static_cast<sweep_mode>(mode.choice({"grid", "one_at_a_time"}));
  }
  std::vector<found_axis> found;
  find_axes(file, table, "", try_value, found);
  if (found.empty()) {
    section.fail("has no key with a list of values");
  }
  // A table of the parser is sorted by name; what changes fastest is the writer's choice.
  std::sort(found.begin(), found.end(), [](const found_axis& a, const found_axis& b) {
    return std::pair(a.at.line, a.at.column) < std::pair(b.at.line, b.at.column);
  });
  for (found_axis& each : found) {
    sweep.axes.push_back(std::move(each.axis));
  }
  if (const auto [node, key] = own("zip"); node != nullptr) {
    const setting zip(position(file, node->source()), key, *node);
    sweep.groups = read_groups(sweep, &zip);
  } else {
    sweep.groups = read_groups(sweep, nullptr);
  }
  std::size_t points = 1;
  for (const auto& group : sweep.groups) {
    points *= sweep.axes[group.front()].values.size();
    if (sweep.mode == sweep_mode::grid && points > MostPoints) {
      section.fail(fmt::format("has more than {} points", MostPoints));
    }
  }
  // What --set fixes is the same in all points.
  sweep_spec left;
  left.mode = sweep.mode;
  std::vector<std::size_t> moved(sweep.axes.size());
  const auto is_fixed = [&](std::size_t axis) {
    return std::find(fixed.begin(), fixed.end(), sweep.axes[axis].key) != fixed.end();
  };
  for (std::size_t i = 0; i < sweep.axes.size(); ++i) {
    moved[i] = left.axes.size();
    if (!is_fixed(i)) {
      left.axes.push_back(sweep.axes[i]);
    }
  }
  for (const auto& group : sweep.groups) {
    std::vector<std::size_t> members;
    for (const std::size_t i : group) {
      if (!is_fixed(i)) {
        members.push_back(moved[i]);
      }
    }
    if (!members.empty()) {
      left.groups.push_back(std::move(members));
    }
  }
  return left;
}

std::vector<sweep_point> expand(const sweep_spec& sweep) {
  std::vector<sweep_point> points;
  if (sweep.mode == sweep_mode::one_at_a_time) {
    points.push_back({"base", {}});
    for (const auto& group : sweep.groups) {
      for (std::size_t value = 0; value < sweep.axes[group.front()].values.size(); ++value) {
        sweep_point point;
        for (const std::size_t axis : group) {
          set_value(sweep, axis, value, point);
        }
        points.push_back(std::move(point));
      }
    }
    return points;
  }
  std::vector<std::size_t> at(sweep.groups.size());
  while (true) {
    sweep_point point;
    for (std::size_t group = 0; group < at.size(); ++group) {
      for (const std::size_t axis : sweep.groups[group]) {
        set_value(sweep, axis, at[group], point);
      }
    }
    points.push_back(std::move(point));
    std::size_t group = at.size();
    while (group > 0) {
      --group;
      if (++at[group] < sweep.axes[sweep.groups[group].front()].values.size()) {
        break;
      }
      at[group] = 0;
      if (group == 0) {
        return points;
      }
    }
    if (at.empty()) {
      return points;
    }
  }
}

}  // namespace carillon
