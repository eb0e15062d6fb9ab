#include "cli/perftest_tests.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>

#include "cli/perftest_table.h"
#include "cli/workload_settings.h"
#include "common/error.h"

namespace carillon {

namespace {

constexpr unsigned MainCore = 0;
constexpr unsigned ReceiverCore = 1;
constexpr unsigned MinLogQueueSize = 4;
constexpr std::uint64_t AtomicBytes = 8;

unsigned log2_ceil(std::uint64_t value) {
  return value <= 1 ? 0U : static_cast<unsigned>(std::bit_width(value - 1));
}

unsigned log_queue_size(std::uint64_t entries) {
  return std::max(MinLogQueueSize, log2_ceil(entries));
}

connection_options options_of(const run_point& point, const perftest_spec& spec) {
  connection_options options = connection_of(point);
  options.gid_index = static_cast<std::uint8_t>(spec.gid_index);
  options.remote_atomic = spec.verb == perftest_verb::atomic;
  options.log_max_rd_atomic = static_cast<std::uint8_t>(std::bit_width(spec.outs) - 1);
  options.log_max_dest_rd_atomic = options.log_max_rd_atomic;
  return options;
}

}  // namespace

perftest_traffic::side::side(unsigned number, node& where, const device_settings& settings)
    : index(number),
      home(where),
      functions(where.slot, where.driver, settings,
                [&where](unsigned function) { return &where.make_device(function); }) {}

perftest_traffic::perftest_traffic(system_model& system, const run_point& point)
    : system_(system), point_(point), spec_(*point.perftest), options_(options_of(point, spec_)) {
  for (unsigned index = 0; index < system_model::size(); ++index) {
    sides_[index] = std::make_unique<side>(index, system_.at(index), point.devices[index]);
    sides_[index]->links = std::vector<connection>(spec_.qps);
  }
  if (spec_.duration == 0) {
    rounds_ = spec_.warmup + spec_.iterations;
    if (spec_.latency) {
      laps_.reserve(spec_.iterations);
    }
  }
}

perftest_traffic::~perftest_traffic() {
  // A receiver of datagrams waits for ever.
  for (unsigned index = 0; index < system_model::size(); ++index) {
    machine& host = system_.at(index).host;
    for (unsigned i = 0; i < host.cores(); ++i) {
      host.core(i).abandon();
    }
  }
  system_.context.trace.close();
}

bool perftest_traffic::receives() const {
  return spec_.verb == perftest_verb::send ||
         (spec_.verb == perftest_verb::write && spec_.immediate);
}

bool perftest_traffic::sends(const side& who) const {
  return who.index == 0 || spec_.bidirectional || (spec_.latency && spec_.half_round_trip());
}

wqe_opcode perftest_traffic::opcode() const {
  switch (spec_.verb) {
    case perftest_verb::write:
      return spec_.immediate ? wqe_opcode::RdmaWriteImmediate : wqe_opcode::RdmaWrite;
    case perftest_verb::read:
      return wqe_opcode::RdmaRead;
    case perftest_verb::send:
      return wqe_opcode::Send;
    case perftest_verb::atomic:
      return spec_.compare_swap ? wqe_opcode::AtomicCompareSwap : wqe_opcode::AtomicFetchAdd;
  }
  return wqe_opcode::Nop;
}

void perftest_traffic::start() {
  for (unsigned index = 0; index < system_model::size(); ++index) {
    ++running_;
    system_.at(index).host.core(MainCore).run(program(index), [this] { --running_; });
  }
}

task<> perftest_traffic::program(unsigned index) {
  side& here = *sides_[index];
  cpu& core = here.home.host.core(MainCore);
  co_await set_up(here);
  co_await core.meet(created_);
  co_await connect(here, *sides_[1 - index]);
  co_await core.meet(connected_);
  const bool receiver = receives() && sends(*sides_[1 - index]);
  if (receiver) {
    const std::uint64_t ahead = spec_.rx_depth;
    for (std::size_t number = 0; number < here.links.size(); ++number) {
      co_await post_receives(core, here, number, ahead);
    }
  }
  co_await core.meet(ready_);
  if (spec_.latency) {
    if (spec_.half_round_trip()) {
      co_await ping_pong(here);
    } else if (index == 0) {
      co_await laps_of(here);
    }
    co_return;
  }
  if (receiver && sends(here)) {
    // Not counted as running: of datagrams nobody knows how many come.
    here.home.host.core(ReceiverCore).run(receive_all(here, ReceiverCore));
  }
  if (sends(here)) {
    co_await bandwidth(here);
  } else if (receiver) {
    --running_;
    co_await receive_all(here, MainCore);
    ++running_;
  }
}

// Setting up -------------------------------------------------------------------------------------

task<> perftest_traffic::set_up(side& here) {
  machine& host = here.home.host;
  cpu& core = host.core(MainCore);
  here.adapter = &here.home.driver;
  if (here.functions.settings().enabled_vfs() != 0) {
    co_await here.functions.open(core);
    if (spec_.function != 0) {
      here.adapter = &here.functions.vf(static_cast<std::uint16_t>(spec_.function - 1));
    }
  }
  device& dev = *here.adapter;
  co_await dev.open(core);
  const std::uint32_t gids = dev.capabilities().num_gids;
  if (spec_.gid_index >= gids) {
    throw config_error(
        fmt::format("-x {}: {} has {} GIDs, numbered from 0", spec_.gid_index, spec_.device, gids));
  }
  if (spec_.gid_index != 0) {
    co_await dev.set_address(core, spec_.gid_index, source_address{dev.address(0), {}});
  }
  here.pd = co_await dev.alloc_pd(core);
  here.uar = co_await dev.alloc_uar(core);
  const std::uint64_t sends = std::uint64_t{spec_.qps} * spec_.tx_depth;
  const std::uint64_t receives_posted =
      receives() ? std::uint64_t{spec_.qps} * spec_.rx_depth : std::uint64_t{1};
  here.send_cq = co_await completion_queue::create(dev, core, *here.uar, log_queue_size(sends));
  here.receive_cq =
      co_await completion_queue::create(dev, core, *here.uar, log_queue_size(receives_posted));
  for (connection& link : here.links) {
    co_await create(here, link);
  }
}

task<> perftest_traffic::create(side& here, connection& link) {
  machine& host = here.home.host;
  cpu& core = host.core(MainCore);
  device& dev = *here.adapter;
  constexpr std::uint64_t Page = host_memory::PageBytes;
  const std::uint64_t grh = spec_.service == qpc_service::Ud ? GrhBytes : 0;
  const std::uint64_t bytes = std::max<std::uint64_t>(spec_.size, AtomicBytes);
  memory_access_rights rights;
  rights.remote_atomic = spec_.verb == perftest_verb::atomic;
  // Several atomics under way each have a place for what they find.
  const std::uint64_t found =
      spec_.verb == perftest_verb::atomic ? AtomicBytes * spec_.tx_depth : bytes;
  link.source = co_await dev.register_memory(core, here.pd, host.allocate(found, Page), found);
  link.target = co_await dev.register_memory(core, here.pd, host.allocate(bytes + grh, Page),
                                             bytes + grh, rights);
  queue_pair_options options;
  options.service = spec_.service;
  options.doorbell = spec_.submit == perftest_submit::doorbell ? doorbell_mode::doorbell_only
                                                               : doorbell_mode::automatic;
  work_request largest;
  largest.opcode = opcode();
  largest.add({link.source.address, spec_.size, link.source.key});
  largest.is_inline = spec_.inlined();
  const std::uint32_t units = wqe_units(largest, spec_.service == qpc_service::Ud);
  const std::uint32_t wqebbs = (units + UnitsPerWqebb - 1) / UnitsPerWqebb;
  options.log_sq_size = log_queue_size(std::uint64_t{spec_.tx_depth} * wqebbs);
  options.log_rq_size = receives() ? log_queue_size(spec_.rx_depth) : MinLogQueueSize;
  link.qp = co_await queue_pair::create(dev, core, here.pd, *here.uar, *here.send_cq,
                                        *here.receive_cq, options);
  co_await link.qp->to_init(core, options_);
}

task<> perftest_traffic::connect(side& here, side& there) {
  cpu& core = here.home.host.core(MainCore);
  for (std::size_t q = 0; q < here.links.size(); ++q) {
    connection& link = here.links[q];
    const queue_pair_address peer = there.links[q].qp->address(spec_.gid_index);
    co_await link.qp->to_rtr(core, peer, options_);
    co_await link.qp->to_rts(core, options_);
    prepare(here, link, there, there.links[q]);
  }
}

void perftest_traffic::prepare(side& here, connection& link, const side& /*there*/,
                               const connection& peer) const {
  work_request& request = link.request;
  request.id = static_cast<std::uint64_t>(&link - here.links.data()) << 48;
  request.opcode = opcode();
  if (spec_.size != 0) {
    request.add({link.source.address, spec_.size, link.source.key});
  }
  request.is_inline = spec_.inlined();
  if (spec_.verb != perftest_verb::send) {
    request.remote_address = peer.target.address;
    request.rkey = peer.target.key;
  }
  request.swap_or_add = 1;
  if (spec_.service == qpc_service::Ud) {
    request.to = link.qp->handle_of(peer.qp->address(spec_.gid_index), options_);
  }
}

// What the programs share ------------------------------------------------------------------------

/// A CQE of the requester: everything of its queue pair up to it is done.
task<> perftest_traffic::await_completions(cpu& core, side& here) {
  constexpr std::uint64_t NumberMask = (std::uint64_t{1} << 48) - 1;
  std::array<completion, 16> entries;
  const unsigned found = co_await here.send_cq->wait(core, entries);
  for (unsigned i = 0; i < found; ++i) {
    const completion& entry = entries[i];
    if (entry.failed()) {
      ++failed_;
      throw config_error(fmt::format("completion with error on QP {:#06x} of {}: {} (vendor {:#x})",
                                     entry.qpn, here.home.name, to_string(entry.syndrome),
                                     entry.vendor_syndrome));
    }
    connection& link = here.links[entry.id >> 48];
    const std::uint64_t done = (entry.id & NumberMask) + 1;
    note_completed(here, link, done - link.completed, core.time());
    link.completed = done;
  }
}

task<> perftest_traffic::post_receives(cpu& core, side& here, std::size_t number,
                                       std::uint64_t count) {
  connection& link = here.links[number];
  const std::uint32_t grh = spec_.service == qpc_service::Ud ? GrhBytes : 0;
  receive_request request;
  request.add({link.target.address, std::max(spec_.size, 1U) + grh, link.target.key});
  for (std::uint64_t i = 0; i < count; ++i) {
    request.id = std::uint64_t{number} << 48 | link.receives;
    const bool posted = co_await link.qp->post_receive(core, request);
    CARILLON_CHECK(posted, "{}: the receive queue of QP {} has no room", here.home.name,
                   link.qp->qpn());
    ++link.receives;
  }
}

void perftest_traffic::begin_measuring(side& here, ps_t now) {
  here.measured_from = now;
  here.measured = 0;
}

bool perftest_traffic::more(std::uint64_t posted, ps_t now) const {
  return spec_.duration != 0 ? now < end_ : posted < rounds_;
}

// Latency ----------------------------------------------------------------------------------------

/// The first host is about to post.
void perftest_traffic::begin_lap(side& here, ps_t now, std::uint64_t round) {
  if (round == spec_.warmup) {
    begin_measuring(here, now);
    lap_began_ = now;
    end_ = spec_.duration != 0 ? now + spec_.duration : NeverPs;
    return;
  }
  if (lap_began_ != NeverPs) {
    laps_.push_back(now - lap_began_);
    lap_began_ = now;
  }
}

task<> perftest_traffic::await_message(cpu& core, side& here, polled_byte& arrival,
                                       std::uint64_t round) {
  if (receives()) {
    std::array<completion, 1> entry;
    co_await here.receive_cq->wait(core, entry);
    co_await post_receives(core, here, 0, 1);
    co_return;
  }
  tracer& trace = system_.context.trace;
  arrival.expect(static_cast<std::uint8_t>(round + 1));
  co_await core.poll(arrival);
  const trace_ref writer = arrival.take_writer();
  trace.mark(core.pass_software(core.seen(writer)), milestone::remote_seen);
  trace.release(writer);
}

task<> perftest_traffic::ping_pong(side& here) {
  cpu& core = here.home.host.core(MainCore);
  connection& link = here.links[0];
  host_memory& memory = here.home.host.memory;
  const std::uint64_t last_byte = std::max(spec_.size, 1U) - 1;
  const std::uint64_t id = link.request.id;
  polled_byte arrival(memory, system_.context.trace, link.target.address + last_byte);
  const bool first = here.index == 0;
  for (std::uint64_t round = 0; round < rounds_; ++round) {
    if (!first) {
      co_await await_message(core, here, arrival, round);
    }
    const ps_t now = core.time();
    if (first) {
      begin_lap(here, now, round);
      if (spec_.duration != 0 && now >= end_) {
        rounds_ = round + 1;
      }
    } else if (round == spec_.warmup) {
      begin_measuring(here, now);
    }
    const auto value = static_cast<std::uint8_t>(round + 1);
    memory.write(link.source.address + last_byte, &value, 1);
    link.request.id = id | round;
    const bool posted = co_await link.qp->post_send(core, link.request);
    CARILLON_CHECK(posted, "{}: the send queue has no room", here.home.name);
    ++link.posted;
    co_await await_completions(core, here);
    if (first) {
      co_await await_message(core, here, arrival, round);
    }
  }
}

task<> perftest_traffic::laps_of(side& here) {
  cpu& core = here.home.host.core(MainCore);
  connection& link = here.links[0];
  const std::uint64_t id = link.request.id;
  for (std::uint64_t round = 0; round < rounds_; ++round) {
    const ps_t now = core.time();
    begin_lap(here, now, round);
    if (spec_.duration != 0 && now >= end_) {
      rounds_ = round + 1;
    }
    link.request.id = id | round;
    const bool posted = co_await link.qp->post_send(core, link.request);
    CARILLON_CHECK(posted, "{}: the send queue has no room", here.home.name);
    ++link.posted;
    co_await await_completions(core, here);
  }
}

// Bandwidth --------------------------------------------------------------------------------------

/// Of a test with a duration the first and the last fifth are not measured.
void perftest_traffic::set_window(ps_t from) {
  constexpr ps_t Margin = 5;
  end_ = from + spec_.duration;
  window_from_ = from + spec_.duration / Margin;
  window_to_ = end_ - spec_.duration / Margin;
}

void perftest_traffic::note_completed(side& here, connection& link, std::uint64_t messages,
                                      ps_t now) {
  here.measured += messages;
  if (bar_ != nullptr && here.measured_from != NeverPs) {
    for (std::uint64_t i = 0; i < messages; ++i) {
      bar_->advance();
    }
  }
  if (spec_.latency || here.measured_from == NeverPs) {
    return;
  }
  if (spec_.duration != 0) {
    // From one completion of the first queue pair to another: those of several come in bunches.
    const bool first = &link == here.links.data();
    bandwidth_record& record = here.record;
    if (now < window_from_ || now > window_to_) {
      return;
    }
    if (record.to != 0) {
      here.counted += messages;
    }
    if (first) {
      record.from = record.to == 0 ? now : record.from;
      record.messages = here.counted;
      record.to = now;
    }
    return;
  }
  bandwidth_record& record = here.record;
  record.messages += messages;
  record.to = now;
  if (spec_.peak) {
    record.completed.insert(record.completed.end(), messages, now);
  }
}

/// Posts whatever the windows take; false: there is nothing left to post.
task<bool> perftest_traffic::fill_windows(cpu& core, side& here) {
  std::vector<work_request> list;
  bool left = false;
  for (connection& link : here.links) {
    const std::uint64_t id = link.request.id & ~((std::uint64_t{1} << 48) - 1);
    while (more(link.posted, core.time()) &&
           link.posted - link.completed + spec_.post_list <= spec_.tx_depth) {
      std::uint64_t count = spec_.post_list;
      if (spec_.duration == 0) {
        count = std::min(count, rounds_ - link.posted);
      }
      list.clear();
      for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t number = link.posted + i;
        link.request.id = id | number;
        if (spec_.verb == perftest_verb::atomic) {
          link.request.sges[0].address =
              link.source.address + number % spec_.tx_depth * AtomicBytes;
        }
        // A window that is full without a signaled request would never empty.
        const bool last = spec_.duration == 0 && number + 1 == rounds_;
        link.request.signaled = last || (number + 1) % spec_.cq_mod == 0;
        if (count > 1) {
          list.push_back(link.request);
        }
        if (spec_.peak && here.measured_from != NeverPs) {
          here.record.posted.push_back(core.time());
        }
      }
      const bool posted = co_await link.qp->post_send(
          core, count > 1 ? std::span<const work_request>(list) : std::span(&link.request, 1));
      CARILLON_CHECK(posted, "{}: the send queue of QP {} has no room", here.home.name,
                     link.qp->qpn());
      link.posted += count;
    }
    left = left || more(link.posted, core.time());
  }
  co_return left;
}

