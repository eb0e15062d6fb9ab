// The items of wqe_fetch on its pins: bytes that the model leaves in a buffer travel with the beat,
// histories stay outside.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "common/error.h"
#include "common/items.h"
#include "cosim/beats.h"
#include "gen/streams.h"

namespace carillon {

/// Items of one beat that only go into the twin.
template <class T>
struct input_codec {
  static unsigned count(const T& /*item*/) { return 1; }

  static buffer_ref body(const T& /*item*/) { return {}; }

  static void unpack_rest(const std::uint32_t* /*words*/, unsigned /*index*/,
                          const buffer_ref& /*body*/) {}

  static T unpack_first(const std::uint32_t* /*words*/, buffer_pool& /*buffers*/) {
    CARILLON_CHECK(false, "an item that no twin sends");
    return {};
  }
};

struct fetch_doorbell_codec : input_codec<doorbell> {
  using beat = doorbell_beat;

  static void pack(const doorbell& item, unsigned /*index*/, unsigned /*count*/,
                   std::uint32_t* words) {
    beat b;
    b.trace_id = item.trace.message;
    b.function_id = item.function;
    b.qpn = item.qpn;
    b.wqe_index = item.wqe_index;
    b.ds = item.ds;
    b.blueflame = item.blueflame;
    if (item.wqe) {
      std::memcpy(b.data.data(), item.wqe.data(),
                  std::min<std::size_t>(b.data.size(), std::max<std::size_t>(item.ds, 1) * 16));
    }
    b.pack(words);
  }
};

struct fetch_command_codec : input_codec<qp_command> {
  using beat = fetch_command;

  static void pack(const qp_command& item, unsigned /*index*/, unsigned /*count*/,
                   std::uint32_t* words) {
    beat b;
    b.qpn = item.qpn;
    b.state = static_cast<qp_state>(item.state);
    b.common = item.common;
    b.pack(words);
  }
};

struct refetch_codec : input_codec<refetch> {
  using beat = refetch_beat;

  static void pack(const refetch& item, unsigned /*index*/, unsigned /*count*/,
                   std::uint32_t* words) {
    beat b;
    b.qpn = item.qpn;
    b.epoch = item.epoch;
    b.wqe_index = item.wqe_index;
    b.pack(words);
  }
};

struct wqe_answer_codec : input_codec<dma_read_done> {
  using beat = wqe_answer;

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

struct wqe_read_codec {
  using beat = wqe_read;
  using of_no_message = void;

  static void pack(const dma_read& item, unsigned /*index*/, unsigned /*count*/,
                   std::uint32_t* words) {
    beat b;
    b.function_id = item.function;
    b.address = item.address;
    b.length = static_cast<std::uint16_t>(item.length);
    b.cookie = static_cast<std::uint8_t>(item.cookie);
    b.pack(words);
  }

  static dma_read unpack_first(const std::uint32_t* words, buffer_pool& buffers) {
    const beat b = beat::unpack(words);
    dma_read item;
    item.function = b.function_id;
    item.address = b.address;
    item.length = b.length;
    item.cookie = b.cookie;
    item.into = buffers.take();
    return item;
  }

  static unsigned count(const dma_read& /*item*/) { return 1; }

  static buffer_ref body(const dma_read& /*item*/) { return {}; }

  static void unpack_rest(const std::uint32_t* /*words*/, unsigned /*index*/,
                          const buffer_ref& /*body*/) {}
};

/// Which message a WQE belongs to is known to the host only: the twin leaves the number zero.
struct fetched_wqe_codec : beat_codec<wqe_item> {
  using of_no_message = void;

  static void pack(const wqe_item& item, unsigned index, unsigned count, std::uint32_t* words) {
    wqe_item plain = item;
    plain.trace = {};
    beat_codec<wqe_item>::pack(plain, index, count, words);
  }
};

}  // namespace carillon
