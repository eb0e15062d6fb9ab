// The work of a queue pair: posting and retiring. Its life is in queue_pair.cpp.
#include <algorithm>
#include <array>

#include "gen/bytes.h"
#include "host/queue_memory.h"
#include "host/queue_pair.h"

namespace carillon {

// Sending

task<bool> queue_pair::post_send(cpu& core, const work_request& request) {
  co_return co_await post_send(core, std::span(&request, 1));
}

task<bool> queue_pair::post_send(cpu& core, std::span<const work_request> batch) {
  std::uint64_t wqebbs = 0;
  for (const work_request& each : batch) {
    const std::uint32_t units = wqe_units(each, datagram());
    if (units > MaxWqeUnits || units * SegmentBytes > device_.capabilities().max_wqe_sz_sq) {
      co_return false;
    }
    wqebbs += (units + UnitsPerWqebb - 1) / UnitsPerWqebb;
  }
  if (batch.empty() || wqebbs > free_wqebbs()) {
    co_return false;
  }
  const parameters& params = core.params();
  trace_ref history;
  bool first = true;
  for (const work_request& each : batch) {
    message_info info;
    info.node = device_.host().name();
    info.qpn = qpn_;
    info.wqe_index = static_cast<std::uint16_t>(send_producer_);
    info.opcode = static_cast<std::uint8_t>(each.opcode);
    info.bytes = each.length();
    history = trace_.open(core.time(), info);
    if (first) {
      history = core.pass_software(history);
      history = core.spend(static_cast<ps_t>(params.cpu.post_ps), history);
      first = false;
    }
    history = build(core, each, history);
    co_await core.sync();
    history = core.caught_up(history);
    write_ring(info.wqe_index);
    device_.posted().post(qpn_, info.wqe_index, history);
    if (device_.observer() != nullptr) {
      device_.observer()->on_post(*this, each);
    }
  }
  co_await ring_doorbell(core, history, batch.size());
  co_return true;
}

/// Builds the WQE at the producer index and moves the index behind it.
trace_ref queue_pair::build(cpu& core, const work_request& request, trace_ref history) {
  const parameters& params = core.params();
  const auto index = static_cast<std::uint16_t>(send_producer_);
  wqe_place place;
  place.qpn = qpn_;
  place.wqe_index = index;
  place.datagram = datagram();
  place.signature = options_.wq_signature;
  // What follows an invalidation must not use the key before it is gone.
  place.fence = invalidated_ ? fence_mode::InitiatorSmall : fence_mode::None;
  invalidated_ = request.opcode == wqe_opcode::LocalInvalidate;
  build_wqe(request, place, device_.host().memory, wqe_);
  inlined_ = request.is_inline;
  const std::uint32_t wqebbs = wqe_.wqebbs();
  sends_[index & (send_size() - 1)] = {request.id, history, index,
                                       static_cast<std::uint8_t>(wqebbs)};
  send_producer_ += wqebbs;
  ps_t cost = wqebbs * static_cast<ps_t>(params.cpu.wqe_build_ps);
  if (request.is_inline) {
    cost += (request.length() + WqebbBytes - 1) / WqebbBytes *
            static_cast<ps_t>(params.cpu.inline_copy_ps);
  }
  return core.spend(cost, history);
}

/// Copies the WQE just built into the ring, around its end if need be.
void queue_pair::write_ring(std::uint16_t wqe_index) {
  const std::uint64_t ring = std::uint64_t{WqebbBytes} * send_size();
  const std::uint64_t offset = std::uint64_t{WqebbBytes} * (wqe_index & (send_size() - 1));
  const std::uint64_t size = std::uint64_t{wqe_.ds} * SegmentBytes;
  const std::uint64_t before_end = std::min(size, ring - offset);
  host_memory& memory = device_.host().memory;
  memory.write(send_buffer_ + offset, wqe_.bytes.data(), before_end);
  if (before_end < size) {
    memory.write(send_buffer_, wqe_.bytes.data() + before_end, size - before_end);
  }
}

bool queue_pair::blueflame(std::size_t requests) const {
  return options_.doorbell == doorbell_mode::automatic && requests == 1 && wqe_.ds > 1 &&
         (inlined_ || device_.host().context().params.cpu.prefer_blueflame) &&
         wqe_.ds * SegmentBytes <= MaxBlueFlameBytes;
}

task<> queue_pair::ring_doorbell(cpu& core, trace_ref history, std::size_t requests) {
  host_memory& memory = device_.host().memory;
  history = core.spend(static_cast<ps_t>(core.params().cpu.dbrec_write_ps), history);
  co_await core.sync();
  history = core.caught_up(history);
  std::array<std::uint8_t, 4> counter{};
  bytes::store_be<4>(counter.data(), send_producer_ & WqeIndexMask);
  memory.write(record_ + DoorbellSendWord, counter.data(), counter.size());

  history = core.enter_device(history);
  if (uar_.shared()) {
    co_await core.sync();
    const ps_t asked = core.time();
    co_await core.acquire(uar_.lock);
    history = trace_.wait(history, core.site(), lock_reason_, asked, core.time());
  }
  // The record must be in memory before the device hears of it.
  history = core.fence(history);
  if (blueflame(requests)) {
    copy_blocks(core, history);
  } else {
    core.store_uncached(uar_.address + uar_page::DbRec,
                        std::span(wqe_.bytes).first<doorbell_word::Size>(), history);
  }
  core.fence();
  if (uar_.shared()) {
    core.finish_fence();  // nobody sees the lock free before
    co_await core.sync();
    core.release(uar_.lock);
  }
}

/// Copies the WQE from the ring to BF_BUFFER in whole 64-byte blocks.
trace_ref queue_pair::copy_blocks(cpu& core, trace_ref history) {
  host_memory& memory = device_.host().memory;
  const auto index = static_cast<std::uint16_t>(send_producer_ - wqe_.wqebbs());
  for (const std::uint8_t block : block_order_) {
    if (block >= wqe_.wqebbs()) {
      continue;
    }
    const std::uint32_t slot = (index + block) & (send_size() - 1);
    std::array<std::uint8_t, WqebbBytes> bytes{};
    memory.read(send_buffer_ + std::uint64_t{slot} * WqebbBytes, bytes.data(), bytes.size());
    history =
        core.store_combined(uar_.address + uar_page::BfBuffer + block * WqebbBytes, bytes, history);
  }
  return history;
}

std::uint64_t queue_pair::retire_send(std::uint16_t wqe_counter) {
  for (;;) {
    send_entry& oldest = sends_[send_consumer_ & (send_size() - 1)];
    CARILLON_CHECK(send_consumer_ != send_producer_,
                   "QP {}: a CQE for WQE {:#06x}, which is not outstanding", qpn_, wqe_counter);
    const send_entry entry = std::exchange(oldest, {});
    send_consumer_ += entry.wqebbs;
    trace_.release(entry.trace);
    if (entry.wqe_index == wqe_counter) {
      return entry.id;
    }
  }
}

// Receiving

task<bool> queue_pair::post_receive(cpu& core, const receive_request& request) {
  co_return co_await post_receive(core, std::span(&request, 1));
}

task<bool> queue_pair::post_receive(cpu& core, std::span<const receive_request> batch) {
  if (batch.empty() || batch.size() > free_receives()) {
    co_return false;
  }
  const receive_head head = options_.wq_signature ? receive_head::signature : receive_head::none;
  const std::size_t heads = options_.wq_signature ? 1 : 0;
  const std::size_t most =
      std::min<std::size_t>(receive_request::MaxSges, receive_stride_ / data_seg::Size - heads);
  for (const receive_request& each : batch) {
    if (each.sge_count > most) {
      co_return false;
    }
  }
  host_memory& memory = device_.host().memory;
  const std::span<std::uint8_t> wqe = std::span(receive_wqe_).first(receive_stride_);
  for (const receive_request& each : batch) {
    const std::uint32_t slot = receive_producer_ & (receive_size() - 1);
    build_receive_wqe(each, wqe, head);
    if (options_.wq_signature) {
      sign_receive_wqe(wqe);
    }
    receives_[slot] = each.id;
    ++receive_producer_;
    core.spend(static_cast<ps_t>(core.params().cpu.wqe_build_ps));
    co_await core.sync();
    memory.write(receive_buffer_ + std::uint64_t{slot} * receive_stride_, wqe.data(), wqe.size());
    if (device_.observer() != nullptr) {
      device_.observer()->on_post(*this, each);
    }
  }
  core.spend(static_cast<ps_t>(core.params().cpu.dbrec_write_ps));
  co_await core.sync();
  std::array<std::uint8_t, 4> counter{};
  bytes::store_be<4>(counter.data(), receive_producer_ & WqeIndexMask);
  memory.write(record_ + DoorbellReceiveWord, counter.data(), counter.size());
  co_return true;
}

std::uint64_t queue_pair::retire_receive(std::uint16_t wqe_counter, std::uint32_t srqn) {
  if (options_.srq != nullptr) {
    CARILLON_CHECK(srqn == options_.srq->srqn(), "QP {} of SRQ {}: a CQE from SRQ {}", qpn_,
                   options_.srq->srqn(), srqn);
    return options_.srq->retire(wqe_counter);
  }
  CARILLON_CHECK(receive_consumer_ != receive_producer_,
                 "QP {}: a CQE for receive WQE {:#06x}, but none is posted", qpn_, wqe_counter);
  ++receive_consumer_;
  return receives_[wqe_counter & (receive_size() - 1)];
}

}  // namespace carillon
