// tx_mac: the last stage before the wire. 20 cycles from a frame's first beat to its first bit.
//
// A frame is taken when the serializer will be free within the cycle in which its first bit is due,
// so that it never runs dry: the core delivers 64 bytes a cycle, and a wire that is faster is
// refused when the NIC is built.
#pragma once

#include "common/frame_sink.h"
#include "common/items.h"
#include "common/nic_shared.h"
#include "common/stage.h"

namespace carillon {

class tx_mac final : public stage {
 public:
  struct ports {
    stream<frame_item>& frames;
    frame_sink& wire;
  };

  tx_mac(const sc_core::sc_module_name& name, nic_shared& nic, const ports& connected);

 private:
  void evaluate(cycle_t t) override;
  [[nodiscard]] bool wire_busy(cycle_t t) const;

  nic_shared& nic_;
  ports ports_;
};

}  // namespace carillon
