// Packets on their way through the transmit stages as beats on the pins, and back. See beats.h.
#pragma once

#include <cstdint>
#include <cstring>

#include "common/items.h"
#include "common/roce_packet.h"
#include "common/twin.h"
#include "cosim/beats.h"
#include "gen/streams.h"

namespace carillon {

static_assert(static_cast<unsigned>(packet_kind::Request) ==
              static_cast<unsigned>(packet_source::request));
static_assert(static_cast<unsigned>(packet_kind::Acknowledge) ==
              static_cast<unsigned>(packet_source::acknowledge));
static_assert(static_cast<unsigned>(packet_kind::AtomicAcknowledge) ==
              static_cast<unsigned>(packet_source::atomic_acknowledge));
static_assert(static_cast<unsigned>(packet_kind::ReadResponse) ==
              static_cast<unsigned>(packet_source::read_response));

/// What of a packet is the same in both of its beats, before and behind the stage.
template <class Beat>
void pack_packet(const packet_item& item, Beat& b) {
  b.trace_id = item.trace.message;
  b.kind = static_cast<packet_kind>(item.source);
  b.order = item.order;
  b.function_id = item.function;
  b.qpn = item.qpn;
  b.life = item.life;
  b.wqe_opcode = item.wqe_opcode;
  b.service = static_cast<qp_service>(item.service);
  b.solicited = item.solicited;
  b.ack_request = item.ack_request;
  b.psn = item.psn;
  b.payload = static_cast<std::uint16_t>(item.payload);
  b.first_packet = item.first;
  b.last_packet = item.last;
  b.remote_address = item.remote_address;
  b.rkey = item.rkey;
  b.dma_length = item.dma_length;
  b.imm = item.imm;
  b.swap_add = item.swap_add;
  b.compare = item.compare;
  b.syndrome = item.syndrome;
  b.msn = item.msn;
  if (item.source == packet_source::request && item.service == work_item::UdService) {
    std::memcpy(b.address_vector.data(), item.body.data(), DatagramBytes);
  }
}

template <class Beat>
packet_item unpack_packet(const Beat& b) {
  packet_item item;
  item.trace.message = b.trace_id;
  item.source = static_cast<packet_source>(b.kind);
  item.order = b.order;
  item.function = b.function_id;
  item.qpn = b.qpn;
  item.life = b.life;
  item.wqe_opcode = b.wqe_opcode;
  item.service = static_cast<std::uint8_t>(b.service);
  item.solicited = b.solicited != 0;
  item.ack_request = b.ack_request != 0;
  item.psn = b.psn;
  item.payload = b.payload;
  item.first = b.first_packet != 0;
  item.last = b.last_packet != 0;
  item.remote_address = b.remote_address;
  item.rkey = b.rkey;
  item.dma_length = b.dma_length;
  item.imm = b.imm;
  item.swap_add = b.swap_add;
  item.compare = b.compare;
  item.syndrome = b.syndrome;
  item.msn = b.msn;
  return item;
}

/// Items of one beat whose bytes are in it.
struct single_beat {
  template <class T>
  static unsigned count(const T& /*item*/) {
    return 1;
  }

  template <class T>
  static buffer_ref body(const T& /*item*/) {
    return {};
  }

  static void unpack_rest(const std::uint32_t* /*words*/, unsigned /*index*/,
                          const buffer_ref& /*body*/) {}
};

/// A packet with its payload. In place of the model the frame that the reads have filled goes on,
/// and the bytes stay where they are; in lockstep all of them are compared.
struct payload_beat_codec {
  using beat = payload_beat;

  static void pack(const packet_item& item, unsigned index, unsigned count, std::uint32_t* words) {
    beat b;
    pack_packet(item, b);
    b.poisoned = item.poisoned;
    b.first = index == 0;
    b.last = index + 1 == count;
    if (!item.poisoned) {
      slice_out(item.frame.data() + PayloadOffset, item.payload, index, b.data);
    }
    b.pack(words);
  }

  static packet_item unpack_first(const std::uint32_t* words, buffer_pool& /*buffers*/) {
    const beat b = beat::unpack(words);
    packet_item item = unpack_packet(b);
    item.poisoned = b.poisoned != 0;
    return item;
  }

  static void attach(packet_item& item, const twin_rules::item_handles& to) {
    item.frame = to.frame;
    item.body = to.body;
  }

  static unsigned count(const packet_item& item) { return beats_of(item.payload); }

  static buffer_ref body(const packet_item& /*item*/) { return {}; }

  static void unpack_rest(const std::uint32_t* /*words*/, unsigned /*index*/,
                          const buffer_ref& /*body*/) {}
};

}  // namespace carillon
