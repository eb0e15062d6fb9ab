#include "qpc_ram/qpc_ram_rules.h"

#include <array>
#include <utility>

#include "gen/stages.h"
#include "gen/streams.h"

namespace carillon {

namespace {

namespace spec = stage_spec::qpc_ram;

/// No mark is set, and the line is zero or not on the chip.
bool as_after_reset(const ram_image& image) {
  const bool marked =
      (image.dirty | image.error | image.send_error | image.alive | image.struck) != 0;
  return !marked && image.data == decltype(image.data){};
}

}  // namespace

std::vector<stream_base*> qpc_ram_ports::all() const {
  std::vector<stream_base*> result;
  for (const read_port& each : reads) {
    result.insert(result.end(), {&each.requests, &each.lines});
  }
  result.insert(result.end(), writes.begin(), writes.end());
  result.insert(result.end(), errors.begin(), errors.end());
  result.insert(result.end(), invalidations.begin(), invalidations.end());
  if (const icm_lines::ports* const memory = icm != nullptr ? icm : idle_icm; memory != nullptr) {
    result.insert(result.end(), {&memory->reads, &memory->done, &memory->writes});
  }
  return result;
}

twin_levels qpc_ram_ports::levels() const {
  twin_levels result;
  result.partitions = partitions;
  result.icm_base = icm != nullptr ? &icm->base : nullptr;
  return result;
}

qpc_ram_rules::qpc_ram_rules(nic_shared& nic, trace_site site, qpc_ram_ports io, role part)
    : nic_(nic),
      site_(site),
      ports_(std::move(io)),
      decides_(part == role::decides),
      store_(context_sizes::of(nic.context.params), ports_.icm == nullptr),
      write_stalled_(ports_.writes.size(), NeverCycle),
      order_(nic.context.trace.intern("order")),
      miss_(nic.context.trace.intern("icm_miss")),
      registers_(nic.context.trace.intern("icm_register")),
      ram_port_(nic.context.trace.intern("ram_port")) {
  for (const auto& port : ports_.reads) {
    readers_.emplace_back(port, trace_site{site.place, nic.context.trace.intern(port.row)},
                          decides_);
  }
  for (auto* each : ports_.writes) {
    writes_.emplace_back(*each, decides_);
  }
  for (auto* each : ports_.errors) {
    errors_.emplace_back(*each, decides_);
  }
  for (auto* each : ports_.invalidations) {
    invalidations_.emplace_back(*each, decides_);
  }
  if (ports_.icm != nullptr) {
    icm_ = std::make_unique<icm_lines>(nic, store_.sizes(), *ports_.icm, decides_);
    done_ = std::make_unique<ram_input<dma_read_done>>(ports_.icm->done, decides_);
  }
}

std::vector<twin_rules::wait_list> qpc_ram_rules::waits() {
  std::vector<wait_list> result;
  if (icm_ != nullptr) {
    result.push_back({&ports_.icm->done, {}});
  }
  for (reader& mine : readers_) {
    std::vector<blocker> reasons{blocker::credit(mine.lines),
                                 blocker::condition("ram_port", [this, &mine](cycle_t t) {
                                   return full_cycle_ == t || mine.served == t;
                                 })};
    if (icm_ != nullptr) {
      reasons.push_back(
          blocker::condition("icm_register", [&mine](cycle_t t) { return mine.stalled == t; }));
    }
    result.push_back({&mine.requests.base(), std::move(reasons)});
  }
  for (std::size_t i = 0; i < ports_.writes.size(); ++i) {
    std::vector<blocker> reasons;
    if (icm_ != nullptr) {
      reasons.push_back(blocker::condition(
          "icm_register", [this, i](cycle_t t) { return write_stalled_[i] == t; }));
    }
    for (auto* other : ports_.writes) {
      if (other != ports_.writes[i]) {
        reasons.push_back(blocker::arbiter(*other));
      }
    }
    result.push_back({ports_.writes[i], std::move(reasons)});
  }
  for (auto* each : ports_.errors) {
    result.push_back({each, {}});
  }
  for (auto* each : ports_.invalidations) {
    result.push_back({each, {}});
  }
  return result;
}

trace_site qpc_ram_rules::booked(unsigned port, trace_site own) const {
  return port / 2 < readers_.size() ? readers_[port / 2].site : own;
}

twin_rules::departure qpc_ram_rules::departs(unsigned port, cycle_t visible) {
  if (port / 2 >= readers_.size()) {
    return {{}, visible - stage_spec::dma_engine::RequestHop};
  }
  ring<departure>& of_port = readers_[port / 2].departures;
  CARILLON_CHECK(!of_port.empty() && of_port.front().begin + spec::Ram == visible,
                 "{}: a line that no read asked for, visible in cycle {}",
                 readers_[port / 2].lines.name(), visible);
  return of_port.pop();
}

void qpc_ram_rules::settle(cycle_t t) {
  if (settled_ == t) {
    return;
  }
  settled_ = t;
  goes_on_ = false;
  if (icm_ == nullptr) {
    take_marks(t);
    take_write(t);
    take_reads(t);
  } else {
    settle_icm(t);
  }
  if (!decides_) {
    check(t);
  }
}

void qpc_ram_rules::check(cycle_t t) const {
  const auto all = [t](const auto& inputs) {
    for (const auto& each : inputs) {
      each.check(t);
    }
  };
  for (const reader& each : readers_) {
    each.requests.check(t);
  }
  all(writes_);
  all(errors_);
  all(invalidations_);
  if (done_ != nullptr) {
    done_->check(t);
  }
}

void qpc_ram_rules::take_marks(cycle_t t) {
  for (auto& errors : errors_) {
    if (errors.offered(t)) {
      const qp_error item = errors.take(t);
      store_.set_error(item.qpn, item.send_queue_only);
      forward_to_readers(t, {context_kind::qpc_common, item.qpn}, nullptr);
    }
  }
  for (auto& invalidations : invalidations_) {
    if (invalidations.offered(t)) {
      const std::uint32_t index = invalidations.take(t).index;
      store_.invalidate(index);
      forward_to_readers(t, {context_kind::mkey, index}, nullptr);
    }
  }
}

void qpc_ram_rules::take_write(cycle_t t) {
  bool written = false;
  for (auto& writes : writes_) {
    if (!writes.offered(t)) {
      continue;
    }
    if (written) {
      goes_on_ = true;
      continue;
    }
    const context_write item = writes.take(t);
    nic_.counters.add(counter::CtxWrites);
    if (store_.write(item.kind, item.index, item.data)) {
      forward_to_readers(t, {item.kind, item.index}, &item.data);
    }
    written = true;
  }
}

void qpc_ram_rules::take_reads(cycle_t t) {
  unsigned left = spec::ReadPorts;
  for (reader& mine : readers_) {
    if (!mine.requests.offered(t)) {
      continue;
    }
    if (!mine.lines.has_credit(t)) {
      mine.lines.ask_credit(t);
      continue;
    }
    if (left == 0) {
      port_conflict(t);
      continue;
    }
    --left;
    const context_read request = mine.requests.take(t);
    nic_.counters.add(counter::CtxReads);
    mine.lines.reserve(t, 1);
    context_line item = answer_to(request);
    if (!denied(t, request)) {
      item.valid = store_.valid(request.kind, request.index);
      item.data = store_.read(request.kind, request.index);
    }
    send(t, mine, std::move(item));
  }
}

void qpc_ram_rules::port_conflict(cycle_t t) {
  full_cycle_ = t;
  nic_.counters.add(counter::CtxPortConflicts);
  goes_on_ = true;
}

context_line qpc_ram_rules::answer_to(const context_read& request) {
  context_line item;
  item.trace = request.trace;
  item.kind = request.kind;
  item.index = request.index;
  return item;
}

void qpc_ram_rules::send(cycle_t t, reader& to, context_line item) {
  if (decides_) {
    to.lines.push_reserved(t, spec::Ram, std::move(item));
  } else {
    to.departures.push({item.trace, t});
  }
}

bool qpc_ram_rules::denied(cycle_t t, const context_read& request) {
  if (request.function == 0 || ports_.partitions == nullptr ||
      ports_.partitions->read(t).reaches(request.function, request.kind, request.index)) {
    return false;
  }
  nic_.counters.add_for(request.function, counter::CtxPartitionDenied);
  return true;
}

void qpc_ram_rules::forward_to_readers(cycle_t t, const context_id& id,
                                       const context_store::line* data) {
  if (!decides_) {
    return;
  }
  for (reader& each : readers_) {
    each.lines.in_flight(t, [&](context_line& item) {
      if (item.valid && item.kind == id.kind && item.index == id.index) {
        if (data != nullptr) {
          item.data = *data;
        }
        store_.overlay(id.kind, id.index, item.data);
      }
    });
  }
}

context_store::line qpc_ram_rules::debug_read(context_kind kind, std::uint32_t index) const {
  if (icm_ == nullptr || !store_.valid(kind, index)) {
    return store_.read(kind, index);
  }
  context_store::line data = icm_->debug_read({kind, index});
  store_.overlay(kind, index, data);
  return data;
}

std::span<const stream_field_desc> qpc_ram_rules::word_fields() const {
  return ram_image::Fields;
}

void qpc_ram_rules::each_word(content_words which, const look& compare) const {
  for (std::size_t i = 0; i < ContextKinds; ++i) {
    const auto kind = static_cast<context_kind>(i);
    for (std::uint32_t index = 0; index < store_.sizes().count(kind); ++index) {
      const context_store::marks marks = store_.marks_of(kind, index);
      ram_image image;
      image.error = marks.error;
      image.send_error = marks.send_error;
      image.alive = marks.alive;
      image.struck = marks.struck;
      if (icm_ == nullptr) {
        image.held = 1;
        image.data = store_.raw(kind, index);
      } else if (const icm_cache::entry* const held = icm_->held({kind, index}); held != nullptr) {
        image.held = 1;
        image.dirty = held->dirty;
        image.data = held->data;
      }
      if (which == content_words::used && as_after_reset(image)) {
        continue;
      }
      ram_query query;
      query.kind = static_cast<line_kind>(kind);
      query.index = index;
      std::array<std::uint32_t, ram_query::Words> asked{};
      std::array<std::uint32_t, ram_image::Words> expected{};
      query.pack(asked.data());
      image.pack(expected.data());
      compare(asked, expected);
    }
  }
}

}  // namespace carillon
