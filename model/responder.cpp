#include "responder.h"

#include <algorithm>
#include <utility>

#include "common/congestion.h"
#include "gen/wqe.h"

namespace carillon {
namespace {

constexpr std::uint32_t Mask24 = 0xffffff;
constexpr ps_t PsPerUs = 1000000;

}  // namespace

responder::responder(const sc_core::sc_module_name& name, nic_shared& shared, const ports& io)
    : stage(name, shared.context, "responder"),
      shared_(shared),
      io_(io),
      keys_(shared.context, site(), io.key_reads, io.key_lines),
      late_interval_(static_cast<cycle_t>(context_.params.nic.error_poll_us) * PsPerUs /
                     context_.clock.period()),
      order_(context_.trace.intern("order")),
      arbiter_(context_.trace.intern("arbiter")),
      commit_(context_.trace.intern("commit")),
      record_(context_.trace.intern("receive_record")),
      receive_wqe_(context_.trace.intern("receive_wqe")),
      atomic_unit_(context_.trace.intern("atomic_unit")),
      line_credit_(context_.trace.intern("credit:" + io.lines.name())),
      commit_credit_(context_.trace.intern("credit:" + io.commits.name())),
      write_credit_(context_.trace.intern("credit:" + io.writes.name())),
      response_credit_(context_.trace.intern("credit:" + io.responses.name())),
      cqe_credit_(context_.trace.intern("credit:" + io.cqes.name())),
      error_credit_(context_.trace.intern("credit:" + io.errors.name())),
      fault_credit_(context_.trace.intern("credit:" + io.faults.name())),
      invalidation_credit_(context_.trace.intern("credit:" + io.invalidations.name())) {
  io_.packets.to(*this, site());
  io_.commands.to(*this, site());
  io_.srq_commands.to(*this, site());
  io_.requester_faults.to(*this, site());
  io_.failures.to(*this, site());
  io_.answered.to(*this, site());
  io_.key_lines.to(*this, site());
  io_.reads_done.to(*this, site());
  io_.key_reads.from(*this, site());
  io_.reads.from(*this, site());
  io_.writes.from(*this, site());
  io_.lines.from(*this, site());
  io_.errors.from(*this, site());
  io_.invalidations.from(*this, site());
  io_.faults.from(*this, site());
  io_.commits.from(*this, site());
  io_.responses.from(*this, site());
  io_.cqes.from(*this, site());
  io_.events.from(*this, site());
  if (io_.notes != nullptr) {
    io_.notes->from(*this, site());
  }
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
         full_without(io_.writes), full_without(io_.responses), full_without(io_.cqes),
         blocker::condition("slots", full)});
  // Their slots are reserved: they never wait.
  watch(io_.commands, {});
  watch(io_.srq_commands, {});
  watch(io_.requester_faults, {});
  watch(io_.failures, {});
  watch(io_.answered, {});
  watch(io_.key_lines, {});
  watch(io_.reads_done, {});
}

void responder::evaluate(cycle_t t) {
  take_commands(t);
  take_srq_command(t);
  take_answered(t);
  take_failures(t);
  keys_.take(t, [this, t](const key_lookup::answer& answer) { take_key(t, answer); });
  take_reads(t);
  for (const std::uint8_t id : age_) {
    advance(t, id);
  }
  run_atomics(t);
  write(t);
  take_packet(t);
  flush(t);
  look_late(t);
  tell_events(t);
  if (keys_.issue(t)) {
    wake(t + 1);
  }
  issue_reads(t);
}

// Commands
// ------------------------------------------------------------------------------------------------

qp_row& responder::row_of(std::uint32_t qpn) {
  qp_row& row = rows_[qpn];
  row.qpn = qpn;
  return row;
}

void responder::take_commands(cycle_t t) {
  if (io_.commands.takeable(t)) {
    const qp_command command = io_.commands.take(t);
    qp_row& row = row_of(command.qpn);
    switch (static_cast<qp_state>(command.state)) {
      case qp_state::Reset:
        reset(t, row);
        row.closed = true;
        break;
      case qp_state::Init:
      case qp_state::Rtr:
        reset(t, row);
        row.closed = false;
        row.preparing = static_cast<qp_state>(command.state) == qp_state::Init;
        configure(row, qpc_common::unpack(command.common.data()));
        start(row, qpc_responder::unpack(command.responder.data()));
        break;
      case qp_state::Err:
        if (!row.error) {
          if (row.closed || !row.started) {
            row.closed = false;
            configure(row, qpc_common::unpack(command.common.data()));
            start(row, qpc_responder::unpack(command.responder.data()));
          }
          enter_error(t, row);
        }
        break;
      default:  // the send side's; the RNR timer may be another one
        row.line.min_rnr_nak = qpc_responder::unpack(command.responder.data()).min_rnr_nak;
        break;
    }
  }
  if (io_.requester_faults.takeable(t)) {
    const qp_error fault = io_.requester_faults.take(t);
    qp_row& row = row_of(fault.qpn);
    if (!fault.send_queue_only && row.started && !row.error) {
      enter_error(t, row);
    }
  }
}

