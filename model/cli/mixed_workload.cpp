#include "cli/mixed_workload.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "cli/workload_settings.h"
#include "common/error.h"

namespace carillon {

namespace {

constexpr std::size_t MainCore = 0;
constexpr std::size_t ReceiverCore = 1;
constexpr std::size_t PollBatch = 16;
constexpr unsigned IndexShift = 48;
/// A receive's id also names its buffer, which is posted again as it is.
constexpr unsigned BufferBits = 16;
constexpr std::uint64_t BufferMask = (std::uint64_t{1} << BufferBits) - 1;
constexpr std::uint64_t NumberMask = (std::uint64_t{1} << IndexShift) - 1;
constexpr std::uint32_t Words = 4;  ///< that all queue pairs do atomics on
constexpr std::uint32_t WordBytes = 8;
constexpr std::uint32_t DatagramHeader = 40;
constexpr std::uint32_t LargestInline = 128;
constexpr unsigned SharedLogSize = 10;
/// Virtual addresses of regions with a page list: nobody's memory is there.
constexpr std::uint64_t PagedBase = 0x7f0000000000;

unsigned log2_ceil(std::uint64_t value) {
  return value <= 1 ? 0U : static_cast<unsigned>(std::bit_width(value - 1));
}

}  // namespace

/// A registered buffer, in one piece or over scattered pages.
struct mixed_workload::area {
  memory_region region;
  std::optional<page_list> pages;

  void write(host_memory& memory, std::uint64_t offset,
             const std::vector<std::uint8_t>& bytes) const {
    if (pages) {
      pages->write(memory, region.address + offset, bytes.data(), bytes.size());
    } else {
      memory.write(region.address + offset, bytes.data(), bytes.size());
    }
  }
};

struct mixed_workload::link {
  std::uint32_t index = 0;
  std::unique_ptr<queue_pair> qp;
  area source;   ///< what it sends
  area target;   ///< where its peer writes
  area library;  ///< what its peer reads
  area reads;    ///< where READs and atomics answer
  area inbox;    ///< receive buffers
  link* peer = nullptr;
  std::uint64_t quota = 0;
  std::uint64_t posted = 0;
  std::uint64_t completed = 0;
  std::uint64_t messages = 0;  ///< posted ones that take a receive of the peer
  std::uint64_t received = 0;
  std::uint64_t receives_posted = 0;
  std::uint64_t last_word = 0;  ///< what an atomic returned last
  bool dead = false;

  [[nodiscard]] bool finished() const { return dead || (posted == quota && completed == quota); }
};

struct mixed_workload::side {
  side(unsigned number, node& where, std::uint64_t seed)
      : index(number),
        home(where),
        random(seed, fmt::format("{}/mixed", where.name)),
        next_paged(PagedBase) {}

  unsigned index;
  node& home;
  random_stream random;
  std::uint64_t next_paged;
  std::uint32_t pd = 0;
  uar_handle* uar = nullptr;
  std::unique_ptr<completion_queue> send_cq;
  std::unique_ptr<completion_queue> receive_cq;
  std::unique_ptr<shared_receive_queue> srq;
  area words;
  std::vector<std::unique_ptr<link>> links;

