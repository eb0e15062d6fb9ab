#include "completion.h"

#include <algorithm>
#include <utility>

#include "common/error.h"
#include "completion/cqe.h"

namespace carillon {
namespace {

constexpr unsigned Lookup = stage_spec::qpc_ram::Latency;
constexpr unsigned WriteLatency = stage_spec::completion::Latency - Lookup;
constexpr unsigned CqnMask = 0xffffff;
constexpr unsigned GenerationShift = 32;

}  // namespace

completion::completion(const sc_core::sc_module_name& name, nic_shared& shared, const ports& io)
    : stage(name, shared.context, "completion"),
      timed(shared.context.line),
      shared_(shared),
      io_(io),
      queues_(std::size_t{1} << shared.context.params.nic.log_max_eq),
      vectors_(static_cast<unsigned>(shared.context.params.nic.msix_vectors)),
      moderated_(std::size_t{1} << shared.context.params.nic.log_max_cq),
      order_(context_.trace.intern("order")),
      record_(context_.trace.intern("cq_record")),
      event_(context_.trace.intern("event")),
      interrupt_(context_.trace.intern("interrupt")),
      moderation_(context_.trace.intern("moderation")),
      arbiter_(context_.trace.intern("arbiter")),
      write_credit_(context_.trace.intern("credit:" + io.writes.name())) {
  io_.from_responder.to(*this, site());
  io_.from_requester.to(*this, site());
  io_.responder_events.to(*this, site());
  io_.requester_events.to(*this, site());
  io_.command_events.to(*this, site());
  io_.doorbells.to(*this, site());
  io_.commands.to(*this, site());
  io_.context_lines.to(*this, site());
  io_.records.to(*this, site());
  io_.msix.to(*this, site());
  io_.context_reads.from(*this, site());
  io_.record_reads.from(*this, site());
  io_.writes.from(*this, site());
  const auto full = [this](cycle_t) { return slots_.size() == Slots; };
  const auto record = blocker::condition(
      "cq_record", [this, full](cycle_t t) { return full(t) && slots_.front().waits_for_record; });
  const auto write_credit =
      blocker::condition("credit:" + io_.writes.name(),
                         [this, full](cycle_t t) { return full(t) && !io_.writes.has_credit(t); });
  const auto lookup = blocker::condition("slots", full);
  const auto event = blocker::condition("event", [this](cycle_t t) { return event_read_ == t; });
  const auto events =
      blocker::condition("events", [this](cycle_t) { return events_.size() >= EventSlots; });
  watch(io_.from_responder,
        {record, write_credit, lookup, event, blocker::credit(io_.context_reads)});
  watch(io_.from_requester, {blocker::arbiter(io_.from_responder), record, write_credit, lookup,
                             event, blocker::credit(io_.context_reads)});
  watch(io_.responder_events, {events});
  watch(io_.requester_events, {blocker::arbiter(io_.responder_events), events});
  watch(io_.command_events,
        {blocker::arbiter(io_.responder_events), blocker::arbiter(io_.requester_events), events});
  watch(io_.doorbells, {});
  watch(io_.commands, {});
  watch(io_.context_lines, {});
  watch(io_.records, {});
  watch(io_.msix, {});
}

void completion::evaluate(cycle_t t) {
  take_command(t);
  take_msix(t);
  take_record(t);
  take_line(t);
  take_doorbell(t);
  if (moderated_.look() <= t) {
    ripen_due(t);
  }
  write_interrupt(t);
  write_event(t);
  write_front(t);
  take_event(t);
  read_event_line(t);
  take_requests(t);
  read_records(t);
  if (const cycle_t look = moderated_.look(); look != NeverCycle) {
    set_alarm(t, look);
  }
}

void completion::take_command(cycle_t t) {
  if (!io_.commands.takeable(t)) {
    return;
  }
  const cq_command command = io_.commands.take(t);
  if (command.eq) {
    queues_.set(command.cqn, eqc_line::unpack(command.line.data()));
    return;
  }
  const cqc_line line = cqc_line::unpack(command.line.data());
  if (command.modify) {
    modify_moderation(t, command.cqn, line);
    return;
  }
  cq_state& state = cqs_[command.cqn];
  state.ring = {};
  // What was asked for the CQ before it is nobody's.
  state.record_wanted = false;
  state.record_pending = false;
  state.answered = state.asked;
  state.notification.reset(line, moderation_of(line));
  set_deadline(command.cqn, state);
  state.valid = line.valid != 0;
  state.function = line.function_id;
  state.uar_page = line.uar_page;
  state.eqn = line.eqn;
  ++state.generation;
}

void completion::take_record(cycle_t t) {
  if (!io_.records.takeable(t)) {
    return;
  }
  const dma_read_done done = io_.records.take(t);
  --records_due_;
  const auto cqn = static_cast<std::uint32_t>(done.cookie & CqnMask);
  cq_state& state = cqs_[cqn];
  if (state.generation != static_cast<std::uint32_t>(done.cookie >> GenerationShift)) {
    return;
  }
  state.record_pending = false;
  ++state.answered;
  state.unreadable = done.status != dma_status::ok;
  if (!state.unreadable) {
    state.ring.consumer = cq_doorbell_record::unpack(state.record.data()).consumer_index;
  }
  state.record.reset();
  if (!slots_.empty() && done.trace.message != 0 && slots_.front().item.cqn == cqn &&
      slots_.front().item.trace.message == done.trace.message) {
    slots_.front().history = held_history(done.trace, t, order_);
  }
}

void completion::take_line(cycle_t t) {
  if (!io_.context_lines.takeable(t)) {
    return;
  }
  const context_line line = io_.context_lines.take(t);
  // The answers of one kind come in the order of the questions.
  if (line.kind == context_kind::eqc) {
    std::size_t i = 0;
    while (events_[i].has_line) {
      ++i;
    }
    event_slot& slot = events_[i];
    CARILLON_CHECK(i < event_lines_ && line.index == slot.eqn, "{}: line of EQ {} came for EQ {}",
                   path(), line.index, slot.eqn);
    slot.has_line = true;
    slot.line_valid = line.valid;
    slot.eq = eqc_line::unpack(line.data.data());
    slot.history = held_history(line.trace, t, order_);
    return;
  }
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    request_slot& slot = slots_[i];
    if (slot.has_line) {
      continue;
    }
    CARILLON_CHECK(line.index == slot.item.cqn, "{}: line of CQ {} came for CQ {}", path(),
                   line.index, slot.item.cqn);
    slot.has_line = true;
    slot.line_valid = line.valid;
    slot.cq = cqc_line::unpack(line.data.data());
    slot.history = held_history(line.trace, t, order_);
    break;
  }
}

