// tx_sched: the round over the send queues.
#include <algorithm>
#include <array>
#include <utility>

#include "common/psn.h"
#include "gen/contexts.h"
#include "gen/wqe.h"
#include "tx_sched.h"

namespace carillon {

namespace {

namespace spec = stage_spec::tx_sched;

/// What a packet costs its QP; one without payload is not free.
std::uint32_t charge(std::uint32_t payload) {
  return std::max(payload, 1U);
}

struct ctrl_flags {
  bool signaled = false;
  bool event = false;
  bool solicited = false;
};

ctrl_flags ctrl_flags_of(std::uint8_t fm_ce_se) {
  std::array<std::uint8_t, ctrl_seg::Size> raw{};
  raw[ctrl_seg::at::Ce] = fm_ce_se;
  const ctrl_seg control = ctrl_seg::unpack(raw.data());
  const bool event = control.ce == completion_mode::AlwaysWithEvent;
  return {event || control.ce == completion_mode::Always, event, control.se != 0};
}

}  // namespace

// The round ----

/// The QP has work that may have become grantable.
void tx_sched::enter_round(cycle_t t, std::uint32_t qpn) {
  sched_queue& queue = queues_[qpn];
  if (queue.parked && !queue.works.empty()) {
    queue.works.front().next.waits_for(context_, site(), t, weight_reason_);
    held_ += queue.draining ? 0 : static_cast<unsigned>(queue.works.size());
  }
  queue.parked = false;
  if (!queue.active && !queue.works.empty()) {
    queue.active = true;
    requests_.push(senders_[queue.function].requests, qpn);
    enter(t, queue.function);
  }
}

void tx_sched::leave_round(std::uint32_t qpn) {
  sched_queue& queue = queues_[qpn];
  if (queue.active) {
    queue.active = false;
    requests_.erase(senders_[queue.function].requests, qpn);
    leave_if_done(queue.function);
  }
}

/// Bytes on the wire; -1 if none of the function's QPs can send.
std::int64_t tx_sched::grant_request(cycle_t t, sender& from) {
  std::uint32_t behind = NoNumber;
  for (std::uint32_t qpn = from.requests.first; qpn != NoNumber; qpn = behind) {
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
    if (result == outcome::parked) {
      queue.active = false;
      queue.parked = true;
      held_ -= queue.draining ? 0 : static_cast<unsigned>(queue.works.size());
      requests_.erase(from.requests, qpn);
      continue;
    }
    // The QPs before it could not move; they keep their turn.
    if (queue.works.empty()) {
      queue.active = false;
      requests_.erase(from.requests, qpn);
    } else if (ends_turn(queue)) {
      requests_.erase(from.requests, qpn);
      requests_.push(from.requests, qpn);
    }
    return sent_bytes_;
  }
  return -1;
}

bool tx_sched::ends_turn(const sched_queue& queue) const {
  return queue.deficit < charge(queue.works.front().next_bytes());
}

tx_sched::outcome tx_sched::block(cycle_t t, std::uint32_t qpn, name_id reason) {
  queues_[qpn].works.front().next.waits_for(context_, site(), t, reason);
  return outcome::blocked;
}

// One grant ----

tx_sched::outcome tx_sched::try_grant(cycle_t t, std::uint32_t qpn) {
  sched_queue& queue = queues_[qpn];
  held_work& head = queue.works.front();
  if (queue.error || queue.failed) {
    return fail(t, qpn);
  }
  const sched_hold hold = queue.hold(window_);
  if (head.item.syndrome != 0 && hold != sched_hold::drain) {
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
  begin(queue, head);
  const trace_ref granted = head.next.wait_until(context_, site(), t);
  packet_item packet = packet_of(queue, head, granted);
  const bool last = packet.last;
  sent_packet note = note_of(queue, head, granted);
  note.last = last;
  note.ack_request = packet.ack_request;
  sent_bytes_ = cost_of(packet);
  output.push(t, spec::Latency, std::move(packet));
  if (fetched) {
    ++queue.to_payload;
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

void tx_sched::begin(sched_queue& queue, held_work& head) {
  if (head.begun) {
    return;
  }
  head.begun = true;
  head.first_psn = (queue.psn - head.offset / head.mtu) & PsnMask;
  const auto behind = static_cast<std::uint16_t>(head.item.wqe_index + head.item.wqebbs);
  if (static_cast<std::int16_t>(behind - queue.begun_to) > 0) {
    queue.begun_to = behind;
  }
}

packet_item tx_sched::packet_of(sched_queue& queue, const held_work& head, trace_ref history) {
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
  packet.solicited = packet.last && ctrl_flags_of(item.fm_ce_se).solicited;
  if (queue.reliable) {
    // At least twice in a window, or a long message would wait for a timeout.
    const auto interval = std::min(static_cast<std::uint32_t>(context_.params.nic.ack_req_interval),
                                   std::max(1U, window_ / 2));
    packet.ack_request = packet.last || ++queue.since_ack_request >= interval;
    if (packet.ack_request) {
      queue.since_ack_request = 0;
    }
  }
  return packet;
}

/// NOP and LOCAL_INVAL: done when it is their turn; they complete when what is before them has.
tx_sched::outcome tx_sched::grant_local(cycle_t t, std::uint32_t qpn) {
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
    ports_.invalidations.push(t, 1, invalidation);
    // What was parsed before its turn has come may have found the key good.
    queue.invalidates = true;
  }
  begin(queue, head);
  sent_packet note = note_of(queue, head, head.next.wait_until(context_, site(), t));
  note.no_packet = true;
  note.last = true;
  add_note(t, qpn, std::move(note));
  finish_work(t, qpn);
  return outcome::granted;
}

/// The head completes with an error of its own or is flushed, without a (further) packet.
tx_sched::outcome tx_sched::fail(cycle_t t, std::uint32_t qpn) {
  sched_queue& queue = queues_[qpn];
  held_work& head = queue.works.front();
  constexpr auto Flushed = static_cast<std::uint8_t>(cqe_syndrome::WrFlushed);
  // The first error is the WQE's own; the rest of the queue is flushed.
  const bool flushed = queue.error || queue.failed || head.item.syndrome == Flushed;
  begin(queue, head);
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

void tx_sched::finish_work(cycle_t t, std::uint32_t qpn) {
  sched_queue& queue = queues_[qpn];
  queue.works.pop();
  if (queue.counted()) {
    --held_;
  }
  if (queue.works.empty()) {
    queue.deficit = 0;
  } else {
    queue.works.front().next.waits_for(context_, site(), t, weight_reason_);
  }
  if (queue.mark_wanted) {
    wake(t + 1);
  }
}

// Notes ----

sent_packet tx_sched::note_of(const sched_queue& queue, const held_work& head,
                              trace_ref history) const {
  const work_item& item = head.item;
  const ctrl_flags flags = ctrl_flags_of(item.fm_ce_se);
  sent_packet note;
  note.trace = history;
  note.qpn = item.qpn;
  note.epoch = queue.epoch;
  note.psn = queue.psn;
  note.first_psn = head.first_psn;
  switch (head.kind()) {
    case work_kind::message:
    case work_kind::read:
      note.last_psn = psn_add(head.first_psn, packets_of(item.length, head.mtu) - 1);
      break;
    case work_kind::atomic:
    case work_kind::local:
      note.last_psn = head.first_psn;
      break;
  }
  note.wqe_index = item.wqe_index;
  note.wqebbs = item.wqebbs;
  note.opcode = item.opcode;
  note.service = item.service;
  note.mtu_code = item.mtu_code;
  note.signaled = flags.signaled;
  note.solicited_event = flags.event;
  note.length = item.length;
  note.send_cqn = item.send_cqn;
  note.function = item.function;
  if (head.kind() == work_kind::read || head.kind() == work_kind::atomic) {
    note.paged = item.paged || queue.invalidates;
    note.sge_count = item.sge_count;
    note.body = item.body;
  }
  return note;
}

/// The requester hears of it when the data of all packets so far has been read from memory, and
/// after what waits to be told before.
void tx_sched::add_note(cycle_t t, std::uint32_t qpn, sent_packet note) {
  sched_queue& queue = queues_[qpn];
  const std::uint32_t after = queue.reliable ? queue.left_payload : queue.to_payload;
  if (queue.notes.empty() && queue.passed(after) && ports_.sent.has_credit(t)) {
    push_note(t, std::move(note));
    return;
  }
  const held_history history(note.trace, t, data_reason_);
  queue.notes.push({std::move(note), after, history});
  if (!queue.noting && queue.passed(queue.notes.front().after)) {
    queue.noting = true;
    noting_.push(qpn);
    wake(t + 1);
  }
}

/// One held note a cycle.
void tx_sched::send_notes(cycle_t t) {
  while (!noting_.empty()) {
    sched_queue& queue = queues_[noting_.front()];
    if (queue.notes.empty() || !queue.passed(queue.notes.front().after)) {
      queue.noting = false;
      noting_.pop();
      continue;
    }
    if (!ports_.sent.has_credit(t)) {
      queue.notes.front().history.waits_for(context_, site(), t, sent_reason_);
      ports_.sent.ask_credit(t);
      return;
    }
    held_note told = queue.notes.pop();
    told.note.trace = told.history.wait_until(context_, site(), t);
    push_note(t, std::move(told.note));
    wake(t + 1);
    return;
  }
}

void tx_sched::push_note(cycle_t t, sent_packet note) {
  // A held note may have left in the same cycle.
  const cycle_t visible = std::max<cycle_t>(t + spec::Latency, ports_.sent.port_free());
  ports_.sent.push(t, static_cast<unsigned>(visible - t), std::move(note));
}

/// In SQD: tells the requester when every WQE that has begun has been told of.
void tx_sched::mark_drained(cycle_t t) {
  for (std::size_t left = draining_.size(); left != 0; --left) {
    const std::uint32_t qpn = draining_.pop();
    sched_queue& queue = queues_[qpn];
    if (!queue.mark_wanted) {
      continue;
    }
    const bool begun = !queue.works.empty() && queue.works.front().begun;
    if (begun || !queue.notes.empty() || !ports_.sent.has_credit(t)) {
      if (!ports_.sent.has_credit(t)) {
        ports_.sent.ask_credit(t);
      }
      draining_.push(qpn);
      continue;
    }
    queue.mark_wanted = false;
    sent_packet mark;
    mark.qpn = qpn;
    mark.epoch = queue.epoch;
    mark.drain_mark = true;
    mark.wqe_index = queue.begun_to;
    push_note(t, mark);
  }
}

}  // namespace carillon
