// The streams and lookups of rtl/rx_parser/rx_parser.sv in the order of its port table, for the
// twin and its broken variants.
#pragma once

#include "cosim/verilated_block.h"

namespace carillon {

template <class Model>
block_pins rx_parser_pins(Model& v) {
  return {.streams = {CARILLON_INPUT_PINS(v, frames), CARILLON_INPUT_PINS(v, commits),
                      CARILLON_OUTPUT_PINS(v, common_reads), CARILLON_INPUT_PINS(v, common_lines),
                      CARILLON_OUTPUT_PINS(v, responder_reads),
                      CARILLON_INPUT_PINS(v, responder_lines), CARILLON_OUTPUT_PINS(v, requests),
                      CARILLON_OUTPUT_PINS(v, responses), CARILLON_OUTPUT_PINS(v, ends)},
          .lookups = {CARILLON_LOOKUP(v, steer)}};
}

}  // namespace carillon
