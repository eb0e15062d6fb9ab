// Items of the streams as beats on the pins, and back. One specialisation a stream type, over the
// generated beat structs.
//
// pack() writes beat `index` of an item. unpack_first() makes an item of its first beat, complete
// but for the rest of its body, which unpack_rest() fills in as the beats come. The trace is
// carried by its message's number only: the history stays outside of the RTL.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "common/buffer.h"
#include "common/items.h"
#include "gen/streams.h"

namespace carillon {

/// Enough words for the widest beat.
inline constexpr unsigned MaxBeatWords = 288;

static_assert(static_cast<unsigned>(line_kind::QpcCommon) ==
              static_cast<unsigned>(context_kind::qpc_common));
static_assert(static_cast<unsigned>(line_kind::QpcAddress) ==
              static_cast<unsigned>(context_kind::qpc_address));
static_assert(static_cast<unsigned>(line_kind::QpcRequester) ==
              static_cast<unsigned>(context_kind::qpc_requester));
static_assert(static_cast<unsigned>(line_kind::QpcResponder) ==
              static_cast<unsigned>(context_kind::qpc_responder));
static_assert(static_cast<unsigned>(line_kind::Cqc) == static_cast<unsigned>(context_kind::cqc));
static_assert(static_cast<unsigned>(line_kind::Mkey) == static_cast<unsigned>(context_kind::mkey));
static_assert(static_cast<unsigned>(line_kind::Mtt) == static_cast<unsigned>(context_kind::mtt));
static_assert(static_cast<unsigned>(line_kind::Srq) == static_cast<unsigned>(context_kind::srq));
static_assert(static_cast<unsigned>(line_kind::Eqc) == static_cast<unsigned>(context_kind::eqc));
static_assert(static_cast<unsigned>(wqe_source::Fetched) ==
              static_cast<unsigned>(wqe_origin::fetched));
static_assert(static_cast<unsigned>(wqe_source::BlueFlame) ==
              static_cast<unsigned>(wqe_origin::blueflame));
static_assert(static_cast<unsigned>(read_result::Ok) == static_cast<unsigned>(dma_status::ok));
static_assert(static_cast<unsigned>(read_result::Timeout) ==
              static_cast<unsigned>(dma_status::timeout));

template <class T>
struct beat_codec;

/// Copies what beat `index` holds of `total` bytes; the rest of the beat stays zero.
inline void slice_out(const std::uint8_t* from, std::size_t total, unsigned index,
                      std::array<std::uint8_t, BeatBytes>& to) {
  const std::size_t start = std::size_t{index} * BeatBytes;
  if (start < total) {
    std::memcpy(to.data(), from + start, std::min<std::size_t>(BeatBytes, total - start));
  }
}

template <>
struct beat_codec<wqe_item> {
  using beat = wqe_beat;

  static void pack(const wqe_item& item, unsigned index, unsigned count, std::uint32_t* words) {
    beat b;
    b.trace_id = item.trace.message;
    b.function_id = item.function;
    b.qpn = item.qpn;
    b.wqe_index = item.wqe_index;
    b.ds = item.ds;
    b.origin = static_cast<wqe_source>(item.origin);
    b.status = static_cast<read_result>(item.status);
    b.epoch = item.epoch;
    b.first = index == 0;
    b.last = index + 1 == count;
    // The bytes of a WQE that could not be read are nobody's; a WQE has a control segment whatever
    // its size says.
    if (item.status == dma_status::ok && item.bytes) {
      slice_out(item.bytes.data(), std::max<std::size_t>(item.ds, 1) * 16, index, b.data);
    }
    b.pack(words);
  }

  static wqe_item unpack_first(const std::uint32_t* words, buffer_pool& buffers) {
    const beat b = beat::unpack(words);
    wqe_item item;
    item.trace.message = b.trace_id;
    item.function = b.function_id;
    item.qpn = b.qpn;
    item.wqe_index = b.wqe_index;
    item.ds = b.ds;
    item.origin = static_cast<wqe_origin>(b.origin);
    item.status = static_cast<dma_status>(b.status);
    item.epoch = b.epoch;
    item.bytes = buffers.take();
    return item;
  }

  static unsigned count(const wqe_item& item) { return beats_of(std::uint64_t{item.ds} * 16); }

  static const buffer_ref& body(const wqe_item& item) { return item.bytes; }

  static void unpack_rest(const std::uint32_t* words, unsigned index, const buffer_ref& body) {
    const beat b = beat::unpack(words);
    std::memcpy(body.data() + std::size_t{index} * BeatBytes, b.data.data(), BeatBytes);
  }
};

template <>
struct beat_codec<context_read> {
  using beat = ctx_req;

