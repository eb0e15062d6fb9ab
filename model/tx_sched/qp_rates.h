// The rates of QPs that rate control has limited, without time of their own: a bucket of tokens for
// each context of dcqcn.
//
// A QP may send while there are tokens left, a packet of any length, and owes what that was too
// long. So its packets are as far apart as the rate says, however late one looks.
#pragma once

#include <cstdint>
#include <vector>

#include "common/deadlines.h"
#include "common/types.h"
#include "tx_sched/number_list.h"
#include "tx_sched/token_bucket.h"

namespace carillon {

class qp_rates {
 public:
  static constexpr std::uint16_t NoSlot = 0xffff;

  /// `room`: bytes on the wire that a bucket holds at most, those of the longest packet.
  qp_rates(std::size_t slots, std::uint32_t room, ps_t period)
      : period_(period), limits_(slots, limit{token_bucket(room)}), fresh_(room), opening_(slots) {}

  /// From cycle t on the QP sends at that rate. Who waits is told anew when it may go.
  void set(cycle_t t, std::uint16_t slot, std::uint32_t qpn, std::uint32_t rate) {
    limit& each = limits_[slot];
    if (!each.used || each.qpn != qpn) {
      each = limit{fresh_};
      each.used = true;
      each.qpn = qpn;
    }
    each.bucket.set_wire_rate(t * period_, rate);
    if (opening_.running(slot)) {
      wait(t, slot);
    }
  }

  /// It has no rate any more.
  void release(std::uint16_t slot) {
    limits_[slot].used = false;
    opening_.clear(slot);
  }

  /// It has to wait; take_opened() says until when.
  bool closed(cycle_t t, std::uint16_t slot) {
    limit& each = limits_[slot];
    each.bucket.refill(t * period_);
    if (each.bucket.open()) {
      return false;
    }
    wait(t, slot);
    return true;
  }

  void charge(cycle_t t, std::uint16_t slot, std::uint32_t bytes) {
    limits_[slot].bucket.refill(t * period_);
    limits_[slot].bucket.charge(bytes);
  }

  /// A QP that has waited and may go in cycle t; NoNumber if there is none.
  std::uint32_t take_opened(cycle_t t) {
    std::uint32_t slot = 0;
    return opening_.take_due(t, slot) ? limits_[slot].qpn : NoNumber;
  }

  /// When somebody who waits may go; it may say an earlier cycle.
  [[nodiscard]] cycle_t opens() const { return opening_.look(); }

 private:
  struct limit {
    token_bucket bucket;
    std::uint32_t qpn = 0;
    bool used = false;
  };

  void wait(cycle_t t, std::uint16_t slot) {
    const cycle_t opens = (limits_[slot].bucket.opens() + period_ - 1) / period_;
    opening_.set(slot, opens > t ? opens : t + 1);
  }

  const ps_t period_;
  std::vector<limit> limits_;
  token_bucket fresh_;
  deadlines opening_;
};

}  // namespace carillon
