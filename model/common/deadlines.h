// The deadlines of many queues, without time of their own.
//
// A deadline moves far more often than it comes, so what is kept in order is when a queue has to be
// looked at: moving a deadline back costs nothing, and the queue finds its new place when its old
// one comes up. Each queue has one place at most.
#pragma once

#include <cstddef>
#include <cstdint>
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
  [[nodiscard]] cycle_t look() const { return heap_.empty() ? NeverCycle : heap_.front().cycle; }

  /// The earliest deadline.
  cycle_t earliest();

  /// Takes a queue whose deadline is in cycle t or before it, and clears it; false if there is
  /// none. In the order of deadlines, then of numbers.
  bool take_due(cycle_t t, std::uint32_t& number);

  /// Queues that have a place.
  [[nodiscard]] std::size_t listed() const { return heap_.size(); }

 private:
  static constexpr std::uint32_t None = 0xffffffff;

  struct queue_deadline {
    cycle_t deadline = NeverCycle;
    std::uint32_t at = None;  ///< index in the heap
  };

  struct place {
    cycle_t cycle;
    std::uint32_t number;

    bool operator<(const place& other) const {
      return cycle != other.cycle ? cycle < other.cycle : number < other.number;
    }
  };

  void put(std::size_t at, const place& what);
  void rise(std::size_t at);
  void sink(std::size_t at);
  void drop_first();

  std::vector<queue_deadline> queues_;
  std::vector<place> heap_;  ///< the earliest in front; the children of i are 2i + 1 and 2i + 2
};

}  // namespace carillon
