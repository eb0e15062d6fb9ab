// The end of a packet: its writes, its answer and its completion, in the order of its QP.
#include <algorithm>
#include <utility>

#include "gen/wqe.h"
#include "responder.h"

namespace carillon {
namespace {

constexpr std::uint8_t syndrome_of(aeth_kind kind, unsigned value) {
  return static_cast<std::uint8_t>(static_cast<unsigned>(kind) << 5 | value);
}

constexpr std::uint8_t AckSyndrome = syndrome_of(aeth_kind::Ack, AckCreditsInvalid);

cqe_opcode receive_opcode(const request_step& step) {
  if (!step.is_send()) {
    return cqe_opcode::ResponderWriteImmediate;
  }
  if (step.invalidates) {
    return cqe_opcode::ResponderSendInvalidate;
  }
  return step.has_imm ? cqe_opcode::ResponderSendImmediate : cqe_opcode::ResponderSend;
}

}  // namespace

void responder::write(cycle_t t) {
  for (std::size_t i = 0; i < age_.size(); ++i) {
    const std::uint8_t id = age_[i];
    packet_slot& slot = slots_[id];
    if (slot.at != phase::write) {
      continue;
    }
    if (t < slot.ready) {
      wake(slot.ready);
      continue;
    }
    if (older_of_qp(id)) {
      slot.history.waits_for(context_, site(), t, order_);
      continue;  // its leaving wakes us
    }
    if (last_write_ == t) {
      slot.history.waits_for(context_, site(), t, arbiter_);
      wake(t + 1);
      continue;
    }
    if (write_one(t, id)) {
      leave(t, id);
      --i;
    }
  }
}

/// One write, or the end of the packet. True if the packet leaves.
bool responder::write_one(cycle_t t, std::uint8_t id) {
  packet_slot& slot = slots_[id];
  const qp_row& row = *slot.row;
  if (slot.abandoned) {
    shared_.counters.add_for(slot.packet.function, counter::RxDropBadState);
    return true;
  }
  if (row.error) {
    shared_.counters.add_for(slot.packet.function, counter::RxDropAfterError);
    return true;
  }
  const bool reliable = slot.common.service == qp_service::Rc;
  if (!reliable && (slot.dropped || slot.step.ignored || slot.message == row.refused_message)) {
    shared_.counters.add_for(slot.packet.function, slot.step.wrong_qkey
                                                       ? counter::QkeyViolations
                                                       : counter::RxDropUnreliable);
    return true;
  }
  if (slot.refused) {
    return refuse(t, slot);
  }
  if (slot.fault != request_fault::none) {
    return fail_packet(t, slot);
  }
  if (slot.answer != answer_kind::none) {
    return give_answer(t, slot);
  }
  if (slot.step.kind == request_kind::atomic) {
    start_atomic(t, slot);
    return true;
  }
  if (slot.written + 1 >= slot.targets.size() && !may_end(t, slot)) {
    return false;
  }
  if (slot.written == slot.targets.size()) {
    end_packet(t, slot, slot.history.wait_until(context_, site(), t));
    return true;
  }
  return write_target(t, slot);
}

/// Room for all that goes with a packet's last write.
bool responder::may_end(cycle_t t, packet_slot& slot) {
  const bool answers = slot.common.service == qp_service::Rc &&
                       (slot.packet.ack_request || slot.step.kind == request_kind::read);
  return !(answers && lacks(t, io_.responses, response_credit_, &slot.history)) &&
         !(slot.step.completes_receive && lacks(t, io_.cqes, cqe_credit_, &slot.history)) &&
         !(slot.step.invalidates &&
           lacks(t, io_.invalidations, invalidation_credit_, &slot.history));
}

/// One write of the packet's bytes; true if the packet leaves with it.
bool responder::write_target(cycle_t t, packet_slot& slot) {
  if (lacks(t, io_.writes, write_credit_, &slot.history)) {
    return false;
  }
  const bool ends = slot.written + 1 == slot.targets.size();
  const trace_ref history = slot.history.wait_until(context_, site(), t);
  const target& to = slot.targets[slot.written++];
  dma_write out;
  out.trace = history;
  out.function = slot.packet.function;
  out.address = to.address;
  out.length = to.length;
  out.from = slot.packet.bytes;
  out.from_offset = slot.packet.payload_offset + slot.bytes_written;
  if (ends && slot.step.last) {
    out.point = milestone::delivered;
    out.point_last = true;
  }
  slot.bytes_written += to.length;
  push_write(t, std::move(out));
  if (ends) {
    end_packet(t, slot, history);
    return true;
  }
  slot.history.served_until(context_, site(), t + 1);
  wake(t + 1);
  return false;
}

void responder::push_write(cycle_t t, dma_write out) {
  last_write_ = t;
  ++writes_pushed_;
  io_.writes.push(t, WriteLatency, std::move(out));
}

void responder::end_packet(cycle_t t, packet_slot& slot, trace_ref history) {
  last_write_ = t;
  const request_step& step = slot.step;
  if (step.kind == request_kind::read) {
    respond_read(t, slot, step.next.rmsn, history, true);
    slot.row->saved.answered();
    shared_.counters.add_for(slot.packet.function, counter::RxReadRequests);
    return;
  }
  if (slot.common.service == qp_service::Rc && slot.packet.ack_request) {
    respond(t, slot, AckSyndrome, slot.packet.psn, step.next.rmsn, history);
    shared_.counters.add_for(slot.packet.function, counter::AcksSent);
  }
  if (step.invalidates) {
    io_.invalidations.push(t, 1, {{}, slot.packet.imm >> MkeyVariantBits});
    shared_.counters.add_for(slot.packet.function, counter::RxInvalidatedKeys);
  }
  if (step.completes_receive) {
    report(t, slot, history);
  }
  if (step.last) {
    shared_.counters.add_for(slot.packet.function,
                             step.is_send() ? counter::RxSendMessages : counter::RxWriteRequests);
  }
}

/// The completion of a receive WQE; its payload goes before.
void responder::report(cycle_t t, packet_slot& slot, trace_ref history) {
  qp_row& row = *slot.row;
  const bool datagram = slot.common.service == qp_service::Ud;
  CARILLON_CHECK(!row.open_receives.empty() && row.open_receives.front() == slot.receive,
                 "{}: QP {} completes receive WQE {} out of order", path(), row.qpn, slot.receive);
  cqe_item cqe;
  cqe.trace = history;
  cqe.cqn = slot.common.cq_num_recv;
  cqe.qpn = slot.packet.qpn;
  cqe.cqe_opcode = static_cast<std::uint8_t>(receive_opcode(slot.step));
  cqe.wqe_counter = slot.receive_index;
  cqe.byte_count = slot.step.message_bytes;
  cqe.imm = slot.step.has_imm || slot.step.invalidates ? slot.packet.imm : 0;
  cqe.remote_qpn = datagram ? slot.packet.source_qpn : slot.common.remote_qpn;
  cqe.srqn = row.shared != nullptr ? row.shared->number : 0;
  cqe.service_level = slot.packet.priority;
  cqe.grh = datagram;
  cqe.solicited = slot.packet.solicited;
  if (slot.step.message_bytes == 0) {
    cqe.point = milestone::delivered;  // there is no payload to mark it
  }
  io_.cqes.push(t, WriteLatency, cqe);
  finish_receive(t, row);
}

/// The oldest open receive WQE has its completion.
void responder::finish_receive(cycle_t t, qp_row& row) {
  const std::uint16_t receive = row.open_receives.pop();
  if (row.shared != nullptr) {
    row.shared->queue.finished(receive);
    want_wqe(t, *row.shared);
  } else {
    row.queue.finished(receive);
    want_batch(t, row);
  }
}

void responder::respond(cycle_t t, const packet_slot& slot, std::uint8_t syndrome,
                        std::uint32_t psn, std::uint32_t msn, trace_ref history) {
  response_item item;
  item.trace = history;
  item.function = slot.packet.function;
  item.qpn = slot.packet.qpn;
  item.psn = psn;
  item.syndrome = syndrome;
  item.msn = msn;
  io_.responses.push(t, WriteLatency, item);
}

/// `saved`: it is not a replay.
void responder::respond_read(cycle_t t, const packet_slot& slot, std::uint32_t msn,
                             trace_ref history, bool saved) {
  response_item item;
  item.trace = history;
  item.kind = response_kind::read;
  item.function = slot.packet.function;
  item.qpn = slot.packet.qpn;
  item.psn = slot.packet.psn;
  item.syndrome = AckSyndrome;
  item.msn = msn;
  item.saved = saved;
  item.generation = slot.row->generation;
  item.address = slot.step.address;
  item.rkey = slot.packet.rkey;
  item.length = slot.step.message_bytes;
  item.mtu_code = static_cast<std::uint8_t>(slot.common.mtu);
  item.paged = slot.paged;
  item.writes_before = writes_pushed_;
  io_.responses.push(t, WriteLatency, item);
}

/// No receive WQE: an RC peer shall try again.
bool responder::refuse(cycle_t t, packet_slot& slot) {
  if (slot.common.service == qp_service::Rc) {
    if (lacks(t, io_.responses, response_credit_, &slot.history)) {
      return false;
    }
    last_write_ = t;
    respond(t, slot, syndrome_of(aeth_kind::RnrNak, slot.row->line.min_rnr_nak), slot.answer_psn,
            slot.answer_msn, slot.history.wait_until(context_, site(), t));
    shared_.counters.add_for(slot.packet.function, counter::RnrNakSent);
  }
  shared_.counters.add_for(slot.packet.function, counter::RxOutOfBuffer);
  return true;
}

/// What a packet beyond or before the expected one is answered with.
bool responder::give_answer(cycle_t t, packet_slot& slot) {
  std::optional<std::uint64_t> result;
  if (slot.answer == answer_kind::replay && slot.step.kind == request_kind::atomic) {
    result = slot.row->saved.result_of(slot.packet.psn, find_opcode(slot.packet.bth_opcode)->verb,
                                       slot.packet.remote_address);
    if (!result) {
      shared_.counters.add_for(slot.packet.function, counter::DuplicatesDropped);
      return true;
    }
  }
  if (lacks(t, io_.responses, response_credit_, &slot.history)) {
    return false;
  }
  last_write_ = t;
  const trace_ref history = slot.history.wait_until(context_, site(), t);
  switch (slot.answer) {
    case answer_kind::none:
      break;
    case answer_kind::sequence_nak:
      respond(t, slot,
              syndrome_of(aeth_kind::Nak, static_cast<unsigned>(nak_code::PsnSequenceError)),
              slot.answer_psn, slot.answer_msn, history);
      shared_.counters.add_for(slot.packet.function, counter::NakSequenceSent);
      break;
    case answer_kind::duplicate_ack:
      respond(t, slot, AckSyndrome, slot.answer_psn, slot.answer_msn, history);
      shared_.counters.add_for(slot.packet.function, counter::AcksSent);
      break;
    case answer_kind::replay:
      if (result) {
        respond_atomic(t, slot.packet, slot.answer_msn, *result, history, nullptr);
        shared_.counters.add_for(slot.packet.function, counter::AtomicReplays);
      } else {
        respond_read(t, slot, slot.answer_msn, history, false);
        shared_.counters.add_for(slot.packet.function, counter::ReadReplays);
      }
      break;
  }
  return true;
}

void responder::leave(cycle_t t, std::uint8_t id) {
  packet_slot& slot = slots_[id];
  slot.used = false;
  slot.packet = rx_packet{};
  age_.erase(std::find(age_.begin(), age_.end(), id));
  if (!age_.empty()) {
    wake(t + 1);
  }
}

bool responder::lacks(cycle_t t, stream_base& output, name_id reason, held_history* waiting) {
  if (output.has_credit(t)) {
    return false;
  }
  if (waiting != nullptr) {
    waiting->waits_for(context_, site(), t, reason);
  }
  output.ask_credit(t);
  return true;
}

}  // namespace carillon
