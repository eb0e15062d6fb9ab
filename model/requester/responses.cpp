// requester: what the peer answers.
#include <algorithm>
#include <utility>

#include "common/congestion.h"
#include "common/key_lookup.h"
#include "gen/wire.h"
#include "requester.h"

namespace carillon {

namespace {

constexpr unsigned WriteLatency = stage_spec::requester::ResponseWrite;
constexpr std::uint32_t AtomicBytes = 8;

aeth_kind kind_of(std::uint8_t syndrome) {
  return static_cast<aeth_kind>(syndrome >> 5);
}

std::uint8_t code_of(std::uint8_t syndrome) {
  return syndrome & 0x1f;
}

}  // namespace

void requester::take_response(cycle_t t) {
  if (!io_.responses.takeable(t)) {
    return;
  }
  if (landings_.full()) {
    full_in_ = t;
    return;
  }
  const rx_packet response = io_.responses.take(t);
  if (is_cnp(response)) {
    notified(t, response);
    return;
  }
  if (io_.notes != nullptr && asks_for_cnp(response)) {
    io_.notes->push(t, 1, note_of(response, note_kind::marked));
  }
  if (response.verdict != rx_verdict::response) {
    return;  // counted where the verdict was given
  }
  switch (static_cast<bth_opcode>(response.bth_opcode)) {
    case bth_opcode::RcAcknowledge:
      if (kind_of(response.syndrome) == aeth_kind::Ack) {
        shared_.counters.add_for(response.function, counter::AcksReceived);
        acknowledged(t, response);
      } else {
        refused(t, response);
      }
      break;
    case bth_opcode::RcReadResponseFirst:
    case bth_opcode::RcReadResponseMiddle:
    case bth_opcode::RcReadResponseLast:
    case bth_opcode::RcReadResponseOnly:
    case bth_opcode::RcAtomicAcknowledge:
      answered(t, response);
      break;
    default:
      shared_.counters.add_for(response.function, counter::ReqBadResponse);
      return;
  }
  if (send_queue* queue = find(response.qpn); queue != nullptr) {
    enqueue(response.qpn, *queue);
  }
}

/// A CNP is about the rate, and about nothing that is in flight.
void requester::notified(cycle_t t, const rx_packet& cnp) {
  if (io_.notes == nullptr || cnp.verdict != rx_verdict::response) {
    shared_.counters.add_for(cnp.function, counter::RpCnpIgnored);
    return;
  }
  io_.notes->push(t, 1, note_of(cnp, note_kind::cnp));
}

/// The queue that waits for it; nullptr if it is about nothing that is in flight.
requester::send_queue* requester::addressee(const rx_packet& response) {
  send_queue* queue = find(response.qpn);
  if (queue == nullptr || !queue->listens() || !queue->window.in_flight(response.psn)) {
    shared_.counters.add_for(response.function, counter::ReqResponsesIgnored);
    return nullptr;
  }
  return queue;
}

// ACKs ----

void requester::acknowledged(cycle_t t, const rx_packet& response) {
  send_queue* queue = addressee(response);
  if (queue == nullptr) {
    return;
  }
  const bool lately = queue->window.sent_lately(response.psn);
  const std::uint32_t end = psn_add(response.psn, 1);
  queue->window.hear(end);
  const window_step step = settle(t, response.qpn, *queue, end, &response.trace);
  if (step.beyond && lately) {
    gap(t, response.qpn, *queue, response.psn);
  }
}

/// All packets before `end` have arrived, as `evidence` says if there is one.
window_step requester::settle(cycle_t t, std::uint32_t qpn, send_queue& queue, std::uint32_t end,
                              const trace_ref* evidence) {
  send_window& window = queue.window;
  const window_step step = window.advance(end);
  for (std::size_t i = step.from; i < step.from + step.settled; ++i) {
    outstanding_wqe& wqe = window.wqes()[i];
    if (evidence != nullptr && !wqe.told.no_packet && wqe.told.syndrome == 0) {
      wqe.history = held_history(join(wqe.told.trace, *evidence, t), t, order_);
    }
  }
  if (step.advanced) {
    progress(t, qpn, queue);
  }
  check_head(t, qpn, queue);
  tell_progress(qpn, queue);
  return step;
}

trace_ref requester::join(trace_ref sent, trace_ref acknowledge, cycle_t t) {
  trace_ref joined;
  if (sent.message == acknowledge.message) {
    joined = context_.trace.later(sent, acknowledge);
  } else {
    // An acknowledge of a later message covers this one too: it lived through that one's way.
    joined = context_.trace.adopt(sent, acknowledge, milestone::first_bit, site(), acknowledge_);
  }
  const ps_t end = context_.trace.end_of(joined);
  return context_.trace.wait(joined, site(), acknowledge_, end, std::max(end, time_of(t)));
}

// NAKs ----

void requester::refused(cycle_t t, const rx_packet& response) {
  const aeth_kind kind = kind_of(response.syndrome);
  const std::uint8_t code = code_of(response.syndrome);
  cqe_syndrome fatal = cqe_syndrome::None;
  if (kind == aeth_kind::RnrNak) {
    shared_.counters.add_for(response.function, counter::RnrNakRetryErr);
  } else if (kind == aeth_kind::Nak &&
             code <= static_cast<std::uint8_t>(nak_code::RemoteOperationalError)) {
    switch (static_cast<nak_code>(code)) {
      case nak_code::PsnSequenceError:
        shared_.counters.add_for(response.function, counter::PacketSeqErr);
        break;
      case nak_code::InvalidRequest:
        shared_.counters.add_for(response.function, counter::ReqRemoteInvalidRequest);
        fatal = cqe_syndrome::RemoteInvalidRequest;
        break;
      case nak_code::RemoteAccessError:
        shared_.counters.add_for(response.function, counter::ReqRemoteAccessErrors);
        fatal = cqe_syndrome::RemoteAccess;
        break;
      case nak_code::RemoteOperationalError:
        shared_.counters.add_for(response.function, counter::ReqRemoteOperationErrors);
        fatal = cqe_syndrome::RemoteOperation;
        break;
    }
  } else {
    shared_.counters.add_for(response.function, counter::ReqBadResponse);
    return;
  }
  send_queue* found = addressee(response);
  if (found == nullptr) {
    return;
  }
  send_queue& queue = *found;
  const bool lately = queue.window.sent_lately(response.psn);
  queue.window.hear(response.psn);
  settle(t, response.qpn, queue, response.psn, &response.trace);
  if (queue.error) {
    return;  // what failed before it is the oldest now
  }
  if (fatal != cqe_syndrome::None) {
    fatal_nak(t, response.qpn, queue, response.psn, fatal, 0);
  } else if (!lately) {
    return;  // it is being sent again already
  } else if (queue.window.oldest() != response.psn) {
    gap(t, response.qpn, queue, response.psn);
  } else if (kind == aeth_kind::RnrNak) {
    receiver_not_ready(t, response.qpn, queue, code);
  } else {
    retry(t, response.qpn, queue, go_back_, vendor_syndrome::SequenceNak);
  }
}

/// The packet of that PSN ends the queue, once all before it is settled.
void requester::fatal_nak(cycle_t t, std::uint32_t qpn, send_queue& queue, std::uint32_t psn,
                          cqe_syndrome syndrome, std::uint8_t vendor) {
  queue.late = syndrome;
  queue.late_vendor = vendor;
  queue.late_psn = psn;
  if (!queue.window.sent_lately(psn)) {
    return;  // the verdict holds when the packet has been sent again
  }
  outstanding_wqe& head = queue.window.head();
  if (!head.contains(psn)) {
    gap(t, qpn, queue, psn);
    return;
  }
  queue.late = cqe_syndrome::None;
  fail(t, qpn, queue, head, syndrome, static_cast<vendor_syndrome>(vendor));
}

// READ data, atomic results ----

void requester::answered(cycle_t t, const rx_packet& response) {
  send_queue* found = addressee(response);
  if (found == nullptr) {
    return;
  }
  send_queue& queue = *found;
  if (!queue.window.sent_lately(response.psn)) {
    if (queue.gap_known) {
      queue.gap_seen = response.psn;
    }
    shared_.counters.add_for(response.function, counter::ReqResponsesIgnored);
    return;  // asked for again, but not yet
  }
  // A response acknowledges everything before it.
  queue.window.hear(response.psn);
  settle(t, response.qpn, queue, response.psn, &response.trace);
  if (queue.error) {
    return;
  }
  if (queue.window.oldest() != response.psn) {
    look_for_new_gap(queue, response.psn);
    gap(t, response.qpn, queue, response.psn);
    return;
  }
  outstanding_wqe& head = queue.window.head();
  const response_fault fault = check_response(head, response);
  if (fault != response_fault::none) {
    shared_.counters.add_for(response.function, counter::ReqBadResponse);
    fail(t, response.qpn, queue, head, cqe_syndrome::BadResponse,
         fault == response_fault::kind     ? vendor_syndrome::ResponseKind
         : fault == response_fault::opcode ? vendor_syndrome::ResponseOpcode
                                           : vendor_syndrome::ResponseLength);
    return;
  }
  accept(t, queue, response);
}

void requester::accept(cycle_t t, send_queue& queue, const rx_packet& response) {
  outstanding_wqe& wqe = queue.window.head();
  const std::uint32_t length = wqe.atomic() ? AtomicBytes : response.payload;
  const bool last = response.psn == wqe.told.last_psn;
  const std::uint32_t offset =
      psn_distance(wqe.told.first_psn, response.psn) * (128U << wqe.told.mtu_code);
  if (length != 0) {
    const std::size_t id = landings_.add();
    response_landing& landing = landings_.slot(id);
    landing.qpn = response.qpn;
    landing.life = queue.life;
    landing.wqe_index = wqe.told.wqe_index;
    landing.function = wqe.told.function;
    landing.last = last;
    landing.epoch = queue.epoch;
    landing.history = held_history(response.trace, t, order_);
    if (wqe.atomic()) {
      // What the responder's memory had, as a number of the host's.
      landing.bytes = shared_.buffers.take();
      landing.offset = 0;
      for (unsigned i = 0; i < AtomicBytes; ++i) {
        landing.bytes.data()[i] = static_cast<std::uint8_t>(response.atomic_result >> (8 * i));
      }
    } else {
      landing.bytes = response.bytes;
      landing.offset = response.payload_offset;
    }
    cut_scatter_list(wqe.told.body.data(), wqe.told.sge_count, offset, length, landing.parts);
    if (wqe.told.paged) {
      landing.missing = static_cast<unsigned>(landing.parts.size());
      for (std::size_t i = 0; i < landing.parts.size(); ++i) {
        const landing_part& part = landing.parts[i];
        key_use use;
        use.key = part.lkey;
        use.pd = queue.pd;
        use.qpn = response.qpn;
        use.function = wqe.told.function;
        use.right = key_right::local_write;
        use.address = part.address;
        use.length = part.length;
        keys_->ask(t, id * MaxSge + i, use, landing.history);
      }
    } else {
      landing.pieces = landing.parts;
    }
    ++queue.landings;
  } else if (last) {
    wqe.landed = true;
  }
  if (last) {
    wqe.history = held_history(join(wqe.told.trace, response.trace, t), t, order_);
    queue.reads_done += length == 0 ? 1 : 0;  // with data it is done when that has landed
  }
  queue.window.answer();
  progress(t, response.qpn, queue);
  // Behind it may be what the peer has acknowledged already.
  settle(t, response.qpn, queue, queue.window.heard(), nullptr);
}

/// Writes what has its addresses, in the order in which it came, one piece a cycle.
void requester::land(cycle_t t) {
  while (!landings_.empty()) {
    response_landing& front = landings_.front();
    if (front.missing != 0) {
      return;
    }
    const send_queue& queue = *queues_[front.qpn];
    const bool writes = !front.fault && front.life == queue.life;
    if (!writes || front.written == front.pieces.size()) {
      landed(t, front);
      landings_.pop();
      continue;
    }
    const landing_part& piece = front.pieces[front.written];
    const unsigned beats = beats_of(piece.length);
    if (!io_.writes.has_credit(t, beats)) {
      front.history.waits_for(context_, site(), t, write_credit_);
      io_.writes.ask_credit(t, beats);
      return;
    }
    if (io_.writes.port_free() > t + WriteLatency) {
      front.history.waits_for(context_, site(), t, write_port_);
      wake(io_.writes.port_free() - WriteLatency);
      return;
    }
    dma_write out;
    out.trace = front.history.wait_until(context_, site(), t);
    out.function = front.function;
    out.address = piece.address;
    out.length = piece.length;
    out.from = front.bytes;
    out.from_offset = front.offset + piece.from;
    if (front.last && front.written + 1 == front.pieces.size()) {
      out.point = milestone::delivered;
      out.point_last = true;
    }
    ++front.written;
    io_.writes.push(t, WriteLatency, std::move(out), beats);
  }
}

void requester::landed(cycle_t t, response_landing& landing) {
  send_queue& queue = *queues_[landing.qpn];
  if (landing.life != queue.life) {
    return;
  }
  --queue.landings;
  if (landing.last && !landing.fault && landing.epoch == queue.epoch) {
    ++queue.reads_done;  // what is fenced may read what was written
    tell_progress(landing.qpn, queue);
  }
  ring<outstanding_wqe>& wqes = queue.window.wqes();
  for (std::size_t i = 0; i < wqes.size(); ++i) {
    outstanding_wqe& wqe = wqes[i];
    if (wqe.told.wqe_index != landing.wqe_index) {
      continue;
    }
    wqe.landed = wqe.landed || landing.last;
    if (landing.fault && !wqe.fatal && (!queue.error || queue.window.is_settled(i))) {
      wqe.fatal = true;
      wqe.told.syndrome = static_cast<std::uint8_t>(cqe_syndrome::LocalProtection);
      wqe.told.vendor_syndrome = static_cast<std::uint8_t>(vendor_syndrome::ResponseKey);
    }
    if (landing.fault && !queue.error) {
      // While the queue is halted, what is not settled goes back; the failed one must stay.
      queue.window.unsettle(queue.halted ? i + 1 : i);
      fail(t, landing.qpn, queue, wqe, cqe_syndrome::LocalProtection, vendor_syndrome::ResponseKey);
    }
    enqueue(landing.qpn, queue);
    return;
  }
  if (landing.fault && !queue.error) {
    // It is being sent again, and fails when it has been.
    queue.late = cqe_syndrome::LocalProtection;
    queue.late_vendor = static_cast<std::uint8_t>(vendor_syndrome::ResponseKey);
    queue.late_psn = queue.window.oldest();
  }
  enqueue(landing.qpn, queue);
}

}  // namespace carillon
