#include "responder.h"

#include <algorithm>
#include <utility>

#include "gen/wire.h"
#include "gen/wqe.h"

namespace carillon {
namespace {

constexpr unsigned KeyLookup = stage_spec::qpc_ram::Latency;
constexpr unsigned WriteLatency = stage_spec::responder::Latency - KeyLookup;

cqe_opcode receive_opcode(const request_step& step) {
  if (!step.is_send) {
    return cqe_opcode::ResponderWriteImmediate;
  }
  return step.has_imm ? cqe_opcode::ResponderSendImmediate : cqe_opcode::ResponderSend;
}

constexpr std::uint8_t AckSyndrome =
    static_cast<std::uint8_t>(static_cast<unsigned>(aeth_kind::Ack) << 5 | AckCreditsInvalid);

}  // namespace

responder::responder(const sc_core::sc_module_name& name, nic_shared& shared, const ports& io)
    : stage(name, shared.context, "responder"),
      shared_(shared),
      io_(io),
      order_(context_.trace.intern("order")),
      arbiter_(context_.trace.intern("arbiter")),
      commit_(context_.trace.intern("commit")),
      record_(context_.trace.intern("receive_record")),
      receive_wqe_(context_.trace.intern("receive_wqe")),
      line_credit_(context_.trace.intern("credit:" + io.lines.name())),
      commit_credit_(context_.trace.intern("credit:" + io.commits.name())),
      write_credit_(context_.trace.intern("credit:" + io.writes.name())),
      ack_credit_(context_.trace.intern("credit:" + io.acks.name())),
      cqe_credit_(context_.trace.intern("credit:" + io.cqes.name())) {
  io_.packets.to(*this, site());
  io_.commands.to(*this, site());
  io_.key_lines.to(*this, site());
  io_.reads_done.to(*this, site());
  io_.key_reads.from(*this, site());
  io_.reads.from(*this, site());
  io_.writes.from(*this, site());
  io_.lines.from(*this, site());
  io_.commits.from(*this, site());
  io_.acks.from(*this, site());
  io_.cqes.from(*this, site());
  age_.reserve(Slots);
  const auto full = [this](cycle_t) { return age_.size() == Slots; };
  const auto full_without = [this, full](stream_base& output) {
    return blocker::condition("credit:" + output.name(), [full, &output](cycle_t t) {
      return full(t) && !output.has_credit(t);
    });
  };
  watch(io_.packets,
        {blocker::condition("commit", [this](cycle_t t) { return last_commit_ == t; }),
         blocker::credit(io_.commits), blocker::credit(io_.lines),
         blocker::condition("receive_record",
                            [this, full](cycle_t t) { return full(t) && any_at(phase::credit); }),
         blocker::condition("receive_wqe",
                            [this, full](cycle_t t) { return full(t) && any_at(phase::receive); }),
         full_without(io_.writes), full_without(io_.acks), full_without(io_.cqes),
         blocker::condition("slots", full)});
  // Their slots are reserved: they never wait.
  watch(io_.commands, {});
  watch(io_.key_lines, {});
  watch(io_.reads_done, {});
}

void responder::evaluate(cycle_t t) {
  take_commands(t);
  take_keys(t);
  take_reads(t);
  for (const std::uint8_t id : age_) {
    advance(t, id);
  }
  write(t);
  take_packet(t);
  issue_keys(t);
  issue_reads(t);
}

// Ports
// ------------------------------------------------------------------------------------------------

void responder::take_commands(cycle_t t) {
  if (!io_.commands.takeable(t)) {
    return;
  }
  const qp_command command = io_.commands.take(t);
  const auto state = static_cast<qp_state>(command.state);
  if (state == qp_state::Reset || state == qp_state::Rtr) {
    qp_state_row& row = rows_[command.qpn];
    row.started = false;
    row.error = false;
    row.batch_wanted = false;
    row.record_wanted = false;
    row.record_pending = false;
    ++row.generation;
    row.line = {};
    row.queue.start(0, 0);
    for (const std::uint8_t id : age_) {
      packet_slot& slot = slots_[id];
      if (slot.packet.qpn != command.qpn) {
        continue;
      }
      slot.abandoned = true;  // what it waits for will not come any more
      if (slot.at == phase::credit) {
        slot.at = phase::decided;
      } else if (slot.at == phase::receive) {
        slot.at = phase::write;
        slot.ready = t;
      }
    }
  }
}

void responder::take_packet(cycle_t t) {
  if (!io_.packets.takeable(t) || age_.size() == Slots) {
    return;  // a packet that leaves wakes us
  }
  if (!may_commit(t, nullptr)) {
    return;
  }
  rx_packet packet = io_.packets.take(t);
  if (packet.verdict != rx_verdict::accept) {
    if (packet.verdict == rx_verdict::gap) {
      shared_.counters.add(counter::OutOfSequence);
    } else if (packet.verdict == rx_verdict::duplicate) {
      shared_.counters.add(counter::DuplicateRequest);
    }
    commit(t, packet.qpn, nullptr);
    return;
  }
  std::uint8_t id = 0;
  while (slots_[id].used) {
    ++id;
  }
  packet_slot& slot = slots_[id];
  slot = packet_slot{};
  slot.used = true;
  slot.packet = std::move(packet);
  slot.common = qpc_common::unpack(slot.packet.common.data());
  slot.history = held_history(slot.packet.trace, t, order_);
  age_.push_back(id);

  qp_state_row& row = rows_[slot.packet.qpn];
  // Since that lookup a read of the record or a failure may have touched the line; nothing else can
  // have.
  const qpc_responder before = row.line;
  row.line = qpc_responder::unpack(slot.packet.responder.data());
  if (row.started) {
    row.line.error |= before.error;
    row.line.rq_db_rec = before.rq_db_rec;
  }
  row.record_address = slot.common.dbr_addr;
  row.function = slot.packet.function;
  if (!row.started) {
    row.started = true;
    row.queue.start(row.line.rq_consumer, static_cast<std::uint16_t>(row.line.rq_db_rec));
  }
  row.queue.configure(slot.common);
  slot.step = step_request(slot.packet, slot.common, row.line);
  slot.fault = slot.step.fault;
  const bool asks = slot.fault == request_fault::none && slot.step.takes_receive;
  slot.at = asks ? phase::credit : phase::decided;
  slot.asked_before = row.records_asked;
  advance(t, id);
}

// A packet's way
// ---------------------------------------------------------------------------------------

void responder::advance(cycle_t t, std::uint8_t id) {
  packet_slot& slot = slots_[id];
  if (slot.at == phase::credit) {
    qp_state_row& row = rows_[slot.packet.qpn];
    if (row.queue.has_credit()) {
      slot.at = phase::decided;
    } else if (row.records_answered > slot.asked_before) {
      slot.refused = true;  // the record was read for this packet and shows no WQE
      slot.at = phase::decided;
    } else {
      slot.history.waits_for(context_, site(), t, record_);
      want_record(t, slot.packet.qpn, row);
      return;
    }
  }
  if (slot.at == phase::decided) {
    if (!may_commit(t, &slot.history)) {
      return;
    }
    decide(t, slot);
    if (slot.at == phase::keys) {
      request_keys(t, id);
    }
  }
  if (slot.at == phase::receive) {
    find_receive(t, id);
  }
}

void responder::decide(cycle_t t, packet_slot& slot) {
  const std::uint32_t qpn = slot.packet.qpn;
  qp_state_row& row = rows_[qpn];
  slot.at = phase::write;
  slot.ready = t + KeyLookup;
  wake(slot.ready);
  if (slot.refused || slot.abandoned) {
    commit(t, qpn, nullptr);
    return;
  }
  if (slot.fault != request_fault::none) {
    row.line.error = 1;
    commit(t, qpn, &row.line);
    return;
  }
  if (slot.step.takes_receive) {
    row.message_receive = row.queue.consume(slot.step.is_send && slot.packet.payload != 0);
  }
  slot.receive_index = row.message_receive;
  const qpc_responder before = row.line;
  row.line = slot.step.next;
  row.line.error |= before.error;
  row.line.rq_db_rec = before.rq_db_rec;
  row.line.rq_consumer = row.queue.consumer();
  commit(t, qpn, &row.line);
  if (slot.step.takes_receive && !row.queue.has_credit()) {
    want_record(t, qpn, row);  // read ahead, so that the next message need not wait
  }
  want_batch(t, qpn, row);

  if (slot.packet.payload == 0) {
    slot.history.served_until(context_, site(), slot.ready);
    return;
  }
  if (slot.step.is_send) {
    slot.at = phase::receive;
    return;
  }
  slot.pieces.count = 1;
  slot.pieces.piece[0] = {slot.step.address, slot.packet.rkey, slot.packet.payload};
  if (slot.step.has_reth) {
    slot.at = phase::keys;
  } else {
    slot.history.served_until(context_, site(), slot.ready);
  }
}

void responder::find_receive(cycle_t t, std::uint8_t id) {
  packet_slot& slot = slots_[id];
  qp_state_row& row = rows_[slot.packet.qpn];
  const receive_batch* batch = row.queue.find(slot.receive_index);
  if (batch == nullptr || !batch->arrived) {
    slot.history.waits_for(context_, site(), t, receive_wqe_);
    return;  // the read's answer wakes us
  }
  slot.at = phase::write;
  slot.ready = t;
  if (batch->status != dma_status::ok) {
    slot.fault = request_fault::local_operation;
    return;
  }
  if (!scatter(row.queue.wqe(*batch, slot.receive_index), row.queue.stride(), slot.step.offset,
               slot.packet.payload, slot.pieces)) {
    slot.fault = request_fault::local_length;
    return;
  }
  slot.history.waits_for(context_, site(), t, order_);
  slot.at = phase::keys;
  request_keys(t, id);
}

void responder::request_keys(cycle_t t, std::uint8_t id) {
  packet_slot& slot = slots_[id];
  slot.keys_wanted = slot.pieces.count;
  for (unsigned i = 0; i < slot.pieces.count; ++i) {
    key_queue_.push({id, static_cast<std::uint8_t>(i)});
  }
  wake(t + 1);
}

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
      --i;  // it left
    }
  }
}

