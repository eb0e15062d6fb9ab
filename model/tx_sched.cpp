#include "tx_sched.h"

#include <algorithm>
#include <array>
#include <utility>

#include "gen/contexts.h"
#include "gen/wire.h"
#include "gen/wqe.h"

namespace carillon {

namespace {

namespace spec = stage_spec::tx_sched;

constexpr std::uint32_t PsnMask = 0xffffff;

std::uint32_t mtu_bytes(std::uint8_t code) {
  return 128U << code;
}

/// What a packet costs its QP; one without payload is not free.
std::uint32_t charge(std::uint32_t payload) {
  return std::max(payload, 1U);
}

struct ctrl_flags {
  bool signaled = false;
  bool solicited = false;
};

ctrl_flags ctrl_flags_of(std::uint8_t fm_ce_se) {
  std::array<std::uint8_t, ctrl_seg::Size> raw{};
  raw[ctrl_seg::at::Ce] = fm_ce_se;
  const ctrl_seg control = ctrl_seg::unpack(raw.data());
  return {control.ce == completion_mode::Always || control.ce == completion_mode::AlwaysWithEvent,
          control.se != 0};
}

}  // namespace

tx_sched::tx_sched(const sc_core::sc_module_name& name, nic_shared& nic, const ports& connected)
    : stage(name, nic.context, "tx_sched"),
      nic_(nic),
      ports_(connected),
      queues_(std::size_t{1} << nic.context.params.nic.log_max_qp),
      quantum_(static_cast<std::uint32_t>(nic.context.params.wire.mtu)),
      order_reason_(nic.context.trace.intern("order")),
      weight_reason_(nic.context.trace.intern("weight")),
      payload_reason_(nic.context.trace.intern("credit:" + connected.payload.name())),
      direct_reason_(nic.context.trace.intern("credit:" + connected.direct.name())),
      overtake_reason_(nic.context.trace.intern("payload_order")),
      sent_reason_(nic.context.trace.intern("credit:" + connected.sent.name())),
      error_reason_(nic.context.trace.intern("credit:" + connected.errors.name())) {
  ports_.work.to(*this, site());
  ports_.acknowledges.to(*this, site());
  ports_.left.to(*this, site());
  ports_.commands.to(*this, site());
  ports_.payload.from(*this, site());
  ports_.direct.from(*this, site());
  ports_.sent.from(*this, site());
  ports_.errors.from(*this, site());
  watch(ports_.work,
        {blocker::condition("sched_slots", [this](cycle_t t) { return full_in_ == t; })});
  watch(ports_.acknowledges, {blocker::credit(ports_.direct)});
  watch(ports_.left, {});
  watch(ports_.commands, {});
}

void tx_sched::evaluate(cycle_t t) {
  take_command(t);
  if (ports_.left.takeable(t)) {
    --queues_[ports_.left.take(t).qpn].in_payload;
  }
  take_work(t);
  if (!grant_acknowledge(t)) {
    grant_request(t);
  }
}

void tx_sched::take_command(cycle_t t) {
  if (!ports_.commands.takeable(t)) {
    return;
  }
  const qp_command item = ports_.commands.take(t);
  queue_state& queue = queues_[item.qpn];
  switch (static_cast<qp_state>(item.state)) {
    case qp_state::Rts:
      queue.psn = item.send_psn & PsnMask;
      queue.since_ack_request = 0;
      queue.error = false;
      queue.reset = false;
      break;
    case qp_state::Err:
      queue.error = true;
      break;
    case qp_state::Reset:
      discard(item.qpn);
      break;
    default:
      break;
  }
}

void tx_sched::take_work(cycle_t t) {
  if (!ports_.work.takeable(t)) {
    return;
  }
  if (slots_full()) {
    full_in_ = t;  // a slot that a grant frees in this cycle serves from the next one on
    return;
  }
  const unsigned beats = ports_.work.front_beats();
  active_work work;
  work.item = ports_.work.take(t);
  if (work.item.drop || queues_[work.item.qpn].reset) {
    nic_.counters.add(counter::WqeDroppedState);
    return;
  }
  const cycle_t available = t + beats - 1;
  work.item.trace = context_.trace.service(work.item.trace, site(), time_of(t), time_of(available));
  work.available = available;
  queue_state& queue = queues_[work.item.qpn];
  work.next = {work.item.trace, available, queue.works.empty() ? weight_reason_ : order_reason_};
  const std::uint32_t qpn = work.item.qpn;
  queue.works.push_back(std::move(work));
  ++held_;
  if (!queue.active) {
    queue.active = true;
    queue.deficit = 0;
    round_.push_back(qpn);
  }
}

bool tx_sched::grant_acknowledge(cycle_t t) {
  if (!ports_.acknowledges.takeable(t)) {
    return false;
  }
  if (!ports_.direct.has_credit(t)) {
    ports_.direct.ask_credit(t);
    return false;
  }
  const response_item item = ports_.acknowledges.take(t);
  packet_item packet;
  packet.trace = item.trace;
  packet.source = packet_source::acknowledge;
  packet.order = order_++;
  packet.function = item.function;
  packet.qpn = item.qpn;
  packet.psn = item.psn;
  packet.syndrome = item.syndrome;
  packet.msn = item.msn;
  ports_.direct.push(t, spec::Latency, std::move(packet));
  if (!round_.empty()) {
    wake(t + 1);
  }
  return true;
}

bool tx_sched::grant_request(cycle_t t) {
  cycle_t next = NeverCycle;
  for (std::size_t i = 0; i < round_.size(); ++i) {
    const std::uint32_t qpn = round_[i];
    active_work& head = queues_[qpn].works.front();
    if (head.available > t) {
      next = std::min(next, head.available);
      continue;
    }
    if (try_grant(t, qpn) == outcome::blocked) {
      continue;
    }
    // The QPs before it could not move; they keep their turn.
    queue_state& queue = queues_[qpn];
    const auto place = round_.begin() + static_cast<std::ptrdiff_t>(i);
    if (queue.works.empty()) {
      queue.active = false;
      round_.erase(place);
    } else if (ends_turn(queue)) {
      round_.erase(place);
      round_.push_back(qpn);
    }
    if (!round_.empty()) {
      wake(t + 1);
    }
    if (full_in_ == t && !slots_full()) {
      wake(t + 1);
    }
    return true;
  }
  if (next != NeverCycle) {
    wake(next);
  }
  return false;
}

tx_sched::outcome tx_sched::try_grant(cycle_t t, std::uint32_t qpn) {
  queue_state& queue = queues_[qpn];
  active_work& head = queue.works.front();
  work_item& item = head.item;
  if (queue.error || item.syndrome != 0) {
    return fail(t, qpn);
  }
  const std::uint32_t mtu = mtu_bytes(item.mtu_code);
  const std::uint32_t bytes = std::min(item.length - head.offset, mtu);
  const bool first = head.offset == 0;
  const bool last = head.offset + bytes == item.length;
  const bool fetched = bytes != 0 && !item.is_inline;
  stream<packet_item>& output = fetched ? ports_.payload : ports_.direct;
  if (!fetched && queue.in_payload != 0) {
    return block(t, qpn, overtake_reason_);
  }
  if (!output.has_credit(t)) {
    output.ask_credit(t);
    return block(t, qpn, fetched ? payload_reason_ : direct_reason_);
  }
  if (last && !ports_.sent.has_credit(t)) {
    ports_.sent.ask_credit(t);
    return block(t, qpn, sent_reason_);
  }
  packet_item packet;
  packet.trace = head.next.wait_until(context_, site(), t);
  packet.order = order_++;
  packet.function = item.function;
  packet.qpn = qpn;
  packet.wqe_opcode = item.opcode;
  packet.service = item.service;
  packet.psn = queue.psn;
  packet.payload = bytes;
  packet.first = first;
  packet.last = last;
  packet.remote_address = item.remote_address;
  packet.rkey = item.rkey;
  packet.dma_length = item.length;
  packet.imm = item.imm;
  packet.is_inline = item.is_inline;
  packet.sge_count = item.sge_count;
  packet.message_offset = head.offset;
  packet.body = item.body;
  const ctrl_flags flags = ctrl_flags_of(item.fm_ce_se);
  packet.solicited = last && flags.solicited;
  const auto interval = static_cast<std::uint32_t>(context_.params.nic.ack_req_interval);
  packet.ack_request = last || ++queue.since_ack_request >= interval;
  if (packet.ack_request) {
    queue.since_ack_request = 0;
  }
  const trace_ref granted = packet.trace;
  output.push(t, spec::Latency, std::move(packet));
  if (fetched) {
    ++queue.in_payload;
  }
  nic_.counters.add(counter::TxGrants);
  if (last) {
    sent_packet note;
    note.trace = granted;
    note.qpn = qpn;
    note.psn = queue.psn;
    note.last = true;
    note.wqe_index = item.wqe_index;
    note.wqebbs = item.wqebbs;
    note.opcode = item.opcode;
    note.signaled = flags.signaled;
    note.length = item.length;
    note.send_cqn = item.send_cqn;
    note.function = item.function;
    ports_.sent.push(t, spec::Latency, note);
  }
  queue.psn = (queue.psn + 1) & PsnMask;
  head.offset += bytes;
  // Deficit round robin: a turn begins with a quantum on top of what is left of the last one. The
  // quantum is the same for all QPs, so they share bytes, not packets, whatever their MTU.
  const std::uint32_t charged = charge(bytes);
  if (queue.deficit < charged) {
    queue.deficit += std::max(quantum_, mtu);
  }
  queue.deficit -= charged;
  if (last) {
    finish_work(t, qpn);
  } else {
    // The next packet of the message waited for those before it, now for its turn.
    head.next = {item.trace, head.available, order_reason_};
    head.next.waits_for(context_, site(), t, weight_reason_);
  }
  return outcome::granted;
}

tx_sched::outcome tx_sched::block(cycle_t t, std::uint32_t qpn, name_id reason) {
  queues_[qpn].works.front().next.waits_for(context_, site(), t, reason);
  return outcome::blocked;
}

bool tx_sched::ends_turn(const queue_state& queue) const {
  const active_work& head = queue.works.front();
  return queue.deficit <
         charge(std::min(head.item.length - head.offset, mtu_bytes(head.item.mtu_code)));
}

tx_sched::outcome tx_sched::fail(cycle_t t, std::uint32_t qpn) {
  queue_state& queue = queues_[qpn];
  active_work& head = queue.works.front();
  if (!ports_.sent.has_credit(t)) {
    ports_.sent.ask_credit(t);
    return block(t, qpn, sent_reason_);
  }
  if (!queue.error && !ports_.errors.has_credit(t)) {
    ports_.errors.ask_credit(t);
    return block(t, qpn, error_reason_);
  }
  const work_item& item = head.item;
  sent_packet note;
  note.trace = head.next.wait_until(context_, site(), t);
  note.qpn = qpn;
  note.psn = queue.psn;
  note.last = true;
  note.wqe_index = item.wqe_index;
  note.wqebbs = item.wqebbs;
  note.opcode = item.opcode;
  note.signaled = true;
  // The first error is the WQE's own; the rest of the queue is flushed.
  note.syndrome = queue.error ? static_cast<std::uint8_t>(cqe_syndrome::WrFlushed) : item.syndrome;
  note.length = item.length;
  note.send_cqn = item.send_cqn;
  note.function = item.function;
  if (queue.error) {
    nic_.counters.add(counter::WqeFlushed);
  } else {
    qp_error error;
    error.qpn = qpn;
    ports_.errors.push(t, 1, error);
    if (item.syndrome == static_cast<std::uint8_t>(cqe_syndrome::LocalProtection)) {
      nic_.counters.add(counter::LocalProtectionErrors);
    }
    queue.error = true;
  }
  ports_.sent.push(t, spec::Latency, note);
  queue.deficit = 0;
  finish_work(t, qpn);
  return outcome::granted;
}

void tx_sched::finish_work(cycle_t t, std::uint32_t qpn) {
  queue_state& queue = queues_[qpn];
  queue.works.pop_front();
  --held_;
  if (queue.works.empty()) {
    queue.deficit = 0;
  } else {
    queue.works.front().next.waits_for(context_, site(), t, weight_reason_);
  }
}

void tx_sched::discard(std::uint32_t qpn) {
  queue_state& queue = queues_[qpn];
  nic_.counters.add(counter::WqeDroppedState, queue.works.size());
  held_ -= static_cast<unsigned>(queue.works.size());
  queue.works.clear();
  queue.error = false;
  queue.reset = true;
  queue.deficit = 0;
  if (queue.active) {
    queue.active = false;
    round_.erase(std::find(round_.begin(), round_.end(), qpn));
  }
}

}  // namespace carillon
