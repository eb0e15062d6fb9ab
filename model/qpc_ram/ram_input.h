// An input of the context RAM as its rules see it: they take the item themselves, or follow what
// the RTL took.
#pragma once

#include "common/error.h"
#include "common/stream.h"

namespace carillon {

template <class T>
class ram_input final : stream_tap<T> {
 public:
  ram_input(stream<T>& from, bool decides) : from_(from), decides_(decides) {
    if (!decides) {
      from.tap(this);
    }
  }

  ram_input(const ram_input&) = delete;
  ram_input& operator=(const ram_input&) = delete;

  [[nodiscard]] stream<T>& base() const { return from_; }

  /// An item can be taken in cycle t.
  [[nodiscard]] bool offered(cycle_t t) const { return from_.takeable(t) || followed(t); }

  [[nodiscard]] const T& item(cycle_t t) const { return followed(t) ? taken_ : from_.front(); }

  T take(cycle_t t) {
    took_ = t;
    if (decides_) {
      return from_.take(t);
    }
    CARILLON_CHECK(from_.taken_in(t), "{}: the RTL does not take what it should in cycle {}",
                   from_.name(), t);
    return taken_;
  }

  /// At the end of cycle t: nobody took what should have waited.
  void check(cycle_t t) const {
    CARILLON_CHECK(!followed(t) || took_ == t, "{}: the RTL takes what it should not in cycle {}",
                   from_.name(), t);
  }

 private:
  [[nodiscard]] bool followed(cycle_t t) const { return !decides_ && from_.taken_in(t); }

  void on_take(cycle_t /*t*/, const T& item) override { taken_ = item; }

  stream<T>& from_;
  bool decides_;
  T taken_{};
  cycle_t took_ = NeverCycle;
};

}  // namespace carillon
