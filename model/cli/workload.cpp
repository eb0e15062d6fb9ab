#include "cli/workload.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "cli/scenario_loader.h"
#include "common/error.h"
#include "common/stream.h"

namespace carillon {

namespace {

constexpr std::size_t MainCore = 0;
constexpr std::size_t ReceiverCore = 1;
constexpr std::size_t FirstBackgroundCore = 2;
constexpr unsigned MinLogCqSize = 12;
constexpr unsigned MaxLogRqSize = 12;
constexpr std::size_t PollBatch = 16;
constexpr std::uint32_t MinReceives = 16;

/// Receives that are posted ahead: twice what the peer may send, so that reposting does not hold it
/// up.
std::uint32_t receives_ahead(std::uint32_t outstanding) {
  return std::clamp(2 * outstanding, MinReceives, std::uint32_t{1} << MaxLogRqSize);
}

wqe_opcode opcode_of(work_opcode opcode) {
  switch (opcode) {
    case work_opcode::write:
      return wqe_opcode::RdmaWrite;
    case work_opcode::write_imm:
      return wqe_opcode::RdmaWriteImmediate;
    case work_opcode::send:
      return wqe_opcode::Send;
    case work_opcode::send_imm:
      return wqe_opcode::SendImmediate;
  }
  return wqe_opcode::Nop;
}

unsigned log2_ceil(std::uint64_t value) {
  return value <= 1 ? 0U : static_cast<unsigned>(std::bit_width(value - 1));
}

/// A queue that holds a completion of each request in flight, however late the core looks.
unsigned log_cq_size(std::uint64_t in_flight) {
  return std::max(MinLogCqSize, log2_ceil(in_flight));
}

mtu_code mtu_code_of(std::int64_t bytes) {
  // Code n is 128 << n bytes.
  return static_cast<mtu_code>(std::bit_width(static_cast<std::uint64_t>(bytes)) - 8);
}

/// Byte `i` of message `number`: another one in every message and on every connection.
std::uint8_t pattern(std::uint32_t connection, std::uint64_t number, std::uint64_t i) {
  const std::uint64_t x = (number * 0x9e3779b97f4a7c15ULL) ^ (std::uint64_t{connection} << 32) ^ i;
  return static_cast<std::uint8_t>((x * 0xff51afd7ed558ccdULL) >> 56);
}

}  // namespace

/// One queue pair and its buffers. Message n uses slot n modulo the number of slots at both ends.
struct workload::connection {
  std::uint32_t index = 0;
  bool background = false;
  work_opcode opcode = work_opcode::write;
  std::uint32_t size = 0;
  std::uint32_t outstanding = 1;
  std::uint32_t slots = 1;
  std::unique_ptr<completion_queue> own_send_cq;  ///< of a background connection
  std::unique_ptr<queue_pair> qp;
  memory_region source;
  memory_region target;
  connection* peer = nullptr;
  std::uint64_t quota = 0;  ///< messages that it will carry; a background has none
  std::uint64_t posted = 0;
  std::uint64_t completed = 0;
  std::uint64_t received = 0;
  std::uint64_t receives_posted = 0;

  [[nodiscard]] std::uint64_t slot_offset(std::uint64_t number) const {
    return number % slots * std::max<std::uint64_t>(size, 1);
  }
};

struct workload::side {
  side(unsigned number, node& where) : index(number), home(where) {}

  unsigned index;
  node& home;
  std::uint32_t pd = 0;
  uar_handle* uar = nullptr;
  std::unique_ptr<completion_queue> send_cq;
  std::unique_ptr<completion_queue> receive_cq;
  std::vector<std::unique_ptr<connection>> links;
  std::uint64_t total = 0;  ///< messages to post, warm-up included
  std::uint64_t warmup = 0;
  ps_t measured_from = NeverPs;
  bool measure_next = false;
  std::vector<work_request> batch;
  bool finished = false;  ///< the measured traffic of this side is done
  // The last message's way to the NIC, for the next one's alignment.
  std::uint64_t doorbell_delay = 0;
  bool delay_known = false;

