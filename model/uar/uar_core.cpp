#include "uar/uar_core.h"

#include <algorithm>
#include <cstring>

#include "common/items.h"
#include "gen/wqe.h"

namespace carillon {

namespace {

constexpr std::uint32_t RecordBytes = 8;
constexpr std::uint32_t HalfBytes = 4;

/// Write-combining buffers leave as lines of these sizes, each aligned to itself.
bool is_line(std::uint32_t offset, std::uint32_t length) {
  return (length == 8 || length == 16 || length == 32 || length == 64) && offset % length == 0;
}

}  // namespace

void uar_core::extent::add(std::uint32_t offset, std::uint32_t length, const std::uint8_t* data) {
  have |= grains(offset, length);
  if (offset == 0) {
    expected = beats_of(std::uint64_t{data[ctrl_seg::at::Ds] & MaxWqeUnits} * 16) * BeatBytes;
  }
}

bool uar_core::extent::gapped() const {
  std::size_t prefix = 0;
  while (prefix < have.size() && have[prefix]) {
    ++prefix;
  }
  return have.count() != prefix;
}

bool uar_core::extent::too_long() const {
  return has_first() &&
         (expected > uar_page::BfBufferBytes || (have >> (expected / GrainBytes)).any());
}

uar_core::coverage uar_core::grains(std::uint32_t offset, std::uint32_t length) {
  coverage result;
  for (std::uint32_t at = offset; at < offset + length; at += GrainBytes) {
    result.set(at / GrainBytes);
  }
  return result;
}

std::size_t uar_core::find(uar_page_id page) const {
  const auto found = std::find_if(open_.begin(), open_.end(),
                                  [&](const assembly& each) { return each.page == page; });
  return static_cast<std::size_t>(found - open_.begin());
}

void uar_core::ring(uar_page_id page, const std::uint8_t* record, trace_ref trace,
                    std::vector<uar_event>& events) const {
  uar_event event;
  event.page = page;
  std::memcpy(event.record.data(), record, RecordBytes);
  event.trace = trace;
  events.push_back(event);
}

void uar_core::write(cycle_t t, uar_page_id page, std::uint32_t offset, const std::uint8_t* data,
                     std::uint16_t length, trace_ref trace, std::vector<uar_event>& events) {
  const std::uint32_t end = uar_page::BfBuffer + uar_page::BfBufferBytes;
  if (offset >= uar_page::BfBuffer && offset + length <= end) {
    blueflame_write(t, page, offset - uar_page::BfBuffer, data, length, trace, events);
  } else {
    doorbell_write(page, offset, data, length, trace, events);
  }
}

void uar_core::doorbell_write(uar_page_id page, std::uint32_t offset, const std::uint8_t* data,
                              std::uint16_t length, trace_ref trace,
                              std::vector<uar_event>& events) {
  if (offset == uar_page::DbRec && length == RecordBytes) {
    halves_.erase(page);
    ring(page, data, trace, events);
    return;
  }
  if (offset == uar_page::DbRec && length == HalfBytes) {
    counters_.add_for(page.function, counter::DbHalfWrites);
    std::memcpy(halves_[page].data(), data, HalfBytes);
    return;
  }
  const auto half = halves_.find(page);
  if (offset == uar_page::DbRec + HalfBytes && length == HalfBytes && half != halves_.end()) {
    std::array<std::uint8_t, RecordBytes> record{};
    std::memcpy(record.data(), half->second.data(), HalfBytes);
    std::memcpy(record.data() + HalfBytes, data, HalfBytes);
    halves_.erase(half);
    ring(page, record.data(), trace, events);
    return;
  }
  counters_.add_for(page.function, counter::DbIgnoredSize);
}

void uar_core::blueflame_write(cycle_t t, uar_page_id page, std::uint32_t offset,
                               const std::uint8_t* data, std::uint16_t length, trace_ref trace,
                               std::vector<uar_event>& events) {
  if (!is_line(offset, length)) {
    counters_.add_for(page.function, counter::DbIgnoredSize);
    return;
  }
  std::size_t index = find(page);
  if (index == open_.size()) {
    if (swallow(page, offset, data, length, trace, events)) {
      return;
    }
    const bool doorbell = offset == 0 && length == RecordBytes;
    const bool no_slot = open_.size() == slots_;
    if (doorbell || no_slot) {
      if (!doorbell) {
        counters_.add_for(page.function, counter::BfDiscardedSlots);
      }
      if (offset == 0) {
        ring(page, data, trace, events);
      }
      extent& dead = dead_[page];
      dead = {};
      dead.add(offset, length, data);
      return;
    }
    open_.push_back({page, t, {}, {}, {}});
  } else if ((open_[index].seen.have & grains(offset, length)).any()) {
    if (offset == 0 && open_[index].seen.has_first()) {
      discard(index, counter::BfDiscardedRestart, events);
      dead_.erase(page);  // the new first chunk opens a burst of its own
      blueflame_write(t, page, offset, data, length, trace, events);
      return;
    }
    // Two bursts are under way and cannot be told apart.
    discard(index, counter::BfDiscardedOverlap, events);
    if (offset == 0) {
      ring(page, data, trace, events);
    }
    extent& dead = dead_[page];
    dead = {};
    dead.add(offset, length, data);
    return;
  }
  assemble(index, offset, data, length, trace, events);
}

bool uar_core::swallow(uar_page_id page, std::uint32_t offset, const std::uint8_t* data,
                       std::uint16_t length, trace_ref trace, std::vector<uar_event>& events) {
  const auto found = dead_.find(page);
  if (found == dead_.end()) {
    return false;
  }
  extent& dead = found->second;
  const bool beyond = dead.has_first() && offset >= dead.expected;
  if (beyond || (dead.have & grains(offset, length)).any()) {
    dead_.erase(found);
    return false;
  }
  dead.add(offset, length, data);
  if (offset == 0) {
    ring(page, data, trace, events);
  }
  if (dead.complete()) {
    dead_.erase(found);
  }
  return true;
}

void uar_core::assemble(std::size_t index, std::uint32_t offset, const std::uint8_t* data,
                        std::uint16_t length, trace_ref trace, std::vector<uar_event>& events) {
  assembly& burst = open_[index];
  std::memcpy(burst.bytes.data() + offset, data, length);
  burst.seen.add(offset, length, data);
  if (offset == 0) {
    burst.first_trace = trace;
  }
  if (burst.seen.too_long()) {
    discard(index, counter::BfDiscardedLength, events);
    return;
  }
  if (!burst.seen.complete()) {
    return;
  }
  counters_.add_for(burst.page.function, counter::BfOk);
  counters_.add_for(burst.page.function, counter::BfBytes, burst.seen.expected);
  uar_event event;
  event.page = burst.page;
  event.blueflame = true;
  std::memcpy(event.record.data(), burst.bytes.data(), RecordBytes);
  event.wqe = burst.bytes;
  event.trace = trace;
  events.push_back(event);
  open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(index));
}

