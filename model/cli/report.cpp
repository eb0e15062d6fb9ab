#include "cli/report.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <unistd.h>

#include "cli/table.h"
#include "cli/text.h"

namespace carillon {

namespace {

constexpr double Visible = 0.0005;  // what three decimals show

std::string paint(std::string_view text, const char* code, bool colour) {
  return colour ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

std::string cell(const json& statistics, const char* which) {
  return trimmed(statistics[which].get<double>());
}

/// "credit:nic0.tx_mac.frame 3.2, order 1" with the longest wait first.
std::string reasons(const json& account) {
  std::vector<std::pair<double, std::string>> sorted;
  for (const auto& [reason, mean] : account["waits"].items()) {
    if (mean.get<double>() >= Visible) {
      sorted.emplace_back(mean.get<double>(), reason);
    }
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  constexpr std::size_t Shown = 3;
  std::string text;
  for (std::size_t i = 0; i < sorted.size() && i < Shown; ++i) {
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", sorted[i].second, trimmed(sorted[i].first));
  }
  return text + (sorted.size() > Shown ? ", ..." : "");
}

void add_stage_row(text_table& table, const std::string& number, const std::string& title,
                   const json& account) {
  table.row({number, title, cell(account["total"], "p50"), cell(account["service"], "p50"),
             cell(account["wait"], "p50"), cell(account["total"], "p999"), reasons(account)});
}

std::string stage_table(const json& run, const std::string& path, const report_style& style) {
  if (run.find("path") == run.end()) {
    return {};
  }
  text_table table(
      {"#", "<stage", "cycles", "service", "wait", "p99.9", "<waits for (mean cycles)"});
  for (const json& line : run["table"]) {
    add_stage_row(table, line["number"], line["title"], line);
  }
  table.rule();
  add_stage_row(table, "", "total", run["path"]);
  return fmt::format("\n{} (cycles, medians of {} messages)\n{}", path,
                     grouped(run["path"]["messages"].get<std::uint64_t>()),
                     table.render(style.colour));
}

std::string latency_table(const json& run, const report_style& style) {
  text_table table({"<latency (ns)", "count", "min", "mean", "p50", "p99", "p99.9", "max"});
  for (const auto& [name, each] : run["latency"].items()) {
    table.row({name, grouped(each["count"].get<std::uint64_t>()), cell(each, "min"),
               cell(each, "mean"), cell(each, "p50"), cell(each, "p99"), cell(each, "p999"),
               cell(each, "max")});
  }
  return table.empty() ? std::string() : fmt::format("\n{}", table.render(style.colour));
}

std::string rates_line(const json& run) {
  const auto gigabits = run["rates"]["goodput_gbps"].get<double>();
  if (gigabits == 0) {
    return {};
  }
  return fmt::format(
      "\n  goodput {} Gb/s, {} messages/s\n", trimmed(gigabits),
      grouped(static_cast<std::uint64_t>(run["rates"]["messages_per_second"].get<double>() + 0.5)));
}

/// Of many NICs, the sum and the largest.
std::string counter_sums(const json& run, const report_style& style) {
  text_table table({"<counter", "all NICs", "one at most"});
  for (const auto& [name, ignored] : run["counters"].begin()->items()) {
    std::uint64_t sum = 0;
    std::uint64_t most = 0;
    for (const auto& [node, values] : run["counters"].items()) {
      const auto value = values[name].get<std::uint64_t>();
      sum += value;
      most = std::max(most, value);
    }
    if (sum != 0) {
      table.row({name, grouped(sum), grouped(most)});
    }
  }
  return table.empty() ? std::string() : fmt::format("\n{}", table.render(style.colour));
}

std::string counter_table(const json& run, const report_style& style) {
  constexpr std::size_t Shown = 4;
  if (run["counters"].size() > Shown) {
    return counter_sums(run, style);
  }
  std::vector<std::string> headings = {"<counter"};
  for (const auto& [node, values] : run["counters"].items()) {
    headings.push_back(node);
  }
  if (headings.size() == 1) {
    return {};
  }
  text_table table(headings);
  for (const auto& [name, ignored] : run["counters"].begin()->items()) {
    std::vector<std::string> cells = {name};
    bool counted = false;
    for (const auto& [node, values] : run["counters"].items()) {
      const auto value = values[name].get<std::uint64_t>();
      counted |= value != 0;
      cells.push_back(grouped(value));
    }
    if (counted) {
      table.row(cells);
    }
  }
  return table.empty() ? std::string() : fmt::format("\n{}", table.render(style.colour));
}

/// What flows and switches did, a line each.
std::string network_lines(const json& run) {
  std::string text;
  const auto count = [](const json& from, const char* key) {
    return grouped(from[key].get<std::uint64_t>());
  };
  if (run.contains("flows")) {
    const json& flows = run["flows"];
    text += fmt::format(
        "\n  flows {}: goodput {} Gb/s, {} to {} each, Jain's index {}; {} of {} queue pairs "
        "failed, "
        "{} messages unfinished, {} times back\n",
        count(flows, "count"), trimmed(flows["goodput_gbps"]), trimmed(flows["goodput_gbps_min"]),
        trimmed(flows["goodput_gbps_max"]), trimmed(flows["jain_index"]),
        count(flows, "failed_qps"), count(flows, "qps"), count(flows, "unfinished"),
        count(flows, "go_backs"));
  }
  if (run.contains("network")) {
    const json& network = run["network"];
    text += fmt::format(
        "\n  network: {} packets, {} lost, {} marked, {} times XOFF, {} storms{}\n",
        count(network, "packets"), count(network, "lost_packets"),
        count(network, "ecn_marked_packets"), count(network, "xoffs"),
        count(network, "pfcwd_storms"),
        network["stopped"].get<bool>()
            ? fmt::format("; ended with {} bytes in switches", count(network, "queued_bytes"))
            : "");
  }
  return text;
}

std::string fault_table(const json& run, const report_style& style) {
  if (!run.contains("faults")) {
    return {};
  }
  text_table table({"fault rule", "<does", "<direction", "frames selected", "faults"});
  for (const auto& [number, rule] : run["faults"]["rules"].items()) {
    table.row({number, rule["do"], rule["direction"], grouped(rule["matched"].get<std::uint64_t>()),
               grouped(rule["applied"].get<std::uint64_t>())});
  }
  return fmt::format("\n{}", table.render(style.colour));
}

/// One row a tenant; of many only the best, the median and the worst by their own p99.
std::string tenants_table(const json& run, const report_style& style) {
  constexpr std::size_t Shown = 20;
  constexpr const char* Path = "post_to_cqe_seen";
  if (!run.contains("tenants")) {
    return {};
  }
  std::vector<std::pair<std::string, const json*>> rows;
  for (const auto& [number, tenant] : run["tenants"].items()) {
    rows.emplace_back(number, &tenant);
  }
  std::string title;
  if (rows.size() > Shown) {
    const auto p99 = [&](const json& tenant) {
      const json& latency = tenant["latency"];
      return latency.contains(Path) ? latency[Path]["p99"].get<double>() : 0.0;
    };
    std::stable_sort(rows.begin(), rows.end(),
                     [&](const auto& a, const auto& b) { return p99(*a.second) < p99(*b.second); });
    title = fmt::format(", the best, the median and the worst of {}", rows.size());
    rows = {rows.front(), rows[rows.size() / 2], rows.back()};
  }
  text_table table({"tenant", "<from", "<to", "<traffic", "messages", "failed", "goodput Gb/s",
                    "p50", "p99", "p99.9", "max"});
  const auto place = [](const json& end) {
    return fmt::format("host{} {}", end["host"].get<unsigned>(),
                       end["function"].get<std::string>());
  };
  for (const auto& [number, each] : rows) {
    const json& tenant = *each;
    std::vector<std::string> cells = {
        number,
        place(tenant["from"]),
        place(tenant["to"]),
        fmt::format("{} {} B x {} QPs{}", tenant["opcode"].get<std::string>(),
                    tenant["size"].get<std::uint64_t>(), tenant["qps"].get<unsigned>(),
                    tenant["background"].get<bool>() ? ", background" : ""),
        grouped(tenant["messages"].get<std::uint64_t>()),
        grouped(tenant["failed"].get<std::uint64_t>()),
        trimmed(tenant["goodput_gbps"].get<double>())};
    for (const char* which : {"p50", "p99", "p999", "max"}) {
      const json& latency = tenant["latency"];
      cells.push_back(latency.contains(Path) ? cell(latency[Path], which) : "-");
    }
    table.row(cells);
  }
  return fmt::format("\ntenants ({}, ns{})\n{}", Path, title, table.render(style.colour));
}

/// What the VFs of each device cost in context RAM.
std::string function_lines(const json& run) {
  std::string text;
  if (!run.contains("functions")) {
    return text;
  }
  for (const auto& [node, functions] : run["functions"].items()) {
    const auto vfs = functions["vfs"].get<std::uint64_t>();
    if (vfs != 0) {
      text += fmt::format("  {}: {} VFs, at most {} B of context RAM each, {} reused\n", node, vfs,
                          grouped(functions["context_ram_bytes_per_vf"].get<std::uint64_t>()),
                          functions["reused"].get<std::uint64_t>());
    }
  }
  return text.empty() ? text : "\n" + text;
}

std::string diagnosis_lines(const json& run, const std::string& label, const report_style& style) {
  std::string text;
  if (!run.contains("diagnosis")) {
    return text;
  }
  for (const auto& [cause, each] : run["diagnosis"].items()) {
    if (each.is_object()) {
      text += fmt::format(
          "{}{}: {} (first {}, {} times)\n", label.empty() ? "" : fmt::format("{}: ", label),
          paint(cause, "33", style.colour), each["text"].get<std::string>(),
          each["where"].get<std::string>(), grouped(each["count"].get<std::uint64_t>()));
    }
  }
  return text.empty() ? text : "\ndiagnosis\n" + text;
}

std::string parameter_table(const json& run, const report_style& style) {
  text_table table({"<parameter", "value", "default", "<unit", "<provenance", "<set by"});
  for (const auto& [name, each] : run["parameters"].items()) {
    const auto text = [](const json& value) {
      return value.is_string() ? value.get<std::string>() : value.dump();
    };
    table.row({name, text(each["value"]), text(each["default"]), each["unit"], each["provenance"],
               each["set_by"]});
  }
  return table.empty() ? "\n  all parameters have their defaults\n"
                       : "\nparameters that are not the default\n" + table.render(style.colour);
}

std::string effort_table(const json& effort, const report_style& style) {
  text_table table({"<effort", "total", "per message"});
  const auto both = [&](const char* title, const char* key) {
    table.row({title, grouped(effort[key].get<std::uint64_t>()),
               trimmed(effort[fmt::format("{}_per_message", key)].get<double>())});
  };
  both("wakes", "wakes");
  both("kernel events", "kernel_events");
  both("TLPs", "tlps");
  std::string text = fmt::format("\n{}", table.render(style.colour));
  for (const auto& [stage, events] : effort["impl_events"].items()) {
    text +=
        fmt::format("  {}: {} clock edges in RTL\n", stage, grouped(events.get<std::uint64_t>()));
  }
  return text +
         fmt::format(
             "  {} s of wall time, {} messages/s simulated\n",
             trimmed(effort["wall_seconds"].get<double>()),
             grouped(static_cast<std::uint64_t>(effort["messages_per_wall_second"].get<double>())));
}

std::string one_run(const json& run, const json& effort, const std::string& path,
                    const report_style& style) {
  // The last lines are those that stay on the screen: where the time went.
  return counter_table(run, style) + fault_table(run, style) +
         (style.stats ? effort_table(effort, style) : "") + parameter_table(run, style) +
         latency_table(run, style) + rates_line(run) + stage_table(run, path, style) +
         network_lines(run) + tenants_table(run, style) + function_lines(run) +
         diagnosis_lines(run, "", style);
}

/// One row a point: the stages of the report's path, then the latencies that all points have.
std::string points_table(const json& summary, const report_style& style) {
  std::vector<std::string> headings = {"<point", "messages"};
  std::vector<std::string> latencies;
  const json& points = summary["points"];
  for (const auto& [name, ignored] : points.begin()->at("latency").items()) {
    bool everywhere = true;
    for (const auto& [label, point] : points.items()) {
      everywhere = everywhere && point["latency"].contains(name);
    }
    if (everywhere) {
      latencies.push_back(name);
      headings.push_back(name);
    }
  }
  headings.insert(headings.end(), {"goodput Gb/s", "messages/s"});
  text_table table(headings);
  for (const auto& [label, point] : points.items()) {
    std::vector<std::string> cells = {label, grouped(point["messages"].get<std::uint64_t>())};
    for (const std::string& name : latencies) {
      cells.push_back(cell(point["latency"][name], "p50"));
    }
    cells.push_back(trimmed(point["rates"]["goodput_gbps"].get<double>()));
    cells.push_back(grouped(
        static_cast<std::uint64_t>(point["rates"]["messages_per_second"].get<double>() + 0.5)));
    table.row(cells);
  }
  return "\npoints (medians, ns)\n" + table.render(style.colour);
}

/// Where the points' time goes: one row a point, one column a line of the stage table.
std::string points_stages(const json& summary, const report_style& style) {
  std::vector<std::pair<std::string, std::string>> lines;  // number and title
  for (const auto& [label, point] : summary["points"].items()) {
    for (const json& line : point["table"]) {
      const std::pair<std::string, std::string> each = {line["number"], line["title"]};
      if (std::find(lines.begin(), lines.end(), each) == lines.end()) {
        lines.push_back(each);
      }
    }
  }
  std::stable_sort(lines.begin(), lines.end(), [](const auto& a, const auto& b) {
    return !a.first.empty() && (b.first.empty() || a.first < b.first);
  });
  std::vector<std::string> titles;
  for (const auto& [number, title] : lines) {
    titles.push_back(title);
  }
  if (titles.empty()) {
    return {};
  }
  std::vector<std::string> headings = {"<point"};
  headings.insert(headings.end(), titles.begin(), titles.end());
  headings.emplace_back("total");
  text_table table(headings);
  for (const auto& [label, point] : summary["points"].items()) {
    std::vector<std::string> cells = {label};
    for (const std::string& title : titles) {
      std::string text = "-";  // bypassed
      for (const json& line : point["table"]) {
        if (line["title"] == title) {
          text = cell(line["total"], "p50");
        }
      }
      cells.push_back(text);
    }
    cells.push_back(point.contains("path") ? cell(point["path"]["total"], "p50") : "-");
    table.row(cells);
  }
  return fmt::format("\n{} (cycles, medians)\n{}", summary["report_path"].get<std::string>(),
                     table.render(style.colour));
}

}  // namespace

bool wants_colour(std::FILE* stream) {
  const char* objection = std::getenv("NO_COLOR");
  return isatty(fileno(stream)) != 0 && (objection == nullptr || *objection == '\0');
}

std::string render_expectations(const json& summary, const report_style& style) {
  const json& failed = summary["expect"]["failed"];
  const auto passed = summary["expect"]["passed"].get<std::uint64_t>();
  std::string text;
  for (const json& each : failed) {
    text += fmt::format("{} {}: expected {}, got {} ({})\n", paint("UNMET", "31", style.colour),
                        each["path"].get<std::string>(), each["expected"].get<std::string>(),
                        each["actual"].get<std::string>(), each["where"].get<std::string>());
  }
  if (passed + failed.size() == 0) {
    return text;
  }
  return text + fmt::format("{} of {} expectations met\n",
                            paint(grouped(passed), failed.empty() ? "32" : "31", style.colour),
                            grouped(passed + failed.size()));
}

std::string render_report(const json& summary, const report_style& style) {
  const std::string path = summary["report_path"];
  std::string text = paint(summary["scenario"].get<std::string>(), "1", style.colour);
  text += fmt::format(" (profile {}, seed {})\n", summary["profile"].get<std::string>(),
                      summary["seed"].get<std::uint64_t>());
  if (const std::string question = summary["question"]; !question.empty()) {
    text += question + "\n";
  }
  if (summary.contains("points")) {
    text += points_table(summary, style) + points_stages(summary, style);
    for (const auto& [label, point] : summary["points"].items()) {
      if (point.contains("network")) {
        text += "\n" + label + network_lines(point);
      }
      if (point.contains("tenants")) {
        text += "\n" + label + tenants_table(point, style) + function_lines(point);
      }
      text += diagnosis_lines(point, label, style);
    }
    if (style.stats) {
      for (const auto& [label, effort] : summary["stats"]["points"].items()) {
        text += "\n" + label + effort_table(effort, style);
      }
    }
    return text;
  }
  return text + one_run(summary, summary["stats"], path, style);
}

}  // namespace carillon
