#include "common/clock.h"

#include <bit>
#include <utility>

#include "common/error.h"

namespace carillon {

core_clock::core_clock(const sc_core::sc_module_name& name, ps_t period_ps,
                       std::uint64_t shuffle_seed)
    : due_process(name), period_(period_ps), slots_(Slots) {
  if (period_ps == 0) {
    throw config_error("core clock period must be at least 1 ps");
  }
  require_picosecond_resolution();
  if (shuffle_seed != 0) {
    shuffle_ = std::make_unique<random_stream>(shuffle_seed, "core_clock/shuffle");
  }
}

void core_clock::wake(clocked& who, cycle_t cycle) {
  CARILLON_CHECK(!running_ || cycle > now_, "{}: woken for cycle {} while cycle {} is evaluated",
                 who.path(), cycle, now_);
  CARILLON_CHECK(running_ || cycle * period_ > now_ps() || now_ps() == 0,
                 "{}: woken for cycle {} at {} ps, which is not in the future", who.path(), cycle,
                 now_ps());
  if (cycle >= who.next_wake_) {
    wake_after_due(who, cycle);
    return;
  }
  who.next_wake_ = cycle;
  insert(who, cycle);
  if (!running_) {
    schedule(time_of(cycle));
  }
}

void core_clock::wake_after_due(clocked& who, cycle_t cycle) {
  // The evaluation that is due now must not swallow a later wake: what happens in a cycle shows
  // only in the next one, and whether `who` was evaluated before or after it happened must not
  // matter.
  const bool due = running_ ? who.next_wake_ == now_ : who.next_wake_ * period_ <= now_ps();
  if (due && cycle != who.next_wake_ && cycle < who.after_) {
    who.after_ = cycle;
    insert(who, cycle);
  }
}

void core_clock::wake_late(clocked& who) {
  CARILLON_CHECK(running_ && !late_phase_ && who.late_,
                 "{}: woken late in cycle {}, but not by a component of that cycle", who.path(),
                 now_);
  if (who.next_wake_ != now_) {
    who.next_wake_ = now_;
    late_.push_back(&who);
  }
}

inline void core_clock::put(clocked& who, cycle_t cycle) {
  const auto slot = static_cast<unsigned>(cycle & SlotMask);
  std::uint32_t at = free_node_;
  if (at == None) {
    at = static_cast<std::uint32_t>(nodes_.size());
    nodes_.push_back({&who, None});
  } else {
    free_node_ = nodes_[at].next;
    nodes_[at] = {&who, None};
  }
  slot_list& list = slots_[slot];
  (list.first == None ? list.first : nodes_[list.last].next) = at;
  list.last = at;
  occupied_[slot / 64] |= std::uint64_t{1} << (slot % 64);
  occupied_words_ |= std::uint64_t{1} << (slot / 64);
}

void core_clock::insert(clocked& who, cycle_t cycle) {
  if (cycle - base_ >= Slots) {
    far_.push({cycle, far_order_++, &who});
    return;
  }
  put(who, cycle);
}

void core_clock::import_far(cycle_t base) {
  base_ = base;
  while (!far_.empty() && far_.top().cycle - base < Slots) {
    const far_wake next = far_.top();
    far_.pop();
    put(*next.who, next.cycle);
  }
}

cycle_t core_clock::next_due(cycle_t from) const {
  const auto start = static_cast<unsigned>(from & SlotMask);
  const unsigned first = start / 64;
  const std::uint64_t rest = occupied_[first] & (~std::uint64_t{0} << (start % 64));
  if (rest != 0) {
    return from + (first * 64 + static_cast<unsigned>(std::countr_zero(rest)) - start);
  }
  if (occupied_words_ != 0) {
    // Around the wheel from the next word on; back at the first one only what lies before `start`
    // is left.
    const std::uint64_t turned = std::rotr(occupied_words_, static_cast<int>(first + 1));
    const unsigned word = (first + 1 + static_cast<unsigned>(std::countr_zero(turned))) % 64;
    const auto slot = word * 64 + static_cast<unsigned>(std::countr_zero(occupied_[word]));
    return from + ((slot - start) & SlotMask);
  }
  return far_.empty() ? NeverCycle : far_.top().cycle;
}

/// Its wakes become the batch.
void core_clock::take_slot(unsigned slot) {
  slot_list& list = slots_[slot];
  for (std::uint32_t at = list.first; at != None;) {
    node& each = nodes_[at];
    batch_.push_back(each.who);
    const std::uint32_t next = std::exchange(each.next, free_node_);
    free_node_ = std::exchange(at, next);
  }
  list = {};
}

void core_clock::evaluate(clocked& who, cycle_t t) {
  who.next_wake_ = std::exchange(who.after_, NeverCycle);
  ++wakes_;
  who.on_cycle(t);
}

void core_clock::run_due() {
  const cycle_t t = now_ps() / period_;
  now_ = t;
  running_ = true;
  import_far(t);
  const auto slot = static_cast<unsigned>(t & SlotMask);
  take_slot(slot);
  if ((occupied_[slot / 64] &= ~(std::uint64_t{1} << (slot % 64))) == 0) {
    occupied_words_ &= ~(std::uint64_t{1} << (slot / 64));
  }
  if (shuffle_ != nullptr) {
    for (std::size_t i = batch_.size(); i > 1; --i) {
      std::swap(batch_[i - 1], batch_[shuffle_->below(i)]);
    }
  }
  for (clocked* who : batch_) {
    // A stale entry: the component was woken earlier and has re-armed another cycle since.
    if (who->next_wake_ != t) {
      continue;
    }
    if (who->late_) {
      late_.push_back(who);
    } else {
      evaluate(*who, t);
    }
  }
  late_phase_ = true;
  for (clocked* who : late_) {
    if (who->next_wake_ == t) {
      evaluate(*who, t);
    }
  }
  late_phase_ = false;
  batch_.clear();
  late_.clear();
  running_ = false;
  const cycle_t next = next_due(t + 1);
  if (next != NeverCycle) {
    schedule(time_of(next));
  }
}

void require_picosecond_resolution() {
  if (sc_core::sc_get_time_resolution() != sc_core::sc_time(1, sc_core::SC_PS)) {
    throw config_error(fmt::format("SystemC time resolution is {}; Carillon needs 1 ps",
                                   sc_core::sc_get_time_resolution().to_string()));
  }
}

}  // namespace carillon
