#include "rx_parser/rx_parser_rules.h"

#include <algorithm>
#include <utility>

namespace carillon {

namespace {

namespace spec = stage_spec::rx_parser;

/// The lookup request is the FSM's fourth register, the verdict the lookup's fifth.
constexpr unsigned LookupAt = spec::Header - 1;
constexpr unsigned VerdictHop = 1;

}  // namespace

rx_parser_rules::rx_parser_rules(nic_shared& nic, trace_site site, const rx_parser_ports& io)
    : nic_(nic),
      site_(site),
      io_(io),
      order_(nic.context.trace.intern("order")),
      qp_busy_(nic.context.trace.intern("qp_busy")),
      undecided_(nic.context.trace.intern("undecided")),
      read_credit_(nic.context.trace.intern("credit:" + io.common_reads.name())),
      request_credit_(nic.context.trace.intern("credit:" + io.requests.name())),
      response_credit_(nic.context.trace.intern("credit:" + io.responses.name())) {
  io_.frames.tap(&frame_);
  io_.commits.tap(&commit_);
  io_.common_lines.tap(&common_);
  io_.responder_lines.tap(&responder_);
}

std::vector<twin_rules::wait_list> rx_parser_rules::waits() {
  // What the oldest lookup or the front packet waits for is what all behind them wait for.
  const auto stalled = [this](stall by) {
    return [this, by](cycle_t t) { return full(t) && stall_ == by; };
  };
  const auto short_of = [this](stream<rx_packet>& out) {
    return blocker::condition("credit:" + out.name(),
                              [this, &out](cycle_t t) { return full(t) && short_of_ == &out; });
  };
  return {
      {&io_.frames,
       {blocker::condition("qp_busy", stalled(stall::qp_busy)),
        blocker::condition("undecided", stalled(stall::undecided)), short_of(io_.requests),
        short_of(io_.responses),
        blocker::condition("lookup", [this](cycle_t t) { return full(t); })}},
      // Their slots are reserved: they never wait.
      {&io_.commits, {}},
      {&io_.common_lines, {}},
      {&io_.responder_lines, {}},
  };
}

void rx_parser_rules::settle(cycle_t t) {
  settled_ = t;
  was_full_ = slots_.size() >= Slots;
  next_ = NeverCycle;
  stall_ = stall::none;
  short_of_ = nullptr;
  if (const auto commit = std::exchange(commit_.taken, {})) {
    release(commit->qpn);
  }
  take_line(t, common_, &packet_slot::has_common, &packet_slot::common);
  take_line(t, responder_, &packet_slot::has_responder, &packet_slot::responder);
  issue_lookup(t);
  deliver(t);
  take_frame(t);
}

bool rx_parser_rules::busy(std::uint32_t qpn) const {
  return std::find(busy_.begin(), busy_.end(), qpn) != busy_.end();
}

void rx_parser_rules::release(std::uint32_t qpn) {
  const auto found = std::find(busy_.begin(), busy_.end(), qpn);
  CARILLON_CHECK(found != busy_.end(), "rx_parser: a commit of QP {} without a request", qpn);
  *found = busy_.back();
  busy_.pop_back();
}

void rx_parser_rules::take_line(cycle_t t, input_tap<context_line>& from, bool packet_slot::*has,
                                context_line packet_slot::*line) {
  if (!from.taken) {
    return;
  }
  const context_line& in = *from.taken;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    packet_slot& slot = slots_[i];
    if (slot.refused != rx_refusal::Nothing || !slot.issued || slot.*has) {
      continue;
    }
    CARILLON_CHECK(in.index == slot.parsed.base.dest_qpn, "rx_parser: line {} came for QP {}",
                   in.index, slot.parsed.base.dest_qpn);
    // Of the two answers the later one counts, the common line if they come together.
    if (!(slot.has_common || slot.has_responder) || slot.looked_up < t) {
      slot.lookup = held_history(in.trace, t, order_);
    }
    slot.looked_up = t;
    slot.*has = true;
    slot.*line = in;
    from.taken.reset();
    return;
  }
  CARILLON_CHECK(false, "rx_parser: line {} came unasked", in.index);
}

