// Who takes turns: a list of QPs for each function, of which a bounded number have a place.
//
// Only those in a place are looked at. Who finds none waits outside, in order, and comes in at the
// end of a cycle, one a cycle; while anybody waits outside, who comes anew waits behind them. An
// entry outside that is taken out stays behind as a gap, and is used again if its QP comes back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/ring.h"
#include "tx_sched/number_list.h"

namespace carillon {

class turn_lists {
 public:
  turn_lists(std::size_t owners, std::size_t numbers, std::size_t places)
      : lists_(owners), links_(numbers), at_(numbers), places_(places) {}

  /// True if it has found a place.
  bool push(std::uint16_t owner, std::uint32_t number) {
    if (taken_ == places_ || !outside_.empty()) {
      queue(owner, number);
      return false;
    }
    at_[number].owner = owner;
    come_in(number);
    return true;
  }

  /// It waits outside, behind those that do, and comes in at the end of a cycle.
  void queue(std::uint16_t owner, std::uint32_t number) {
    at_[number].owner = owner;
    at_[number].outside = true;
    if (!at_[number].queued) {
      at_[number].queued = true;
      outside_.push(number);
    }
  }

  void erase(std::uint32_t number) {
    if (at_[number].outside) {
      at_[number].outside = false;
      return;
    }
    links_.erase(lists_[at_[number].owner], number);
    --taken_;
  }

  /// It stays in its place, and is the last to be looked at.
  void to_back(std::uint32_t number) {
    number_list& list = lists_[at_[number].owner];
    links_.erase(list, number);
    links_.push(list, number);
  }

  /// Somebody can come in, or a gap can go.
  [[nodiscard]] bool admits() const { return !outside_.empty() && taken_ != places_; }

  /// Lets in who has waited longest; NoNumber if that is a gap.
  std::uint32_t admit() {
    const std::uint32_t number = outside_.pop();
    at_[number].queued = false;
    if (!at_[number].outside) {
      return NoNumber;
    }
    at_[number].outside = false;
    come_in(number);
    return number;
  }

  [[nodiscard]] std::uint16_t owner_of(std::uint32_t number) const { return at_[number].owner; }

  [[nodiscard]] bool empty(std::uint16_t owner) const { return lists_[owner].empty(); }

  [[nodiscard]] std::uint32_t first(std::uint16_t owner) const { return lists_[owner].first; }

  [[nodiscard]] std::uint32_t behind(std::uint32_t number) const { return links_.behind(number); }

 private:
  struct entry {
    std::uint16_t owner = 0;
    bool outside = false;
    bool queued = false;  ///< `outside_` has it, be it as a gap
  };

  void come_in(std::uint32_t number) {
    links_.push(lists_[at_[number].owner], number);
    ++taken_;
  }

  std::vector<number_list> lists_;
  number_links links_;
  std::vector<entry> at_;
  ring<std::uint32_t> outside_;
  std::size_t places_;
  std::size_t taken_ = 0;
};

}  // namespace carillon
