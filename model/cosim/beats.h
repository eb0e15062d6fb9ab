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
inline constexpr unsigned MaxBeatWords = 320;

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

template <>
struct beat_codec<mmio_write> {
  using beat = mmio_write_beat;

  static void pack(const mmio_write& item, unsigned /*index*/, unsigned /*count*/,
                   std::uint32_t* words) {
    beat b;
    b.trace_id = item.trace.message;
    b.function_id = item.function;
    b.bar = item.bar;
    b.offset = static_cast<std::uint32_t>(item.offset);
    b.length = item.length;
    // What lies beyond its length is nobody's.
    std::copy_n(item.data.begin(), std::min<std::size_t>(item.length, item.data.size()),
                b.data.begin());
    b.pack(words);
  }

  static mmio_write unpack_first(const std::uint32_t* words, buffer_pool& /*buffers*/) {
    const beat b = beat::unpack(words);
    mmio_write item;
    item.trace.message = b.trace_id;
    item.function = b.function_id;
    item.bar = b.bar;
    item.offset = b.offset;
    item.length = b.length;
    item.data = b.data;
    return item;
  }

  static unsigned count(const mmio_write& /*item*/) { return 1; }

  static buffer_ref body(const mmio_write& /*item*/) { return {}; }

  static void unpack_rest(const std::uint32_t* /*words*/, unsigned /*index*/,
                          const buffer_ref& /*body*/) {}
};

template <>
struct beat_codec<mmio_read> {
  using beat = mmio_read_beat;

  static void pack(const mmio_read& item, unsigned /*index*/, unsigned /*count*/,
                   std::uint32_t* words) {
    beat b;
    b.trace_id = item.trace.message;
    b.function_id = item.function;
    b.bar = item.bar;
    b.offset = static_cast<std::uint32_t>(item.offset);
    b.length = item.length;
    b.requester = item.requester;
    b.tag = item.tag;
    b.pack(words);
  }

  static mmio_read unpack_first(const std::uint32_t* words, buffer_pool& /*buffers*/) {
    const beat b = beat::unpack(words);
    mmio_read item;
    item.trace.message = b.trace_id;
    item.function = b.function_id;
    item.bar = b.bar;
    item.offset = b.offset;
    item.length = b.length;
    item.requester = b.requester;
    item.tag = b.tag;
    return item;
  }

  static unsigned count(const mmio_read& /*item*/) { return 1; }

  static buffer_ref body(const mmio_read& /*item*/) { return {}; }

  static void unpack_rest(const std::uint32_t* /*words*/, unsigned /*index*/,
                          const buffer_ref& /*body*/) {}
};

template <>
struct beat_codec<mmio_answer> {
  using beat = mmio_answer_beat;

  static void pack(const mmio_answer& item, unsigned /*index*/, unsigned /*count*/,
                   std::uint32_t* words) {
    beat b;
    b.trace_id = item.trace.message;
    b.function_id = item.function;
    b.requester = item.requester;
    b.tag = item.tag;
    b.status = item.status;
    b.length = item.length;
    b.lower_address = item.lower_address;
    b.without_data = item.without_data ? 1 : 0;
    for (const std::uint8_t byte : item.data) {
      b.data = b.data << 8 | byte;
    }
    b.pack(words);
  }

  static mmio_answer unpack_first(const std::uint32_t* words, buffer_pool& /*buffers*/) {
    const beat b = beat::unpack(words);
    mmio_answer item;
    item.trace.message = b.trace_id;
    item.function = b.function_id;
    item.requester = b.requester;
    item.tag = b.tag;
    item.status = b.status;
    item.length = b.length;
    item.lower_address = b.lower_address;
    item.without_data = b.without_data != 0;
    for (std::size_t i = 0; i < item.data.size(); ++i) {
      item.data[i] = static_cast<std::uint8_t>(b.data >> (56 - 8 * i));
    }
    return item;
  }

  static unsigned count(const mmio_answer& /*item*/) { return 1; }

  static buffer_ref body(const mmio_answer& /*item*/) { return {}; }

  static void unpack_rest(const std::uint32_t* /*words*/, unsigned /*index*/,
                          const buffer_ref& /*body*/) {}
};

template <>
struct beat_codec<queue_doorbell> {
  using beat = queue_doorbell_beat;

  static void pack(const queue_doorbell& item, unsigned /*index*/, unsigned /*count*/,
                   std::uint32_t* words) {
    beat b;
    b.trace_id = item.trace.message;
    b.function_id = item.function;
    b.uar_page = item.uar_page;
    b.eq = item.eq ? 1 : 0;
    b.arm = item.arm ? 1 : 0;
    b.solicited_only = item.solicited_only ? 1 : 0;
    b.arm_sn = item.arm_sn;
    b.number = item.number;
    b.consumer_index = item.consumer_index;
    b.pack(words);
  }

  static queue_doorbell unpack_first(const std::uint32_t* words, buffer_pool& /*buffers*/) {
    const beat b = beat::unpack(words);
    queue_doorbell item;
    item.trace.message = b.trace_id;
    item.function = b.function_id;
    item.uar_page = b.uar_page;
    item.eq = b.eq != 0;
    item.arm = b.arm != 0;
    item.solicited_only = b.solicited_only != 0;
    item.arm_sn = b.arm_sn;
    item.number = b.number;
    item.consumer_index = b.consumer_index;
    return item;
  }

  static unsigned count(const queue_doorbell& /*item*/) { return 1; }

  static buffer_ref body(const queue_doorbell& /*item*/) { return {}; }

  static void unpack_rest(const std::uint32_t* /*words*/, unsigned /*index*/,
                          const buffer_ref& /*body*/) {}
};

template <>
struct beat_codec<doorbell> {
  using beat = doorbell_beat;

  static void pack(const doorbell& item, unsigned /*index*/, unsigned /*count*/,
                   std::uint32_t* words) {
    beat b;
    b.trace_id = item.trace.message;
    b.function_id = item.function;
    b.qpn = item.qpn;
    b.wqe_index = item.wqe_index;
    b.ds = item.ds;
    b.blueflame = item.blueflame ? 1 : 0;
    if (item.wqe) {
      std::copy_n(item.wqe.data(), b.data.size(), b.data.begin());
    }
    b.pack(words);
  }

  static doorbell unpack_first(const std::uint32_t* words, buffer_pool& buffers) {
    const beat b = beat::unpack(words);
    doorbell item;
    item.trace.message = b.trace_id;
    item.function = b.function_id;
    item.qpn = b.qpn;
    item.wqe_index = b.wqe_index;
    item.ds = b.ds;
    item.blueflame = b.blueflame != 0;
    if (item.blueflame) {
      item.wqe = buffers.take();
      std::copy(b.data.begin(), b.data.end(), item.wqe.data());
    }
    return item;
  }

  static unsigned count(const doorbell& /*item*/) { return 1; }

  static buffer_ref body(const doorbell& /*item*/) { return {}; }

  static void unpack_rest(const std::uint32_t* /*words*/, unsigned /*index*/,
                          const buffer_ref& /*body*/) {}
};

}  // namespace carillon
