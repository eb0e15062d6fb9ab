// The streams and levels of rtl/tx_mac/tx_mac.sv in the order of its port table, for the twin and
// its broken variants.
#pragma once

#include "cosim/verilated_block.h"

namespace carillon {

template <class Model>
block_pins tx_mac_pins(Model& v) {
  return {.streams = {CARILLON_INPUT_PINS(v, frame), CARILLON_INPUT_PINS(v, control),
                      CARILLON_OUTPUT_PINS(v, wire)},
          .levels = {CARILLON_LEVEL_PINS(v, byte_cost), CARILLON_LEVEL_PINS(v, cycle_credit),
                     CARILLON_LEVEL_PINS(v, paused)},
          .values = {CARILLON_VALUE_PINS(v, crowded)}};
}

}  // namespace carillon
