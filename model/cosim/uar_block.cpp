// The Verilated uar behind rtl_block.
#include <memory>

#include "Vuar.h"
#include "cosim/blocks.h"
#include "cosim/uar_pins.h"

namespace carillon {

std::unique_ptr<rtl_block> make_uar_block() {
  return std::make_unique<verilated_block<Vuar>>(&uar_pins<Vuar>, true, &uar_levels<Vuar>);
}

}  // namespace carillon
