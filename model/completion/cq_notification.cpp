#include "completion/cq_notification.h"

#include <algorithm>
#include <utility>

namespace carillon {
namespace {

constexpr std::uint8_t SnMask = 3;

}  // namespace

void cq_notification::reset(const cqc_line& line) {
  *this = {};
  state_ = line.arm_state;
  solicited_only_ = line.arm_solicited != 0;
  sn_ = line.arm_sn;
  consumer_ = line.arm_index;
}

bool cq_notification::due(std::uint32_t producer) const {
  // A consumer beyond the producer is nonsense and has nothing to be told yet.
  const std::uint32_t unread = (producer - consumer_) & CqIndexMask;
  if (unread == 0 || unread > CqIndexMask / 2) {
    return false;
  }
  return !solicited_only_ || since_solicited_ < unread;
}

bool cq_notification::raise() {
  const bool merged = std::exchange(pending_, true);
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
                                                 std::uint32_t consumer, std::uint32_t producer) {
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
  return due(producer) && raise() ? arm_result::raises : arm_result::waits;
}

bool cq_notification::written(std::uint32_t producer, bool solicited, bool demanded) {
  since_solicited_ = solicited ? 0 : std::min(since_solicited_ + 1, CqIndexMask);
  const bool raises = demanded || state_ == queue_arm_state::AlwaysArmed ||
                      (state_ == queue_arm_state::Armed && due(producer));
  return raises && raise();
}

}  // namespace carillon
