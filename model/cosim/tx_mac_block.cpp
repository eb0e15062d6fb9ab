// The Verilated tx_mac behind rtl_block.
#include <memory>

#include "Vtx_mac.h"
#include "cosim/blocks.h"
#include "cosim/tx_mac_pins.h"

namespace carillon {

std::unique_ptr<rtl_block> make_tx_mac_block() {
  return std::make_unique<verilated_block<Vtx_mac>>(&tx_mac_pins<Vtx_mac>, true,
                                                    &tx_mac_levels<Vtx_mac>);
}

}  // namespace carillon
