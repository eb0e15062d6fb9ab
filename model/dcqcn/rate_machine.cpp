#include "dcqcn/rate_machine.h"

#include <algorithm>

namespace carillon {

namespace {

constexpr rate_time NsPerUs = 1000;
constexpr unsigned CutBits = 29;      // a cut's share, at its finest: alpha * 2^-5
constexpr unsigned FinestShift = 15;  // which is rpg_gd 15
constexpr std::uint8_t LastStage = 255;

constexpr std::uint8_t next_stage(std::uint8_t stage) {
  return stage == LastStage ? stage : static_cast<std::uint8_t>(stage + 1);
}

constexpr rate_time later(rate_time from, rate_time span) {
  return (from + span) & NeverRate;
}

}  // namespace

rate_outcome rate_machine::step(rate_state& qp, const rate_slice& slice) const {
  rate_outcome outcome;
  const rate_time alpha = alpha_due(qp);
  const rate_time cut_time = cut_due(qp);
  const rate_time rate = rate_due(qp);
  const rate_time first = std::min({alpha, cut_time, rate});
  if (first <= slice.now && first != NeverRate && slice.op != rate_op::Start) {
    outcome.again = true;
    if (alpha == first) {
      alpha_expired(qp);
    } else if (cut_time == first) {
      cut(qp, first);
    } else if (sliced()) {
      end_slice(qp);
    } else {
      rate_expired(qp);
    }
  } else {
    happen(qp, slice);
  }
  outcome.due = std::min(cut_due(qp), rate_due(qp));
  return outcome;
}

rate_outcome rate_machine::run(rate_state& qp, const rate_slice& slice) const {
  rate_outcome outcome = step(qp, slice);
  while (outcome.again) {
    outcome = step(qp, slice);
  }
  return outcome;
}

rate_time rate_machine::period_of(const rate_state& qp) const {
  return qp.timer_us != 0 ? qp.timer_us * NsPerUs : settings_.rate_period_ns;
}

rate_time rate_machine::alpha_due(const rate_state& qp) const {
  return qp.alpha_runs ? qp.alpha_at : NeverRate;
}

rate_time rate_machine::cut_due(const rate_state& qp) const {
  return qp.pending && !sliced() ? qp.cut_at : NeverRate;
}

rate_time rate_machine::rate_due(const rate_state& qp) const {
  const bool runs = qp.limited || (sliced() && qp.pending);
  return runs && period_of(qp) != 0 ? qp.rate_at : NeverRate;
}

void rate_machine::happen(rate_state& qp, const rate_slice& slice) const {
  switch (slice.op) {
    case rate_op::Time:
      break;
    case rate_op::Sent:
      sent(qp, slice.value);
      break;
    case rate_op::Cnp:
      notified(qp, slice.now);
      break;
    case rate_op::Start:
      start(qp);
      break;
    case rate_op::Current:
      qp.current = std::max(settings_.min_rate, std::min(slice.value, settings_.max_rate));
      if (!qp.limited) {
        qp.rate_at = later(slice.now, period_of(qp));
      }
      qp.limited = qp.current < settings_.max_rate;
      break;
    case rate_op::Target:
      qp.target = slice.value;
      break;
    case rate_op::Slope:
      qp.slope = slice.value;
      break;
    case rate_op::Timer:
      qp.timer_us = static_cast<std::uint16_t>(slice.value);
      qp.rate_at = later(slice.now, period_of(qp));
      break;
    case rate_op::Setup:
      break;
  }
}

void rate_machine::start(rate_state& qp) const {
  qp = rate_state{};
  qp.current = qp.target = settings_.max_rate;
  qp.alpha = settings_.alpha;
}

// A packet raises the rate once at most. What it has beyond the reset value counts for the next
// one, up to one byte less than another event.
void rate_machine::sent(rate_state& qp, std::uint32_t bytes) const {
  if (!qp.limited || sliced() || settings_.byte_reset == 0) {
    return;
  }
  const std::uint64_t sum = std::uint64_t{qp.sent} + bytes;
  if (sum < settings_.byte_reset) {
    qp.sent = static_cast<std::uint32_t>(sum);
    return;
  }
  qp.sent = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(sum - settings_.byte_reset, settings_.byte_reset - 1));
  qp.byte_stage = next_stage(qp.byte_stage);
  raise(qp);
}

