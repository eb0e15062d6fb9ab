// A value that crosses stages without being an item: BAR values, pause, enables, rates.
//
// One writer. What is written in cycle t is read from t+1 on, whatever the order of evaluation;
// readers that subscribed are woken in t+1 when the value changes.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "common/error.h"
#include "common/types.h"

namespace carillon {

template <class T>
class level {
 public:
  level(core_clock& clock, std::string name, T initial)
      : clock_(clock), name_(std::move(name)), before_(initial), value_(std::move(initial)) {}

  /// The value as seen in cycle t.
  [[nodiscard]] const T& read(cycle_t t) const {
    return written_any_ && written_ >= t ? before_ : value_;
  }

  /// Counts the changes that are seen in cycle t: a reader that keeps the number knows whether it
  /// has to look again.
  [[nodiscard]] std::uint64_t changes(cycle_t t) const {
    return written_any_ && written_ >= t ? changes_before_ : changes_;
  }

  /// Takes effect in t+1. A second write in the same cycle replaces the first.
  void write(cycle_t t, T value) {
    CARILLON_CHECK(!written_any_ || t >= written_, "level {}: written in cycle {} after cycle {}",
                   name_, t, written_);
    if (!written_any_ || written_ < t) {
      before_ = value_;
      changes_before_ = changes_;
    }
    written_any_ = true;
    written_ = t;
    if (value_ == value) {
      return;
    }
    value_ = std::move(value);
    ++changes_;
    for (clocked* reader : readers_) {
      clock_.wake(*reader, t + 1);
    }
  }

  void wakes(clocked& reader) { readers_.push_back(&reader); }

  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  core_clock& clock_;
  std::string name_;
  T before_;
  T value_;
  cycle_t written_ = 0;
  std::uint64_t changes_ = 0;
  std::uint64_t changes_before_ = 0;
  bool written_any_ = false;
  std::vector<clocked*> readers_;
};

}  // namespace carillon
