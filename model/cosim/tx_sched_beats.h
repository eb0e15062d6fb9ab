// The items of tx_sched on its pins, and the level that it reads. Bytes that the model leaves in a
// buffer travel with the beat.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "common/error.h"
#include "common/items.h"
#include "common/port_share.h"
#include "common/rate_items.h"
#include "common/twin.h"
#include "common/vport.h"
#include "cosim/packet_builder_beats.h"
#include "cosim/payload_dma_beats.h"
#include "cosim/qpc_ram_beats.h"
#include "cosim/wqe_fetch_beats.h"
#include "gen/stages.h"
#include "gen/streams.h"
#include "gen/wqe.h"

namespace carillon {

static_assert(static_cast<unsigned>(control_kind::Error) ==
              static_cast<unsigned>(send_control_kind::error));
static_assert(static_cast<unsigned>(answer_kind::Read) ==
              static_cast<unsigned>(response_kind::read));

struct sched_command_codec : input_codec<qp_command> {
  using beat = sched_command;

  static void pack(const qp_command& item, unsigned /*index*/, unsigned /*count*/,
                   std::uint32_t* words) {
    beat b;
    b.qpn = item.qpn;
    b.state = static_cast<qp_state>(item.state);
    b.service = static_cast<qp_service>(item.service);
    b.send_psn = item.send_psn & 0xffffff;
    b.ipv6 = item.ipv6 ? 1 : 0;
    b.has_vlan = item.tagged ? 1 : 0;
    b.pcp = item.priority;
    b.requester = item.requester;
    b.pack(words);
  }
};

struct sched_control_codec : input_codec<send_control> {
  using beat = control_beat;

  static void pack(const send_control& item, unsigned /*index*/, unsigned /*count*/,
                   std::uint32_t* words) {
    beat b;
    b.kind = static_cast<control_kind>(item.kind);
    b.qpn = item.qpn;
    b.epoch = item.epoch;
    b.psn = item.psn;
    b.skip = item.skip;
    b.wqe_index = item.wqe_index;
    b.reads_done = item.reads_done;
    b.pack(words);
  }
};

struct sched_response_codec : input_codec<response_item> {
  using beat = response_beat;

  static void pack(const response_item& item, unsigned /*index*/, unsigned /*count*/,
                   std::uint32_t* words) {
    beat b;
    b.trace_id = item.trace.message;
    b.kind = static_cast<answer_kind>(item.kind);
    b.function_id = item.function;
    b.qpn = item.qpn;
    b.psn = item.psn;
    b.syndrome = item.syndrome;
    b.msn = item.msn;
    b.saved = item.saved ? 1 : 0;
    b.generation = item.generation;
    b.atomic_result = item.atomic_result;
    b.address = item.address;
    b.rkey = item.rkey;
    b.length = item.length;
    b.mtu_code = static_cast<carillon::mtu_code>(item.mtu_code);
    b.paged = item.paged ? 1 : 0;
    b.writes_before = item.writes_before;
    b.pack(words);
  }
};

/// A WQE that fails has no response, so it does not say where that would go.
struct sched_note_codec : single_beat {
  using beat = sent_beat;

  static void pack(const sent_packet& item, unsigned /*index*/, unsigned /*count*/,
                   std::uint32_t* words) {
    beat b;
    b.trace_id = item.trace.message;
    b.qpn = item.qpn;
    b.epoch = item.epoch;
    b.psn = item.psn;
    b.first_psn = item.first_psn;
    b.last_psn = item.last_psn;
    b.last = item.last ? 1 : 0;
    b.no_packet = item.no_packet ? 1 : 0;
    b.drain_mark = item.drain_mark ? 1 : 0;
    b.ack_request = item.ack_request ? 1 : 0;
    b.wqe_index = item.wqe_index;
    b.wqebbs = item.wqebbs;
    b.opcode = item.opcode;
    b.service = static_cast<qp_service>(item.service);
    b.mtu_code = static_cast<carillon::mtu_code>(item.mtu_code);
    b.signaled = item.signaled ? 1 : 0;
    b.solicited_event = item.solicited_event ? 1 : 0;
    b.syndrome = static_cast<cqe_syndrome>(item.syndrome);
    b.vendor_syndrome = static_cast<carillon::vendor_syndrome>(item.vendor_syndrome);
    b.length = item.length;
    b.send_cqn = item.send_cqn;
    b.function_id = item.function;
    if (item.syndrome == 0) {
      b.paged = item.paged ? 1 : 0;
      b.sge_count = item.sge_count;
      if (item.body) {
        std::memcpy(b.segments.data(), item.body.data(),
                    std::size_t{item.sge_count} * data_seg::Size);
      }
    }
    b.pack(words);
  }

