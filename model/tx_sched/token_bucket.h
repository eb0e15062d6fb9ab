// A rate in bytes of wire, kept by a bucket of tokens, without time of its own.
//
// Signed fixed point with 24 bits behind the point, and a thousand parts more: a rate of bytes per
// nanosecond in 24 bits behind the point then adds a whole number of parts each picosecond, and
// nothing is ever rounded, whatever the period at which one looks.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/port_share.h"
#include "common/types.h"

namespace carillon {

class token_bucket {
 public:
  /// It never holds more than `room` bytes, and never owes more.
  explicit token_bucket(std::uint32_t room) : room_(std::int64_t{room} * Byte), level_(room_) {}

  /// From `now` on at that rate, in Mb/s; 0 is no limit.
  void set_rate(ps_t now, std::uint32_t mbps) {
    refill(now);
    since_ = now;
    rate_ = rate_parts(mbps);
    if (mbps == 0) {
      level_ = room_;
    }
  }

  /// The same in bytes a nanosecond with 24 bits behind the point; never 0.
  void set_wire_rate(ps_t now, std::uint32_t rate) {
    refill(now);
    since_ = now;
    rate_ = rate;
  }

  [[nodiscard]] bool limited() const { return rate_ != 0; }

  void refill(ps_t now) {
    if (rate_ == 0) {
      return;
    }
    const ps_t passed = now - since_;
    since_ = now;
    const auto enough = static_cast<ps_t>((room_ - level_) / rate_ + 1);
    level_ = passed >= enough ? room_ : level_ + rate_ * static_cast<std::int64_t>(passed);
  }

  /// There are tokens left: a packet may go, whatever its length.
  [[nodiscard]] bool open() const { return level_ > 0; }

  /// The first time at which it is open, if nothing more is charged.
  [[nodiscard]] ps_t opens() const {
    return open() ? since_ : since_ + static_cast<ps_t>(-level_ / rate_ + 1);
  }

  void charge(std::uint32_t bytes) { level_ = std::max(level_ - bytes * Byte, -room_); }

 private:
  static constexpr std::int64_t Byte = 1000 * (std::int64_t{1} << RateFraction);

  std::int64_t room_;
  std::int64_t level_;
  std::int64_t rate_ = 0;  ///< a picosecond
  ps_t since_ = 0;         ///< `level_` was brought up to date
};

}  // namespace carillon
