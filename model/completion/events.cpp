// The part of the stage that tells EQs: arms, asynchronous events, EQEs.
#include <utility>

#include "completion.h"

namespace carillon {

void completion::take_doorbell(cycle_t t) {
  if (!io_.doorbells.takeable(t)) {
    return;
  }
  const queue_doorbell bell = io_.doorbells.take(t);
  if (bell.eq) {
    const auto eqn = static_cast<std::uint8_t>(bell.number);
    switch (queues_.ring(bell)) {
      case event_queues::bell_result::ignored:
        shared_.counters.add_for(bell.function, counter::QueueDbIgnoredOwner);
        return;
      case event_queues::bell_result::taken:
        return;
      case event_queues::bell_result::interrupts:
        raise_interrupt(t, bell.trace, bell.function, queues_.vector(eqn));
        return;
    }
  }
  // No entry is made for a number that a stranger wrote.
  const auto found = cqs_.find(bell.number);
  if (found == cqs_.end() || !found->second.valid || found->second.function != bell.function ||
      found->second.uar_page != bell.uar_page) {
    shared_.counters.add_for(bell.function, counter::QueueDbIgnoredOwner);
    return;
  }
  cq_state& state = found->second;
  const auto result = state.notification.arm(bell.arm_sn, bell.solicited_only, bell.consumer_index,
                                             state.ring.producer, t);
  if (result == cq_notification::arm_result::stale) {
    shared_.counters.add(counter::CqArmsStale);
    return;
  }
  shared_.counters.add(counter::CqArms);
  if (result == cq_notification::arm_result::raises) {
    raise_completion(t, bell.trace, bell.number, state);
  } else {
    set_deadline(bell.number, state);
  }
}

void completion::take_event(cycle_t t) {
  stream<async_event>* from = nullptr;
  unsigned waiting = 0;
  for (stream<async_event>* each :
       {&io_.responder_events, &io_.requester_events, &io_.command_events}) {
    if (each->takeable(t)) {
      from = from == nullptr ? each : from;
      ++waiting;
    }
  }
  if (from == nullptr || events_.size() >= EventSlots) {
    return;  // the write of an event wakes us
  }
  const async_event in = from->take(t);
  raise_async(t, in.trace,
              {.kind = static_cast<event_type>(in.kind),
               .sub_type = in.sub_type,
               .queue_type = in.queue_type,
               .number = in.number,
               .function = in.function});
  if (waiting > 1) {
    wake(t + 1);
  }
}

void completion::raise_completion(cycle_t t, trace_ref history, std::uint32_t cqn,
                                  const cq_state& state) {
  event_slot slot;
  slot.event = {.number = cqn, .function = state.function};
  slot.eqn = state.eqn;
  slot.generation = state.generation;
  queue_event(t, history, slot);
}

void completion::raise_async(cycle_t t, trace_ref history, const event_record& event) {
  const auto eqn = queues_.taker(event.function, event.kind);
  if (!eqn) {
    shared_.counters.add(counter::EventsUnclaimed);
    return;
  }
  event_slot slot;
  slot.event = event;
  slot.eqn = *eqn;
  queue_event(t, history, slot);
}

void completion::queue_event(cycle_t t, trace_ref history, event_slot slot) {
  slot.history = held_history(history, t, order_);
  events_.push(slot);
}

void completion::read_event_line(cycle_t t) {
  if (event_lines_ == events_.size()) {
    return;
  }
  if (!io_.context_reads.has_credit(t)) {
    io_.context_reads.ask_credit(t);
    return;
  }
  // In turns with the requests: no number of events keeps completions away.
  if (event_read_last_ && request_takeable(t)) {
    events_[event_lines_].history.waits_for(context_, site(), t, arbiter_);
    wake(t + 1);
    return;
  }
  event_slot& slot = events_[event_lines_++];
  io_.context_reads.push(t, 1,
                         {slot.history.wait_until(context_, site(), t), context_kind::eqc, slot.eqn,
                          slot.event.function});
  event_read_ = t;
  event_read_last_ = true;
  if (event_lines_ < events_.size()) {
    wake(t + 1);
  }
}

void completion::write_event(cycle_t t) {
  if (events_.empty() || !events_.front().has_line) {
    return;
  }
  event_slot& slot = events_.front();
  if (slot.event.kind == event_type::Completion &&
      slot.generation != cqs_[slot.event.number].generation) {
    end_event(t, false);  // the CQ is gone
    return;
  }
  if (!slot.line_valid || slot.eq.valid == 0 || slot.eq.function_id != slot.event.function ||
      !queues_.owned(slot.eqn, slot.event.function)) {
    shared_.counters.add(counter::EventsUnclaimed);
    end_event(t, true);
    return;
  }
  const auto producer = queues_.room(slot.eqn, slot.eq);
  if (!producer) {
    shared_.counters.add(counter::EqOverruns);
    end_event(t, true);
    return;
  }
  if (event_written_ == t) {
    slot.history.waits_for(context_, site(), t, interrupt_);
    wake(t + 1);
    return;
  }
  if (!io_.writes.has_credit(t)) {
    slot.history.waits_for(context_, site(), t, write_credit_);
    io_.writes.ask_credit(t);
    return;
  }
  // In turns with the CQEs, if there is one that can be written now.
  if (event_written_last_ && !slots_.empty() && slots_.front().has_line &&
      !slots_.front().waits_for_record) {
    slot.history.waits_for(context_, site(), t, arbiter_);
    wake(t + 1);
    return;
  }
  dma_write write;
  write.trace = slot.history.wait_until(context_, site(), t);
  write.function = slot.eq.function_id;
  write.address = eqe_address(slot.eq, *producer);
  const trace_ref history = write.trace;
  push_write(t, std::move(write), build_eqe(slot.event, slot.eq.log_eq_size, *producer));
  event_written_ = t;
  event_written_last_ = true;
  shared_.counters.add(counter::Eqes);
  if (queues_.advance(slot.eqn)) {
    raise_interrupt(t, history, slot.eq.function_id, queues_.vector(slot.eqn));
  }
  end_event(t, false);
}

void completion::end_event(cycle_t t, bool lost) {
  const event_slot slot = events_.pop();
  --event_lines_;
  if (slot.event.kind == event_type::Completion) {
    if (cq_state& state = cqs_[slot.event.number]; state.generation == slot.generation) {
      state.notification.told(lost);
    }
  }
  if (!events_.empty()) {
    wake(t + 1);
  }
}

}  // namespace carillon
