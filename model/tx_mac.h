// tx_mac: the last stage before the wire. 20 cycles from a frame's first beat to its first bit.
//
// A frame is taken when the serializer will be free within the cycle in which its first bit is due,
// so that it never runs dry: the core delivers 64 bytes a cycle, and a wire that is faster is
// refused when the NIC is built. rtl/tx_mac/tx_mac.sv is its twin.
#pragma once

#include <vector>

#include "common/frame_sink.h"
#include "common/items.h"
#include "common/nic_shared.h"
#include "common/ring.h"
#include "common/stage.h"
#include "common/twin.h"
#include "common/tx_pacer.h"

namespace carillon {

struct tx_mac_ports {
  enum index_e : unsigned { Frames, Leaving };

  stream<frame_item>& frames;             ///< from packet_builder
  frame_sink& wire;                       ///< told by the model, ahead of the first bit
  stream<frame_item>* leaving = nullptr;  ///< what leaves, beat by beat; only where there is a twin

  [[nodiscard]] std::vector<stream_base*> all() const { return {&frames, leaving}; }
};

class tx_mac_rules final : public twin_rules, private stream_tap<frame_item> {
 public:
  /// The RTL's.
  tx_mac_rules(nic_shared& nic, trace_site site, const tx_mac_ports& io)
      : tx_mac_rules(nic, site, io, true) {}

  /// The model's tell the serializer of a frame when it is taken, so it can be asked.
  tx_mac_rules(nic_shared& nic, trace_site site, const tx_mac_ports& io, bool rtl);

  std::vector<wait_list> waits() override;
  departure departs(unsigned port, cycle_t visible) override;

  [[nodiscard]] item_handles handles() const override {
    return {departed_.bytes, {}, departed_.offset};
  }

  /// The serializer will be busy in the whole cycle in which the first bit of a frame taken in
  /// cycle t is due.
  [[nodiscard]] bool wire_busy(cycle_t t) const;

 private:
  struct taken_frame {
    frame_item frame;
    cycle_t taken = 0;
  };

  void on_take(cycle_t t, const frame_item& item) override;

  nic_shared& nic_;
  trace_site site_;
  tx_mac_ports io_;
  bool rtl_;
  tx_pacer pacer_;
  ring<taken_frame> under_way_;
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

  ports ports_;
  rules rules_;
};

}  // namespace carillon
