#include "tx_sched/tx_sched_rules.h"

#include <utility>

#include "common/packet_opcode.h"
#include "common/psn.h"
#include "gen/contexts.h"
#include "gen/wire.h"
#include "gen/wqe.h"

namespace carillon {

namespace {

namespace spec = stage_spec::tx_sched;

std::uint32_t mtu_of(const work_item& item, std::uint32_t port_mtu) {
  // A UD queue needs no path MTU of its own.
  return item.datagram() && item.mtu_code == 0 ? port_mtu : 128U << item.mtu_code;
}

cqe_syndrome syndrome_of(dma_status status) {
  const bool refused =
      status == dma_status::unsupported_request || status == dma_status::completer_abort;
  return refused ? cqe_syndrome::LocalProtection : cqe_syndrome::LocalQpOperation;
}

/// The note is about the packet of that PSN, among others. That of a WQE that failed before it had
/// another packet names a PSN that none of its packets has.
bool covers(const sent_packet& note, std::uint32_t psn) {
  const std::uint32_t behind = psn_distance(note.first_psn, note.psn);
  const bool sent = note.syndrome == 0 ||
                    note.vendor_syndrome == static_cast<std::uint8_t>(vendor_syndrome::PayloadRead);
  return !note.no_packet && psn_distance(note.first_psn, psn) < behind + (sent ? 1 : 0);
}

}  // namespace

tx_sched_rules::tx_sched_rules(nic_shared& nic, trace_site site, const tx_sched_ports& io)
    : nic_(nic),
      context_(nic.context),
      site_(site),
      ports_(io),
      queues_(std::size_t{1} << nic.context.params.nic.log_max_qp),
      responses_(queues_.size()),
      functions_(shares_of(io.vports.read(0)),
                 longest_wire_bytes(static_cast<std::uint32_t>(nic.context.params.wire.mtu)),
                 nic.context.clock.period()),
      rates_(longest_wire_bytes(static_cast<std::uint32_t>(nic.context.params.wire.mtu)),
             nic.context.clock.period()),
      requests_(functions_.size(), queues_.size(), spec::Places),
      reads_(functions_.size(), queues_.size(), spec::Places),
      shares_(shares_of(io.vports.read(0))),
      quantum_(static_cast<std::uint32_t>(nic.context.params.wire.mtu)),
      window_(static_cast<std::uint32_t>(nic.context.params.nic.send_window)),
      // At least twice in a window, or a long message would wait for a timeout.
      ack_interval_(std::min(static_cast<std::uint32_t>(nic.context.params.nic.ack_req_interval),
                             std::max(1U, window_ / 2))),
      order_reason_(nic.context.trace.intern("order")),
      weight_reason_(nic.context.trace.intern("weight")),
      rate_reason_(nic.context.trace.intern("rate")),
      payload_reason_(nic.context.trace.intern("credit:" + io.payload.name())),
      direct_reason_(nic.context.trace.intern("credit:" + io.direct.name())),
      overtake_reason_(nic.context.trace.intern("payload_order")),
      sent_reason_(nic.context.trace.intern("credit:" + io.sent.name())),
      invalidate_reason_(nic.context.trace.intern("credit:" + io.invalidations.name())),
      answered_reason_(nic.context.trace.intern("credit:" + io.answered.name())),
      data_reason_(nic.context.trace.intern("payload_read")),
      pause_reason_(nic.context.trace.intern("pause")) {
  const auto name_hold = [this](sched_hold hold, std::string_view reason) {
    hold_reasons_[static_cast<std::size_t>(hold)] = context_.trace.intern(reason);
  };
  name_hold(sched_hold::drain, "sq_drain");
  name_hold(sched_hold::fence, "fence");
  name_hold(sched_hold::max_rd_atomic, "max_rd_atomic");
  name_hold(sched_hold::window, "window");
  ports_.work.tap(&work_);
  ports_.acknowledges.tap(&response_);
  ports_.left.tap(&left_);
  ports_.commands.tap(&command_);
  ports_.controls.tap(&control_);
  if (ports_.limits != nullptr) {
    ports_.limits->tap(&limit_);
  }
}

std::vector<twin_rules::wait_list> tx_sched_rules::waits() {
  std::vector<wait_list> lists = {
      {&ports_.work,
       {blocker::condition("sched_slots", [this](cycle_t t) { return slots_full(t); })}},
      {&ports_.acknowledges,
       {blocker::condition("responses", [this](cycle_t t) { return responses_full(t); })}},
      {&ports_.left, {}},
      {&ports_.commands, {}},
      {&ports_.controls, {blocker::credit(ports_.refetches)}},
  };
  if (ports_.limits != nullptr) {
    lists.push_back(
        {ports_.limits, {blocker::condition("cnps", [this](cycle_t t) { return cnps_full(t); })}});
  }
  return lists;
}

twin_rules::departure tx_sched_rules::departs(unsigned port, cycle_t visible) {
  const auto leave = [&](auto& queue) {
    CARILLON_CHECK(!queue.empty() && queue.front().visible == visible,
                   "{}: an item visible in cycle {}, but {}", ports_.all()[port]->name(), visible,
                   queue.empty() ? std::string("nothing is due")
                                 : fmt::format("one is due in {}", queue.front().visible));
    const auto gone = queue.pop();
    return departure{gone.item.trace, gone.pushed};
  };
  switch (port) {
    case tx_sched_ports::Payload:
      return leave(payload);
    case tx_sched_ports::Direct:
      return leave(direct);
    case tx_sched_ports::Sent:
      return leave(sent);
    case tx_sched_ports::Refetches:
      return leave(refetches);
    case tx_sched_ports::Invalidations:
      return leave(invalidations);
    case tx_sched_ports::Failures:
      return leave(failures);
    case tx_sched_ports::Charges:
      return leave(charges);
    default:
      return leave(answered);
  }
}

void tx_sched_rules::settle(cycle_t t) {
  settled_ = t;
  next_ = NeverCycle;
  slots_were_full_ = slots_full();
  responses_were_full_ = responses_full();
  cnps_were_full_ = cnps_full();
  look_at_vports(t);
  if (const auto item = std::exchange(command_.taken, {})) {
    command(t, *item);
    see_drained(item->qpn);
  }
  if (const auto item = std::exchange(control_.taken, {})) {
    control(t, *item);
    see_drained(item->qpn);
  }
  if (const auto item = std::exchange(left_.taken, {})) {
    has_left(t, *item);
    see_drained(item->qpn);
  }
  if (auto item = std::exchange(work_.taken, {})) {
    hold_work(t, std::move(*item));
  }
  if (const auto item = std::exchange(response_.taken, {})) {
    hold_response(t, *item);
  }
  if (const auto item = std::exchange(limit_.taken, {})) {
    limit(t, *item);
  }
  mark_waits_ = false;
  note_waits_ = false;
  send_marks(t);
  send_notes(t);
  report_failures(t);
  choose_back(t);
  sweep();
  let_in(t);
  functions_.begin_rounds();
  const bool granted = grant_cnp(t) || grant_control(t) || grant_function(t);
  if ((granted && anything_waits()) || functions_.rounds_end()) {
    wake(t + 1);
  }
  report_answered(t);
  come_back(t);
  admit(t);
  if (functions_.opens() != NeverCycle) {
    wake(functions_.opens());
  }
  wake(rates_.next(t));
  if (cnps_were_full_ && !cnps_full()) {
    wake(t + 1);
  }
  if (slots_were_full_ && !slots_full()) {
    wake(t + 1);
  }
  if (responses_were_full_ && !responses_full()) {
    wake(t + 1);
  }
  // Whoever is first now looks for room in the next cycle, however often anybody looks here.
  if ((!marks_.empty() && !mark_waits_) || (!noting_.empty() && !note_waits_)) {
    wake(t + 1);
  }
}

// Commands ----

void tx_sched_rules::command(cycle_t t, const qp_command& item) {
  sched_queue& queue = queues_[item.qpn];
  const auto works = static_cast<unsigned>(queue.works.size());
  queue.ipv6 = item.ipv6;
  queue.tagged = item.tagged;
  queue.priority = item.priority;
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

void tx_sched_rules::start(sched_queue& queue, const qp_command& item) {
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
    queue.flushing = static_cast<unsigned>(queue.works.size());
  }
  queue.error = false;
  queue.failed = false;
}

void tx_sched_rules::discard(std::uint32_t qpn) {
  sched_queue& queue = queues_[qpn];
  nic_.counters.add(counter::WqeDroppedState, queue.works.size());
  forget_works(queue);
  forget_notes(queue);
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

void tx_sched_rules::forget_works(sched_queue& queue) {
  const auto works = static_cast<unsigned>(queue.works.size());
  if (queue.counted()) {
    held_ -= works;
  }
  works_ -= works;
  queue.works.clear();
  queue.flushing = 0;
}

// The requester's controls ----

void tx_sched_rules::control(cycle_t t, const send_control& item) {
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
      ports_.refetches.reserve(t, 1);
      refetches.push({again, t, t + 1});
      return;
    }
    case send_control_kind::error:
      queue.error = true;
      break;
  }
  enter_round(t, item.qpn);
}

