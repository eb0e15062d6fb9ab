// Packets without payload from memory on the pins of packet_builder, and what its twin asks of the
// table of virtual ports.
#pragma once

#include <cstdint>
#include <cstring>

#include "common/items.h"
#include "common/vport.h"
#include "cosim/packet_beats.h"
#include "gen/contexts.h"
#include "gen/streams.h"
#include "gen/wqe.h"

namespace carillon {

/// A packet without payload, or with its payload in the body of its work request, from tx_sched.
struct direct_packet_codec : single_beat {
  using beat = direct_beat;

  static void pack(const packet_item& item, unsigned /*index*/, unsigned /*count*/,
                   std::uint32_t* words) {
    beat b;
    pack_packet(item, b);
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
