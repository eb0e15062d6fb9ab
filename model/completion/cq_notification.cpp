#include "completion/cq_notification.h"

#include <algorithm>
#include <utility>

namespace carillon {
namespace {

constexpr std::uint8_t SnMask = 3;

}  // namespace

void cq_notification::reset(const cqc_line& line, const cq_moderation& moderation) {
  *this = {};
  state_ = line.arm_state;
  solicited_only_ = line.arm_solicited != 0;
  sn_ = line.arm_sn;
  consumer_ = line.arm_index;
  moderation_ = moderation;
}

std::uint32_t cq_notification::unread(std::uint32_t producer) const {
  // A consumer beyond the producer is nonsense and has nothing to be told yet.
  const std::uint32_t ahead = (producer - consumer_) & CqIndexMask;
  return ahead > CqIndexMask / 2 ? 0 : ahead;
}

bool cq_notification::due(std::uint32_t producer) const {
  if (state_ == queue_arm_state::AlwaysArmed) {
    return since_event_ != 0;
  }
  const std::uint32_t entries = unread(producer);
  return state_ == queue_arm_state::Armed && entries != 0 &&
         (!solicited_only_ || since_solicited_ < entries);
}

bool cq_notification::ripe(std::uint32_t producer, cycle_t t) const {
  if (moderation_.count == 0 && moderation_.period == 0) {
    return true;
  }
  // What was there at the last event and is still unread has waited already.
  if (state_ == queue_arm_state::Armed && unread(producer) > since_event_) {
    return true;
  }
  return (moderation_.count != 0 && since_event_ >= moderation_.count) ||
         (moderation_.period != 0 && since_event_ != 0 && t >= first_ + moderation_.period);
}

cycle_t cq_notification::deadline(std::uint32_t producer) const {
  return moderation_.period != 0 && since_event_ != 0 && due(producer) ? first_ + moderation_.period
                                                                       : NeverCycle;
}

bool cq_notification::raise() {
  const bool merged = std::exchange(pending_, true);
  since_event_ = 0;
  if (state_ == queue_arm_state::Armed) {
    state_ = queue_arm_state::Fired;
    event_sn_ = sn_;
    event_known_ = true;
  } else if (!merged) {
    event_sn_ = (event_sn_ + 1) & SnMask;
  }
  return !merged;
}

void cq_notification::told(bool lost) {
  pending_ = false;
  event_known_ = event_known_ && !lost;
}

cq_notification::arm_result cq_notification::arm(std::uint8_t sn, bool solicited_only,
                                                 std::uint32_t consumer, std::uint32_t producer,
                                                 cycle_t t) {
  if (state_ == queue_arm_state::AlwaysArmed) {
    return arm_result::waits;
  }
  if (event_known_ && sn == event_sn_) {
    return arm_result::stale;
  }
  // Who waits for any completion is not to be narrowed down by another who does not.
  solicited_only_ = solicited_only && (state_ != queue_arm_state::Armed || solicited_only_);
  state_ = queue_arm_state::Armed;
  sn_ = sn;
  consumer_ = consumer;
  return ripen(producer, t) ? arm_result::raises : arm_result::waits;
}

bool cq_notification::written(std::uint32_t producer, bool solicited, bool demanded, cycle_t t) {
  since_solicited_ = solicited ? 0 : std::min(since_solicited_ + 1, CqIndexMask);
  if (since_event_ == 0) {
    first_ = t;
  }
  since_event_ = std::min(since_event_ + 1, CqIndexMask);
  return demanded ? raise() : ripen(producer, t);
}

bool cq_notification::ripen(std::uint32_t producer, cycle_t t) {
  return due(producer) && ripe(producer, t) && raise();
}

}  // namespace carillon
