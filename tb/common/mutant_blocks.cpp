#include "tb/common/mutant_blocks.h"

#include <memory>

#include "Vpacket_builder__ahead.h"
#include "Vpacket_builder__backpressure.h"
#include "Vpacket_builder__busy.h"
#include "Vpacket_builder__last_line.h"
#include "Vpacket_builder__late_return.h"
#include "Vpacket_builder__masks.h"
#include "Vpacket_builder__order.h"
#include "Vpacket_builder__route.h"
#include "Vpacket_builder__spoof.h"
#include "Vpacket_builder__stale.h"
#include "Vpacket_builder__store.h"
#include "Vpacket_builder__timing.h"
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
#include "cosim/packet_builder_pins.h"
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
void add_packet_builder(const char* variant) {
  rtl_registry::instance().add("packet_builder", variant, [] {
    return std::make_unique<verilated_block<Model>>(&packet_builder_pins<Model>, false,
                                                    &packet_builder_lookups<Model>);
  });
}

}  // namespace

void register_mutants() {
  add_packet_builder<Vpacket_builder__ahead>("ahead");
  add_packet_builder<Vpacket_builder__backpressure>("backpressure");
  add_packet_builder<Vpacket_builder__busy>("busy");
  add_packet_builder<Vpacket_builder__last_line>("last_line");
  add_packet_builder<Vpacket_builder__late_return>("late_return");
  add_packet_builder<Vpacket_builder__masks>("masks");
  add_packet_builder<Vpacket_builder__order>("order");
  add_packet_builder<Vpacket_builder__route>("route");
  add_packet_builder<Vpacket_builder__spoof>("spoof");
  add_packet_builder<Vpacket_builder__stale>("stale");
  add_packet_builder<Vpacket_builder__store>("store");
  add_packet_builder<Vpacket_builder__timing>("timing");
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