void completion::want_record(cycle_t t, request_slot& slot, cq_state& state, bool for_front) {
  if (state.record_wanted || state.record_pending) {
    return;
  }
  state.record_wanted = true;
  ++state.asked;
  record_queue_.push(
      {slot.item.cqn, slot.cq.function_id, slot.cq.dbr_addr, for_front, state.generation});
  wake(t + 1);
}

void completion::lose_front(cycle_t t) {
  if (const request_slot& slot = slots_.front(); slot.line_valid && slot.cq.valid != 0) {
    shared_.counters.add_for(slot.cq.function_id, counter::CqesDropped);
  } else {
    shared_.counters.add(counter::CqesDropped);  // of a CQ that nobody has
  }
  slots_.pop();
  if (!slots_.empty()) {
    wake(t + 1);
  }
}

void completion::write_front(cycle_t t) {
  if (slots_.empty() || !slots_.front().has_line) {
    return;
  }
  request_slot& slot = slots_.front();
  cq_state& state = cqs_[slot.item.cqn];
  if (slot.generation != state.generation || !slot.line_valid || slot.cq.valid == 0 ||
      slot.cq.error != 0 || state.ring.overrun) {
    lose_front(t);
    return;
  }
  const bool checked = slot.cq.oi == 0;
  if (checked && state.ring.full(slot.cq.log_cq_size)) {
    // Only a record read for this completion proves that the CQ is full.
    if (!slot.waits_for_record) {
      slot.waits_for_record = true;
      slot.asked_before = state.asked;
    }
    if (state.answered > slot.asked_before) {
      state.ring.overrun = true;
      if (!state.unreadable) {
        shared_.counters.add_for(slot.cq.function_id, counter::CqOverruns);
      }
      raise_async(t, slot.history.wait_until(context_, site(), t),
                  {.kind = event_type::CqError,
                   .number = slot.item.cqn,
                   .function = slot.cq.function_id,
                   .cq_error = state.unreadable ? CqAccessSyndrome : CqOverrunSyndrome});
      lose_front(t);
      return;
    }
    slot.history.waits_for(context_, site(), t, record_);
    want_record(t, slot, state, true);
    return;
  }
  if (event_written_ == t) {
    slot.history.waits_for(context_, site(), t, event_);
    wake(t + 1);
    return;
  }
  if (!io_.writes.has_credit(t)) {
    slot.history.waits_for(context_, site(), t, write_credit_);
    io_.writes.ask_credit(t);
    return;
  }
  dma_write write;
  write.trace = slot.history.wait_until(context_, site(), t);
  write.function = slot.cq.function_id;
  write.address = cqe_address(slot.cq, state.ring.producer);
  write.point = slot.item.point;
  const trace_ref history = write.trace;
  event_written_last_ = false;
  push_write(t, std::move(write),
             build_cqe(slot.item, slot.cq.log_cq_size, state.ring.producer, t));
  const bool failed = is_error(slot.item);
  shared_.counters.add_for(slot.cq.function_id, counter::Cqes);
  if (failed) {
    shared_.counters.add_for(slot.cq.function_id, counter::CqeErrors);
    if (slot.item.syndrome == static_cast<std::uint8_t>(cqe_syndrome::WrFlushed)) {
      shared_.counters.add_for(slot.cq.function_id, counter::CqeFlushed);
    }
  }
  state.ring.producer = (state.ring.producer + 1) & CqIndexMask;
  if (checked && state.ring.full(slot.cq.log_cq_size)) {
    // Read ahead, so that the next completion need not wait.
    want_record(t, slot, state, false);
  }
  if (state.notification.waiting() == 0) {
    state.first_waiting = held_history(history, t, moderation_);
  }
  if (state.notification.written(state.ring.producer, slot.item.solicited || failed,
                                 slot.item.event, t)) {
    raise_completion(t, history, slot.item.cqn, state);
  } else {
    set_deadline(slot.item.cqn, state);
  }
  slots_.pop();
  if (!slots_.empty()) {
    wake(t + 1);
  }
}

