// The streams and levels of rtl/uar/uar.sv in the order of its port table, for the twin and its
// broken variants.
#pragma once

#include "cosim/verilated_block.h"

namespace carillon {

template <class Model>
block_pins uar_pins(Model& v) {
  return {.streams = {CARILLON_INPUT_PINS(v, ctx_line), CARILLON_INPUT_PINS(v, write),
                      CARILLON_INPUT_PINS(v, read), CARILLON_OUTPUT_PINS(v, ctx_read),
                      CARILLON_OUTPUT_PINS(v, doorbell), CARILLON_OUTPUT_PINS(v, queue_doorbell),
                      CARILLON_OUTPUT_PINS(v, answer)},
          .levels = {CARILLON_LEVEL_PINS(v, log_pages), CARILLON_LEVEL_PINS(v, bf_slots),
                     CARILLON_LEVEL_PINS(v, bf_timeout), CARILLON_LEVEL_PINS(v, writes_waiting)}};
}

}  // namespace carillon
