// The Verilated tx_sched behind rtl_block.
#include <memory>

#include "Vtx_sched.h"
#include "cosim/blocks.h"
#include "cosim/tx_sched_pins.h"

namespace carillon {

std::unique_ptr<rtl_block> make_tx_sched_block() {
  return std::make_unique<verilated_block<Vtx_sched>>(&tx_sched_pins<Vtx_sched>, true,
                                                      &tx_sched_levels<Vtx_sched>);
}

}  // namespace carillon