  struct delay_watcher final : message_observer {
    side* owner = nullptr;

    void on_message(const message_record& message) override {
      if (message.info.node == owner->home.host.name() && message.reached(milestone::doorbell)) {
        owner->doorbell_delay =
            message.time_of(milestone::doorbell) - message.time_of(milestone::post);
        owner->delay_known = true;
      }
    }
  };

  delay_watcher watcher;
};

unsigned workload::cores(const workload_spec& spec) {
  return static_cast<unsigned>(FirstBackgroundCore) + spec.background.qps;
}

workload::workload(system_model& system, const run_point& point)
    : system_(system), point_(point), spec_(point.workload), ready_(2), connected_(2) {
  const bool both = spec_.both_directions || spec_.kind == workload_kind::ping_pong;
  for (unsigned index = 0; index < system_.size(); ++index) {
    sides_[index] = std::make_unique<side>(index, system_.at(index));
    side& each = *sides_[index];
    const std::uint64_t share = both ? 2 : 1;
    if (index == 0 || both) {
      // An odd message goes to node 0.
      each.warmup = (spec_.warmup + (index == 0 ? share - 1 : 0)) / share;
      each.total = each.warmup + (spec_.messages + (index == 0 ? share - 1 : 0)) / share;
    }
    for (std::uint32_t q = 0; q < spec_.qps + spec_.background.qps; ++q) {
      auto link = std::make_unique<connection>();
      link->index = q;
      link->background = q >= spec_.qps;
      link->opcode = link->background ? spec_.background.opcode : spec_.opcode;
      link->size = link->background ? spec_.background.size : spec_.size;
      link->outstanding = link->background ? spec_.background.outstanding : spec_.outstanding;
      const bool ping_pong = spec_.kind == workload_kind::ping_pong;
      link->slots = consumes_receive(link->opcode) && !ping_pong ? receives_ahead(link->outstanding)
                                                                 : link->outstanding;
      if (!link->background) {
        // Round robin over the connections.
        link->quota = each.total / spec_.qps + (q < each.total % spec_.qps ? 1 : 0);
      }
      each.links.push_back(std::move(link));
    }
    each.watcher.owner = &each;
    system_.context.trace.observe(each.watcher);
  }
  for (std::size_t q = 0; q < sides_[0]->links.size(); ++q) {
    sides_[0]->links[q]->peer = sides_[1]->links[q].get();
    sides_[1]->links[q]->peer = sides_[0]->links[q].get();
  }
}

workload::~workload() {
  system_.context.trace.close();
}

void workload::start() {
  for (unsigned index = 0; index < system_.size(); ++index) {
    ++running_;
    system_.at(index).host.core(MainCore).run(main_program(index), [this] { --running_; });
  }
}

/// What both NICs counted and which streams still hold items: where to look when a run came to a
/// halt.
std::string workload::state_of_affairs() const {
  std::string text;
  for (const auto& each : sides_) {
    for (std::size_t i = 0; i < CounterTable.size(); ++i) {
      const std::uint64_t value = each->home.adapter.counters().value(static_cast<counter>(i));
      if (value != 0) {
        text +=
            fmt::format(" {}.{}={}", each->home.adapter.shared().name, CounterTable[i].name, value);
      }
    }
  }
  for (const stream_base* each : system_.context.streams) {
    if (!each->empty()) {
      text += fmt::format(" {} holds {}", each->name(), each->size());
    }
  }
  return text;
}

/// Until there is retransmission, a message that found no buffer is lost for good: the scenario
/// asks for more than the receiver can take.
void workload::refuse_overload() const {
  for (const auto& each : sides_) {
    for (const counter lost : {counter::RxDropBuffer, counter::RxOutOfBuffer}) {
      const std::uint64_t count = each->home.adapter.counters().value(lost);
      if (count != 0) {
        throw config_error(
            fmt::format("the workload overruns the receiver: {} lost {} packets ({}) and nothing "
                        "sends them again; fewer workload.outstanding or workload.qps would be "
                        "right",
                        each->home.adapter.shared().name, count,
                        CounterTable[static_cast<std::size_t>(lost)].name));
      }
    }
  }
}

void workload::check_finished() const {
  const bool all_done =
      running_ == 0 && std::all_of(sides_.begin(), sides_.end(), [](const auto& each) {
        return std::all_of(each->links.begin(), each->links.end(),
                           [](const auto& link) { return link->completed == link->posted; });
      });
  if (!all_done) {
    refuse_overload();
  }
  for (const auto& each : sides_) {
    for (const auto& link : each->links) {
      CARILLON_CHECK(link->completed == link->posted,
                     "{}: QP {} waits for {} of {} messages and nothing is left to happen;{}",
                     each->home.name, link->qp != nullptr ? link->qp->qpn() : 0,
                     link->posted - link->completed, link->posted, state_of_affairs());
    }
  }
  CARILLON_CHECK(running_ == 0,
                 "{} programs have not come to their end and nothing is left to happen;{}",
                 running_, state_of_affairs());
}

bool workload::measured(const message_record& message) const {
  for (const auto& each : sides_) {
    if (message.info.node != each->home.host.name()) {
      continue;
    }
    if (message.time_of(milestone::post) < each->measured_from) {
      return false;
    }
    return std::any_of(each->links.begin(), each->links.end(), [&](const auto& link) {
      return !link->background && link->qp != nullptr && link->qp->qpn() == message.info.qpn;
    });
  }
  return false;
}

// Setting up
// -----------------------------------------------------------------------------------------------

task<> workload::main_program(unsigned index) {
  side& here = *sides_[index];
  cpu& core = here.home.host.core(MainCore);
  co_await set_up(index);
  co_await core.meet(ready_);
  co_await connect(here, *sides_[1 - index]);
  if (consumes_receive(spec_.opcode)) {
    for (auto& link : here.links) {
      if (!link->background && link->peer != nullptr && sides_[1 - index]->total != 0) {
        co_await post_receives(core, *link, receives_ahead(link->outstanding));
      }
    }
  }
  co_await core.meet(connected_);
  if (consumes_receive(spec_.opcode) && sides_[1 - index]->total != 0) {
    ++running_;
    here.home.host.core(ReceiverCore).run(receiver_program(here), [this] { --running_; });
  }
  if (index == 0) {
    std::size_t background_core = FirstBackgroundCore;
    for (auto& link : here.links) {
      if (link->background) {
        ++running_;
        here.home.host.core(static_cast<unsigned>(background_core))
            .run(background_program(here, *link, background_core), [this] { --running_; });
        ++background_core;
      }
    }
  }
  if (spec_.kind == workload_kind::ping_pong) {
    co_await ping_pong_program(here);
  } else if (here.total != 0) {
    co_await requester_program(here);
  }
  here.finished = true;
}

task<> workload::set_up(unsigned index) {
  side& here = *sides_[index];
  machine& host = here.home.host;
  cpu& core = host.core(MainCore);
  device& dev = here.home.driver;
  co_await dev.open(core);
  here.pd = co_await dev.alloc_pd(core);
  here.uar = co_await dev.alloc_uar(core);
  const std::uint64_t sends = std::uint64_t{spec_.qps} * spec_.outstanding;
  const std::uint64_t receives = std::uint64_t{spec_.qps} * receives_ahead(spec_.outstanding);
  here.send_cq = co_await completion_queue::create(dev, core, *here.uar, log_cq_size(sends));
  here.receive_cq = co_await completion_queue::create(
      dev, core, *here.uar, consumes_receive(spec_.opcode) ? log_cq_size(receives) : MinLogCqSize);
  for (auto& link : here.links) {
    const std::uint64_t bytes = std::max<std::uint64_t>(link->size, 1) * link->slots;
    link->source = co_await dev.register_memory(core, here.pd, host.allocate(bytes, 4096), bytes);
    link->target = co_await dev.register_memory(core, here.pd, host.allocate(bytes, 4096), bytes);
    queue_pair_options options;
    options.log_sq_size = log2_ceil(spec_.queue_depth);
    options.log_rq_size = log2_ceil(receives_ahead(link->outstanding));
    options.doorbell = spec_.submit == submit_mode::blueflame ? doorbell_mode::automatic
                                                              : doorbell_mode::doorbell_only;
    uar_handle* uar = here.uar;
    completion_queue* send_cq = here.send_cq.get();
    if (link->background) {
      uar = co_await dev.alloc_uar(core);
      link->own_send_cq =
          co_await completion_queue::create(dev, core, *uar, log_cq_size(link->outstanding));
      send_cq = link->own_send_cq.get();
    }
    link->qp =
        co_await queue_pair::create(dev, core, here.pd, *uar, *send_cq, *here.receive_cq, options);
    co_await link->qp->to_init(core);
  }
}

task<> workload::connect(side& here, const side& there) {
  cpu& core = here.home.host.core(MainCore);
  connection_options options;
  options.mtu = mtu_code_of(point_.params.wire.mtu);
  for (std::size_t q = 0; q < here.links.size(); ++q) {
    co_await here.links[q]->qp->to_rtr(core, there.links[q]->qp->address(), options);
    co_await here.links[q]->qp->to_rts(core, options);
  }
}

// Traffic
// --------------------------------------------------------------------------------------------------

work_request workload::request_of(const connection& link, std::uint64_t number,
                                  bool signaled) const {
  work_request request;
  request.id = std::uint64_t{link.index} << 48 | number;
  request.opcode = opcode_of(link.opcode);
  request.signaled = signaled;
  request.imm = static_cast<std::uint32_t>(number);
  const std::uint64_t offset = link.slot_offset(number);
  if (link.size != 0) {
    request.add({link.source.address + offset, link.size, link.source.key});
    request.is_inline = !link.background && spec_.inlined(inline_limit(link.opcode));
  }
  if (writes_memory(link.opcode)) {
    request.remote_address = link.peer->target.address + offset;
    request.rkey = link.peer->target.key;
  }
  return request;
}

void workload::start_measuring(side& here) {
  here.measured_from = here.home.host.core(MainCore).time();
}

void workload::align(cpu& core, const side& here) const {
  if (!spec_.align_doorbell || !here.delay_known) {
    return;
  }
  const ps_t period = system_.context.clock.period();
  const ps_t arrival = core.time() + here.doorbell_delay;
  core.idle_until(core.time() + (period - arrival % period) % period);
}

void workload::fill(connection& link, std::uint64_t number) const {
  std::vector<std::uint8_t> bytes(link.size);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = pattern(link.index, number, i);
  }
  side& home = *sides_[link.peer == sides_[1]->links[link.index].get() ? 0 : 1];
  home.home.host.memory.write(link.source.address + link.slot_offset(number), bytes.data(),
                              bytes.size());
}

