#include "wqe_fetch.h"

#include <algorithm>
#include <utility>

#include "gen/params.h"

namespace carillon {

namespace {

namespace spec = stage_spec::wqe_fetch;
namespace ram = stage_spec::qpc_ram;
namespace dma = stage_spec::dma_engine;

constexpr std::uint16_t behind(std::uint16_t index, unsigned wqebbs) {
  return static_cast<std::uint16_t>(index + wqebbs);
}

}  // namespace

// Rules
// ------------------------------------------------------------------------------------------------

wqe_fetch_rules::wqe_fetch_rules(nic_shared& nic, trace_site site, const wqe_fetch_ports& io)
    : nic_(nic),
      site_(site),
      uar_site_{site.place, nic.context.trace.intern("uar")},
      order_reason_(nic.context.trace.intern("order")),
      io_(io),
      core_(1U << static_cast<unsigned>(nic.context.params.nic.log_max_qp), nic.buffers),
      history_(nic, site, core_.queues()) {
  const auto require = [](const stream_base& port, unsigned depth, bool exactly) {
    if (port.depth() < depth || (exactly && port.depth() != depth)) {
      throw config_error(fmt::format("{}: depth {}, but wqe_fetch is built for {}", port.name(),
                                     port.depth(), depth));
    }
  };
  require(io.context_reads, spec::CtxReadDepth, true);
  require(io.context_lines, spec::Lookups, false);
  require(io.reads, spec::Outstanding, false);
  require(io.done, spec::Outstanding, false);
  require(io.wqes, spec::Depth, true);
  io_.doorbells.tap(&doorbell_);
  io_.context_lines.tap(&line_);
  io_.done.tap(&done_);
  io_.commands.tap(&command_);
  io_.refetches.tap(&refetch_);
}

std::vector<twin_rules::wait_list> wqe_fetch_rules::waits() {
  // Commands, refetches and lines change what is known of a QP, one a cycle.
  return {
      {&io_.doorbells,
       {blocker::condition("lookups", [this](cycle_t t) { return lookups_full(t); }),
        blocker::credit(io_.context_reads)}},
      {&io_.context_lines, {blocker::arbiter(io_.commands), blocker::arbiter(io_.refetches)}},
      {&io_.done, {}},
      {&io_.commands, {}},
      {&io_.refetches, {blocker::arbiter(io_.commands)}},
  };
}

bool wqe_fetch_rules::lookups_full(cycle_t t) const {
  const std::size_t ended = settled_ != t && io_.context_lines.taken_in(t) ? 1 : 0;
  return core_.lookups() - ended >= wqe_fetch_core::Lookups;
}

void wqe_fetch_rules::settle(cycle_t t) {
  settled_ = t;
  control(t);
  answer(t);
  rung(t);
  give_turn(t);
}

void wqe_fetch_rules::give_back(cycle_t t, unsigned wqebbs) {
  if (wqebbs != 0) {
    io_.wqes.cancel(t, wqebbs);
  }
}

void wqe_fetch_rules::control(cycle_t t) {
  if (const auto item = std::exchange(command_.taken, {}); item && item->qpn < core_.queues()) {
    const auto state = static_cast<qp_state>(item->state);
    if (state == qp_state::Reset) {
      give_back(t, core_.reset(item->qpn));
      history_.reset(item->qpn);
    } else if (state == qp_state::Rts) {
      core_.ready(item->qpn, qpc_common::unpack(item->common.data()));
    }
  }
  // One that was on its way when the QP was reset is of no interest.
  if (const auto item = std::exchange(refetch_.taken, {}); item && !core_.queue(item->qpn).reset) {
    nic_.counters.add(counter::WqeRefetches);
    give_back(t, core_.go_back(t, *item));
  }
  if (const auto line = std::exchange(line_.taken, {})) {
    learn(t, *line);
  }
}

void wqe_fetch_rules::learn(cycle_t t, const context_line& line) {
  const wqe_fetch_core::lookup of = core_.answered();
  if (of.stale) {
    return;
  }
  counter_block& counters = nic_.counters;
  switch (core_.learn(t, of.rang, qpc_common::unpack(line.data.data()))) {
    case wqe_fetch_core::learnt::dropped:
      counters.add(counter::WqeDroppedState);
      return;
    case wqe_fetch_core::learnt::ignored:
      counters.add(counter::DbIgnoredRange);
      return;
    case wqe_fetch_core::learnt::old:
      counters.add(counter::DoorbellsCoalesced);
      return;
    case wqe_fetch_core::learnt::coalesced:
      counters.add(counter::DoorbellsCoalesced);
      break;
    case wqe_fetch_core::learnt::moved:
      break;
  }
  history_.rang(t, of.rang.qpn, core_.queue(of.rang.qpn).producer, line.trace);
}

void wqe_fetch_rules::answer(cycle_t t) {
  if (auto item = std::exchange(done_.taken, {})) {
    core_.answer(item->cookie, item->status, std::move(item->data), item->trace);
  }
  if (!core_.read_ends()) {
    return;
  }
  wqe_fetch_core::ended_read ended = core_.end_read();
  if (ended.stale) {
    give_back(t, ended.from.wqebbs);
  } else {
    hand_on(t, ended);
  }
}

void wqe_fetch_rules::hand_on(cycle_t t, wqe_fetch_core::ended_read& ended) {
  tracer& trace = nic_.context.trace;
  const wqe_fetch_core::read& from = ended.from;
  const wqe_fetch_core::queue_state& queue = core_.queue(from.qpn);
  // What waited for an older read to be answered.
  const trace_ref read =
      trace.wait(from.trace, site_, order_reason_, trace.end_of(from.trace), time_of(t));
  const cycle_t done = t + spec::Done;
  for (unsigned i = 0; i < ended.count; ++i) {
    wqe_fetch_core::handed_wqe& wqe = ended.wqes[i];
    const cycle_t visible = std::max(done, port_free_);
    port_free_ = visible + wqe.wqebbs;
    wqe_item item;
    item.trace = history_.of_wqe(t, from.qpn, wqe.index, behind(wqe.index, wqe.wqebbs), read);
    item.trace = trace.service(item.trace, site_, time_of(t), time_of(done));
    item.trace = trace.wait(item.trace, site_, order_reason_, time_of(done), time_of(visible));
    item.function = queue.function;
    item.qpn = from.qpn;
    item.wqe_index = wqe.index;
    item.ds = wqe.ds;
    item.status = from.status;
    item.epoch = queue.epoch;
    item.bytes = std::move(wqe.bytes);
    wqes.push({std::move(item), t, visible, wqe.wqebbs});
  }
  history_.passed(from.qpn, behind(from.index, from.wqebbs));
}

void wqe_fetch_rules::rung(cycle_t t) {
  auto item = std::exchange(doorbell_.taken, {});
  if (!item) {
    return;
  }
  if (item->blueflame) {
    if (core_.executes(*item) && io_.wqes.has_credit(t, wqebbs_of(item->ds))) {
      execute(t, std::move(*item));
      return;
    }
    nic_.counters.add(counter::BfDemoted);
  }
  item->wqe.reset();
  context_read request;
  request.trace = item->trace;
  request.kind = context_kind::qpc_common;
  request.index = item->qpn;
  request.function = item->function;
  io_.context_reads.reserve(t, 1);
  lookups.push({request, t, t + ram::Hop, 1});
  core_.look_up(std::move(*item));
}

void wqe_fetch_rules::execute(cycle_t t, doorbell item) {
  tracer& trace = nic_.context.trace;
  nic_.counters.add(counter::BfExecuted);
  const unsigned wqebbs = wqebbs_of(item.ds);
  core_.execute(item);
  history_.executed(item.qpn, behind(item.wqe_index, wqebbs));
  io_.wqes.reserve(t, wqebbs);
  const cycle_t visible = std::max(t + 1, port_free_);
  port_free_ = visible + wqebbs;
  wqe_item wqe;
  wqe.trace = trace.service(item.trace, uar_site_, time_of(t), time_of(t + 1));
  wqe.trace = trace.wait(wqe.trace, site_, order_reason_, time_of(t + 1), time_of(visible));
  wqe.function = item.function;
  wqe.qpn = item.qpn;
  wqe.wqe_index = item.wqe_index;
  wqe.ds = item.ds;
  wqe.origin = wqe_origin::blueflame;
  wqe.epoch = core_.queue(item.qpn).epoch;
  wqe.bytes = std::move(item.wqe);
  wqes.push({std::move(wqe), t, visible, wqebbs});
}

void wqe_fetch_rules::give_turn(cycle_t t) {
  const wqe_fetch_core::granted granted = core_.grant(t, io_.wqes.credits(t));
  give_back(t, granted.given_up);
  short_of_ = granted.why_not == wqe_fetch_core::turn::no_credit ? granted.wqebbs : 0;
  const bool again = granted.any || granted.why_not == wqe_fetch_core::turn::again;
  next_ = core_.read_ends() ? t + 1 : core_.next_in_line(t, again);
  if (!granted.any) {
    return;
  }
  io_.wqes.reserve(t, granted.wqebbs);
  io_.reads.reserve(t, 1);
  dma_read read;
  read.trace = history_.of_read(t, granted.qpn, granted.index);
  read.function = core_.queue(granted.qpn).function;
  read.address = granted.address;
  read.length = granted.wqebbs * WqebbBytes;
  read.cookie = granted.slot;
  reads.push({std::move(read), t, t + dma::RequestHop, 1});
  nic_.counters.add(counter::WqeFetches);
  nic_.counters.add(counter::WqeFetchedBytes, granted.wqebbs * WqebbBytes);
}

twin_rules::departure wqe_fetch_rules::departs(unsigned port, cycle_t visible) {
  const auto leave = [&](auto& queue) {
    CARILLON_CHECK(!queue.empty() && queue.front().visible == visible,
                   "{}: an item visible in cycle {}, but {}", io_.all()[port]->name(), visible,
                   queue.empty() ? std::string("nothing is due")
                                 : fmt::format("one is due in {}", queue.front().visible));
    const auto gone = queue.pop();
    return departure{gone.item.trace, gone.pushed};
  };
  switch (port) {
    case wqe_fetch_ports::ContextReads:
      return leave(lookups);
    case wqe_fetch_ports::Reads:
      return leave(reads);
    default:
      return leave(wqes);
  }
}

// Model
// ------------------------------------------------------------------------------------------------

wqe_fetch::wqe_fetch(const sc_core::sc_module_name& name, nic_shared& nic, const ports& io)
    : stage(name, nic.context, Row), nic_(nic), io_(io), rules_(nic, site(), io) {
  io_.doorbells.to(*this, site());
  io_.context_reads.from(*this, site());
  io_.context_lines.to(*this, site());
  io_.reads.from(*this, site());
  io_.done.to(*this, site());
  io_.commands.to(*this, site());
  io_.refetches.to(*this, site());
  io_.wqes.from(*this, site());
  for (auto& [input, blockers] : rules_.waits()) {
    watch(*input, std::move(blockers));
  }
}

void wqe_fetch::check_twin(const nic_shared& nic) {
  const parameters built_for;
  if (nic.context.params.nic.log_max_qp > built_for.nic.log_max_qp) {
    throw config_error(fmt::format("wqe_fetch: its RTL is built for nic.log_max_qp = {}, not {}",
                                   built_for.nic.log_max_qp, nic.context.params.nic.log_max_qp));
  }
}

void wqe_fetch::evaluate(cycle_t t) {
  take_inputs(t);
  take_doorbell(t);
  rules_.settle(t);
  send();
  if (rules_.short_of() != 0) {
    io_.wqes.ask_credit(t, rules_.short_of());
  }
  if (rules_.next() != NeverCycle) {
    wake(rules_.next());
  }
}

void wqe_fetch::take_inputs(cycle_t t) {
  if (io_.commands.takeable(t)) {
    io_.commands.take(t);
  } else if (io_.refetches.takeable(t)) {
    io_.refetches.take(t);
  } else if (io_.context_lines.takeable(t)) {
    io_.context_lines.take(t);
  }
  if (io_.refetches.takeable(t) || io_.context_lines.takeable(t)) {
    wake(t + 1);
  }
  if (io_.done.takeable(t)) {
    io_.done.take(t);
  }
}

void wqe_fetch::take_doorbell(cycle_t t) {
  if (!io_.doorbells.takeable(t) || rules_.lookups_full(t)) {
    return;  // the line that frees a slot wakes this stage
  }
  if (!io_.context_reads.has_credit(t)) {
    io_.context_reads.ask_credit(t);
    return;
  }
  io_.doorbells.take(t);
}

void wqe_fetch::send() {
  while (!rules_.lookups.empty()) {
    auto [item, pushed, visible, beats] = rules_.lookups.pop();
    io_.context_reads.push_reserved(pushed, ram::Hop, item);
  }
  while (!rules_.reads.empty()) {
    auto [item, pushed, visible, beats] = rules_.reads.pop();
    item.into = nic_.buffers.take();
    io_.reads.push_reserved(pushed, dma::RequestHop, std::move(item));
  }
  while (!rules_.wqes.empty()) {
    auto [item, pushed, visible, beats] = rules_.wqes.pop();
    io_.wqes.push_reserved_booked(pushed, static_cast<unsigned>(visible - pushed), std::move(item),
                                  beats);
  }
}

}  // namespace carillon
