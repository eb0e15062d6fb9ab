// Makers of the Verilated twins, one a stage; each is defined in <stage>_block.cpp.
#pragma once

#include <memory>

#include "cosim/rtl_block.h"

namespace carillon {

std::unique_ptr<rtl_block> make_payload_dma_block();
std::unique_ptr<rtl_block> make_tx_mac_block();
std::unique_ptr<rtl_block> make_tx_sched_block();
std::unique_ptr<rtl_block> make_uar_block();
std::unique_ptr<rtl_block> make_wqe_fetch_block();
std::unique_ptr<rtl_block> make_wqe_parser_block();

}  // namespace carillon
