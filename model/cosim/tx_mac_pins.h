// The streams and levels of rtl/tx_mac/tx_mac.sv in the order of its port table, for the twin and
// its broken variants.
#pragma once

#include <vector>

#include "cosim/verilated_block.h"

namespace carillon {

template <class Model>
std::vector<rtl_pins> tx_mac_pins(Model& v) {
  return {CARILLON_INPUT_PINS(v, frame), CARILLON_OUTPUT_PINS(v, wire)};
}

template <class Model>
std::vector<rtl_level> tx_mac_levels(Model& v) {
  return {CARILLON_LEVEL_PINS(v, byte_cost), CARILLON_LEVEL_PINS(v, cycle_credit)};
}

}  // namespace carillon