void rx_parser_rules::issue_lookup(cycle_t t) {
  const auto waits = [this, t](packet_slot& slot, stall why, name_id reason) {
    slot.lookup.waits_for(nic_.context, site_, t, reason);
    stall_ = why;
  };
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    packet_slot& slot = slots_[i];
    if (slot.issued) {
      continue;
    }
    if (t < slot.taken + LookupAt) {
      due(slot.taken + LookupAt);
      return;
    }
    const std::uint32_t qpn = slot.parsed.base.dest_qpn;
    if (slot.request && busy(qpn)) {
      return waits(slot, stall::qp_busy, qp_busy_);  // until a commit
    }
    if (slot.request && busy_.size() >= Undecided) {
      return waits(slot, stall::undecided, undecided_);  // likewise
    }
    if (!io_.common_reads.has_credit(t) || !io_.responder_reads.has_credit(t)) {
      return waits(slot, stall::read_credit, read_credit_);
    }
    const trace_ref history = slot.lookup.wait_until(nic_.context, site_, t);
    slot.issued = true;
    // On the chip's own behalf: behind the lookup the owner is compared, so that a packet for a QP
    // of somebody else is told from one for none.
    io_.common_reads.reserve(t, 1);
    common_reads.push({{history, context_kind::qpc_common, qpn, 0}, t});
    if (slot.request) {
      busy_.push_back(qpn);
      io_.responder_reads.reserve(t, 1);
      responder_reads.push({{history, context_kind::qpc_responder, qpn, 0}, t});
    }
    if (i + 1 < slots_.size()) {
      due(std::max(t + 1, slots_[i + 1].taken + LookupAt));
    }
    return;  // one lookup a cycle
  }
}

void rx_parser_rules::tell(cycle_t t, rx_ended end) {
  if (io_.ends != nullptr) {
    io_.ends->reserve(t, 1);
    ends.push({end, t});
  }
}

void rx_parser_rules::drop(cycle_t t, rx_refusal why) {
  const packet_slot gone = slots_.pop();
  if (gone.port) {
    nic_.counters.add_for(*gone.port, counter_of(why));
  } else {
    nic_.counters.add(counter_of(why));
  }
  tell(t, {{}, rx_state::StDrop, why, rx_verdict::accept, gone.port, false});
  last_left_ = t + 1;
  // The next packet of its QP sees the QP free in the next cycle, as after a commit.
  if (gone.request) {
    release(gone.parsed.base.dest_qpn);
  }
  due(t + 1);
}

rx_packet rx_parser_rules::result_of(packet_slot& slot, rx_verdict verdict) {
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
  packet.syndrome = syndrome_of(parsed.acknowledge);
  packet.msn = parsed.acknowledge.msn;
  packet.payload = parsed.payload;
  packet.payload_offset = slot.frame.offset + parsed.payload_offset;
  packet.bytes = std::move(slot.frame.bytes);
  packet.common = slot.common.data;
  packet.responder = slot.responder.data;
  return packet;
}

void rx_parser_rules::count(const packet_slot& slot, rx_verdict verdict) {
  if (verdict == rx_verdict::no_qp) {
    nic_.counters.add_for(*slot.port, counter::RxDropNoQp);
  } else if (verdict == rx_verdict::bad_state) {
    nic_.counters.add_for(*slot.port, counter::RxDropBadState);
  }
  if (slot.parsed.ecn == ecn_code::Ce) {
    nic_.counters.add_for(*slot.port, counter::RxEcnMarked);
  }
}

