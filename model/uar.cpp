#include "uar.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "gen/contexts.h"
#include "gen/stages.h"
#include "gen/wqe.h"
#include "uar/queue_doorbells.h"

namespace carillon {

namespace {

namespace spec = stage_spec::uar;
namespace ram = stage_spec::qpc_ram;

/// From the context line's arrival to the doorbell visible: the rest of the budget behind decode
/// and lookup.
constexpr unsigned CheckCycles = spec::Latency - ram::Latency;

}  // namespace

uar::uar(const sc_core::sc_module_name& name, nic_shared& nic, const ports& connected)
    : stage(name, nic.context, "uar"),
      nic_(nic),
      ports_(connected),
      core_(static_cast<unsigned>(nic.context.params.uar.bf_slots),
            static_cast<cycle_t>(nic.context.params.uar.bf_timeout_cycles), nic.counters),
      burst_reason_(nic.context.trace.intern("burst")),
      lookup_reason_(nic.context.trace.intern("credit:lookup")) {
  ports_.writes.to(*this, site());
  ports_.reads.to(*this, site());
  ports_.answers.from(*this, site());
  ports_.context_reads.from(*this, site());
  ports_.context_lines.to(*this, site());
  ports_.doorbells.from(*this, site());
  ports_.queue_doorbells.from(*this, site());
  if (ports_.functions != nullptr) {
    ports_.functions->wakes(*this);
  }
  watch(ports_.writes, {blocker::condition("lookups", [this](cycle_t) { return lookups_full(); }),
                        blocker::credit(ports_.queue_doorbells)});
  watch(ports_.reads,
        {blocker::condition("posted_writes", [this](cycle_t t) { return earlier_writes_open(t); }),
         blocker::credit(ports_.answers)});
  watch(ports_.context_lines, {blocker::credit(ports_.doorbells)});
}

bool uar::lookups_full() const {
  // One write leads to at most two lookups.
  return in_flight_.size() + pending_.size() + 2 > ports_.context_lines.depth();
}

void uar::evaluate(cycle_t t) {
  follow_resets(t);
  take_line(t);
  core_.expire(t, events_);
  take_write(t);
  for (uar_event& event : events_) {
    // The control segment of a discarded burst came some time ago.
    event.trace = context_.trace.wait(event.trace, site(), burst_reason_,
                                      context_.trace.end_of(event.trace), time_of(t));
    pending_.push_back({event, taken_});
  }
  events_.clear();
  look_up(t);
  answer_read(t);
  if (core_.next_timeout() != NeverCycle) {
    wake(std::max(core_.next_timeout(), t + 1));
  }
}

/// The next user of a function finds nothing of the one before.
void uar::follow_resets(cycle_t t) {
  if (ports_.functions == nullptr || ports_.functions->read(t).resets == resets_seen_) {
    return;
  }
  const function_map& map = ports_.functions->read(t);
  resets_seen_ = map.resets;
  for (std::uint16_t i = 0; i < map.functions.size(); ++i) {
    if (map.gone(i)) {
      core_.forget(i);
    }
  }
}

bool uar::gone(cycle_t t, std::uint16_t function) const {
  return ports_.functions != nullptr && ports_.functions->read(t).gone(function);
}

void uar::take_write(cycle_t t) {
  if (!ports_.writes.takeable(t) || lookups_full()) {
    return;
  }
  const mmio_write& front = ports_.writes.front();
  if (gone(t, front.function)) {
    nic_.counters.add_for(front.function, counter::DbIgnoredOwner);
    ports_.writes.take(t);
    ++taken_;
    return;
  }
  const uar_page_id page{front.function, static_cast<std::uint32_t>(front.offset / UarPageBytes)};
  const auto offset = static_cast<std::uint32_t>(front.offset % UarPageBytes);
  if (auto bell = decode_queue_doorbell(offset, front.data.data(), front.length)) {
    if (!ports_.queue_doorbells.has_credit(t)) {
      ports_.queue_doorbells.ask_credit(t);
      return;
    }
    ++taken_;
    bell->trace = ports_.writes.take(t).trace;
    bell->function = page.function;
    bell->uar_page = page.page;
    ports_.queue_doorbells.push(t, CheckCycles, *bell);
    return;
  }
  const mmio_write item = ports_.writes.take(t);
  ++taken_;
  core_.write(t, page, offset, item.data.data(), item.length, item.trace, events_);
}

void uar::look_up(cycle_t t) {
  while (!pending_.empty()) {
    if (!ports_.context_reads.has_credit(t)) {
      ports_.context_reads.ask_credit(t);
      return;
    }
    if (ports_.context_reads.port_free() > t + ram::Hop) {
      wake(t + 1);
      return;
    }
    const lookup next = pending_.front();
    pending_.pop_front();
    const uar_event& event = next.event;
    const ctrl_seg head = ctrl_seg::unpack(event.record.data());
    context_read request;
    request.trace = context_.trace.wait(event.trace, site(), lookup_reason_,
                                        context_.trace.end_of(event.trace), time_of(t));
    request.kind = context_kind::qpc_common;
    request.index = head.qpn;
    request.function = event.page.function;
    ports_.context_reads.push(t, ram::Hop, request);
    in_flight_.push_back(next);
  }
}

void uar::take_line(cycle_t t) {
  if (!ports_.context_lines.takeable(t)) {
    return;
  }
  if (!ports_.doorbells.has_credit(t)) {
    ports_.doorbells.ask_credit(t);
    return;
  }
  const context_line line = ports_.context_lines.take(t);
  const uar_event event = in_flight_.front().event;
  in_flight_.pop_front();
  if (ports_.writes.takeable(t)) {
    wake(t + 1);
  }
  const qpc_common owner = qpc_common::unpack(line.data.data());
  if (!line.valid || owner.valid == 0 || owner.function_id != event.page.function ||
      owner.uar_page != event.page.page || gone(t, event.page.function)) {
    nic_.counters.add_for(event.page.function, counter::DbIgnoredOwner);
    return;
  }
  nic_.counters.add_for(event.page.function, counter::Doorbells);
  core_.accepted(event.page, event.record);
  const ctrl_seg head = ctrl_seg::unpack(event.record.data());
  doorbell item;
  item.trace = line.trace;
  item.function = event.page.function;
  item.qpn = head.qpn;
  item.wqe_index = head.wqe_index;
  item.ds = head.ds;
  item.blueflame = event.blueflame;
  if (event.blueflame) {
    item.wqe = nic_.buffers.take();
    std::memcpy(item.wqe.data(), event.wqe.data(), event.wqe.size());
  }
  // A BlueFlame WQE is seen a cycle early: wqe_fetch hands it on in the budget's last cycle.
  const unsigned latency = event.blueflame ? CheckCycles - 1 : CheckCycles;
  const cycle_t visible = std::max<cycle_t>(t + latency, ports_.doorbells.port_free());
  ports_.doorbells.push(t, static_cast<unsigned>(visible - t), std::move(item));
}

bool uar::earlier_writes_open(cycle_t t) {
  if (barrier_ == 0) {
    // Reads do not pass posted writes: those taken, and those that came before the read but wait at
    // their port. One more, so that 0 stays free.
    std::uint64_t waiting = ports_.writes.size();
    ports_.writes.in_flight(t, [&](const mmio_write&) { --waiting; });
    barrier_ = taken_ + waiting + 1;
  }
  if (taken_ + 1 < barrier_) {
    return true;
  }
  const auto before = [this](const std::deque<lookup>& lookups) {
    return !lookups.empty() && lookups.front().write < barrier_;
  };
  return before(in_flight_) || before(pending_);
}

void uar::answer_read(cycle_t t) {
  if (!ports_.reads.takeable(t) || earlier_writes_open(t)) {
    return;
  }
  if (!ports_.answers.has_credit(t)) {
    ports_.answers.ask_credit(t);
    return;
  }
  const mmio_read item = ports_.reads.take(t);
  barrier_ = 0;
  const uar_page_id page{item.function, static_cast<std::uint32_t>(item.offset / UarPageBytes)};
  const auto offset = static_cast<std::uint32_t>(item.offset % UarPageBytes);
  std::uint64_t value = 0;
  // Only DB_REC has something to tell: BF_BUFFER reads as zero, so that nothing leaks between
  // processes.
  if (offset < uar_page::DbRec + 8) {
    value = core_.doorbell_record(page) << (8 * (offset - uar_page::DbRec));
  }
  mmio_answer answer;
  answer.trace = item.trace;
  answer.function = item.function;
  answer.requester = item.requester;
  answer.tag = item.tag;
  answer.length = item.length;
  answer.lower_address = static_cast<std::uint8_t>(item.offset & 0x7f);
  for (std::size_t i = 0; i < answer.data.size(); ++i) {
    answer.data[i] = static_cast<std::uint8_t>(value >> (56 - 8 * i));
  }
  ports_.answers.push(t, spec::Latency, answer);
}

}  // namespace carillon
