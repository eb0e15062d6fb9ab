// The items of rx_parser on its pins: a frame's bytes travel with the beats, of the packet's buffer
// only the place.
#pragma once

#include <optional>

#include "common/error.h"
#include "common/items.h"
#include "common/rx_end.h"
#include "common/twin.h"
#include "common/vport.h"
#include "cosim/beats.h"
#include "gen/streams.h"

namespace carillon {

static_assert(static_cast<unsigned>(rx_verdict_code::Accept) ==
              static_cast<unsigned>(rx_verdict::accept));
static_assert(static_cast<unsigned>(rx_verdict_code::Duplicate) ==
              static_cast<unsigned>(rx_verdict::duplicate));
static_assert(static_cast<unsigned>(rx_verdict_code::Gap) ==
              static_cast<unsigned>(rx_verdict::gap));
static_assert(static_cast<unsigned>(rx_verdict_code::NoQp) ==
              static_cast<unsigned>(rx_verdict::no_qp));
static_assert(static_cast<unsigned>(rx_verdict_code::BadState) ==
              static_cast<unsigned>(rx_verdict::bad_state));
static_assert(static_cast<unsigned>(rx_verdict_code::Response) ==
              static_cast<unsigned>(rx_verdict::response));

struct received_frame_codec {
  using beat = rx_frame_beat;

  static void pack(const frame_item& item, unsigned index, unsigned count, std::uint32_t* words) {
    beat b;
    b.trace_id = item.trace.message;
    b.length = static_cast<std::uint16_t>(item.length);
    b.place = static_cast<std::uint16_t>(item.offset);
    b.icrc_known = item.icrc_known;
    b.looped = item.looped;
    b.last = index + 1 == count;
    slice_out(item.bytes.data() + item.offset, item.length, index, b.data);
    b.pack(words);
  }

  static unsigned count(const frame_item& item) { return beats_of(item.length); }

  static buffer_ref body(const frame_item& /*item*/) { return {}; }

  static void unpack_rest(const std::uint32_t* /*words*/, unsigned /*index*/,
                          const buffer_ref& /*body*/) {}

  static frame_item unpack_first(const std::uint32_t* /*words*/, buffer_pool& /*buffers*/) {
    CARILLON_CHECK(false, "an item that rx_parser does not send");
    return {};
  }
};

struct commit_codec {
  using beat = rx_commit;

  static void pack(const qp_commit& item, unsigned /*index*/, unsigned /*count*/,
                   std::uint32_t* words) {
    beat b;
    b.qpn = item.qpn;
    b.pack(words);
  }

  static unsigned count(const qp_commit& /*item*/) { return 1; }

  static buffer_ref body(const qp_commit& /*item*/) { return {}; }

  static void unpack_rest(const std::uint32_t* /*words*/, unsigned /*index*/,
                          const buffer_ref& /*body*/) {}

  static qp_commit unpack_first(const std::uint32_t* /*words*/, buffer_pool& /*buffers*/) {
    CARILLON_CHECK(false, "an item that rx_parser does not send");
    return {};
  }
};

struct parsed_packet_codec {
  using beat = rx_packet_beat;

  static void pack(const rx_packet& item, unsigned /*index*/, unsigned /*count*/,
                   std::uint32_t* words) {
    beat b;
    b.trace_id = item.trace.message;
    b.verdict = static_cast<rx_verdict_code>(item.verdict);
    b.function_id = item.function;
    b.qpn = item.qpn;
    b.opcode = static_cast<bth_opcode>(item.bth_opcode);
    b.solicited = item.solicited;
    b.ack_request = item.ack_request;
    b.psn = item.psn;
    b.remote_address = item.remote_address;
    b.rkey = item.rkey;
    b.dma_length = item.dma_length;
    b.imm = item.imm;
    b.swap_add = item.swap_add;
    b.compare = item.compare;
    b.atomic_result = item.atomic_result;
    b.source_qpn = item.source_qpn;
    b.qkey = item.qkey;
    b.ipv6 = item.ipv6;
    b.pcp = item.priority;
    b.ip_place = static_cast<std::uint16_t>(item.ip_offset);
    b.syndrome = item.syndrome;
    b.msn = item.msn;
    b.payload = static_cast<std::uint16_t>(item.payload);
    b.payload_place = static_cast<std::uint16_t>(item.payload_offset);
    b.common = item.common;
    b.responder = item.responder;
    b.pack(words);
  }

