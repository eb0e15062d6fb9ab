// The streams and levels of rtl/pcie_rx/pcie_rx.sv in the order of its port table, for the twin and
// its broken variants.
#pragma once

#include "cosim/verilated_block.h"

namespace carillon {

template <class Model>
block_pins pcie_rx_pins(Model& v) {
  return {.streams = {CARILLON_INPUT_PINS(v, tlp), CARILLON_OUTPUT_PINS(v, uar_write),
                      CARILLON_OUTPUT_PINS(v, uar_read), CARILLON_OUTPUT_PINS(v, register_write),
                      CARILLON_OUTPUT_PINS(v, register_read), CARILLON_OUTPUT_PINS(v, completion),
                      CARILLON_OUTPUT_PINS(v, refusal), CARILLON_OUTPUT_PINS(v, config),
                      CARILLON_OUTPUT_PINS(v, error)},
          .levels = {CARILLON_LEVEL_PINS(v, now), CARILLON_LEVEL_PINS(v, windows),
                     CARILLON_LEVEL_PINS(v, resetting)}};
}

}  // namespace carillon
