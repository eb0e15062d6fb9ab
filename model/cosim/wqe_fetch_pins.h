// The streams of rtl/wqe_fetch/wqe_fetch.sv in the order of its port table, for the twin and its
// broken variants.
#pragma once

#include "cosim/verilated_block.h"

namespace carillon {

template <class Model>
block_pins wqe_fetch_pins(Model& v) {
  return {.streams = {CARILLON_INPUT_PINS(v, doorbells), CARILLON_OUTPUT_PINS(v, context_reads),
                      CARILLON_INPUT_PINS(v, context_lines), CARILLON_OUTPUT_PINS(v, reads),
                      CARILLON_INPUT_PINS(v, done), CARILLON_INPUT_PINS(v, commands),
                      CARILLON_INPUT_PINS(v, refetches), CARILLON_OUTPUT_PINS(v, wqes)}};
}

}  // namespace carillon
