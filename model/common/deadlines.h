// The deadlines of many queues, without time of their own.
//
// A deadline moves far more often than it comes, so what is kept in order is when a queue has to be
// looked at: moving a deadline back costs nothing, and the queue is listed anew when its old place
// comes up.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "common/types.h"

namespace carillon {

class deadlines {
 public:
  explicit deadlines(std::size_t queues) : queues_(queues) {}

  void set(std::uint32_t number, cycle_t deadline);

  void clear(std::uint32_t number) { queues_[number].deadline = NeverCycle; }

  [[nodiscard]] bool running(std::uint32_t number) const {
    return queues_[number].deadline != NeverCycle;
  }

  /// When something has to be looked at; no deadline is earlier.
  [[nodiscard]] cycle_t look() const { return list_.empty() ? NeverCycle : list_.top().cycle; }

  /// The earliest deadline.
  cycle_t earliest();

  /// Takes a queue whose deadline is in cycle t or before it, and clears it; false if there is
  /// none. In the order of deadlines, then of numbers.
  bool take_due(cycle_t t, std::uint32_t& number);

 private:
  struct queue_deadline {
    cycle_t deadline = NeverCycle;
    cycle_t listed = NeverCycle;
  };

  struct place {
    cycle_t cycle;
    std::uint32_t number;

    bool operator<(const place& other) const {
      return cycle != other.cycle ? cycle > other.cycle : number > other.number;
    }
  };

  std::vector<queue_deadline> queues_;
  std::priority_queue<place> list_;
};

}  // namespace carillon