/// One write, or the end of the packet. True if the packet left.
bool responder::write_one(cycle_t t, std::uint8_t id) {
  packet_slot& slot = slots_[id];
  qp_state_row& row = rows_[slot.packet.qpn];
  if (slot.refused || slot.abandoned) {
    shared_.counters.add(slot.abandoned ? counter::RxDropBadState : counter::RxOutOfBuffer);
    leave(t, id);
    return true;
  }
  if (row.error || slot.fault != request_fault::none) {
    if (!fail(t, slot, row)) {
      return false;
    }
    leave(t, id);
    return true;
  }
  const bool writes = slot.pieces_written < slot.pieces.count;
  const bool ends = slot.pieces_written + 1 >= slot.pieces.count;
  const bool acks = ends && slot.packet.ack_request;
  const bool reports = ends && slot.step.completes_receive;
  const auto lacks = [&](stream_base& output, name_id reason) {
    if (output.has_credit(t)) {
      return false;
    }
    slot.history.waits_for(context_, site(), t, reason);
    output.ask_credit(t);
    return true;
  };
  if ((writes && lacks(io_.writes, write_credit_)) || (acks && lacks(io_.acks, ack_credit_)) ||
      (reports && lacks(io_.cqes, cqe_credit_))) {
    return false;
  }
  const trace_ref history = slot.history.wait_until(context_, site(), t);
  last_write_ = t;
  if (writes) {
    const scatter_piece& piece = slot.pieces.piece[slot.pieces_written];
    dma_write out;
    out.trace = history;
    out.function = slot.packet.function;
    out.address = slot.step.is_send ? piece.address : piece.address + row.write_delta;
    out.length = piece.length;
    out.from = slot.packet.bytes;
    out.from_offset = slot.packet.payload_offset;
    for (unsigned i = 0; i < slot.pieces_written; ++i) {
      out.from_offset += slot.pieces.piece[i].length;
    }
    if (ends && slot.step.last) {
      out.point = milestone::delivered;
      out.point_last = true;
    }
    ++slot.pieces_written;
    io_.writes.push(t, WriteLatency, std::move(out));
  }
  if (!ends) {
    slot.history.served_until(context_, site(), t + 1);
    wake(t + 1);
    return false;
  }
  if (acks) {
    response_item ack;
    ack.trace = history;
    ack.function = slot.packet.function;
    ack.qpn = slot.packet.qpn;
    ack.psn = slot.packet.psn;
    ack.syndrome = AckSyndrome;
    ack.msn = slot.step.next.rmsn;
    io_.acks.push(t, WriteLatency, ack);
    shared_.counters.add(counter::AcksSent);
  }
  if (reports) {
    cqe_item cqe;
    cqe.trace = history;
    cqe.cqn = slot.common.cq_num_recv;
    cqe.qpn = slot.packet.qpn;
    cqe.cqe_opcode = static_cast<std::uint8_t>(receive_opcode(slot.step));
    cqe.wqe_counter = slot.receive_index;
    cqe.byte_count = slot.step.message_bytes;
    cqe.imm = slot.step.has_imm ? slot.packet.imm : 0;
    cqe.remote_qpn = slot.common.remote_qpn;
    cqe.solicited = slot.packet.solicited;
    if (slot.step.message_bytes == 0) {
      cqe.point = milestone::delivered;  // there is no payload to mark it
    }
    io_.cqes.push(t, WriteLatency, cqe);
  }
  if (slot.step.last) {
    shared_.counters.add(slot.step.is_send ? counter::RxSendMessages : counter::RxWriteRequests);
  }
  leave(t, id);
  return true;
}