task<> perftest_traffic::bandwidth(side& here) {
  cpu& core = here.home.host.core(MainCore);
  const auto under_way = [&here](const connection& link) { return link.posted - link.completed; };
  const std::uint64_t all = rounds_;
  if (spec_.warmup != 0) {
    rounds_ = spec_.warmup;
    while (co_await fill_windows(core, here) ||
           std::any_of(here.links.begin(), here.links.end(), under_way)) {
      co_await await_completions(core, here);
    }
    rounds_ = all;
  }
  begin_measuring(here, core.time());
  here.record.from = core.time();
  if (spec_.duration != 0 && end_ == NeverPs) {
    set_window(core.time());
  }
  while (co_await fill_windows(core, here) ||
         std::any_of(here.links.begin(), here.links.end(), [&](const connection& link) {
           // After a duration the last unsignaled ones have no completion.
           return spec_.duration != 0 ? under_way(link) >= spec_.cq_mod : under_way(link) != 0;
         })) {
    co_await await_completions(core, here);
  }
}

task<> perftest_traffic::receive_all(side& here, unsigned core_index) {
  cpu& core = here.home.host.core(core_index);
  std::array<completion, 16> entries;
  for (;;) {
    const unsigned found = co_await here.receive_cq->wait(core, entries);
    for (unsigned i = 0; i < found; ++i) {
      ++here.received;
      co_await post_receives(core, here, entries[i].id >> 48, 1);
    }
  }
}

