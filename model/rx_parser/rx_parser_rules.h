// What rx_parser does with what it takes: headers, steering, lookups, verdicts. It follows from the
// inputs, the virtual ports and the room at the outputs alone, so the model and the RTL share it:
// the one sends it, the other finds histories in it.
#pragma once

#include <optional>
#include <vector>

#include "common/held_history.h"
#include "common/items.h"
#include "common/level.h"
#include "common/nic_shared.h"
#include "common/ring.h"
#include "common/roce_packet.h"
#include "common/rx_end.h"
#include "common/steering.h"
#include "common/stream.h"
#include "common/twin.h"
#include "gen/stages.h"
#include "rx_parser/rx_verdict.h"

namespace carillon {

struct rx_parser_ports {
  enum index_e : unsigned {
    Frames,
    Commits,
    CommonReads,
    CommonLines,
    ResponderReads,
    ResponderLines,
    Requests,
    Responses,
    Ends
  };

  stream<frame_item>& frames;             ///< frames with a good FCS - rx_mac
  stream<qp_commit>& commits;             ///< decided requests - responder
  stream<context_read>& common_reads;     ///< qpc_common - qpc_ram
  stream<context_line>& common_lines;     ///< its answers - qpc_ram
  stream<context_read>& responder_reads;  ///< qpc_responder - qpc_ram
  stream<context_line>& responder_lines;  ///< its answers - qpc_ram
  stream<rx_packet>& requests;            ///< requests with a verdict - responder
  stream<rx_packet>& responses;           ///< ACKs and responses - requester
  level<vport_table>& vports;             ///< where frames are for - pcie_endpoint
  stream<rx_ended>* ends = nullptr;       ///< how each packet left - whoever compares twins

  [[nodiscard]] std::vector<stream_base*> all() const {
    return {&frames,          &commits,  &common_reads, &common_lines, &responder_reads,
            &responder_lines, &requests, &responses,    ends};
  }

  [[nodiscard]] twin_levels levels() const { return {&vports}; }
};

class rx_parser_rules final : public twin_rules {
 public:
  /// An item that leaves in cycle `pushed`.
  template <class T>
  struct sent {
    T item;
    cycle_t pushed = 0;
  };

  /// Packets between the first beat and the verdict. A pipeline without a stall holds at most nine.
  static constexpr unsigned Slots = stage_spec::rx_parser::Slots;
  /// Requests between lookup and commit.
  static constexpr unsigned Undecided = stage_spec::rx_parser::Undecided;

  rx_parser_rules(nic_shared& nic, trace_site site, const rx_parser_ports& io);

  std::vector<wait_list> waits() override;
  departure departs(unsigned port, cycle_t visible) override;

  [[nodiscard]] item_handles handles() const override { return handles_; }

  /// Does in cycle t what the items taken in it lead to, and whatever else is due.
  void settle(cycle_t t) override;

  /// No frame can be taken in cycle t. Counts what left before t.
  [[nodiscard]] bool full(cycle_t t) const {
    return settled_ == t ? was_full_ : slots_.size() >= Slots;
  }

  // After settle():
  /// The oldest lookup waits for credits of both its streams.
  [[nodiscard]] bool short_of_reads() const { return stall_ == stall::read_credit; }

  /// What the front packet has no credit for; nullptr if it waits for none.
  [[nodiscard]] stream<rx_packet>* short_of() const { return short_of_; }

  /// The next cycle in which something is due that no item brings about.
  [[nodiscard]] cycle_t next() const { return next_; }

  ring<sent<context_read>> common_reads;  ///< that leave
  ring<sent<context_read>> responder_reads;
  ring<sent<rx_packet>> requests;
  ring<sent<rx_packet>> responses;
  ring<sent<rx_ended>> ends;

 private:
  struct packet_slot {
    frame_item frame;
    parsed_frame parsed;
    cycle_t taken = 0;
    cycle_t checked = 0;  ///< the ICRC is known
    /// A header state refused it or no port takes it: it is counted and dropped without a lookup.
    rx_refusal refused = rx_refusal::Nothing;
    std::optional<std::uint16_t> port;  ///< that it is for
    bool request = false;
    bool issued = false;
    bool has_common = false;
    bool has_responder = false;
    cycle_t looked_up = 0;
    held_history own;     ///< along the beats to the ICRC
    held_history lookup;  ///< along the header FSM and the context RAM
    context_line common;
    context_line responder;
  };

  /// Why the oldest lookup that is due has not left.
  enum class stall : std::uint8_t { none, qp_busy, undecided, read_credit };

  /// Remembers what was taken of an input in the present cycle.
  template <class T>
  struct input_tap final : stream_tap<T> {
    void on_take(cycle_t /*t*/, const T& item) override { taken = item; }

    std::optional<T> taken;
  };

  void take_line(cycle_t t, input_tap<context_line>& from, bool packet_slot::*has,
                 context_line packet_slot::*line);
  void issue_lookup(cycle_t t);
  void deliver(cycle_t t);
  void take_frame(cycle_t t);
  void take_address(packet_slot& slot, cycle_t t);
  void drop(cycle_t t, rx_refusal why);
  void tell(cycle_t t, rx_ended end);
  void count(const packet_slot& slot, rx_verdict verdict);
  rx_packet result_of(packet_slot& slot, rx_verdict verdict);
  [[nodiscard]] bool busy(std::uint32_t qpn) const;
  void release(std::uint32_t qpn);

  void due(cycle_t t) { next_ = std::min(next_, t); }

  nic_shared& nic_;
  trace_site site_;
  rx_parser_ports io_;
  input_tap<frame_item> frame_;
  input_tap<qp_commit> commit_;
  input_tap<context_line> common_;
  input_tap<context_line> responder_;
  ring<packet_slot> slots_;
  std::vector<std::uint32_t> busy_;  ///< QPs with a request between lookup and commit
  cycle_t last_left_ = 0;            ///< when the packet before the front one left, + 1
  cycle_t settled_ = NeverCycle;
  bool was_full_ = false;  ///< before that cycle
  stall stall_ = stall::none;
  stream<rx_packet>* short_of_ = nullptr;
  cycle_t next_ = NeverCycle;
  item_handles handles_;
  name_id order_;
  name_id qp_busy_;
  name_id undecided_;
  name_id read_credit_;
  name_id request_credit_;
  name_id response_credit_;
};

}  // namespace carillon
