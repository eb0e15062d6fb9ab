// The Verilated payload_dma behind rtl_block.
#include <memory>

#include "Vpayload_dma.h"
#include "cosim/blocks.h"
#include "cosim/payload_dma_pins.h"

namespace carillon {

std::unique_ptr<rtl_block> make_payload_dma_block() {
  return std::make_unique<verilated_block<Vpayload_dma>>(&payload_dma_pins<Vpayload_dma>, true,
                                                         &payload_dma_store<Vpayload_dma>);
}

}  // namespace carillon
