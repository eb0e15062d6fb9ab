#include "host/shared_receive_queue.h"

#include <algorithm>

#include "gen/bytes.h"
#include "host/queue_memory.h"

namespace carillon {

namespace {

constexpr unsigned MaxLogSize = 15;  // list indices have 16 bits, and so has the record's counter

}  // namespace

shared_receive_queue::shared_receive_queue(device& owner, const shared_receive_options& options)
    : device_(owner),
      options_(options),
      stride_(receive_stride(options.max_sges, 1)),
      tail_(static_cast<std::uint16_t>(size() - 1)),
      ids_(size()),
      in_use_(size()) {}

task<std::unique_ptr<shared_receive_queue>> shared_receive_queue::create(
    device& owner, cpu& core, std::uint32_t pd, const shared_receive_options& options) {
  const unsigned most = std::min<unsigned>(MaxLogSize, owner.capabilities().log_max_srq_size);
  if (options.log_size == 0 || options.log_size > most ||
      options.max_sges > receive_request::MaxSges) {
    throw config_error(fmt::format(
        "a shared receive queue of 2^{} WQEs of {} pieces; allowed: 2^1 to 2^{}, up to {} pieces",
        options.log_size, options.max_sges, most, receive_request::MaxSges));
  }
  std::unique_ptr<shared_receive_queue> queue(new shared_receive_queue(owner, options));
  machine& host = owner.host();
  const std::uint64_t bytes = std::uint64_t{queue->stride_} << options.log_size;
  const queue_memory ring = allocate_queue(host, bytes);
  queue->buffer_ = ring.address;
  queue->record_ = host.allocate(qp_doorbell_record::Size);
  for (std::uint32_t i = 0; i < queue->size(); ++i) {
    queue->link(static_cast<std::uint16_t>(i),
                static_cast<std::uint16_t>((i + 1) & (queue->size() - 1)));
  }

  create_srq_in request;
  request.opcode = command_opcode::CreateSrq;
  srqc& context = request.srq_context_entry;
  context.log_srq_size = static_cast<std::uint8_t>(options.log_size);
  context.log_rq_stride = static_cast<std::uint8_t>(log2_ceil_of(queue->stride_) - LogRqStrideBase);
  context.wq_signature = options.wq_signature ? 1 : 0;
  context.log_page_size = ring.log_page_size;
  context.pd = pd;
  context.lwm = options.limit;
  context.dbr_addr = queue->record_;
  const auto input = with_page(request, ring.address);
  const command_reply reply = co_await owner.command(core, input);
  queue->srqn_ = reply.number;
  co_return queue;
}

std::uint16_t shared_receive_queue::next_of(std::uint16_t index) const {
  std::array<std::uint8_t, srq_next_seg::Size> raw{};
  device_.host().memory.read(wqe_at(index), raw.data(), raw.size());
  return srq_next_seg::unpack(raw.data()).next_wqe_index;
}

void shared_receive_queue::link(std::uint16_t index, std::uint16_t next) {
  std::array<std::uint8_t, srq_next_seg::Size> raw{};
  srq_next_seg{.next_wqe_index = next}.pack(raw.data());
  device_.host().memory.write(wqe_at(index), raw.data(), raw.size());
}

task<bool> shared_receive_queue::post(cpu& core, const receive_request& request) {
  co_return co_await post(core, std::span(&request, 1));
}

task<bool> shared_receive_queue::post(cpu& core, std::span<const receive_request> batch) {
  const std::size_t most = stride_ / data_seg::Size - 1;
  for (const receive_request& each : batch) {
    if (each.sge_count > std::min<std::size_t>(most, receive_request::MaxSges)) {
      co_return false;
    }
  }
  co_await core.sync();
  co_await core.acquire(lock_);
  if (batch.empty() || batch.size() > room()) {
    core.release(lock_);
    co_return false;
  }
  host_memory& memory = device_.host().memory;
  const std::span<std::uint8_t> wqe = std::span(wqe_).first(stride_);
  for (const receive_request& each : batch) {
    const std::uint16_t index = head_;
    head_ = next_of(index);
    ids_[index] = each.id;
    in_use_[index] = true;
    ++outstanding_;
    srq_next_seg{.next_wqe_index = head_}.pack(wqe.data());
    build_receive_wqe(each, wqe, receive_head::next);
    if (options_.wq_signature) {
      sign_receive_wqe(wqe);
    }
    core.spend(static_cast<ps_t>(core.params().cpu.wqe_build_ps));
    co_await core.sync();
    memory.write(wqe_at(index), wqe.data(), wqe.size());
    if (device_.observer() != nullptr) {
      device_.observer()->on_post(*this, each);
    }
  }
  posted_ += static_cast<std::uint32_t>(batch.size());
  core.spend(static_cast<ps_t>(core.params().cpu.dbrec_write_ps));
  co_await core.sync();
  std::array<std::uint8_t, 4> counter{};
  bytes::store_be<4>(counter.data(), posted_ & WqeIndexMask);
  memory.write(record_ + DoorbellReceiveWord, counter.data(), counter.size());
  core.release(lock_);
  co_return true;
}

task<> shared_receive_queue::arm(cpu& core, std::uint16_t limit) {
  arm_rq_in request;
  request.opcode = command_opcode::ArmRq;
  request.op_mod = ArmRqSrq;
  request.srq_number = srqn_;
  request.lwm = limit;
  std::array<std::uint8_t, arm_rq_in::Size> input{};
  request.pack(input.data());
  co_await device_.command(core, input);
}

std::uint64_t shared_receive_queue::retire(std::uint16_t wqe_counter) {
  const auto index = static_cast<std::uint16_t>(wqe_counter & (size() - 1));
  CARILLON_CHECK(in_use_[index], "SRQ {}: a CQE for WQE {:#06x}, which is not outstanding", srqn_,
                 wqe_counter);
  in_use_[index] = false;
  --outstanding_;
  // Nobody follows the tail's link before something behind it is posted: it may change at any time.
  link(tail_, index);
  tail_ = index;
  return ids_[index];
}

}  // namespace carillon
