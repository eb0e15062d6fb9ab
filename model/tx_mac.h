// tx_mac: the last stage before the wire. 20 cycles from a frame's first beat to its first bit.
//
// A frame is taken when the serializer will be free within the cycle in which its first bit is due,
// so that it never runs dry: the core delivers 64 bytes a cycle, and a wire that is faster is
// refused when the NIC is built. A frame of a priority that PFC has paused is taken at once and put
// aside, so that those of others can pass; when its priority may send again it goes before what
// comes anew. PFC frames of our own go before both. rtl/tx_mac/tx_mac.sv is its twin.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "common/frame_sink.h"
#include "common/held_history.h"
#include "common/items.h"
#include "common/level.h"
#include "common/nic_shared.h"
#include "common/pfc_frame.h"
#include "common/ring.h"
#include "common/stage.h"
#include "common/twin.h"
#include "common/tx_pacer.h"
#include "gen/stages.h"

namespace carillon {

struct tx_mac_ports {
  enum index_e : unsigned { Frames, Control, Leaving };

  stream<frame_item>& frames;             ///< from packet_builder
  frame_sink& wire;                       ///< told by the model, ahead of the first bit
  stream<frame_item>* leaving = nullptr;  ///< what leaves, beat by beat; only where there is a twin
  // Of PFC; without them nothing is paused.
  stream<frame_item>* control = nullptr;   ///< frames of rx_mac for the other end's MAC
  level<std::uint8_t>* paused = nullptr;   ///< from rx_mac: priorities that must not send
  level<std::uint8_t>* crowded = nullptr;  ///< to tx_sched: those with too many frames aside

  [[nodiscard]] std::vector<stream_base*> all() const { return {&frames, control, leaving}; }

  [[nodiscard]] twin_levels levels() const { return {.paused = paused, .crowded = crowded}; }
};

class tx_mac_rules final : public twin_rules {
 public:
  /// A frame whose first beat goes on its way in cycle `begun`; its history reaches until then.
  struct begun_frame {
    frame_item frame;
    cycle_t begun = 0;
  };

  /// The RTL's.
  tx_mac_rules(nic_shared& nic, trace_site site, const tx_mac_ports& io)
      : tx_mac_rules(nic, site, io, true) {}

  /// The model's tell the serializer of a frame when it begins, so it can be asked.
  tx_mac_rules(nic_shared& nic, trace_site site, const tx_mac_ports& io, bool rtl);

  std::vector<wait_list> waits() override;
  departure departs(unsigned port, cycle_t visible) override;

  [[nodiscard]] item_handles handles() const override {
    return {departed_.bytes, {}, departed_.offset};
  }

  /// To be called in cycle t before anything is taken in it; again is no harm.
  void look(cycle_t t);

  /// A PFC frame can be taken in cycle t.
  [[nodiscard]] bool takes_control(cycle_t t) const { return !view_of(t).busy(); }

  /// So can the next frame of packet_builder.
  [[nodiscard]] bool takes_frame(cycle_t t) const { return kept_by(t) == keeper::nothing; }

  /// Does in cycle t what follows from what was taken in it.
  void settle(cycle_t t) override;

  /// After settle() in cycle t: when something that waits may move, as far as time alone decides.
  [[nodiscard]] cycle_t next(cycle_t t) const;

  ring<begun_frame> begun;  ///< on its way, oldest first

 private:
  static constexpr unsigned ParkBeats = stage_spec::tx_mac::ParkBeats;
  static constexpr unsigned ParkLow = stage_spec::tx_mac::ParkLow;

  /// What keeps the next frame of packet_builder.
  enum class keeper : std::uint8_t { nothing, pause, wire, control, parked };

  /// What a cycle finds.
  struct view {
    cycle_t cycle = NeverCycle;
    std::uint8_t paused = 0;
    bool wire_busy = false;  ///< the serializer will be, in the whole cycle of a first bit
    bool lane_busy = false;  ///< beats of a frame are on their way into the pipe
    bool control = false;    ///< a PFC frame waits
    std::uint8_t ready = 0;  ///< priorities with a frame aside that may go

    [[nodiscard]] bool busy() const { return wire_busy || lane_busy; }
  };

  struct parked_frame {
    frame_item frame;
    held_history history;
    cycle_t taken = 0;
  };

  struct parked_queue {
    ring<parked_frame> frames;
    unsigned beats = 0;
  };

  template <void (tx_mac_rules::*Taken)(cycle_t, const frame_item&)>
  struct input_tap final : stream_tap<frame_item> {
    explicit input_tap(tx_mac_rules& rules) : owner(rules) {}

    void on_take(cycle_t t, const frame_item& item) override { (owner.*Taken)(t, item); }

    tx_mac_rules& owner;
  };

  // cppcheck-suppress unusedPrivateFunction ; frame_tap_ calls it
  void on_frame(cycle_t t, const frame_item& item);
  // cppcheck-suppress unusedPrivateFunction ; control_tap_ calls it
  void on_control(cycle_t t, const frame_item& item);
  void begin(cycle_t t, frame_item frame);
  void resume(cycle_t t);

  [[nodiscard]] view view_of(cycle_t t) const { return view_.cycle == t ? view_ : see(t); }

  [[nodiscard]] view see(cycle_t t) const;
  [[nodiscard]] keeper kept_by(cycle_t t) const;
  [[nodiscard]] bool wire_busy(cycle_t t) const;

  [[nodiscard]] std::uint8_t paused(cycle_t t) const {
    return io_.paused == nullptr ? 0 : io_.paused->read(t);
  }

  nic_shared& nic_;
  trace_site site_;
  tx_mac_ports io_;
  bool rtl_;
  tx_pacer pacer_;
  name_id pause_reason_;
  input_tap<&tx_mac_rules::on_frame> frame_tap_{*this};
  input_tap<&tx_mac_rules::on_control> control_tap_{*this};
  std::array<parked_queue, PriorityCount> parked_;
  std::uint8_t waiting_ = 0;       ///< priorities with frames aside
  cycle_t lane_free_ = 0;          ///< the beats of the frame before are in
  cycle_t begun_in_ = NeverCycle;  ///< when that was
  view view_;
  std::uint8_t crowded_ = 0;
  frame_item departed_;
};

class tx_mac final : public stage {
 public:
  static constexpr const char* Row = "tx_mac";
  using ports = tx_mac_ports;
  using rules = tx_mac_rules;

  tx_mac(const sc_core::sc_module_name& name, nic_shared& nic, const ports& connected);

 private:
  void evaluate(cycle_t t) override;
  void send();

  ports ports_;
  rules rules_;
};

}  // namespace carillon
