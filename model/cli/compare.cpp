#include "cli/compare.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fstream>
#include <memory>
#include <sqlite3.h>
#include <string_view>

#include "cli/summary.h"
#include "cli/table.h"
#include "cli/text.h"
#include "common/error.h"

namespace carillon {

namespace {

namespace fs = std::filesystem;

constexpr const char* CompareSchema = "carillon-compare-1";
constexpr const char* SweepSchema = "carillon-sweep-1";

/// What a run found, as opposed to what it was asked for and what it cost.
constexpr std::string_view Found[] = {"messages", "simulated_ns", "latency", "stages",   "path",
                                      "places",   "rates",        "checks",  "counters", "faults"};

void flatten(const json& value, const std::string& name, std::map<std::string, double>& into) {
  if (value.is_object()) {
    for (const auto& [key, each] : value.items()) {
      flatten(each, name.empty() ? key : name + '.' + key, into);
    }
  } else if (value.is_number()) {
    into[name] = value.get<double>();
  }
}

std::map<std::string, double> figures_of(const json& facts) {
  std::map<std::string, double> result;
  for (const std::string_view each : Found) {
    if (const auto found = facts.find(each); found != facts.end()) {
      flatten(*found, std::string(each), result);
    }
  }
  return result;
}

findings load_summary(const fs::path& file) {
  std::ifstream in(file);
  const json summary = json::parse(in, nullptr, false);
  if (summary.is_discarded() || !summary.is_object()) {
    throw config_error(fmt::format("{}: is no JSON document", file.string()));
  }
  const std::string schema = summary.value("schema", "");
  if (schema != SummarySchema) {
    throw config_error(fmt::format("{}: has the schema `{}`, but `{}` is needed", file.string(),
                                   schema, SummarySchema));
  }
  findings result{file.parent_path().string(), {}};
  if (const auto points = summary.find("points"); points != summary.end()) {
    for (const auto& [label, facts] : points->items()) {
      result.points[label] = figures_of(facts);
    }
  } else {
    result.points[""] = figures_of(summary);
  }
  if (const json* failed = find_value(summary, "expect.failed"); failed != nullptr) {
    result.points.begin()->second["expect.failed"] = static_cast<double>(failed->size());
  }
  return result;
}

class sweep_reader {
 public:
  explicit sweep_reader(const fs::path& file) : file_(file) {
    if (sqlite3_open_v2(file.c_str(), &database_, SQLITE_OPEN_READONLY, nullptr) != SQLITE_OK) {
      fail();
    }
  }

  sweep_reader(const sweep_reader&) = delete;
  sweep_reader& operator=(const sweep_reader&) = delete;

  ~sweep_reader() { sqlite3_close(database_); }

  template <class Row>
  void each(const char* query, Row&& row) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(database_, query, -1, &statement, nullptr) != SQLITE_OK) {
      fail();
    }
    const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> owner(statement, sqlite3_finalize);
    int step = 0;
    while ((step = sqlite3_step(statement)) == SQLITE_ROW) {
      row(statement);
    }
    if (step != SQLITE_DONE) {
      fail();
    }
  }

  static std::string text(sqlite3_stmt* row, int column) {
    const unsigned char* found = sqlite3_column_text(row, column);
    return found != nullptr ? reinterpret_cast<const char*>(found) : "";
  }

 private:
  [[noreturn]] void fail() const {
    throw config_error(
        fmt::format("{}: is no table of a sweep: {}", file_.string(), sqlite3_errmsg(database_)));
  }

  fs::path file_;
  sqlite3* database_ = nullptr;
};

findings load_sweep(const fs::path& file) {
  sweep_reader table(file);
  std::string schema;
  table.each("SELECT value FROM meta WHERE key = 'schema'",
             [&](sqlite3_stmt* row) { schema = sweep_reader::text(row, 0); });
  if (schema != SweepSchema) {
    throw config_error(fmt::format("{}: has the schema `{}`, but `{}` is needed", file.string(),
                                   schema, SweepSchema));
  }
  findings result{file.parent_path().string(), {}};
  // A point that failed has no figures, so all of its figures are gone.
  table.each("SELECT label FROM results WHERE status != 'failed'",
             [&](sqlite3_stmt* row) { result.points[sweep_reader::text(row, 0)]; });
  table.each("SELECT label, name, value FROM metrics JOIN results USING (id)",
             [&](sqlite3_stmt* row) {
               result.points[sweep_reader::text(row, 0)][sweep_reader::text(row, 1)] =
                   sqlite3_column_double(row, 2);
             });
  return result;
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

bool begins_with(std::string_view text, std::string_view begin) {
  return text.substr(0, begin.size()) == begin;
}

change_verdict judge(const difference& what, double tolerance) {
  const direction sense = direction_of(what.name);
  if (!what.before) {
    return change_verdict::added;
  }
  if (!what.after) {
    return change_verdict::gone;
  }
  if (sense == direction::neither) {
    return change_verdict::changed;
  }
  if (what.percent && std::abs(*what.percent) <= tolerance) {
    return change_verdict::within;
  }
  const bool more = *what.after > *what.before;
  return more == (sense == direction::more_is_worse) ? change_verdict::worse
                                                     : change_verdict::better;
}

void compare_point(const std::string& label, const std::map<std::string, double>& before,
                   const std::map<std::string, double>& after, comparison& into) {
  std::map<std::string, difference> by_name;
  for (const auto& [name, value] : before) {
    by_name[name].before = value;
  }
  for (const auto& [name, value] : after) {
    by_name[name].after = value;
  }
  into.figures += by_name.size();
  for (auto& [name, what] : by_name) {
    if (what.before == what.after) {
      continue;
    }
    what.point = label;
    what.name = name;
    if (what.before && what.after && *what.before != 0) {
      what.percent = 100.0 * (*what.after - *what.before) / std::abs(*what.before);
    }
    what.verdict = judge(what, into.tolerance);
    into.differences.push_back(std::move(what));
  }
}

std::string shown(const std::optional<double>& value) {
  return value ? trimmed(*value) : "-";
}

std::string shown_percent(const difference& what) {
  return what.percent ? fmt::format("{:+.2f} %", *what.percent) : "";
}

}  // namespace