/// Forgets the QP; what waits will not come any more.
void responder::reset(cycle_t t, qp_row& row) {
  for (std::size_t i = 0; row.shared != nullptr && i < row.open_receives.size(); ++i) {
    row.shared->queue.finished(row.open_receives[i]);
  }
  ++row.generation;
  row.started = false;
  row.error = false;
  row.line = {};
  row.queue.start(0, 0);
  row.record.wanted = false;
  row.record.pending = false;
  row.record.answered = row.record.asked;  // what was asked for before is nobody's
  row.record.bytes.reset();
  row.batch_wanted = false;
  row.kept = false;
  row.open_receives.clear();
  row.polls_left = 0;
  row.flushing = false;
  row.refused_message = 0;
  row.map = {};
  row.saved.start(0);
  row.atomics = 0;
  for (const std::uint8_t id : age_) {
    packet_slot& slot = slots_[id];
    if (slot.row != &row) {
      continue;
    }
    slot.abandoned = true;
    release(t, slot);
  }
}

/// What the packet waits for may not come any more.
void responder::release(cycle_t t, packet_slot& slot) {
  if (slot.at == phase::credit || slot.at == phase::settle) {
    slot.at = phase::decided;
  } else if (slot.at == phase::receive || slot.at == phase::mapping) {
    slot.at = phase::write;
    slot.ready = t;
  }
}

void responder::start(qp_row& row, const qpc_responder& line) {
  row.started = true;
  row.line = line;
  row.queue.start(line.rq_consumer, static_cast<std::uint16_t>(line.rq_db_rec));
  row.saved.start(line.log_rra_max);
}

void responder::configure(qp_row& row, const qpc_common& common) {
  row.service = common.service;
  row.function = common.function_id;
  row.cqn = common.cq_num_recv;
  row.signature = common.sig_enable != 0;
  row.no_queue = common.no_rq != 0;
  row.record.address = common.dbr_addr;
  row.shared =
      common.srq != 0 ? &srq_of(static_cast<std::uint32_t>(common.rq_base_addr & Mask24)) : nullptr;
  if (row.shared == nullptr) {
    row.queue.configure(common);
  }
}

// A packet comes
// ---------------------------------------------------------------------------------------

std::uint8_t responder::free_slot() const {
  std::uint8_t id = 0;
  while (slots_[id].used) {
    ++id;
  }
  return id;
}

void responder::take_packet(cycle_t t) {
  if (!io_.packets.takeable(t) || age_.size() == Slots) {
    return;  // a packet that leaves wakes us
  }
  if (!may_commit(t, nullptr)) {
    return;
  }
  rx_packet packet = io_.packets.take(t);
  if (io_.notes != nullptr && asks_for_cnp(packet)) {
    io_.notes->push(t, 1, note_of(packet, note_kind::marked));
  }
  const bool again = packet.verdict == rx_verdict::duplicate;
  const bool gap = packet.verdict == rx_verdict::gap;
  if (again) {
    shared_.counters.add_for(packet.function, counter::DuplicateRequest);
  } else if (gap) {
    shared_.counters.add_for(packet.function, counter::OutOfSequence);
  } else if (packet.verdict != rx_verdict::accept) {
    commit(t, packet.qpn, nullptr);
    return;
  }
  qp_row& row = row_of(packet.qpn);
  if (row.closed || row.preparing || row.error) {
    shared_.counters.add_for(packet.function,
                             row.error ? counter::RxDropAfterError : counter::RxDropBadState);
    commit(t, packet.qpn, nullptr);
    return;
  }
  const std::uint8_t id = free_slot();
  packet_slot& slot = slots_[id];
  std::vector<target> targets = std::move(slot.targets);
  slot = packet_slot{};
  targets.clear();
  slot.targets = std::move(targets);
  slot.used = true;
  slot.packet = std::move(packet);
  slot.common = qpc_common::unpack(slot.packet.common.data());
  slot.row = &row;
  slot.history = held_history(slot.packet.trace, t, order_);
  configure(row, slot.common);
  if (!row.started) {
    start(row, qpc_responder::unpack(slot.packet.responder.data()));
  }
  slot.answer_psn = slot.packet.psn;
  slot.answer_msn = row.line.rmsn;
  const bool stays = gap     ? take_out_of_sequence(t, slot)
                     : again ? take_duplicate(t, id)
                             : accept(t, slot);
  if (!stays) {
    slot.used = false;
    slot.packet = rx_packet{};
    return;
  }
  age_.push_back(id);
  if (slot.at == phase::write) {
    wake(slot.ready);
  }
  advance(t, id);
}

