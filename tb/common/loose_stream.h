// A stand-in for stream<token> that can be told to break one rule of the contract. With all rules
// kept it moves the same items in the same cycles as the real one, so a difference is the broken
// rule's.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <utility>

#include "common/context.h"
#include "stream_bench.h"

namespace carillon::bench {

enum class broken_rule : std::uint8_t {
  none,
  visible_in_the_cycle_of_its_push,
  credit_in_the_cycle_of_its_pop,
  ask_forgets_a_pop_of_its_cycle,
};

class loose_stream {
 public:
  loose_stream(sim_context& context, std::string name, unsigned depth, broken_rule broken)
      : context_(context), name_(std::move(name)), available_(depth), broken_(broken) {}

  [[nodiscard]] const std::string& name() const { return name_; }

  void from(clocked& producer, trace_site) { producer_ = &producer; }

  void to(clocked& consumer, trace_site) { consumer_ = &consumer; }

  [[nodiscard]] bool has_credit(cycle_t t, unsigned beats = 1) { return credits(t) >= beats; }

  void ask_credit(cycle_t t, unsigned beats = 1) {
    const unsigned to_come = pending(t);
    if (available_ + to_come >= beats && broken_ != broken_rule::ask_forgets_a_pop_of_its_cycle) {
      context_.clock.wake(*producer_, t + 1);
    } else {
      asked_ = true;
    }
  }

  void push(cycle_t t, unsigned latency, token item) {
    --available_;
    const bool early = broken_ == broken_rule::visible_in_the_cycle_of_its_push;
    items_.push_back({early ? t + latency - 1 : t + latency, std::move(item)});
    if (items_.size() == 1) {
      context_.clock.wake(*consumer_, std::max(items_.front().visible, t + 1));
    }
  }

  [[nodiscard]] bool takeable(cycle_t t) const {
    return !items_.empty() && items_.front().visible <= t && free_ <= t;
  }

  [[nodiscard]] cycle_t next_take() const {
    return items_.empty() ? NeverCycle : std::max(items_.front().visible, free_);
  }

  [[nodiscard]] const token& front() const { return items_.front().item; }

  token take(cycle_t t) {
    token item = std::move(items_.front().item);
    items_.pop_front();
    free_ = t + 1;
    popped_.push_back(broken_ == broken_rule::credit_in_the_cycle_of_its_pop ? t : t + 1);
    if (asked_) {
      asked_ = false;
      context_.clock.wake(*producer_, t + 1);
    }
    if (!items_.empty()) {
      context_.clock.wake(*consumer_, std::max(next_take(), t + 1));
    }
    return item;
  }

  [[nodiscard]] bool empty() const { return items_.empty(); }

 private:
  struct entry {
    cycle_t visible;
    token item;
  };

  unsigned credits(cycle_t t) {
    while (!popped_.empty() && popped_.front() <= t) {
      popped_.pop_front();
      ++available_;
    }
    return available_;
  }

  unsigned pending(cycle_t t) {
    credits(t);
    return static_cast<unsigned>(popped_.size());
  }

  sim_context& context_;
  std::string name_;
  clocked* producer_ = nullptr;
  clocked* consumer_ = nullptr;
  std::deque<entry> items_;
  std::deque<cycle_t> popped_;
  unsigned available_;
  cycle_t free_ = 0;
  bool asked_ = false;
  broken_rule broken_;
};

}  // namespace carillon::bench
