#include "rx_parser.h"

#include <algorithm>
#include <utility>

#include "gen/stages.h"

namespace carillon {
namespace {

/// The lookup request is the FSM's fourth register, the verdict the lookup's fifth.
constexpr unsigned LookupAt = stage_spec::rx_parser::Header - 1;
constexpr unsigned VerdictHop = 1;

bool receives(qp_state state) {
  switch (state) {
    case qp_state::Rtr:
    case qp_state::Rts:
    case qp_state::Sqd:
    case qp_state::SqDraining:
    case qp_state::Sqer:
      return true;
    case qp_state::Reset:
    case qp_state::Init:
    case qp_state::Err:
      return false;
  }
  return false;
}

bool sends(qp_state state) {
  return state == qp_state::Rts || state == qp_state::Sqd || state == qp_state::SqDraining;
}

bool serves(qp_service qp, transport_service packet) {
  switch (packet) {
    case transport_service::Rc:
      return qp == qp_service::Rc;
    case transport_service::Uc:
      return qp == qp_service::Uc;
    case transport_service::Ud:
      return qp == qp_service::Ud;
    case transport_service::Cnp:
      return true;
    case transport_service::Rd:
      return false;
  }
  return false;
}

/// Of two P_Keys of one partition, one at least is that of a full member.
bool same_partition(std::uint16_t a, std::uint16_t b) {
  constexpr unsigned FullMember = 0x8000;
  return ((a ^ b) & ~FullMember & 0xffffU) == 0 && ((a | b) & FullMember) != 0;
}

}  // namespace

counter counter_of(parse_error error) {
  switch (error) {
    case parse_error::eth_truncated:
    case parse_error::ip_truncated:
      return counter::RxDropTruncated;
    case parse_error::eth_type:
      return counter::RxDropEthertype;
    case parse_error::roce_v1:
      return counter::RxDropRoceV1;
    case parse_error::ip_version:
      return counter::RxDropIpVersion;
    case parse_error::ip_options:
      return counter::RxDropIpOptions;
    case parse_error::ip_fragment:
      return counter::RxDropIpFragment;
    case parse_error::ip_protocol:
      return counter::RxDropProtocol;
    case parse_error::ip_length:
      return counter::RxDropIpLength;
    case parse_error::udp_port:
      return counter::RxDropUdpPort;
    case parse_error::udp_length:
      return counter::RxDropUdpLength;
    case parse_error::bth_truncated:
      return counter::RxDropBthTruncated;
    case parse_error::bth_version:
      return counter::RxDropBthVersion;
    case parse_error::bth_opcode:
      return counter::RxDropOpcode;
    case parse_error::bth_length:
      return counter::RxDropBthLength;
    case parse_error::bth_pad:
      return counter::RxDropPad;
    case parse_error::icrc:
      return counter::RxDropIcrc;
    case parse_error::none:
    case parse_error::count_:
      break;
  }
  CARILLON_CHECK(false, "no counter for parse error {}", to_string(error));
  return counter::RxDropTruncated;
}

counter counter_of(steering_verdict verdict) {
  switch (verdict) {
    case steering_verdict::nobody:
      return counter::RxSteerOverflow;
    case steering_verdict::alien_source:
      return counter::RxSteerSource;
    case steering_verdict::port:
      break;
  }
  CARILLON_CHECK(false, "no counter for a frame that has a port");
  return counter::RxSteerOverflow;
}

rx_verdict verdict_of_psn(std::uint32_t psn, std::uint32_t expected) {
  constexpr std::uint32_t Mask = 0xffffff;
  constexpr std::uint32_t Half = 0x800000;
  const std::uint32_t ahead = (psn - expected) & Mask;
  if (ahead == 0) {
    return rx_verdict::accept;
  }
  return ahead < Half ? rx_verdict::gap : rx_verdict::duplicate;
}

rx_verdict look_up(const opcode_info& opcode, std::uint32_t psn, bool exists,
                   const qpc_common& common, const qpc_responder& responder) {
  if (!exists || common.valid == 0) {
    return rx_verdict::no_qp;
  }
  if (!serves(common.service, opcode.service)) {
    return rx_verdict::bad_state;  // a packet of another service meets no such QP; the real one is
                                   // not harmed
  }
  if (opcode.is_response) {
    return sends(common.state) ? rx_verdict::response : rx_verdict::bad_state;
  }
  if (!receives(common.state) || responder.error != 0) {
    return rx_verdict::bad_state;
  }
  return common.service == qp_service::Rc ? verdict_of_psn(psn, responder.next_rcv_psn)
                                          : rx_verdict::accept;
}

std::optional<counter> end_of(const parsed_frame& packet, rx_verdict verdict,
                              const qpc_common& common, std::uint16_t port) {
  if (packet.error == parse_error::icrc) {
    return counter::RxDropIcrc;
  }
  if (verdict != rx_verdict::no_qp && common.function_id != port) {
    return counter::RxSteerOwner;
  }
  const bool known = verdict != rx_verdict::no_qp && verdict != rx_verdict::bad_state;
  if (known && !same_partition(packet.base.pkey, common.pkey)) {
    return counter::RxDropPkey;
  }
  if (packet.opcode->verb == bth_verb::Congestion) {
    return counter::RxCnps;  // where the rate control will take it over
  }
  return std::nullopt;
}

rx_parser::rx_parser(const sc_core::sc_module_name& name, nic_shared& shared, const ports& io)
    : stage(name, shared.context, "rx_parser"),
      shared_(shared),
      io_(io),
      order_(context_.trace.intern("order")),
      qp_busy_(context_.trace.intern("qp_busy")),
      read_credit_(context_.trace.intern("credit:" + io.common_reads.name())),
      request_credit_(context_.trace.intern("credit:" + io.requests.name())),
      response_credit_(context_.trace.intern("credit:" + io.responses.name())) {
  io_.frames.to(*this, site());
  io_.commits.to(*this, site());
  io_.common_lines.to(*this, site());
  io_.responder_lines.to(*this, site());
  io_.common_reads.from(*this, site());
  io_.responder_reads.from(*this, site());
  io_.requests.from(*this, site());
  io_.responses.from(*this, site());
  const auto full = [this](cycle_t) { return slots_.size() == Slots; };
  watch(io_.frames,
        {blocker::condition("qp_busy",
                            [this, full](cycle_t t) { return full(t) && lookup_stalled(t); }),
         blocker::condition(
             "credit:" + io_.requests.name(),
             [this, full](cycle_t t) { return full(t) && !io_.requests.has_credit(t); }),
         blocker::condition(
             "credit:" + io_.responses.name(),
             [this, full](cycle_t t) { return full(t) && !io_.responses.has_credit(t); }),
         blocker::condition("lookup", full)});
  // Their slots are reserved: they never wait.
  watch(io_.commits, {});
  watch(io_.common_lines, {});
  watch(io_.responder_lines, {});
}

void rx_parser::evaluate(cycle_t t) {
  while (io_.commits.takeable(t)) {
    release(io_.commits.take(t).qpn);
  }
  take_lines(t);
  issue_lookup(t);
  deliver(t);
  take_frame(t);
}

bool rx_parser::busy(std::uint32_t qpn) const {
  return std::find(busy_.begin(), busy_.end(), qpn) != busy_.end();
}

void rx_parser::release(std::uint32_t qpn) {
  const auto found = std::find(busy_.begin(), busy_.end(), qpn);
  CARILLON_CHECK(found != busy_.end(), "{}: a commit of QP {} without a request", path(), qpn);
  *found = busy_.back();
  busy_.pop_back();
}

bool rx_parser::lookup_stalled(cycle_t t) const {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const packet_slot& slot = slots_[i];
    if (!slot.issued) {
      return slot.request && t >= slot.taken + LookupAt && busy(slot.parsed.base.dest_qpn);
    }
  }
  return false;
}

