// What a send queue has sent and not completed, without time: the PSNs in flight and the WQEs that
// they belong to.
//
// Invariants. WQEs stand in the order of posting and leave at the front only, so each completes
// once and in order. `oldest` never goes back. What is not settled when the queue goes back is
// forgotten and comes again in notes of the new epoch, with the same PSNs; so a PSN stands for one
// WQE only, and an acknowledge may be believed whichever epoch's packet it answers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "common/held_history.h"
#include "common/items.h"
#include "common/psn.h"
#include "common/ring.h"

namespace carillon {

/// A WQE that was sent, or ended without, and has not completed.
struct outstanding_wqe {
  sent_packet told;               ///< the last note of it
  std::uint32_t request_psn = 0;  ///< READ: where the last request for it began
  cycle_t told_in = 0;
  bool whole = false;   ///< nothing more of it comes in this epoch
  bool landed = false;  ///< READ, atomic: all its data is on the way to memory
  bool fatal = false;   ///< it is the one that failed the QP
  held_history history;

  /// It completes by responses of its own.
  [[nodiscard]] bool answered_by_data() const;
  [[nodiscard]] bool atomic() const;

  [[nodiscard]] bool contains(std::uint32_t psn) const {
    return !told.no_packet &&
           psn_distance(told.first_psn, psn) <= psn_distance(told.first_psn, told.last_psn);
  }
};

/// What an acknowledge has changed.
struct window_step {
  std::size_t from = 0;     ///< the first WQE that it settled
  std::size_t settled = 0;  ///< and how many
  bool advanced = false;    ///< something was new
  bool beyond = false;      ///< it lies beyond a READ or atomic that has no answer
};

class send_window {
 public:
  /// Empty, the next packet being `psn`.
  void start(std::uint32_t psn);

  /// Takes a note of the present epoch. The WQE that it is about.
  outstanding_wqe& add(const sent_packet& note, const held_history& history, cycle_t t);

  /// The WQE that a packet granted before belongs to, if it is not settled; or nullptr.
  [[nodiscard]] outstanding_wqe* unsettled(std::uint32_t psn);

  /// All packets before `end` have arrived at the peer. Settles what that completes, up to the
  /// first READ or atomic without its answer, and no further than packets were granted.
  window_step advance(std::uint32_t end);

  /// The response that was waited for has come: of the WQE head(), for PSN oldest(). True if it
  /// was the last one.
  bool answer();

  /// The peer has heard of everything before `end`, also of what is being sent again.
  void hear(std::uint32_t end);

  /// The queue goes back to oldest(): the unsettled WQEs are taken out, newest first.
  [[nodiscard]] bool any_unsettled() const { return settled_ < wqes_.size(); }

  outstanding_wqe take_newest() { return wqes_.pop_back(); }

  void go_back() { next_ = oldest_; }

  /// The oldest WQE that is not settled.
  [[nodiscard]] outstanding_wqe& head() { return wqes_[settled_]; }

  [[nodiscard]] bool is_settled(std::size_t which) const { return which < settled_; }

  /// The front is settled.
  [[nodiscard]] bool front_settled() const { return settled_ != 0; }

  outstanding_wqe pop();

  /// What is not settled completes with a flush error, except the WQE that was the reason.
  void flush();

  /// `which` and all behind it are not settled after all.
  void unsettle(std::size_t which) { settled_ = std::min(settled_, which); }

  [[nodiscard]] ring<outstanding_wqe>& wqes() { return wqes_; }

  [[nodiscard]] const ring<outstanding_wqe>& wqes() const { return wqes_; }

  [[nodiscard]] bool empty() const { return wqes_.empty(); }

  [[nodiscard]] std::uint32_t oldest() const { return oldest_; }

  [[nodiscard]] std::uint32_t next() const { return next_; }

  [[nodiscard]] std::uint32_t heard() const { return heard_; }

  [[nodiscard]] bool outstanding() const { return oldest_ != next_; }

  /// A packet of that PSN was sent at some time and is not acknowledged.
  [[nodiscard]] bool in_flight(std::uint32_t psn) const {
    return psn_distance(oldest_, psn) < psn_distance(oldest_, furthest_);
  }

  /// ... and it was sent since the queue went back last.
  [[nodiscard]] bool sent_lately(std::uint32_t psn) const {
    return psn_distance(oldest_, psn) < psn_distance(oldest_, next_);
  }

 private:
  ring<outstanding_wqe> wqes_;  ///< oldest first
  std::size_t settled_ = 0;     ///< how many of them, from the front, are acknowledged or answered
  std::uint32_t oldest_ = 0;    ///< PSN without acknowledge
  std::uint32_t next_ = 0;      ///< PSN behind the last one granted in this epoch
  std::uint32_t furthest_ = 0;  ///< ... in any epoch
  std::uint32_t heard_ = 0;     ///< the peer has everything before it
};

/// Why a response does not fit; the order is that of the checks.
enum class response_fault : std::uint8_t { none, kind, opcode, length };

/// A READ response or atomic result for PSN `psn` of that WQE, the one that is waited for.
[[nodiscard]] response_fault check_response(const outstanding_wqe& wqe, const rx_packet& response);

}  // namespace carillon
