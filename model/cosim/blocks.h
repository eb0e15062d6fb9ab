// Makers of the Verilated twins, one a stage; each is defined in <stage>_block.cpp.
#pragma once

#include <memory>

#include "cosim/rtl_block.h"

namespace carillon {

std::unique_ptr<rtl_block> make_packet_builder_block();
std::unique_ptr<rtl_block> make_wqe_parser_block();

}  // namespace carillon
