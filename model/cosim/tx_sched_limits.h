// In place of rate_control, beside tx_sched: QPs get rates, other ones and none any more, CNPs are
// to be sent, and what QPs with a rate have sent is taken at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "common/random.h"
#include "common/rate_items.h"
#include "common/stage.h"
#include "cosim/bench_parts.h"
#include "cosim/coverage.h"
#include "cosim/tx_sched_traffic.h"
#include "gen/stages.h"
#include "tx_sched.h"

namespace carillon {

class tx_sched_limits final : public stage {
 public:
  using question = std::function<bool(cycle_t t)>;

  /// Once `over`, every rate ends.
  tx_sched_limits(const char* name, sim_context& context, const tx_sched_ports& io,
                  const tx_sched_traffic& what, std::uint64_t seed, coverage& cover, question over)
      : stage(name, context, "bench"),
        io_(io),
        what_(what),
        cover_(cover),
        random_(seed, this->name()),
        over_(std::move(over)),
        slots_(what.queues(), None) {
    io_.limits->from(*this, site());
    io_.charges->to(*this, site());
    watch(*io_.charges, {});
    wake(1);
  }

 private:
  static constexpr std::uint16_t None = 0xffff;
  static constexpr std::uint16_t Slots = 32;
  static constexpr std::uint16_t SlotStep = 8;

  void evaluate(cycle_t t) override {
    if (io_.charges->takeable(t)) {
      io_.charges->take(t);
      cover_.hit("limit.charged");
    }
    if (!io_.limits->has_credit(t)) {
      wake(t + 1);
    } else if (over_(t)) {
      end(t);
    } else {
      if (t >= next_) {
        io_.limits->push(t, 1, make());
        // At times many come at once.
        next_ = t + 1 + random_.below(t / 4096 % 4 == 0 ? 3 : 120);
      }
      wake(t + 1);
    }
  }

  void end(cycle_t t) {
    const auto limited =
        std::find_if(slots_.begin(), slots_.end(), [](std::uint16_t slot) { return slot != None; });
    if (limited != slots_.end()) {
      io_.limits->push(t, 1, release(static_cast<std::size_t>(limited - slots_.begin())));
      wake(t + 1);
    }
  }

  rate_limit make() {
    const auto queue = static_cast<std::size_t>(random_.below(slots_.size()));
    if (random_.chance(1, 4)) {
      rate_limit cnp = of(queue);
      cnp.kind = limit_kind::cnp;
      cnp.function = what_.function_of(queue);
      cnp.dscp = static_cast<std::uint8_t>(random_.below(64));
      cnp.priority = static_cast<std::uint8_t>(random_.below(8));
      cover_.hit("limit.cnp");
      return cnp;
    }
    if (slots_[queue] != None && random_.chance(1, 2)) {
      return release(queue);
    }
    cover_.hit(slots_[queue] == None ? "limit.begins" : "limit.changes");
    while (slots_[queue] == None) {
      const auto slot = static_cast<std::uint16_t>(random_.below(Slots) * SlotStep + SlotStep - 1);
      if (std::find(slots_.begin(), slots_.end(), slot) == slots_.end()) {
        slots_[queue] = slot;
      }
    }
    rate_limit item = of(queue);
    // Half a byte to 64 bytes a nanosecond, seldom a hundredth of that.
    item.rate =
        static_cast<std::uint32_t>((1U << (23 + random_.below(7))) + random_.below(1U << 23));
    item.rate = random_.chance(1, 16) ? item.rate / 100 : item.rate;
    return item;
  }

  rate_limit release(std::size_t queue) {
    cover_.hit("limit.ends");
    rate_limit item = of(queue);
    slots_[queue] = None;
    return item;
  }

  [[nodiscard]] rate_limit of(std::size_t queue) const {
    rate_limit item;
    item.qpn = tx_sched_traffic::number_of(queue);
    item.slot = slots_[queue] == None ? 0 : slots_[queue];
    return item;
  }

  tx_sched_ports io_;
  const tx_sched_traffic& what_;
  coverage& cover_;
  random_stream random_;
  question over_;
  std::vector<std::uint16_t> slots_;  ///< of the QPs that have a rate
  cycle_t next_ = 50;
};

}  // namespace carillon