// Afterwards -------------------------------------------------------------------------------------

void perftest_traffic::check_finished() const {
  CARILLON_CHECK(running_ <= 1 || unreliable(),
                 "{} programs have not come to their end and nothing is left to happen;{}",
                 running_, state_of_affairs(system_));
  for (const auto& each : sides_) {
    for (const connection& link : each->links) {
      CARILLON_CHECK(link.posted - link.completed < spec_.cq_mod,
                     "{}: QP {} waits for {} of {} messages and nothing is left to happen;{}",
                     each->home.name, link.qp->qpn(), link.posted - link.completed, link.posted,
                     state_of_affairs(system_));
    }
  }
}

bool perftest_traffic::measured(const message_record& message) const {
  return std::any_of(sides_.begin(), sides_.end(), [&](const auto& each) {
    return message.info.node == each->home.host.name() &&
           message.time_of(milestone::post) >= each->measured_from;
  });
}

std::uint64_t perftest_traffic::measured_messages() const {
  std::uint64_t sum = 0;
  for (const auto& each : sides_) {
    sum += each->measured_from == NeverPs ? 0 : each->measured;
  }
  return sum;
}

/// Of the first host, as the table counts them.
std::uint64_t perftest_traffic::measured_iterations() const {
  if (spec_.duration == 0) {
    return spec_.iterations * spec_.qps;
  }
  if (spec_.latency) {
    return laps_.size();
  }
  return sides_[0]->record.messages;
}

void perftest_traffic::report(run_facts& facts) const {
  perftest_facts found;
  found.spec = &spec_;
  found.mtu = static_cast<std::uint32_t>(point_.params.wire.mtu);
  found.relaxed_ordering = point_.params.pcie.relaxed_ordering;
  found.laps = &laps_;
  found.iterations = measured_iterations();
  for (const auto& each : sides_) {
    if (sends(*each)) {
      found.records.push_back(&each->record);
    }
    for (const connection& link : each->links) {
      const queue_pair_address address = link.qp->address(spec_.gid_index);
      found.ends.push_back({each->index, address.qpn, address.psn, link.target.key,
                            link.target.address, address.address});
    }
  }
  facts.perftest = perftest_json(found);
}

}  // namespace carillon
