#include "wqe_fetch.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "gen/contexts.h"
#include "gen/stages.h"
#include "gen/wqe.h"

namespace carillon {

namespace {

namespace spec = stage_spec::wqe_fetch;
namespace ram = stage_spec::qpc_ram;
namespace dma = stage_spec::dma_engine;

constexpr std::uint64_t PageBytes = 4096;

/// a - b of two free-running 16-bit indices.
constexpr int distance(std::uint16_t a, std::uint16_t b) {
  return static_cast<std::int16_t>(static_cast<std::uint16_t>(a - b));
}

/// A WQE occupies at least one WQEBB, whatever it says.
unsigned wqebbs_of(std::uint8_t ds) {
  return std::max(1U, (ds + 3U) / 4U);
}

bool ready_to_send(qp_state state) {
  return state != qp_state::Reset && state != qp_state::Init && state != qp_state::Rtr;
}

}  // namespace

wqe_fetch::wqe_fetch(const sc_core::sc_module_name& name, nic_shared& nic, const ports& connected)
    : stage(name, nic.context, "wqe_fetch"),
      nic_(nic),
      ports_(connected),
      uar_site_(nic.context.trace.site(path(), "uar")),
      queues_(std::size_t{1} << nic.context.params.nic.log_max_qp),
      arbiter_reason_(nic.context.trace.intern("arbiter")),
      order_reason_(nic.context.trace.intern("order")),
      batch_reason_(nic.context.trace.intern("doorbell_batch")),
      go_back_reason_(nic.context.trace.intern("go_back")) {
  ports_.doorbells.to(*this, site());
  ports_.context_reads.from(*this, site());
  ports_.context_lines.to(*this, site());
  ports_.reads.from(*this, site());
  ports_.done.to(*this, site());
  ports_.commands.to(*this, site());
  ports_.refetches.to(*this, site());
  ports_.wqes.from(*this, site());
  watch(ports_.doorbells,
        {blocker::condition("lookups", [this](cycle_t) { return lookups_full(); }),
         blocker::credit(ports_.context_reads)});
  watch(ports_.context_lines, {});
  watch(ports_.done, {});
  watch(ports_.commands, {});
  watch(ports_.refetches, {});
}

void wqe_fetch::evaluate(cycle_t t) {
  take_command(t);
  take_refetch(t);
  take_line(t);
  take_done(t);
  take_doorbell(t);
  grant(t);
}

void wqe_fetch::take_command(cycle_t t) {
  if (!ports_.commands.takeable(t)) {
    return;
  }
  const qp_command item = ports_.commands.take(t);
  if (item.qpn >= queues_.size()) {
    return;
  }
  queue_state& queue = queues_[item.qpn];
  const auto state = static_cast<qp_state>(item.state);
  if (state == qp_state::Reset) {
    reset(t, item.qpn);
    queue.reset = true;
  } else if (state == qp_state::Rts) {
    queue.reset = false;
    // A queue that is served by BlueFlame alone is looked up by nobody, and may have to go back.
    const qpc_common common = qpc_common::unpack(item.common.data());
    if (common.valid != 0) {
      queue.base = common.wqe_base_addr;
      queue.log_size = common.log_sq_size;
      queue.function = common.function_id;
    }
  }
}

// Going back ----

void wqe_fetch::take_refetch(cycle_t t) {
  if (!ports_.refetches.takeable(t)) {
    return;
  }
  const refetch item = ports_.refetches.take(t);
  queue_state& queue = queues_[item.qpn];
  if (queue.reset) {
    return;  // was on its way
  }
  nic_.counters.add(counter::WqeRefetches);
  give_up(t, queue);
  if (favoured_ == item.qpn) {
    favoured_ = Nobody;
  }
  queue.epoch = item.epoch;
  ++queue.round;
  queue.in_flight = 0;
  queue.fetch = item.wqe_index;
  if (queue.producer != queue.fetch && !queue.queued) {
    queue.queued = true;
    coming_.push_back({item.qpn, t + spec::Arbiter});
  }
}

void wqe_fetch::reset(cycle_t t, std::uint32_t qpn) {
  queue_state& queue = queues_[qpn];
  give_up(t, queue);
  queue_state fresh;
  fresh.queued = queue.queued;
  fresh.generation = queue.generation + 1;
  fresh.round = queue.round + 1;
  fresh.epoch = first_epoch(fresh.generation);
  queue = std::move(fresh);
  if (favoured_ == qpn) {
    favoured_ = Nobody;
  }
}

// Doorbells ----

void wqe_fetch::take_doorbell(cycle_t t) {
  if (!ports_.doorbells.takeable(t)) {
    return;
  }
  if (execute_blueflame(t)) {
    return;
  }
  if (lookups_full()) {
    return;  // the line that frees a slot wakes this stage
  }
  if (!ports_.context_reads.has_credit(t)) {
    ports_.context_reads.ask_credit(t);
    return;
  }
  doorbell item = ports_.doorbells.take(t);
  ++queues_[item.qpn].lookups;
  context_read request;
  request.trace = item.trace;
  request.kind = context_kind::qpc_common;
  request.index = item.qpn;
  request.function = item.function;
  ports_.context_reads.push(t, ram::Hop, request);
  item.wqe.reset();
  const std::uint32_t generation = queues_[item.qpn].generation;
  lookups_.push_back({std::move(item), generation});
}

bool wqe_fetch::execute_blueflame(cycle_t t) {
  const doorbell& front = ports_.doorbells.front();
  if (!front.blueflame) {
    return false;
  }
  queue_state& queue = queues_[front.qpn];
  const unsigned wqebbs = wqebbs_of(front.ds);
  const bool next = front.wqe_index == queue.fetch && queue.producer == queue.fetch;
  const bool idle = queue.lookups == 0 && queue.in_flight == 0 && queue.partial_wqebbs == 0;
  if (!next || !idle || !ports_.wqes.has_credit(t, wqebbs)) {
    nic_.counters.add(counter::BfDemoted);
    ports_.doorbells.front().blueflame = false;
    return false;
  }
  doorbell item = ports_.doorbells.take(t);
  nic_.counters.add(counter::BfExecuted);
  queue.producer = static_cast<std::uint16_t>(item.wqe_index + wqebbs);
  queue.fetch = queue.producer;
  queue.handed = queue.producer;
  const cycle_t visible = std::max(t + 1, ports_.wqes.port_free());
  wqe_item wqe;
  wqe.trace = context_.trace.service(item.trace, uar_site_, time_of(t), time_of(t + 1));
  wqe.trace =
      context_.trace.wait(wqe.trace, site(), order_reason_, time_of(t + 1), time_of(visible));
  wqe.function = item.function;
  wqe.qpn = item.qpn;
  wqe.wqe_index = item.wqe_index;
  wqe.ds = item.ds;
  wqe.origin = wqe_origin::blueflame;
  wqe.epoch = queue.epoch;
  wqe.bytes = std::move(item.wqe);
  ports_.wqes.push_booked(t, static_cast<unsigned>(visible - t), std::move(wqe), wqebbs);
  return true;
}

void wqe_fetch::take_line(cycle_t t) {
  if (!ports_.context_lines.takeable(t)) {
    return;
  }
  const context_line line = ports_.context_lines.take(t);
  const lookup answered = std::move(lookups_.front());
  lookups_.pop_front();
  queue_state& queue = queues_[answered.rang.qpn];
  if (answered.generation == queue.generation) {
    --queue.lookups;
    learn(t, answered.rang, line);
  }
}

void wqe_fetch::learn(cycle_t t, const doorbell& rang, const context_line& line) {
  queue_state& queue = queues_[rang.qpn];
  const qpc_common common = qpc_common::unpack(line.data.data());
  if (!ready_to_send(common.state)) {
    nic_.counters.add(counter::WqeDroppedState);
    return;
  }
  queue.base = common.wqe_base_addr;
  queue.log_size = common.log_sq_size;
  queue.function = rang.function;
  const auto producer = static_cast<std::uint16_t>(rang.wqe_index + wqebbs_of(rang.ds));
  const int size = 1 << queue.log_size;
  const int ahead = distance(producer, queue.fetch);
  if (ahead > size || ahead < -size) {
    nic_.counters.add(counter::DbIgnoredRange);
    return;
  }
  if (distance(producer, queue.producer) <= 0) {
    nic_.counters.add(counter::DoorbellsCoalesced);
    return;
  }
  if (queue.producer != queue.fetch) {
    nic_.counters.add(counter::DoorbellsCoalesced);
  }
  queue.producer = producer;
  queue.rings.push_back({producer, line.trace, t});
  if (!queue.queued) {
    queue.queued = true;
    coming_.push_back({rang.qpn, t + spec::Arbiter});
  }
}

// Reads ----

unsigned wqe_fetch::chunk(const queue_state& queue) const {
  const unsigned slots = 1U << queue.log_size;
  const unsigned slot = queue.fetch & (slots - 1);
  const std::uint64_t address = queue.base + std::uint64_t{slot} * WqebbBytes;
  const auto to_page_end = static_cast<unsigned>((PageBytes - address % PageBytes) / WqebbBytes);
  const auto posted = static_cast<unsigned>(distance(queue.producer, queue.fetch));
  return std::min({posted, spec::GrantWqebbs, slots - slot, to_page_end});
}

void wqe_fetch::grant(cycle_t t) {
  while (!coming_.empty() && coming_.front().eligible <= t) {
    ready_.push_back(coming_.front().qpn);
    coming_.pop_front();
  }
  if (!coming_.empty()) {
    wake(coming_.front().eligible);
  }
  while (!ready_.empty() && queues_[ready_.front()].producer == queues_[ready_.front()].fetch) {
    queues_[ready_.front()].queued = false;  // its work was reset
    ready_.pop_front();
  }
  if (ready_.empty() || fetches_.size() == spec::Outstanding) {
    return;  // an answer wakes this stage
  }
  if (fetches_.empty() && ports_.wqes.depth() - held_ < chunk(queues_[ready_.front()])) {
    preempt(t);  // no credit will ever come home
  }
  const std::uint32_t qpn = ready_.front();
  queue_state& queue = queues_[qpn];
  const unsigned wqebbs = chunk(queue);
  if (!ports_.wqes.has_credit(t, wqebbs)) {
    ports_.wqes.ask_credit(t, wqebbs);
    return;
  }
  if (!ports_.reads.has_credit(t)) {
    ports_.reads.ask_credit(t);
    return;
  }
  ready_.pop_front();
  queue.queued = false;
  ports_.wqes.reserve(t, wqebbs);
  fetch request;
  request.qpn = qpn;
  request.index = queue.fetch;
  request.wqebbs = static_cast<std::uint8_t>(wqebbs);
  request.round = queue.round;
  request.bytes = nic_.buffers.take();
  dma_read read;
  read.trace = reason_to_read(t, qpn);
  read.function = queue.function;
  read.address =
      queue.base + std::uint64_t{queue.fetch & ((1U << queue.log_size) - 1)} * WqebbBytes;
  read.length = wqebbs * WqebbBytes;
  read.into = request.bytes;
  read.cookie = first_fetch_ + fetches_.size();
  ports_.reads.push(t, dma::RequestHop, std::move(read));
  fetches_.push_back(std::move(request));
  ++queue.in_flight;
  queue.fetch = static_cast<std::uint16_t>(queue.fetch + wqebbs);
  nic_.counters.add(counter::WqeFetches);
  nic_.counters.add(counter::WqeFetchedBytes, wqebbs * WqebbBytes);
  if (queue.producer != queue.fetch) {
    queue.queued = true;
    if (qpn == favoured_) {
      ready_.push_front(qpn);
    } else {
      ready_.push_back(qpn);
    }
  }
  if (!ready_.empty()) {
    wake(t + 1);
  }
}

trace_ref wqe_fetch::reason_to_read(cycle_t t, std::uint32_t qpn) const {
  const queue_state& queue = queues_[qpn];
  if (distance(queue.fetch, queue.handed) < 0) {
    // Nobody rang for it a second time: the message itself went back.
    const trace_ref own = nic_.posted.find(qpn, queue.fetch, time_of(t));
    const ps_t end = context_.trace.end_of(own);
    return end > time_of(t) ? trace_ref{}
                            : context_.trace.wait(own, site(), go_back_reason_, end, time_of(t));
  }
  const rung* rang = covering(queue, queue.fetch);
  CARILLON_CHECK(rang != nullptr, "{}: WQE {} of QP {} was never rung for, cycle {}", path(),
                 queue.fetch, qpn, t);
  const cycle_t arbitrated = std::min(t, rang->known + spec::Arbiter);
  const trace_ref chosen =
      context_.trace.service(rang->trace, site(), time_of(rang->known), time_of(arbitrated));
  return context_.trace.wait(chosen, site(), arbiter_reason_, time_of(arbitrated), time_of(t));
}

void wqe_fetch::preempt(cycle_t t) {
  // The one that is furthest, among equals the first in line. All of them have more posted, so all
  // are in line.
  std::size_t best = 0;
  for (std::size_t i = 1; i < ready_.size(); ++i) {
    if (queues_[ready_[i]].partial_wqebbs > queues_[ready_[best]].partial_wqebbs) {
      best = i;
    }
  }
  favoured_ = ready_[best];
  ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(best));
  ready_.push_front(favoured_);
  for (std::size_t i = 1; i < ready_.size(); ++i) {
    give_up(t, queues_[ready_[i]]);
  }
  for (const candidate& each : coming_) {
    give_up(t, queues_[each.qpn]);
  }
}

