#include <array>
#include <memory>

#include "gen/bytes.h"
#include "host/verbs.h"

namespace carillon {

namespace {

/// A page size that makes a buffer of `bytes` one page, as the log_page_size fields count.
std::uint8_t log_page_of(std::uint64_t bytes) {
  std::uint8_t log = 0;
  while (std::uint64_t{1} << (LogPageBase + log) < bytes) {
    ++log;
  }
  return log;
}

constexpr std::size_t OpOwn = 63;  // the byte of a CQE that becomes visible last

}  // namespace

completion_queue::completion_queue(device& owner, std::uint64_t buffer, std::uint64_t record,
                                   unsigned log_size)
    : polled_memory(owner.host().memory, buffer, std::uint64_t{cqe64::Size} << log_size),
      device_(owner),
      trace_(owner.host().context().trace),
      buffer_(buffer),
      record_(record),
      log_size_(log_size),
      writers_(std::size_t{1} << log_size) {}

completion_queue::~completion_queue() {
  for (const trace_ref& each : writers_) {
    trace_.release(each);
  }
}

task<std::unique_ptr<completion_queue>> completion_queue::create(device& owner, cpu& core,
                                                                 const uar_handle& uar,
                                                                 unsigned log_size) {
  if (log_size > owner.capabilities().log_max_cq_size) {
    throw config_error(fmt::format("a CQ of 2^{} entries; allowed: up to 2^{}", log_size,
                                   owner.capabilities().log_max_cq_size));
  }
  machine& host = owner.host();
  const std::uint64_t size = std::uint64_t{cqe64::Size} << log_size;
  const std::uint8_t log_page = log_page_of(size);
  const std::uint64_t buffer = host.allocate(size, std::uint64_t{1} << (LogPageBase + log_page));
  const std::uint64_t record = host.allocate(cq_doorbell_record::Size);
  cqe64 empty;
  empty.opcode = cqe_opcode::Invalid;
  std::array<std::uint8_t, cqe64::Size> raw{};
  empty.pack(raw.data());
  for (std::uint64_t i = 0; i < std::uint64_t{1} << log_size; ++i) {
    host.memory.write(buffer + i * cqe64::Size + OpOwn, raw.data() + OpOwn, 1);
  }
  std::unique_ptr<completion_queue> queue(new completion_queue(owner, buffer, record, log_size));

  create_cq_in request;
  request.opcode = command_opcode::CreateCq;
  request.cq_context.log_cq_size = static_cast<std::uint8_t>(log_size);
  request.cq_context.uar_page = uar.number;
  request.cq_context.log_page_size = log_page;
  request.cq_context.dbr_addr = record;
  std::array<std::uint8_t, create_cq_in::Size + 8> input{};
  request.pack(input.data());
  bytes::store_be<8>(input.data() + create_cq_in::Size, buffer);
  const command_reply reply = co_await owner.command(core, input);
  queue->cqn_ = reply.number;
  co_return queue;
}

bool completion_queue::ready() const {
  std::uint8_t op_own = 0;
  const std::uint64_t slot = consumer_ & ((1U << log_size_) - 1);
  memory_.read(buffer_ + slot * cqe64::Size + OpOwn, &op_own, 1);
  const bool owner = (op_own & 1) != 0;
  const bool expected = ((consumer_ >> log_size_) & 1) != 0;
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

task<unsigned> completion_queue::take(cpu& core, std::span<completion> out) {
  unsigned taken = 0;
  while (taken < out.size() && ready()) {
    take_one(core, out[taken]);
    ++taken;
  }
  core.spend(static_cast<ps_t>(core.params().cpu.dbrec_write_ps));
  co_await core.sync();
  std::array<std::uint8_t, 4> index{};
  bytes::store_be<4>(index.data(), consumer_ & CqIndexMask);
  memory_.write(record_ + CqDoorbellIndexWord, index.data(), index.size());
  co_return taken;
}

void completion_queue::take_one(cpu& core, completion& out) {
  const std::uint64_t slot = consumer_ & ((1U << log_size_) - 1);
  std::array<std::uint8_t, cqe64::Size> raw{};
  memory_.read(buffer_ + slot * cqe64::Size, raw.data(), raw.size());
  ++consumer_;
  const cqe64 entry = cqe64::unpack(raw.data());
  out = {};
  out.opcode = entry.opcode;
  out.qpn = entry.qpn;
  out.remote_qpn = entry.rqpn;
  out.wqe_counter = entry.wqe_counter;
  out.bytes = entry.byte_cnt;
  out.imm = entry.imm_inval_pkey;
  const bool failed =
      entry.opcode == cqe_opcode::RequesterError || entry.opcode == cqe_opcode::ResponderError;
  if (failed) {
    const cqe_error error = cqe_error::unpack(raw.data());
    out.syndrome = error.syndrome;
    out.vendor_syndrome = error.vendor_syndrome;
    out.bytes = 0;
    out.imm = 0;
  }
  const bool requester =
      entry.opcode == cqe_opcode::Requester || entry.opcode == cqe_opcode::RequesterError;

  const trace_ref writer = std::exchange(writers_[slot], {});
  trace_ref history = core.seen(writer);
  history = core.spend(static_cast<ps_t>(core.params().cpu.poll_cqe_ps), history);
  trace_.mark(history, requester ? milestone::cqe_seen : milestone::remote_seen);

  queue_pair* qp = device_.find(out.qpn);
  CARILLON_CHECK(qp != nullptr, "{}: CQ {} holds a CQE for QP {}, which does not exist",
                 core.name(), cqn_, out.qpn);
  if (requester) {
    const queue_pair::send_entry sent = qp->retire_send(out.wqe_counter);
    out.id = sent.id;
    trace_.release(sent.trace);
  } else {
    out.id = qp->retire_receive(out.wqe_counter);
  }
  trace_.release(writer);
}

}  // namespace carillon
