// The Verilated wqe_fetch behind rtl_block.
#include <memory>

#include "Vwqe_fetch.h"
#include "cosim/blocks.h"
#include "cosim/wqe_fetch_pins.h"

namespace carillon {

std::unique_ptr<rtl_block> make_wqe_fetch_block() {
  return std::make_unique<verilated_block<Vwqe_fetch>>(&wqe_fetch_pins<Vwqe_fetch>, true);
}

}  // namespace carillon