void rx_parser_rules::deliver(cycle_t t) {
  if (slots_.empty()) {
    return;
  }
  packet_slot& slot = slots_.front();
  if (slot.refused != rx_refusal::Nothing) {
    if (t < slot.taken + LookupAt) {
      due(slot.taken + LookupAt);
      return;
    }
    drop(t, slot.refused);
    return;
  }
  if (!slot.has_common || (slot.request && !slot.has_responder)) {
    return;  // until a line
  }
  if (t < slot.checked) {
    due(slot.checked);
    return;
  }
  const qpc_common common = qpc_common::unpack(slot.common.data.data());
  const rx_verdict verdict = look_up(*slot.parsed.opcode, slot.parsed.base.psn, slot.common.valid,
                                     common, qpc_responder::unpack(slot.responder.data.data()));
  if (const rx_refusal why = end_of(slot.parsed, verdict, common, *slot.port);
      why != rx_refusal::Nothing) {
    drop(t, why);
    return;
  }

  sim_context& context = nic_.context;
  stream<rx_packet>& out = slot.request ? io_.requests : io_.responses;
  const bool lookup_last = slot.looked_up > slot.checked;
  held_history& path_taken = lookup_last ? slot.lookup : slot.own;
  const cycle_t ready = std::max(slot.looked_up, slot.checked);
  if (!lookup_last) {
    slot.own.served_until(context, site_, slot.checked);
  }
  if (last_left_ > ready && last_left_ <= t) {
    path_taken.wait_until(context, site_, last_left_);
  }
  if (!out.has_credit(t)) {
    path_taken.waits_for(context, site_, t, slot.request ? request_credit_ : response_credit_);
    short_of_ = &out;
    return;
  }
  count(slot, verdict);
  tell(t, {{},
           state_of(verdict),
           rx_refusal::Nothing,
           verdict,
           slot.port,
           slot.parsed.ecn == ecn_code::Ce});
  rx_packet packet = result_of(slot, verdict);
  packet.trace = path_taken.wait_until(context, site_, t);
  out.reserve(t, 1);
  (slot.request ? requests : responses).push({std::move(packet), t});
  slots_.pop();
  last_left_ = t + 1;
  if (!slots_.empty()) {
    due(t + 1);
  }
}

/// Finds the port that a frame is for, if its header states got as far as its address, and says
/// whether it ends here.
void rx_parser_rules::take_address(packet_slot& slot, cycle_t t) {
  const parsed_frame& parsed = slot.parsed;
  const bool readable = parsed.good() || parsed.error == parse_error::icrc;
  if (!readable) {
    slot.refused = refusal_of(parsed.error);
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
    nic_.counters.attribute(way.port, counter::RxPackets);
    nic_.counters.attribute(way.port, counter::RxBytes, slot.frame.length);
  } else if (readable) {
    slot.refused = refusal_of(way.verdict);
  }
}

void rx_parser_rules::take_frame(cycle_t t) {
  if (!frame_.taken) {
    return;
  }
  packet_slot slot;
  slot.frame = std::move(*frame_.taken);
  frame_.taken.reset();
  const unsigned beats = beats_of(slot.frame.length);
  slot.parsed = parse_frame(slot.frame.bytes.data() + slot.frame.offset, slot.frame.length,
                            slot.frame.icrc_known ? icrc_check::trust : icrc_check::verify);
  slot.taken = t;
  slot.checked = t + beats - 1 + spec::Icrc - VerdictHop;
  slot.own = held_history(slot.frame.trace, t, order_);
  slot.lookup = slot.own;
  slot.lookup.served_until(nic_.context, site_, t + LookupAt);
  take_address(slot, t);
  slot.request = slot.refused == rx_refusal::Nothing && !slot.parsed.opcode->is_response;
  slot.issued = slot.refused != rx_refusal::Nothing;  // nothing to look up
  slot.has_responder = !slot.request;                 // not asked for
  slots_.push(std::move(slot));
  due(t + LookupAt);
}

twin_rules::departure rx_parser_rules::departs(unsigned port, cycle_t visible) {
  const auto leave = [&](auto& queue) {
    CARILLON_CHECK(!queue.empty() && queue.front().pushed + VerdictHop == visible,
                   "{}: an item visible in cycle {}, but {}", io_.all()[port]->name(), visible,
                   queue.empty()
                       ? std::string("nothing is due")
                       : fmt::format("one is due in {}", queue.front().pushed + VerdictHop));
    auto gone = queue.pop();
    if constexpr (requires { gone.item.bytes; }) {
      handles_ = {std::move(gone.item.bytes), {}, 0};
    }
    return departure{gone.item.trace, gone.pushed};
  };
  switch (port) {
    case rx_parser_ports::CommonReads:
      return leave(common_reads);
    case rx_parser_ports::ResponderReads:
      return leave(responder_reads);
    case rx_parser_ports::Requests:
      return leave(requests);
    case rx_parser_ports::Responses:
      return leave(responses);
    default:
      return leave(ends);
  }
}

}  // namespace carillon
