// Which function sends next, without time: the level above the rounds of the QPs.
//
// Functions with something to send take turns in rounds. A round gives each of them a quantum, one
// packet of the largest size (times its weight, in weighted arbitration), and who has some of it
// left sends one packet a turn; it may overdraw it, and owes that to the next round. So functions
// share bytes of the wire, and one that has been quiet waits for one packet of each other at most,
// however many QPs those have. In strict arbitration each urgency has rounds of its own, the
// highest first.
//
// A function that can send nothing keeps its turn and what is left of its quantum, and nobody waits
// for it. One that has used up its rate is out of the round until its bucket is open again.
#pragma once

#include <cstdint>
#include <vector>

#include "common/port_share.h"
#include "common/types.h"
#include "tx_sched/number_list.h"
#include "tx_sched/token_bucket.h"

namespace carillon {

class sched_functions {
 public:
  /// `largest`: bytes on the wire of the largest packet.
  sched_functions(const std::vector<port_share>& shares, std::uint32_t largest, ps_t period);

  /// The table has changed. If urgencies have, functions take their places anew, in the order of
  /// their numbers; else they keep them: what a VF may change of its port costs nobody a turn.
  /// Returns those that have to enter again, if they still have something to send.
  std::vector<std::uint16_t> configure(cycle_t t, const std::vector<port_share>& shares);

  [[nodiscard]] std::size_t size() const { return functions_.size(); }

  /// Nobody shares the wire with anybody.
  [[nodiscard]] bool alone() const { return alone_; }

  /// What its packets take on the wire matters.
  [[nodiscard]] bool charged(std::uint16_t function) const {
    return !alone_ || functions_[function].bucket.limited();
  }

  /// Its frames carry a tag, whatever its QPs say.
  [[nodiscard]] bool tagged(std::uint16_t function) const { return functions_[function].tagged; }

  /// It has something to send, perhaps not for the first time. True if it has to wait for its rate.
  bool enter(cycle_t t, std::uint16_t function);

  /// It has nothing to send any more.
  void leave(std::uint16_t function);

  /// Begins a round of each urgency of which nobody has anything left, before a turn is offered.
  void begin_rounds();

  /// A round will begin in the next cycle, whatever happens: it must not matter how often anybody
  /// looks.
  [[nodiscard]] bool rounds_end() const;

  /// Somebody may send.
  [[nodiscard]] bool any() const { return listed_ != 0; }

  /// It waits for its rate.
  [[nodiscard]] bool throttled(std::uint16_t function) const {
    return functions_[function].at == place::throttled;
  }

  /// Offers the next turn to the functions, in the order in which they are due, until `attempt`
  /// says how many bytes it has sent; -1: it cannot. Meanwhile that function may enter, and leave
  /// if it cannot.
  template <class Attempt>
  bool serve(cycle_t t, Attempt attempt) {
    for (std::size_t i = lanes_.size(); i != 0; --i) {
      lane& each = lanes_[i - 1];
      if (serve(t, each.due, attempt) || serve(t, each.spent, attempt)) {
        return true;
      }
    }
    return false;
  }

  /// Something out of turn was sent. It may cost the function its place.
  void charge(cycle_t t, std::uint16_t function, std::uint32_t bytes);

  /// Takes out a function whose rate lets it send again; NoNumber if there is none.
  std::uint32_t take_opened(cycle_t t);

  /// When the next function may send again.
  [[nodiscard]] cycle_t opens() const {
    return waiting_.empty() ? NeverCycle : waiting_.front().cycle;
  }

 private:
  enum class place : std::uint8_t { out, due, spent, throttled };

  struct participant {
    explicit participant(std::uint32_t largest) : bucket(largest) {}

    place at = place::out;
    bool tagged = false;
    std::uint8_t lane = 0;
    std::uint8_t urgency = 0;
    std::int64_t quantum = 0;
    std::int64_t balance = 0;  ///< bytes it may still send in this round
    std::uint64_t round = 0;   ///< in which it got its quantum last
    token_bucket bucket;
  };

  /// Functions of one urgency.
  struct lane {
    number_list due;    ///< have some of their quantum left, whose turn it is in front
    number_list spent;  ///< wait for the next round
    std::uint64_t round = 1;
  };

  struct opening {
    cycle_t cycle = 0;
    std::uint16_t function = 0;

    bool operator<(const opening& other) const {
      return cycle != other.cycle ? cycle > other.cycle : function > other.function;
    }
  };

  template <class Attempt>
  bool serve(cycle_t t, const number_list& list, Attempt& attempt) {
    std::uint32_t behind = NoNumber;
    for (std::uint32_t number = list.first; number != NoNumber; number = behind) {
      behind = links_.behind(number);
      const auto offered = static_cast<std::uint16_t>(number);
      if (const std::int64_t bytes = attempt(offered); bytes >= 0) {
        settle(t, offered, static_cast<std::uint32_t>(bytes));
        return true;
      }
    }
    return false;
  }

  static void top_up(const lane& rounds, participant& each);
  void begin_round(lane& rounds);
  void settle(cycle_t t, std::uint16_t number, std::uint32_t bytes);
  void line_up(std::uint16_t number);
  void take_out(std::uint16_t number);
  void throttle(std::uint16_t number);

  const std::uint32_t largest_;
  const ps_t period_;
  std::vector<participant> functions_;
  std::vector<lane> lanes_;  ///< one for each urgency that there is, the lowest first
  number_links links_;
  std::vector<opening> waiting_;  ///< a heap, the next one in front
  std::size_t listed_ = 0;
  bool alone_ = true;
};

}  // namespace carillon
