// The items at dcqcn's ports as beats on the pins, and back. See beats.h.
#pragma once

#include <cstdint>

#include "common/rate_items.h"
#include "cosim/packet_beats.h"
#include "gen/streams.h"

namespace carillon {

struct rate_slice_codec : single_beat {
  using beat = rate_request;
  using of_no_message = void;

  static void pack(const rate_slice_item& item, unsigned /*index*/, unsigned /*count*/,
                   std::uint32_t* words) {
    beat b;
    b.slot = item.slot;
    b.op = item.op;
    b.value = item.value;
    b.now = item.now;
    b.pack(words);
  }

  static rate_slice_item unpack_first(const std::uint32_t* words, buffer_pool& /*buffers*/) {
    const beat b = beat::unpack(words);
    return {{}, b.slot, b.op, b.value, b.now};
  }
};

struct rate_update_codec : single_beat {
  using beat = rate_report;
  using of_no_message = void;

  static void pack(const rate_update_item& item, unsigned /*index*/, unsigned /*count*/,
                   std::uint32_t* words) {
    beat b;
    b.slot = item.slot;
    b.op = item.op;
    b.again = item.again;
    b.limited = item.limited;
    b.pending = item.pending;
    b.current = item.current;
    b.target = item.target;
    b.alpha = item.alpha;
    b.byte_stage = item.byte_stage;
    b.time_stage = item.time_stage;
    b.due = item.due;
    b.pack(words);
  }

  static rate_update_item unpack_first(const std::uint32_t* words, buffer_pool& /*buffers*/) {
    const beat b = beat::unpack(words);
    rate_update_item item;
    item.slot = b.slot;
    item.op = b.op;
    item.again = b.again != 0;
    item.limited = b.limited != 0;
    item.pending = b.pending != 0;
    item.current = b.current;
    item.target = b.target;
    item.alpha = b.alpha;
    item.byte_stage = b.byte_stage;
    item.time_stage = b.time_stage;
    item.due = b.due;
    return item;
  }
};

}  // namespace carillon
