#include "cli/breakdown.h"

#include <algorithm>

#include "common/error.h"
#include "gen/stages.h"

namespace carillon {

namespace {

constexpr double PsPerSecond = 1e12;

const stage_desc* stage_named(std::string_view name) {
  const auto* found = std::find_if(StageTable.begin(), StageTable.end(),
                                   [&](const stage_desc& each) { return name == each.name; });
  return found == StageTable.end() ? nullptr : found;
}

}  // namespace

void node_rate::count(const message_record& message) {
  const milestone point =
      message.reached(milestone::delivered) ? milestone::delivered : milestone::last_bit;
  if (!message.reached(point)) {
    return;
  }
  const ps_t when = message.time_of(point);
  ++messages;
  bytes += message.info.bytes;
  last = std::max(last, when);
  if (when < first) {
    first = when;
    first_bytes = message.info.bytes;
  }
}

double node_rate::gigabits() const {
  return last <= first ? 0.0
                       : 8000.0 * static_cast<double>(bytes - first_bytes) /
                             static_cast<double>(last - first);
}

double node_rate::messages_per_second() const {
  return last <= first
             ? 0.0
             : static_cast<double>(messages - 1) * PsPerSecond / static_cast<double>(last - first);
}

breakdown::breakdown(const tracer& trace, std::string_view report_path,
                     std::function<bool(const message_record&)> measured)
    : trace_(trace),
      report_path_(latency_path_index(report_path)),
      measured_(std::move(measured)),
      clock_sync_(const_cast<tracer&>(trace).intern("clock_sync")) {}

void breakdown::sum_spans(const message_record& message) {
  // A span's predecessor has a smaller index, so one pass serves every path.
  const std::size_t count = message.spans.size();
  if (sums_.size() < count) {
    sums_.resize(count);
  }
  sums_[0] = 0;
  for (std::size_t i = 1; i < count; ++i) {
    const span& each = message.spans[i];
    sums_[i] = sums_[each.previous] + (each.end - each.begin);
  }
}

bool breakdown::sum_path(const message_record& message, const latency_path& path) const {
  const std::uint32_t from = message.span_at(path.from);
  const std::uint32_t to = message.span_at(path.to);
  if (from != 0) {  // every history leads through the first span
    std::uint32_t at = to;
    while (at > from) {
      at = message.spans[at].previous;
    }
    if (at != from) {
      return false;  // its history does not lead through `from`: it took another way
    }
  }
  const ps_t sum = sums_[to] - sums_[from];
  const ps_t latency = message.time_of(path.to) - message.time_of(path.from);
  CARILLON_CHECK(sum == latency,
                 "message {}: the spans of {} add up to {} ps, but its latency is {} ps",
                 message.id, path.name, sum, latency);
  return true;
}

void breakdown::know_names() {
  const std::size_t names = trace_.name_count();
  if (rows_.size() < names) {
    rows_.resize(names);
    row_scratch_.resize(names);
    row_line_.resize(names);
    places_.resize(names);
  }
}

std::size_t breakdown::line_of(name_id row) {
  if (row_line_[row] == 0) {
    const stage_desc* stage = stage_named(trace_.name(row));
    const bool numbered = stage != nullptr && *stage->row != '\0';
    const std::string number = numbered ? stage->row : "";
    const std::string title = numbered ? stage->row_title : trace_.name(row);
    const auto found = std::find_if(lines_.begin(), lines_.end(), [&](const table_line& each) {
      return each.number == number && each.title == title;
    });
    row_line_[row] = static_cast<std::size_t>(found - lines_.begin()) + 1;
    if (found == lines_.end()) {
      lines_.push_back({number, title, {}});
      line_scratch_.emplace_back();
    }
  }
  return row_line_[row] - 1;
}

void breakdown::book(const span& part) {
  const ps_t length = part.end - part.begin;
  scratch& row = row_scratch_[part.row];
  place_account& place = places_[part.place];
  const bool answer = row.touched;
  if (!row.touched) {
    row.touched = true;
    touched_rows_.push_back(part.row);
    (void)line_of(part.row);  // lines are kept in the order in which they are met
  }
  if (part.kind == span_kind::wait) {
    place.wait += length;
    if (part.reason != clock_sync_ || !answer) {
      row.wait += length;
      rows_[part.row].waits[part.reason] += length;
      lines_[line_of(part.row)].account.waits[part.reason] += length;
      total_.waits[part.reason] += length;
      return;
    }
  } else if (part.kind == span_kind::flight) {
    place.flight += length;
    row.flight += length;
  } else {
    place.service += length;
  }
  row.service += length;
}

void breakdown::settle(scratch& from, time_account& into) {
  into.service.add(from.service);
  into.wait.add(from.wait);
  into.total.add(from.service + from.wait);
  into.flight += from.flight;
  from = {};
}

void breakdown::account_path(const message_record& message, const latency_path& path) {
  know_names();
  chain_.clear();
  const std::uint32_t stop = message.span_at(path.from);
  for (std::uint32_t at = message.span_at(path.to); at != stop; at = message.spans[at].previous) {
    chain_.push_back(at);
  }
  for (auto at = chain_.rbegin(); at != chain_.rend(); ++at) {
    book(message.spans[*at]);
  }
  scratch sum;
  for (const name_id row : touched_rows_) {
    scratch& spent = row_scratch_[row];
    const std::size_t line = line_of(row);
    scratch& shared = line_scratch_[line];
    if (!shared.touched) {
      shared.touched = true;
      touched_lines_.push_back(line);
    }
    for (scratch* into : {&shared, &sum}) {
      into->service += spent.service;
      into->wait += spent.wait;
      into->flight += spent.flight;
    }
    settle(spent, rows_[row]);
  }
  for (const std::size_t line : touched_lines_) {
    settle(line_scratch_[line], lines_[line].account);
  }
  touched_rows_.clear();
  touched_lines_.clear();
  const ps_t latency = message.time_of(path.to) - message.time_of(path.from);
  CARILLON_CHECK(sum.service + sum.wait == latency,
                 "message {}: the stages of {} add up to {} ps, but its latency is {} ps",
                 message.id, path.name, sum.service + sum.wait, latency);
  settle(sum, total_);
}

void breakdown::count_rate(const message_record& message) {
  if (!message.reached(milestone::delivered) && !message.reached(milestone::last_bit)) {
    return;
  }
  auto found = rates_.find(message.info.node);
  if (found == rates_.end()) {
    found = rates_.emplace(std::string(message.info.node), node_rate{}).first;
  }
  found->second.count(message);
}

void breakdown::on_message(const message_record& message) {
  if (measured_ && !measured_(message)) {
    return;
  }
  ++messages_;
  sum_spans(message);
  for (std::size_t i = 0; i < LatencyPathCount; ++i) {
    const latency_path& path = LatencyPaths[i];
    if (!message.reached(path.from) || !message.reached(path.to) || !sum_path(message, path)) {
      continue;
    }
    latencies_[i].add(message.time_of(path.to) - message.time_of(path.from));
    if (i == report_path_) {
      account_path(message, path);
    }
  }
  count_rate(message);
}

std::vector<std::pair<std::string, const time_account*>> breakdown::stages() const {
  std::map<std::string, const time_account*> by_name;
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    if (rows_[row].total.count() != 0) {
      by_name.emplace(trace_.name(static_cast<name_id>(row)), &rows_[row]);
    }
  }
  std::vector<std::pair<std::string, const time_account*>> result;
  for (const stage_desc& each : StageTable) {
    if (const auto found = by_name.find(each.name); found != by_name.end()) {
      result.emplace_back(*found);
      by_name.erase(found);
    }
  }
  result.insert(result.end(), by_name.begin(), by_name.end());
  return result;
}

std::vector<const breakdown::table_line*> breakdown::lines() const {
  std::vector<const table_line*> result;
  for (const table_line& each : lines_) {
    result.push_back(&each);
  }
  // Lines outside the table come last, as they were met; numbers have one digit.
  std::stable_sort(result.begin(), result.end(), [](const table_line* a, const table_line* b) {
    return !a->number.empty() && (b->number.empty() || a->number < b->number);
  });
  return result;
}

std::map<std::string, place_account> breakdown::places() const {
  std::map<std::string, place_account> result;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const place_account& each = places_[i];
    if (each.service + each.wait + each.flight != 0) {
      result.emplace(trace_.name(static_cast<name_id>(i)), each);
    }
  }
  return result;
}

}  // namespace carillon
