// The items of tx_sched on its pins, and the level that it reads. Bytes that the model leaves in a
// buffer travel with the beat.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "common/error.h"
#include "common/items.h"
#include "common/twin.h"
#include "common/vport.h"
#include "cosim/payload_dma_beats.h"
#include "cosim/wqe_fetch_beats.h"
#include "gen/streams.h"
#include "gen/wqe.h"
#include "tx_sched/functions.h"
#include "tx_sched/token_bucket.h"

namespace carillon {

static_assert(static_cast<unsigned>(control_kind::Error) ==
              static_cast<unsigned>(send_control_kind::error));
static_assert(static_cast<unsigned>(answer_kind::Read) ==
              static_cast<unsigned>(response_kind::read));

/// Items of one beat that only come out of the twin, in lockstep.
template <class T>
struct output_codec : single_beat {
  static T unpack_first(const std::uint32_t* /*words*/, buffer_pool& /*buffers*/) {
    CARILLON_CHECK(false, "tx_sched: its RTL runs beside the model only");
    return {};
  }
};

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

struct sched_direct_codec : output_codec<packet_item> {
  using beat = direct_beat;

  static void pack(const packet_item& item, unsigned /*index*/, unsigned /*count*/,
                   std::uint32_t* words) {
    beat b;
    pack_packet(item, b);
    if (item.payload != 0) {
      std::memcpy(b.data.data(), item.body.data() + item.data_offset + item.message_offset,
                  item.payload);
    }
    b.pack(words);
  }
};

/// A WQE that fails has no response, so it does not say where that would go.
struct sched_note_codec : output_codec<sent_packet> {
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
};

struct sched_refetch_codec : output_codec<refetch> {
  using beat = refetch_beat;

  static void pack(const refetch& item, unsigned index, unsigned count, std::uint32_t* words) {
    refetch_codec::pack(item, index, count, words);
  }
};

struct invalidation_codec : output_codec<key_invalidation> {
  using beat = invalidation_beat;

  static void pack(const key_invalidation& item, unsigned /*index*/, unsigned /*count*/,
                   std::uint32_t* words) {
    beat b;
    b.index = item.index;
    b.pack(words);
  }
};

struct read_failure_codec : output_codec<response_failure> {
  using beat = read_failure_beat;

  static void pack(const response_failure& item, unsigned /*index*/, unsigned /*count*/,
                   std::uint32_t* words) {
    beat b;
    b.qpn = item.qpn;
    b.psn = item.psn;
    b.pack(words);
  }
};

struct answered_codec : output_codec<response_left> {
  using beat = answered_beat;

  static void pack(const response_left& item, unsigned /*index*/, unsigned /*count*/,
                   std::uint32_t* words) {
    beat b;
    b.qpn = item.qpn;
    b.generation = item.generation;
    b.pack(words);
  }
};

/// The shares of the functions, one behind the other, function 0 in the low bits.
inline void fill_vport_shares(const sim_context& context, const twin_levels& levels, cycle_t t,
                              std::uint32_t* pins) {
  const std::vector<port_share> shares = shares_of(levels.vports->read(t));
  const auto period = static_cast<std::uint64_t>(context.clock.period());
  for (std::size_t i = 0; i < shares.size(); ++i) {
    vport_share b;
    b.enabled = shares[i].enabled ? 1 : 0;
    b.has_vlan = shares[i].tagged ? 1 : 0;
    b.weight = shares[i].weight;
    b.urgency = shares[i].urgency;
    b.refill = static_cast<std::uint64_t>(token_bucket::rate_of(shares[i].max_rate_mbps)) * period;
    std::uint32_t words[vport_share::Words];
    b.pack(words);
    for (unsigned bit = 0; bit < vport_share::Width; ++bit) {
      const std::size_t at = i * vport_share::Width + bit;
      const std::uint32_t mask = 1U << (at % 32);
      pins[at / 32] =
          (words[bit / 32] >> (bit % 32) & 1) != 0 ? pins[at / 32] | mask : pins[at / 32] & ~mask;
    }
  }
}

}  // namespace carillon
