// The items at payload_dma's ports as beats on the pins, and back. See beats.h.
#pragma once

#include <cstdint>
#include <cstring>

#include "common/buffer.h"
#include "common/items.h"
#include "common/twin.h"
#include "cosim/packet_beats.h"
#include "gen/stages.h"
#include "gen/streams.h"

namespace carillon {

/// A packet with its gather list.
struct packet_grant_codec : single_beat {
  using beat = packet_grant;

  static void pack(const packet_item& item, unsigned /*index*/, unsigned /*count*/,
                   std::uint32_t* words) {
    beat b;
    pack_packet(item, b);
    b.paged = item.paged;
    b.message_offset = item.message_offset;
    b.writes_before = item.writes_before;
    b.sge_count = item.sge_count;
    if (item.source != packet_source::read_response && item.body) {
      std::memcpy(b.segments.data(), item.body.data() + item.data_offset,
                  std::size_t{item.sge_count} * data_seg::Size);
    }
    b.pack(words);
  }

  static packet_item unpack_first(const std::uint32_t* words, buffer_pool& buffers) {
    const beat b = beat::unpack(words);
    packet_item item = unpack_packet(b);
    item.paged = b.paged != 0;
    item.message_offset = b.message_offset;
    item.writes_before = b.writes_before;
    item.sge_count = b.sge_count;
    item.body = buffers.take();
    std::memcpy(item.body.data(), b.address_vector.data(), DatagramBytes);
    item.data_offset = item.service == work_item::UdService ? DatagramBytes : 0;
    std::memcpy(item.body.data() + item.data_offset, b.segments.data(), b.segments.size());
    return item;
  }
};

/// A read says where its bytes go by their place in the frame store, and whose they are by a slot.
/// The model's cookie is both.
struct payload_read_codec : single_beat {
  using beat = payload_read;

  static constexpr unsigned SlotBits = 6;

  static void pack(const dma_read& item, unsigned /*index*/, unsigned /*count*/,
                   std::uint32_t* words) {
    beat b;
    b.trace_id = item.trace.message;
    b.function_id = item.function;
    b.address = item.address;
    b.length = static_cast<std::uint16_t>(item.length);
    b.into = static_cast<std::uint16_t>(item.cookie >> SlotBits);
    b.cookie = item.cookie % (1U << SlotBits);
    b.writes_before = item.writes_before;
    b.pack(words);
  }

  static dma_read unpack_first(const std::uint32_t* words, buffer_pool& /*buffers*/) {
    const beat b = beat::unpack(words);
    dma_read item;
    item.trace.message = b.trace_id;
    item.function = b.function_id;
    item.address = b.address;
    item.length = b.length;
    item.cookie = std::uint64_t{b.into} << SlotBits | b.cookie;
    item.writes_before = b.writes_before;
    return item;
  }

  static void attach(dma_read& item, const twin_rules::item_handles& to) {
    constexpr std::uint32_t StoreBytes = stage_spec::payload_dma::Depth * BeatBytes;
    item.into = to.frame;
    item.into_offset =
        PayloadOffset +
        (static_cast<std::uint32_t>(item.cookie >> SlotBits) - to.origin) % StoreBytes;
  }
};

struct payload_answer_codec : single_beat {
  using beat = payload_answer;

  static void pack(const dma_read_done& item, unsigned /*index*/, unsigned /*count*/,
                   std::uint32_t* words) {
    beat b;
    b.trace_id = item.trace.message;
    b.cookie = item.cookie % (1U << payload_read_codec::SlotBits);
    b.status = static_cast<read_result>(item.status);
    b.pack(words);
  }

  static dma_read_done unpack_first(const std::uint32_t* words, buffer_pool& /*buffers*/) {
    const beat b = beat::unpack(words);
    return {{b.trace_id, 0}, b.cookie, static_cast<dma_status>(b.status)};
  }
};

struct payload_note_codec : single_beat {
  using beat = payload_note;

  static void pack(const payload_left& item, unsigned /*index*/, unsigned /*count*/,
                   std::uint32_t* words) {
    beat b;
    b.trace_id = item.trace.message;
    b.qpn = item.qpn;
    b.response = item.response;
    b.psn = item.psn;
    b.status = static_cast<read_result>(item.status);
    b.pack(words);
  }

  static payload_left unpack_first(const std::uint32_t* words, buffer_pool& /*buffers*/) {
    const beat b = beat::unpack(words);
    return {{b.trace_id, 0}, b.qpn, b.response != 0, b.psn, static_cast<dma_status>(b.status)};
  }
};

}  // namespace carillon
