// The part of the rules that serves contexts in host memory.
#include <algorithm>

#include "gen/stages.h"
#include "qpc_ram/qpc_ram_rules.h"

namespace carillon {

namespace {

namespace spec = stage_spec::qpc_ram;

context_id id_of(const context_read& request) {
  return {request.kind, request.index};
}

}  // namespace

void qpc_ram_rules::settle_icm(cycle_t t) {
  stalled_ = false;
  spared_ = 0;
  cache_written_ = false;
  icm_->follow(t);
  if (done_->offered(t)) {
    if (const auto lost = icm_->take_answer(done_->take(t))) {
      fail_waiting(*lost);
    }
  }
  take_marks(t);
  take_icm_write(t);
  install_line(t);
  take_icm_reads(t);
  if (icm_->issue(t) || icm_->ready() || (stalled_ && icm_->room())) {
    goes_on_ = true;
  }
}

void qpc_ram_rules::take_icm_write(cycle_t t) {
  bool written = false;
  for (std::size_t i = 0; i < writes_.size(); ++i) {
    ram_input<context_write>& input = writes_[i];
    if (!input.offered(t)) {
      continue;
    }
    if (written) {
      goes_on_ = true;
      continue;
    }
    const context_write front = input.item(t);
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
void qpc_ram_rules::install_line(cycle_t t) {
  if (icm_->ready() && !cache_written_) {
    icm_->install(t, [this](const context_id& id) { return wanted(id); });
  }
}

/// Some reader's oldest waiting read is about to be served with this line.
bool qpc_ram_rules::wanted(const context_id& id) const {
  return std::any_of(readers_.begin(), readers_.end(), [&](const reader& each) {
    return !each.waiting.empty() && !each.waiting.front().empty &&
           id_of(each.waiting.front().request) == id;
  });
}

void qpc_ram_rules::take_icm_reads(cycle_t t) {
  unsigned left = spec::ReadPorts;
  for (reader& mine : readers_) {
    if (!mine.waiting.empty()) {
      serve_waiting(t, mine, left);
    }
    if (mine.requests.offered(t)) {
      take_icm_read(t, mine, left);
    }
  }
}

bool qpc_ram_rules::still_waits(cycle_t t, reader& mine, unsigned& left) {
  waiting_read& front = mine.waiting.front();
  const context_id id = id_of(front.request);
  name_id reason = ram_port_;
  if (!front.empty && !icm_->holds(id)) {
    switch (icm_->chance(id, spared_)) {
      case icm_lines::outcome::coming:
        reason = miss_;
        break;
      case icm_lines::outcome::full:
        reason = registers_;
        stalled_ = true;
        break;
      case icm_lines::outcome::fetching:
        // Its line made room for another one before its turn. It is asked for as a new one is.
        if (left != 0) {
          --left;
          icm_->fetch(id, front.request.function);
          reason = miss_;
        }
        break;
      case icm_lines::outcome::nowhere:
        icm_->count_nowhere();
        front.empty = true;
        break;
    }
    if (reason != ram_port_) {
      front.history.waits_for(nic_.context, mine.site, t, reason);
      return true;
    }
  }
  if (left == 0) {
    front.history.waits_for(nic_.context, mine.site, t, ram_port_);
    port_conflict(t);
    return true;
  }
  return false;
}

void qpc_ram_rules::serve_waiting(cycle_t t, reader& mine, unsigned& left) {
  if (still_waits(t, mine, left)) {
    return;
  }
  --left;
  waiting_read& front = mine.waiting.front();
  context_line item = answer_to(front.request);
  item.trace = front.history.wait_until(nic_.context, mine.site, t);
  if (!front.empty) {
    fill(item, *icm_->use(id_of(front.request)));
  }
  send(t, mine, std::move(item));
  mine.waiting.pop();
  mine.served = t;
  if (!mine.waiting.empty()) {
    goes_on_ = true;
  }
}

void qpc_ram_rules::take_icm_read(cycle_t t, reader& mine, unsigned& left) {
  if (!mine.lines.has_credit(t)) {
    mine.lines.ask_credit(t);
    return;
  }
  if (left == 0 || mine.served == t) {
    if (left == 0) {
      port_conflict(t);
    }
    goes_on_ = true;
    return;
  }
  const context_read front = mine.requests.item(t);
  const context_id id = id_of(front);
  const bool refused = denied(t, front);
  bool empty = refused || !store_.valid(id.kind, id.index);
  const bool hit = !empty && icm_->holds(id);
  if (hit) {
    nic_.counters.add_for(front.function, counter::IcmHits);
  } else if (!empty) {
    switch (icm_->chance(id, spared_)) {
      case icm_lines::outcome::full:
        mine.stalled = t;
        stalled_ = true;
        return;
      case icm_lines::outcome::nowhere:
        icm_->count_nowhere();
        empty = true;
        break;
      case icm_lines::outcome::coming:
        nic_.counters.add_for(front.function, counter::IcmMerges);
        break;
      case icm_lines::outcome::fetching:
        icm_->fetch(id, front.function);
        break;
    }
  }
  --left;
  const context_read request = mine.requests.take(t);
  nic_.counters.add(counter::CtxReads);
  mine.lines.reserve(t, 1);
  if (mine.waiting.empty() && (hit || empty)) {
    context_line item = answer_to(request);
    if (hit) {
      fill(item, *icm_->use(id));
    }
    send(t, mine, std::move(item));
    return;
  }
  const name_id reason = mine.waiting.empty() ? miss_ : order_;
  mine.waiting.push({request, held_history(request.trace, t, reason), empty});
}

void qpc_ram_rules::fail_waiting(const context_id& id) {
  for (reader& each : readers_) {
    for (std::size_t i = 0; i < each.waiting.size(); ++i) {
      waiting_read& read = each.waiting[i];
      read.empty = read.empty || id_of(read.request) == id;
    }
  }
}

void qpc_ram_rules::fill(context_line& item, const context_store::line& data) const {
  item.valid = true;
  item.data = data;
  store_.overlay(item.kind, item.index, item.data);
}

}  // namespace carillon
