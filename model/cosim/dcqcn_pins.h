// The streams of rtl/dcqcn/dcqcn.sv in the order of its port table, for the twin and its broken
// variants.
#pragma once

#include "cosim/verilated_block.h"

namespace carillon {

template <class Model>
block_pins dcqcn_pins(Model& v) {
  return {.streams = {CARILLON_INPUT_PINS(v, slices), CARILLON_OUTPUT_PINS(v, rates)}};
}

}  // namespace carillon
