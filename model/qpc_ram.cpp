#include "qpc_ram.h"

#include <utility>

#include "gen/contexts.h"
#include "gen/stages.h"

namespace carillon {

namespace {

namespace spec = stage_spec::qpc_ram;

constexpr std::size_t bank_index(context_kind kind) {
  return static_cast<std::size_t>(kind);
}

context_store::sizes sizes_of(const parameters& params) {
  const auto log2 = [](std::int64_t value) { return static_cast<unsigned>(value); };
  return {log2(params.nic.log_max_qp),   log2(params.nic.log_max_cq),
          log2(params.nic.log_max_mkey), log2(params.nic.log_max_mtt_lines),
          log2(params.nic.log_max_srq),  log2(params.nic.log_max_eq)};
}

}  // namespace

context_store::context_store(const sizes& lines) {
  const std::size_t qps = std::size_t{1} << lines.log_qps;
  for (const auto kind : {context_kind::qpc_common, context_kind::qpc_address,
                          context_kind::qpc_requester, context_kind::qpc_responder}) {
    banks_[bank_index(kind)].resize(qps);
  }
  const auto give = [this](context_kind kind, unsigned log_lines) {
    banks_[bank_index(kind)].resize(std::size_t{1} << log_lines);
  };
  give(context_kind::cqc, lines.log_cqs);
  give(context_kind::mkey, lines.log_mkeys);
  give(context_kind::mtt, lines.log_mtt_lines);
  give(context_kind::srq, lines.log_srqs);
  give(context_kind::eqc, lines.log_eqs);
  errors_.resize(qps);
  send_errors_.resize(qps);
  invalid_keys_.resize(std::size_t{1} << lines.log_mkeys);
}

const std::vector<context_store::line>& context_store::bank(context_kind kind) const {
  return banks_[bank_index(kind)];
}

bool context_store::valid(context_kind kind, std::uint32_t index) const {
  return index < bank(kind).size();
}

context_store::line context_store::read(context_kind kind, std::uint32_t index) const {
  if (!valid(kind, index)) {
    return {};
  }
  line result = bank(kind)[index];
  if (kind == context_kind::qpc_common && (errors_[index] || send_errors_[index])) {
    qpc_common common = qpc_common::unpack(result.data());
    common.state = errors_[index] ? qp_state::Err : qp_state::Sqer;
    common.pack(result.data());
  } else if (kind == context_kind::mkey && invalid_keys_[index]) {
    mkey_line key = mkey_line::unpack(result.data());
    key.valid = 0;
    key.pack(result.data());
  }
  return result;
}

bool context_store::write(context_kind kind, std::uint32_t index, const line& data) {
  if (!valid(kind, index)) {
    return false;
  }
  banks_[bank_index(kind)][index] = data;
  if (kind == context_kind::qpc_common) {
    const qp_state state = qpc_common::unpack(data.data()).state;
    if (state == qp_state::Reset) {
      errors_[index] = false;
    }
    if (state == qp_state::Reset || state == qp_state::Rts) {
      send_errors_[index] = false;
    }
  } else if (kind == context_kind::mkey) {
    invalid_keys_[index] = false;
  }
  return true;
}

void context_store::set_error(std::uint32_t qpn, bool send_queue_only) {
  // An owner may fail just before it hears of a reset: that error belongs to the life before.
  if (qpn < errors_.size() &&
      qpc_common::unpack(bank(context_kind::qpc_common)[qpn].data()).state != qp_state::Reset) {
    (send_queue_only ? send_errors_ : errors_)[qpn] = true;
  }
}

void context_store::invalidate(std::uint32_t mkey) {
  if (mkey < invalid_keys_.size()) {
    invalid_keys_[mkey] = true;
  }
}

qpc_ram::qpc_ram(const sc_core::sc_module_name& name, nic_shared& nic, ports connected)
    : stage(name, nic.context, "qpc_ram"),
      nic_(nic),
      ports_(std::move(connected)),
      store_(sizes_of(nic.context.params)) {
  for (read_port& port : ports_.reads) {
    const trace_site booked = nic.context.trace.site(path(), port.row);
    port.requests.to(*this, booked);
    port.lines.from(*this, booked);
    watch(port.requests,
          {blocker::credit(port.lines),
           blocker::condition("ram_port", [this](cycle_t t) { return full_cycle_ == t; })});
  }
  const auto one_write_a_cycle = [this](stream_base& input) {
    std::vector<blocker> others;
    for (auto* other : ports_.writes) {
      if (other != &input) {
        others.push_back(blocker::arbiter(*other));
      }
    }
    return others;
  };
  for (auto* writes : ports_.writes) {
    writes->to(*this, site());
    watch(*writes, one_write_a_cycle(*writes));
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
  for (auto* errors : ports_.errors) {
    if (errors->takeable(t)) {
      const qp_error item = errors->take(t);
      store_.set_error(item.qpn, item.send_queue_only);
      forward_to_readers(t, context_kind::qpc_common, item.qpn);
    }
  }
  for (auto* invalidations : ports_.invalidations) {
    if (invalidations->takeable(t)) {
      const std::uint32_t index = invalidations->take(t).index;
      store_.invalidate(index);
      forward_to_readers(t, context_kind::mkey, index);
    }
  }
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
      forward_to_readers(t, item.kind, item.index);
    }
    written = true;
  }
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
    context_line item;
    item.trace = request.trace;
    item.kind = request.kind;
    item.index = request.index;
    if (denied(t, request)) {
      nic_.counters.add_for(request.function, counter::CtxPartitionDenied);
    } else {
      item.valid = store_.valid(request.kind, request.index);
      item.data = store_.read(request.kind, request.index);
    }
    port.lines.push(t, spec::Ram, item);
  }
}

bool qpc_ram::denied(cycle_t t, const context_read& request) const {
  return request.function != 0 && ports_.partitions != nullptr &&
         !ports_.partitions->read(t).reaches(request.function, request.kind, request.index);
}

void qpc_ram::forward_to_readers(cycle_t t, context_kind kind, std::uint32_t index) {
  for (read_port& port : ports_.reads) {
    port.lines.in_flight(t, [&](context_line& item) {
      if (item.valid && item.kind == kind && item.index == index) {
        item.data = store_.read(kind, index);
      }
    });
  }
}

}  // namespace carillon
