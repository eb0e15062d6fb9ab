// requester: timers, retries, going back, and the end of a queue.
#include <utility>

#include "gen/wire.h"
#include "requester.h"

namespace carillon {

namespace {

/// The ACK timer runs for 4.096 us * 2^n.
constexpr std::uint64_t AckTimerNs = 4096;
constexpr std::uint8_t RetryForEver = 7;

}  // namespace

/// Something new was acknowledged.
void requester::progress(cycle_t t, std::uint32_t qpn, send_queue& queue) {
  queue.retries_left = queue.retry_count;
  queue.rnr_left = queue.rnr_retry;
  queue.gap_known = false;
  if (psn_before(queue.late_psn, queue.window.oldest())) {
    queue.late = cqe_syndrome::None;
  }
  start_timer(t, qpn, queue);
}

/// The timer of the oldest packet begins; there is none if nothing is on its way.
void requester::start_timer(cycle_t t, std::uint32_t qpn, const send_queue& queue) {
  if (queue.reliable && queue.ack_timeout != 0 && queue.window.outstanding()) {
    timers_.set(qpn, t + cycles_of(AckTimerNs << queue.ack_timeout));
  } else {
    timers_.clear(qpn);
  }
}

void requester::tell_progress(std::uint32_t qpn, send_queue& queue) {
  if (!queue.reliable || queue.error || queue.halted) {
    return;
  }
  const std::uint32_t news = psn_distance(queue.told_oldest, queue.window.oldest());
  const bool idle = !queue.window.outstanding() && news != 0;
  if (queue.reads_done == 0 && !idle && news < progress_step_) {
    return;
  }
  send_control control;
  control.kind = send_control_kind::progress;
  control.qpn = qpn;
  control.epoch = queue.epoch;
  control.psn = queue.window.oldest();
  control.reads_done = std::exchange(queue.reads_done, std::uint8_t{0});
  queue.told_oldest = queue.window.oldest();
  controls_.push(control);
}

// Timers ----

void requester::expire(cycle_t t) {
  std::uint32_t qpn = 0;
  while (timers_.take_due(t, qpn)) {
    send_queue& queue = *queues_[qpn];
    if (queue.halted) {
      restart(t, qpn, queue, rnr_timer_);
    } else if (queue.window.outstanding() && !queue.error) {
      shared_.counters.add(counter::LocalAckTimeoutErr);
      queue.gap_known = false;
      retry(t, qpn, queue, ack_timeout_, vendor_syndrome::AckTimeout);
    }
    enqueue(qpn, queue);
  }
}

// Going back ----

/// A response came beyond the one that is waited for: that one was lost. Others that follow say
/// the same.
void requester::gap(cycle_t t, std::uint32_t qpn, send_queue& queue, std::uint32_t beyond) {
  const bool known = queue.gap_known;
  queue.gap_seen = beyond;
  if (known) {
    return;
  }
  shared_.counters.add(counter::ImpliedNakSeqErr);
  retry(t, qpn, queue, go_back_, vendor_syndrome::ImpliedNak);
  queue.gap_known = true;
}

/// Data beyond a gap that is known. Answers come in the order of their PSNs: one that does not lie
/// behind those before it answers the repeated request, whose first answer was lost again.
void requester::look_for_new_gap(send_queue& queue, std::uint32_t beyond) {
  const std::uint32_t oldest = queue.window.oldest();
  if (queue.gap_known && psn_distance(oldest, beyond) <= psn_distance(oldest, queue.gap_seen)) {
    queue.gap_known = false;
  }
}

void requester::retry(cycle_t t, std::uint32_t qpn, send_queue& queue, name_id reason,
                      vendor_syndrome vendor) {
  if (queue.retries_left == 0) {
    fail(t, qpn, queue, queue.window.head(), cqe_syndrome::TransportRetryExceeded, vendor);
    return;
  }
  --queue.retries_left;
  ++queue.epoch;
  restart(t, qpn, queue, reason);
}

void requester::receiver_not_ready(cycle_t t, std::uint32_t qpn, send_queue& queue,
                                   std::uint8_t code) {
  if (queue.rnr_retry != RetryForEver) {
    if (queue.rnr_left == 0) {
      fail(t, qpn, queue, queue.window.head(), cqe_syndrome::RnrRetryExceeded,
           vendor_syndrome::None);
      return;
    }
    --queue.rnr_left;
  }
  ++queue.epoch;
  queue.halted = true;
  timers_.set(qpn, t + cycles_of(RnrTimerNs[code]));
  send_control control;
  control.kind = send_control_kind::halt;
  control.qpn = qpn;
  control.epoch = queue.epoch;
  controls_.push(control);
}

/// From the oldest unacknowledged packet on everything is sent again, in the present epoch, which
/// nothing was sent in yet.
void requester::restart(cycle_t t, std::uint32_t qpn, send_queue& queue, name_id reason) {
  send_window& window = queue.window;
  shared_.counters.add(counter::ReqGoBacks);
  send_control control;
  control.kind = send_control_kind::restart;
  control.qpn = qpn;
  control.epoch = queue.epoch;
  control.psn = window.oldest();
  control.skip = psn_distance(window.head().told.first_psn, window.oldest());
  control.wqe_index = window.head().told.wqe_index;
  controls_.push(control);
  queue.told_to = control.wqe_index;
  while (window.any_unsettled()) {
    const outstanding_wqe wqe = window.take_newest();
    held_history history(wqe.told.trace, wqe.told_in, reason);
    shared_.posted.post(qpn, wqe.told.wqe_index, history.wait_until(context_, site(), t),
                        time_of(t));
  }
  window.go_back();
  timers_.clear(qpn);
  queue.halted = false;
  queue.told_oldest = window.oldest();
  queue.reads_done = 0;
}

// The end of a queue ----

/// A WQE that failed before it was sent, or while it was, fails the queue when it is the oldest.
void requester::check_head(cycle_t t, std::uint32_t qpn, send_queue& queue) {
  if (queue.error || !queue.window.any_unsettled()) {
    return;
  }
  outstanding_wqe& head = queue.window.head();
  if (head.told.syndrome != 0 &&
      head.told.syndrome != static_cast<std::uint8_t>(cqe_syndrome::WrFlushed)) {
    fail(t, qpn, queue, head, static_cast<cqe_syndrome>(head.told.syndrome),
         static_cast<vendor_syndrome>(head.told.vendor_syndrome));
  }
}

/// `wqe` completes with that syndrome, everything behind it is flushed. Of UC and UD only the send
/// queue has ended, and only until it is moved to RTS again.
void requester::fail(cycle_t t, std::uint32_t qpn, send_queue& queue, outstanding_wqe& wqe,
                     cqe_syndrome syndrome, vendor_syndrome vendor) {
  wqe.fatal = true;
  wqe.told.syndrome = static_cast<std::uint8_t>(syndrome);
  wqe.told.vendor_syndrome = static_cast<std::uint8_t>(vendor);
  stop(t, qpn, queue);
  qp_error error;
  error.qpn = qpn;
  error.send_queue_only = !queue.reliable;
  errors_.push(error);
  if (queue.reliable) {
    faults_.push(error);
  }
}

/// What was told of is flushed from here; what was not comes in notes that say so.
void requester::stop(cycle_t t, std::uint32_t qpn, send_queue& queue) {
  timers_.clear(qpn);
  if (queue.halted) {
    // tx_sched has nothing of the queue any more: what was posted is fetched for the last time.
    restart(t, qpn, queue, rnr_timer_);
  }
  queue.error = true;
  send_control control;
  control.kind = send_control_kind::error;
  control.qpn = qpn;
  control.epoch = queue.epoch;
  controls_.push(control);
}

}  // namespace carillon