findings load_findings(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_regular_file(path, ignored)) {
    return load_summary(path);
  }
  if (fs::exists(path / "sweep.sqlite", ignored)) {
    return load_sweep(path / "sweep.sqlite");
  }
  if (fs::exists(path / "summary.json", ignored)) {
    return load_summary(path / "summary.json");
  }
  throw config_error(fmt::format(
      "{}: {}", path.string(),
      fs::exists(path, ignored)
          ? "holds neither summary.json of `carillon run` nor sweep.sqlite of `carillon sweep`"
          : "there is no such folder"));
}

direction direction_of(const std::string& name) {
  if (begins_with(name, "latency.") || begins_with(name, "path.")) {
    if (ends_with(name, ".count") || ends_with(name, ".messages")) {
      return direction::more_is_better;
    }
    return name.find(".waits.") != std::string::npos ? direction::neither
                                                     : direction::more_is_worse;
  }
  if (begins_with(name, "stages.")) {
    return name.find(".service.") != std::string::npos ? direction::more_is_worse
                                                       : direction::neither;
  }
  if (begins_with(name, "rates.") || name == "messages") {
    return direction::more_is_better;
  }
  const bool failure = name == "checks.failed_completions" || name == "checks.wrong_bytes" ||
                       name == "checks.lost_messages" || name == "checks.judged_failures" ||
                       name == "expect.failed";
  return failure ? direction::more_is_worse : direction::neither;
}

const char* to_string(change_verdict verdict) {
  switch (verdict) {
    case change_verdict::worse:
      return "worse";
    case change_verdict::better:
      return "better";
    case change_verdict::within:
      return "within tolerance";
    case change_verdict::changed:
      return "changed";
    case change_verdict::gone:
      return "gone";
    case change_verdict::added:
      return "new";
  }
  return "?";
}

bool difference::regression() const {
  return verdict == change_verdict::worse ||
         (verdict == change_verdict::gone && direction_of(name) != direction::neither);
}

std::size_t comparison::count(change_verdict verdict) const {
  return static_cast<std::size_t>(
      std::count_if(differences.begin(), differences.end(),
                    [&](const difference& each) { return each.verdict == verdict; }));
}

bool comparison::regressed() const {
  return std::any_of(differences.begin(), differences.end(),
                     [](const difference& each) { return each.regression(); });
}

comparison compare(const findings& before, const findings& after, double tolerance) {
  comparison result;
  result.tolerance = tolerance;
  static const std::map<std::string, double> None;
  std::map<std::string, int> labels;
  for (const findings* each : {&before, &after}) {
    for (const auto& [label, figures] : each->points) {
      ++labels[label];
    }
  }
  const auto figures = [](const findings& of, const std::string& label) -> const auto& {
    const auto found = of.points.find(label);
    return found == of.points.end() ? None : found->second;
  };
  for (const auto& [label, sides] : labels) {
    compare_point(label, figures(before, label), figures(after, label), result);
  }
  return result;
}

std::string render_comparison(const findings& before, const findings& after,
                              const comparison& found, bool colour) {
  std::string text = fmt::format("{} -> {}\n", before.source, after.source);
  text_table table({"<point", "<figure", "before", "after", "change", "<verdict"});
  for (const difference& each : found.differences) {
    table.row({each.point, each.name, shown(each.before), shown(each.after), shown_percent(each),
               to_string(each.verdict)});
  }
  if (!table.empty()) {
    text += table.render(colour);
  }
  text += fmt::format("{} of {} figures differ", found.differences.size(), found.figures);
  const char* separator = ": ";
  for (const change_verdict verdict :
       {change_verdict::worse, change_verdict::better, change_verdict::within,
        change_verdict::changed, change_verdict::gone, change_verdict::added}) {
    if (const std::size_t count = found.count(verdict); count != 0) {
      text += fmt::format("{}{} {}", separator, count, to_string(verdict));
      separator = ", ";
    }
  }
  return text + (found.regressed()
                     ? fmt::format("\nregression beyond {} %\n", trimmed(found.tolerance))
                     : std::string("\nno regression\n"));
}

nlohmann::ordered_json comparison_json(const findings& before, const findings& after,
                                       const comparison& found) {
  const auto number = [](const std::optional<double>& value) {
    return value ? json(*value) : json(nullptr);
  };
  json differences = json::array();
  for (const difference& each : found.differences) {
    differences.push_back({{"point", each.point},
                           {"name", each.name},
                           {"before", number(each.before)},
                           {"after", number(each.after)},
                           {"percent", number(each.percent)},
                           {"verdict", to_string(each.verdict)},
                           {"regression", each.regression()}});
  }
  return {{"schema", CompareSchema},
          {"before", before.source},
          {"after", after.source},
          {"tolerance_percent", found.tolerance},
          {"figures", found.figures},
          {"regressed", found.regressed()},
          {"differences", std::move(differences)}};
}

}  // namespace carillon