  static void pack(const context_read& item, unsigned /*index*/, unsigned /*count*/,
                   std::uint32_t* words) {
    beat b;
    b.trace_id = item.trace.message;
    b.kind = static_cast<line_kind>(item.kind);
    b.index = item.index;
    b.function_id = item.function;
    b.pack(words);
  }

  static context_read unpack_first(const std::uint32_t* words, buffer_pool& /*buffers*/) {
    const beat b = beat::unpack(words);
    return {{b.trace_id, 0}, static_cast<context_kind>(b.kind), b.index, b.function_id};
  }

  static unsigned count(const context_read& /*item*/) { return 1; }

  static buffer_ref body(const context_read& /*item*/) { return {}; }

  static void unpack_rest(const std::uint32_t* /*words*/, unsigned /*index*/,
                          const buffer_ref& /*body*/) {}
};

template <>
struct beat_codec<context_line> {
  using beat = ctx_rsp;

  static void pack(const context_line& item, unsigned /*index*/, unsigned /*count*/,
                   std::uint32_t* words) {
    beat b;
    b.trace_id = item.trace.message;
    b.kind = static_cast<line_kind>(item.kind);
    b.index = item.index;
    b.valid = item.valid;
    b.data = item.data;
    b.pack(words);
  }

  static context_line unpack_first(const std::uint32_t* words, buffer_pool& /*buffers*/) {
    const beat b = beat::unpack(words);
    return {{b.trace_id, 0}, static_cast<context_kind>(b.kind), b.index, b.valid != 0, b.data};
  }

  static unsigned count(const context_line& /*item*/) { return 1; }

  static buffer_ref body(const context_line& /*item*/) { return {}; }

  static void unpack_rest(const std::uint32_t* /*words*/, unsigned /*index*/,
                          const buffer_ref& /*body*/) {}
};

template <>
struct beat_codec<work_item> {
  using beat = work_beat;

  static void pack(const work_item& item, unsigned index, unsigned count, std::uint32_t* words) {
    beat b;
    b.trace_id = item.trace.message;
    b.function_id = item.function;
    b.qpn = item.qpn;
    b.wqe_index = item.wqe_index;
    b.wqebbs = item.wqebbs;
    b.opcode = item.opcode;
    b.fm_ce_se = item.fm_ce_se;
    b.syndrome = static_cast<cqe_syndrome>(item.syndrome);
    b.epoch = item.epoch;
    b.drop = item.drop;
    b.is_inline = item.is_inline;
    b.service = static_cast<qp_service>(item.service);
    b.mtu_code = static_cast<carillon::mtu_code>(item.mtu_code);
    b.sge_count = item.sge_count;
    b.imm = item.imm;
    b.length = item.length;
    b.remote_address = item.remote_address;
    b.rkey = item.rkey;
    b.swap_add = item.swap_add;
    b.compare = item.compare;
    b.paged = item.paged;
    b.send_cqn = item.send_cqn;
    b.first = index == 0;
    b.last = index + 1 == count;
    if (item.body) {
      slice_out(item.body.data(), item.body_bytes(), index, b.data);
    }
    b.pack(words);
  }

  static work_item unpack_first(const std::uint32_t* words, buffer_pool& buffers) {
    const beat b = beat::unpack(words);
    work_item item;
    item.trace.message = b.trace_id;
    item.function = b.function_id;
    item.qpn = b.qpn;
    item.wqe_index = b.wqe_index;
    item.wqebbs = b.wqebbs;
    item.opcode = b.opcode;
    item.fm_ce_se = b.fm_ce_se;
    item.syndrome = static_cast<std::uint8_t>(b.syndrome);
    item.epoch = b.epoch;
    item.drop = b.drop != 0;
    item.is_inline = b.is_inline != 0;
    item.service = static_cast<std::uint8_t>(b.service);
    item.mtu_code = static_cast<std::uint8_t>(b.mtu_code);
    item.sge_count = b.sge_count;
    item.imm = b.imm;
    item.length = b.length;
    item.remote_address = b.remote_address;
    item.rkey = b.rkey;
    item.swap_add = b.swap_add;
    item.compare = b.compare;
    item.paged = b.paged != 0;
    item.send_cqn = b.send_cqn;
    if (item.body_bytes() != 0) {
      item.body = buffers.take();
    }
    return item;
  }

  static unsigned count(const work_item& item) { return beats_of(item.body_bytes()); }

  static const buffer_ref& body(const work_item& item) { return item.body; }

  static void unpack_rest(const std::uint32_t* words, unsigned index, const buffer_ref& body) {
    if (body) {
      const beat b = beat::unpack(words);
      std::memcpy(body.data() + std::size_t{index} * BeatBytes, b.data.data(), BeatBytes);
    }
  }
};

}  // namespace carillon
