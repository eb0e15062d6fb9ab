// What switches do in a part of a run: after things have settled, and before they come to an end.
#pragma once

#include <optional>
#include <vector>

#include "cli/summary.h"
#include "cli/system.h"
#include "common/timeline.h"

namespace carillon {

class network_window final : private timed {
 public:
  explicit network_window(system_model& system);

  /// It is to last from `from` to `to`; the first call counts.
  void open(ps_t from, ps_t to);

  [[nodiscard]] bool contains(ps_t when) const { return from_ <= when && when < to_; }

  /// What was counted in it; nothing if the run was over before, or there is no switch.
  [[nodiscard]] std::optional<measured_network> measured() const;

 private:
  using port_counters =
      std::vector<switch_port_counters>;  ///< of all switches, one after the other

  void on_time(ps_t now, std::uint64_t what) override;
  [[nodiscard]] port_counters count() const;

  system_model& system_;
  ps_t from_ = NeverPs;
  ps_t to_ = NeverPs;
  port_counters before_;
  port_counters after_;
};

}  // namespace carillon