void completion::push_write(cycle_t t, dma_write write, std::span<const std::uint8_t> bytes) {
  write.length = static_cast<std::uint32_t>(bytes.size());
  write.from = shared_.buffers.take();
  std::copy(bytes.begin(), bytes.end(), write.from.data());
  io_.writes.push(t, WriteLatency, std::move(write));
}

void completion::read_records(cycle_t t) {
  if (record_queue_.empty() || records_due_ == io_.records.depth()) {
    return;  // an answer wakes us
  }
  if (!io_.record_reads.has_credit(t)) {
    io_.record_reads.ask_credit(t);
    return;
  }
  const record_request request = record_queue_.pop();
  cq_state& state = cqs_[request.cqn];
  if (request.generation != state.generation) {
    if (!record_queue_.empty()) {
      wake(t + 1);
    }
    return;
  }
  state.record_wanted = false;
  state.record_pending = true;
  state.record = shared_.buffers.take();
  dma_read read;
  if (request.for_front && !slots_.empty() && slots_.front().item.cqn == request.cqn) {
    read.trace = slots_.front().history.wait_until(context_, site(), t);
  }
  read.function = request.function;
  read.address = request.address;
  read.length = cq_doorbell_record::Size;
  read.into = state.record;
  read.cookie = request.cqn | std::uint64_t{state.generation} << GenerationShift;
  io_.record_reads.push(t, 1, std::move(read));
  ++records_due_;
  if (!record_queue_.empty()) {
    wake(t + 1);
  }
}

void completion::accept(cycle_t t, stream<cqe_item>& in) {
  request_slot slot;
  slot.item = in.take(t);
  const cq_state& cq = cqs_[slot.item.cqn];
  slot.generation = cq.generation;
  slot.history = held_history(slot.item.trace, t, order_);
  io_.context_reads.push(t, 1, {slot.item.trace, context_kind::cqc, slot.item.cqn, cq.function});
  event_read_last_ = false;
  slots_.push(slot);
}

bool completion::request_takeable(cycle_t t) const {
  return slots_.size() < Slots &&
         (io_.from_responder.takeable(t) || io_.from_requester.takeable(t));
}

void completion::take_requests(cycle_t t) {
  const bool responder = io_.from_responder.takeable(t);
  if (!responder && !io_.from_requester.takeable(t)) {
    return;
  }
  if (slots_.size() == Slots) {
    return;  // the write of the front one wakes us
  }
  if (event_read_ == t) {
    wake(t + 1);
    return;
  }
  if (!io_.context_reads.has_credit(t)) {
    io_.context_reads.ask_credit(t);
    return;
  }
  const bool both = responder && io_.from_requester.takeable(t);
  accept(t, responder ? io_.from_responder : io_.from_requester);
  if (both) {
    wake(t + 1);
  }
}

}  // namespace carillon