void workload::check(connection& link, std::uint64_t number) {
  // `link` is the sender's; its message lies in the peer's memory.
  side& there = *sides_[link.peer == sides_[1]->links[link.index].get() ? 1 : 0];
  std::vector<std::uint8_t> bytes(link.size);
  there.home.host.memory.read(link.peer->target.address + link.slot_offset(number), bytes.data(),
                              bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    wrong_bytes_ += bytes[i] != pattern(link.index, number, i) ? 1 : 0;
  }
  ++verified_messages_;
}

/// Whether the receiver has posted a receive for each of the next `count` messages: the two
/// programs agree on it as applications do, beside the traffic.
bool workload::expected(const connection& link, std::uint32_t count) const {
  return !consumes_receive(link.opcode) || link.posted + count <= link.peer->receives_posted;
}

task<> workload::wait_until_expected(cpu& core, const connection& link) const {
  while (!expected(link, 1)) {
    co_await pause(core);
  }
}

task<> workload::pause(cpu& core) const {
  core.idle_until(core.time() + static_cast<ps_t>(point_.params.cpu.poll_interval_ps));
  co_await core.sync();
}

task<bool> workload::post_batch(cpu& core, side& here, connection& link, std::uint32_t count) {
  std::vector<work_request>& requests = here.batch;
  requests.clear();
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint64_t number = link.posted + i;
    const bool last = number + 1 == link.quota;
    // A window without room for the next batch and without a signaled request would never empty.
    const bool window_full =
        i + 1 == count && number + 1 - link.completed + spec_.batch > link.outstanding;
    const bool signaled = last || window_full || (number + 1) % spec_.signaled_every == 0;
    requests.push_back(request_of(link, number, signaled));
    if (spec_.verify) {
      if (number >= link.slots && writes_memory(link.opcode)) {
        check(link, number - link.slots);
      }
      fill(link, number);
    }
  }
  const bool posted = co_await link.qp->post_send(core, std::span<const work_request>(requests));
  if (posted) {
    link.posted += count;
  }
  co_return posted;
}

