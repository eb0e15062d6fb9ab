#include "common/key_lookup.h"

#include "common/error.h"

namespace carillon {

void key_walks::ask(cycle_t t, std::uint64_t cookie, const key_use& use,
                    const held_history& history) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(jobs_.size()));
    jobs_.emplace_back();
  }
  const std::uint32_t index = free_.back();
  free_.pop_back();
  job& each = jobs_[index];
  each.cookie = cookie;
  each.use = use;
  each.has_key = false;
  each.fault = key_fault::none;
  each.history = history;
  each.history.waits_for(context_, site_, t, order_);
  wanted_.push(index);
}

std::uint32_t key_walks::take_line(cycle_t t, const context_line& line) {
  CARILLON_CHECK(!asked_.empty(), "{}: line {} came unasked in cycle {}",
                 context_.trace.name(site_.place), line.index, t);
  const std::uint32_t index = asked_.pop();
  job& each = jobs_[index];
  each.history = held_history(line.trace, t, order_);
  if (!each.has_key) {
    each.has_key = true;
    each.key = mkey_line::unpack(line.data.data());
    each.fault = check_key(each.key, line.valid, each.use);
    const bool good = each.fault == key_fault::none;
    each.walk.restart(each.key, each.use.right, each.use.address,
                      good ? static_cast<std::uint32_t>(each.use.length) : 0);
  } else if (!line.valid || !each.walk.take(line.data)) {
    each.fault = key_fault::page;
  }
  if (each.fault != key_fault::none || each.walk.done()) {
    return index;
  }
  wanted_.push(index);
  return NoJob;
}

context_read key_walks::next_read(cycle_t t) {
  const std::uint32_t index = wanted_.pop();
  job& each = jobs_[index];
  context_read read;
  read.trace = each.history.wait_until(context_, site_, t);
  read.kind = each.has_key ? context_kind::mtt : context_kind::mkey;
  read.index = each.has_key ? each.walk.line() : each.use.key >> MkeyVariantBits;
  read.function = each.use.function;
  asked_.push(index);
  return read;
}

bool key_lookup::issue(cycle_t t) {
  if (!walks_.wanting()) {
    return false;
  }
  if (!reads_.has_credit(t)) {
    reads_.ask_credit(t);
    return false;
  }
  reads_.push(t, 1, walks_.next_read(t));
  return walks_.wanting();
}

}  // namespace carillon