/// The expected packet; its decision follows.
bool responder::accept(cycle_t t, packet_slot& slot) {
  qp_row& row = *slot.row;
  if (slot.common.service == qp_service::Rc && slot.packet.psn != row.line.next_rcv_psn) {
    // Looked up before the QP was reset and came to life again.
    shared_.counters.add_for(row.function, counter::RxDropBadState);
    commit(t, row.qpn, nullptr);
    return false;
  }
  request_step& step = slot.step;
  step = step_request(slot.packet, slot.common, row.line);
  slot.fault = step.fault;
  if (slot.fault == request_fault::none && step.is_saved() && row.saved.all_busy()) {
    slot.fault = request_fault::invalid;  // more outstanding than was agreed
  }
  if (step.abandons) {
    shared_.counters.add_for(row.function, counter::UcMessagesDropped);
    row.line.in_message = 0;
    row.kept = row.kept || row.line.cur_verb == bth_verb::Send;
  }
  slot.at = phase::decided;
  if (step.ignored || slot.fault != request_fault::none) {
    return true;
  }
  if (step.first) {
    ++row.message;
  }
  slot.message = row.message;
  slot.asked_before = row.shared != nullptr ? row.shared->record.asked : row.record.asked;
  if (!step.takes_receive) {
    return true;
  }
  slot.at = phase::credit;
  slot.undecided = slot.common.service == qp_service::Uc && !step.is_send();
  if (slot.undecided) {
    slot.at = phase::settle;
  }
  return true;
}

/// A packet beyond the expected one: one NAK a gap.
bool responder::take_out_of_sequence(cycle_t t, packet_slot& slot) {
  qpc_responder& line = slot.row->line;
  if (line.nak_sent != 0 || line.rnr_sent != 0) {
    commit(t, slot.row->qpn, nullptr);
    return false;
  }
  line.nak_sent = 1;
  commit(t, slot.row->qpn, &line);
  slot.answer = answer_kind::sequence_nak;
  slot.answer_psn = line.next_rcv_psn;
  slot.at = phase::write;
  slot.ready = t + KeyLookup;
  slot.history.served_until(context_, site(), slot.ready);
  return true;
}

/// A packet that was served before: its answer may have been lost.
bool responder::take_duplicate(cycle_t t, std::uint8_t id) {
  packet_slot& slot = slots_[id];
  qp_row& row = *slot.row;
  const opcode_info* opcode = find_opcode(slot.packet.bth_opcode);
  commit(t, row.qpn, nullptr);
  slot.answer = answer_kind::duplicate_ack;
  slot.at = phase::write;
  slot.ready = t + KeyLookup;
  slot.answer_psn = (row.line.next_rcv_psn - 1) & Mask24;
  if (opcode->verb != bth_verb::Send && opcode->verb != bth_verb::Write) {
    slot.answer = answer_kind::replay;
    slot.answer_psn = slot.packet.psn;
    slot.step.kind =
        opcode->verb == bth_verb::ReadRequest ? request_kind::read : request_kind::atomic;
    slot.step.message_bytes = slot.packet.dma_length;
    slot.step.address = slot.packet.remote_address;
  }
  if (slot.step.kind == request_kind::read) {
    if (!row.saved.covers_read(slot.packet.psn, slot.packet.remote_address, slot.packet.rkey,
                               slot.packet.dma_length, mtu_bytes(slot.common.mtu))) {
      shared_.counters.add_for(row.function, counter::DuplicatesDropped);
      return false;
    }
    if (slot.packet.dma_length != 0) {
      ask_remote_key(t, id, key_right::remote_read, 0, slot.packet.dma_length);
      return true;
    }
  }
  slot.history.served_until(context_, site(), slot.ready);
  return true;
}

// Looking around
// ---------------------------------------------------------------------------------------

/// A packet of its QP must leave before it, or an atomic be executed; atomics keep their order in
/// the unit.
bool responder::older_of_qp(std::uint8_t id) const {
  const packet_slot& slot = slots_[id];
  for (const std::uint8_t other : age_) {
    if (other == id) {
      const bool joins = slot.step.kind == request_kind::atomic &&
                         slot.answer == answer_kind::none && slot.fault == request_fault::none;
      return slot.row->atomics != 0 && !slot.abandoned && !joins;
    }
    if (slots_[other].row == slot.row) {
      return true;
    }
  }
  return false;
}

/// A SEND that ends a key comes before it: it must find the key gone.
bool responder::behind_invalidation(std::uint8_t id) const {
  return std::any_of(age_.begin(), std::find(age_.begin(), age_.end(), id),
                     [&](std::uint8_t other) {
                       return slots_[other].row == slots_[id].row && slots_[other].step.invalidates;
                     });
}

bool responder::any_at(phase at) const {
  for (const std::uint8_t id : age_) {
    if (slots_[id].at == at) {
      return true;
    }
  }
  return false;
}

}  // namespace carillon
