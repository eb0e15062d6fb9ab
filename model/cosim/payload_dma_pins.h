// The streams of rtl/payload_dma/payload_dma.sv in the order of its port table, and its way to the
// frame store, for the twin and its broken variants.
#pragma once

#include "cosim/verilated_block.h"

namespace carillon {

template <class Model>
block_pins payload_dma_pins(Model& v) {
  return {.streams = {CARILLON_INPUT_PINS(v, packets), CARILLON_OUTPUT_PINS(v, reads),
                      CARILLON_INPUT_PINS(v, done), CARILLON_OUTPUT_PINS(v, filled),
                      CARILLON_OUTPUT_PINS(v, left), CARILLON_OUTPUT_PINS(v, key_reads),
                      CARILLON_INPUT_PINS(v, key_lines)},
          .store = {&v.store_line_o, v.store_i.data()}};
}

}  // namespace carillon
