#include "tb/common/mutant_blocks.h"

#include <memory>

#include "Vpayload_dma__backpressure.h"
#include "Vpayload_dma__behalf.h"
#include "Vpayload_dma__busy.h"
#include "Vpayload_dma__content_bytes.h"
#include "Vpayload_dma__content_skip.h"
#include "Vpayload_dma__first_failure.h"
#include "Vpayload_dma__lookups.h"
#include "Vpayload_dma__slots.h"
#include "Vpayload_dma__status.h"
#include "Vpayload_dma__timing.h"
#include "Vtx_mac__backpressure.h"
#include "Vtx_mac__busy.h"
#include "Vtx_mac__content.h"
#include "Vtx_mac__fcs_length.h"
#include "Vtx_mac__fcs_seed.h"
#include "Vtx_mac__gap.h"
#include "Vtx_mac__timing.h"
#include "Vuar__backpressure.h"
#include "Vuar__busy.h"
#include "Vuar__content_wqe.h"
#include "Vuar__dead.h"
#include "Vuar__deadline.h"
#include "Vuar__early.h"
#include "Vuar__order.h"
#include "Vuar__owner.h"
#include "Vuar__record.h"
#include "Vuar__restart.h"
#include "Vuar__room.h"
#include "Vuar__timing.h"
#include "Vwqe_fetch__arbiter.h"
#include "Vwqe_fetch__backpressure.h"
#include "Vwqe_fetch__busy.h"
#include "Vwqe_fetch__content_epoch.h"
#include "Vwqe_fetch__content_page.h"
#include "Vwqe_fetch__stale.h"
#include "Vwqe_fetch__timing.h"
#include "Vwqe_parser__backpressure.h"
#include "Vwqe_parser__behalf.h"
#include "Vwqe_parser__busy.h"
#include "Vwqe_parser__content_body.h"
#include "Vwqe_parser__content_key.h"
#include "Vwqe_parser__datagram.h"
#include "Vwqe_parser__right.h"
#include "Vwqe_parser__signature.h"
#include "Vwqe_parser__slots.h"
#include "Vwqe_parser__timing.h"
#include "cosim/payload_dma_pins.h"
#include "cosim/tx_mac_pins.h"
#include "cosim/uar_pins.h"
#include "cosim/wqe_fetch_pins.h"
#include "cosim/wqe_parser_pins.h"

namespace carillon {

namespace {

template <class Model>
void add(const char* variant) {
  // Their own assertions would end the program before the checker that is under test has its say.
  rtl_registry::instance().add("wqe_parser", variant, [] {
    return std::make_unique<verilated_block<Model>>(&wqe_parser_pins<Model>, false);
  });
}

template <class Model>
void add_payload_dma(const char* variant) {
  rtl_registry::instance().add("payload_dma", variant, [] {
    return std::make_unique<verilated_block<Model>>(&payload_dma_pins<Model>, false,
                                                    &payload_dma_store<Model>);
  });
}

template <class Model>
void add_tx_mac(const char* variant) {
  rtl_registry::instance().add("tx_mac", variant, [] {
    return std::make_unique<verilated_block<Model>>(&tx_mac_pins<Model>, false,
                                                    &tx_mac_levels<Model>);
  });
}

template <class Model>
void add_fetch(const char* variant) {
  rtl_registry::instance().add("wqe_fetch", variant, [] {
    return std::make_unique<verilated_block<Model>>(&wqe_fetch_pins<Model>, false);
  });
}

template <class Model>
void add_uar(const char* variant) {
  rtl_registry::instance().add("uar", variant, [] {
    return std::make_unique<verilated_block<Model>>(&uar_pins<Model>, false, &uar_levels<Model>);
  });
}

}  // namespace

void register_mutants() {
  add_payload_dma<Vpayload_dma__backpressure>("backpressure");
  add_payload_dma<Vpayload_dma__behalf>("behalf");
  add_payload_dma<Vpayload_dma__busy>("busy");
  add_payload_dma<Vpayload_dma__content_bytes>("content_bytes");
  add_payload_dma<Vpayload_dma__content_skip>("content_skip");
  add_payload_dma<Vpayload_dma__first_failure>("first_failure");
  add_payload_dma<Vpayload_dma__lookups>("lookups");
  add_payload_dma<Vpayload_dma__slots>("slots");
  add_payload_dma<Vpayload_dma__status>("status");
  add_payload_dma<Vpayload_dma__timing>("timing");
  add_tx_mac<Vtx_mac__backpressure>("backpressure");
  add_tx_mac<Vtx_mac__busy>("busy");
  add_tx_mac<Vtx_mac__content>("content");
  add_tx_mac<Vtx_mac__fcs_length>("fcs_length");
  add_tx_mac<Vtx_mac__fcs_seed>("fcs_seed");
  add_tx_mac<Vtx_mac__gap>("gap");
  add_tx_mac<Vtx_mac__timing>("timing");
  add_uar<Vuar__backpressure>("backpressure");
  add_uar<Vuar__busy>("busy");
  add_uar<Vuar__content_wqe>("content_wqe");
  add_uar<Vuar__dead>("dead");
  add_uar<Vuar__deadline>("deadline");
  add_uar<Vuar__early>("early");
  add_uar<Vuar__order>("order");
  add_uar<Vuar__owner>("owner");
  add_uar<Vuar__record>("record");
  add_uar<Vuar__restart>("restart");
  add_uar<Vuar__room>("room");
  add_uar<Vuar__timing>("timing");
  add_fetch<Vwqe_fetch__arbiter>("arbiter");
  add_fetch<Vwqe_fetch__backpressure>("backpressure");
  add_fetch<Vwqe_fetch__busy>("busy");
  add_fetch<Vwqe_fetch__content_epoch>("content_epoch");
  add_fetch<Vwqe_fetch__content_page>("content_page");
  add_fetch<Vwqe_fetch__stale>("stale");
  add_fetch<Vwqe_fetch__timing>("timing");
  add<Vwqe_parser__backpressure>("backpressure");
  add<Vwqe_parser__behalf>("behalf");
  add<Vwqe_parser__busy>("busy");
  add<Vwqe_parser__content_body>("content_body");
  add<Vwqe_parser__content_key>("content_key");
  add<Vwqe_parser__datagram>("datagram");
  add<Vwqe_parser__right>("right");
  add<Vwqe_parser__signature>("signature");
  add<Vwqe_parser__slots>("slots");
  add<Vwqe_parser__timing>("timing");
}

}  // namespace carillon
