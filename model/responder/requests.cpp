// The responder's requests to others: commits, lines, memory keys, receive doorbell records and
// receive WQEs.
#include <utility>

#include "gen/wqe.h"
#include "responder.h"

namespace carillon {
namespace {

constexpr unsigned RecordBit = 32;
constexpr unsigned GenerationShift = 40;
constexpr std::uint32_t QpnMask = 0xffffff;

std::uint64_t cookie_of(std::uint32_t qpn, bool record, std::uint8_t generation) {
  return qpn | std::uint64_t{record} << RecordBit | std::uint64_t{generation} << GenerationShift;
}

}  // namespace

bool responder::may_commit(cycle_t t, held_history* waiting) {
  name_id reason = 0;
  if (last_commit_ == t) {
    reason = commit_;
    wake(t + 1);
  } else if (!io_.commits.has_credit(t)) {
    reason = commit_credit_;
    io_.commits.ask_credit(t);
  } else if (!io_.lines.has_credit(t)) {
    reason = line_credit_;
    io_.lines.ask_credit(t);
  } else {
    return true;
  }
  if (waiting != nullptr) {
    waiting->waits_for(context_, site(), t, reason);
  }
  return false;
}

void responder::commit(cycle_t t, std::uint32_t qpn, const qpc_responder* line) {
  last_commit_ = t;
  if (line != nullptr) {
    write_line(t, qpn, *line);
  }
  io_.commits.push(t, 1, {{}, qpn});
}

void responder::write_line(cycle_t t, std::uint32_t qpn, const qpc_responder& line) {
  context_write out;
  out.kind = context_kind::qpc_responder;
  out.index = qpn;
  line.pack(out.data.data());
  io_.lines.push(t, 1, out);
}

void responder::want_record(cycle_t t, std::uint32_t qpn, qp_state_row& row) {
  if (row.record_wanted || row.record_pending) {
    return;
  }
  row.record_wanted = true;
  ++row.records_asked;
  read_queue_.push({qpn, true});
  wake(t + 1);
}

void responder::want_batch(cycle_t t, std::uint32_t qpn, qp_state_row& row) {
  if (!row.batch_wanted && row.queue.next_read()) {
    row.batch_wanted = true;
    read_queue_.push({qpn, false});
    wake(t + 1);
  }
}

void responder::issue_keys(cycle_t t) {
  if (key_queue_.empty()) {
    return;
  }
  if (!io_.key_reads.has_credit(t)) {
    io_.key_reads.ask_credit(t);
    return;
  }
  const key_request asked = key_queue_.pop();
  packet_slot& slot = slots_[asked.slot];
  context_read read;
  read.trace = slot.history.wait_until(context_, site(), t);
  read.kind = context_kind::mkey;
  read.index = slot.pieces.piece[asked.piece].key >> MkeyVariantBits;
  io_.key_reads.push(t, 1, read);
  keys_asked_.push(asked);
  if (!key_queue_.empty()) {
    wake(t + 1);
  }
}

void responder::issue_reads(cycle_t t) {
  while (!read_queue_.empty()) {
    const read_request asked = read_queue_.front();
    qp_state_row& row = rows_[asked.qpn];
    const auto plan = asked.record ? std::nullopt : row.queue.next_read();
    if (asked.record ? !row.record_wanted : !row.batch_wanted || !plan) {
      if (!asked.record) {
        row.batch_wanted = false;
      }
      read_queue_.pop();  // the QP was reset meanwhile
      continue;
    }
    if (!io_.reads.has_credit(t)) {
      io_.reads.ask_credit(t);
      return;
    }
    read_queue_.pop();
    dma_read read;
    const std::uint8_t waiting =
        waiting_slot(asked.qpn, asked.record ? phase::credit : phase::receive);
    read.function = row.function;
    read.into = shared_.buffers.take();
    read.cookie = cookie_of(asked.qpn, asked.record, row.generation);
    bool serves_waiting = waiting != NoSlot;
    if (asked.record) {
      row.record_wanted = false;
      row.record_pending = true;
      row.record = read.into;
      read.address = row.record_address + DoorbellReceiveWord;
      read.length = sizeof(std::uint32_t);
    } else {
      row.batch_wanted = false;
      row.queue.begin_read(*plan, read.into);
      read.address = plan->address;
      read.length = plan->count * row.queue.stride();
      serves_waiting = serves_waiting &&
                       row.queue.find(slots_[waiting].receive_index) == row.queue.find(plan->first);
    }
    if (serves_waiting) {
      read.trace = slots_[waiting].history.wait_until(context_, site(), t);
    }
    io_.reads.push(t, 1, std::move(read));
    if (!read_queue_.empty()) {
      wake(t + 1);
    }
    return;  // one read a cycle
  }
}

void responder::take_keys(cycle_t t) {
  if (!io_.key_lines.takeable(t)) {
    return;
  }
  const context_line line = io_.key_lines.take(t);
  const key_request asked = keys_asked_.pop();
  packet_slot& slot = slots_[asked.slot];
  scatter_piece& piece = slot.pieces.piece[asked.piece];
  CARILLON_CHECK(line.index == piece.key >> MkeyVariantBits, "{}: key {} came for key {}", path(),
                 line.index, piece.key >> MkeyVariantBits);
  slot.history = held_history(line.trace, t, order_);
  const mkey_line key = mkey_line::unpack(line.data.data());
  // A WRITE's key must cover the whole message, so that its later packets need no look.
  const auto iova =
      translate(key, line.valid, piece.key, slot.common.pd, slot.packet.qpn, slot.packet.function,
                slot.step.is_send ? key_right::local_write : key_right::remote_write, piece.address,
                slot.step.is_send ? piece.length : slot.packet.dma_length);
  if (!iova) {
    slot.fault = slot.step.is_send ? request_fault::local_operation : request_fault::remote_access;
  } else if (slot.step.is_send) {
    piece.address = *iova;
  } else {
    rows_[slot.packet.qpn].write_delta = *iova - piece.address;
  }
  if (--slot.keys_wanted == 0) {
    slot.at = phase::write;
    slot.ready = t;
  }
}

void responder::take_reads(cycle_t t) {
  if (!io_.reads_done.takeable(t)) {
    return;
  }
  const dma_read_done done = io_.reads_done.take(t);
  const auto qpn = static_cast<std::uint32_t>(done.cookie & QpnMask);
  const bool record = (done.cookie >> RecordBit & 1) != 0;
  qp_state_row& row = rows_[qpn];
  if (row.generation != static_cast<std::uint8_t>(done.cookie >> GenerationShift)) {
    return;  // the QP was reset meanwhile
  }
  const std::uint8_t waiting = waiting_slot(qpn, record ? phase::credit : phase::receive);
  if (waiting != NoSlot && done.trace.message != 0 &&
      done.trace.message == slots_[waiting].packet.trace.message) {
    slots_[waiting].history = held_history(done.trace, t, order_);
  }
  if (record) {
    row.record_pending = false;
    ++row.records_answered;
    if (done.status == dma_status::ok) {
      row.line.rq_db_rec =
          static_cast<std::uint32_t>(bytes::load_be<4>(row.record.data() + DoorbellReceiveWord));
      row.queue.set_producer(static_cast<std::uint16_t>(row.line.rq_db_rec));
    }
    row.record.reset();
  } else {
    row.queue.end_read(done.status);
  }
  want_batch(t, qpn, row);
}

}  // namespace carillon
