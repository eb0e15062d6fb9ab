// The streams and lookups of rtl/packet_builder/packet_builder.sv in the order of its port table,
// for the twin and its broken variants.
#pragma once

#include "cosim/verilated_block.h"

namespace carillon {

template <class Model>
block_pins packet_builder_pins(Model& v) {
  return {.streams = {CARILLON_INPUT_PINS(v, ctx_line), CARILLON_INPUT_PINS(v, filled),
                      CARILLON_INPUT_PINS(v, direct), CARILLON_OUTPUT_PINS(v, ctx_read),
                      CARILLON_OUTPUT_PINS(v, frame), CARILLON_OUTPUT_PINS(v, loopback)},
          .lookups = {CARILLON_LOOKUP(v, vport), CARILLON_LOOKUP(v, source),
                      CARILLON_LOOKUP(v, route)}};
}

}  // namespace carillon