void workload::complete(side& here, const completion& entry) {
  connection& link = *here.links[entry.id >> 48];
  const std::uint64_t number = entry.id & 0xffffffffffff;
  if (entry.failed()) {
    ++failed_;
  }
  link.completed = std::max(link.completed, number + 1);
}

task<> workload::requester_program(side& here) {
  cpu& core = here.home.host.core(MainCore);
  std::array<completion, PollBatch> entries;
  std::uint64_t posted = 0;
  if (here.warmup == 0) {
    start_measuring(here);
  }
  const auto in_flight = [&] {
    std::uint64_t sum = 0;
    for (std::uint32_t q = 0; q < spec_.qps; ++q) {
      sum += here.links[q]->posted - here.links[q]->completed;
    }
    return sum;
  };
  std::uint32_t turn = 0;
  while (posted < here.total || in_flight() != 0) {
    bool progress = false;
    bool unexpected = false;
    for (std::uint32_t step = 0; step < spec_.qps && posted < here.total; ++step) {
      connection& link = *here.links[turn];
      const std::uint64_t window = link.outstanding - (link.posted - link.completed);
      // A batch is either warm-up or measured.
      const std::uint64_t phase_end = posted < here.warmup ? here.warmup : here.total;
      const auto count = static_cast<std::uint32_t>(
          std::min<std::uint64_t>({spec_.batch, link.quota - link.posted, phase_end - posted}));
      if (count != 0 && count <= window && !expected(link, count)) {
        unexpected = true;
      } else if (count != 0 && count <= window) {
        if (posted < here.warmup && posted + count == here.warmup) {
          // The next post is the first that counts.
          here.measure_next = true;
        }
        if (spec_.outstanding == 1) {
          align(core, here);
        }
        if (co_await post_batch(core, here, link, count)) {
          posted += count;
          progress = true;
        }
        if (here.measure_next) {
          here.measure_next = false;
          start_measuring(here);
        }
      }
      turn = (turn + 1) % spec_.qps;
    }
    if (!progress && unexpected && !here.send_cq->ready()) {
      co_await pause(core);
    } else if (!progress || posted == here.total) {
      const unsigned found = co_await here.send_cq->wait(core, entries);
      for (unsigned i = 0; i < found; ++i) {
        complete(here, entries[i]);
      }
    } else if (spec_.kind == workload_kind::write_lat || here.send_cq->ready()) {
      const unsigned found = co_await here.send_cq->poll(core, entries);
      for (unsigned i = 0; i < found; ++i) {
        complete(here, entries[i]);
      }
    }
  }
}

