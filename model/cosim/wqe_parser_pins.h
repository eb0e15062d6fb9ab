// The streams of rtl/wqe_parser/wqe_parser.sv in the order of its port table, for the twin and its
// broken variants.
#pragma once

#include "cosim/verilated_block.h"

namespace carillon {

template <class Model>
block_pins wqe_parser_pins(Model& v) {
  return {.streams = {CARILLON_INPUT_PINS(v, wqe), CARILLON_OUTPUT_PINS(v, ctx_read),
                      CARILLON_INPUT_PINS(v, ctx_line), CARILLON_OUTPUT_PINS(v, mkey_read),
                      CARILLON_INPUT_PINS(v, mkey_line), CARILLON_OUTPUT_PINS(v, work)}};
}

}  // namespace carillon