  [[nodiscard]] bool posting() const {
    return std::any_of(links.begin(), links.end(),
                       [](const auto& each) { return !each->finished(); });
  }
};

mixed_workload::mixed_workload(system_model& system, const run_point& point)
    : system_(system), point_(point), spec_(point.workload), ready_(2), connected_(2) {
  for (unsigned index = 0; index < sides_.size(); ++index) {
    sides_[index] = std::make_unique<side>(index, system_.at(index), point.seed);
    for (std::uint32_t q = 0; q < spec_.qps; ++q) {
      auto each = std::make_unique<link>();
      each->index = q;
      const std::uint64_t flows = std::uint64_t{spec_.qps} * sides_.size();
      const std::uint64_t flow = std::uint64_t{q} * sides_.size() + index;
      each->quota = spec_.messages / flows + (flow < spec_.messages % flows ? 1 : 0);
      sides_[index]->links.push_back(std::move(each));
    }
  }
  for (std::uint32_t q = 0; q < spec_.qps; ++q) {
    sides_[0]->links[q]->peer = sides_[1]->links[q].get();
    sides_[1]->links[q]->peer = sides_[0]->links[q].get();
  }
}

mixed_workload::~mixed_workload() {
  system_.context.trace.close();
}

void mixed_workload::start() {
  for (unsigned index = 0; index < sides_.size(); ++index) {
    ++running_;
    system_.at(index).host.core(MainCore).run(main_program(index), [this] { --running_; });
  }
}

void mixed_workload::check_finished() const {
  for (const auto& each : sides_) {
    for (const auto& one : each->links) {
      CARILLON_CHECK(one->finished(),
                     "{}: QP {} waits for {} of {} messages and nothing is left to happen;{}",
                     each->home.name, one->qp != nullptr ? one->qp->qpn() : 0,
                     one->quota - one->completed, one->quota, state_of_affairs(system_));
    }
  }
  CARILLON_CHECK(running_ == 0 || failed_ != 0,
                 "{} programs have not come to their end and nothing is left to happen;{}",
                 running_, state_of_affairs(system_));
}

bool mixed_workload::measured(const message_record& /*message*/) const {
  return true;
}

// Setting up
// -----------------------------------------------------------------------------------------------

task<> mixed_workload::main_program(unsigned index) {
  side& here = *sides_[index];
  side& there = *sides_[1 - index];
  cpu& core = here.home.host.core(MainCore);
  co_await set_up(here);
  co_await core.meet(ready_);
  co_await connect(here, there);
  for (const auto& each : here.links) {
    for (std::uint32_t buffer = 0; buffer < spec_.mixed.receives; ++buffer) {
      co_await post_receive(core, here, *each, buffer);
    }
  }
  co_await core.meet(connected_);
  ++running_;
  here.home.host.core(ReceiverCore).run(receive(here, there), [this] { --running_; });
  co_await request(here);
}

task<mixed_workload::area> mixed_workload::make_area(side& here, std::uint64_t bytes) {
  machine& host = here.home.host;
  cpu& core = host.core(MainCore);
  device& dev = here.home.driver;
  memory_access_rights rights;
  rights.remote_atomic = true;
  area result;
  const std::uint64_t length = std::max<std::uint64_t>(bytes, WordBytes);
  if (spec_.mixed.scattered) {
    result.pages = page_list::scattered(host, here.next_paged, length);
    here.next_paged += (length + 0x1fff) & ~std::uint64_t{0xfff};
    result.region = co_await dev.register_pages(core, here.pd, *result.pages, length, rights);
  } else {
    result.region =
        co_await dev.register_memory(core, here.pd, host.allocate(length, 4096), length, rights);
  }
  co_return result;
}

task<> mixed_workload::set_up(side& here) {
  cpu& core = here.home.host.core(MainCore);
  device& dev = here.home.driver;
  co_await dev.open(core);
  here.pd = co_await dev.alloc_pd(core);
  here.uar = co_await dev.alloc_uar(core);
  const std::uint64_t sends = std::uint64_t{spec_.qps} * spec_.outstanding;
  const std::uint64_t receives = std::uint64_t{spec_.qps} * spec_.mixed.receives;
  here.send_cq =
      co_await completion_queue::create(dev, core, *here.uar, std::max(6U, log2_ceil(2 * sends)));
  here.receive_cq = co_await completion_queue::create(dev, core, *here.uar,
                                                      std::max(6U, log2_ceil(2 * receives)));
  if (spec_.mixed.shared_receives) {
    shared_receive_options options;
    options.log_size = std::max(SharedLogSize, log2_ceil(receives + 1));
    options.max_sges = spec_.mixed.max_sges;
    here.srq = co_await shared_receive_queue::create(dev, core, here.pd, options);
  }
  here.words = co_await make_area(here, Words * WordBytes);
  std::vector<std::uint8_t> zeros(Words * WordBytes);
  here.words.write(here.home.host.memory, 0, zeros);
  for (const auto& each : here.links) {
    co_await set_up_link(here, *each);
  }
}

task<> mixed_workload::set_up_link(side& here, link& each) {
  cpu& core = here.home.host.core(MainCore);
  const std::uint64_t slot = std::max<std::uint64_t>(spec_.size, WordBytes);
  const std::uint64_t buffer = slot * spec_.outstanding;
  each.source = co_await make_area(here, buffer);
  each.target = co_await make_area(here, buffer);
  each.library = co_await make_area(here, buffer);
  each.reads = co_await make_area(here, buffer);
  each.inbox = co_await make_area(here, (slot + DatagramHeader) * spec_.mixed.receives);
  std::vector<std::uint8_t> books(buffer);
  for (std::uint8_t& byte : books) {
    byte = static_cast<std::uint8_t>(here.random.next());
  }
  each.library.write(here.home.host.memory, 0, books);

  queue_pair_options options;
  options.service = spec_.mixed.service;
  options.log_sq_size = log2_ceil(spec_.queue_depth);
  options.log_rq_size = std::max(2U, log2_ceil(spec_.mixed.receives));
  options.max_receive_sges = spec_.mixed.max_sges;
  options.srq = here.srq.get();
  options.wq_signature = spec_.mixed.signature;
  options.doorbell = spec_.submit == submit_mode::blueflame ? doorbell_mode::automatic
                                                            : doorbell_mode::doorbell_only;
  each.qp = co_await queue_pair::create(here.home.driver, core, here.pd, *here.uar, *here.send_cq,
                                        *here.receive_cq, options);
  connection_options connection = connection_of(point_);
  connection.remote_atomic = true;
  co_await each.qp->to_init(core, connection);
}

task<> mixed_workload::connect(side& here, const side& there) {
  cpu& core = here.home.host.core(MainCore);
  connection_options options = connection_of(point_);
  options.remote_atomic = true;
  for (std::size_t q = 0; q < here.links.size(); ++q) {
    co_await here.links[q]->qp->to_rtr(core, there.links[q]->qp->address(), options);
    co_await here.links[q]->qp->to_rts(core, options);
  }
}

// Requests
// --------------------------------------------------------------------------------------------------

work_opcode mixed_workload::random_opcode(side& here) const {
  std::uint64_t sum = 0;
  for (const std::uint32_t weight : spec_.mixed.weights) {
    sum += weight;
  }
  std::uint64_t at = here.random.below(sum);
  for (std::size_t i = 0; i < spec_.mixed.weights.size(); ++i) {
    if (at < spec_.mixed.weights[i]) {
      return static_cast<work_opcode>(i);
    }
    at -= spec_.mixed.weights[i];
  }
  return work_opcode::write;
}

void mixed_workload::add_pieces(side& here, work_request& request, const area& where,
                                std::uint64_t offset, std::uint32_t length) {
  std::uint32_t left = length;
  const auto most = static_cast<std::uint32_t>(here.random.between(1, spec_.mixed.max_sges));
  while (left != 0) {
    const bool last = request.sge_count + 1 == most;
    const auto part = last ? left : static_cast<std::uint32_t>(here.random.between(1, left));
    request.add({where.region.address + offset, part, where.region.key});
    offset += part;
    left -= part;
  }
}

work_request mixed_workload::random_request(side& here, link& each) {
  const std::uint64_t number = each.posted;
  const std::uint64_t slot = number % spec_.outstanding;
  const std::uint64_t room = std::max<std::uint64_t>(spec_.size, WordBytes);
  const std::uint64_t offset = slot * room;
  const work_opcode opcode = random_opcode(here);
  // Small and large ones alike: uniform in the logarithm, and every length within.
  const auto bits = here.random.below(log2_ceil(std::uint64_t{spec_.size} + 1) + 1);
  auto length = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(here.random.below((std::uint64_t{1} << bits) + 1), spec_.size));
  work_request request;
  request.id = std::uint64_t{each.index} << IndexShift | number;
  request.opcode = wqe_opcode_of(opcode);
  const bool must_report = number + 1 == each.quota || (number + 1) % spec_.signaled_every == 0 ||
                           number + 1 - each.completed >= spec_.outstanding;
  request.signaled = must_report || !here.random.chance(spec_.mixed.unsignaled, 100);
  request.fence = here.random.chance(spec_.mixed.fenced, 100);
  request.solicited = here.random.chance(1, 4);
  request.imm = static_cast<std::uint32_t>(here.random.next());
  switch (opcode) {
    case work_opcode::read:
      // What the peer keeps for it, or what it wrote there itself.
      if (here.random.chance(1, 2)) {
        request.remote_address = each.peer->library.region.address + offset;
        request.rkey = each.peer->library.region.key;
      } else {
        request.remote_address =
            each.peer->target.region.address + here.random.below(spec_.outstanding) * room;
        request.rkey = each.peer->target.region.key;
      }
      add_pieces(here, request, each.reads, offset, length);
      return request;
    case work_opcode::compare_swap:
    case work_opcode::fetch_add: {
      const side& there = *sides_[1 - here.index];
      request.remote_address = there.words.region.address + here.random.below(Words) * WordBytes;
      request.rkey = there.words.region.key;
      request.swap_or_add =
          opcode == work_opcode::fetch_add ? here.random.below(1000) : here.random.next();
      request.compare = each.last_word;
      request.add({each.reads.region.address + offset, WordBytes, each.reads.region.key});
      return request;
    }
    case work_opcode::write:
    case work_opcode::write_imm:
      request.remote_address = each.peer->target.region.address + offset;
      request.rkey = each.peer->target.region.key;
      break;
    default:
      break;
  }
  if (spec_.mixed.service == qpc_service::Ud) {
    length = std::min(length, static_cast<std::uint32_t>(point_.params.wire.mtu));
    connection_options options = connection_of(point_);
    request.to = each.qp->handle_of(each.peer->qp->address(), options);
  }
  std::vector<std::uint8_t> bytes(length);
  for (std::size_t i = 0; i < bytes.size(); i += WordBytes) {
    std::uint64_t value = here.random.next();
    for (std::size_t j = i; j < std::min(bytes.size(), i + WordBytes); ++j, value >>= 8) {
      bytes[j] = static_cast<std::uint8_t>(value);
    }
  }
  each.source.write(here.home.host.memory, offset, bytes);
  add_pieces(here, request, each.source, offset, length);
  request.is_inline = !spec_.mixed.scattered && length <= LargestInline && length != 0 &&
                      spec_.inline_data != inline_mode::never && here.random.chance(1, 2);
  return request;
}