void rx_parser::take_lines(cycle_t t) {
  const auto take = [&](stream<context_line>& lines, bool packet_slot::*has,
                        context_line packet_slot::*line) {
    if (!lines.takeable(t)) {
      return;
    }
    context_line in = lines.take(t);
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      packet_slot& slot = slots_[i];
      if (slot.refused) {
        continue;
      }
      if (slot.issued && !(slot.*has)) {
        CARILLON_CHECK(in.index == slot.parsed.base.dest_qpn, "{}: line {} came for QP {}", path(),
                       in.index, slot.parsed.base.dest_qpn);
        // Of the two answers the later one counts, the common line if they come together.
        if (!(slot.has_common || slot.has_responder) || slot.looked_up < t) {
          slot.lookup = held_history(in.trace, t, order_);
        }
        slot.looked_up = t;
        slot.*has = true;
        slot.*line = std::move(in);
        return;
      }
    }
    CARILLON_CHECK(false, "{}: line {} came unasked", path(), in.index);
  };
  take(io_.common_lines, &packet_slot::has_common, &packet_slot::common);
  take(io_.responder_lines, &packet_slot::has_responder, &packet_slot::responder);
}

void rx_parser::issue_lookup(cycle_t t) {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    packet_slot& slot = slots_[i];
    if (slot.issued) {
      continue;
    }
    if (t < slot.taken + LookupAt) {
      wake(slot.taken + LookupAt);
      return;
    }
    const std::uint32_t qpn = slot.parsed.base.dest_qpn;
    if (slot.request && busy(qpn)) {
      slot.lookup.waits_for(context_, site(), t, qp_busy_);
      return;  // a commit wakes us
    }
    if (!io_.common_reads.has_credit(t) || !io_.responder_reads.has_credit(t)) {
      slot.lookup.waits_for(context_, site(), t, read_credit_);
      io_.common_reads.ask_credit(t);
      io_.responder_reads.ask_credit(t);
      return;
    }
    const trace_ref history = slot.lookup.wait_until(context_, site(), t);
    slot.issued = true;
    // On the chip's own behalf: behind the lookup the owner is compared, so that a packet for a QP
    // of somebody else is told from one for none.
    io_.common_reads.push(t, 1, {history, context_kind::qpc_common, qpn, 0});
    if (slot.request) {
      busy_.push_back(qpn);
      io_.responder_reads.push(t, 1, {history, context_kind::qpc_responder, qpn, 0});
    }
    if (i + 1 < slots_.size()) {
      wake(std::max(t + 1, slots_[i + 1].taken + LookupAt));
    }
    return;  // one lookup a cycle
  }
}

