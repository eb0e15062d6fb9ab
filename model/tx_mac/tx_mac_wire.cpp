#include "tx_mac/tx_mac_wire.h"

#include <utility>

namespace carillon {

tx_mac_wire::tx_mac_wire(const sc_core::sc_module_name& name, nic_shared& nic,
                         stream<frame_item>& leaving, frame_sink* wire)
    : stage(name, nic.context, "tx_mac"), leaving_(leaving), wire_(wire) {
  leaving_.to(*this, site());
  watch(leaving_, {});
}

void tx_mac_wire::evaluate(cycle_t t) {
  if (!leaving_.takeable(t)) {
    return;
  }
  frame_item frame = leaving_.take(t);
  if (wire_ != nullptr) {
    wire_->send(std::move(frame), time_of(t));
  }
}

}  // namespace carillon
