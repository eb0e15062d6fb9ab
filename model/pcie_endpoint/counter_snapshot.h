// The counters as they were at the end of a cycle. Other stages count in the cycle in which a
// command shows what was counted; seen at its end, their order makes no difference.
#pragma once

#include <string>
#include <utility>

#include "common/clock.h"
#include "common/counters.h"
#include "common/types.h"

namespace carillon {

class counter_snapshot final : public clocked {
 public:
  /// Both must live as long.
  counter_snapshot(core_clock& clock, const counter_block& of, std::string path)
      : clock_(clock), of_(of), path_(std::move(path)) {
    evaluate_late();
  }

  /// At the end of cycle `when`, which is `now` or later; called while cycle `now` is evaluated.
  void take(cycle_t now, cycle_t when) {
    if (when > now) {
      clock_.wake(*this, when);
    } else {
      clock_.wake_late(*this);
    }
  }

  [[nodiscard]] const counter_block& seen() const { return seen_; }

 private:
  void on_cycle(cycle_t /*t*/) override { seen_ = of_; }

  [[nodiscard]] std::string path() const override { return path_; }

  core_clock& clock_;
  const counter_block& of_;
  std::string path_;
  counter_block seen_;
};

}  // namespace carillon
