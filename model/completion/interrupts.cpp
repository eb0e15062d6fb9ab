// The part of the stage that interrupts: MSI-X messages, and events that wait for a CQ's moderation
// period.
#include <algorithm>
#include <array>
#include <utility>

#include "completion.h"

namespace carillon {

namespace {

constexpr ps_t PsPerUs = 1'000'000;
constexpr std::size_t MessageBytes = 4;

}  // namespace

// MSI-X

void completion::take_msix(cycle_t t) {
  if (!io_.msix.takeable(t)) {
    return;
  }
  const msix_command command = io_.msix.take(t);
  if (command.kind == msix_command_kind::reset) {
    queues_.reset(command.function);
  }
  vectors_.apply(command, [&](unsigned vector) {
    interrupts_.push({command.function, vector, held_history(command.trace, t, order_)});
  });
  if (vectors_.take_changed()) {
    io_.msix_pending_bits.write(t, vectors_.pending());
  }
}

void completion::raise_interrupt(cycle_t t, trace_ref history, std::uint16_t function,
                                 unsigned vector) {
  switch (vectors_.raise(function, vector)) {
    case msix_vectors::result::sends:
      interrupts_.push({function, vector, held_history(history, t, order_)});
      wake(t + 1);
      return;
    case msix_vectors::result::merged:
      return;
    case msix_vectors::result::pends:
      shared_.counters.add_for(function, counter::MsixMasked);
      if (vectors_.take_changed()) {
        io_.msix_pending_bits.write(t, vectors_.pending());
      }
      return;
    case msix_vectors::result::disabled:
      shared_.counters.add_for(function, counter::MsixDisabled);
      return;
  }
}

/// Before anything else, so that a message follows its EQE directly.
void completion::write_interrupt(cycle_t t) {
  if (interrupts_.empty()) {
    return;
  }
  if (!io_.writes.has_credit(t)) {
    interrupts_.front().history.waits_for(context_, site(), t, write_credit_);
    io_.writes.ask_credit(t);
    return;
  }
  interrupt_slot slot = interrupts_.pop();
  const auto message = vectors_.send(slot.function, slot.vector);
  if (vectors_.take_changed()) {
    shared_.counters.add_for(slot.function, counter::MsixMasked);
    io_.msix_pending_bits.write(t, vectors_.pending());
  }
  if (message) {
    dma_write write;
    write.trace = slot.history.wait_until(context_, site(), t);
    write.function = slot.function;
    write.address = message->address;
    std::array<std::uint8_t, MessageBytes> data{};
    for (std::size_t i = 0; i < data.size(); ++i) {
      data[i] = static_cast<std::uint8_t>(message->data >> (8 * i));
    }
    push_write(t, std::move(write), data);
    event_written_ = t;
    shared_.counters.add_for(slot.function, counter::MsixSent);
  }
  if (!interrupts_.empty()) {
    wake(t + 1);
  }
}

// Moderation

cq_moderation completion::moderation_of(const cqc_line& line) const {
  const ps_t period = context_.clock.period();
  return {line.max_count, (line.period * PsPerUs + period - 1) / period};
}

void completion::modify_moderation(cycle_t t, std::uint32_t cqn, const cqc_line& line) {
  const auto found = cqs_.find(cqn);
  if (found == cqs_.end() || !found->second.valid) {
    return;
  }
  cq_state& state = found->second;
  state.notification.moderate(moderation_of(line));
  if (state.notification.ripen(state.ring.producer, t)) {
    raise_completion(t, state.first_waiting.wait_until(context_, site(), t), cqn, state);
  } else {
    set_deadline(cqn, state);
  }
}

void completion::set_deadline(std::uint32_t cqn, const cq_state& state) {
  const cycle_t deadline = state.notification.deadline(state.ring.producer);
  if (deadline != NeverCycle) {
    moderated_.set(cqn, deadline);
  } else if (moderated_.running(cqn)) {
    moderated_.clear(cqn);
  }
}

void completion::ripen_due(cycle_t t) {
  std::uint32_t cqn = 0;
  while (moderated_.take_due(t, cqn)) {
    cq_state& state = cqs_[cqn];
    if (state.notification.ripen(state.ring.producer, t)) {
      shared_.counters.add_for(state.function, counter::CqEventPeriods);
      raise_completion(t, state.first_waiting.wait_until(context_, site(), t), cqn, state);
    }
  }
}

/// The stage is woken for the earliest deadline alone, by one timer: it is not moved when that
/// deadline is.
void completion::set_alarm(cycle_t t, cycle_t deadline) {
  const cycle_t cycle = std::max(t + 1, deadline - 1);
  if (cycle < alarm_) {
    alarm_ = cycle;
    context_.line.timer(time_of(cycle), *this, cycle);
  }
}

void completion::on_time(ps_t /*now*/, std::uint64_t cycle) {
  if (cycle != alarm_) {
    return;  // an earlier deadline came between
  }
  alarm_ = NeverCycle;
  const cycle_t deadline = moderated_.earliest();
  if (deadline == NeverCycle) {
    return;
  }
  if (deadline <= cycle + 1) {
    wake(cycle + 1);
  } else {
    set_alarm(cycle, deadline);
  }
}

}  // namespace carillon
