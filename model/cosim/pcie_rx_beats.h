// TLPs and what pcie_rx makes of them on its pins, and the function map as it sees it.
#pragma once

#include <algorithm>
#include <bit>

#include "common/error.h"
#include "common/function_map.h"
#include "common/tlp_arrival.h"
#include "common/twin.h"
#include "cosim/beats.h"
#include "gen/stages.h"

namespace carillon {

static_assert(static_cast<unsigned>(refusal_kind::UnsupportedRequest) ==
              static_cast<unsigned>(pcie_error_kind::unsupported_request));
static_assert(static_cast<unsigned>(refusal_kind::PoisonedRequest) ==
              static_cast<unsigned>(pcie_error_kind::poisoned_request));

/// Of what has no body beyond its beat.
template <class Item>
struct bodiless_codec {
  static unsigned count(const Item& /*item*/) { return 1; }

  static buffer_ref body(const Item& /*item*/) { return {}; }

  static void unpack_rest(const std::uint32_t* /*words*/, unsigned /*index*/,
                          const buffer_ref& /*body*/) {}
};

/// From the link; nobody makes TLPs of beats.
struct tlp_codec : bodiless_codec<tlp_arrival> {
  using beat = tlp_beat;

  static void pack(const tlp_arrival& item, unsigned index, unsigned count, std::uint32_t* words) {
    constexpr std::uint8_t MostHeaderBytes = 31;  // all longer ones are wrong alike
    const tlp& packet = *item.packet;
    beat b;
    b.trace_id = packet.trace.message;
    b.header_bytes = std::min(packet.header_bytes, MostHeaderBytes);
    b.payload_bytes = packet.payload_bytes;
    b.last_symbol = static_cast<std::uint32_t>(item.last);
    b.first = index == 0;
    b.last = index + 1 == count;
    b.header = packet.header;
    slice_out(packet.payload.data(), packet.payload_bytes, index, b.data);
    b.pack(words);
  }

  static tlp_arrival unpack_first(const std::uint32_t* /*words*/, buffer_pool& /*buffers*/) {
    return {};
  }

  static unsigned count(const tlp_arrival& item) { return beats_of(item.packet->payload_bytes); }
};

/// To dma_engine, which looks at the whole payload at once.
struct completion_codec {
  using beat = completion_beat;
  static constexpr bool Whole = true;

  static void pack(const read_completion& item, unsigned index, unsigned count,
                   std::uint32_t* words) {
    beat b;
    b.trace_id = item.trace.message;
    b.tag = item.tag;
    b.status = item.status;
    b.poisoned = item.poisoned;
    b.byte_count = item.byte_count;
    b.lower_address = item.lower_address;
    b.length = item.length;
    b.first = index == 0;
    b.last = index + 1 == count;
    if (item.length != 0) {
      slice_out(item.data.data(), item.length, index, b.data);
    }
    b.pack(words);
  }

  static read_completion unpack_first(const std::uint32_t* words, buffer_pool& /*buffers*/) {
    const beat b = beat::unpack(words);
    read_completion item;
    item.trace.message = b.trace_id;
    item.tag = b.tag;
    item.status = b.status;
    item.poisoned = b.poisoned != 0;
    item.byte_count = b.byte_count;
    item.lower_address = b.lower_address;
    item.length = b.length;
    return item;
  }

  static void attach(read_completion& item, const twin_rules::item_handles& handles) {
    item.data = handles.body;
  }

  static unsigned count(const read_completion& item) { return beats_of(item.length); }

  static const buffer_ref& body(const read_completion& item) { return item.data; }

  static void unpack_rest(const std::uint32_t* /*words*/, unsigned /*index*/,
                          const buffer_ref& /*body*/) {}
};

struct config_request_codec : bodiless_codec<config_request> {
  using beat = config_request_beat;

  static void pack(const config_request& item, unsigned /*index*/, unsigned /*count*/,
                   std::uint32_t* words) {
    beat b;
    b.trace_id = item.trace.message;
    b.destination = item.destination;
    b.type_0 = item.local;
    b.write = item.write;
    b.offset = item.offset;
    b.enables = item.enables;
    b.value = item.value;
    b.requester = item.requester;
    b.tag = item.tag;
    b.pack(words);
  }

  static config_request unpack_first(const std::uint32_t* words, buffer_pool& /*buffers*/) {
    const beat b = beat::unpack(words);
    config_request item;
    item.trace.message = b.trace_id;
    item.destination = b.destination;
    item.local = b.type_0 != 0;
    item.write = b.write != 0;
    item.offset = b.offset;
    item.enables = b.enables;
    item.value = b.value;
    item.requester = b.requester;
    item.tag = b.tag;
    return item;
  }
};

struct request_error_codec : bodiless_codec<pcie_error> {
  using beat = pcie_error_beat;
  using of_no_message = void;

  static void pack(const pcie_error& item, unsigned /*index*/, unsigned /*count*/,
                   std::uint32_t* words) {
    beat b;
    b.function_id = item.function;
    b.kind = static_cast<refusal_kind>(item.kind);
    b.pack(words);
  }

  static pcie_error unpack_first(const std::uint32_t* words, buffer_pool& /*buffers*/) {
    const beat b = beat::unpack(words);
    pcie_error item;
    item.function = b.function_id;
    item.kind = static_cast<pcie_error_kind>(b.kind);
    return item;
  }
};

// The function map
// -------------------------------------------------------------------------------------------------

/// log2 of a window's bytes; 0 for one that is not there.
inline std::uint8_t log_of(const bar_window& window) {
  CARILLON_CHECK(window.bytes == 0 || (window.bytes > 1 && std::has_single_bit(window.bytes)),
                 "a BAR of {} bytes", window.bytes);
  return window.bytes == 0 ? 0 : static_cast<std::uint8_t>(std::bit_width(window.bytes) - 1);
}

inline void pcie_rx_windows(const twin_levels& levels, cycle_t t, std::uint32_t* words) {
  const function_map& map = levels.functions->read(t);
  function_windows w;
  w.pf_enable = map.pf_memory_enable && !map.functions.empty();
  w.vf_enable = map.vf_memory_enable;
  w.vfs = map.vfs;
  w.pf_base_0 = map.pf[0].base;
  w.pf_log_0 = log_of(map.pf[0]);
  w.pf_base_2 = map.pf[1].base;
  w.pf_log_2 = log_of(map.pf[1]);
  w.pf_base_4 = map.pf[2].base;
  w.pf_log_4 = log_of(map.pf[2]);
  w.vf_base_0 = map.vf[0].base;
  w.vf_log_0 = log_of(map.vf[0]);
  w.vf_base_2 = map.vf[1].base;
  w.vf_log_2 = log_of(map.vf[1]);
  w.pack(words);
}

inline constexpr unsigned ResettingWords = (stage_spec::pcie_rx::Functions + 31) / 32;

inline void pcie_rx_resetting(const twin_levels& levels, cycle_t t, std::uint32_t* words) {
  const function_map& map = levels.functions->read(t);
  CARILLON_CHECK(map.functions.size() <= stage_spec::pcie_rx::Functions, "{} functions",
                 map.functions.size());
  std::fill_n(words, ResettingWords, 0U);
  for (std::size_t i = 0; i < map.functions.size(); ++i) {
    words[i / 32] |= std::uint32_t{map.functions[i].resetting} << (i % 32);
  }
}

}  // namespace carillon