void wqe_fetch::give_up(cycle_t t, queue_state& queue) {
  if (queue.partial_wqebbs == 0) {
    return;
  }
  ports_.wqes.cancel(t, queue.partial_wqebbs);
  held_ -= queue.partial_wqebbs;
  queue.partial_wqebbs = 0;
  queue.partial.reset();
  queue.fetch = queue.partial_index;
}

void wqe_fetch::take_done(cycle_t t) {
  if (ports_.done.takeable(t)) {
    const dma_read_done item = ports_.done.take(t);
    fetch& answered = fetches_[item.cookie - first_fetch_];
    answered.done = true;
    answered.trace = item.trace;
    answered.status = item.status;
  }
  while (!fetches_.empty() && fetches_.front().done) {
    emit(t, fetches_.front());
    fetches_.pop_front();
    ++first_fetch_;
  }
}

// WQEs ----

void wqe_fetch::emit(cycle_t t, fetch& front) {
  queue_state& queue = queues_[front.qpn];
  if (front.round != queue.round) {
    ports_.wqes.cancel(t, front.wqebbs);  // the QP was reset or went back meanwhile
    return;
  }
  --queue.in_flight;
  // What waited for an older read to be answered.
  front.trace = context_.trace.wait(front.trace, site(), order_reason_,
                                    context_.trace.end_of(front.trace), time_of(t));
  for (unsigned at = 0; at < front.wqebbs; ++at) {
    if (queue.partial_wqebbs == 0) {
      queue.partial_index = static_cast<std::uint16_t>(front.index + at);
      queue.partial = nic_.buffers.take();
    }
    std::memcpy(queue.partial.data() + queue.partial_wqebbs * WqebbBytes,
                front.bytes.data() + at * WqebbBytes, WqebbBytes);
    ++queue.partial_wqebbs;
    ++held_;
    const bool failed = front.status != dma_status::ok;
    const std::uint8_t ds = ctrl_seg::unpack(queue.partial.data()).ds;
    const bool whole = !failed && queue.partial_wqebbs >= wqebbs_of(ds);
    // The size may be wrong: a WQE never reaches beyond the producer.
    const bool nothing_follows =
        at + 1 == front.wqebbs && queue.in_flight == 0 && queue.producer == queue.fetch;
    if (whole || failed || nothing_follows) {
      hand_on(t, front, whole ? ds : std::min(queue.partial_wqebbs * 4U, MaxWqeUnits));
    }
  }
  while (!queue.rings.empty() &&
         distance(queue.rings.front().producer,
                  static_cast<std::uint16_t>(front.index + front.wqebbs)) <= 0) {
    queue.rings.pop_front();
  }
}

