// Behind tx_mac where it has a twin: takes what leaves, beat by beat, as the serializer would. In
// place of the model it is what tells the wire; beside the model, which did so itself, it only
// takes.
#pragma once

#include "common/frame_sink.h"
#include "common/items.h"
#include "common/nic_shared.h"
#include "common/stage.h"

namespace carillon {

class tx_mac_wire final : public stage {
 public:
  /// `wire` is nullptr if somebody else tells it.
  tx_mac_wire(const sc_core::sc_module_name& name, nic_shared& nic, stream<frame_item>& leaving,
              frame_sink* wire);

 private:
  void evaluate(cycle_t t) override;

  stream<frame_item>& leaving_;
  frame_sink* wire_;
};

}  // namespace carillon