void rx_parser::drop(cycle_t t, counter why) {
  const packet_slot gone = slots_.pop();
  if (gone.port) {
    shared_.counters.add_for(*gone.port, why);
  } else {
    shared_.counters.add(why);
  }
  last_left_ = t + 1;
  // The next packet of its QP sees the QP free in the next cycle, as after a commit.
  if (gone.request) {
    release(gone.parsed.base.dest_qpn);
  }
  wake(t + 1);
}

rx_packet rx_parser::result_of(packet_slot& slot, rx_verdict verdict) {
  const parsed_frame& parsed = slot.parsed;
  rx_packet packet;
  packet.verdict = verdict;
  packet.function = *slot.port;
  packet.qpn = parsed.base.dest_qpn;
  packet.bth_opcode = static_cast<std::uint8_t>(parsed.base.opcode);
  packet.solicited = parsed.base.se != 0;
  packet.ack_request = parsed.base.ack_req != 0;
  packet.psn = parsed.base.psn;
  packet.remote_address = parsed.remote.va;
  packet.rkey = parsed.remote.rkey;
  packet.dma_length = parsed.remote.dma_length;
  packet.imm = parsed.opcode->has_ieth ? parsed.invalidate_rkey : parsed.immediate;
  if (parsed.opcode->has_atomiceth) {
    packet.remote_address = parsed.atomic.va;
    packet.rkey = parsed.atomic.rkey;
    packet.swap_add = parsed.atomic.swap_add;
    packet.compare = parsed.atomic.compare;
  }
  packet.atomic_result = parsed.atomic_result.original;
  packet.source_qpn = parsed.datagram.src_qpn;
  packet.qkey = parsed.datagram.qkey;
  packet.ipv6 = parsed.ipv6;
  packet.priority = parsed.tagged ? parsed.pcp : static_cast<std::uint8_t>(parsed.dscp >> 3);
  packet.ip_offset = slot.frame.offset + parsed.ip_offset;
  packet.syndrome = static_cast<std::uint8_t>(static_cast<unsigned>(parsed.acknowledge.kind) << 5 |
                                              parsed.acknowledge.value);
  packet.msn = parsed.acknowledge.msn;
  packet.payload = parsed.payload;
  packet.payload_offset = slot.frame.offset + parsed.payload_offset;
  packet.bytes = std::move(slot.frame.bytes);
  packet.common = slot.common.data;
  packet.responder = slot.responder.data;
  return packet;
}