void wqe_fetch::hand_on(cycle_t t, const fetch& from, unsigned ds) {
  queue_state& queue = queues_[from.qpn];
  const unsigned beats = queue.partial_wqebbs;
  const cycle_t done = t + spec::Done;
  const cycle_t visible = std::max(done, ports_.wqes.port_free());
  wqe_item item;
  item.trace = history(t, from, queue.partial_index);
  item.trace = context_.trace.service(item.trace, site(), time_of(t), time_of(done));
  item.trace =
      context_.trace.wait(item.trace, site(), order_reason_, time_of(done), time_of(visible));
  item.function = queue.function;
  item.qpn = from.qpn;
  item.wqe_index = queue.partial_index;
  item.ds = static_cast<std::uint8_t>(ds);
  item.status = from.status;
  item.epoch = queue.epoch;
  const auto behind = static_cast<std::uint16_t>(queue.partial_index + beats);
  if (distance(behind, queue.handed) > 0) {
    queue.handed = behind;
  }
  item.bytes = std::move(queue.partial);
  queue.partial_wqebbs = 0;
  held_ -= beats;
  if (favoured_ == from.qpn) {
    favoured_ = Nobody;
  }
  ports_.wqes.push_reserved_booked(t, static_cast<unsigned>(visible - t), std::move(item), beats);
}