task<bool> mixed_workload::post_one(side& here, link& each) {
  cpu& core = here.home.host.core(MainCore);
  const work_request request = random_request(here, each);
  if (!co_await each.qp->post_send(core, request)) {
    co_return false;
  }
  ++each.posted;
  const bool takes = request.opcode != wqe_opcode::RdmaWrite &&
                     request.opcode != wqe_opcode::RdmaRead &&
                     request.opcode != wqe_opcode::AtomicCompareSwap &&
                     request.opcode != wqe_opcode::AtomicFetchAdd;
  each.messages += takes ? 1 : 0;
  co_return true;
}

void mixed_workload::take(side& here, const completion& entry) {
  link& each = *here.links[entry.id >> IndexShift];
  const std::uint64_t number = entry.id & NumberMask;
  completed_ += number + 1 - each.completed;
  each.completed = number + 1;
  if (entry.failed()) {
    ++failed_;
    each.dead = true;
    return;
  }
  if (entry.work == wqe_opcode::AtomicCompareSwap || entry.work == wqe_opcode::AtomicFetchAdd) {
    const std::uint64_t room = std::max<std::uint64_t>(spec_.size, WordBytes);
    std::uint64_t value = 0;
    const std::uint64_t address = each.reads.region.address + number % spec_.outstanding * room;
    if (each.reads.pages) {
      each.reads.pages->read(here.home.host.memory, address, &value, WordBytes);
    } else {
      here.home.host.memory.read(address, &value, WordBytes);
    }
    each.last_word = value;
  }
}

