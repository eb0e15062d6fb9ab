// What the chip keeps of the EQs besides their context lines: who owns them, which events they
// take, how full they are, and whether they may interrupt.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/items.h"
#include "gen/contexts.h"
#include "gen/wqe.h"

namespace carillon {

/// What cq_error_syndrome says of a CQ that ran full, and of one whose record cannot be read.
inline constexpr std::uint8_t CqOverrunSyndrome = 1;
inline constexpr std::uint8_t CqAccessSyndrome = 2;

/// What an EQ is to tell: an EQE without its owner bit.
struct event_record {
  event_type kind = event_type::Completion;
  std::uint8_t sub_type = 0;
  std::uint8_t queue_type = 0;
  std::uint32_t number = 0;  ///< of the queue; of Command: the vector
  std::uint16_t function = 0;
  std::uint8_t cq_error = CqOverrunSyndrome;  ///< of CqError
};

/// Where entry `producer` of the ring stands in host memory.
std::uint64_t eqe_address(const eqc_line& eq, std::uint32_t producer);

std::array<std::uint8_t, eqe::Size> build_eqe(const event_record& event, unsigned log_size,
                                              std::uint32_t producer);

class event_queues {
 public:
  explicit event_queues(std::size_t count) : queues_(count) {}

  /// An EQ was created or destroyed: it is empty.
  void set(std::uint32_t eqn, const eqc_line& line);

  enum class bell_result : std::uint8_t {
    ignored,  ///< function and UAR page do not own the EQ
    taken,
    interrupts,  ///< it was armed, and there are entries that nobody has consumed
  };

  /// The EQ doorbell.
  bell_result ring(const queue_doorbell& bell);

  /// The EQ that takes asynchronous events of this kind: the function's first one that asks for it.
  [[nodiscard]] std::optional<std::uint8_t> taker(std::uint16_t function, event_type kind) const;

  /// The index at which the next entry of an EQ is written; none if it is full.
  [[nodiscard]] std::optional<std::uint32_t> room(std::uint8_t eqn, const eqc_line& line) const;

  /// Its next entry has been written. True if that interrupts: the EQ was armed.
  bool advance(std::uint8_t eqn);

  /// The function's EQ, or the number is nobody's.
  [[nodiscard]] bool owned(std::uint8_t eqn, std::uint16_t function) const {
    return queues_[eqn].valid && queues_[eqn].function == function;
  }

  [[nodiscard]] std::uint16_t vector(std::uint8_t eqn) const { return queues_[eqn].vector; }

  /// Function-level reset: all EQs of the function are gone.
  void reset(std::uint16_t function);

 private:
  struct queue {
    bool valid = false;
    std::uint16_t function = 0;
    std::uint32_t uar_page = 0;
    std::uint64_t events = 0;  ///< event_bitmask
    std::uint16_t vector = 0;  ///< MSI-X
    queue_arm_state state = queue_arm_state::Idle;
    std::uint32_t producer = 0;
    std::uint32_t consumer = 0;  ///< both modulo 2^24, as in the doorbell
  };

  std::vector<queue> queues_;
};

}  // namespace carillon
