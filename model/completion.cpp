#include "completion.h"

#include <algorithm>
#include <utility>

#include "common/error.h"

namespace carillon {
namespace {

constexpr unsigned Lookup = stage_spec::qpc_ram::Latency;
constexpr unsigned WriteLatency = stage_spec::completion::Latency - Lookup;
constexpr unsigned CqnMask = 0xffffff;

bool is_error(std::uint8_t opcode) {
  return opcode == static_cast<std::uint8_t>(cqe_opcode::RequesterError) ||
         opcode == static_cast<std::uint8_t>(cqe_opcode::ResponderError);
}

}  // namespace

std::uint64_t cqe_address(const cqc_line& cq, std::uint32_t producer) {
  const std::uint64_t slot = producer & ((std::uint32_t{1} << cq.log_cq_size) - 1);
  // A 128-byte entry carries the CQE in its second half.
  return cq.cqe128 != 0 ? cq.base_addr + slot * (2 * cqe64::Size) + cqe64::Size
                        : cq.base_addr + slot * cqe64::Size;
}

std::array<std::uint8_t, cqe64::Size> build_cqe(const cqe_item& item, unsigned log_size,
                                                std::uint32_t producer, std::uint64_t now) {
  std::array<std::uint8_t, cqe64::Size> bytes{};
  const auto owner = static_cast<std::uint8_t>((producer >> log_size) & 1);
  if (is_error(item.cqe_opcode)) {
    cqe_error entry;
    entry.vendor_syndrome = item.vendor_syndrome;
    entry.syndrome = static_cast<cqe_syndrome>(item.syndrome);
    entry.send_opcode = static_cast<wqe_opcode>(item.wqe_opcode);
    entry.qpn = item.qpn;
    entry.wqe_counter = item.wqe_counter;
    entry.opcode = static_cast<cqe_opcode>(item.cqe_opcode);
    entry.format = cqe_format::None;
    entry.se = item.solicited ? 1 : 0;
    entry.owner = owner;
    entry.pack(bytes.data());
    return bytes;
  }
  cqe64 entry;
  entry.rqpn = item.remote_qpn;
  entry.imm_inval_pkey = item.imm;
  entry.byte_cnt = item.byte_count;
  entry.timestamp = now;
  entry.send_opcode = static_cast<wqe_opcode>(item.wqe_opcode);
  entry.qpn = item.qpn;
  entry.wqe_counter = item.wqe_counter;
  entry.opcode = static_cast<cqe_opcode>(item.cqe_opcode);
  entry.format = cqe_format::None;
  entry.se = item.solicited ? 1 : 0;
  entry.owner = owner;
  entry.pack(bytes.data());
  return bytes;
}

completion::completion(const sc_core::sc_module_name& name, nic_shared& shared, const ports& io)
    : stage(name, shared.context, "completion"),
      shared_(shared),
      io_(io),
      order_(context_.trace.intern("order")),
      record_(context_.trace.intern("cq_record")),
      write_credit_(context_.trace.intern("credit:" + io.writes.name())) {
  io_.from_responder.to(*this, site());
  io_.from_requester.to(*this, site());
  io_.commands.to(*this, site());
  io_.context_lines.to(*this, site());
  io_.records.to(*this, site());
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
  watch(io_.from_responder, {record, write_credit, lookup, blocker::credit(io_.context_reads)});
  watch(io_.from_requester, {blocker::arbiter(io_.from_responder), record, write_credit, lookup,
                             blocker::credit(io_.context_reads)});
  watch(io_.commands, {});
  watch(io_.context_lines, {});
  watch(io_.records, {});
}

void completion::evaluate(cycle_t t) {
  take_answers(t);
  write_front(t);
  take_requests(t);
  read_records(t);
}

void completion::take_answers(cycle_t t) {
  if (io_.commands.takeable(t)) {
    cq_state& state = cqs_[io_.commands.take(t).cqn];
    state.ring = {};
  }
  if (io_.records.takeable(t)) {
    const dma_read_done done = io_.records.take(t);
    const auto cqn = static_cast<std::uint32_t>(done.cookie & CqnMask);
    cq_state& state = cqs_[cqn];
    state.record_pending = false;
    ++state.answered;
    if (done.status == dma_status::ok) {
      state.ring.consumer = cq_doorbell_record::unpack(state.record.data()).consumer_index;
    }
    state.record.reset();
    if (!slots_.empty() && done.trace.message != 0 && slots_.front().item.cqn == cqn &&
        slots_.front().item.trace.message == done.trace.message) {
      slots_.front().history = held_history(done.trace, t, order_);
    }
  }
  if (io_.context_lines.takeable(t)) {
    const context_line line = io_.context_lines.take(t);
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
}

void completion::want_record(cycle_t t, request_slot& slot, cq_state& state, bool for_front) {
  if (state.record_wanted || state.record_pending) {
    return;
  }
  state.record_wanted = true;
  ++state.asked;
  record_queue_.push({slot.item.cqn, slot.cq.function_id, slot.cq.dbr_addr, for_front});
  wake(t + 1);
}

void completion::lose_front(cycle_t t) {
  shared_.counters.add(counter::CqesDropped);
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
  if (written_any_ && last_written_ == t) {
    return;
  }
  cq_state& state = cqs_[slot.item.cqn];
  if (!slot.line_valid || slot.cq.valid == 0 || slot.cq.error != 0 || state.ring.overrun) {
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
      shared_.counters.add(counter::CqOverruns);
      lose_front(t);
      return;
    }
    slot.history.waits_for(context_, site(), t, record_);
    want_record(t, slot, state, true);
    return;
  }
  if (!io_.writes.has_credit(t)) {
    slot.history.waits_for(context_, site(), t, write_credit_);
    io_.writes.ask_credit(t);
    return;
  }
  const auto entry = build_cqe(slot.item, slot.cq.log_cq_size, state.ring.producer, t);
  dma_write write;
  write.trace = slot.history.wait_until(context_, site(), t);
  write.function = slot.cq.function_id;
  write.address = cqe_address(slot.cq, state.ring.producer);
  write.length = cqe64::Size;
  write.from = shared_.buffers.take();
  std::copy(entry.begin(), entry.end(), write.from.data());
  write.point = slot.item.point;
  shared_.counters.add(counter::Cqes);
  if (is_error(slot.item.cqe_opcode)) {
    shared_.counters.add(counter::CqeErrors);
    if (slot.item.syndrome == static_cast<std::uint8_t>(cqe_syndrome::WrFlushed)) {
      shared_.counters.add(counter::CqeFlushed);
    }
  }
  state.ring.producer = (state.ring.producer + 1) & CqIndexMask;
  if (checked && state.ring.full(slot.cq.log_cq_size)) {
    // Read ahead, so that the next completion need not wait.
    want_record(t, slot, state, false);
  }
  io_.writes.push(t, WriteLatency, std::move(write));
  slots_.pop();
  last_written_ = t;
  written_any_ = true;
  if (!slots_.empty()) {
    wake(t + 1);
  }
}

void completion::read_records(cycle_t t) {
  if (record_queue_.empty()) {
    return;
  }
  if (!io_.record_reads.has_credit(t)) {
    io_.record_reads.ask_credit(t);
    return;
  }
  const record_request request = record_queue_.pop();
  cq_state& state = cqs_[request.cqn];
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
  read.cookie = request.cqn;
  io_.record_reads.push(t, 1, std::move(read));
  if (!record_queue_.empty()) {
    wake(t + 1);
  }
}

void completion::accept(cycle_t t, stream<cqe_item>& in) {
  request_slot slot;
  slot.item = in.take(t);
  slot.history = held_history(slot.item.trace, t, order_);
  io_.context_reads.push(t, 1, {slot.item.trace, context_kind::cqc, slot.item.cqn});
  slots_.push(std::move(slot));
}

void completion::take_requests(cycle_t t) {
  const bool responder = io_.from_responder.takeable(t);
  if (!responder && !io_.from_requester.takeable(t)) {
    return;
  }
  if (slots_.size() == Slots) {
    return;  // the write of the front one wakes us
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
