// The pins of rtl/qpc_ram/qpc_ram.sv in the order of its port table, for the twin and its broken
// variants.
#pragma once

#include "cosim/verilated_block.h"

namespace carillon {

template <class Model>
block_pins qpc_ram_pins(Model& v) {
  return {
      .streams =
          {CARILLON_INPUT_PINS(v, rx_common_read),    CARILLON_OUTPUT_PINS(v, rx_common_line),
           CARILLON_INPUT_PINS(v, rx_responder_read), CARILLON_OUTPUT_PINS(v, rx_responder_line),
           CARILLON_INPUT_PINS(v, parser_read),       CARILLON_OUTPUT_PINS(v, parser_line),
           CARILLON_INPUT_PINS(v, parser_key_read),   CARILLON_OUTPUT_PINS(v, parser_key_line),
           CARILLON_INPUT_PINS(v, fetch_read),        CARILLON_OUTPUT_PINS(v, fetch_line),
           CARILLON_INPUT_PINS(v, uar_read),          CARILLON_OUTPUT_PINS(v, uar_line),
           CARILLON_INPUT_PINS(v, builder_read),      CARILLON_OUTPUT_PINS(v, builder_line),
           CARILLON_INPUT_PINS(v, payload_read),      CARILLON_OUTPUT_PINS(v, payload_line),
           CARILLON_INPUT_PINS(v, responder_read),    CARILLON_OUTPUT_PINS(v, responder_line),
           CARILLON_INPUT_PINS(v, requester_read),    CARILLON_OUTPUT_PINS(v, requester_line),
           CARILLON_INPUT_PINS(v, completion_read),   CARILLON_OUTPUT_PINS(v, completion_line),
           CARILLON_INPUT_PINS(v, command_read),      CARILLON_OUTPUT_PINS(v, command_line),
           CARILLON_INPUT_PINS(v, command_write),     CARILLON_INPUT_PINS(v, responder_write),
           CARILLON_INPUT_PINS(v, requester_error),   CARILLON_INPUT_PINS(v, responder_error),
           CARILLON_INPUT_PINS(v, local_strike),      CARILLON_INPUT_PINS(v, remote_strike),
           CARILLON_OUTPUT_PINS(v, icm_fetch),        CARILLON_INPUT_PINS(v, icm_done),
           CARILLON_OUTPUT_PINS(v, icm_store)},
      .levels = {CARILLON_LEVEL_PINS(v, log_qps), CARILLON_LEVEL_PINS(v, log_cqs),
                 CARILLON_LEVEL_PINS(v, log_mkeys), CARILLON_LEVEL_PINS(v, log_mtts),
                 CARILLON_LEVEL_PINS(v, log_srqs), CARILLON_LEVEL_PINS(v, log_eqs),
                 CARILLON_LEVEL_PINS(v, log_sets), CARILLON_LEVEL_PINS(v, ways),
                 CARILLON_LEVEL_PINS(v, misses), CARILLON_LEVEL_PINS(v, host_memory),
                 CARILLON_LEVEL_PINS(v, base)},
      .lookups = {CARILLON_LOOKUP(v, bounds)},
      .content = {&v.content_ask_i, sizeof(v.content_query_i), &v.content_query_i,
                  sizeof(v.content_o), &v.content_o}};
}

}  // namespace carillon
