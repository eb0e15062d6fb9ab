// Frames on the pins of packet_builder and tx_mac.
#pragma once

#include "common/roce_packet.h"
#include "common/twin.h"
#include "cosim/beats.h"

namespace carillon {

/// Of frame_beat and wire_beat: what they have in common.
template <class Beat>
struct frame_codec {
  using beat = Beat;

  static beat packed(const frame_item& item, unsigned index, unsigned count) {
    beat b;
    b.trace_id = item.trace.message;
    b.function_id = item.function;
    b.length = static_cast<std::uint16_t>(item.length);
    b.pcp = item.priority;
    b.first_packet = item.first;
    b.last_packet = item.last;
    b.first = index == 0;
    b.last = index + 1 == count;
    slice_out(item.bytes.data() + item.offset, item.length, index, b.data);
    return b;
  }

  static frame_item unpack_first(const std::uint32_t* words, buffer_pool& /*buffers*/) {
    const beat b = beat::unpack(words);
    frame_item item;
    item.trace.message = b.trace_id;
    item.length = b.length;
    item.priority = b.pcp;
    item.first = b.first_packet != 0;
    item.last = b.last_packet != 0;
    item.function = b.function_id;
    return item;
  }

  static unsigned count(const frame_item& item) { return beats_of(item.length); }

  static const buffer_ref& body(const frame_item& item) { return item.bytes; }

  /// The RTL in place of the model makes the bytes that the rules have made: twin_port compares.
  static void attach(frame_item& item, const twin_rules::item_handles& handles) {
    item.bytes = handles.frame;
    item.offset = handles.origin;
    item.fcs = fcs_of_frame(item.bytes.data() + item.offset, item.length);
    item.fcs_known = true;
    item.icrc_known = true;
  }

  static void unpack_rest(const std::uint32_t* /*words*/, unsigned /*index*/,
                          const buffer_ref& /*body*/) {}
};

/// With its ICRC. Its FCS is tx_mac's: the model's, which travels beside the bytes, has no pins.
struct built_frame_codec : frame_codec<frame_beat> {
  /// tx_mac and rx_mac look at the frame when they take it.
  static constexpr bool Whole = true;

  static frame_item unpack_first(const std::uint32_t* words, buffer_pool& buffers) {
    frame_item item = frame_codec::unpack_first(words, buffers);
    item.looped = beat::unpack(words).looped != 0;
    return item;
  }

  static void pack(const frame_item& item, unsigned index, unsigned count, std::uint32_t* words) {
    beat b = packed(item, index, count);
    b.looped = item.looped;
    b.pack(words);
  }
};

/// To the serializer.
struct wire_frame_codec : frame_codec<wire_beat> {
  static constexpr bool Whole = true;

  static void pack(const frame_item& item, unsigned index, unsigned count, std::uint32_t* words) {
    wire_beat b = packed(item, index, count);
    b.fcs = b.last != 0 ? item.fcs : 0;
    b.pack(words);
  }
};

}  // namespace carillon
