// What the programs of a workload do once the queue pairs are connected.

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "cli/scenario_loader.h"
#include "cli/workload.h"
#include "cli/workload_parts.h"
#include "cli/workload_settings.h"
#include "common/error.h"

namespace carillon {

namespace {

/// Byte `i` of message `number`: another one in every message and on every connection.
std::uint8_t pattern(std::uint32_t connection, std::uint64_t number, std::uint64_t i) {
  const std::uint64_t x = (number * 0x9e3779b97f4a7c15ULL) ^ (std::uint64_t{connection} << 32) ^ i;
  return static_cast<std::uint8_t>((x * 0xff51afd7ed558ccdULL) >> 56);
}

}  // namespace

work_request workload::request_of(const connection& link, std::uint64_t number,
                                  bool signaled) const {
  work_request request;
  request.id = std::uint64_t{link.index} << 48 | number;
  request.opcode = wqe_opcode_of(link.opcode);
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

task<unsigned> workload::next_completions(cpu& core, completion_queue& queue, event_queue* events,
                                          std::span<completion> out) const {
  return events != nullptr ? queue.sleep(core, *events, out) : queue.wait(core, out);
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
      const unsigned found =
          co_await next_completions(core, *here.send_cq, here.send_events.get(), entries);
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
    const unsigned found =
        co_await next_completions(core, *here.send_cq, here.send_events.get(), entries);
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
  const trace_ref history = core.pass_software(core.seen(writer));
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
    const unsigned found =
        co_await next_completions(core, *here.receive_cq, here.receive_events.get(), entries);
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
