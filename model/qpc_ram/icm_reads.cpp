// The part of the stage that serves contexts in host memory.
#include <algorithm>

#include "gen/stages.h"
#include "qpc_ram.h"

namespace carillon {

namespace {

namespace spec = stage_spec::qpc_ram;

context_id id_of(const context_read& request) {
  return {request.kind, request.index};
}

}  // namespace

void qpc_ram::take_icm_write(cycle_t t) {
  bool written = false;
  for (std::size_t i = 0; i < ports_.writes.size(); ++i) {
    stream<context_write>& input = *ports_.writes[i];
    if (!input.takeable(t)) {
      continue;
    }
    if (written) {
      wake(t + 1);
      continue;
    }
    const context_write& front = input.front();
    const context_id id{front.kind, front.index};
    const bool exists = store_.valid(id.kind, id.index);
    if (exists && !icm_->write(id, front.data)) {
      write_stalled_[i] = t;
      stalled_ = true;
      spared_ = 1;
      continue;
    }
    const context_write item = input.take(t);
    nic_.counters.add(counter::CtxWrites);
    written = true;
    if (exists) {
      cache_written_ = icm_->wrote_cache();
      store_.mark_written(id.kind, id.index, item.data);
      forward_to_readers(t, id, &item.data);
    }
  }
}

/// The RAM has one write port: a line that was written goes first.
void qpc_ram::install_line(cycle_t t) {
  if (icm_->ready() && !cache_written_) {
    icm_->install(t, [this](const context_id& id) { return wanted(id); });
  }
}

/// Some reader's oldest waiting read is about to be served with this line.
bool qpc_ram::wanted(const context_id& id) const {
  return std::any_of(readers_.begin(), readers_.end(), [&](const reader& each) {
    return !each.waiting.empty() && !each.waiting.front().empty &&
           id_of(each.waiting.front().request) == id;
  });
}

void qpc_ram::take_icm_reads(cycle_t t) {
  unsigned left = spec::ReadPorts;
  for (std::size_t i = 0; i < readers_.size(); ++i) {
    if (!readers_[i].waiting.empty()) {
      serve_waiting(t, i, left);
    }
    if (ports_.reads[i].requests.takeable(t)) {
      take_icm_read(t, i, left);
    }
  }
}

void qpc_ram::serve_waiting(cycle_t t, std::size_t port, unsigned& left) {
  reader& mine = readers_[port];
  waiting_read& front = mine.waiting.front();
  const context_id id = id_of(front.request);
  if (!front.empty && !icm_->holds(id)) {
    switch (icm_->fetch(id, front.request.function, spared_)) {
      case icm_lines::outcome::fetching:
      case icm_lines::outcome::coming:
        front.history.waits_for(context_, mine.site, t, miss_);
        return;
      case icm_lines::outcome::full:
        front.history.waits_for(context_, mine.site, t, registers_);
        stalled_ = true;
        return;
      case icm_lines::outcome::nowhere:
        front.empty = true;
        break;
    }
  }
  if (left == 0) {
    front.history.waits_for(context_, mine.site, t, ram_port_);
    full_cycle_ = t;
    nic_.counters.add(counter::CtxPortConflicts);
    wake(t + 1);
    return;
  }
  --left;
  context_line item = answer_to(front.request);
  item.trace = front.history.wait_until(context_, mine.site, t);
  if (!front.empty) {
    fill(item, *icm_->use(id));
  }
  ports_.reads[port].lines.push_reserved(t, spec::Ram, item);
  mine.waiting.pop();
  mine.served = t;
  if (!mine.waiting.empty()) {
    wake(t + 1);
  }
}

void qpc_ram::take_icm_read(cycle_t t, std::size_t port, unsigned& left) {
  read_port& io = ports_.reads[port];
  reader& mine = readers_[port];
  if (!io.lines.has_credit(t)) {
    io.lines.ask_credit(t);
    return;
  }
  if (left == 0 || mine.served == t) {
    if (left == 0) {
      full_cycle_ = t;
      nic_.counters.add(counter::CtxPortConflicts);
    }
    wake(t + 1);
    return;
  }
  const context_id id = id_of(io.requests.front());
  const std::uint16_t function = io.requests.front().function;
  const bool refused = denied(t, io.requests.front());
  bool empty = refused || !store_.valid(id.kind, id.index);
  const bool hit = !empty && icm_->holds(id);
  if (hit) {
    nic_.counters.add_for(function, counter::IcmHits);
  } else if (!empty) {
    const auto outcome = icm_->fetch(id, function, spared_);
    if (outcome == icm_lines::outcome::full) {
      mine.stalled = t;
      stalled_ = true;
      return;
    }
    empty = outcome == icm_lines::outcome::nowhere;
    if (outcome == icm_lines::outcome::coming) {
      nic_.counters.add_for(function, counter::IcmMerges);
    }
  }
  --left;
  const context_read request = io.requests.take(t);
  nic_.counters.add(counter::CtxReads);
  io.lines.reserve(t, 1);
  if (mine.waiting.empty() && (hit || empty)) {
    context_line item = answer_to(request);
    if (hit) {
      fill(item, *icm_->use(id));
    }
    io.lines.push_reserved(t, spec::Ram, item);
    return;
  }
  const name_id reason = mine.waiting.empty() ? miss_ : order_;
  mine.waiting.push({request, held_history(request.trace, t, reason), empty});
}

void qpc_ram::fail_waiting(const context_id& id) {
  for (reader& each : readers_) {
    for (std::size_t i = 0; i < each.waiting.size(); ++i) {
      waiting_read& read = each.waiting[i];
      read.empty = read.empty || id_of(read.request) == id;
    }
  }
}

void qpc_ram::fill(context_line& item, const context_store::line& data) const {
  item.valid = true;
  item.data = data;
  store_.overlay(item.kind, item.index, item.data);
}

}  // namespace carillon
