// tx_sched: the round over the send queues.
#include <algorithm>
#include <utility>

#include "common/psn.h"
#include "gen/contexts.h"
#include "gen/wqe.h"
#include "tx_sched/tx_sched_rules.h"

namespace carillon {

namespace {

namespace spec = stage_spec::tx_sched;

/// What a packet costs its QP; one without payload is not free.
std::uint32_t charge(std::uint32_t payload) {
  return std::max(payload, 1U);
}

}  // namespace

// The round ----

/// The QP has work that may have become grantable.
void tx_sched_rules::enter_round(cycle_t t, std::uint32_t qpn) {
  sched_queue& queue = queues_[qpn];
  if (unpark(t, qpn) && requests_.push(queue.function, qpn)) {
    enter(t, queue.function);
  }
}

/// It stands in a line from now on: true if the caller has to put it there.
bool tx_sched_rules::unpark(cycle_t t, std::uint32_t qpn) {
  sched_queue& queue = queues_[qpn];
  if (queue.parked && !queue.works.empty()) {
    queue.works.front().next.waits_for(context_, site(), t, weight_reason_);
    held_ += queue.draining ? 0 : static_cast<unsigned>(queue.works.size());
  }
  queue.parked = false;
  if (queue.active || queue.works.empty()) {
    return false;
  }
  queue.active = true;
  return true;
}

void tx_sched_rules::leave_round(std::uint32_t qpn) {
  sched_queue& queue = queues_[qpn];
  if (queue.active) {
    queue.active = false;
    requests_.erase(qpn);
    doubtful_.push(queue.function);
  }
}

/// Bytes on the wire; -1 if none of the function's QPs can send.
std::int64_t tx_sched_rules::grant_request(cycle_t t, std::uint16_t function) {
  // Whoever is granted may lead to a note, and so may each packet inside payload_dma.
  if (notes_ + std::min(inside_, stage_spec::payload_dma::LeftDepth) + 2 > spec::Notes) {
    return -1;
  }
  std::uint32_t behind = NoNumber;
  for (std::uint32_t qpn = requests_.first(function); qpn != NoNumber; qpn = behind) {
    behind = requests_.behind(qpn);
    sched_queue& queue = queues_[qpn];
    if (queue.works.front().available > t) {
      next_work_ = std::min(next_work_, queue.works.front().available);
      continue;
    }
    sent_bytes_ = 0;
    const outcome result = try_grant(t, qpn);
    if (result == outcome::blocked) {
      continue;
    }
    if (result != outcome::granted) {
      queue.active = false;
      queue.parked = true;
      held_ -= queue.draining ? 0 : static_cast<unsigned>(queue.works.size());
      requests_.erase(qpn);
      if (result == outcome::aside) {
        return 0;
      }
      continue;
    }
    see_drained(qpn);
    // The QPs before it could not move; they keep their turn.
    if (queue.works.empty()) {
      queue.active = false;
      requests_.erase(qpn);
    } else if (queue.deficit < charge(queue.works.front().next_bytes())) {
      requests_.to_back(qpn);  // its turn ends
    }
    return sent_bytes_;
  }
  return -1;
}

tx_sched_rules::outcome tx_sched_rules::block(cycle_t t, std::uint32_t qpn, name_id reason) {
  queues_[qpn].works.front().next.waits_for(context_, site(), t, reason);
  return outcome::blocked;
}

// One grant ----

tx_sched_rules::outcome tx_sched_rules::try_grant(cycle_t t, std::uint32_t qpn) {
  sched_queue& queue = queues_[qpn];
  held_work& head = queue.works.front();
  if (queue.error || queue.failed) {
    return fail(t, qpn);
  }
  const sched_hold hold = queue.hold(window_);
  if (queue.head_syndrome() != 0 && hold != sched_hold::drain) {
    return fail(t, qpn);
  }
  if (hold != sched_hold::none) {
    block(t, qpn, hold_reasons_[static_cast<std::size_t>(hold)]);
    return outcome::parked;
  }
  if (head.kind() == work_kind::local) {
    return grant_local(t, qpn);
  }
  const std::uint32_t bytes = head.next_bytes();
  const bool fetched = bytes != 0 && !head.item.is_inline;
  stream<packet_item>& output = fetched ? ports_.payload : ports_.direct;
  if (!fetched && queue.in_payload() != 0) {
    return block(t, qpn, overtake_reason_);
  }
  if (!output.has_credit(t)) {
    output.ask_credit(t);
    return block(t, qpn, fetched ? payload_reason_ : direct_reason_);
  }
  const bool rc = queue.reliable;
  if (rc && !ports_.sent.has_credit(t)) {
    ports_.sent.ask_credit(t);
    return block(t, qpn, sent_reason_);
  }
  if (paused(t, qpn, queue.function)) {
    stop_requests(t, qpn);
    return outcome::aside;
  }
  if (rate_closed(t, qpn)) {
    block(t, qpn, rate_reason_);
    return outcome::aside;
  }
  queue.begin();
  const trace_ref granted = head.next.wait_until(context_, site(), t);
  packet_item packet = packet_of(queue, head, granted);
  const bool last = packet.last;
  sent_packet note = note_of(queue, head, granted);
  note.last = last;
  note.ack_request = packet.ack_request;
  sent_bytes_ = cost_of(packet);
  charge_rate(t, packet);
  output.reserve(t, 1);
  if (fetched) {
    ++queue.to_payload;
    ++inside_;
    payload.push({std::move(packet), t, t + spec::Latency});
  } else {
    direct.push({std::move(packet), t, t + spec::Latency});
  }
  nic_.counters.add(counter::TxGrants);
  if (rc) {
    push_note(t, std::move(note));
  } else if (last) {
    add_note(t, qpn, std::move(note));
  }
  if (head.kind() != work_kind::message) {
    ++queue.reads;
  }
  queue.psn = psn_add(queue.psn, head.next_psns());
  head.offset += bytes;
  // Deficit round robin: a turn begins with a quantum on top of what is left of the last one. The
  // quantum is the same for all QPs, so they share bytes, not packets, whatever their MTU.
  const std::uint32_t charged = charge(bytes);
  if (queue.deficit < charged) {
    queue.deficit += std::max(quantum_, head.mtu);
  }
  queue.deficit -= charged;
  if (last) {
    finish_work(t, qpn);
  } else {
    // The next packet of the message waited for those before it, now for its turn.
    head.next = {head.item.trace, head.available, order_reason_};
    head.next.waits_for(context_, site(), t, weight_reason_);
  }
  return outcome::granted;
}

packet_item tx_sched_rules::packet_of(sched_queue& queue, const held_work& head,
                                      trace_ref history) {
  const work_item& item = head.item;
  const work_kind kind = head.kind();
  packet_item packet;
  packet.trace = history;
  packet.order = order_++;
  packet.function = item.function;
  packet.qpn = item.qpn;
  packet.life = static_cast<std::uint8_t>(queue.lives);
  packet.wqe_opcode = item.opcode;
  packet.service = item.service;
  packet.psn = queue.psn;
  packet.payload = head.next_bytes();
  packet.remote_address = item.remote_address;
  packet.rkey = item.rkey;
  packet.dma_length = item.length;
  packet.imm = item.imm;
  if (kind == work_kind::message) {
    packet.first = head.offset == 0;
    packet.last = head.offset + packet.payload == item.length;
    packet.is_inline = item.is_inline;
    packet.paged = item.paged || queue.invalidates;
    packet.sge_count = item.sge_count;
    packet.data_offset = item.data_offset();
    packet.message_offset = head.offset;
    packet.body = item.body;
  } else {
    packet.first = true;
    packet.last = true;
    // What of a READ was answered is not asked for again.
    packet.remote_address += head.offset;
    packet.dma_length -= head.offset;
    packet.swap_add = item.swap_add;
    packet.compare = item.compare;
  }
  packet.solicited = packet.last && sched_flags_of(item.fm_ce_se).solicited;
  if (queue.reliable) {
    packet.ack_request = packet.last || ++queue.since_ack_request >= ack_interval_;
    if (packet.ack_request) {
      queue.since_ack_request = 0;
    }
  }
  return packet;
}

/// NOP and LOCAL_INVAL: done when it is their turn; they complete when what is before them has.
tx_sched_rules::outcome tx_sched_rules::grant_local(cycle_t t, std::uint32_t qpn) {
  sched_queue& queue = queues_[qpn];
  held_work& head = queue.works.front();
  if (!ports_.sent.has_credit(t)) {
    ports_.sent.ask_credit(t);
    return block(t, qpn, sent_reason_);
  }
  if (head.item.opcode == static_cast<std::uint8_t>(wqe_opcode::LocalInvalidate)) {
    if (!ports_.invalidations.has_credit(t)) {
      ports_.invalidations.ask_credit(t);
      return block(t, qpn, invalidate_reason_);
    }
    key_invalidation invalidation;
    invalidation.index = head.item.imm >> MkeyVariantBits;
    ports_.invalidations.reserve(t, 1);
    invalidations.push({invalidation, t, t + 1});
    // What was parsed before its turn has come may have found the key good.
    queue.invalidates = true;
  }
  queue.begin();
  sent_packet note = note_of(queue, head, head.next.wait_until(context_, site(), t));
  note.no_packet = true;
  note.last = true;
  add_note(t, qpn, std::move(note));
  finish_work(t, qpn);
  return outcome::granted;
}

/// The head completes with an error of its own or is flushed, without a (further) packet.
tx_sched_rules::outcome tx_sched_rules::fail(cycle_t t, std::uint32_t qpn) {
  sched_queue& queue = queues_[qpn];
  held_work& head = queue.works.front();
  constexpr auto Flushed = static_cast<std::uint8_t>(cqe_syndrome::WrFlushed);
  // The first error is the WQE's own; the rest of the queue is flushed.
  const bool flushed = queue.error || queue.failed || queue.head_syndrome() == Flushed;
  queue.begin();
  sent_packet note = note_of(queue, head, head.next.wait_until(context_, site(), t));
  note.last = true;
  note.signaled = true;
  note.syndrome = flushed ? Flushed : head.item.syndrome;
  if (!flushed) {
    queue.failed = true;
    if (head.item.datagram() &&
        note.syndrome == static_cast<std::uint8_t>(cqe_syndrome::LocalLength)) {
      note.vendor_syndrome = static_cast<std::uint8_t>(vendor_syndrome::DatagramTooLong);
    }
  }
  add_note(t, qpn, std::move(note));
  queue.deficit = 0;
  finish_work(t, qpn);
  return outcome::granted;
}

void tx_sched_rules::finish_work(cycle_t t, std::uint32_t qpn) {
  sched_queue& queue = queues_[qpn];
  queue.works.pop();
  --works_;
  if (queue.flushing != 0) {
    --queue.flushing;
  }
  if (queue.counted()) {
    --held_;
  }
  if (queue.works.empty()) {
    queue.deficit = 0;
  } else {
    queue.works.front().next.waits_for(context_, site(), t, weight_reason_);
  }
}

}  // namespace carillon
