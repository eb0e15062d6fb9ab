// tx_sched: what the requester is told.
#include <algorithm>
#include <utility>

#include "common/psn.h"
#include "tx_sched/tx_sched_rules.h"

namespace carillon {

namespace {

namespace spec = stage_spec::tx_sched;

}  // namespace

sent_packet tx_sched_rules::note_of(const sched_queue& queue, const held_work& head,
                                    trace_ref history) const {
  const work_item& item = head.item;
  const sched_flags flags = sched_flags_of(item.fm_ce_se);
  sent_packet note;
  note.trace = history;
  note.qpn = item.qpn;
  note.epoch = queue.epoch;
  note.psn = queue.psn;
  note.first_psn = head.first_psn;
  switch (head.kind()) {
    case work_kind::message:
    case work_kind::read:
      note.last_psn = psn_add(head.first_psn, packets_of(item.length, head.mtu) - 1);
      break;
    case work_kind::atomic:
    case work_kind::local:
      note.last_psn = head.first_psn;
      break;
  }
  note.wqe_index = item.wqe_index;
  note.wqebbs = item.wqebbs;
  note.opcode = item.opcode;
  note.service = item.service;
  note.mtu_code = item.mtu_code;
  note.signaled = flags.signaled;
  note.solicited_event = flags.event;
  note.length = item.length;
  note.send_cqn = item.send_cqn;
  note.function = item.function;
  if (head.kind() == work_kind::read || head.kind() == work_kind::atomic) {
    note.paged = item.paged || queue.invalidates;
    note.sge_count = item.sge_count;
    note.body = item.body;
  }
  return note;
}

/// The requester hears of it when the data of all packets so far has been read from memory, and
/// after what waits to be told before.
void tx_sched_rules::add_note(cycle_t t, std::uint32_t qpn, sent_packet note) {
  sched_queue& queue = queues_[qpn];
  const std::uint32_t after = queue.reliable ? queue.left_payload : queue.to_payload;
  if (queue.notes.empty() && queue.passed(after) && ports_.sent.has_credit(t)) {
    push_note(t, std::move(note));
    return;
  }
  const held_history history(note.trace, t, data_reason_);
  CARILLON_CHECK(notes_ < spec::Notes, "{}: no room for a note in cycle {}", ports_.sent.name(), t);
  queue.notes.push({std::move(note), after, history});
  ++notes_;
  line_up_note(qpn);
}

void tx_sched_rules::forget_notes(sched_queue& queue) {
  notes_ -= static_cast<unsigned>(queue.notes.size());
  queue.notes.clear();
}

/// The first note of the QP may go.
void tx_sched_rules::line_up_note(std::uint32_t qpn) {
  sched_queue& queue = queues_[qpn];
  if (!queue.noting && !queue.notes.empty() && queue.passed(queue.notes.front().after)) {
    queue.noting = true;
    noting_.push(qpn);
  }
}

/// One held note a cycle, or one QP whose notes were forgotten.
void tx_sched_rules::send_notes(cycle_t t) {
  if (noting_.empty()) {
    return;
  }
  const std::uint32_t qpn = noting_.front();
  sched_queue& queue = queues_[qpn];
  const auto ready = [&queue] {
    return !queue.notes.empty() && queue.passed(queue.notes.front().after);
  };
  if (ready()) {
    if (!ports_.sent.has_credit(t)) {
      queue.notes.front().history.waits_for(context_, site(), t, sent_reason_);
      ports_.sent.ask_credit(t);
      note_waits_ = true;
      return;
    }
    held_note told = queue.notes.pop();
    --notes_;
    told.note.trace = told.history.wait_until(context_, site(), t);
    push_note(t, std::move(told.note));
    see_drained(qpn);
  }
  if (!ready()) {
    queue.noting = false;
    noting_.pop();
  }
}

void tx_sched_rules::push_note(cycle_t t, sent_packet note) {
  // A held note may have left in the same cycle.
  const cycle_t visible = std::max<cycle_t>(t + spec::Latency, sent_free_);
  sent_free_ = visible + 1;
  ports_.sent.reserve(t, 1);
  sent.push({std::move(note), t, visible});
}

/// In SQD: the requester is to be told when every WQE that has begun has been told of.
void tx_sched_rules::see_drained(std::uint32_t qpn) {
  sched_queue& queue = queues_[qpn];
  if (!queue.marking && queue.drained()) {
    queue.marking = true;
    marks_.push(qpn);
  }
}

/// One mark a cycle, or one QP that has something to tell again.
void tx_sched_rules::send_marks(cycle_t t) {
  if (marks_.empty()) {
    return;
  }
  sched_queue& queue = queues_[marks_.front()];
  if (queue.drained()) {
    if (!ports_.sent.has_credit(t)) {
      ports_.sent.ask_credit(t);
      mark_waits_ = true;
      return;
    }
    queue.mark_wanted = false;
    sent_packet mark;
    mark.qpn = marks_.front();
    mark.epoch = queue.epoch;
    mark.drain_mark = true;
    mark.wqe_index = queue.begun_to;
    push_note(t, mark);
  }
  queue.marking = false;
  marks_.pop();
}

}  // namespace carillon