task<> mixed_workload::request(side& here) {
  cpu& core = here.home.host.core(MainCore);
  std::array<completion, PollBatch> entries;
  while (here.posting()) {
    bool any = false;
    for (const auto& each : here.links) {
      if (!each->dead && each->posted < each->quota &&
          each->posted - each->completed < spec_.outstanding) {
        any = co_await post_one(here, *each) || any;
      }
    }
    if (!here.posting()) {
      break;
    }
    unsigned found = 0;
    if (any) {
      found = co_await here.send_cq->poll(core, entries);
    } else {
      found = co_await here.send_cq->wait(core, entries);
    }
    for (unsigned i = 0; i < found; ++i) {
      take(here, entries[i]);
    }
  }
}

// Receives
// --------------------------------------------------------------------------------------------------

task<> mixed_workload::post_receive(cpu& core, side& here, link& each, std::uint32_t buffer) {
  const std::uint64_t room = std::max<std::uint64_t>(spec_.size, WordBytes) +
                             (spec_.mixed.service == qpc_service::Ud ? DatagramHeader : 0);
  receive_request request;
  request.id =
      std::uint64_t{each.index} << IndexShift | each.receives_posted << BufferBits | buffer;
  std::uint64_t at = 0;
  for (std::uint32_t piece = 0; at < room; ++piece) {
    const bool last = piece + 1 == spec_.mixed.max_sges;
    const std::uint64_t part = last ? room - at : here.random.between(1, room - at);
    request.add({each.inbox.region.address + buffer * room + at, static_cast<std::uint32_t>(part),
                 each.inbox.region.key});
    at += part;
  }
  if (here.srq != nullptr) {
    co_await here.srq->post(core, request);
  } else {
    co_await each.qp->post_receive(core, request);
  }
  ++each.receives_posted;
}