task<> workload::ping_pong_program(side& here) {
  cpu& core = here.home.host.core(MainCore);
  connection& link = *here.links[0];
  tracer& trace = system_.context.trace;
  host_memory& memory = here.home.host.memory;
  const std::uint64_t last_byte = std::max<std::uint32_t>(link.size, 1) - 1;
  polled_byte arrival(memory, trace, link.target.address + last_byte);
  std::array<completion, PollBatch> entries;
  for (std::uint64_t round = 0; round < here.total; ++round) {
    const auto value = static_cast<std::uint8_t>(round + 1);
    if (round == here.warmup) {
      start_measuring(here);
    }
    if (here.index == 1) {
      co_await see(core, arrival, value);
    }
    memory.write(link.source.address + last_byte, &value, 1);
    co_await wait_until_expected(core, link);
    const work_request request = request_of(link, round, true);
    co_await link.qp->post_send(core, request);
    ++link.posted;
    if (here.index == 0) {
      co_await see(core, arrival, value);
    }
    const unsigned found = co_await here.send_cq->wait(core, entries);
    for (unsigned i = 0; i < found; ++i) {
      complete(here, entries[i]);
    }
    if (spec_.verify) {
      ++verified_messages_;  // the value that was waited for came
    }
  }
}

task<> workload::see(cpu& core, polled_byte& arrival, std::uint8_t value) {
  tracer& trace = system_.context.trace;
  arrival.expect(value);
  co_await core.poll(arrival);
  const trace_ref writer = arrival.take_writer();
  const trace_ref history = core.seen(writer);
  trace.mark(history, milestone::remote_seen);
  trace.release(writer);
}