const wqe_fetch::rung* wqe_fetch::covering(const queue_state& queue, std::uint16_t index) const {
  for (const rung& each : queue.rings) {
    if (distance(each.producer, index) > 0) {
      return &each;
    }
  }
  return nullptr;
}

trace_ref wqe_fetch::history(cycle_t t, const fetch& from, std::uint16_t index) {
  const trace_ref own = nic_.posted.find(from.qpn, index, time_of(t));
  if (own.message == from.trace.message || own.message == 0) {
    return own.message == 0 ? trace_ref{} : from.trace;
  }
  if (distance(index, queues_[from.qpn].handed) < 0) {
    // Comes again, in the same read as an older one.
    const ps_t end = context_.trace.end_of(own);
    return context_.trace.wait(own, site(), go_back_reason_, end, std::max(end, time_of(t)));
  }
  // Fetched because of a doorbell that was rung for another WQE, or together with another one.
  const rung* rang = covering(queues_[from.qpn], index);
  const bool rang_itself = rang != nullptr && rang->trace.message == own.message;
  const trace_ref joined = context_.trace.adopt(rang_itself ? rang->trace : own, from.trace,
                                                milestone::doorbell, site(), batch_reason_);
  // The read may be nobody's: that of a message that went back and was acknowledged meanwhile.
  const ps_t end = context_.trace.end_of(joined);
  return context_.trace.wait(joined, site(), batch_reason_, end, std::max(end, time_of(t)));
}

}  // namespace carillon