/// All work requests held are of an older epoch.
void tx_sched_rules::drop_stale(cycle_t t, std::uint32_t qpn) {
  sched_queue& queue = queues_[qpn];
  nic_.counters.add(counter::TxStaleWork, queue.works.size());
  for (std::size_t i = 0; i < queue.works.size(); ++i) {
    held_work& each = queue.works[i];
    nic_.posted.post(qpn, each.item.wqe_index, each.next.wait_until(context_, site(), t),
                     time_of(t));
  }
  forget_works(queue);
  forget_notes(queue);  // of the same dead epoch
  queue.deficit = 0;
  leave_round(qpn);
  queue.parked = false;
}

// Packets that leave payload_dma ----

void tx_sched_rules::has_left(cycle_t t, const payload_left& item) {
  const bool failed = item.status != dma_status::ok;
  if (item.response) {
    sched_responses& responses = responses_[item.qpn];
    const bool stale = responses.stale();
    std::uint8_t generation = 0;
    --reads_inside_;
    if (responses.left_payload(generation)) {
      --ends_;
      answered_.push({{}, item.qpn, generation});
    }
    if (failed && !stale) {
      if (responses.fail(item.psn)) {
        --responses_held_;
        leave_line(item.qpn);
      }
      failures_.push({{}, item.qpn, item.psn});
    }
    line_up(t, item.qpn);
    return;
  }
  sched_queue& queue = queues_[item.qpn];
  const bool stale = static_cast<std::int32_t>(queue.stale_in_payload - queue.left_payload) > 0;
  ++queue.left_payload;
  --inside_;
  if (failed && !stale) {
    payload_failed(t, item);
  }
  line_up_note(item.qpn);
}