  static sent_packet unpack_first(const std::uint32_t* words, buffer_pool& buffers) {
    const beat b = beat::unpack(words);
    sent_packet item;
    item.trace.message = b.trace_id;
    item.qpn = b.qpn;
    item.epoch = b.epoch;
    item.psn = b.psn;
    item.first_psn = b.first_psn;
    item.last_psn = b.last_psn;
    item.last = b.last != 0;
    item.no_packet = b.no_packet != 0;
    item.drain_mark = b.drain_mark != 0;
    item.ack_request = b.ack_request != 0;
    item.wqe_index = b.wqe_index;
    item.wqebbs = b.wqebbs;
    item.opcode = b.opcode;
    item.service = static_cast<std::uint8_t>(b.service);
    item.mtu_code = static_cast<std::uint8_t>(b.mtu_code);
    item.signaled = b.signaled != 0;
    item.solicited_event = b.solicited_event != 0;
    item.syndrome = static_cast<std::uint8_t>(b.syndrome);
    item.vendor_syndrome = static_cast<std::uint8_t>(b.vendor_syndrome);
    item.length = b.length;
    item.send_cqn = b.send_cqn;
    item.function = b.function_id;
    item.paged = b.paged != 0;
    item.sge_count = b.sge_count;
    if (item.sge_count != 0) {
      item.body = buffers.take();
      std::memcpy(item.body.data(), b.segments.data(), b.segments.size());
    }
    return item;
  }
};

struct read_failure_codec : single_beat {
  using beat = read_failure_beat;

  static void pack(const response_failure& item, unsigned /*index*/, unsigned /*count*/,
                   std::uint32_t* words) {
    beat b;
    b.qpn = item.qpn;
    b.psn = item.psn;
    b.pack(words);
  }

  static response_failure unpack_first(const std::uint32_t* words, buffer_pool& /*buffers*/) {
    const beat b = beat::unpack(words);
    return {{}, b.qpn, b.psn};
  }
};

static_assert(static_cast<unsigned>(limit_code::Cnp) == static_cast<unsigned>(limit_kind::cnp));

struct limit_codec : input_codec<rate_limit> {
  using beat = limit_beat;

  static void pack(const rate_limit& item, unsigned /*index*/, unsigned /*count*/,
                   std::uint32_t* words) {
    beat b;
    b.kind = static_cast<limit_code>(item.kind);
    b.function_id = item.function;
    b.qpn = item.qpn;
    b.slot = item.slot;
    b.rate = item.rate;
    b.dscp = item.dscp;
    b.pcp = item.priority;
    b.pack(words);
  }
};

struct charge_codec : single_beat {
  using beat = charge_beat;

  static void pack(const rate_charge& item, unsigned /*index*/, unsigned /*count*/,
                   std::uint32_t* words) {
    beat b;
    b.slot = item.slot;
    b.qpn = item.qpn;
    b.bytes = static_cast<std::uint16_t>(item.bytes);
    b.pack(words);
  }

  static rate_charge unpack_first(const std::uint32_t* words, buffer_pool& /*buffers*/) {
    const beat b = beat::unpack(words);
    return {{}, b.slot, b.qpn, b.bytes};
  }
};

struct answered_codec : single_beat {
  using beat = answered_beat;

  static void pack(const response_left& item, unsigned /*index*/, unsigned /*count*/,
                   std::uint32_t* words) {
    beat b;
    b.qpn = item.qpn;
    b.generation = item.generation;
    b.pack(words);
  }

  static response_left unpack_first(const std::uint32_t* words, buffer_pool& /*buffers*/) {
    const beat b = beat::unpack(words);
    return {{}, b.qpn, b.generation};
  }
};

/// As many as the RTL has room for.
inline constexpr std::size_t ShareFunctions = stage_spec::tx_sched::Functions;
inline constexpr unsigned VportShareWords = (ShareFunctions * vport_share::Width + 31) / 32;

/// The shares of the functions, one behind the other, function 0 in the low bits.
inline void fill_vport_shares(const parameters& params, const twin_levels& levels, cycle_t t,
                              std::uint32_t* words) {
  const std::vector<port_share> shares = shares_of(levels.vports->read(t));
  const auto period = static_cast<std::uint64_t>(params.core.clock_period_ps);
  std::fill_n(words, VportShareWords, 0);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    vport_share b;
    b.enabled = shares[i].enabled ? 1 : 0;
    b.has_vlan = shares[i].tagged ? 1 : 0;
    b.pcp = shares[i].priority;
    b.weight = shares[i].weight;
    b.urgency = shares[i].urgency;
    b.refill = static_cast<std::uint64_t>(rate_parts(shares[i].max_rate_mbps)) * period;
    std::uint32_t share[vport_share::Words];
    b.pack(share);
    for (unsigned bit = 0; bit < vport_share::Width; ++bit) {
      const std::size_t at = i * vport_share::Width + bit;
      words[at / 32] |= (share[bit / 32] >> (bit % 32) & 1U) << (at % 32);
    }
  }
}

}  // namespace carillon
