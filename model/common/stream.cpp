#include "common/stream.h"

#include <algorithm>

namespace carillon {

stream_base::stream_base(sim_context& context, std::string name, unsigned depth, unsigned max_beats)
    : context_(context),
      name_(std::move(name)),
      id_(static_cast<std::uint32_t>(context.streams.size())),
      depth_(depth),
      max_beats_(max_beats),
      capacity_(depth),
      order_reason_(context.trace.intern("order")),
      entries_(depth),
      available_(depth) {
  if (depth < max_beats || max_beats == 0) {
    throw config_error(
        fmt::format("{}: depth {} is less than one item of {} beats; allowed: at least {}", name_,
                    depth, max_beats, max_beats));
  }
  context.streams.push_back(this);
}

void stream_base::from(clocked& producer, trace_site site) {
  CARILLON_CHECK(producer_ == nullptr, "{}: a second producer {}", name_, producer.path());
  producer_ = &producer;
  producer_site_ = site;
}

void stream_base::to(clocked& consumer, trace_site site) {
  CARILLON_CHECK(consumer_ == nullptr, "{}: a second consumer {}", name_, consumer.path());
  consumer_ = &consumer;
  consumer_site_ = site;
}

unsigned stream_base::fold(cycle_t t) {
  while (returns_head_ < returns_.size()) {
    credit_return& oldest = returns_[returns_head_];
    if (oldest.first > t) {
      break;
    }
    const auto due =
        static_cast<std::uint32_t>(std::min<cycle_t>(oldest.beats, t - oldest.first + 1));
    available_ += due - oldest.folded;
    oldest.folded = due;
    if (due < oldest.beats) {
      break;
    }
    ++returns_head_;
  }
  if (returns_head_ == returns_.size()) {
    returns_.clear();
    returns_head_ = 0;
  } else if (returns_head_ >= 64) {
    returns_.erase(returns_.begin(), returns_.begin() + static_cast<std::ptrdiff_t>(returns_head_));
    returns_head_ = 0;
  }
  return available_;
}

cycle_t stream_base::credit_cycle(unsigned beats) const {
  unsigned have = available_;
  if (have >= beats) {
    return 0;
  }
  for (std::size_t i = returns_head_; i < returns_.size(); ++i) {
    const credit_return& pending = returns_[i];
    const unsigned left = pending.beats - pending.folded;
    if (have + left >= beats) {
      return pending.first + pending.folded + (beats - have) - 1;
    }
    have += left;
  }
  return NeverCycle;
}

void stream_base::ask_credit(cycle_t t, unsigned beats) {
  CARILLON_CHECK(beats <= depth_, "{}: {} credits asked of a depth of {}", name_, beats, depth_);
  if (fold(t) >= beats) {
    asked_ = 0;
    context_.clock.wake(*producer_, t + 1);
    return;
  }
  const cycle_t when = credit_cycle(beats);
  if (when == NeverCycle) {
    // A pop to come wakes the producer, for the smallest of what it asked for.
    asked_ = asked_ == 0 ? beats : std::min(asked_, beats);
    return;
  }
  asked_ = 0;
  context_.clock.wake(*producer_, std::max(when, t + 1));
}

void stream_base::reserve(cycle_t t, unsigned beats) {
  CARILLON_CHECK(has_credit(t, beats), "{}: {} beats accepted with {} credits in cycle {}", name_,
                 beats, available_, t);
  available_ -= beats;
  reserved_ += beats;
}

void stream_base::cancel(cycle_t t, unsigned beats) {
  CARILLON_CHECK(reserved_ >= beats, "{}: {} beats cancelled in cycle {} of {} reserved", name_,
                 beats, t, reserved_);
  reserved_ -= beats;
  available_ += beats;
  if (asked_ != 0 && fold(t) >= asked_) {
    asked_ = 0;
    context_.clock.wake(*producer_, t + 1);
  }
}

void stream_base::wake_consumer(cycle_t t) {
  if (consumer_ != nullptr) {
    context_.clock.wake(*consumer_, t);
  }
  if (companion_ != nullptr) {
    context_.clock.wake(*companion_, t);
  }
}

trace_ref stream_base::book_push(cycle_t t, unsigned latency, unsigned beats, bool reserved,
                                 trace_ref history) {
  CARILLON_CHECK(latency >= 1, "{}: pushed with latency 0 in cycle {}", name_, t);
  CARILLON_CHECK(beats >= 1 && beats <= max_beats_, "{}: an item of {} beats, allowed 1..{}", name_,
                 beats, max_beats_);
  if (!reserved) {
    reserve(t, beats);
  }
  CARILLON_CHECK(reserved_ >= beats, "{}: {} beats pushed in cycle {} of {} reserved", name_, beats,
                 t, reserved_);
  reserved_ -= beats;
  const cycle_t visible = t + latency;
  CARILLON_CHECK(
      visible >= port_free_,
      "{}: an item visible in cycle {} while the previous one occupies the port until {}", name_,
      visible, port_free_);
  port_free_ = visible + beats;
  entries_[tail()] = {visible, beats};
  ++count_;
  // Behind another item it is that item's take that wakes the consumer.
  if (count_ == 1) {
    wake_consumer(std::max(visible, busy_until_));
  }
  const core_clock& clock = context_.clock;
  return context_.trace.service(history, producer_site_, clock.time_of(t), clock.time_of(visible));
}

void stream_base::explain(cycle_t t, name_id reason) {
  if (waits_.empty()) {
    CARILLON_CHECK(
        t == next_take(),
        "{}: unexplained cycles {}..{}: its front item was takeable but {} was not evaluated",
        name_, next_take(), t, consumer_ != nullptr ? consumer_->path() : "nobody");
  } else if (waits_.back().reason == reason) {
    return;
  }
  waits_.push_back({t, reason});
}

trace_ref stream_base::book_take(cycle_t t, trace_ref history) {
  CARILLON_CHECK(takeable(t), "{}: nothing to take in cycle {}", name_, t);
  const entry front = entries_[head_];
  const cycle_t reachable = std::max(front.visible, busy_until_);
  const core_clock& clock = context_.clock;
  CARILLON_CHECK(!waits_.empty() || t == reachable,
                 "{}: unexplained cycles {}..{}: nobody said why its front item waited", name_,
                 reachable, t);
  trace_ref result = context_.trace.wait(history, consumer_site_, order_reason_,
                                         clock.time_of(front.visible), clock.time_of(reachable));
  for (std::size_t i = 0; i < waits_.size(); ++i) {
    const cycle_t until = i + 1 < waits_.size() ? waits_[i + 1].from : t;
    result = context_.trace.wait(result, consumer_site_, waits_[i].reason,
                                 clock.time_of(waits_[i].from), clock.time_of(until));
  }
  waits_.clear();
  if (context_.transfers != nullptr && !private_) {
    context_.transfers->on_transfer({t, front.visible, id_, history.message, front.beats});
  }
  head_ = head_ + 1 == capacity_ ? 0 : head_ + 1;
  --count_;
  last_taken_ = t;
  last_taken_visible_ = front.visible;
  taken_any_ = true;
  busy_until_ = t + front.beats;
  returns_.push_back({t + 1, front.beats, 0});
  if (asked_ != 0 && producer_ != nullptr) {
    const cycle_t when = credit_cycle(asked_);
    if (when != NeverCycle) {
      asked_ = 0;
      context_.clock.wake(*producer_, std::max(when, t + 1));
    }
  }
  if (count_ != 0) {
    wake_consumer(std::max(next_take(), t + 1));
  }
  return result;
}

void stream_base::check_drained() const {
  CARILLON_CHECK(count_ == 0, "{}: {} items left at the end of the run; {} did not take them",
                 name_, count_, consumer_ != nullptr ? consumer_->path() : "nobody");
  unsigned home = available_;
  for (std::size_t i = returns_head_; i < returns_.size(); ++i) {
    home += returns_[i].beats - returns_[i].folded;
  }
  CARILLON_CHECK(home == depth_,
                 "{}: {} of {} credits home at the end of the run; {} holds the rest", name_, home,
                 depth_, producer_ != nullptr ? producer_->path() : "nobody");
}

void sim_context::check_drained() const {
  for (const stream_base* each : streams) {
    each->check_drained();
  }
}

}  // namespace carillon