void rx_parser::count(const packet_slot& slot, rx_verdict verdict) {
  if (verdict == rx_verdict::no_qp) {
    shared_.counters.add_for(*slot.port, counter::RxDropNoQp);
  } else if (verdict == rx_verdict::bad_state) {
    shared_.counters.add_for(*slot.port, counter::RxDropBadState);
  }
  if (slot.parsed.ecn == ecn_code::Ce) {
    shared_.counters.add_for(*slot.port, counter::RxEcnMarked);
  }
}

void rx_parser::deliver(cycle_t t) {
  if (slots_.empty()) {
    return;
  }
  packet_slot& slot = slots_.front();
  if (slot.refused) {
    if (t < slot.taken + LookupAt) {
      wake(slot.taken + LookupAt);
      return;
    }
    drop(t, *slot.refused);
    return;
  }
  if (!slot.has_common || (slot.request && !slot.has_responder)) {
    return;  // a line wakes us
  }
  if (t < slot.checked) {
    wake(slot.checked);
    return;
  }
  const qpc_common common = qpc_common::unpack(slot.common.data.data());
  const rx_verdict verdict = look_up(*slot.parsed.opcode, slot.parsed.base.psn, slot.common.valid,
                                     common, qpc_responder::unpack(slot.responder.data.data()));
  if (const std::optional<counter> why = end_of(slot.parsed, verdict, common, *slot.port)) {
    drop(t, *why);
    return;
  }

  stream<rx_packet>& out = slot.request ? io_.requests : io_.responses;
  const bool lookup_last = slot.looked_up > slot.checked;
  held_history& path_taken = lookup_last ? slot.lookup : slot.own;
  const cycle_t ready = std::max(slot.looked_up, slot.checked);
  if (!lookup_last) {
    slot.own.served_until(context_, site(), slot.checked);
  }
  if (last_left_ > ready && last_left_ <= t) {
    path_taken.wait_until(context_, site(), last_left_);
  }
  if (!out.has_credit(t)) {
    path_taken.waits_for(context_, site(), t, slot.request ? request_credit_ : response_credit_);
    out.ask_credit(t);
    return;
  }
  count(slot, verdict);
  rx_packet packet = result_of(slot, verdict);
  packet.trace = path_taken.wait_until(context_, site(), t);
  out.push(t, VerdictHop, std::move(packet));
  slots_.pop();
  last_left_ = t + 1;
  if (!slots_.empty()) {
    wake(t + 1);
  }
}

/// Finds the port that a frame is for, if its header states got as far as its address, and says
/// whether it ends here.
void rx_parser::take_address(packet_slot& slot, cycle_t t) {
  const parsed_frame& parsed = slot.parsed;
  const bool readable = parsed.good() || parsed.error == parse_error::icrc;
  if (!readable) {
    slot.refused = counter_of(parsed.error);
  }
  if (parsed.error == parse_error::eth_truncated) {
    return;
  }
  frame_address address{parsed.mac_destination, parsed.mac_source, std::nullopt};
  if (parsed.tagged) {
    address.vlan = parsed.vid;
  }
  const steering way = steer(io_.vports.read(t), address, slot.frame.looped);
  if (way.verdict == steering_verdict::port) {
    slot.port = way.port;
    shared_.counters.attribute(way.port, counter::RxPackets);
    shared_.counters.attribute(way.port, counter::RxBytes, slot.frame.length);
  } else if (readable) {
    slot.refused = counter_of(way.verdict);
  }
}

void rx_parser::take_frame(cycle_t t) {
  if (!io_.frames.takeable(t) || slots_.size() == Slots) {
    return;  // a packet that leaves wakes us
  }
  const unsigned beats = io_.frames.front_beats();
  packet_slot slot;
  slot.frame = io_.frames.take(t);
  slot.parsed = parse_frame(slot.frame.bytes.data() + slot.frame.offset, slot.frame.length,
                            slot.frame.icrc_known ? icrc_check::trust : icrc_check::verify);
  slot.taken = t;
  slot.checked = t + beats - 1 + stage_spec::rx_parser::Icrc - VerdictHop;
  slot.own = held_history(slot.frame.trace, t, order_);
  slot.lookup = slot.own;
  slot.lookup.served_until(context_, site(), t + LookupAt);
  take_address(slot, t);
  slot.request = !slot.refused && !slot.parsed.opcode->is_response;
  slot.issued = slot.refused.has_value();  // nothing to look up
  slot.has_responder = !slot.request;      // not asked for
  slots_.push(std::move(slot));
  wake(t + LookupAt);
}

}  // namespace carillon
