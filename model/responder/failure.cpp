// Requests that end their QP, and what becomes of its receive WQEs: the one of the failing message
// completes with its own error, all others are flushed, also those that are posted late.
#include "gen/wqe.h"
#include "responder.h"

namespace carillon {

/// The QP fails: NAK, the one error completion, and all who must know. False while a port has no
/// room.
bool responder::fail(cycle_t t, qp_row& row, const failure& what, held_history& history) {
  const refusal told = refusal_of(what.fault);
  const bool answers = row.service == qp_service::Rc;
  const bool completes = what.took_receive && told.syndrome != cqe_syndrome::WrFlushed;
  if ((answers && lacks(t, io_.responses, response_credit_, &history)) ||
      (completes && lacks(t, io_.cqes, cqe_credit_, &history)) ||
      lacks(t, io_.errors, error_credit_, &history) ||
      lacks(t, io_.faults, fault_credit_, &history)) {
    return false;
  }
  if (row.line.error == 0) {
    if (!may_commit(t, &history)) {
      return false;
    }
    row.line.error = 1;
    write_line(t, row.qpn, row.line);
    last_commit_ = t;
  }
  const trace_ref until_now = history.wait_until(context_, site(), t);
  last_write_ = t;
  shared_.counters.add_for(row.function, told.fault_counter);
  if (answers) {
    response_item nak;
    nak.trace = until_now;
    nak.function = row.function;
    nak.qpn = row.qpn;
    nak.psn = what.psn;
    nak.syndrome = static_cast<std::uint8_t>(static_cast<unsigned>(aeth_kind::Nak) << 5 |
                                             static_cast<unsigned>(told.nak));
    nak.msn = what.msn;
    io_.responses.push(t, WriteLatency, nak);
    shared_.counters.add_for(row.function, told.nak_counter);
  }
  if (completes) {
    push_error(t, row, told.syndrome, until_now);
    shared_.counters.add_for(row.function, counter::RespCqeError);
  } else if (answers && what.fault != request_fault::remote_operation) {
    tell(row, told.nak == nak_code::RemoteAccessError ? event_type::WqAccessError
                                                      : event_type::WqInvalidRequest);
  }
  qp_error failed;
  failed.qpn = row.qpn;
  io_.errors.push(t, 1, failed);
  io_.faults.push(t, 1, failed);
  enter_error(t, row);
  return true;
}

/// True when the packet leaves.
bool responder::fail_packet(cycle_t t, packet_slot& slot) {
  qp_row& row = *slot.row;
  if (slot.common.service == qp_service::Uc && !is_local(slot.fault)) {
    shared_.counters.add_for(row.function, refusal_of(slot.fault).fault_counter);
    shared_.counters.add_for(row.function, counter::UcMessagesDropped);
    row.refused_message = slot.message;
    return true;
  }
  // A SEND in progress has its WQE; one that does not even begin has none.
  const bool in_progress = row.line.in_message != 0 && row.line.cur_verb == bth_verb::Send;
  const bool took = slot.step.fault == request_fault::none ? slot.step.is_send() : in_progress;
  return fail(t, row, {slot.fault, slot.packet.psn, slot.answer_msn, took}, slot.history);
}

/// READs whose data could not be read.
void responder::take_failures(cycle_t t) {
  if (io_.failures.takeable(t)) {
    const response_failure failed = io_.failures.take(t);
    failures_.push({failed, held_history(failed.trace, t, order_)});
  }
  while (!failures_.empty()) {
    failed_read& front = failures_.front();
    qp_row& row = row_of(front.what.qpn);
    const bool alive = row.started && !row.error;
    if (alive && last_write_ == t) {
      front.history.waits_for(context_, site(), t, arbiter_);
      wake(t + 1);
      return;
    }
    if (alive &&
        !fail(t, row, {request_fault::remote_operation, front.what.psn, row.line.rmsn, false},
              front.history)) {
      return;
    }
    failures_.pop();
  }
}

/// The peer may ask for one more.
void responder::take_answered(cycle_t t) {
  if (!io_.answered.takeable(t)) {
    return;
  }
  const response_left item = io_.answered.take(t);
  qp_row& row = row_of(item.qpn);
  if (item.generation == row.generation) {
    row.saved.left();
  }
}

/// From now on requests are dropped and receive WQEs flushed.
void responder::enter_error(cycle_t t, qp_row& row) {
  row.error = true;
  row.batch_wanted = false;
  row.kept = false;
  for (const std::uint8_t id : age_) {
    if (slots_[id].row == &row && !slots_[id].abandoned) {
      release(t, slots_[id]);
    }
  }
  row.polls_left = static_cast<std::uint32_t>(context_.params.nic.error_polls);
  if (row.shared == nullptr && !row.no_queue) {
    want_record(t, row);
  }
  row.flushing = true;
  flushing_.push(row.qpn);
  wake(t + 1);
}

/// A completion with an error of the oldest open receive WQE.
void responder::push_error(cycle_t t, qp_row& row, cqe_syndrome syndrome, trace_ref history) {
  cqe_item cqe;
  cqe.trace = history;
  cqe.cqn = row.cqn;
  cqe.qpn = row.qpn;
  cqe.cqe_opcode = static_cast<std::uint8_t>(cqe_opcode::ResponderError);
  cqe.syndrome = static_cast<std::uint8_t>(syndrome);
  cqe.wqe_counter = row.open_receives.front();
  if (row.shared != nullptr) {
    const shared_wqe* wqe = row.shared->queue.find(row.open_receives.front());
    cqe.wqe_counter = wqe != nullptr ? wqe->index : 0;
    cqe.srqn = row.shared->number;
  }
  io_.cqes.push(t, WriteLatency, cqe);
  finish_receive(t, row);
}

/// One flushed receive WQE a cycle.
void responder::flush(cycle_t t) {
  for (std::size_t waiting = flushing_.size(); waiting != 0; --waiting) {
    if (last_write_ == t) {
      wake(t + 1);
      return;
    }
    qp_row& row = row_of(flushing_.front());
    switch (flush_state(row)) {
      case flush_step::reset:
        flushing_.pop();
        break;
      case flush_step::done:
        flushing_.pop();
        row.flushing = false;
        if (row.shared != nullptr) {
          tell(row, event_type::SrqLastWqe);
        }
        break;
      case flush_step::unknown:
        flushing_.push(flushing_.pop());  // its read wakes us
        break;
      case flush_step::ready:
        if (!lacks(t, io_.cqes, cqe_credit_, nullptr)) {
          flush_one(t, row);
        }
        return;
    }
  }
}

responder::flush_step responder::flush_state(const qp_row& row) {
  if (!row.error || !row.flushing) {
    return flush_step::reset;
  }
  if (row.open_receives.empty()) {
    const bool posted = row.shared == nullptr && row.queue.has_credit();
    return posted ? flush_step::ready : flush_step::done;
  }
  const bool known = row.shared == nullptr || !row.shared->exists ||
                     row.shared->queue.find(row.open_receives.front()) != nullptr;
  return known ? flush_step::ready : flush_step::unknown;
}

void responder::flush_one(cycle_t t, qp_row& row) {
  if (row.open_receives.empty()) {
    row.open_receives.push(row.queue.consume(false));
  }
  last_write_ = t;
  push_error(t, row, cqe_syndrome::WrFlushed, {});
  shared_.counters.add_for(row.function, counter::RespCqeFlushError);
  wake(t + 1);
}

/// The record of a QP in error was read.
void responder::flush_late(cycle_t t, qp_row& row) {
  if (row.queue.has_credit()) {
    row.polls_left = static_cast<std::uint32_t>(context_.params.nic.error_polls);
    if (!row.flushing) {
      row.flushing = true;
      flushing_.push(row.qpn);
      wake(t + 1);
    }
  }
  if (row.polls_left != 0) {
    --row.polls_left;
    late_looks_.push({t + late_interval_, row.qpn, row.generation});
  }
}

void responder::look_late(cycle_t t) {
  while (!late_looks_.empty()) {
    const late_look& next = late_looks_.front();
    if (next.due > t) {
      wake(next.due);
      return;
    }
    qp_row& row = row_of(next.qpn);
    if (row.error && row.generation == next.generation) {
      want_record(t, row);
    }
    late_looks_.pop();
  }
}

// Events
// -----------------------------------------------------------------------------------------------

void responder::tell(const qp_row& row, event_type kind) {
  async_event event;
  event.function = row.function;
  event.kind = static_cast<std::uint8_t>(kind);
  event.number = row.qpn;
  events_.push(event);
}

void responder::tell(const srq_row& row, event_type kind) {
  async_event event;
  event.function = row.line.function_id;
  event.kind = static_cast<std::uint8_t>(kind);
  event.number = row.number;
  events_.push(event);
}

void responder::tell_events(cycle_t t) {
  if (events_.empty()) {
    return;
  }
  if (!io_.events.has_credit(t)) {
    io_.events.ask_credit(t);
    return;
  }
  io_.events.push(t, 1, events_.pop());
  if (!events_.empty()) {
    wake(t + 1);
  }
}

}  // namespace carillon
