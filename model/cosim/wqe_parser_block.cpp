// The Verilated wqe_parser behind rtl_block.
#include <memory>

#include "Vwqe_parser.h"
#include "cosim/blocks.h"
#include "cosim/wqe_parser_pins.h"

namespace carillon {

std::unique_ptr<rtl_block> make_wqe_parser_block() {
  return std::make_unique<verilated_block<Vwqe_parser>>(&wqe_parser_pins<Vwqe_parser>, true);
}

}  // namespace carillon
