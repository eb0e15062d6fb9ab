// Who may use how much of a switch's packet memory.
//
// The memory is counted where frames come in: every priority of every port has an ingress account.
// Its reserved bytes are its own. Beyond them it uses the shared part, up to alpha times what of
// that is free (Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory packet
// switches", 1998). A lossless account that is at its threshold goes on in its headroom, which is
// its own too, and is to be paused: XOFF. Once its headroom is empty and it is below the threshold
// by an offset, or uses nothing of the shared part, it may go on: XON. A lossy account has no
// headroom: its frames are dropped at the threshold.
//
// Egress queues of lossy priorities have thresholds of the same kind against the same shared part;
// those of lossless ones have none, since only the sender's pause may keep their frames out.
//
// Bytes leave the headroom first, then the shared, then the reserved part.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "common/pfc_frame.h"
#include "fabric/switch/switch_settings.h"

namespace carillon {

enum class buffer_verdict : std::uint8_t {
  accepted,
  in_headroom,
  egress_full,    ///< above the egress queue's threshold
  ingress_full,   ///< a lossy account above its threshold
  headroom_full,  ///< loss of what should not be lost: the sender did not obey, or too late
};

class shared_buffer {
 public:
  /// Throws config_error in the name of `owner` if headrooms and reserved parts leave nothing.
  shared_buffer(const switch_settings& settings, std::string_view owner);

  struct place {
    std::uint32_t ingress = 0;
    std::uint32_t egress = 0;
    std::uint8_t priority = 0;
  };

  buffer_verdict admit(const place& where, std::uint64_t bytes);

  /// Of a frame that was admitted.
  void release(const place& where, std::uint64_t bytes);

  /// Whether the sender at that port should pause now.
  [[nodiscard]] bool xoff(std::uint32_t ingress, unsigned priority) const {
    return account(ingress, priority).xoff;
  }

  [[nodiscard]] std::uint64_t shared_bytes() const { return shared_; }

  [[nodiscard]] std::uint64_t free_bytes() const { return shared_ - shared_used_; }

  /// Bytes of an ingress account, headroom included.
  [[nodiscard]] std::uint64_t held(std::uint32_t ingress, unsigned priority) const {
    const ingress_account& of = account(ingress, priority);
    return of.bytes + of.in_headroom;
  }

  [[nodiscard]] std::uint64_t in_headroom(std::uint32_t ingress, unsigned priority) const {
    return account(ingress, priority).in_headroom;
  }

  [[nodiscard]] std::uint64_t headroom(std::uint32_t ingress, unsigned priority) const {
    return account(ingress, priority).headroom;
  }

  [[nodiscard]] std::uint64_t queued(std::uint32_t egress, unsigned priority) const {
    return queued_[egress * PriorityCount + priority];
  }

  [[nodiscard]] std::uint64_t ingress_threshold(unsigned priority) const {
    return of_free(rules_[priority].ingress_alpha);
  }

  /// Nothing is held.
  [[nodiscard]] bool empty() const;

 private:
  struct ingress_account {
    std::uint64_t headroom = 0;
    std::uint64_t bytes = 0;  ///< reserved and shared
    std::uint64_t in_headroom = 0;
    bool xoff = false;
  };

  struct rule {
    bool lossless = false;
    std::uint64_t reserved = 0;
    std::uint64_t egress_reserved = 0;
    std::uint64_t xon_offset = 0;
    std::uint64_t ingress_alpha = 0;  ///< in units of 1 / 128
    std::uint64_t egress_alpha = 0;
  };

  [[nodiscard]] const ingress_account& account(std::uint32_t ingress, unsigned priority) const {
    return accounts_[ingress * PriorityCount + priority];
  }

  [[nodiscard]] std::uint64_t of_free(std::uint64_t alpha) const {
    return free_bytes() * alpha / 128;
  }

  buffer_verdict enter(ingress_account& of, const rule& by, std::uint64_t bytes);

  std::array<rule, PriorityCount> rules_;
  std::vector<ingress_account> accounts_;
  std::vector<std::uint64_t> queued_;
  std::uint64_t shared_ = 0;
  std::uint64_t shared_used_ = 0;
};

}  // namespace carillon
