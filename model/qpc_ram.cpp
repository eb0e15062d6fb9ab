#include "qpc_ram.h"

#include <utility>

#include "gen/stages.h"

namespace carillon {

namespace {

namespace spec = stage_spec::qpc_ram;

}  // namespace

qpc_ram::qpc_ram(const sc_core::sc_module_name& name, nic_shared& nic, ports connected)
    : stage(name, nic.context, "qpc_ram"),
      nic_(nic),
      ports_(std::move(connected)),
      store_(context_sizes::of(nic.context.params), ports_.icm == nullptr),
      readers_(ports_.reads.size()),
      write_stalled_(ports_.writes.size(), NeverCycle),
      order_(nic.context.trace.intern("order")),
      miss_(nic.context.trace.intern("icm_miss")),
      registers_(nic.context.trace.intern("icm_register")),
      ram_port_(nic.context.trace.intern("ram_port")) {
  if (ports_.icm != nullptr) {
    icm_ = std::make_unique<icm_lines>(nic, store_.sizes(), *ports_.icm);
    ports_.icm->reads.from(*this, site());
    ports_.icm->writes.from(*this, site());
    ports_.icm->done.to(*this, site());
    watch(ports_.icm->done, {});
  }
  for (std::size_t i = 0; i < ports_.reads.size(); ++i) {
    read_port& port = ports_.reads[i];
    const trace_site booked = nic.context.trace.site(path(), port.row);
    reader& mine = readers_[i];
    mine.site = booked;
    port.requests.to(*this, booked);
    port.lines.from(*this, booked);
    std::vector<blocker> reasons{blocker::credit(port.lines),
                                 blocker::condition("ram_port", [this, &mine](cycle_t t) {
                                   return full_cycle_ == t || mine.served == t;
                                 })};
    if (icm_ != nullptr) {
      reasons.push_back(
          blocker::condition("icm_register", [&mine](cycle_t t) { return mine.stalled == t; }));
    }
    watch(port.requests, std::move(reasons));
  }
  for (std::size_t i = 0; i < ports_.writes.size(); ++i) {
    stream<context_write>& input = *ports_.writes[i];
    std::vector<blocker> reasons;
    if (icm_ != nullptr) {
      reasons.push_back(blocker::condition(
          "icm_register", [this, i](cycle_t t) { return write_stalled_[i] == t; }));
    }
    for (auto* other : ports_.writes) {
      if (other != &input) {
        reasons.push_back(blocker::arbiter(*other));
      }
    }
    input.to(*this, site());
    watch(input, std::move(reasons));
  }
  for (auto* errors : ports_.errors) {
    errors->to(*this, site());
    watch(*errors, {});
  }
  for (auto* invalidations : ports_.invalidations) {
    invalidations->to(*this, site());
    watch(*invalidations, {});
  }
}

void qpc_ram::evaluate(cycle_t t) {
  if (icm_ == nullptr) {
    take_marks(t);
    take_write(t);
    take_reads(t);
    return;
  }
  stalled_ = false;
  spared_ = 0;
  cache_written_ = false;
  icm_->follow(t);
  if (ports_.icm->done.takeable(t)) {
    if (const auto lost = icm_->take_answer(t)) {
      fail_waiting(*lost);
    }
  }
  take_marks(t);
  take_icm_write(t);
  install_line(t);
  take_icm_reads(t);
  if (icm_->issue(t) || icm_->ready() || (stalled_ && icm_->room())) {
    wake(t + 1);
  }
}

void qpc_ram::take_marks(cycle_t t) {
  for (auto* errors : ports_.errors) {
    if (errors->takeable(t)) {
      const qp_error item = errors->take(t);
      store_.set_error(item.qpn, item.send_queue_only);
      forward_to_readers(t, {context_kind::qpc_common, item.qpn}, nullptr);
    }
  }
  for (auto* invalidations : ports_.invalidations) {
    if (invalidations->takeable(t)) {
      const std::uint32_t index = invalidations->take(t).index;
      store_.invalidate(index);
      forward_to_readers(t, {context_kind::mkey, index}, nullptr);
    }
  }
}

void qpc_ram::take_write(cycle_t t) {
  bool written = false;
  for (auto* writes : ports_.writes) {
    if (!writes->takeable(t)) {
      continue;
    }
    if (written) {
      wake(t + 1);
      continue;
    }
    const context_write item = writes->take(t);
    nic_.counters.add(counter::CtxWrites);
    if (store_.write(item.kind, item.index, item.data)) {
      forward_to_readers(t, {item.kind, item.index}, &item.data);
    }
    written = true;
  }
}

void qpc_ram::take_reads(cycle_t t) {
  unsigned left = spec::ReadPorts;
  for (read_port& port : ports_.reads) {
    if (!port.requests.takeable(t)) {
      continue;
    }
    if (!port.lines.has_credit(t)) {
      port.lines.ask_credit(t);
      continue;
    }
    if (left == 0) {
      full_cycle_ = t;
      nic_.counters.add(counter::CtxPortConflicts);
      wake(t + 1);
      continue;
    }
    --left;
    const context_read request = port.requests.take(t);
    nic_.counters.add(counter::CtxReads);
    context_line item = answer_to(request);
    if (!denied(t, request)) {
      item.valid = store_.valid(request.kind, request.index);
      item.data = store_.read(request.kind, request.index);
    }
    port.lines.push(t, spec::Ram, item);
  }
}

context_line qpc_ram::answer_to(const context_read& request) {
  context_line item;
  item.trace = request.trace;
  item.kind = request.kind;
  item.index = request.index;
  return item;
}

bool qpc_ram::denied(cycle_t t, const context_read& request) {
  if (request.function == 0 || ports_.partitions == nullptr ||
      ports_.partitions->read(t).reaches(request.function, request.kind, request.index)) {
    return false;
  }
  nic_.counters.add_for(request.function, counter::CtxPartitionDenied);
  return true;
}

void qpc_ram::forward_to_readers(cycle_t t, const context_id& id, const context_store::line* data) {
  for (read_port& port : ports_.reads) {
    port.lines.in_flight(t, [&](context_line& item) {
      if (item.valid && item.kind == id.kind && item.index == id.index) {
        if (data != nullptr) {
          item.data = *data;
        }
        store_.overlay(id.kind, id.index, item.data);
      }
    });
  }
}

context_store::line qpc_ram::debug_read(context_kind kind, std::uint32_t index) const {
  if (icm_ == nullptr || !store_.valid(kind, index)) {
    return store_.read(kind, index);
  }
  context_store::line data = icm_->debug_read({kind, index});
  store_.overlay(kind, index, data);
  return data;
}

}  // namespace carillon
