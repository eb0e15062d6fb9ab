// Which priorities the other end of the cable should pause, by what of them waits in the receive
// buffer; without a clock of its own.
//
// Each priority with PFC has an equal share of the buffer: up to XOFF its sender goes on, and
// what is behind that is headroom for what comes until it has stopped (IEEE 802.1Q Annex N).
// Whatever else fills the buffer, XOFF is also told when less than all headrooms is free; and from
// then on others find no room in what is left of it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/counters.h"
#include "common/pfc_frame.h"
#include "common/types.h"
#include "gen/params.h"

namespace carillon {

/// What can still come of a priority after XOFF was decided.
std::uint64_t nic_headroom_bytes(const parameters& params);

class asked_pauses {
 public:
  asked_pauses(const parameters& params, counter_block& counters);

  /// A frame of that priority can be held beside `held` bytes of all.
  [[nodiscard]] bool has_room(unsigned priority, std::uint64_t bytes, std::uint64_t held) const;

  /// It is held, `held` bytes with it.
  void add(unsigned priority, std::uint64_t bytes, std::uint64_t held);

  /// It is not any more.
  void remove(unsigned priority, std::uint64_t bytes, std::uint64_t held);

  /// From cycle `from` on, and before `to`, the priority is to be paused whatever waits.
  void force(unsigned priority, cycle_t from, cycle_t to);

  /// Looks at what time alone changes.
  void look(cycle_t t);

  /// The next frame to the other end, if one is due in cycle t.
  [[nodiscard]] std::optional<pfc> due(cycle_t t) const;

  /// It was sent.
  void sent(cycle_t t, const pfc& request);

  /// When, after cycle t, time alone changes something; NeverCycle if it does not.
  [[nodiscard]] cycle_t next(cycle_t t) const;

  /// Bit n: the other end should pause priority n.
  [[nodiscard]] std::uint8_t wanted() const {
    return static_cast<std::uint8_t>((full_ | forced_) & ~given_up_);
  }

  [[nodiscard]] std::uint64_t xoff_bytes() const { return xoff_; }

  [[nodiscard]] std::uint64_t reserve_bytes() const { return reserve_; }

 private:
  struct storm {
    unsigned priority;
    cycle_t from;
    cycle_t to;
  };

  struct asked {
    std::uint64_t held = 0;
    cycle_t since = 0;             ///< it is asked for
    bool warned = false;           ///< that stall prevention is near
    std::uint64_t counted_ps = 0;  ///< less than a microsecond, of pauses that are over
  };

  /// False for what is no priority, too.
  [[nodiscard]] bool has_pfc(unsigned priority) const { return (with_pfc_ >> priority & 1) != 0; }

  counter_block& counters_;
  std::uint8_t with_pfc_;
  ps_t period_;
  std::uint64_t buffer_;
  std::uint64_t reserve_ = 0;       ///< of a priority: headroom
  std::uint64_t all_reserves_ = 0;  ///< of all together
  std::uint64_t xoff_ = 0;
  std::uint64_t xon_ = 0;
  cycle_t refresh_;  ///< half of the longest pause
  cycle_t stall_ = NeverCycle;
  cycle_t warning_ = NeverCycle;
  std::array<asked, PriorityCount> of_{};
  std::uint8_t full_ = 0;      ///< XOFF by what waits
  std::uint8_t forced_ = 0;    ///< ... by what was told
  std::uint8_t given_up_ = 0;  ///< stall prevention has acted, and the reason is still there
  std::uint8_t told_ = 0;      ///< what the other end knows
  cycle_t refresh_at_ = NeverCycle;
  std::vector<storm> storms_;
};

}  // namespace carillon
