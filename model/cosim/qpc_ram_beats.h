// The items of qpc_ram on its pins, and what its twin asks of the levels that the stage reads.
#pragma once

#include <cstdint>
#include <cstring>

#include "common/items.h"
#include "common/partition.h"
#include "common/twin.h"
#include "cosim/beats.h"
#include "cosim/wqe_fetch_beats.h"
#include "gen/streams.h"

namespace carillon {

struct ram_write_codec : input_codec<context_write> {
  using beat = ram_write;

  static void pack(const context_write& item, unsigned /*index*/, unsigned /*count*/,
                   std::uint32_t* words) {
    beat b;
    b.kind = static_cast<line_kind>(item.kind);
    b.index = item.index;
    b.data = item.data;
    b.pack(words);
  }
};

struct ram_error_codec : input_codec<qp_error> {
  using beat = ram_error;

  static void pack(const qp_error& item, unsigned /*index*/, unsigned /*count*/,
                   std::uint32_t* words) {
    beat b;
    b.qpn = item.qpn;
    b.send_queue_only = item.send_queue_only ? 1 : 0;
    b.pack(words);
  }
};

struct ram_strike_codec : input_codec<key_invalidation> {
  using beat = ram_strike;

  static void pack(const key_invalidation& item, unsigned /*index*/, unsigned /*count*/,
                   std::uint32_t* words) {
    beat b;
    b.index = item.index;
    b.pack(words);
  }
};

struct icm_answer_codec : input_codec<dma_read_done> {
  using beat = icm_answer;

  static void pack(const dma_read_done& item, unsigned /*index*/, unsigned /*count*/,
                   std::uint32_t* words) {
    beat b;
    b.cookie = static_cast<std::uint8_t>(item.cookie);
    b.status = static_cast<read_result>(item.status);
    if (item.status == dma_status::ok && item.data) {
      std::memcpy(b.data.data(), item.data.data(), b.data.size());
    }
    b.pack(words);
  }
};

/// Lines move on nobody's account.
struct icm_fetch_codec {
  using beat = icm_fetch;
  using of_no_message = void;

  static void pack(const dma_read& item, unsigned /*index*/, unsigned /*count*/,
                   std::uint32_t* words) {
    beat b;
    b.address = item.address;
    b.cookie = static_cast<std::uint8_t>(item.cookie);
    b.pack(words);
  }

  static dma_read unpack_first(const std::uint32_t* words, buffer_pool& buffers) {
    const beat b = beat::unpack(words);
    dma_read item;
    item.address = b.address;
    item.length = BeatBytes;
    item.cookie = b.cookie;
    item.into = buffers.take();
    return item;
  }

  static unsigned count(const dma_read& /*item*/) { return 1; }

  static buffer_ref body(const dma_read& /*item*/) { return {}; }

  static void unpack_rest(const std::uint32_t* /*words*/, unsigned /*index*/,
                          const buffer_ref& /*body*/) {}
};

struct icm_store_codec {
  using beat = icm_store;
  using of_no_message = void;

  static void pack(const dma_write& item, unsigned /*index*/, unsigned /*count*/,
                   std::uint32_t* words) {
    beat b;
    b.address = item.address;
    std::memcpy(b.data.data(), item.from.data() + item.from_offset, b.data.size());
    b.pack(words);
  }

  static dma_write unpack_first(const std::uint32_t* words, buffer_pool& buffers) {
    const beat b = beat::unpack(words);
    dma_write item;
    item.address = b.address;
    item.length = BeatBytes;
    item.from = buffers.take();
    std::memcpy(item.from.data(), b.data.data(), b.data.size());
    return item;
  }

  static unsigned count(const dma_write& /*item*/) { return 1; }

  static buffer_ref body(const dma_write& /*item*/) { return {}; }

  static void unpack_rest(const std::uint32_t* /*words*/, unsigned /*index*/,
                          const buffer_ref& /*body*/) {}
};

/// A ram_bound for each of so many readers, and a bit for each in the answer.
inline constexpr unsigned RamReaders = 12;
inline constexpr unsigned RamBoundsWords = (RamReaders * ram_bound::Width + 31) / 32;

inline void answer_ram_bounds(const twin_levels& levels, cycle_t t, const std::uint32_t* query,
                              std::uint32_t* answer) {
  *answer = 0;
  for (unsigned i = 0; i < RamReaders; ++i) {
    const auto bits = bytes::get_bits(query, i * ram_bound::Width, ram_bound::Width);
    const std::uint32_t words[2] = {static_cast<std::uint32_t>(bits),
                                    static_cast<std::uint32_t>(bits >> 32)};
    const ram_bound asked = ram_bound::unpack(words);
    const bool reaches = levels.partitions == nullptr ||
                         static_cast<std::size_t>(asked.kind) >= ContextKinds ||
                         levels.partitions->read(t).reaches(
                             asked.function_id, static_cast<context_kind>(asked.kind), asked.index);
    *answer |= (reaches ? 1U : 0U) << i;
  }
}

}  // namespace carillon
