// Faults on the cable, by rule: frames are dropped, corrupted, duplicated, delayed, reordered.
//
// A lane stands in each direction between the serializer and the far end. Each rule looks at every
// frame of its direction, so that what one rule counts and draws does not depend on the others; of
// the rules that select a frame the first one acts.
//
// At the far end the wire is a resource of its own: frames are served there in the order of the
// times at which they are due (late ones before one that comes just then), each as soon as the
// frame before it has passed with its gap. Nothing is earlier than it would be without faults, two
// frames never overlap, and the receiver is told in the order of arrival. A late frame is served
// when a frame that is due after it is announced, or else when it is due: nobody can be announced
// later that would have come before it.
//
// Copies are not traced: a message has one history, which the frame itself continues.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/buffer.h"
#include "common/context.h"
#include "common/items.h"
#include "common/random.h"
#include "common/roce_packet.h"
#include "common/timeline.h"
#include "fabric/fault_rule.h"
#include "fabric/wire_link.h"

namespace carillon {

/// One frame to which a rule did something.
struct fault_record {
  ps_t time = 0;  ///< when its first bit left the sender
  fault_direction direction = fault_direction::host0_to_host1;
  std::uint64_t frame = 0;  ///< of all frames sent in this direction, from 1
  std::uint32_t rule = 0;   ///< from 0
  fault_action action = fault_action::drop;
  const opcode_info* opcode = nullptr;  ///< nullptr: no RoCE packet, psn and dest_qpn mean nothing
  std::uint32_t psn = 0;
  std::uint32_t dest_qpn = 0;
  corrupt_target target = corrupt_target::fcs;  ///< of a corrupt
  std::uint32_t bit = 0;                        ///< likewise
};

/// "fault: corrupted icrc bit 612 (rule 0)".
std::string describe(const fault_record& record);

/// Told of every fault when it is decided: by frame in each direction, the directions in no
/// particular order.
class fault_observer {
 public:
  virtual ~fault_observer() = default;
  virtual void on_fault(const fault_record& record) = 0;
};

/// What one rule did in one direction.
struct fault_rule_count {
  std::uint64_t matched =
      0;  ///< frames that it selected, if `count` and earlier rules let it or not
  std::uint64_t applied = 0;
};

using fault_counts = std::array<std::uint64_t, FaultActionCount>;

/// One direction.
class fault_lane final : public wire_filter, private timed {
 public:
  fault_lane(sim_context& context, const std::vector<fault_rule>& rules, fault_direction direction,
             wire_port& sender, buffer_pool& buffers, std::vector<fault_observer*>& observers);

  void on_frame(frame_item&& frame, ps_t first_bit, ps_t last_bit) override;

  [[nodiscard]] const fault_counts& counts() const { return counts_; }

  [[nodiscard]] fault_rule_count rule_count(std::size_t rule) const;

  [[nodiscard]] std::uint64_t frames() const { return frames_; }

  /// Frames that have not been handed on yet.
  [[nodiscard]] std::size_t held() const { return late_.size() + overtaken_.size(); }

 private:
  /// A frame on its way, or held back.
  struct traveller {
    frame_item frame;
    ps_t first_bit = 0;  ///< when it would arrive without faults
    ps_t last_bit = 0;
    ps_t due = 0;              ///< its first bit arrives no earlier
    std::uint64_t number = 0;  ///< in this direction
    std::uint64_t sequence = 0;
    bool copy = false;
    std::optional<fault_action> held;  ///< what holds it back
    std::uint32_t behind = 0;          ///< reorder: frames that must still go first
  };

  struct rule_state {
    const fault_rule* rule;
    std::uint32_t number;
    random_stream random;
    std::uint64_t seen = 0;  ///< matched everything before `every`
    std::uint64_t left = 0;  ///< were left for `nth`
    std::size_t next_nth = 0;
    fault_rule_count count;
  };

  /// A frame as the rules see it; its headers are only read if a rule asks.
  class view {
   public:
    view(const frame_item& frame, ps_t time) : frame_(frame), time_(time) {}

    [[nodiscard]] const frame_item& frame() const { return frame_; }

    [[nodiscard]] ps_t time() const { return time_; }

    [[nodiscard]] const parsed_frame& headers();

   private:
    const frame_item& frame_;
    ps_t time_;
    std::optional<parsed_frame> headers_;
  };

  void on_time(ps_t now, std::uint64_t what) override;

  [[nodiscard]] static bool matches(const fault_rule& rule, view& seen);
  [[nodiscard]] static bool can_corrupt(const fault_rule& rule, view& seen);
  [[nodiscard]] static bool selects(rule_state& state, view& seen);
  [[nodiscard]] rule_state* choose(view& seen);
  void act(rule_state& chosen, traveller&& item, view& seen);
  void report(const rule_state& chosen, const traveller& item, view& seen, std::uint32_t bit);

  void own(frame_item& frame);
  void flip(frame_item& frame, std::uint32_t bit, corrupt_target target);

  void hold(traveller&& item, fault_action why);
  /// Hands on all that is due up to `time`.
  void serve_due(ps_t time);
  void serve(traveller&& item);

  sim_context& context_;
  fault_direction direction_;
  wire_port& sender_;
  buffer_pool& buffers_;
  std::vector<fault_observer*>& observers_;
  trace_site site_;
  name_id delay_;
  name_id reorder_;
  name_id wire_;
  std::vector<rule_state> rules_;
  frame_serializer far_end_;
  std::vector<traveller> late_;  ///< a heap, the first due on top
  std::vector<traveller>
      overtaken_;  ///< wait for later frames, in the order in which they were sent
  std::uint64_t frames_ = 0;
  std::uint64_t sequence_ = 0;
  fault_counts counts_{};
};

class fault_injector {
 public:
  /// Changed frames and copies live in `buffers`, which must outlive whoever receives them.
  fault_injector(sim_context& context, std::vector<fault_rule> rules, buffer_pool& buffers);
  fault_injector(const fault_injector&) = delete;
  fault_injector& operator=(const fault_injector&) = delete;

  /// From now on the rules of that direction see what `sender` sends.
  void insert(fault_direction direction, wire_port& sender);

  void observe(fault_observer& observer) { observers_.push_back(&observer); }

  [[nodiscard]] const std::vector<fault_rule>& rules() const { return rules_; }

  /// Frames that something was done to; `both` adds the directions up.
  [[nodiscard]] fault_counts counts(fault_direction direction = fault_direction::both) const;

  /// Both directions together.
  [[nodiscard]] fault_rule_count rule_count(std::size_t rule) const;

  /// At the end of a run: no frame is held back any more.
  void check_drained() const;

 private:
  sim_context& context_;
  const std::vector<fault_rule> rules_;
  buffer_pool& buffers_;
  std::vector<fault_observer*> observers_;
  std::array<std::unique_ptr<fault_lane>, FaultDirectionCount> lanes_;
};

}  // namespace carillon
