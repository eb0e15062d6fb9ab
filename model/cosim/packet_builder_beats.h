// What goes through the ports of packet_builder as beats: packets with the payload that their
// buffers hold, and frames; and what its twin asks of the table of virtual ports.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "common/items.h"
#include "common/roce_packet.h"
#include "common/twin.h"
#include "common/vport.h"
#include "cosim/beats.h"
#include "gen/contexts.h"
#include "gen/streams.h"
#include "gen/wqe.h"

namespace carillon {

static_assert(static_cast<unsigned>(packet_kind::Request) ==
              static_cast<unsigned>(packet_source::request));
static_assert(static_cast<unsigned>(packet_kind::Acknowledge) ==
              static_cast<unsigned>(packet_source::acknowledge));
static_assert(static_cast<unsigned>(packet_kind::AtomicAcknowledge) ==
              static_cast<unsigned>(packet_source::atomic_acknowledge));
static_assert(static_cast<unsigned>(packet_kind::ReadResponse) ==
              static_cast<unsigned>(packet_source::read_response));

/// What beats of packets say beside the payload.
template <class Beat>
void describe_packet(const packet_item& item, Beat& b) {
  b.trace_id = item.trace.message;
  b.kind = static_cast<packet_kind>(item.source);
  b.order = item.order;
  b.function_id = item.function;
  b.qpn = item.qpn;
  b.life = item.life;
  b.wqe_opcode = item.wqe_opcode;
  b.service = static_cast<qp_service>(item.service);
  b.solicited = item.solicited ? 1 : 0;
  b.ack_request = item.ack_request ? 1 : 0;
  b.psn = item.psn;
  b.payload = static_cast<std::uint16_t>(item.payload);
  b.first_packet = item.first ? 1 : 0;
  b.last_packet = item.last ? 1 : 0;
  b.remote_address = item.remote_address;
  b.rkey = item.rkey;
  b.dma_length = item.dma_length;
  b.imm = item.imm;
  b.swap_add = item.swap_add;
  b.compare = item.compare;
  b.syndrome = item.syndrome;
  b.msn = item.msn;
  if (item.source == packet_source::request &&
      static_cast<qp_service>(item.service) == qp_service::Ud) {
    std::copy_n(item.body.data(), b.address_vector.size(), b.address_vector.begin());
  }
}

/// A packet with its payload in its frame's buffer, from payload_dma.
struct filled_packet_codec {
  using beat = payload_beat;

  static void pack(const packet_item& item, unsigned index, unsigned count, std::uint32_t* words) {
    beat b;
    describe_packet(item, b);
    b.poisoned = item.poisoned ? 1 : 0;
    b.first = index == 0 ? 1 : 0;
    b.last = index + 1 == count ? 1 : 0;
    // The bytes of a packet that must not leave are nobody's.
    if (!item.poisoned) {
      slice_out(item.frame.data() + PayloadOffset, item.payload, index, b.data);
    }
    b.pack(words);
  }

  static packet_item unpack_first(const std::uint32_t* /*words*/, buffer_pool& /*buffers*/) {
    return {};  // no block sends such a packet by this port
  }

  static unsigned count(const packet_item& item) { return beats_of(item.payload); }

  static buffer_ref body(const packet_item& item) { return item.frame; }

  static void unpack_rest(const std::uint32_t* /*words*/, unsigned /*index*/,
                          const buffer_ref& /*body*/) {}
};

/// A packet without payload, or with its payload in the body of its work request, from tx_sched.
struct direct_packet_codec {
  using beat = direct_beat;

  static void pack(const packet_item& item, unsigned /*index*/, unsigned /*count*/,
                   std::uint32_t* words) {
    beat b;
    describe_packet(item, b);
    CARILLON_CHECK(item.payload <= b.data.size(), "packet_builder: {} bytes of inline payload",
                   item.payload);
    if (item.payload != 0) {
      std::memcpy(b.data.data(), item.body.data() + item.data_offset + item.message_offset,
                  item.payload);
    }
    b.pack(words);
  }

  static packet_item unpack_first(const std::uint32_t* /*words*/, buffer_pool& /*buffers*/) {
    return {};
  }

