// The responder's requests to others: commits, lines, receive doorbell records and receive WQEs of
// QPs and of shared receive queues.
#include <utility>

#include "gen/wqe.h"
#include "responder.h"

namespace carillon {
namespace {

constexpr unsigned KindShift = 24;
constexpr unsigned GenerationShift = 32;
constexpr std::uint32_t NumberMask = 0xffffff;

}  // namespace

std::uint64_t responder::cookie_of(read_kind kind, std::uint32_t number, std::uint8_t generation) {
  return number | std::uint64_t{static_cast<std::uint8_t>(kind)} << KindShift |
         std::uint64_t{generation} << GenerationShift;
}

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

// What is to be read
// ---------------------------------------------------------------------------------

bool responder::want(record_reader& record) {
  if (record.wanted || record.pending) {
    return false;
  }
  record.wanted = true;
  ++record.asked;
  return true;
}

void responder::want_record(cycle_t t, qp_row& row) {
  if (want(row.record)) {
    read_queue_.push({read_kind::record, row.qpn});
    wake(t + 1);
  }
}

void responder::want_srq_record(cycle_t t, srq_row& row) {
  if (row.exists && want(row.record)) {
    read_queue_.push({read_kind::srq_record, row.number});
    wake(t + 1);
  }
}

void responder::want_batch(cycle_t t, qp_row& row) {
  if (!row.error && !row.batch_wanted && row.queue.next_read()) {
    row.batch_wanted = true;
    read_queue_.push({read_kind::batch, row.qpn});
    wake(t + 1);
  }
}

void responder::want_wqe(cycle_t t, srq_row& row) {
  if (row.exists && !row.read_wanted && row.queue.wants_read()) {
    row.read_wanted = true;
    read_queue_.push({read_kind::srq_wqe, row.number});
    wake(t + 1);
  }
}

/// The QP or shared queue was reset meanwhile.
bool responder::cancelled(const read_request& asked) {
  switch (asked.kind) {
    case read_kind::record:
      return !row_of(asked.number).record.wanted;
    case read_kind::batch: {
      qp_row& row = row_of(asked.number);
      row.batch_wanted = row.batch_wanted && row.queue.next_read();
      return !row.batch_wanted;
    }
    case read_kind::srq_record:
      return !srq_of(asked.number).record.wanted;
    case read_kind::srq_wqe: {
      srq_row& row = srq_of(asked.number);
      row.read_wanted = row.read_wanted && row.queue.wants_read();
      return !row.read_wanted;
    }
    case read_kind::atomic:
      break;
  }
  return true;
}

bool responder::may_read(cycle_t t) {
  if (reads_under_way_ == MaxReads) {
    return false;  // an answer wakes us
  }
  if (!io_.reads.has_credit(t)) {
    io_.reads.ask_credit(t);
    return false;
  }
  return true;
}

void responder::push_read(cycle_t t, dma_read read) {
  ++reads_under_way_;
  io_.reads.push(t, 1, std::move(read));
}

/// One read a cycle.
void responder::issue_reads(cycle_t t) {
  if (atomic_at_ == atomic_phase::wanted) {
    if (issue_atomic(t) && !read_queue_.empty()) {
      wake(t + 1);
    }
    return;
  }
  while (!read_queue_.empty()) {
    if (cancelled(read_queue_.front())) {
      read_queue_.pop();
      continue;
    }
    if (!may_read(t)) {
      return;
    }
    issue(t, read_queue_.pop());
    if (!read_queue_.empty()) {
      wake(t + 1);
    }
    return;
  }
}

void responder::issue(cycle_t t, const read_request& asked) {
  dma_read read;
  read.into = shared_.buffers.take();
  if (asked.kind == read_kind::srq_record || asked.kind == read_kind::srq_wqe) {
    srq_row& row = srq_of(asked.number);
    read.function = row.line.function_id;
    read.cookie = cookie_of(asked.kind, asked.number, row.generation);
    const std::uint8_t waiting =
        asked.kind == read_kind::srq_record
            ? ask_record(row.record, row.line.dbr_addr, read, waiting_at(phase::credit, row))
            : ask_wqe(row, read);
    issue_for(t, std::move(read), waiting);
    return;
  }
  qp_row& row = row_of(asked.number);
  read.function = row.function;
  read.cookie = cookie_of(asked.kind, asked.number, row.generation);
  const std::uint8_t waiting =
      asked.kind == read_kind::record
          ? ask_record(row.record, row.record.address, read, waiting_at(phase::credit, row))
          : ask_batch(row, read);
  issue_for(t, std::move(read), waiting);
}

std::uint8_t responder::ask_record(record_reader& record, std::uint64_t address, dma_read& read,
                                   std::uint8_t waiting) {
  record.wanted = false;
  record.pending = true;
  record.bytes = read.into;
  read.address = address + DoorbellReceiveWord;
  read.length = sizeof(std::uint32_t);
  return waiting;
}

std::uint8_t responder::ask_wqe(srq_row& row, dma_read& read) const {
  row.read_wanted = false;
  read.address = row.queue.next_address();
  read.length = row.queue.stride();
  const std::uint16_t sequence = row.queue.next_sequence();
  row.queue.begin_read(read.into);
  return waiting_for(row, sequence);
}

std::uint8_t responder::ask_batch(qp_row& row, dma_read& read) const {
  row.batch_wanted = false;
  const receive_queue::plan plan = *row.queue.next_read();
  row.queue.begin_read(plan, read.into);
  read.address = plan.address;
  read.length = plan.count * row.queue.stride();
  const std::uint8_t waiting = waiting_at(phase::receive, row);
  const bool serves =
      waiting != NoSlot && row.queue.find(slots_[waiting].receive) == row.queue.find(plan.first);
  return serves ? waiting : NoSlot;
}

/// Sends the read; its time belongs to the history of the packet that waits for it, if one does.
void responder::issue_for(cycle_t t, dma_read read, std::uint8_t waiting) {
  if (waiting != NoSlot) {
    read.trace = slots_[waiting].history.wait_until(context_, site(), t);
  }
  push_read(t, std::move(read));
}

/// The oldest packet of the QP that waits there.
std::uint8_t responder::waiting_at(phase at, const qp_row& row) const {
  for (const std::uint8_t id : age_) {
    if (slots_[id].at == at && slots_[id].row == &row) {
      return id;
    }
  }
  return NoSlot;
}

/// The oldest packet that waits there and receives from that queue.
std::uint8_t responder::waiting_at(phase at, const srq_row& row) const {
  for (const std::uint8_t id : age_) {
    if (slots_[id].at == at && slots_[id].row->shared == &row) {
      return id;
    }
  }
  return NoSlot;
}

/// The packet that waits for that WQE of the shared queue.
std::uint8_t responder::waiting_for(const srq_row& row, std::uint16_t sequence) const {
  for (const std::uint8_t id : age_) {
    const packet_slot& slot = slots_[id];
    if (slot.at == phase::receive && slot.row->shared == &row && slot.receive == sequence) {
      return id;
    }
  }
  return NoSlot;
}

// Answers
// -----------------------------------------------------------------------------------------

/// The read was asked for by the packet that waits: its history goes on with the read's.
void responder::join(cycle_t t, const dma_read_done& done, std::uint8_t waiting) {
  if (waiting != NoSlot && done.trace.message != 0 &&
      done.trace.message == slots_[waiting].packet.trace.message) {
    slots_[waiting].history = held_history(done.trace, t, order_);
  }
}

/// A record's answer; true if it could be read.
bool responder::take_record(record_reader& record, dma_status status, std::uint32_t& value) {
  record.pending = false;
  ++record.answered;
  const bool good = status == dma_status::ok;
  if (good) {
    value = static_cast<std::uint32_t>(bytes::load_be<4>(record.bytes.data()));
  }
  record.bytes.reset();
  return good;
}

void responder::take_reads(cycle_t t) {
  if (!io_.reads_done.takeable(t)) {
    return;
  }
  const dma_read_done done = io_.reads_done.take(t);
  --reads_under_way_;
  const auto number = static_cast<std::uint32_t>(done.cookie & NumberMask);
  const auto kind = static_cast<read_kind>(static_cast<std::uint8_t>(done.cookie >> KindShift));
  const auto generation = static_cast<std::uint8_t>(done.cookie >> GenerationShift);
  if (kind == read_kind::atomic) {
    take_atomic_read(t, done);
    return;
  }
  if (kind == read_kind::srq_record || kind == read_kind::srq_wqe) {
    srq_row& row = srq_of(number);
    if (row.generation == generation) {
      take_srq_read(t, row, kind, done);
    }
    return;
  }
  qp_row& row = row_of(number);
  if (row.generation != generation) {
    return;  // the QP was reset meanwhile
  }
  const bool record = kind == read_kind::record;
  join(t, done, waiting_at(record ? phase::credit : phase::receive, row));
  if (record) {
    if (take_record(row.record, done.status, row.line.rq_db_rec)) {
      row.queue.set_producer(static_cast<std::uint16_t>(row.line.rq_db_rec));
    }
    if (row.error) {
      flush_late(t, row);
    }
  } else {
    row.queue.end_read(done.status);
  }
  want_batch(t, row);
}

// Shared receive queues
// ---------------------------------------------------------------------------

srq_row& responder::srq_of(std::uint32_t srqn) {
  srq_row& row = srqs_[srqn];
  row.number = srqn;
  return row;
}

void responder::take_srq_command(cycle_t t) {
  if (!io_.srq_commands.takeable(t)) {
    return;
  }
  const srq_command command = io_.srq_commands.take(t);
  srq_row& row = srq_of(command.srqn);
  const bool existed = row.exists;
  row.line = srq_line::unpack(command.line.data());
  row.exists = row.line.valid != 0;
  if (row.exists != existed) {
    ++row.generation;
    row.queue.start(row.line);
    row.record.wanted = false;
    row.record.pending = false;
    row.record.bytes.reset();
    row.read_wanted = false;
  }
  row.armed = row.exists && row.line.lwm != 0;
  if (row.armed && existed) {
    want_srq_record(t, row);  // it may be below its limit already
  }
}

void responder::take_srq_read(cycle_t t, srq_row& row, read_kind kind, const dma_read_done& done) {
  const bool record = kind == read_kind::srq_record;
  join(t, done,
       record ? waiting_at(phase::credit, row)
              : waiting_for(row, static_cast<std::uint16_t>(row.queue.next_sequence() - 1)));
  if (record) {
    std::uint32_t posted = 0;
    if (take_record(row.record, done.status, posted)) {
      row.queue.set_producer(static_cast<std::uint16_t>(posted));
    }
    if (row.armed && row.queue.available() < row.line.lwm) {
      row.armed = false;
      tell(row, event_type::SrqLimit);
      shared_.counters.add(counter::SrqLimitEvents);
    }
  } else {
    const bool was_broken = row.queue.broken();
    row.queue.end_read(done.status);
    if (row.queue.broken() && !was_broken) {
      tell(row, event_type::SrqCatastrophic);
    }
  }
  want_wqe(t, row);
}

}  // namespace carillon
