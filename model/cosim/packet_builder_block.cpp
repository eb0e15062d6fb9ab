// The Verilated packet_builder behind rtl_block.
#include <memory>

#include "Vpacket_builder.h"
#include "cosim/blocks.h"
#include "cosim/packet_builder_pins.h"

namespace carillon {

std::unique_ptr<rtl_block> make_packet_builder_block() {
  return std::make_unique<verilated_block<Vpacket_builder>>(
      &packet_builder_pins<Vpacket_builder>, true, &packet_builder_lookups<Vpacket_builder>);
}

}  // namespace carillon