void rate_machine::notified(rate_state& qp, rate_time now) const {
  if (sliced()) {
    if (!qp.limited && !qp.pending) {
      qp.rate_at = later(now, period_of(qp));
    }
    qp.pending = true;
    return;
  }
  const bool first = !qp.limited && !qp.pending;
  if (first && settings_.first_rate != 0) {
    qp.current = qp.target = std::max(settings_.first_rate, settings_.min_rate);
  }
  if (vendor()) {
    if (first) {
      qp.alpha = settings_.alpha;
    }
    qp.notified = !first;
    if (first || !qp.alpha_runs) {
      start_alpha(qp, now);
    }
    if (settings_.reduce_period_ns != 0) {
      if (!qp.pending && qp.cut_at <= now) {
        qp.cut_at = later(now, settings_.reduce_period_ns);
      }
      qp.pending = true;
      return;
    }
  }
  cut(qp, now);
}

void rate_machine::alpha_expired(rate_state& qp) const {
  qp.alpha = qp.notified ? risen(qp.alpha)
                         : truncated(qp.alpha, FractionOne - settings_.gain_decay, FractionBits);
  qp.notified = false;
  qp.alpha_runs = qp.alpha != 0;
  qp.alpha_at = later(qp.alpha_at, settings_.alpha_period_ns);
}

void rate_machine::rate_expired(rate_state& qp) const {
  qp.time_stage = next_stage(qp.time_stage);
  qp.rate_at = later(qp.rate_at, period_of(qp));
  raise(qp);
}

void rate_machine::end_slice(rate_state& qp) const {
  if (qp.pending) {
    qp.current = reduced(qp.current, qp.alpha);
  } else if (qp.current < qp.target) {
    const std::uint32_t step = rounded_up(qp.target - qp.current, settings_.beta, FractionBits);
    qp.current = std::min(settings_.max_rate, qp.current + std::max(step, 1U));
  } else {
    qp.current = std::min(settings_.max_rate, saturated(std::uint64_t{qp.current} + slope_of(qp)));
  }
  qp.pending = false;
  qp.limited = qp.current < settings_.max_rate;
  qp.rate_at = later(qp.rate_at, period_of(qp));
}

void rate_machine::cut(rate_state& qp, rate_time at) const {
  if (settings_.clamp_target || qp.byte_stage != 0 ||
      (settings_.clamp_after_time && qp.time_stage != 0)) {
    qp.target = qp.current;
    qp.sent = 0;
  }
  const bool rises = settings_.mode == dcqcn_mode::Paper;
  const fraction after = rises ? risen(qp.alpha) : qp.alpha;
  qp.current = reduced(qp.current, settings_.update_first ? after : qp.alpha);
  qp.alpha = after;
  if (rises) {
    start_alpha(qp, at);
  }
  qp.byte_stage = 0;
  qp.time_stage = 0;
  qp.pending = false;
  qp.limited = qp.current < settings_.max_rate;
  qp.rate_at = later(at, period_of(qp));
  qp.cut_at = later(at, settings_.reduce_period_ns);
}

void rate_machine::raise(rate_state& qp) const {
  const std::uint32_t f = settings_.threshold;
  const std::uint32_t most = std::max(qp.byte_stage, qp.time_stage);
  const std::uint32_t least = std::min(qp.byte_stage, qp.time_stage);
  std::uint64_t increase = 0;
  if (most < f) {
    // fast recovery: half the way back
  } else if (settings_.hyper_grows && least >= f) {
    increase = std::uint64_t{settings_.hyper} * (least - f + 1);
  } else if (!settings_.hyper_grows && least > f) {
    increase = settings_.hyper;
  } else {
    increase = slope_of(qp);
  }
  qp.target = saturated(qp.target + increase);
  qp.current = static_cast<wire_rate>(
      std::min<std::uint64_t>(settings_.max_rate, (std::uint64_t{qp.target} + qp.current + 1) / 2));
  if (qp.current == settings_.max_rate && !qp.pending) {
    qp.limited = false;
    qp.target = settings_.max_rate;
    qp.sent = 0;
    qp.alpha_runs = qp.alpha_runs && !vendor();
  }
}

void rate_machine::start_alpha(rate_state& qp, rate_time now) const {
  qp.alpha_runs = settings_.alpha_period_ns != 0;
  qp.alpha_at = later(now, settings_.alpha_period_ns);
}

wire_rate rate_machine::reduced(wire_rate rate, fraction alpha) const {
  constexpr std::uint64_t Whole = std::uint64_t{1} << CutBits;
  const std::uint64_t share = std::uint64_t{alpha} << (FinestShift - settings_.cut_shift);
  const wire_rate left = truncated(rate, Whole - std::min(share, Whole), CutBits);
  const wire_rate floor = truncated(rate, settings_.min_decrease, FractionBits);
  return std::max({left, floor, settings_.min_rate});
}

fraction rate_machine::risen(fraction alpha) const {
  return truncated(alpha, FractionOne - settings_.gain_rise, FractionBits) + settings_.gain_rise;
}

wire_rate rate_machine::slope_of(const rate_state& qp) const {
  return qp.slope != 0 ? qp.slope : settings_.additive;
}

}  // namespace carillon
