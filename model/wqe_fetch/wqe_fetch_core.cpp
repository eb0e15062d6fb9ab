#include "wqe_fetch/wqe_fetch_core.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/error.h"

namespace carillon {

namespace {

namespace spec = stage_spec::wqe_fetch;

constexpr std::uint64_t PageBytes = 4096;

bool ready_to_send(qp_state state) {
  return state != qp_state::Reset && state != qp_state::Init && state != qp_state::Rtr;
}

}  // namespace

// Commands, and going back ----

unsigned wqe_fetch_core::reset(std::uint32_t qpn) {
  queue_state& queue = queues_[qpn];
  unfinished_wqe* const begun = find_unfinished(qpn);
  const unsigned given_up = begun != nullptr ? give_up(*begun) : 0;
  queue_state fresh;
  fresh.queued = queue.queued;
  fresh.life = static_cast<std::uint8_t>(queue.life + 1);
  fresh.epoch = first_epoch(fresh.life);
  fresh.reset = true;
  queue = fresh;
  for (std::size_t i = 0; i < lookups_.size(); ++i) {
    lookups_[i].stale |= lookups_[i].rang.qpn == qpn;
  }
  forget_reads(qpn);
  return given_up;
}

void wqe_fetch_core::ready(std::uint32_t qpn, const qpc_common& common) {
  queue_state& queue = queues_[qpn];
  queue.reset = false;
  // A queue that is served by BlueFlame alone is looked up by nobody, and may have to go back.
  if (common.valid != 0) {
    queue.base = common.wqe_base_addr;
    queue.log_size = common.log_sq_size;
    queue.function = common.function_id;
  }
}

unsigned wqe_fetch_core::go_back(cycle_t t, const refetch& to) {
  queue_state& queue = queues_[to.qpn];
  unfinished_wqe* const begun = find_unfinished(to.qpn);
  const unsigned given_up = begun != nullptr ? give_up(*begun) : 0;
  queue.epoch = to.epoch;
  queue.fetch = to.wqe_index;
  forget_reads(to.qpn);
  if (queue.has_work()) {
    enqueue(t, to.qpn);
  }
  return given_up;
}

/// What is under way for a QP is not wanted any more.
void wqe_fetch_core::forget_reads(std::uint32_t qpn) {
  for (std::size_t i = 0; i < reads_.size(); ++i) {
    reads_[i].stale |= reads_[i].qpn == qpn;
  }
  if (first_ == qpn) {
    first_ = Nobody;
  }
}

// Doorbells ----

bool wqe_fetch_core::executes(const doorbell& rang) const {
  const queue_state& queue = queues_[rang.qpn];
  if (rang.wqe_index != queue.fetch || queue.has_work() || reading(rang.qpn) ||
      find_unfinished(rang.qpn) != nullptr) {
    return false;
  }
  for (std::size_t i = 0; i < lookups_.size(); ++i) {
    if (lookups_[i].rang.qpn == rang.qpn && !lookups_[i].stale) {
      return false;
    }
  }
  return true;
}

void wqe_fetch_core::execute(const doorbell& rang) {
  queue_state& queue = queues_[rang.qpn];
  queue.producer = static_cast<std::uint16_t>(rang.wqe_index + wqebbs_of(rang.ds));
  queue.fetch = queue.producer;
}

wqe_fetch_core::learnt wqe_fetch_core::learn(cycle_t t, const doorbell& rang,
                                             const qpc_common& common) {
  queue_state& queue = queues_[rang.qpn];
  if (!ready_to_send(common.state)) {
    return learnt::dropped;
  }
  queue.base = common.wqe_base_addr;
  queue.log_size = common.log_sq_size;
  queue.function = rang.function;
  const auto producer = static_cast<std::uint16_t>(rang.wqe_index + wqebbs_of(rang.ds));
  const int size = 1 << queue.log_size;
  const int ahead = index_distance(producer, queue.fetch);
  if (ahead > size || ahead < -size) {
    return learnt::ignored;
  }
  if (index_distance(producer, queue.producer) <= 0) {
    return learnt::old;
  }
  const learnt result = queue.has_work() ? learnt::coalesced : learnt::moved;
  queue.producer = producer;
  enqueue(t, rang.qpn);
  return result;
}

void wqe_fetch_core::enqueue(cycle_t t, std::uint32_t qpn) {
  queue_state& queue = queues_[qpn];
  if (!queue.queued) {
    queue.queued = true;
    coming_.push({qpn, t + spec::Arbiter});
  }
}

// Reads ----

bool wqe_fetch_core::reading(std::uint32_t qpn) const {
  for (std::size_t i = 0; i < reads_.size(); ++i) {
    if (reads_[i].qpn == qpn && !reads_[i].stale) {
      return true;
    }
  }
  return false;
}

const wqe_fetch_core::unfinished_wqe* wqe_fetch_core::find_unfinished(std::uint32_t qpn) const {
  if (held_ == 0) {
    return nullptr;
  }
  const auto found = std::find_if(
      unfinished_.begin(), unfinished_.end(),
      [qpn](const unfinished_wqe& each) { return each.wqebbs != 0 && each.qpn == qpn; });
  return found == unfinished_.end() ? nullptr : &*found;
}

wqe_fetch_core::unfinished_wqe* wqe_fetch_core::find_unfinished(std::uint32_t qpn) {
  return const_cast<unfinished_wqe*>(std::as_const(*this).find_unfinished(qpn));
}

unsigned wqe_fetch_core::give_up(unfinished_wqe& wqe) {
  const unsigned wqebbs = wqe.wqebbs;
  queues_[wqe.qpn].fetch = wqe.index;
  held_ -= wqebbs;
  wqe = {};
  return wqebbs;
}

void wqe_fetch_core::answer(std::uint64_t slot, dma_status status, buffer_ref bytes,
                            trace_ref trace) {
  read& answered = reads_[(slot + Reads - oldest_slot_) % Reads];
  answered.done = true;
  answered.status = status;
  answered.bytes = std::move(bytes);
  answered.trace = trace;
}

wqe_fetch_core::ended_read wqe_fetch_core::end_read() {
  ended_read result;
  result.from = reads_.pop();
  oldest_slot_ = (oldest_slot_ + 1) % Reads;
  const read& from = result.from;
  asked_ -= from.wqebbs;
  if (from.stale) {
    result.stale = true;
    return result;
  }
  const queue_state& queue = queues_[from.qpn];
  const bool nothing_follows = !queue.has_work() && !reading(from.qpn);
  const bool failed = from.status != dma_status::ok;
  unfinished_wqe* place = find_unfinished(from.qpn);
  for (unsigned at = 0; at < from.wqebbs; ++at) {
    if (place == nullptr) {
      place = &*std::find_if(unfinished_.begin(), unfinished_.end(),
                             [](const unfinished_wqe& each) { return each.wqebbs == 0; });
      *place = {from.qpn, static_cast<std::uint16_t>(from.index + at), 0, 0, buffers_.take()};
    }
    if (from.bytes) {
      std::memcpy(place->bytes.data() + place->wqebbs * WqebbBytes,
                  from.bytes.data() + at * WqebbBytes, WqebbBytes);
    }
    if (place->wqebbs == 0 && !failed) {
      place->ds = ctrl_seg::unpack(place->bytes.data()).ds;
    }
    ++place->wqebbs;
    ++held_;
    const bool whole = !failed && place->wqebbs >= wqebbs_of(place->ds);
    // The size may be wrong: a WQE never reaches beyond the producer.
    if (whole || failed || (nothing_follows && at + 1 == from.wqebbs)) {
      const unsigned there = std::min(place->wqebbs * 4U, MaxWqeUnits);
      result.wqes[result.count++] = {place->index,
                                     whole ? place->ds : static_cast<std::uint8_t>(there),
                                     place->wqebbs, std::move(place->bytes)};
      held_ -= place->wqebbs;
      *place = {};
      place = nullptr;
      if (first_ == from.qpn) {
        first_ = Nobody;
      }
    }
  }
  return result;
}

// Turns ----

unsigned wqe_fetch_core::chunk(const queue_state& queue) const {
  const unsigned slots = 1U << queue.log_size;
  const unsigned slot = queue.fetch & (slots - 1);
  const std::uint64_t address = queue.base + std::uint64_t{slot} * WqebbBytes;
  const auto to_page_end = static_cast<unsigned>((PageBytes - address % PageBytes) / WqebbBytes);
  const auto posted =
      static_cast<unsigned>(static_cast<std::uint16_t>(queue.producer - queue.fetch));
  return std::min({posted, Grant, slots - slot, to_page_end});
}

cycle_t wqe_fetch_core::next_in_line(cycle_t t, bool again) const {
  if (again && (!ready_.empty() || first_ != Nobody)) {
    return t + 1;
  }
  return coming_.empty() ? NeverCycle : coming_.front().eligible;
}

wqe_fetch_core::granted wqe_fetch_core::grant(cycle_t t, unsigned credits) {
  granted result;
  if (!coming_.empty() && coming_.front().eligible <= t) {
    ready_.push(coming_.pop().qpn);
  }
  const bool preferred = first_ != Nobody;
  if (!preferred && ready_.empty()) {
    return result;
  }
  const std::uint32_t qpn = preferred ? first_ : ready_.front();
  queue_state& queue = queues_[qpn];
  if (!queue.has_work()) {
    // All of it is being read, was reset, or was read when it was served first.
    if (preferred) {
      first_ = Nobody;
    } else {
      queue.queued = false;
      ready_.pop();
    }
    result.why_not = turn::again;
    return result;
  }
  if (reads_.size() == Reads) {
    return result;
  }
  const unsigned wqebbs = chunk(queue);
  if ((reads_.empty() || preferred) && Room - held_ - asked_ < wqebbs &&
      make_room(result.given_up)) {
    result.why_not = turn::again;
    return result;
  }
  result.wqebbs = wqebbs;
  if (credits < wqebbs) {
    result.why_not = turn::no_credit;
    return result;
  }
  result.any = true;
  result.qpn = qpn;
  result.index = queue.fetch;
  result.slot = (oldest_slot_ + static_cast<unsigned>(reads_.size())) % Reads;
  result.address =
      queue.base + std::uint64_t{queue.fetch & ((1U << queue.log_size) - 1)} * WqebbBytes;
  reads_.push(
      {qpn, queue.fetch, static_cast<std::uint8_t>(wqebbs), false, false, dma_status::ok, {}, {}});
  asked_ += wqebbs;
  queue.fetch = static_cast<std::uint16_t>(queue.fetch + wqebbs);
  if (!preferred) {
    ready_.pop();
    queue.queued = queue.has_work();
    if (queue.queued) {
      ready_.push(qpn);
    }
  }
  return result;
}

bool wqe_fetch_core::make_room(unsigned& given_up) {
  if (first_ == Nobody) {
    const auto furthest = std::max_element(
        unfinished_.begin(), unfinished_.end(),
        [](const unfinished_wqe& a, const unfinished_wqe& b) { return a.wqebbs < b.wqebbs; });
    first_ = furthest->qpn;
    return true;
  }
  const auto other = std::find_if(
      unfinished_.begin(), unfinished_.end(),
      [this](const unfinished_wqe& each) { return each.wqebbs != 0 && each.qpn != first_; });
  if (other == unfinished_.end()) {
    return false;  // what it waits for is on its way to the parser, or its own
  }
  given_up = give_up(*other);
  return true;
}

}  // namespace carillon
