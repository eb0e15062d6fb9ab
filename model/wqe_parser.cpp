#include "wqe_parser.h"

#include <algorithm>
#include <cstring>

#include "gen/contexts.h"
#include "gen/stages.h"

namespace carillon {

namespace {

namespace spec = stage_spec::wqe_parser;

static_assert(spec::MaxSge == MaxSge);

}  // namespace

// Rules
// ------------------------------------------------------------------------------------------------

wqe_parser_rules::wqe_parser_rules(nic_shared& nic, trace_site site, const wqe_parser_ports& io)
    : nic_(nic), site_(site), order_(nic.context.trace.intern("order")), io_(io) {
  const auto require = [](const stream_base& port, unsigned depth) {
    if (port.depth() != depth) {
      throw config_error(fmt::format("{}: depth {}, but wqe_parser is built for {}", port.name(),
                                     port.depth(), depth));
    }
  };
  require(io.ctx_read, spec::CtxReadDepth);
  require(io.mkey_read, spec::KeyReadDepth);
  require(io.work, spec::Depth);
  for (const auto* answers : {&io.ctx_line, &io.mkey_line}) {
    const unsigned slots = answers == &io.ctx_line ? spec::CtxSlots : spec::KeySlots;
    if (answers->depth() < slots) {
      throw config_error(
          fmt::format("{}: depth {} is less than the {} answers that may be under way",
                      answers->name(), answers->depth(), slots));
    }
  }
  io_.wqe.tap(&wqe_tap_);
  io_.ctx_line.tap(&ctx_tap_);
  io_.mkey_line.tap(&mkey_tap_);
  io_.work.tap(&work_tap_);
}

trace_site wqe_parser_rules::booked(unsigned port, trace_site own) const {
  // The lookup, its request included, is a line of its own in the stage table.
  return port == wqe_parser_ports::CtxRead
             ? trace_site{own.place, nic_.context.trace.intern("qpc_ram")}
             : own;
}

std::vector<twin_rules::wait_list> wqe_parser_rules::waits() {
  return {
      {&io_.wqe,
       {blocker::credit(io_.ctx_read),
        blocker::condition("ctx_slots", [this](cycle_t t) { return ctx_slots_full(t); })}},
      {&io_.ctx_line,
       {blocker::condition("walker", [this](cycle_t t) { return walker_busy(t); }),
        blocker::condition("wqe_beats", [this](cycle_t t) { return beats_missing(t); }),
        blocker::credit(io_.work, spec::MaxBeats), blocker::credit(io_.mkey_read, spec::MaxSge),
        blocker::condition("mkey_slots", [this](cycle_t t) { return key_slots_full(t); })}},
      {&io_.mkey_line, {}},
  };
}

bool wqe_parser_rules::ctx_slots_full(cycle_t t) const {
  const std::size_t before =
      waiting_.size() + (io_.ctx_line.taken_in(t) ? 1 : 0) - (io_.wqe.taken_in(t) ? 1 : 0);
  return before >= spec::CtxSlots;
}

bool wqe_parser_rules::key_slots_full(cycle_t t) const {
  // Keys are asked for only while the walker is busy, so none were asked for in t.
  const unsigned before = keys_open_ + (io_.mkey_line.taken_in(t) ? 1 : 0);
  return before > spec::KeySlots - spec::MaxSge;
}

void wqe_parser_rules::took_wqe(cycle_t t, const wqe_item& item) {
  io_.ctx_read.reserve(t, 1);
  ctx_asks_.push({item.trace, t, 1});
  waiting_.push({item, t, beats_of(std::uint64_t{item.ds} * SegmentBytes)});
}

void wqe_parser_rules::took_ctx_line(cycle_t t, const context_line& line) {
  CARILLON_CHECK(!waiting_.empty(), "{}: a context line in cycle {} that no WQE waits for",
                 io_.ctx_line.name(), t);
  const waiting_wqe& next = waiting_.front();
  checked_wqe now;
  now.wqe = next.wqe;
  now.qp = qpc_common::unpack(line.data.data());
  now.shape = shape_of(next.wqe, now.qp.service);
  now.verdict = check_context(next.wqe, now.shape, line.valid, now.qp);
  now.keys = now.verdict.refused() ? 0 : now.shape.keys();
  now.history = line.trace;
  now.since = t;
  now.latency = spec::Latency;
  io_.work.reserve(t, beats_of(now.shape.body_bytes()));
  if (now.keys != 0) {
    io_.mkey_read.reserve(t, now.keys);
    key_asks_.push({line.trace, t, now.keys});
    keys_open_ += now.keys;
  }
  walker_free_ = t + std::max(1U, now.keys);
  checked_.push(std::move(now));
  waiting_.pop();
}

void wqe_parser_rules::took_mkey_line(cycle_t t, const context_line& line) {
  while (answering_ < checked_.size() && checked_[answering_].done()) {
    ++answering_;
  }
  CARILLON_CHECK(answering_ < checked_.size(), "{}: a key in cycle {} that no WQE waits for",
                 io_.mkey_line.name(), t);
  checked_wqe& owner = checked_[answering_];
  const key_claim claim = claim_of(owner.wqe, owner.shape, owner.answered);
  if (!key_allows(claim, owner.wqe.qpn, owner.qp, line)) {
    owner.verdict.syndrome = cqe_syndrome::LocalProtection;
  }
  owner.verdict.paged |= claim.use != key_purpose::invalidate && has_pages(line);
  ++owner.answered;
  --keys_open_;
  owner.history = line.trace;
  owner.since = t;
  owner.latency = spec::Keys;
}

void wqe_parser_rules::work_left(cycle_t /*t*/, const work_item& item) {
  // What becomes of a WQE that failed otherwise is for tx_sched to count.
  counter_block& counters = nic_.counters;
  if (item.syndrome == static_cast<std::uint8_t>(cqe_syndrome::LocalQpOperation)) {
    counters.add_for(item.function, counter::WqeMalformed);
  } else if (item.syndrome == 0 && !item.drop) {
    counters.add_for(item.function, counter::WqeParsed);
    counters.add_for(item.function, counter::WqeInline, item.is_inline ? 1 : 0);
  }
}

twin_rules::departure wqe_parser_rules::departs(unsigned port, cycle_t visible) {
  if (port == wqe_parser_ports::CtxRead || port == wqe_parser_ports::MkeyRead) {
    ring<key_walk>& asks = port == wqe_parser_ports::CtxRead ? ctx_asks_ : key_asks_;
    CARILLON_CHECK(!asks.empty(), "{}: a read visible in cycle {} that nobody asked for",
                   io_.all()[port]->name(), visible);
    key_walk& walk = asks.front();
    const departure result{walk.history, walk.start};
    CARILLON_CHECK(visible > walk.start, "{}: a read visible in cycle {}, asked for in {}",
                   io_.all()[port]->name(), visible, walk.start);
    if (--walk.left == 0) {
      asks.pop();
    }
    return result;
  }
  CARILLON_CHECK(!checked_.empty() && checked_.front().done() &&
                     visible >= checked_.front().since + checked_.front().latency,
                 "{}: a result visible in cycle {}, before it can be known", io_.work.name(),
                 visible);
  const checked_wqe left = checked_.pop();
  if (answering_ != 0) {
    --answering_;
  }
  // Results leave in order, one beat a cycle; what is beyond its own latency is spent behind the
  // one before.
  const core_clock& clock = nic_.context.clock;
  const cycle_t begin = visible - left.latency;
  return {nic_.context.trace.wait(left.history, site_, order_, clock.time_of(left.since),
                                  clock.time_of(begin)),
          begin};
}

// Model
// ------------------------------------------------------------------------------------------------

wqe_parser::wqe_parser(const sc_core::sc_module_name& name, nic_shared& nic, const ports& io)
    : stage(name, nic.context, Row), nic_(nic), io_(io), rules_(nic, site(), io) {
  io_.wqe.to(*this, site());
  io_.ctx_line.to(*this, site());
  io_.mkey_line.to(*this, site());
  io_.ctx_read.from(*this, rules_.booked(ports::CtxRead, site()));
  io_.mkey_read.from(*this, site());
  io_.work.from(*this, site());
  for (auto& [input, blockers] : rules_.waits()) {
    watch(*input, std::move(blockers));
  }
}

void wqe_parser::evaluate(cycle_t t) {
  // The rules count what happened before t, so the order of these is of no importance.
  walk(t);
  take_wqe(t);
  if (io_.mkey_line.takeable(t)) {
    io_.mkey_line.take(t);
    // A slot came free: the next WQE may be walked from t+1 on.
    if (!io_.ctx_line.empty()) {
      wake(t + 1);
    }
  }
  release(t);
}

void wqe_parser::walk(cycle_t t) {
  if (!io_.ctx_line.takeable(t)) {
    return;
  }
  if (rules_.walker_busy(t)) {
    wake(rules_.walker_free());
    return;
  }
  if (rules_.beats_missing(t)) {
    wake(rules_.beats_in());
    return;
  }
  if (!io_.work.has_credit(t, spec::MaxBeats)) {
    io_.work.ask_credit(t, spec::MaxBeats);
    return;
  }
  if (!io_.mkey_read.has_credit(t, spec::MaxSge)) {
    io_.mkey_read.ask_credit(t, spec::MaxSge);
    return;
  }
  if (rules_.key_slots_full(t)) {
    return;  // the next key's line wakes the stage
  }
  io_.ctx_line.take(t);
  if (!io_.wqe.empty()) {
    wake(t + 1);
  }
  const rules::checked_wqe& now = rules_.newest_checked();
  for (unsigned i = 0; i < now.keys; ++i) {
    const cycle_t visible = t + 1 + i;
    const auto [history, begin] = rules_.departs(ports::MkeyRead, visible);
    io_.mkey_read.push_reserved(
        begin, static_cast<unsigned>(visible - begin),
        {history, context_kind::mkey, claim_of(now.wqe, now.shape, i).index(), now.qp.function_id});
  }
}

void wqe_parser::take_wqe(cycle_t t) {
  if (!io_.wqe.takeable(t)) {
    return;
  }
  if (!io_.ctx_read.has_credit(t)) {
    io_.ctx_read.ask_credit(t);
    return;
  }
  if (rules_.ctx_slots_full(t)) {
    return;  // the next context line taken re-arms
  }
  const wqe_item wqe = io_.wqe.take(t);
  const auto [history, begin] = rules_.departs(ports::CtxRead, t + 1);
  io_.ctx_read.push_reserved(begin, 1, {history, context_kind::qpc_common, wqe.qpn, wqe.function});
}

void wqe_parser::release(cycle_t /*t*/) {
  while (rules_.any_checked() && rules_.oldest_checked().done()) {
    const rules::checked_wqe& done = rules_.oldest_checked();
    work_item work = describe(done.wqe, done.shape, done.verdict, done.qp);
    const std::uint32_t bytes = done.shape.body_bytes();
    if (bytes != 0) {
      work.body = nic_.buffers.take();
      std::memcpy(work.body.data(), done.wqe.bytes.data() + done.shape.body_offset(), bytes);
    }
    const cycle_t visible = std::max(done.since + done.latency, io_.work.port_free());
    const auto [history, begin] = rules_.departs(ports::Work, visible);
    work.trace = history;
    io_.work.push_reserved(begin, static_cast<unsigned>(visible - begin), std::move(work),
                           beats_of(bytes));
  }
}

}  // namespace carillon
