// The atomic unit: one for the device, so that atomics of all QPs on one word follow each other.
//
// An atomic reads its word, then writes it; the next one's read waits until that write was sent.
// Packets of other QPs go on meanwhile, packets of the same QP wait.
#include <utility>

#include "responder.h"

namespace carillon {
namespace {

constexpr unsigned WordBytes = 8;
constexpr std::uint32_t NewWord = WordBytes;  ///< where the new value is, behind the old one

// Both sides count in the byte order of their host memory.
std::uint64_t load_word(const std::uint8_t* bytes) {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < WordBytes; ++i) {
    value |= std::uint64_t{bytes[i]} << (8 * i);
  }
  return value;
}

void store_word(std::uint8_t* bytes, std::uint64_t value) {
  for (unsigned i = 0; i < WordBytes; ++i) {
    bytes[i] = static_cast<std::uint8_t>(value >> (8 * i));
  }
}

}  // namespace

/// The packet's place in the unit; it leaves its slot.
void responder::start_atomic(cycle_t t, packet_slot& slot) {
  slot.history.waits_for(context_, site(), t, atomic_unit_);
  ++slot.row->atomics;
  atomics_.push({slot.row, slot.row->generation, slot.packet, slot.step.next.rmsn, slot.answer_msn,
                 slot.targets.front().address, slot.history});
  if (atomic_at_ == atomic_phase::idle) {
    atomic_at_ = atomic_phase::wanted;
  }
}

void responder::run_atomics(cycle_t t) {
  while (!atomics_.empty()) {
    atomic_job& job = atomics_.front();
    const bool stale = job.generation != job.row->generation;
    if (atomic_at_ != atomic_phase::reading && (stale || job.row->error)) {
      shared_.counters.add_for(job.packet.function,
                               stale ? counter::RxDropBadState : counter::RxDropAfterError);
      end_atomic(t);
      continue;
    }
    if (atomic_at_ == atomic_phase::idle) {
      atomic_at_ = atomic_phase::wanted;
    }
    if (atomic_at_ != atomic_phase::finishing) {
      return;  // its read's answer wakes us
    }
    if (last_write_ == t) {
      job.history.waits_for(context_, site(), t, arbiter_);
      wake(t + 1);
      return;
    }
    if (!finish_atomic(t, job)) {
      return;
    }
    end_atomic(t);
  }
}

/// Sends the read of the unit's word; false if it must wait.
bool responder::issue_atomic(cycle_t t) {
  if (!may_read(t)) {
    return false;
  }
  atomic_job& job = atomics_.front();
  atomic_word_ = shared_.buffers.take();
  dma_read read;
  read.trace = job.history.wait_until(context_, site(), t);
  read.function = job.packet.function;
  read.address = job.address;
  read.length = WordBytes;
  read.into = atomic_word_;
  read.cookie = cookie_of(read_kind::atomic, job.row->qpn, job.generation);
  read.writes_before = writes_pushed_;
  push_read(t, std::move(read));
  atomic_at_ = atomic_phase::reading;
  return true;
}

void responder::take_atomic_read(cycle_t t, const dma_read_done& done) {
  atomic_at_ = atomic_phase::finishing;
  atomic_status_ = done.status;
  atomics_.front().history = held_history(done.trace, t, arbiter_);
}

/// Computes, writes and answers, all at once.
bool responder::finish_atomic(cycle_t t, atomic_job& job) {
  qp_row& row = *job.row;
  if (atomic_status_ != dma_status::ok) {
    return fail(t, row, {request_fault::remote_operation, job.packet.psn, job.msn_before, false},
                job.history);
  }
  const bool swaps = find_opcode(job.packet.bth_opcode)->verb == bth_verb::CompareSwap;
  const std::uint64_t before = load_word(atomic_word_.data());
  const bool writes = !swaps || before == job.packet.compare;
  if (lacks(t, io_.responses, response_credit_, &job.history) ||
      (writes && lacks(t, io_.writes, write_credit_, &job.history))) {
    return false;
  }
  last_write_ = t;
  const trace_ref history = job.history.wait_until(context_, site(), t);
  if (writes) {
    store_word(atomic_word_.data() + NewWord,
               swaps ? job.packet.swap_add : before + job.packet.swap_add);
    dma_write out;
    out.trace = history;
    out.function = job.packet.function;
    out.address = job.address;
    out.length = WordBytes;
    out.from = atomic_word_;
    out.from_offset = NewWord;
    push_write(t, std::move(out));
  }
  respond_atomic(t, job.packet, job.msn, before, history, &row);
  row.saved.answered(before);
  shared_.counters.add_for(job.packet.function, counter::RxAtomicRequests);
  return true;
}

/// `saved`: the QP, if it is not a replay.
void responder::respond_atomic(cycle_t t, const rx_packet& packet, std::uint32_t msn,
                               std::uint64_t result, trace_ref history, const qp_row* saved) {
  response_item item;
  item.trace = history;
  item.kind = response_kind::atomic;
  item.function = packet.function;
  item.qpn = packet.qpn;
  item.psn = packet.psn;
  item.syndrome = AckCreditsInvalid;
  item.msn = msn;
  if (saved != nullptr) {
    item.saved = true;
    item.generation = saved->generation;
  }
  item.atomic_result = result;
  io_.responses.push(t, WriteLatency, item);
}

/// The unit is free for the next one.
void responder::end_atomic(cycle_t t) {
  const atomic_job job = atomics_.pop();
  if (job.generation == job.row->generation) {
    --job.row->atomics;
  }
  atomic_word_.reset();
  atomic_at_ = atomic_phase::idle;
  if (!age_.empty()) {
    wake(t + 1);
  }
}

}  // namespace carillon
