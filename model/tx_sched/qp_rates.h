// The rates of QPs that rate control has limited, without time of their own: a bucket of tokens for
// each context of dcqcn.
//
// A QP may send while there are tokens left, a packet of any length, and owes what that was too
// long. So its packets are as far apart as the rate says, however late one looks.
//
// Who has to wait comes back when its bucket is open, one QP a cycle, of several the one in the
// lowest context.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/deadlines.h"
#include "common/error.h"
#include "common/types.h"
#include "gen/stages.h"
#include "tx_sched/number_list.h"
#include "tx_sched/token_bucket.h"

namespace carillon {

class qp_rates {
 public:
  static constexpr std::uint16_t NoSlot = 0xffff;

  /// `room`: bytes on the wire that a bucket holds at most, those of the longest packet.
  qp_rates(std::uint32_t room, ps_t period)
      : period_(period), limits_(Slots, limit{token_bucket(room)}), fresh_(room), opening_(Slots) {}

  /// From cycle t on the QP sends at that rate. Who waits is told anew when it may go.
  void set(cycle_t t, std::uint16_t slot, std::uint32_t qpn, std::uint32_t rate) {
    limit& each = limits_[slot];
    if (!each.used) {
      each = limit{fresh_};
      each.used = true;
      each.qpn = qpn;
    }
    CARILLON_CHECK(each.qpn == qpn, "context {} has the rate of QP {}, and gets one of QP {}", slot,
                   each.qpn, qpn);
    each.bucket.set_wire_rate(t * period_, rate);
    if (each.waits) {
      time(t, slot);
    }
  }

  /// It has no rate any more. True if it has waited for it.
  bool release(std::uint16_t slot) {
    limits_[slot].used = false;
    opening_.clear(slot);
    due(slot, false);
    return std::exchange(limits_[slot].waits, false);
  }

  [[nodiscard]] bool closed(cycle_t t, std::uint16_t slot) {
    limits_[slot].bucket.refill(t * period_);
    return !limits_[slot].bucket.open();
  }

  /// It is closed; take_opened() says until when.
  void wait(cycle_t t, std::uint16_t slot) {
    limits_[slot].waits = true;
    time(t, slot);
  }

  void charge(cycle_t t, std::uint16_t slot, std::uint32_t bytes) {
    limits_[slot].bucket.refill(t * period_);
    limits_[slot].bucket.charge(bytes);
  }

  /// The QP that comes back in cycle t; NoNumber if there is none.
  std::uint32_t take_opened(cycle_t t) {
    std::uint32_t opened = 0;
    while (opening_.take_due(t, opened)) {
      due(opened, true);
    }
    for (std::size_t word = 0; word < due_.size(); ++word) {
      while (due_[word] != 0) {
        const auto slot = static_cast<std::uint16_t>(
            word * WordBits + static_cast<std::size_t>(std::countr_zero(due_[word])));
        due(slot, false);
        if (!closed(t, slot)) {
          limits_[slot].waits = false;
          return limits_[slot].qpn;
        }
        time(t, slot);  // meanwhile it has sent something else
      }
    }
    return NoNumber;
  }

  /// When somebody may come back after cycle t; it may say an earlier cycle than that is.
  [[nodiscard]] cycle_t next(cycle_t t) const {
    const bool any = std::any_of(due_.begin(), due_.end(), [](auto word) { return word != 0; });
    return any ? t + 1 : std::max(t + 1, opening_.look());
  }

 private:
  static constexpr std::size_t Slots = stage_spec::dcqcn::Contexts;
  static constexpr std::size_t WordBits = 64;

  struct limit {
    token_bucket bucket;
    std::uint32_t qpn = 0;
    bool used = false;
    bool waits = false;
  };

  void due(std::uint32_t slot, bool is) {
    const std::uint64_t bit = std::uint64_t{1} << (slot % WordBits);
    std::uint64_t& word = due_[slot / WordBits];
    word = is ? word | bit : word & ~bit;
  }

  /// When the bucket opens, should nothing change.
  void time(cycle_t t, std::uint16_t slot) {
    const cycle_t opens = (limits_[slot].bucket.opens() + period_ - 1) / period_;
    due(slot, false);
    opening_.set(slot, std::max(opens, t));
  }

  const ps_t period_;
  std::vector<limit> limits_;
  token_bucket fresh_;
  deadlines opening_;
  std::array<std::uint64_t, Slots / WordBits> due_{};  ///< bit by bit: its bucket has opened
};

}  // namespace carillon
