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