void uar_core::discard(std::size_t index, counter why, std::vector<uar_event>& events) {
  const assembly burst = open_[index];
  counters_.add_for(burst.page.function, why);
  open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(index));
  if (burst.seen.has_first()) {
    ring(burst.page, burst.bytes.data(), burst.first_trace, events);
  }
  dead_[burst.page] = burst.seen;
}

void uar_core::expire(cycle_t t, std::vector<uar_event>& events) {
  while (!open_.empty() && open_.front().opened + timeout_ <= t) {
    const bool gapped = open_.front().seen.gapped();
    discard(0, gapped ? counter::BfDiscardedGap : counter::BfDiscardedTimeout, events);
  }
}

cycle_t uar_core::next_timeout() const {
  return open_.empty() ? NeverCycle : open_.front().opened + timeout_;
}

std::uint64_t uar_core::doorbell_record(uar_page_id page) const {
  const auto found = records_.find(page);
  return found == records_.end() ? 0 : found->second;
}

uar_core::remains uar_core::forget(std::uint16_t function) {
  const auto of_function = [function](const auto& each) { return each.first.function == function; };
  remains lost;
  lost.bursts = std::erase_if(
      open_, [function](const assembly& each) { return each.page.function == function; });
  lost.dead = std::erase_if(dead_, of_function);
  lost.halves = std::erase_if(halves_, of_function);
  lost.records = std::erase_if(records_, of_function);
  return lost;
}

void uar_core::accepted(uar_page_id page, const std::array<std::uint8_t, 16>& record) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < RecordBytes; ++i) {
    value = value << 8 | record[i];
  }
  records_[page] = value;
}

}  // namespace carillon
