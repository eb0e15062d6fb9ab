#include "dma_engine/read_tags.h"

#include <algorithm>

#include "common/error.h"
#include "gen/tlp.h"

namespace carillon {

namespace {

std::uint32_t lead_of(const read_completion& item) {
  return item.lower_address & 3U;
}

/// Its payload is more than its byte count says is left.
bool overflows(const read_completion& item) {
  return item.length > ((lead_of(item) + item.byte_count + 3U) & ~3U);
}

bool success(const read_completion& item) {
  return item.status == static_cast<std::uint8_t>(completion_status::Success);
}

}  // namespace

std::uint32_t data_bytes(const read_completion& item) {
  const std::uint32_t lead = lead_of(item);
  return item.length <= lead ? 0 : std::min<std::uint32_t>(item.byte_count, item.length - lead);
}

read_tags::read_tags(std::size_t count, ps_t timeout) : timeout_(timeout), slots_(count) {
  free_.reserve(count);
  for (std::size_t tag = count; tag > 0; --tag) {
    free_.push_back(static_cast<std::uint16_t>(tag - 1));
  }
}

void read_tags::append(queue& to, std::uint16_t tag, state becomes, ps_t now) {
  slot& added = slots_[tag];
  added.now = becomes;
  added.since = now;
  added.before = to.last;
  added.behind = Nobody;
  (to.last == Nobody ? to.first : slots_[to.last].behind) = tag;
  to.last = tag;
}

void read_tags::remove(queue& from, std::uint16_t tag) {
  const slot& removed = slots_[tag];
  (removed.before == Nobody ? from.first : slots_[removed.before].behind) = removed.behind;
  (removed.behind == Nobody ? from.last : slots_[removed.behind].before) = removed.before;
}

std::uint16_t read_tags::take(ps_t now, const flight& read) {
  std::uint16_t tag = lost_.first;
  if (!free_.empty()) {
    tag = free_.back();
    free_.pop_back();
  } else {
    CARILLON_CHECK(rested(now), "a read is sent without a free tag, at {} ps", now);
    remove(lost_, tag);
  }
  slots_[tag].read = read;
  append(flying_, tag, state::flying, now);
  ++flying_count_;
  return tag;
}

read_tags::verdict read_tags::judge(const read_completion& item) {
  if (item.tag >= slots_.size()) {
    return verdict::unexpected;
  }
  slot& named = slots_[item.tag];
  if (named.now == state::lost && (!success(item) || data_bytes(item) == item.byte_count)) {
    remove(lost_, item.tag);
    named.now = state::free;
    free_.push_back(item.tag);
    return verdict::unexpected;
  }
  if (named.now != state::flying) {
    return verdict::unexpected;
  }
  if (!success(item)) {
    return verdict::failed;
  }
  const bool fits = item.byte_count == named.read.missing &&
                    item.lower_address == named.read.lower_address && data_bytes(item) != 0 &&
                    !overflows(item);
  return fits ? verdict::data : verdict::unexpected;
}

void read_tags::release(std::uint16_t tag) {
  remove(flying_, tag);
  --flying_count_;
  slots_[tag].now = state::free;
  free_.push_back(tag);
}

void read_tags::give_up(std::uint16_t tag, ps_t now) {
  remove(flying_, tag);
  --flying_count_;
  append(lost_, tag, state::lost, now);
}

}  // namespace carillon
