#include "tx_sched.h"

#include <algorithm>
#include <utility>

#include "common/packet_opcode.h"
#include "common/psn.h"
#include "gen/contexts.h"
#include "gen/wire.h"
#include "gen/wqe.h"

namespace carillon {

namespace {

std::uint32_t mtu_of(const work_item& item, std::uint32_t port_mtu) {
  // A UD queue needs no path MTU of its own.
  return item.datagram() && item.mtu_code == 0 ? port_mtu : 128U << item.mtu_code;
}

cqe_syndrome syndrome_of(dma_status status) {
  const bool refused =
      status == dma_status::unsupported_request || status == dma_status::completer_abort;
  return refused ? cqe_syndrome::LocalProtection : cqe_syndrome::LocalQpOperation;
}

/// The note is about the packet of that PSN, among others.
bool covers(const sent_packet& note, std::uint32_t psn) {
  return !note.no_packet &&
         psn_distance(note.first_psn, psn) <= psn_distance(note.first_psn, note.psn);
}

}  // namespace

tx_sched::tx_sched(const sc_core::sc_module_name& name, nic_shared& nic, const ports& connected)
    : stage(name, nic.context, "tx_sched"),
      nic_(nic),
      ports_(connected),
      queues_(std::size_t{1} << nic.context.params.nic.log_max_qp),
      responses_(queues_.size()),
      functions_(connected.vports.read(0),
                 longest_wire_bytes(static_cast<std::uint32_t>(nic.context.params.wire.mtu)),
                 nic.context.clock.period()),
      senders_(functions_.size()),
      requests_(queues_.size()),
      reads_(queues_.size()),
      quantum_(static_cast<std::uint32_t>(nic.context.params.wire.mtu)),
      window_(static_cast<std::uint32_t>(nic.context.params.nic.send_window)),
      order_reason_(nic.context.trace.intern("order")),
      weight_reason_(nic.context.trace.intern("weight")),
      rate_reason_(nic.context.trace.intern("rate")),
      payload_reason_(nic.context.trace.intern("credit:" + connected.payload.name())),
      direct_reason_(nic.context.trace.intern("credit:" + connected.direct.name())),
      overtake_reason_(nic.context.trace.intern("payload_order")),
      sent_reason_(nic.context.trace.intern("credit:" + connected.sent.name())),
      invalidate_reason_(nic.context.trace.intern("credit:" + connected.invalidations.name())),
      data_reason_(nic.context.trace.intern("payload_read")) {
  const auto name_hold = [this](sched_hold hold, std::string_view reason) {
    hold_reasons_[static_cast<std::size_t>(hold)] = context_.trace.intern(reason);
  };
  name_hold(sched_hold::drain, "sq_drain");
  name_hold(sched_hold::fence, "fence");
  name_hold(sched_hold::max_rd_atomic, "max_rd_atomic");
  name_hold(sched_hold::window, "window");
  ports_.work.to(*this, site());
  ports_.acknowledges.to(*this, site());
  ports_.left.to(*this, site());
  ports_.commands.to(*this, site());
  ports_.controls.to(*this, site());
  ports_.payload.from(*this, site());
  ports_.direct.from(*this, site());
  ports_.sent.from(*this, site());
  ports_.refetches.from(*this, site());
  ports_.invalidations.from(*this, site());
  ports_.failures.from(*this, site());
  ports_.answered.from(*this, site());
  ports_.vports.wakes(*this);
  watch(ports_.work,
        {blocker::condition("sched_slots", [this](cycle_t t) { return full_in_ == t; })});
  watch(ports_.acknowledges, {});
  watch(ports_.left, {});
  watch(ports_.commands, {});
  watch(ports_.controls, {blocker::credit(ports_.refetches)});
}

void tx_sched::evaluate(cycle_t t) {
  look_at_vports(t);
  take_command(t);
  take_control(t);
  take_left(t);
  take_work(t);
  take_response(t);
  mark_drained(t);
  send_notes(t);
  report_failures(t);
  let_in(t);
  const bool granted = grant_control(t) || grant_function(t);
  if (granted && anything_waits()) {
    wake(t + 1);
  }
  report_answered(t);
  if (functions_.opens() != NeverCycle) {
    wake(functions_.opens());
  }
  if (full_in_ == t && !slots_full()) {
    wake(t + 1);
  }
}

// Commands ----

void tx_sched::take_command(cycle_t t) {
  if (!ports_.commands.takeable(t)) {
    return;
  }
  const qp_command item = ports_.commands.take(t);
  sched_queue& queue = queues_[item.qpn];
  const auto works = static_cast<unsigned>(queue.works.size());
  queue.ipv6 = item.ipv6;
  queue.tagged = item.tagged;
  switch (static_cast<qp_state>(item.state)) {
    case qp_state::Rts:
      if (queue.draining) {
        queue.draining = false;
        queue.mark_wanted = false;
        held_ += queue.parked ? 0 : works;
      }
      start(queue, item);
      break;
    case qp_state::Sqd:
      if (!queue.draining) {
        queue.draining = true;
        queue.mark_wanted = true;
        held_ -= queue.parked ? 0 : works;
        draining_.push(item.qpn);
      }
      break;
    case qp_state::Err:
      queue.error = true;
      queue.reset = false;  // what comes is flushed, not dropped
      break;
    case qp_state::Reset:
      discard(item.qpn);
      return;
    case qp_state::Rtr:
      queue.reset = false;  // it does not send yet, but it answers
      return;
    default:
      return;
  }
  enter_round(t, item.qpn);
}

void tx_sched::start(sched_queue& queue, const qp_command& item) {
  queue.max_reads = 1U << qpc_requester::unpack(item.requester.data()).log_sra_max;
  queue.reliable = item.service == static_cast<std::uint8_t>(qp_service::Rc);
  queue.reset = false;
  if (!queue.ready) {
    queue.ready = true;
    queue.psn = item.send_psn & PsnMask;
    queue.acked = queue.psn;
    queue.reads = 0;
    queue.since_ack_request = 0;
    queue.begun_to = 0;
    queue.resume = false;
  } else if (queue.reliable) {
    return;  // only a reset ends an error
  } else if (queue.error || queue.failed) {
    // From SQER: what was posted before goes its way, flushed.
    for (std::size_t i = 0; i < queue.works.size(); ++i) {
      queue.works[i].item.syndrome = static_cast<std::uint8_t>(cqe_syndrome::WrFlushed);
    }
  }
  queue.error = false;
  queue.failed = false;
}

void tx_sched::discard(std::uint32_t qpn) {
  sched_queue& queue = queues_[qpn];
  nic_.counters.add(counter::WqeDroppedState, queue.works.size());
  if (queue.counted()) {
    held_ -= static_cast<unsigned>(queue.works.size());
  }
  queue.works.clear();
  queue.notes.clear();
  queue.epoch = first_epoch(++queue.lives);
  leave_round(qpn);
  queue.parked = false;
  queue.error = false;
  queue.failed = false;
  queue.draining = false;
  queue.mark_wanted = false;
  queue.resume = false;
  queue.invalidates = false;
  queue.ready = false;
  queue.reset = true;
  queue.deficit = 0;
  queue.stale_in_payload = queue.to_payload;
  forget_responses(qpn);
}

// The requester's controls ----

void tx_sched::take_control(cycle_t t) {
  if (!ports_.controls.takeable(t)) {
    return;
  }
  if (!ports_.refetches.has_credit(t)) {
    ports_.refetches.ask_credit(t);
    return;
  }
  const send_control item = ports_.controls.take(t);
  sched_queue& queue = queues_[item.qpn];
  if (queue.reset) {
    return;  // was on its way
  }
  switch (item.kind) {
    case send_control_kind::progress:
      queue.acked = item.psn;
      queue.reads -= std::min<std::uint32_t>(queue.reads, item.reads_done);
      break;
    case send_control_kind::halt:
      queue.epoch = item.epoch;
      drop_stale(t, item.qpn);
      return;
    case send_control_kind::restart: {
      queue.epoch = item.epoch;
      drop_stale(t, item.qpn);
      queue.failed = false;
      queue.psn = item.psn;
      queue.acked = item.psn;
      queue.reads = 0;
      queue.since_ack_request = 0;
      queue.stale_in_payload = queue.to_payload;
      queue.resume = true;
      queue.resume_skip = item.skip;
      queue.resume_index = item.wqe_index;
      refetch again;
      again.qpn = item.qpn;
      again.epoch = item.epoch;
      again.wqe_index = item.wqe_index;
      ports_.refetches.push(t, 1, again);
      return;
    }
    case send_control_kind::error:
      queue.error = true;
      break;
  }
  enter_round(t, item.qpn);
}

/// All work requests held are of an older epoch.
void tx_sched::drop_stale(cycle_t t, std::uint32_t qpn) {
  sched_queue& queue = queues_[qpn];
  nic_.counters.add(counter::TxStaleWork, queue.works.size());
  for (std::size_t i = 0; i < queue.works.size(); ++i) {
    held_work& each = queue.works[i];
    nic_.posted.post(qpn, each.item.wqe_index, each.next.wait_until(context_, site(), t),
                     time_of(t));
  }
  if (queue.counted()) {
    held_ -= static_cast<unsigned>(queue.works.size());
  }
  queue.works.clear();
  queue.notes.clear();  // of the same dead epoch
  queue.deficit = 0;
  leave_round(qpn);
  queue.parked = false;
}

// Packets that leave payload_dma ----

void tx_sched::take_left(cycle_t t) {
  if (!ports_.left.takeable(t)) {
    return;
  }
  const payload_left item = ports_.left.take(t);
  const bool failed = item.status != dma_status::ok;
  if (item.response) {
    sched_responses& responses = responses_[item.qpn];
    const bool stale = responses.stale();
    std::uint8_t generation = 0;
    if (responses.left_payload(generation)) {
      answered_.push({{}, item.qpn, generation});
    }
    if (failed && !stale) {
      responses.fail(item.psn);
      failures_.push({{}, item.qpn, item.psn});
    }
    line_up(t, item.qpn);
    return;
  }
  sched_queue& queue = queues_[item.qpn];
  const bool stale = static_cast<std::int32_t>(queue.stale_in_payload - queue.left_payload) > 0;
  ++queue.left_payload;
  if (failed && !stale) {
    payload_failed(t, item);
  }
  if (!queue.noting && !queue.notes.empty() && queue.passed(queue.notes.front().after)) {
    queue.noting = true;
    noting_.push(item.qpn);
  }
}

/// The requester completes the packet's WQE with an error; nothing more of the QP is sent. The
/// peer never gets the packet, so nothing behind it can be acknowledged.
void tx_sched::payload_failed(cycle_t t, const payload_left& item) {
  sched_queue& queue = queues_[item.qpn];
  queue.failed = true;
  const auto syndrome = static_cast<std::uint8_t>(syndrome_of(item.status));
  const auto vendor = static_cast<std::uint8_t>(vendor_syndrome::PayloadRead);
  // Of UC and UD the requester has not heard of the WQE yet.
  for (std::size_t i = 0; i < queue.notes.size(); ++i) {
    sent_packet& note = queue.notes[i].note;
    if (covers(note, item.psn)) {
      if (note.syndrome == 0) {
        note.syndrome = syndrome;
        note.vendor_syndrome = vendor;
      }
      enter_round(t, item.qpn);
      return;
    }
  }
  sent_packet note;
  const bool in_head = !queue.works.empty() && queue.works.front().begun &&
                       !psn_before(item.psn, queue.works.front().first_psn);
  if (!in_head && !queue.reliable) {
    return;  // a further packet of a WQE that has failed
  }
  if (in_head) {
    held_work& head = queue.works.front();
    note = note_of(queue, head, head.next.wait_until(context_, site(), t));
    finish_work(t, item.qpn);
    if (queue.works.empty()) {
      leave_round(item.qpn);
      queue.parked = false;
    }
  }
  note.qpn = item.qpn;
  note.epoch = queue.epoch;
  note.psn = item.psn;
  note.last = true;
  note.syndrome = syndrome;
  note.vendor_syndrome = vendor;
  add_note(t, item.qpn, note);
  enter_round(t, item.qpn);
}

// Work requests ----

void tx_sched::take_work(cycle_t t) {
  if (!ports_.work.takeable(t)) {
    return;
  }
  if (slots_full()) {
    full_in_ = t;  // a slot that a grant frees in this cycle serves from the next one on
    return;
  }
  const unsigned beats = ports_.work.front_beats();
  held_work work;
  work.item = ports_.work.take(t);
  const std::uint32_t qpn = work.item.qpn;
  sched_queue& queue = queues_[qpn];
  if (work.item.drop || queue.reset) {
    nic_.counters.add(counter::WqeDroppedState);
    return;
  }
  if (work.item.epoch != queue.epoch) {
    nic_.counters.add(counter::TxStaleWork);
    nic_.posted.post(qpn, work.item.wqe_index, work.item.trace, time_of(t));
    return;
  }
  if (queue.works.empty()) {
    CARILLON_CHECK(work.item.function < senders_.size(), "{}: work of function {} in cycle {}",
                   path(), work.item.function, t);
    queue.function = work.item.function;
  }
  queue.reliable = work.item.service == static_cast<std::uint8_t>(qp_service::Rc);
  const cycle_t available = t + beats - 1;
  work.item.trace = context_.trace.service(work.item.trace, site(), time_of(t), time_of(available));
  work.available = available;
  work.mtu = mtu_of(work.item, quantum_);
  if (queue.resume) {
    CARILLON_CHECK(work.item.wqe_index == queue.resume_index,
                   "{}: QP {} goes on with WQE {} and not {} in cycle {}", path(), qpn,
                   work.item.wqe_index, queue.resume_index, t);
    queue.resume = false;
    work.offset = queue.resume_skip * work.mtu;
  }
  if (work.item.datagram() && work.item.length > work.mtu && work.item.syndrome == 0) {
    work.item.syndrome = static_cast<std::uint8_t>(cqe_syndrome::LocalLength);
  }
  work.next = {work.item.trace, available, queue.works.empty() ? weight_reason_ : order_reason_};
  queue.works.push(std::move(work));
  if (queue.counted()) {
    ++held_;
  }
  if (!queue.active && !queue.parked) {
    queue.deficit = 0;
    enter_round(t, qpn);
  }
}

}  // namespace carillon
