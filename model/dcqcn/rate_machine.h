// The reaction point of DCQCN: what a CNP, bytes on the wire and time do to the rate of one QP.
//
// It works in slices. A slice is one thing that happened to one QP, at a time; it does one thing to
// the QP's state. If a timer has expired by then, the slice is the timer's (the earliest first; of
// equals alpha's, then the cut's, then the rate's): what happened is not looked at yet, and the
// outcome says `again`. So each slice costs the same, and a timer counts from when it was due,
// however late one looks.
//
// At the highest rate the limiter is released: neither the rate's timer nor the byte counter runs,
// for neither could raise it. The alpha timer rests when alpha is 0.
#pragma once

#include <cstdint>
#include <limits>

#include "common/dcqcn_settings.h"
#include "common/fixed_point.h"
#include "gen/streams.h"

namespace carillon {

/// What a QP's rate depends on besides the settings.
struct rate_state {
  wire_rate current = 0;  ///< RP_CURRENT
  wire_rate target = 0;   ///< RP_TARGET
  wire_rate slope = 0;    ///< RP_RATE; 0: as set for all
  fraction alpha = 0;
  std::uint32_t sent = 0;       ///< bytes since the byte counter's last event
  std::uint16_t timer_us = 0;   ///< RP_TIMER; 0: as set for all
  std::uint8_t byte_stage = 0;  ///< stages end at 255
  std::uint8_t time_stage = 0;
  bool limited = false;   ///< below the highest rate: the rate's timer and byte counter run
  bool pending = false;   ///< a CNP waits for the end of its slice or period
  bool notified = false;  ///< Vendor: a CNP came in this alpha period
  bool alpha_runs = false;
  rate_time alpha_at = 0;
  rate_time rate_at = 0;
  rate_time cut_at = 0;  ///< end of the period in which a CNP came

  bool operator==(const rate_state&) const = default;
};

struct rate_slice {
  rate_op op = rate_op::Time;
  std::uint32_t value = 0;
  rate_time now = 0;
};

struct rate_outcome {
  bool again = false;         ///< a timer took the slice: offer it once more
  rate_time due = NeverRate;  ///< when the rate or its cut wants a slice, if nothing else happens

  bool operator==(const rate_outcome&) const = default;
};

class rate_machine {
 public:
  explicit rate_machine(const dcqcn_settings& settings) : settings_(settings) {}

  [[nodiscard]] const dcqcn_settings& settings() const { return settings_; }

  /// From now on. No QP changes at once, not even if it is now beyond a limit.
  void write(rate_setting which, std::uint32_t value) { write_setting(settings_, which, value); }

  /// Of all slices but a Setup, which concerns no QP.
  rate_outcome step(rate_state& qp, const rate_slice& slice) const;

  /// Offers a slice until it is done.
  rate_outcome run(rate_state& qp, const rate_slice& slice) const;

 private:
  bool sliced() const { return settings_.mode == dcqcn_mode::Description; }

  bool vendor() const { return settings_.mode == dcqcn_mode::Vendor; }

  rate_time period_of(const rate_state& qp) const;
  rate_time alpha_due(const rate_state& qp) const;
  rate_time cut_due(const rate_state& qp) const;
  rate_time rate_due(const rate_state& qp) const;

  void happen(rate_state& qp, const rate_slice& slice) const;
  void start(rate_state& qp) const;
  void sent(rate_state& qp, std::uint32_t bytes) const;
  void notified(rate_state& qp, rate_time now) const;
  void alpha_expired(rate_state& qp) const;
  void rate_expired(rate_state& qp) const;
  void end_slice(rate_state& qp) const;
  void cut(rate_state& qp, rate_time at) const;
  void raise(rate_state& qp) const;
  void start_alpha(rate_state& qp, rate_time now) const;
  wire_rate reduced(wire_rate rate, fraction alpha) const;
  fraction risen(fraction alpha) const;
  wire_rate slope_of(const rate_state& qp) const;

  dcqcn_settings settings_;
};

}  // namespace carillon