  static rx_packet unpack_first(const std::uint32_t* words, buffer_pool& /*buffers*/) {
    const beat b = beat::unpack(words);
    rx_packet item;
    item.trace.message = b.trace_id;
    item.verdict = static_cast<rx_verdict>(b.verdict);
    item.function = b.function_id;
    item.qpn = b.qpn;
    item.bth_opcode = static_cast<std::uint8_t>(b.opcode);
    item.solicited = b.solicited != 0;
    item.ack_request = b.ack_request != 0;
    item.psn = b.psn;
    item.remote_address = b.remote_address;
    item.rkey = b.rkey;
    item.dma_length = b.dma_length;
    item.imm = b.imm;
    item.swap_add = b.swap_add;
    item.compare = b.compare;
    item.atomic_result = b.atomic_result;
    item.source_qpn = b.source_qpn;
    item.qkey = b.qkey;
    item.ipv6 = b.ipv6 != 0;
    item.priority = b.pcp;
    item.ip_offset = b.ip_place;
    item.syndrome = b.syndrome;
    item.msn = b.msn;
    item.payload = b.payload;
    item.payload_offset = b.payload_place;
    item.common = b.common;
    item.responder = b.responder;
    return item;
  }

  /// The packet's buffer is that of its frame.
  static void attach(rx_packet& item, const twin_rules::item_handles& handles) {
    item.bytes = handles.frame;
  }

  static unsigned count(const rx_packet& /*item*/) { return 1; }

  static buffer_ref body(const rx_packet& /*item*/) { return {}; }

  static void unpack_rest(const std::uint32_t* /*words*/, unsigned /*index*/,
                          const buffer_ref& /*body*/) {}
};

struct rx_end_codec {
  using beat = rx_end;
  using of_no_message = void;

  static void pack(const rx_ended& item, unsigned /*index*/, unsigned /*count*/,
                   std::uint32_t* words) {
    beat b;
    b.state = item.state;
    b.refusal = item.refusal;
    b.verdict = static_cast<rx_verdict_code>(item.verdict);
    b.has_port = item.port ? 1 : 0;
    b.function_id = item.port.value_or(0);
    b.marked = item.marked;
    b.pack(words);
  }

  static rx_ended unpack_first(const std::uint32_t* words, buffer_pool& /*buffers*/) {
    const beat b = beat::unpack(words);
    rx_ended item;
    item.state = b.state;
    item.refusal = b.refusal;
    item.verdict = static_cast<rx_verdict>(b.verdict);
    if (b.has_port != 0) {
      item.port = b.function_id;
    }
    item.marked = b.marked != 0;
    return item;
  }

  static unsigned count(const rx_ended& /*item*/) { return 1; }

  static buffer_ref body(const rx_ended& /*item*/) { return {}; }

  static void unpack_rest(const std::uint32_t* /*words*/, unsigned /*index*/,
                          const buffer_ref& /*body*/) {}
};

/// What the table of virtual ports says of a frame's addresses.
inline void answer_steer(const twin_levels& levels, cycle_t t, const std::uint32_t* query,
                         std::uint32_t* answer) {
  const vport_table& table = levels.vports->read(t);
  const steer_query asked = steer_query::unpack(query);
  std::optional<std::uint16_t> vlan;
  if (asked.has_tag != 0) {
    vlan = asked.vid;
  }
  steer_answer reply;
  reply.source_found = table.find(asked.source, vlan) ? 1 : 0;
  if (const auto port = table.find(asked.destination, vlan)) {
    reply.found = 1;
    reply.function_id = *port;
  }
  if (const auto port = table.promiscuous(vlan)) {
    reply.promiscuous_found = 1;
    reply.promiscuous_id = *port;
  }
  reply.pack(answer);
}

}  // namespace carillon
