// The bench of each stage with a twin, defined in <stage>_bench.cpp.
#pragma once

#include "cosim/lockstep_bench.h"

namespace carillon {

lockstep_report run_packet_builder_bench(const lockstep_options& options);
lockstep_report run_payload_dma_bench(const lockstep_options& options);
lockstep_report run_pcie_rx_bench(const lockstep_options& options);
lockstep_report run_qpc_ram_bench(const lockstep_options& options);
lockstep_report run_rx_parser_bench(const lockstep_options& options);
lockstep_report run_tx_mac_bench(const lockstep_options& options);
lockstep_report run_uar_bench(const lockstep_options& options);
lockstep_report run_wqe_fetch_bench(const lockstep_options& options);
lockstep_report run_wqe_parser_bench(const lockstep_options& options);

}  // namespace carillon
