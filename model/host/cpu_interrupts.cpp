// What interrupts do to a core: handlers take its time, programs sleep until they have run.
#include <algorithm>
#include <utility>

#include "common/error.h"
#include "host/cpu.h"
#include "host/interrupts.h"

namespace carillon {

void cpu::interrupt(interrupt_line& line, trace_ref trace) {
  const ps_t now = now_ps();
  if (line.begins_ > now) {
    ++line.coalesced_;
    return;
  }
  const ps_t entry = now + static_cast<ps_t>(context_.params.cpu.interrupt_ps);
  const ps_t begin = std::max(entry, handlers_end_);
  const ps_t end = begin + static_cast<ps_t>(context_.params.cpu.interrupt_handler_ps);
  trace = context_.trace.service(trace, interrupt_site_, now, entry);
  trace = context_.trace.wait(trace, interrupt_site_, interrupt_reason_, entry, begin);
  trace = context_.trace.service(trace, interrupt_site_, begin, end);
  line.begins_ = begin;
  handlers_end_ = end;
  handlers_.push({&line, trace});
  at(end, event::handled);
  // Whatever the program had worked out beyond the handler's begin comes later; if it works beyond
  // it from now on, it will see the handler in its way.
  if (begin < worked_until_) {
    owed_ += end - begin;
  } else {
    taken_.push({begin, end});
  }
}

void cpu::end_handler(ps_t now) {
  const handler done = handlers_.pop();
  interrupt_line& line = *done.line;
  line.history_ = done.history;
  ++line.handled_;
  line.ran_ = true;
  if (line.sleeper_ != nullptr) {
    cpu& sleeper = *std::exchange(line.sleeper_, nullptr);
    // It may have fallen asleep later than it thought.
    sleeper.time_ = sleeper.after_handlers(sleeper.time_);
    sleeper.woken_ = std::max(now, sleeper.time_);
    sleeper.at(sleeper.woken_, event::resume);
  }
}

/// When a program that could act at `from` really can: handlers that ran since its last step, and
/// one that runs at that moment, come first.
ps_t cpu::after_handlers(ps_t from) {
  const bool works = owed_ != 0;
  ps_t when = from + std::exchange(owed_, 0);
  while (!taken_.empty() && taken_.front().begin <= when) {
    const handler_time next = taken_.pop();
    if (next.end > from) {
      when += next.end - std::max(next.begin, from);
    }
  }
  if (when != from) {
    interrupted_from_ = from == interrupted_to_ ? interrupted_from_ : from;
    interrupted_to_ = when;
    worked_until_ = works ? when : worked_until_;
  }
  return when;
}

trace_ref cpu::caught_up(trace_ref history) {
  if (interrupted_to_ == 0 || !context_.trace.live(history)) {
    return history;
  }
  const ps_t end = context_.trace.end_of(history);
  return end < interrupted_from_ || end >= interrupted_to_
             ? history
             : context_.trace.wait(history, site_, interrupt_reason_, end, interrupted_to_);
}

bool cpu::interrupt_awaiter::await_ready() const {
  return line.ran_ && core.time_ == now_ps();
}

void cpu::interrupt_awaiter::await_suspend(std::coroutine_handle<> waiting) const {
  core.start_sleep(line, waiting);
}

void cpu::interrupt_awaiter::await_resume() const {
  line.ran_ = false;
  core.woken_by_ = std::exchange(line.history_, trace_ref{});
}

void cpu::start_sleep(interrupt_line& line, std::coroutine_handle<> waiting) {
  CARILLON_CHECK(line.sleeper_ == nullptr, "{}: two programs wait for the same interrupt",
                 this->name());
  waiting_ = waiting;
  slept_from_ = time_;
  woken_ = time_;
  if (line.ran_) {
    at(time_, event::resume);
    return;
  }
  line.sleeper_ = this;
}

}  // namespace carillon