/// The requester completes the packet's WQE with an error; nothing more of the QP is sent. The
/// peer never gets the packet, so nothing behind it can be acknowledged.
void tx_sched_rules::payload_failed(cycle_t t, const payload_left& item) {
  sched_queue& queue = queues_[item.qpn];
  queue.failed = true;
  const auto syndrome = static_cast<std::uint8_t>(syndrome_of(item.status));
  const auto vendor = static_cast<std::uint8_t>(vendor_syndrome::PayloadRead);
  // Of UC and UD the requester has not heard of the WQE yet.
  for (std::size_t i = 0; !queue.reliable && i < queue.notes.size(); ++i) {
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

void tx_sched_rules::hold_work(cycle_t t, work_item&& item) {
  held_work work;
  work.item = std::move(item);
  const cycle_t available = ports_.work.busy_until() - 1;
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
    CARILLON_CHECK(work.item.function < functions_.size(), "{}: work of function {} in cycle {}",
                   ports_.work.name(), work.item.function, t);
    queue.function = work.item.function;
  }
  queue.reliable = work.item.service == static_cast<std::uint8_t>(qp_service::Rc);
  work.item.trace = context_.trace.service(work.item.trace, site(), time_of(t), time_of(available));
  work.available = available;
  work.mtu = mtu_of(work.item, quantum_);
  if (queue.resume) {
    CARILLON_CHECK(work.item.wqe_index == queue.resume_index,
                   "{}: QP {} goes on with WQE {} and not {} in cycle {}", ports_.work.name(), qpn,
                   work.item.wqe_index, queue.resume_index, t);
    queue.resume = false;
    work.offset = queue.resume_skip * work.mtu;
  }
  if (work.item.datagram() && work.item.length > work.mtu && work.item.syndrome == 0) {
    work.item.syndrome = static_cast<std::uint8_t>(cqe_syndrome::LocalLength);
  }
  work.next = {work.item.trace, available, queue.works.empty() ? weight_reason_ : order_reason_};
  queue.works.push(std::move(work));
  ++works_;
  if (queue.counted()) {
    ++held_;
  }
  if (!queue.active && !queue.parked) {
    queue.deficit = 0;
    enter_round(t, qpn);
  }
}

}  // namespace carillon
