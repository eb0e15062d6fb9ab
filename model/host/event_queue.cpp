#include "host/event_queue.h"

#include <algorithm>
#include <array>

#include "gen/bytes.h"
#include "host/completion_queue.h"
#include "host/interrupts.h"
#include "host/queue_memory.h"

namespace carillon {

namespace {

constexpr std::size_t OwnerByte = 63;
constexpr std::uint32_t NumberMask = 0xffffff;

}  // namespace

event_queue::event_queue(device& owner, const uar_handle& uar, std::uint64_t buffer,
                         unsigned log_size, std::uint16_t vector)
    : polled_memory(owner.host().memory, buffer, std::uint64_t{eqe::Size} << log_size),
      device_(owner),
      uar_(uar),
      buffer_(buffer),
      log_size_(log_size),
      vector_(vector) {}

task<std::unique_ptr<event_queue>> event_queue::create(device& owner, cpu& core,
                                                       const uar_handle& uar, unsigned log_size,
                                                       std::uint64_t kinds, std::uint16_t vector) {
  if (std::uint64_t{1} << log_size <= SpareEqEntries ||
      log_size > owner.capabilities().log_max_eq_size) {
    throw config_error(fmt::format("an EQ of 2^{} entries; allowed: more than {}, up to 2^{}",
                                   log_size, SpareEqEntries, owner.capabilities().log_max_eq_size));
  }
  machine& host = owner.host();
  const std::uint64_t size = std::uint64_t{eqe::Size} << log_size;
  const queue_memory ring = allocate_queue(host, size);
  const std::uint8_t devices = 1;
  for (std::uint64_t i = 0; i < size; i += eqe::Size) {
    host.memory.write(ring.address + i + OwnerByte, &devices, 1);
  }
  std::unique_ptr<event_queue> queue(new event_queue(owner, uar, ring.address, log_size, vector));

  create_eq_in request;
  request.opcode = command_opcode::CreateEq;
  request.eq_context_entry.log_eq_size = static_cast<std::uint8_t>(log_size);
  request.eq_context_entry.uar_page = uar.number;
  request.eq_context_entry.log_page_size = ring.log_page_size;
  request.eq_context_entry.intr = vector;
  bytes::store_be<8>(request.event_bitmask.data(), kinds);
  const auto input = with_page(request, ring.address);
  const command_reply reply = co_await owner.command(core, input);
  queue->eqn_ = reply.number;
  co_await queue->arm(core);
  co_return queue;
}

bool event_queue::ready() const {
  std::uint8_t owner = 0;
  const std::uint64_t slot = consumer_ & ((1U << log_size_) - 1);
  memory_.read(buffer_ + slot * eqe::Size + OwnerByte, &owner, 1);
  return ((owner ^ (consumer_ >> log_size_)) & 1U) == 0;
}

task<unsigned> event_queue::poll(cpu& core, std::span<event> out) {
  co_await core.sync();
  core.begin_polling();
  if (const unsigned kept = take_kept(out); kept != 0) {
    co_return kept;
  }
  if (!ready()) {
    core.spend(static_cast<ps_t>(core.params().cpu.poll_interval_ps));
    co_return 0;
  }
  co_return co_await take(core, out, uar_page::EqDb);
}

task<unsigned> event_queue::wait(cpu& core, std::span<event> out) {
  if (const unsigned kept = take_kept(out); kept != 0) {
    co_return kept;
  }
  co_await core.poll(*this);
  co_return co_await take(core, out, uar_page::EqDb);
}

task<unsigned> event_queue::sleep(cpu& core, std::span<event> out) {
  if (const unsigned kept = take_kept(out); kept != 0) {
    co_return kept;
  }
  co_await sleep_until_ready(core);
  co_return co_await take(core, out, uar_page::EqDbArm);
}

task<> event_queue::sleep_for_completions(cpu& core) {
  std::array<event, SpareEqEntries> seen;
  co_await sleep_until_ready(core);
  const unsigned found = co_await take(core, seen, uar_page::EqDbArm);
  for (unsigned i = 0; i < found; ++i) {
    if (seen[i].kind != event_type::Completion) {
      kept_.push(seen[i]);
    }
  }
}

task<> event_queue::sleep_until_ready(cpu& core) {
  interrupt_line* line = device_.vector(vector_);
  if (line == nullptr) {
    throw config_error(
        fmt::format("EQ {} has MSI-X vector {}, which no core is bound to", eqn_, vector_));
  }
  co_await core.sync();
  while (!ready()) {
    if (!armed_) {
      co_await arm(core);
    }
    // An entry that came before the device heard of the arm interrupts, too. An interrupt whose
    // entries were taken already finds nothing.
    co_await core.sleep(*line);
    armed_ = false;
  }
}

unsigned event_queue::take_kept(std::span<event> out) {
  unsigned taken = 0;
  while (taken < out.size() && !kept_.empty()) {
    out[taken++] = kept_.pop();
  }
  return taken;
}

task<unsigned> event_queue::take(cpu& core, std::span<event> out, std::uint32_t doorbell) {
  unsigned taken = 0;
  // The spare entries are what the device may use before it hears how far we are.
  const std::size_t most = std::min<std::size_t>(out.size(), SpareEqEntries);
  while (taken < most && ready()) {
    std::array<std::uint8_t, eqe::Size> raw{};
    memory_.read(buffer_ + (consumer_ & ((1U << log_size_) - 1)) * std::uint64_t{eqe::Size},
                 raw.data(), raw.size());
    ++consumer_;
    core.spend(static_cast<ps_t>(core.params().cpu.poll_cqe_ps));
    const eqe entry = eqe::unpack(raw.data());
    event& seen = out[taken++];
    seen = {entry.kind, entry.sub_type, entry.queue_type, entry.number & NumberMask, 0};
    if (entry.kind == event_type::CqError) {
      seen.number = entry.cq_error_cqn & NumberMask;
      seen.cq_error = entry.cq_error_syndrome;
    } else if (entry.kind == event_type::Command) {
      seen.number = eqe_command::unpack(raw.data()).command_vector;
    } else if (entry.kind == event_type::Completion) {
      // The next arm must name this event as consumed, or the device takes it for an old one.
      if (completion_queue* queue = device_.find_cq(seen.number)) {
        ++queue->arm_sn_;
      }
    }
  }
  co_await ring(core, doorbell);
  co_return taken;
}

task<> event_queue::arm(cpu& core) {
  return ring(core, uar_page::EqDbArm);
}

task<> event_queue::ring(cpu& core, std::uint32_t where) {
  eq_doorbell request;
  request.eqn = static_cast<std::uint8_t>(eqn_);
  request.consumer_index = consumer_ & CqIndexMask;
  std::array<std::uint8_t, eq_doorbell::Size> word{};
  request.pack(word.data());
  co_await core.sync();
  armed_ = where == uar_page::EqDbArm;
  core.store_uncached(uar_.address + where, word);
  core.fence();
}

}  // namespace carillon
