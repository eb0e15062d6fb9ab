// The streams and levels of rtl/tx_sched/tx_sched.sv in the order of its port table, for the twin
// and its broken variants.
#pragma once

#include "cosim/verilated_block.h"

namespace carillon {

template <class Model>
block_pins tx_sched_pins(Model& v) {
  return {.streams = {CARILLON_INPUT_PINS(v, work), CARILLON_INPUT_PINS(v, acknowledges),
                      CARILLON_INPUT_PINS(v, left), CARILLON_INPUT_PINS(v, commands),
                      CARILLON_INPUT_PINS(v, controls), CARILLON_OUTPUT_PINS(v, payload),
                      CARILLON_OUTPUT_PINS(v, direct), CARILLON_OUTPUT_PINS(v, sent),
                      CARILLON_OUTPUT_PINS(v, refetches), CARILLON_OUTPUT_PINS(v, invalidations),
                      CARILLON_OUTPUT_PINS(v, failures), CARILLON_OUTPUT_PINS(v, answered),
                      CARILLON_INPUT_PINS(v, limits), CARILLON_OUTPUT_PINS(v, charges)},
          .levels = {CARILLON_LEVEL_PINS(v, port_mtu), CARILLON_LEVEL_PINS(v, largest),
                     CARILLON_LEVEL_PINS(v, send_window), CARILLON_LEVEL_PINS(v, ack_interval),
                     CARILLON_LEVEL_PINS(v, clock_period), CARILLON_LEVEL_PINS(v, vports),
                     CARILLON_LEVEL_PINS(v, paused), CARILLON_LEVEL_PINS(v, crowded)},
          .timer = {.cycle = &v.cycle_i, .wake_at = &v.wake_at_o}};
}

}  // namespace carillon
