#include "uar/uar_rules.h"

#include <bit>

#include "gen/contexts.h"
#include "gen/stages.h"
#include "gen/wqe.h"
#include "uar/queue_doorbells.h"

namespace carillon {

namespace {

namespace spec = stage_spec::uar;
namespace ram = stage_spec::qpc_ram;

/// Events that one write leads to, at most: a burst is discarded, and the write is another.
constexpr unsigned MostEvents = 2;

/// Bits of a page's number in the BAR of a function.
unsigned log_pages(const parameters& params) {
  const auto pages = std::bit_ceil(static_cast<std::uint64_t>(params.nic.uar_pages));
  const auto functions = static_cast<std::uint64_t>(params.nic.total_vfs) + 1;
  if (pages * functions > spec::Pages) {
    throw config_error(fmt::format(
        "nic.uar_pages = {} for {} functions; allowed: {} pages in all, counted in powers of two "
        "for each function",
        params.nic.uar_pages, functions, spec::Pages));
  }
  return static_cast<unsigned>(std::countr_zero(pages));
}

}  // namespace

uar_rules::uar_rules(nic_shared& nic, trace_site site, const uar_ports& io)
    : nic_(nic),
      site_(site),
      burst_reason_(nic.context.trace.intern("burst")),
      lookup_reason_(nic.context.trace.intern("credit:lookup")),
      io_(io),
      log_pages_(log_pages(nic.context.params)),
      core_(static_cast<unsigned>(nic.context.params.uar.bf_slots),
            static_cast<cycle_t>(nic.context.params.uar.bf_timeout_cycles), nic.counters) {
  CARILLON_CHECK(nic.context.params.uar.bf_slots <= spec::Bursts, "{} slots, {} are built",
                 nic.context.params.uar.bf_slots, spec::Bursts);
  const auto require = [](const stream_base& port, unsigned depth) {
    if (port.depth() != depth) {
      throw config_error(
          fmt::format("{}: depth {}, but uar is built for {}", port.name(), port.depth(), depth));
    }
  };
  require(io.context_reads, spec::CtxReadDepth);
  require(io.doorbells, spec::Depth);
  require(io.queue_doorbells, spec::Depth);
  require(io.answers, spec::AnswerDepth);
  if (io.context_lines.depth() < spec::Lookups) {
    throw config_error(fmt::format("{}: depth {} is less than the {} answers that may be under way",
                                   io.context_lines.name(), io.context_lines.depth(),
                                   spec::Lookups));
  }
  io_.writes.tap(&write_tap_);
  io_.context_lines.tap(&line_tap_);
  io_.reads.tap(&read_tap_);
}

std::vector<twin_rules::wait_list> uar_rules::waits() {
  return {
      {&io_.context_lines, {blocker::credit(io_.doorbells)}},
      {&io_.writes,
       {blocker::condition("lookups", [this](cycle_t t) { return lookups_full(t); }),
        blocker::credit(io_.queue_doorbells)}},
      {&io_.reads,
       {blocker::condition("posted_writes", [this](cycle_t t) { return earlier_writes_open(t); }),
        blocker::credit(io_.answers)}},
  };
}

void uar_rules::settle(cycle_t t) {
  while (core_.next_timeout() <= t) {
    const cycle_t due = core_.next_timeout();
    core_.expire(due, events_);
    last_timeout_ = due;
    timeout_events_ = add_events(due);
    if (barrier_ && !passed_) {
      lookups_left_ += timeout_events_;
    }
  }
}

unsigned uar_rules::add_events(cycle_t t) {
  tracer& trace = nic_.context.trace;
  const auto count = static_cast<unsigned>(events_.size());
  for (uar_event& event : events_) {
    // The control segment of a discarded burst came some time ago.
    event.trace = trace.wait(event.trace, site_, burst_reason_, trace.end_of(event.trace),
                             nic_.context.clock.time_of(t));
    lookups_.push(event);
  }
  events_.clear();
  return count;
}

bool uar_rules::lookups_full(cycle_t t) {
  settle(t);
  const std::size_t before = lookups_.size() - (last_timeout_ == t ? timeout_events_ : 0);
  return before + MostEvents > spec::Lookups;
}

void uar_rules::took_write(cycle_t t, const mmio_write& item) {
  settle(t);
  last_write_ = t;
  write_events_ = 0;
  write_counted_ = barrier_ && writes_left_ != 0;
  const uar_page_id page{item.function, static_cast<std::uint32_t>(item.offset / UarPageBytes)};
  const auto offset = static_cast<std::uint32_t>(item.offset % UarPageBytes);
  CARILLON_CHECK(page.page >> log_pages_ == 0 && page.function <= nic_.context.params.nic.total_vfs,
                 "{}: a write to page {} of function {} in cycle {}", io_.writes.name(), page.page,
                 page.function, t);
  queue_bell_ = decode_queue_doorbell(offset, item.data.data(), item.length);
  if (queue_bell_) {
    queue_bell_->function = page.function;
    queue_bell_->uar_page = page.page;
    io_.queue_doorbells.reserve(t, 1);
    queue_bells_.push({item.trace, t});
  } else {
    core_.write(t, page, offset, item.data.data(), item.length, item.trace, events_);
    write_events_ = add_events(t);
  }
  if (!barrier_) {
    return;
  }
  if (write_counted_) {
    --writes_left_;
    lookups_left_ += write_events_;
  } else {
    passed_ = true;
  }
}

void uar_rules::took_line(cycle_t t, const context_line& line) {
  settle(t);
  CARILLON_CHECK(!lookups_.empty(), "{}: a context line in cycle {} that no event waits for",
                 io_.context_lines.name(), t);
  rung_ = lookups_.pop();
  --sent_;
  if (lookups_left_ != 0) {
    --lookups_left_;
  }
  const qpc_common owner = qpc_common::unpack(line.data.data());
  accepted_ = line.valid && owner.valid != 0 && owner.function_id == rung_.page.function &&
              owner.uar_page == rung_.page.page;
  if (!accepted_) {
    nic_.counters.add_for(rung_.page.function, counter::DbIgnoredOwner);
    return;
  }
  nic_.counters.add_for(rung_.page.function, counter::Doorbells);
  core_.accepted(rung_.page, rung_.record);
  io_.doorbells.reserve(t, 1);
  bells_.push({line.trace, t});
}

void uar_rules::took_read(cycle_t t, const mmio_read& item) {
  settle(t);
  barrier_ = false;
  writes_left_ = 0;
  lookups_left_ = 0;
  io_.answers.reserve(t, 1);
  answers_.push({item.trace, t});
}

void uar_rules::set_barrier(cycle_t t) {
  barrier_ = true;
  passed_ = false;
  writes_left_ = io_.writes.size();
  io_.writes.in_flight(t, [&](const mmio_write&) { --writes_left_; });
  lookups_left_ = lookups_.size();
  // One that is taken in this very cycle came before.
  write_counted_ = last_write_ == t;
}

bool uar_rules::earlier_writes_open(cycle_t t) {
  settle(t);
  if (!barrier_) {
    set_barrier(t);
  }
  const bool now = last_write_ == t && write_counted_;
  return writes_left_ + (now ? 1 : 0) != 0 || lookups_left_ - (now ? write_events_ : 0) != 0;
}

const uar_event* uar_rules::to_look_up() const {
  return sent_ == lookups_.size() || sent_ >= spec::Lookups ? nullptr : &lookups_[sent_];
}

twin_rules::departure uar_rules::departs(unsigned port, cycle_t visible) {
  if (port == uar_ports::CtxRead) {
    const cycle_t leaves = visible - ram::Hop;
    settle(leaves);
    CARILLON_CHECK(to_look_up() != nullptr, "{}: a read visible in cycle {} that nobody asked for",
                   io_.context_reads.name(), visible);
    tracer& trace = nic_.context.trace;
    const trace_ref history = lookups_[sent_++].trace;
    io_.context_reads.reserve(leaves, 1);
    return {trace.wait(history, site_, lookup_reason_, trace.end_of(history),
                       nic_.context.clock.time_of(leaves)),
            leaves};
  }
  ring<leaving>& items = port == uar_ports::Doorbell        ? bells_
                         : port == uar_ports::QueueDoorbell ? queue_bells_
                                                            : answers_;
  CARILLON_CHECK(!items.empty() && items.front().taken < visible,
                 "{}: an item visible in cycle {}, before it can be known", io_.all()[port]->name(),
                 visible);
  const leaving left = items.pop();
  return {left.history, left.taken};
}

}  // namespace carillon
