// Resets of functions in the middle of the traffic of uar's bench, for any time from one cycle on,
// and what they meet.
#pragma once

#include <functional>
#include <vector>

#include "common/counters.h"
#include "common/function_map.h"
#include "common/items.h"
#include "common/level.h"
#include "common/random.h"
#include "common/stage.h"
#include "cosim/coverage.h"
#include "cosim/uar_traffic.h"
#include "uar/uar_core.h"

namespace carillon {

class uar_resets final : public stage {
 public:
  struct ports {
    level<function_map>& functions;
    stream<mmio_write>& writes;
    stream<mmio_read>& reads;
    stream<context_line>& lines;
  };

  /// All functions are there at first.
  static function_map all_there(const parameters& params);

  /// `more` says whether there is traffic to come.
  uar_resets(const char* name, sim_context& context, const uar_contexts& what, const ports& io,
             std::uint64_t seed, coverage& cover, std::function<bool()> more);

  /// A doorbell was accepted.
  void note(const doorbell& bell);

 private:
  /// What the stage is given, as it takes it.
  template <class T>
  struct watch final : stream_tap<T> {
    using handler = void (uar_resets::*)(cycle_t, const T&);

    watch(uar_resets& to, handler which) : owner(to), method(which) {}

    void on_take(cycle_t t, const T& item) override { (owner.*method)(t, item); }

    uar_resets& owner;
    handler method;
  };

  void evaluate(cycle_t t) override;
  void begin(cycle_t t);
  void reset(std::uint16_t function, cycle_t until);
  void forget(std::uint16_t function);
  cycle_t some_time();
  void took_write(cycle_t t, const mmio_write& item);
  void took_read(cycle_t t, const mmio_read& item);
  void took_line(cycle_t t, const context_line& line);

  /// `function` is gone in cycle t.
  [[nodiscard]] bool gone(cycle_t t, std::uint16_t function) const {
    return io_.functions.read(t).gone(function);
  }

  const uar_contexts& what_;
  ports io_;
  random_stream random_;
  coverage& cover_;
  std::function<bool()> more_;
  function_map map_;
  std::vector<std::uint16_t> functions_;  ///< those that are used
  std::vector<cycle_t> until_;            ///< by function: its reset ends; 0: it is not being reset
  cycle_t vfs_until_ = 0;                 ///< there are no VFs; 0: there are
  cycle_t next_ = 0;                      ///< the next reset begins
  cycle_t end_ = 0;                       ///< the last one begins, of all functions; 0: not known
  std::vector<std::uint16_t> begun_;      ///< in the cycle before

  // What the pages know, so as to tell what a reset takes from them.
  counter_block counters_;
  uar_core pages_;
  std::vector<uar_event> events_;
  watch<mmio_write> write_watch_{*this, &uar_resets::took_write};
  watch<mmio_read> read_watch_{*this, &uar_resets::took_read};
  watch<context_line> line_watch_{*this, &uar_resets::took_line};
};

}  // namespace carillon