/// The packet is refused; true when the QP's line says so.
bool responder::fail(cycle_t t, packet_slot& slot, qp_state_row& row) {
  if (row.error) {
    shared_.counters.add(counter::RxDropAfterError);
    return true;
  }
  if (row.line.error == 0) {
    if (!may_commit(t, &slot.history)) {
      return false;
    }
    row.line.error = 1;
    write_line(t, slot.packet.qpn, row.line);
    last_commit_ = t;
  }
  row.error = true;
  count_fault(slot.fault);
  return true;
}

void responder::leave(cycle_t t, std::uint8_t id) {
  packet_slot& slot = slots_[id];
  const std::uint32_t qpn = slot.packet.qpn;
  if (slot.step.completes_receive && slot.fault == request_fault::none && !slot.refused &&
      !slot.abandoned) {
    qp_state_row& row = rows_[qpn];
    row.queue.finished(slot.receive_index);
    want_batch(t, qpn, row);
  }
  slot.used = false;
  slot.packet = rx_packet{};
  age_.erase(std::find(age_.begin(), age_.end(), id));
  if (!age_.empty()) {
    wake(t + 1);
  }
}

void responder::count_fault(request_fault fault) {
  switch (fault) {
    case request_fault::none:
      return;
    case request_fault::unsupported:
      shared_.counters.add(counter::RxDropUnsupported);
      return;
    case request_fault::invalid:
      shared_.counters.add(counter::RespInvalidRequests);
      return;
    case request_fault::remote_access:
      shared_.counters.add(counter::RespRemoteAccessErrors);
      return;
    case request_fault::local_length:
      shared_.counters.add(counter::RespLocalLengthError);
      return;
    case request_fault::local_operation:
      shared_.counters.add(counter::RespLocalOperationErrors);
      return;
  }
}

// Looking around
// ---------------------------------------------------------------------------------------

bool responder::older_of_qp(std::uint8_t id) const {
  for (const std::uint8_t other : age_) {
    if (other == id) {
      return false;
    }
    if (slots_[other].packet.qpn == slots_[id].packet.qpn) {
      return true;
    }
  }
  return false;
}

/// The oldest packet of the QP in that phase.
std::uint8_t responder::waiting_slot(std::uint32_t qpn, phase at) const {
  for (const std::uint8_t id : age_) {
    if (slots_[id].at == at && slots_[id].packet.qpn == qpn) {
      return id;
    }
  }
  return NoSlot;
}

bool responder::any_at(phase at) const {
  return std::any_of(age_.begin(), age_.end(),
                     [&](std::uint8_t id) { return slots_[id].at == at; });
}

}  // namespace carillon
