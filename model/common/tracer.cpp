#include "common/tracer.h"

#include <algorithm>
#include <utility>

#include "common/error.h"

namespace carillon {

namespace {

constexpr std::size_t InitialSlots = 256;

}  // namespace

const char* to_string(span_kind kind) {
  switch (kind) {
    case span_kind::service:
      return "service";
    case span_kind::wait:
      return "wait";
    case span_kind::flight:
      return "flight";
  }
  return "?";
}

const char* to_string(milestone point) {
  static constexpr std::array<const char*, MilestoneCount> Names = {
      "post",      "doorbell",    "first_bit",   "last_bit",
      "delivered", "remote_seen", "cqe_written", "cqe_seen"};
  const auto index = static_cast<std::size_t>(point);
  return index < Names.size() ? Names[index] : "?";
}

std::vector<span> message_record::path(milestone from, milestone to) const {
  std::vector<span> result;
  if (!reached(from) || !reached(to)) {
    return result;
  }
  const std::uint32_t stop = span_at(from);
  std::uint32_t at = span_at(to);
  while (at != stop) {
    if (at == 0) {
      return {};  // `from` is not an ancestor: the message took another way
    }
    result.push_back(spans[at]);
    at = spans[at].previous;
  }
  std::reverse(result.begin(), result.end());
  return result;
}

tracer::tracer() : slots_(InitialSlots), slot_mask_(InitialSlots - 1) {
  intern("");
}

name_id tracer::intern(std::string_view name) {
  if (const auto found = ids_.find(name); found != ids_.end()) {
    return found->second;
  }
  CARILLON_CHECK(names_.size() < 65535, "tracer: too many names");
  const auto id = static_cast<name_id>(names_.size());
  names_.emplace_back(name);
  ids_.emplace(std::string(name), id);
  return id;
}

void tracer::grow() {
  std::vector<message_record> bigger(slots_.size() * 2);
  for (auto& record : slots_) {
    if (record.id != 0) {
      bigger[record.id & (bigger.size() - 1)] = std::move(record);
    }
  }
  slots_ = std::move(bigger);
  slot_mask_ = static_cast<std::uint32_t>(slots_.size() - 1);
}

message_record* tracer::find_straggler(std::uint32_t id) {
  const auto found = stragglers_.find(id);
  return found != stragglers_.end() ? &found->second : nullptr;
}

void tracer::make_room(std::uint32_t id) {
  const std::uint64_t live = last_id_ - completed_ - stragglers_.size();
  if (live > slots_.size() / 2) {
    grow();
    return;
  }
  message_record& slot = slot_of(id);
  const std::uint32_t old = slot.id;
  stragglers_.emplace(old, std::move(slot));
  slot = {};
}

trace_ref tracer::open(ps_t begin, const message_info& info) {
  if (!enabled_) {
    return {};
  }
  const std::uint32_t id = ++last_id_;
  CARILLON_CHECK(id != 0, "tracer: message ids used up");
  while (slot_of(id).id != 0) {
    make_room(id);
  }
  message_record& record = slot_of(id);
  record.id = id;
  record.holders = 1;
  record.info = info;
  record.marks = {};
  if (!spare_.empty()) {
    record.spans = std::move(spare_.back());
    spare_.pop_back();
  }
  record.spans.clear();
  record.spans.push_back({begin, begin, 0, 0, 0, 0, span_kind::service});
  const trace_ref ref{id, 0};
  mark(ref, milestone::post);
  return ref;
}

void tracer::hold(trace_ref ref) {
  if (message_record* record = find(ref.message)) {
    ++record->holders;
  }
}

void tracer::release(trace_ref ref) {
  message_record* record = find(ref.message);
  if (record == nullptr || --record->holders != 0) {
    return;
  }
  ++completed_;
  for (message_observer* observer : observers_) {
    observer->on_message(*record);
  }
  spare_.push_back(std::move(record->spans));
  record->spans.clear();
  if (const std::uint32_t id = record->id; stragglers_.erase(id) == 0) {
    record->id = 0;
  }
}

trace_ref tracer::append(message_record& record, trace_ref from, trace_site site, span_kind kind,
                         name_id reason, ps_t begin, ps_t end) {
  // Built in its place: a copy would be read back in larger pieces than it was just written in,
  // which stalls the host's processor.
  span& added = record.spans.emplace_back();
  added.begin = begin;
  added.end = end;
  added.previous = from.span;
  added.place = site.place;
  added.row = site.row;
  added.reason = reason;
  added.kind = kind;
  return {record.id, static_cast<std::uint32_t>(record.spans.size() - 1)};
}

void tracer::refuse(const message_record& record, trace_ref from, trace_site site, span_kind kind,
                    ps_t begin, ps_t end) const {
  const ps_t known = record.spans[from.span].end;
  CARILLON_CHECK(known == begin,
                 "{}: a {} span of message {} begins at {} ps, but its history ends at {} ps",
                 name(site.place), to_string(kind), from.message, begin, known);
  throw model_error(fmt::format("{}: a span of message {} ends at {} ps before it begins at {} ps",
                                name(site.place), from.message, end, begin));
}

ps_t tracer::end_of(trace_ref ref) const {
  const message_record* record = find(ref.message);
  return record != nullptr ? record->spans[ref.span].end : 0;
}

trace_ref tracer::adopt(trace_ref to, trace_ref other, milestone from, trace_site site,
                        name_id reason) {
  const message_record* source = find(other.message);
  if (source == nullptr || find(to.message) == nullptr || !source->reached(from)) {
    return to;
  }
  std::vector<std::uint32_t> chain;
  for (std::uint32_t at = other.span; at != source->span_at(from);
       at = source->spans[at].previous) {
    if (at == 0) {
      return to;
    }
    chain.push_back(at);
  }
  const std::uint32_t start = source->span_at(from);
  trace_ref result =
      wait(to, site, reason, end_of(to), std::max(end_of(to), source->spans[start].end));
  const auto copy_marks = [&](std::uint32_t at) {
    for (std::size_t m = 0; m < MilestoneCount; ++m) {
      if (source->marks[m] == at + 1 && m != static_cast<std::size_t>(milestone::post)) {
        mark(result, static_cast<milestone>(m));
      }
    }
  };
  copy_marks(start);
  for (auto at = chain.rbegin(); at != chain.rend(); ++at) {
    const span copied = source->spans[*at];
    const trace_site where{copied.place, copied.row};
    // The message may have been posted after this part of the doorbell's history: it joins in the
    // middle.
    if (copied.end <= end_of(result)) {
      continue;
    }
    result = add(result, where, copied.kind, copied.reason, end_of(result), copied.end);
    copy_marks(*at);
  }
  return result;
}

void tracer::mark(trace_ref ref, milestone point, bool last) {
  message_record* record = find(ref.message);
  if (record == nullptr) {
    return;
  }
  auto& slot = record->marks[static_cast<std::size_t>(point)];
  if (slot == 0 || last) {
    slot = ref.span + 1;
  }
}

}  // namespace carillon
