#include "host/completion_queue.h"

#include <array>
#include <utility>

#include "gen/bytes.h"
#include "host/event_queue.h"
#include "host/queue_memory.h"
#include "host/queue_pair.h"
#include "host/shared_receive_queue.h"

namespace carillon {

namespace {

constexpr std::size_t OpOwn = 63;  // the byte of a CQE that becomes visible last
constexpr std::uint8_t OwnerBit = 1;
constexpr std::uint32_t SrqnMask = 0xffffff;

bool is_failure(cqe_opcode opcode) {
  return opcode == cqe_opcode::RequesterError || opcode == cqe_opcode::ResponderError;
}

/// What a CQE says by itself.
void parse(const std::uint8_t* raw, completion& out) {
  const cqe64 entry = cqe64::unpack(raw);
  out = {};
  out.opcode = entry.opcode;
  out.qpn = entry.qpn;
  out.wqe_counter = entry.wqe_counter;
  out.solicited = entry.se != 0;
  if (out.requester()) {
    out.work = entry.send_opcode;
  }
  if (is_failure(entry.opcode)) {
    const cqe_error error = cqe_error::unpack(raw);
    out.syndrome = error.syndrome;
    out.vendor_syndrome = error.vendor_syndrome;
    out.srqn = out.requester() ? 0 : error.srqn & SrqnMask;
    return;
  }
  out.bytes = entry.byte_cnt;
  if (out.requester()) {
    return;
  }
  out.remote_qpn = entry.rqpn;
  out.srqn = entry.srqn_uidx & SrqnMask;
  out.grh = entry.grh != 0;
  out.with_imm = entry.opcode == cqe_opcode::ResponderWriteImmediate ||
                 entry.opcode == cqe_opcode::ResponderSendImmediate;
  out.with_invalidate = entry.opcode == cqe_opcode::ResponderSendInvalidate;
  out.imm = out.with_imm ? entry.imm_inval_pkey : 0;
  out.invalidated_key = out.with_invalidate ? entry.imm_inval_pkey : 0;
}

/// Kinds that our device writes; the others need features that nobody switches on.
bool is_expected(cqe_opcode opcode) {
  return opcode <= cqe_opcode::ResponderSendInvalidate || is_failure(opcode);
}

}  // namespace

completion_queue::completion_queue(device& owner, const uar_handle& uar, std::uint64_t buffer,
                                   std::uint64_t record, unsigned log_size)
    : polled_memory(owner.host().memory, buffer, std::uint64_t{cqe64::Size} << log_size),
      device_(owner),
      uar_(uar),
      trace_(owner.host().context().trace),
      buffer_(buffer),
      record_(record),
      log_size_(log_size),
      writers_(std::size_t{1} << log_size) {}

completion_queue::~completion_queue() {
  for (const trace_ref& each : writers_) {
    trace_.release(each);
  }
  device_.enter_cq(cqn_, nullptr);
}

task<std::unique_ptr<completion_queue>> completion_queue::create(device& owner, cpu& core,
                                                                 const uar_handle& uar,
                                                                 unsigned log_size,
                                                                 const event_queue* events,
                                                                 event_moderation moderated) {
  if (log_size > owner.capabilities().log_max_cq_size) {
    throw config_error(fmt::format("a CQ of 2^{} entries; allowed: up to 2^{}", log_size,
                                   owner.capabilities().log_max_cq_size));
  }
  constexpr unsigned MaxPeriod = 0xfff;  // 12 bits of the context
  if (moderated.period_us > MaxPeriod) {
    throw config_error(fmt::format("a CQ whose events wait for {} us; allowed: up to {}",
                                   moderated.period_us, MaxPeriod));
  }
  machine& host = owner.host();
  const queue_memory ring = allocate_queue(host, std::uint64_t{cqe64::Size} << log_size);
  const std::uint64_t record = host.allocate(cq_doorbell_record::Size);
  const std::uint8_t nobodys = static_cast<std::uint8_t>(cqe_opcode::Invalid) << 4;
  for (std::uint64_t i = 0; i < std::uint64_t{1} << log_size; ++i) {
    host.memory.write(ring.address + i * cqe64::Size + OpOwn, &nobodys, 1);
  }
  std::unique_ptr<completion_queue> queue(
      new completion_queue(owner, uar, ring.address, record, log_size));

  create_cq_in request;
  request.opcode = command_opcode::CreateCq;
  request.cq_context.log_cq_size = static_cast<std::uint8_t>(log_size);
  request.cq_context.uar_page = uar.number;
  request.cq_context.log_page_size = ring.log_page_size;
  request.cq_context.dbr_addr = record;
  request.cq_context.c_eqn_or_apu_element = events != nullptr ? events->eqn() : 0;
  request.cq_context.cq_max_count = moderated.count;
  request.cq_context.cq_period = moderated.period_us;
  const auto input = with_page(request, ring.address);
  const command_reply reply = co_await owner.command(core, input);
  queue->cqn_ = reply.number;
  owner.enter_cq(reply.number, queue.get());
  co_return queue;
}

bool completion_queue::ready(std::uint32_t index) const {
  std::uint8_t op_own = 0;
  memory_.read(entry_of(index) + OpOwn, &op_own, 1);
  const bool owner = (op_own & OwnerBit) != 0;
  const bool expected = ((index >> log_size_) & 1) != 0;
  return op_own >> 4 != static_cast<std::uint8_t>(cqe_opcode::Invalid) && owner == expected;
}

void completion_queue::written(std::uint64_t address, std::uint64_t length) {
  // The entry that the write completes; parts before the last byte say nothing.
  const std::uint64_t last = address + length - 1;
  if (last < buffer_ || last >= buffer_ + writers_.size() * cqe64::Size) {
    return;
  }
  trace_ref& writer = writers_[(last - buffer_) / cqe64::Size];
  trace_.hold(memory_.writer);
  trace_.release(writer);
  writer = memory_.writer;
}

task<unsigned> completion_queue::poll(cpu& core, std::span<completion> out) {
  co_await core.sync();
  core.begin_polling();
  if (!ready()) {
    core.spend(static_cast<ps_t>(core.params().cpu.poll_interval_ps));
    co_return 0;
  }
  co_return co_await take(core, out);
}

task<unsigned> completion_queue::wait(cpu& core, std::span<completion> out) {
  co_await core.poll(*this);
  co_return co_await take(core, out);
}

task<unsigned> completion_queue::sleep(cpu& core, event_queue& events, std::span<completion> out) {
  unsigned found = co_await poll(core, out);
  while (found == 0) {
    co_await arm(core);
    // What was written before the device heard of the arm raises an event as well, but there is no
    // need to wait for it.
    found = co_await poll(core, out);
    if (found == 0) {
      co_await events.sleep_for_completions(core);
      found = co_await poll(core, out);
    }
  }
  co_return found;
}

task<unsigned> completion_queue::take(cpu& core, std::span<completion> out) {
  unsigned taken = 0;
  while (taken < out.size() && ready()) {
    take_one(core, out[taken]);
    ++taken;
  }
  core.spend(static_cast<ps_t>(core.params().cpu.dbrec_write_ps));
  co_await core.sync();
  write_consumer();
  co_return taken;
}

void completion_queue::write_consumer() {
  std::array<std::uint8_t, 4> index{};
  bytes::store_be<4>(index.data(), consumer_ & CqIndexMask);
  memory_.write(record_ + CqDoorbellIndexWord, index.data(), index.size());
}

void completion_queue::take_one(cpu& core, completion& out) {
  std::array<std::uint8_t, cqe64::Size> raw{};
  memory_.read(entry_of(consumer_), raw.data(), raw.size());
  trace_ref& slot = writers_[consumer_ & ((1U << log_size_) - 1)];
  ++consumer_;
  parse(raw.data(), out);
  CARILLON_CHECK(is_expected(out.opcode), "{}: CQ {} holds a CQE of kind {}", core.name(), cqn_,
                 to_string(out.opcode));

  const trace_ref writer = std::exchange(slot, {});
  trace_ref history = core.seen(writer);
  if (!out.requester()) {
    history = core.pass_software(history);
  }
  history = core.spend(static_cast<ps_t>(core.params().cpu.poll_cqe_ps), history);
  trace_.mark(history, out.requester() ? milestone::cqe_seen : milestone::remote_seen);

  queue_pair* qp = device_.find(out.qpn);
  CARILLON_CHECK(qp != nullptr, "{}: CQ {} holds a CQE for QP {}, which does not exist",
                 core.name(), cqn_, out.qpn);
  out.id = out.requester() ? qp->retire_send(out.wqe_counter)
                           : qp->retire_receive(out.wqe_counter, out.srqn);
  trace_.release(writer);
  if (device_.observer() != nullptr) {
    device_.observer()->on_completion(*qp, out);
  }
}

task<> completion_queue::arm(cpu& core, bool solicited_only) {
  cq_doorbell request;
  request.arm_sn = static_cast<std::uint8_t>(arm_sn_ & 3);
  request.arm_solicited = solicited_only ? 1 : 0;
  request.consumer_index = consumer_ & CqIndexMask;
  request.cqn = cqn_;
  std::array<std::uint8_t, cq_doorbell::Size> word{};
  request.pack(word.data());
  core.spend(static_cast<ps_t>(core.params().cpu.dbrec_write_ps));
  co_await core.sync();
  memory_.write(record_ + CqDoorbellArmWord, word.data(), 4);
  // The record must be in memory before the device hears of it.
  core.fence();
  core.store_uncached(uar_.address + uar_page::CqDb, word);
  core.fence();
}

void completion_queue::clean(const queue_pair& qp) {
  std::uint32_t end = consumer_;
  while (ready(end)) {
    ++end;
  }
  // From the youngest to the oldest: those that stay move up by as many as were removed.
  std::uint32_t removed = 0;
  for (std::uint32_t index = end; index-- != consumer_;) {
    std::array<std::uint8_t, cqe64::Size> raw{};
    memory_.read(entry_of(index), raw.data(), raw.size());
    trace_ref& writer = writers_[index & ((1U << log_size_) - 1)];
    completion entry;
    parse(raw.data(), entry);
    if (entry.qpn == qp.qpn()) {
      if (!entry.requester() && qp.shared_receives() != nullptr) {
        qp.shared_receives()->retire(entry.wqe_counter);
      }
      trace_.release(std::exchange(writer, {}));
      ++removed;
    } else if (removed != 0) {
      const std::uint32_t to = index + removed;
      const auto owner = static_cast<std::uint8_t>((to >> log_size_) & 1);
      raw[OpOwn] = static_cast<std::uint8_t>((raw[OpOwn] & ~OwnerBit) | owner);
      const trace_ref kept = std::exchange(writer, {});
      memory_.write(entry_of(to), raw.data(), raw.size());
      trace_ref& moved = writers_[to & ((1U << log_size_) - 1)];
      trace_.release(std::exchange(moved, kept));
    }
  }
  consumer_ += removed;
  write_consumer();
}

}  // namespace carillon