  static unsigned count(const packet_item& /*item*/) { return 1; }

  static buffer_ref body(const packet_item& /*item*/) { return {}; }

  static void unpack_rest(const std::uint32_t* /*words*/, unsigned /*index*/,
                          const buffer_ref& /*body*/) {}
};

/// A frame with its ICRC. Its FCS is tx_mac's: the model's, which travels beside the bytes, has no
/// pins.
struct built_frame_codec {
  using beat = frame_beat;
  /// tx_mac and rx_mac look at the frame when they take it.
  static constexpr bool Whole = true;

  static void pack(const frame_item& item, unsigned index, unsigned count, std::uint32_t* words) {
    beat b;
    b.trace_id = item.trace.message;
    b.function_id = item.function;
    b.length = static_cast<std::uint16_t>(item.length);
    b.pcp = item.priority;
    b.first_packet = item.first ? 1 : 0;
    b.last_packet = item.last ? 1 : 0;
    b.looped = item.looped ? 1 : 0;
    b.first = index == 0 ? 1 : 0;
    b.last = index + 1 == count ? 1 : 0;
    slice_out(item.bytes.data() + item.offset, item.length, index, b.data);
    b.pack(words);
  }

  static frame_item unpack_first(const std::uint32_t* words, buffer_pool& /*buffers*/) {
    const beat b = beat::unpack(words);
    frame_item item;
    item.trace.message = b.trace_id;
    item.function = b.function_id;
    item.length = b.length;
    item.priority = b.pcp;
    item.first = b.first_packet != 0;
    item.last = b.last_packet != 0;
    item.looped = b.looped != 0;
    return item;
  }

  static void attach(frame_item& item, const twin_rules::item_handles& handles) {
    item.bytes = handles.frame;
    item.offset = handles.origin;
    item.fcs = fcs_of_frame(item.bytes.data() + item.offset, item.length);
    item.fcs_known = true;
    item.icrc_known = true;
  }

  static unsigned count(const frame_item& item) { return beats_of(item.length); }

  static buffer_ref body(const frame_item& item) { return item.bytes; }

  static void unpack_rest(const std::uint32_t* /*words*/, unsigned /*index*/,
                          const buffer_ref& /*body*/) {}
};

// The table of virtual ports
// ----------------------------------------------------------------------------

inline void answer_vport(const twin_levels& levels, cycle_t t, const std::uint32_t* query,
                         std::uint32_t* answer) {
  const vport_table& table = levels.vports->read(t);
  const std::uint16_t function = vport_query::unpack(query).function_id;
  vport_view view;
  if (function < table.size() && table.at(function).enabled) {
    const vport& port = table.at(function);
    view.enabled = 1;
    view.mac = port.mac;
    view.has_vlan = port.vlan ? 1 : 0;
    view.vlan = port.vlan.value_or(0);
    view.pcp = port.priority;
    view.spoof_check = port.spoof_check ? 1 : 0;
    view.listed = port.sources.empty() ? 0 : 1;
  }
  view.pack(answer);
}

inline void answer_vport_source(const twin_levels& levels, cycle_t t, const std::uint32_t* query,
                                std::uint32_t* answer) {
  const vport_table& table = levels.vports->read(t);
  const vport_source_query asked = vport_source_query::unpack(query);
  vport_source reply;
  if (asked.function_id < table.size()) {
    const auto& sources = table.at(asked.function_id).sources;
    if (asked.gid_index < sources.size() && sources[asked.gid_index].valid) {
      reply.valid = 1;
      reply.address = sources[asked.gid_index].address;
    }
  }
  reply.pack(answer);
}

inline void answer_vport_route(const twin_levels& levels, cycle_t t, const std::uint32_t* query,
                               std::uint32_t* answer) {
  const vport_route_query asked = vport_route_query::unpack(query);
  std::optional<std::uint16_t> vlan;
  if (asked.has_tag != 0) {
    vlan = asked.vid;
  }
  vport_route reply;
  reply.found = levels.vports->read(t).find(asked.mac, vlan) ? 1 : 0;
  reply.pack(answer);
}

}  // namespace carillon