task<> mixed_workload::receive(side& here, const side& there) {
  cpu& core = here.home.host.core(ReceiverCore);
  std::array<completion, PollBatch> entries;
  const auto awaited = [&] {
    std::uint64_t sum = 0;
    for (const auto& each : here.links) {
      sum += each->peer->messages - std::min(each->peer->messages, each->received);
    }
    return sum;
  };
  const bool reliable = spec_.mixed.service == qpc_service::Rc;
  while (awaited() != 0 || there.posting()) {
    unsigned found = 0;
    if (reliable && awaited() != 0) {
      found = co_await here.receive_cq->wait(core, entries);
    } else {
      found = co_await here.receive_cq->poll(core, entries);
      if (found == 0) {
        if (!there.posting()) {
          break;  // what is missing was lost
        }
        core.idle_until(core.time() + static_cast<ps_t>(spec_.mixed.receiver_pause_ps));
        co_await core.sync();
      }
    }
    for (unsigned i = 0; i < found; ++i) {
      link& each = *here.links[entries[i].id >> IndexShift];
      if (entries[i].failed()) {
        ++failed_;
        each.dead = true;
        continue;
      }
      // Of a shared queue, the buffer's owner is not the queue pair that took it.
      const auto taker = std::find_if(here.links.begin(), here.links.end(), [&](const auto& other) {
        return other->qp->qpn() == entries[i].qpn;
      });
      ++(*taker)->received;
      co_await post_receive(core, here, each,
                            static_cast<std::uint32_t>(entries[i].id & BufferMask));
    }
  }
}

}  // namespace carillon
