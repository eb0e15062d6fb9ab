#include "requester.h"

#include <algorithm>
#include <utility>

#include "common/key_lookup.h"
#include "gen/stages.h"

namespace carillon {

namespace {

constexpr unsigned Latency = stage_spec::requester::Ack;
constexpr auto Flushed = static_cast<std::uint8_t>(cqe_syndrome::WrFlushed);
constexpr std::uint32_t AtomicBytes = 8;
constexpr std::uint64_t PsPerNs = 1000;
/// Packets acknowledged after which tx_sched is told, however many are on their way.
constexpr std::uint32_t ProgressStep = 64;

}  // namespace

cqe_item cqe_of(const outstanding_wqe& wqe, std::uint8_t syndrome) {
  cqe_item item;
  item.cqn = wqe.told.send_cqn;
  item.qpn = wqe.told.qpn;
  item.cqe_opcode =
      static_cast<std::uint8_t>(syndrome == 0 ? cqe_opcode::Requester : cqe_opcode::RequesterError);
  item.wqe_opcode = wqe.told.opcode;
  item.syndrome = syndrome;
  item.vendor_syndrome = syndrome == wqe.told.syndrome ? wqe.told.vendor_syndrome : 0;
  item.wqe_counter = wqe.told.wqe_index;
  item.byte_count = wqe.atomic() ? AtomicBytes : wqe.told.length;
  item.solicited = syndrome != 0;  // an error always counts
  item.event = wqe.told.solicited_event;
  item.point = milestone::cqe_written;
  return item;
}

requester::requester(const sc_core::sc_module_name& name, nic_shared& shared, const ports& io)
    : stage(name, shared.context, "requester"),
      shared_(shared),
      io_(io),
      queues_(std::size_t{1} << shared.context.params.nic.log_max_qp),
      timers_(queues_.size()),
      alarm_(*this),
      keys_(std::make_unique<key_lookup>(shared.context, site(), io.key_reads, io.key_lines)),
      order_(context_.trace.intern("order")),
      acknowledge_(context_.trace.intern("acknowledge")),
      cqe_credit_(context_.trace.intern("credit:" + io.cqes.name())),
      write_credit_(context_.trace.intern("credit:" + io.writes.name())),
      write_port_(context_.trace.intern("write_port")),
      progress_step_(std::clamp<std::uint32_t>(
          static_cast<std::uint32_t>(context_.params.nic.send_window) / 2, 1, ProgressStep)),
      ack_timeout_(context_.trace.intern("ack_timeout")),
      go_back_(context_.trace.intern("go_back")),
      rnr_timer_(context_.trace.intern("rnr_timer")) {
  io_.sent.to(*this, site());
  io_.responses.to(*this, site());
  io_.commands.to(*this, site());
  io_.faults.to(*this, site());
  io_.key_lines.to(*this, site());
  io_.key_reads.from(*this, site());
  io_.cqes.from(*this, site());
  io_.controls.from(*this, site());
  io_.writes.from(*this, site());
  io_.errors.from(*this, site());
  io_.told_responder.from(*this, site());
  io_.events.from(*this, site());
  if (io_.notes != nullptr) {
    io_.notes->from(*this, site());
  }
  watch(io_.commands, {});
  watch(io_.faults, {});
  watch(io_.sent, {});
  watch(io_.key_lines, {});
  watch(io_.responses,
        {blocker::condition("landing_slots", [this](cycle_t t) { return full_in_ == t; })});
}

requester::~requester() = default;

void requester::evaluate(cycle_t t) {
  take_command(t);
  take_fault(t);
  take_sent(t);
  keys_->take(t, [this, t](const key_lookup::answer& answer) {
    response_landing& landing = landings_.slot(answer.cookie / MaxSge);
    const landing_part& part = landing.parts[answer.cookie % MaxSge];
    landing.fault = landing.fault || answer.fault != key_fault::none;
    std::uint32_t from = part.from;
    for (const iova_piece& piece : *answer.pieces) {
      landing.pieces.push_back({piece.address, part.lkey, piece.length, from});
      from += piece.length;
    }
    landing.history = held_history(answer.trace, t, order_);
    --landing.missing;
  });
  land(t);
  take_response(t);
  land(t);
  if (full_in_ == t && !landings_.full()) {
    wake(t + 1);
  }
  if (timers_.look() <= t) {
    expire(t);
  }
  if (keys_->issue(t)) {
    wake(t + 1);
  }
  complete(t);
  send_out(t);
  if (const cycle_t look = timers_.look(); look != NeverCycle) {
    alarm_.arm(t, look);
  }
}

void requester::alarm_clock::arm(cycle_t t, cycle_t deadline) {
  // The stage is woken in the cycle before the deadline, for it.
  const cycle_t cycle = std::max(t + 1, deadline - 1);
  if (cycle < armed_) {
    armed_ = cycle;
    owner_.context_.line.timer(owner_.time_of(cycle), *this, cycle);
  }
}

void requester::alarm_clock::on_time(ps_t /*now*/, std::uint64_t cycle) {
  if (cycle != armed_) {
    return;  // an earlier deadline came between
  }
  armed_ = NeverCycle;
  const cycle_t deadline = owner_.timers_.earliest();
  if (deadline == NeverCycle) {
    return;
  }
  if (deadline <= cycle + 1) {
    owner_.wake(cycle + 1);
  } else {
    arm(cycle, deadline);
  }
}

// Commands ----

void requester::take_command(cycle_t t) {
  if (!io_.commands.takeable(t)) {
    return;
  }
  const qp_command item = io_.commands.take(t);
  std::unique_ptr<send_queue>& place = queues_[item.qpn];
  if (place == nullptr) {
    place = std::make_unique<send_queue>();
  }
  send_queue& queue = *place;
  const auto state = static_cast<qp_state>(item.state);
  queue.reliable = item.service == static_cast<std::uint8_t>(qp_service::Rc);
  switch (state) {
    case qp_state::Reset:
      reset(queue, item.qpn);
      break;
    case qp_state::Rts:
      start(t, queue, item);
      break;
    case qp_state::Sqd:
      queue.drained = queue.drained && queue.state == qp_state::Sqd;
      break;
    case qp_state::Err:
      if (!queue.error) {
        stop(t, item.qpn, queue);
      }
      break;
    default:
      break;
  }
  queue.state = state;
  check_drained(item.qpn, queue);
  enqueue(item.qpn, queue);
}

void requester::start(cycle_t t, send_queue& queue, const qp_command& item) {
  const qpc_requester line = qpc_requester::unpack(item.requester.data());
  const qpc_common common = qpc_common::unpack(item.common.data());
  queue.retry_count = line.retry_count;
  queue.rnr_retry = line.rnr_retry;
  queue.ack_timeout = line.ack_timeout;
  queue.pd = common.pd;
  queue.function = common.function_id;
  queue.marked = false;
  if (!queue.active()) {
    queue.window.start(item.send_psn & PsnMask);
    queue.told_oldest = queue.window.oldest();
    queue.retries_left = queue.retry_count;
    queue.rnr_left = queue.rnr_retry;
  } else if (queue.error && !queue.reliable) {
    // From SQER. What was flushed stays so, and must still be told.
    queue.window.flush();
    queue.error = false;
  }
  if (queue.window.outstanding() && !queue.error && queue.reliable && !queue.halted &&
      !timers_.running(item.qpn)) {
    start_timer(t, item.qpn, queue);  // the timeout may have been off
  }
}

void requester::reset(send_queue& queue, std::uint32_t qpn) {
  timers_.clear(qpn);
  const std::uint32_t life = queue.life + 1;
  const bool queued = queue.queued;
  queue = {};
  queue.life = life;
  queue.epoch = first_epoch(life);
  queue.queued = queued;
}

void requester::take_fault(cycle_t t) {
  if (!io_.faults.takeable(t)) {
    return;
  }
  const qp_error item = io_.faults.take(t);
  send_queue* queue = find(item.qpn);
  if (queue == nullptr || !queue->active() || queue->error) {
    return;
  }
  stop(t, item.qpn, *queue);
  enqueue(item.qpn, *queue);
}

// Notes ----

void requester::take_sent(cycle_t t) {
  if (!io_.sent.takeable(t)) {
    return;
  }
  const sent_packet note = io_.sent.take(t);
  send_queue* found = find(note.qpn);
  if (found == nullptr || !found->active()) {
    return;
  }
  send_queue& queue = *found;
  if (note.drain_mark) {
    // Said once, also while the queue goes back: what has begun by then must come again.
    if (static_cast<std::int16_t>(note.wqe_index - queue.furthest_to) > 0) {
      queue.furthest_to = note.wqe_index;
    }
    queue.marked = true;
    check_drained(note.qpn, queue);
    return;
  }
  if (note.epoch != queue.epoch) {
    return;
  }
  send_window& window = queue.window;
  if (queue.reliable && note.syndrome != 0 && !note.no_packet && window.sent_lately(note.psn)) {
    // Its data could not be read when its turn had come.
    if (outstanding_wqe* wqe = window.unsettled(note.psn); wqe != nullptr) {
      if (wqe->told.syndrome == 0) {
        wqe->told.syndrome = note.syndrome;
        wqe->told.vendor_syndrome = note.vendor_syndrome;
      }
      wqe->whole = true;
    }
  } else if (queue.reliable && note.syndrome != 0 && note.wqebbs == 0) {
    // A copy of a packet that has been acknowledged meanwhile: its WQE is done, but tx_sched has
    // stopped for good.
    if (!queue.error) {
      stop(t, note.qpn, queue);
      errors_.push({{}, note.qpn, false});
      faults_.push({{}, note.qpn, false});
    }
  } else {
    window.add(note, held_history(note.trace, t, order_), t);
    queue.told_to = static_cast<std::uint16_t>(note.wqe_index + note.wqebbs);
    if (static_cast<std::int16_t>(queue.told_to - queue.furthest_to) > 0) {
      queue.furthest_to = queue.told_to;
    }
    const bool packet = note.syndrome == 0 && !note.no_packet;
    if (packet && !queue.error && !timers_.running(note.qpn)) {
      start_timer(t, note.qpn, queue);  // the oldest was sent, perhaps again
    }
  }
  if (!queue.error) {
    // UC and UD are told when nothing more can happen; RC may know from before what has arrived.
    settle(t, note.qpn, queue, queue.reliable ? window.heard() : window.next(), nullptr);
    if (queue.late != cqe_syndrome::None && !queue.error && window.sent_lately(queue.late_psn)) {
      fatal_nak(t, note.qpn, queue, queue.late_psn, queue.late, queue.late_vendor);
    }
  }
  enqueue(note.qpn, queue);
}

// Completions ----

void requester::enqueue(std::uint32_t qpn, send_queue& queue) {
  if (!queue.queued && completable(queue)) {
    queue.queued = true;
    completable_.push(qpn);
  }
}

bool requester::completable(const send_queue& queue) const {
  if (queue.window.empty()) {
    return false;
  }
  const outstanding_wqe& front = queue.window.wqes().front();
  if (queue.window.front_settled()) {
    return front.landed || !front.answered_by_data() || front.told.syndrome != 0;
  }
  // Flushed: not before what is on its way to memory is there, or the buffers would not be free.
  return (queue.error || front.told.syndrome != 0) && front.whole && queue.landings == 0 &&
         (queue.error || front.told.syndrome == Flushed || front.fatal);
}

std::uint8_t requester::syndrome_of(const send_queue& queue) const {
  const outstanding_wqe& front = queue.window.wqes().front();
  if (front.fatal || queue.window.front_settled()) {
    return front.told.syndrome;
  }
  return Flushed;
}

void requester::count(std::uint16_t function, std::uint8_t syndrome) {
  switch (static_cast<cqe_syndrome>(syndrome)) {
    case cqe_syndrome::LocalProtection:
      shared_.counters.add_for(function, counter::LocalProtectionErrors);
      break;
    case cqe_syndrome::WrFlushed:
      shared_.counters.add_for(function, counter::WqeFlushed);
      break;
    case cqe_syndrome::TransportRetryExceeded:
      shared_.counters.add_for(function, counter::ReqTransportRetriesExceeded);
      break;
    case cqe_syndrome::RnrRetryExceeded:
      shared_.counters.add_for(function, counter::ReqRnrRetriesExceeded);
      break;
    default:
      break;
  }
}

void requester::complete(cycle_t t) {
  while (!completable_.empty()) {
    const std::uint32_t qpn = completable_.front();
    send_queue& queue = *queues_[qpn];
    // What nobody asked to be told of completes silently.
    while (completable(queue) && syndrome_of(queue) == 0 &&
           !queue.window.wqes().front().told.signaled) {
      queue.window.pop();
    }
    if (!completable(queue)) {
      queue.queued = false;
      completable_.pop();
      check_drained(qpn, queue);
      continue;
    }
    outstanding_wqe& front = queue.window.wqes().front();
    if (!io_.cqes.has_credit(t)) {
      front.history.waits_for(context_, site(), t, cqe_credit_);
      io_.cqes.ask_credit(t);
      return;
    }
    const std::uint8_t syndrome = syndrome_of(queue);
    cqe_item item = cqe_of(front, syndrome);
    item.trace = front.history.wait_until(context_, site(), t);
    count(queue.function, syndrome);
    queue.window.pop();
    io_.cqes.push(t, Latency, item);
    wake(t + 1);
    return;
  }
}

// SQD ----

void requester::check_drained(std::uint32_t qpn, send_queue& queue) {
  // What went back is not there yet, but has begun: it comes again.
  if (queue.state != qp_state::Sqd || !queue.marked || queue.drained || queue.halted ||
      queue.error || !queue.window.empty() || queue.told_to != queue.furthest_to) {
    return;
  }
  queue.drained = true;
  async_event event;
  event.function = queue.function;
  event.kind = static_cast<std::uint8_t>(event_type::SqDrained);
  event.number = qpn;
  events_.push(event);
}

// Streams that may be full for a while ----

void requester::send_out(cycle_t t) {
  const auto drain = [this, t](auto& waiting, auto& output) {
    if (waiting.empty()) {
      return;
    }
    if (!output.has_credit(t)) {
      output.ask_credit(t);
      return;
    }
    output.push(t, 1, waiting.pop());
    if (!waiting.empty()) {
      wake(t + 1);
    }
  };
  drain(controls_, io_.controls);
  drain(errors_, io_.errors);
  drain(faults_, io_.told_responder);
  drain(events_, io_.events);
}

cycle_t requester::cycles_of(std::uint64_t ns) const {
  const std::uint64_t period = context_.clock.period();
  return (ns * PsPerNs + period - 1) / period;
}

}  // namespace carillon