task<> workload::post_receives(cpu& core, connection& link, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) {
    receive_request request;
    request.id = std::uint64_t{link.index} << 48 | link.receives_posted;
    request.sge_count = 1;
    request.sges[0] = {link.target.address + link.slot_offset(link.receives_posted),
                       std::max(link.size, 1U), link.target.key};
    co_await link.qp->post_receive(core, request);
    ++link.receives_posted;
  }
}

task<> workload::receiver_program(side& here) {
  cpu& core = here.home.host.core(ReceiverCore);
  const side& there = *sides_[1 - here.index];
  std::array<completion, PollBatch> entries;
  std::uint64_t received = 0;
  while (received < there.total) {
    const unsigned found = co_await here.receive_cq->wait(core, entries);
    for (unsigned i = 0; i < found; ++i) {
      connection& link = *here.links[entries[i].id >> 48];
      if (entries[i].failed()) {
        ++failed_;
      }
      if (spec_.verify && !writes_memory(link.opcode) && spec_.kind != workload_kind::ping_pong) {
        check(*link.peer, link.received);
      }
      ++link.received;
      ++received;
      if (link.receives_posted < link.peer->quota) {
        co_await post_receives(core, link, 1);
      }
    }
  }
}

task<> workload::background_program(side& here, connection& link, std::size_t core_index) {
  cpu& core = here.home.host.core(static_cast<unsigned>(core_index));
  std::array<completion, PollBatch> entries;
  while (!here.finished || link.posted != link.completed) {
    if (!here.finished && link.posted - link.completed < link.outstanding) {
      const work_request request = request_of(link, link.posted, true);
      if (co_await link.qp->post_send(core, request)) {
        ++link.posted;
        continue;
      }
    }
    const unsigned found = co_await link.own_send_cq->wait(core, entries);
    for (unsigned i = 0; i < found; ++i) {
      complete(here, entries[i]);
    }
  }
}

void workload::finish() {
  if (!spec_.verify || spec_.kind == workload_kind::ping_pong) {
    return;
  }
  for (const auto& each : sides_) {
    for (const auto& link : each->links) {
      if (link->background || !writes_memory(link->opcode)) {
        continue;
      }
      const std::uint64_t kept = std::min<std::uint64_t>(link->posted, link->slots);
      for (std::uint64_t number = link->posted - kept; number < link->posted; ++number) {
        check(*link, number);
      }
    }
  }
}

}  // namespace carillon
