#include "cosim/wqe_fetch_traffic.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "common/error.h"
#include "gen/contexts.h"
#include "gen/stages.h"
#include "gen/wqe.h"

namespace carillon {

namespace {

namespace spec = stage_spec::wqe_fetch;

constexpr unsigned LongestBurst = 4;  ///< WQEBBs
constexpr std::uint64_t PageBytes = 4096;
constexpr unsigned Few = 6;

constexpr std::array Sizes = {0U, 1U, 2U, 3U, 4U, 5U, 6U, 6U, 6U, 7U, 8U, 12U};

unsigned wqebbs_of(std::uint8_t ds) {
  return std::max(1U, (ds + 3U) / 4U);
}

}  // namespace

wqe_fetch_traffic::wqe_fetch_traffic(buffer_pool& buffers, std::uint64_t seed, coverage& cover)
    : buffers_(buffers),
      random_(seed, "wqe_fetch_bench/host"),
      contexts_(seed, "wqe_fetch_bench/contexts"),
      memory_(seed, "wqe_fetch_bench/memory"),
      cover_(cover),
      content_salt_(random_stream(seed, "wqe_fetch_bench/content").next()) {
  number_queues();
  for (unsigned i = 0; i < Queues; ++i) {
    send_queue& queue = queues_[i];
    queue.log_size = Sizes[i % Sizes.size()];
    move(queue);
  }
}

wqe_fetch_traffic::send_queue* wqe_fetch_traffic::find(std::uint32_t qpn) {
  const auto found = std::find_if(queues_.begin(), queues_.end(),
                                  [qpn](const send_queue& each) { return each.qpn == qpn; });
  return found == queues_.end() ? nullptr : &*found;
}

/// The first, the last, 64 in a row, and others that differ from one of these in one bit of the
/// upper half. Those that differ in one bit are near each other.
void wqe_fetch_traffic::number_queues() {
  constexpr unsigned LogQps = 12;
  constexpr unsigned LogRow = 6;
  std::vector<std::uint32_t> numbers = {0, 1, 2, 3, 4, 6, 8, (1U << LogQps) - 1};
  constexpr unsigned InARow = 1U << LogRow;
  // Neither the first row nor the last nor one that differs from these in one bit.
  std::uint32_t row = 0;
  do {
    row = static_cast<std::uint32_t>(random_.below(1U << (LogQps - LogRow)));
  } while (std::popcount(row) < 2 || std::popcount(row) > 4);
  const std::size_t others = Queues - numbers.size() - InARow;
  for (std::uint32_t at = 0; at < InARow; ++at) {
    const std::uint32_t one = row << LogRow | at;
    numbers.push_back(one);
    if (at < others) {
      numbers.push_back(one ^ 1U << (LogRow + random_.below(LogQps - LogRow)));
    }
  }
  for (unsigned i = 0; i < Queues; ++i) {
    queues_[i].qpn = numbers[i];
  }
}

/// To anywhere in anybody's memory; eight bits of the address say whose queue it is.
void wqe_fetch_traffic::move(send_queue& queue) {
  const auto number = static_cast<std::uint64_t>(&queue - queues_.data()) + 1;
  queue.base = random_.next() << 32 | number << 24 | random_.below(1U << 17) * WqebbBytes;
  queue.function = static_cast<std::uint16_t>(random_.next());
  queue.expected = 0;
}

/// A context of which the queue's part counts.
qpc_common wqe_fetch_traffic::context_of(random_stream& random, const send_queue& queue) {
  std::array<std::uint8_t, qpc_common::Size> bytes;
  for (std::uint8_t& each : bytes) {
    each = static_cast<std::uint8_t>(random.next());
  }
  auto common = qpc_common::unpack(bytes.data());
  common.valid = 1;
  common.wqe_base_addr = queue.base;
  common.log_sq_size = static_cast<std::uint8_t>(queue.log_size);
  common.function_id = queue.function;
  return common;
}

/// Units of a WQE of at most so many WQEBBs.
std::uint8_t wqe_fetch_traffic::pick_size(unsigned wqebbs) {
  if (random_.chance(1, 40)) {
    cover_.hit("bell.no_size");
    return 0;
  }
  const unsigned most = std::min(wqebbs * 4, MaxWqeUnits);
  return static_cast<std::uint8_t>(1 +
                                   random_.below(random_.chance(1, 2) ? std::min(most, 4U) : most));
}

wqe_fetch_traffic::send_queue& wqe_fetch_traffic::pick() {
  if (phase_ == phase_e::few) {
    return queues_[(few_ + random_.below(Few)) % Queues];
  }
  return queues_[random_.below(Queues)];
}

std::optional<doorbell> wqe_fetch_traffic::make_doorbell() {
  const bool few = phase_ == phase_e::few;
  const bool single = phase_ == phase_e::single;
  if (few && random_.chance(7, 8)) {
    return {};
  }
  // More than that is seldom posted, or all queues would be full for the rest of the run.
  const unsigned most_used = single ? 0 : random_.chance(1, 64) ? ~0U : 12;
  const auto enough = [&](const send_queue& each) {
    return each.room() == 0 || each.used() > most_used;
  };
  send_queue* queue = &pick();
  for (unsigned tries = 0; enough(*queue) && tries < 8; ++tries) {
    queue = &pick();
  }
  if (enough(*queue) && random_.chance(single ? 63 : 7, single ? 64 : 8)) {
    return {};
  }
  doorbell bell;
  bell.function = queue->function;
  bell.qpn = queue->qpn;
  if (queue->room() == 0 || random_.chance(1, few ? 6 : 20)) {
    ring_for_nothing(*queue, bell);
  } else if (random_.chance(1, single ? 20 : 3)) {
    burst(*queue, bell);
  } else {
    const unsigned room = queue->room();
    const std::uint64_t most = single                   ? random_.chance(7, 8) ? 1 : 3
                               : random_.chance(1, 2)   ? 2
                               : random_.chance(7, 8)   ? (few ? 8 : 24)
                               : random_.chance(15, 16) ? 64
                                                        : room;
    const auto wqebbs =
        static_cast<unsigned>(1 + random_.below(std::min<std::uint64_t>(room, most)));
    bell.ds = pick_size(std::min(wqebbs, spec::MaxBeats));
    bell.wqe_index = static_cast<std::uint16_t>(queue->posted + wqebbs - wqebbs_of(bell.ds));
    queue->posted = static_cast<std::uint16_t>(queue->posted + wqebbs);
    cover_.hit(wqebbs == room ? "bell.full_queue" : "bell.posted");
    cover_.hit_if(queue->down, "bell.down");
  }
  return bell;
}

void wqe_fetch_traffic::ring_for_nothing(send_queue& queue, doorbell& bell) {
  bell.ds = pick_size(spec::MaxBeats);
  const auto at = [&](unsigned producer) {
    bell.wqe_index = static_cast<std::uint16_t>(producer - wqebbs_of(bell.ds));
  };
  switch (random_.below(8)) {
    case 0:
      at(queue.posted - 1 - static_cast<unsigned>(random_.below(queue.size())));
      cover_.hit("bell.old");
      break;
    case 1:
      at(queue.posted + queue.size() + 1 + static_cast<unsigned>(random_.below(1000)));
      cover_.hit("bell.ahead");
      break;
    case 2:
      at(queue.consumed - queue.size() - 1 - static_cast<unsigned>(random_.below(1000)));
      cover_.hit("bell.behind");
      break;
    default:
      at(queue.posted);
      cover_.hit("bell.again");
  }
}

void wqe_fetch_traffic::burst(send_queue& queue, doorbell& bell) {
  const unsigned most = std::min(queue.room(), LongestBurst);
  bell.blueflame = true;
  bell.ds = pick_size(most);
  bell.wqe_index = queue.posted;
  bell.wqe = buffers_.take();
  for (unsigned i = 0; i < LongestBurst * WqebbBytes; ++i) {
    bell.wqe.data()[i] = static_cast<std::uint8_t>(random_.next());
  }
  cover_.hit_if(wqebbs_of(bell.ds) == LongestBurst, "blueflame.longest");
  cover_.hit_if(queue.down, "blueflame.down");
  if (random_.chance(1, 8)) {
    bell.wqe_index = static_cast<std::uint16_t>(bell.wqe_index + 1 - 2 * random_.below(2));
    cover_.hit("blueflame.misplaced");
    return;
  }
  queue.posted = static_cast<std::uint16_t>(queue.posted + wqebbs_of(bell.ds));
  cover_.hit("blueflame.next");
}

qp_command wqe_fetch_traffic::make_command(cycle_t t) {
  // Queues that are down do not stay so for long, but longer than anything is on its way here.
  send_queue* queue = &pick();
  for (unsigned tries = 0; !queue->down && tries < 2 * Queues; ++tries) {
    queue = &pick();
  }
  qp_command command;
  command.qpn = queue->qpn;
  if (queue->down && random_.chance(1, 2)) {
    move(*queue);
  }
  qpc_common common = context_of(random_, *queue);
  common.valid = random_.chance(7, 8);
  common.pack(command.common.data());
  if (random_.chance(1, 16)) {
    command.qpn += 4096U << random_.below(12);
    command.state = static_cast<std::uint8_t>(qp_state::Reset);
    cover_.hit("command.unknown_qp");
  } else if (random_.chance(1, 16) ||
             (queue->down && t < std::max(queue->changed, queue->refused) + 100)) {
    command.state = static_cast<std::uint8_t>(random_.chance(1, 2) ? qp_state::Err : qp_state::Rtr);
    cover_.hit("command.other");
  } else if (!queue->down) {
    command.state = static_cast<std::uint8_t>(qp_state::Reset);
    queue->posted = 0;
    queue->consumed = 0;
    queue->expected = 0;
    queue->handed = 0;
    queue->epoch = first_epoch(++queue->lives);
    queue->down = true;
    queue->changed = t;
    cover_.hit("command.reset");
  } else {
    command.state = static_cast<std::uint8_t>(qp_state::Rts);
    queue->down = false;
    queue->changed = t;
    cover_.hit(common.valid != 0 ? "command.rts" : "command.rts_without_context");
  }
  return command;
}

std::optional<refetch> wqe_fetch_traffic::make_refetch(cycle_t t) {
  send_queue& queue = pick();
  refetch item;
  item.qpn = queue.qpn;
  if (queue.down) {
    cover_.hit("go_back.down");
    queue.refused = t;
    item.epoch = queue.epoch;
    item.wqe_index = static_cast<std::uint16_t>(random_.next());
    return item;
  }
  // The epochs of a life are 16; those of the next one belong to other WQEs.
  if (queue.handed == 0 || queue.used() > queue.size() ||
      static_cast<std::uint8_t>(queue.epoch + 1) == first_epoch(queue.lives + 1)) {
    return {};
  }
  const unsigned most = std::min(queue.handed, queue.size() - queue.used());
  const auto back = static_cast<unsigned>(random_.below(most + 1));
  queue.consumed = static_cast<std::uint16_t>(queue.consumed - back);
  queue.handed -= back;
  queue.expected = 0;
  item.epoch = ++queue.epoch;
  item.wqe_index = queue.consumed;
  cover_.hit_if(queue.consumed == queue.posted, "go_back.nowhere");
  cover_.hit_if(back == 0 && queue.consumed != queue.posted, "go_back.under_way");
  cover_.hit_if(back != 0, "go_back.some");
  cover_.hit_if(queue.handed == 0, "go_back.to_the_first");
  return item;
}

context_line wqe_fetch_traffic::answer(cycle_t t, const context_read& read) {
  const send_queue* const queue = find(read.index);
  CARILLON_CHECK(queue != nullptr, "wqe_fetch_bench: QP {} was looked up", read.index);
  qpc_common common = context_of(contexts_, *queue);
  common.state =
      contexts_.chance(1, 12) ? static_cast<qp_state>(contexts_.below(8)) : qp_state::Rts;
  if ((queue->changed < t) == queue->down && contexts_.chance(3, 4)) {
    common.state = qp_state::Reset;
  }
  cover_.hit(fmt::format("state.{}", to_string(common.state)));
  context_line line{read.trace, read.kind, read.index, true, {}};
  common.pack(line.data.data());
  return line;
}

/// Follows from the cycle, since who asks in it does not know what others of the bench do.
wqe_fetch_traffic::content_e wqe_fetch_traffic::content(cycle_t t) const {
  std::uint64_t mixed = (t / 4096 ^ content_salt_) * 0x9e3779b97f4a7c15ULL;
  mixed ^= mixed >> 32;
  return static_cast<content_e>(mixed % static_cast<std::uint64_t>(content_e::count_));
}

/// What the control segment says, if a WQE begins there; `last`: with the read's last WQEBB.
std::uint8_t wqe_fetch_traffic::size_in_memory(cycle_t t, bool last) {
  if (memory_.chance(1, 40)) {
    return static_cast<std::uint8_t>(memory_.chance(1, 2) ? 0 : MaxWqeUnits);
  }
  const content_e now = content(t);
  const bool tails = now == content_e::tails;
  if (now != content_e::any && (!tails || last) && memory_.chance(7, 8)) {
    return static_cast<std::uint8_t>(memory_.between(33, MaxWqeUnits));
  }
  if (tails) {
    return static_cast<std::uint8_t>(memory_.between(1, 4));
  }
  return static_cast<std::uint8_t>(memory_.between(1, memory_.chance(1, 2)   ? 4
                                                      : memory_.chance(1, 2) ? 20
                                                                             : MaxWqeUnits));
}

dma_read_done wqe_fetch_traffic::answer(cycle_t t, const dma_read& read, std::size_t others) {
  const unsigned wqebbs = read.length / WqebbBytes;
  for (unsigned i = 0; i < spec::GrantWqebbs; ++i) {
    std::uint8_t* const block = read.into.data() + i * WqebbBytes;
    for (unsigned at = 0; at < WqebbBytes; ++at) {
      block[at] = static_cast<std::uint8_t>(memory_.next());
    }
    block[ctrl_seg::at::Ds] = size_in_memory(t, i + 1 == wqebbs);
  }
  dma_read_done done{read.trace, read.cookie, dma_status::ok, read.into};
  if (memory_.chance(1, 40)) {
    done.status = static_cast<dma_status>(memory_.between(1, 4));
    cover_.hit("read.failed");
  }
  cover_.hit(fmt::format("read.{}", wqebbs));
  cover_.hit_if(others >= 24, "read.many");
  cover_.hit_if(read.into.data()[(wqebbs - 1) * WqebbBytes + ctrl_seg::at::Ds] > 32, "read.tail");
  const std::uint64_t end = read.address + read.length;
  cover_.hit_if(end % PageBytes == 0, "read.to_the_page");
  if (const std::uint64_t number = read.address >> 24 & 0xff; number >= 1 && number <= Queues) {
    send_queue& queue = queues_[number - 1];
    const std::uint64_t ring_end = queue.base + queue.size() * WqebbBytes;
    if (read.address < queue.base || end > ring_end) {
      return done;  // of a life before
    }
    cover_.hit_if(end == ring_end, "read.to_the_ring");
    // Neither reset nor going back explains it.
    cover_.hit_if(queue.expected != 0 && read.address < queue.expected &&
                      queue.expected - read.address < (queue.size() - 4) * WqebbBytes &&
                      read.address != queue.base,
                  "read.given_up");
    queue.expected = end == ring_end ? queue.base : end;
  }
  return done;
}

void wqe_fetch_traffic::see(cycle_t t, const wqe_item& wqe) {
  const unsigned beats = wqebbs_of(wqe.ds);
  cover_.hit(fmt::format("beats.{}", beats));
  cover_.hit(wqe.origin == wqe_origin::fetched ? "wqe.fetched" : "wqe.blueflame");
  cover_.hit_if(wqe.status != dma_status::ok, "wqe.failed");
  cover_.hit_if(wqe.ds == 0, "wqe.no_size");
  cover_.hit_if(wqe.ds == MaxWqeUnits, "wqe.largest");
  seen_.push({t, wqe.qpn, static_cast<std::uint16_t>(wqe.wqe_index + beats),
              static_cast<std::uint8_t>(beats), wqe.epoch});
}

void wqe_fetch_traffic::catch_up(cycle_t t) {
  if (t >= phase_ends_) {
    const auto draw = [&](auto count) { return random_.below(static_cast<std::uint64_t>(count)); };
    phase_ = static_cast<phase_e>(draw(phase_e::count_));
    // What was posted before has to be fetched before reads are short.
    phase_ends_ = t + (phase_ == phase_e::single ? 8192 : 2048);
    few_ = static_cast<unsigned>(draw(Queues));
  }
  while (!seen_.empty() && seen_.front().cycle < t) {
    const seen_wqe wqe = seen_.pop();
    send_queue* const queue = find(wqe.qpn);
    CARILLON_CHECK(queue != nullptr, "wqe_fetch_bench: a WQE of QP {}", wqe.qpn);
    if (wqe.epoch == queue->epoch) {
      queue->consumed = wqe.behind;
      queue->handed += wqe.wqebbs;
      if (queue->used() > queue->size()) {
        queue->posted = queue->consumed;  // a doorbell said so that should not have
      }
    }
  }
}

}  // namespace carillon
