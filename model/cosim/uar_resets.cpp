#include "cosim/uar_resets.h"

#include <algorithm>
#include <utility>

#include "uar/queue_doorbells.h"

namespace carillon {

namespace {

/// A reset that lasts so long outlives most of what was under way when it began.
constexpr cycle_t LongCycles = 300;

/// Bursts that time out so late are ended by a reset of all functions, so long after the last
/// store.
constexpr std::int64_t LateTimeout = 1 << 20;
constexpr cycle_t EndCycles = 5000;

}  // namespace

function_map uar_resets::all_there(const parameters& params) {
  function_map map;
  map.vfs = static_cast<std::uint16_t>(params.nic.total_vfs);
  map.functions.resize(map.vfs + std::size_t{1});
  return map;
}

uar_resets::uar_resets(const char* name, sim_context& context, const uar_contexts& what,
                       const ports& io, std::uint64_t seed, coverage& cover,
                       std::function<bool()> more)
    : stage(name, context, "bench"),
      what_(what),
      io_(io),
      random_(seed, this->name()),
      cover_(cover),
      more_(std::move(more)),
      map_(all_there(context.params)),
      until_(map_.functions.size()),
      pages_(static_cast<unsigned>(context.params.uar.bf_slots),
             static_cast<cycle_t>(context.params.uar.bf_timeout_cycles), counters_) {
  for (const uar_page_id& page : what.pages) {
    if (functions_.empty() || functions_.back() != page.function) {
      functions_.push_back(page.function);
    }
  }
  io_.writes.tap(&write_watch_);
  io_.reads.tap(&read_watch_);
  io_.lines.tap(&line_watch_);
  next_ = 1 + random_.below(200);
  wake(next_);
}

void uar_resets::evaluate(cycle_t t) {
  // The stage sees now what was written in the cycle before.
  pages_.expire(t - 1, events_);
  for (const std::uint16_t function : begun_) {
    forget(function);
  }
  begun_.clear();
  const function_map before = map_;
  for (const std::uint16_t function : functions_) {
    if (until_[function] != 0 && until_[function] <= t) {
      until_[function] = 0;
      map_.functions[function].resetting = false;
    }
  }
  if (vfs_until_ != 0 && vfs_until_ <= t) {
    vfs_until_ = 0;
    map_.vfs = all_there(context_.params).vfs;
  }
  const bool goes_on = more_();
  if (goes_on && next_ <= t) {
    begin(t);
  }
  if (!goes_on && end_ == 0 && context_.params.uar.bf_timeout_cycles >= LateTimeout) {
    end_ = t + EndCycles;
  }
  if (end_ == t) {
    for (const std::uint16_t function : functions_) {
      reset(function, t + 1);
    }
  }
  if (map_ != before) {
    io_.functions.write(t, map_);
  }
  cycle_t next = goes_on ? next_ : NeverCycle;
  for (const cycle_t end : until_) {
    next = end == 0 ? next : std::min(next, end);
  }
  next = vfs_until_ == 0 ? next : std::min(next, vfs_until_);
  next = end_ <= t ? next : std::min(next, end_);
  next = begun_.empty() ? next : t + 1;
  if (next != NeverCycle) {
    wake(std::max(next, t + 1));
  }
}

cycle_t uar_resets::some_time() {
  switch (random_.below(8)) {
    case 0:
    case 1:
      cover_.hit("reset.one_cycle");
      return 1;
    case 2:
      return random_.between(2, 4);
    case 3:
      cover_.hit("reset.long");
      return random_.between(LongCycles, 2 * LongCycles);
    default:
      return random_.between(1, 60);
  }
}

void uar_resets::begin(cycle_t t) {
  const auto pick = [this] {
    return functions_[random_.chance(1, 16) ? 0 : random_.below(functions_.size())];
  };
  const std::uint64_t kind = random_.below(16);
  // Of many functions, one alone meets little.
  const std::uint64_t together = functions_.size() > 50 ? 6 : 1;
  if (kind < together && vfs_until_ == 0 && map_.vfs != 0) {
    cover_.hit("reset.all_vfs");
    vfs_until_ = t + some_time();
    map_.vfs = 0;
    for (const std::uint16_t function : functions_) {
      if (function != 0) {
        reset(function, vfs_until_);
      }
    }
  } else {
    reset(pick(), t + some_time());
    if (kind % 4 == 1) {
      reset(pick(), t + some_time());
    }
  }
  // One after another for a while, or none for long.
  next_ = t + (random_.chance(1, 3) ? random_.between(1, 50) : random_.between(20, 500));
}

void uar_resets::reset(std::uint16_t function, cycle_t until) {
  if (until_[function] != 0) {
    return;
  }
  for (const std::uint16_t other : functions_) {
    cover_.hit_if(until_[other] != 0, "reset.two_at_once");
  }
  cover_.hit_if(function == 0, "reset.pf");
  until_[function] = until;
  map_.functions[function].resetting = true;
  ++map_.resets;
  begun_.push_back(function);
}

void uar_resets::forget(std::uint16_t function) {
  const uar_core::remains lost = pages_.forget(function);
  cover_.hit_if(lost.bursts == 1, "reset.burst");
  cover_.hit_if(lost.bursts > 1, "reset.bursts");
  cover_.hit_if(lost.dead != 0, "reset.dead_burst");
  cover_.hit_if(lost.halves != 0, "reset.half");
  cover_.hit_if(lost.records != 0, "reset.record");
}

void uar_resets::note(const doorbell& bell) {
  pages_.accepted({bell.function, what_.find(bell.qpn)->uar_page}, {});
}

void uar_resets::took_write(cycle_t t, const mmio_write& item) {
  const uar_page_id page{item.function, static_cast<std::uint32_t>(item.offset / UarPageBytes)};
  const auto offset = static_cast<std::uint32_t>(item.offset % UarPageBytes);
  const bool queue = decode_queue_doorbell(offset, item.data.data(), item.length).has_value();
  const bool before = t != 0 && gone(t - 1, item.function);
  if (gone(t, item.function)) {
    cover_.hit(queue ? "reset.queue" : "reset.store");
    cover_.hit_if(!before, "reset.store_at_once");
    return;
  }
  cover_.hit_if(before, "reset.store_right_after");
  if (!queue) {
    pages_.expire(t, events_);
    pages_.write(t, page, offset, item.data.data(), item.length, {}, events_);
    events_.clear();
  }
}

void uar_resets::took_read(cycle_t t, const mmio_read& item) {
  cover_.hit_if(gone(t, item.function), "reset.load");
}

void uar_resets::took_line(cycle_t t, const context_line& line) {
  const qpc_common* const qp = what_.find(line.index);
  cover_.hit_if(qp != nullptr && gone(t, qp->function_id), "reset.lookup");
}

}  // namespace carillon
