// When a CQ tells its reader that there is something to read: armed, fired, armed again.
//
// The reader arms with the number of entries that it has consumed; the first entry beyond it (for
// solicited completions: the first such entry) raises one event, at once if it is there already.
// The reader counts the events that it has consumed, and each arm carries that count modulo 4. So
// an arm with the count of the last event was sent before its sender knew of that event: the event
// answers it, and it is ignored.
//
// With moderation the event waits until so many entries have been written since the last event, or
// a period has passed since the first of them.
#pragma once

#include <cstdint>

#include "common/types.h"
#include "gen/contexts.h"
#include "gen/wqe.h"

namespace carillon {

/// Each of the two ends the wait; 0: it does not. Both 0: no event waits.
struct cq_moderation {
  std::uint32_t count = 0;
  cycle_t period = 0;
};

class cq_notification {
 public:
  enum class arm_result : std::uint8_t { waits, raises, stale };

  /// A new CQ, in the state that its context says.
  void reset(const cqc_line& line, const cq_moderation& moderation = {});

  void moderate(const cq_moderation& moderation) { moderation_ = moderation; }

  /// The arm doorbell. `producer` counts the entries written so far.
  arm_result arm(std::uint8_t sn, bool solicited_only, std::uint32_t consumer,
                 std::uint32_t producer, cycle_t t = 0);

  /// An entry was written, `producer` counts it already. `solicited`: it counts for a reader that
  /// waits for solicited completions; `demanded`: it raises an event in any state. True if it
  /// raises one.
  bool written(std::uint32_t producer, bool solicited, bool demanded, cycle_t t = 0);

  /// Looks whether an event has waited long enough, because time has passed or the moderation has
  /// changed. True if it is raised.
  bool ripen(std::uint32_t producer, cycle_t t);

  /// When time alone raises an event; NeverCycle if it does not.
  [[nodiscard]] cycle_t deadline(std::uint32_t producer) const;

  /// Entries since the last event.
  [[nodiscard]] std::uint32_t waiting() const { return since_event_; }

  /// An event was raised that is not told yet: whatever else happens, it tells that too.
  [[nodiscard]] bool pending() const { return pending_; }

  /// The event was told, or lost: then nobody counts it.
  void told(bool lost);

 private:
  [[nodiscard]] std::uint32_t unread(std::uint32_t producer) const;
  /// There is something to tell somebody who wants to be told.
  [[nodiscard]] bool due(std::uint32_t producer) const;
  [[nodiscard]] bool ripe(std::uint32_t producer, cycle_t t) const;
  bool raise();

  queue_arm_state state_ = queue_arm_state::Idle;
  bool solicited_only_ = false;
  bool pending_ = false;
  bool event_known_ = false;  ///< there was an event, `event_sn_` is its count
  std::uint8_t sn_ = 0;
  std::uint8_t event_sn_ = 0;
  std::uint32_t consumer_ = 0;
  /// Entries since the last solicited one, at most a whole turn of the index: as good as never.
  std::uint32_t since_solicited_ = CqIndexMask;
  cq_moderation moderation_;
  std::uint32_t since_event_ = 0;  ///< likewise at most a whole turn
  cycle_t first_ = 0;              ///< when the first of them was written
};

}  // namespace carillon
