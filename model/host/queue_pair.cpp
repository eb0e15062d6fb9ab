#include <algorithm>
#include <array>
#include <bit>
#include <string>

#include "common/random.h"
#include "common/roce_packet.h"
#include "gen/bytes.h"
#include "host/verbs.h"

namespace carillon {

namespace {

constexpr std::uint32_t PsnMask = 0xffffff;
constexpr std::uint8_t Ect0 =
    2;  // ECN-capable transport: what RoCE packets carry unless a switch has marked them

unsigned log2_of(std::uint64_t value) {
  return static_cast<unsigned>(std::bit_width(std::bit_ceil(value)) - 1);
}

}  // namespace

queue_pair::queue_pair(device& owner, std::uint32_t pd, uar_handle& uar, completion_queue& send_cq,
                       completion_queue& receive_cq, const queue_pair_options& options)
    : device_(owner),
      pd_(pd),
      uar_(uar),
      send_cq_(send_cq),
      receive_cq_(receive_cq),
      options_(options),
      trace_(owner.host().context().trace),
      lock_reason_(trace_.intern("uar_lock")),
      sends_(send_size()),
      receives_(receive_size()) {}

queue_pair::~queue_pair() {
  for (const send_entry& each : sends_) {
    trace_.release(each.trace);
  }
  device_.enter(qpn_, nullptr);
}

std::uint32_t queue_pair::receive_stride() const {
  return static_cast<std::uint32_t>(std::bit_ceil(std::max(1U, options_.max_receive_sges)) *
                                    data_seg::Size);
}

task<std::unique_ptr<queue_pair>> queue_pair::create(device& owner, cpu& core, std::uint32_t pd,
                                                     uar_handle& uar, completion_queue& send_cq,
                                                     completion_queue& receive_cq,
                                                     const queue_pair_options& options) {
  const unsigned most = owner.capabilities().log_max_qp_size;
  if (options.log_sq_size > most || options.log_rq_size > most) {
    throw config_error(fmt::format("a QP with queues of 2^{} and 2^{} entries; allowed: up to 2^{}",
                                   options.log_sq_size, options.log_rq_size, most));
  }
  ++uar.queue_pairs;
  std::unique_ptr<queue_pair> qp(new queue_pair(owner, pd, uar, send_cq, receive_cq, options));
  machine& host = owner.host();
  // One buffer, the receive queue first. The send queue begins on a WQEBB.
  const std::uint64_t receive_bytes = std::uint64_t{qp->receive_stride()} << options.log_rq_size;
  if (receive_bytes % WqebbBytes != 0) {
    throw config_error(fmt::format("a receive queue of {} bytes; allowed: a multiple of {}",
                                   receive_bytes, WqebbBytes));
  }
  const std::uint64_t size = receive_bytes + (std::uint64_t{WqebbBytes} << options.log_sq_size);
  const unsigned log_page = std::max<unsigned>(LogPageBase, log2_of(size));
  qp->receive_buffer_ = host.allocate(size, std::uint64_t{1} << log_page);
  qp->send_buffer_ = qp->receive_buffer_ + receive_bytes;
  qp->record_ = host.allocate(qp_doorbell_record::Size);

  create_qp_in request;
  request.opcode = command_opcode::CreateQp;
  qpc& context = request.qpc;
  context.st = options.service;
  context.pm_state = path_migration_state::Migrated;
  context.pd = pd;
  context.uar_page = uar.number;
  context.log_sq_size = static_cast<std::uint8_t>(options.log_sq_size);
  context.log_rq_size = static_cast<std::uint8_t>(options.log_rq_size);
  context.log_rq_stride =
      static_cast<std::uint8_t>(log2_of(qp->receive_stride()) - LogRqStrideBase);
  context.log_page_size = static_cast<std::uint8_t>(log_page - LogPageBase);
  context.cqn_snd = send_cq.cqn();
  context.cqn_rcv = receive_cq.cqn();
  context.dbr_addr = qp->record_;
  std::array<std::uint8_t, create_qp_in::Size + 8> input{};
  request.pack(input.data());
  bytes::store_be<8>(input.data() + create_qp_in::Size, qp->receive_buffer_);
  const command_reply reply = co_await owner.command(core, input);

  qp->qpn_ = reply.number;
  random_stream random(host.context().seed, fmt::format("{}/qp{}/psn", host.name(), reply.number));
  qp->psn_ = static_cast<std::uint32_t>(random.next()) & PsnMask;
  owner.enter(reply.number, qp.get());
  owner.posted().register_sq(reply.number, options.log_sq_size);
  co_return qp;
}

queue_pair_address queue_pair::address() const {
  return {qpn_, psn_, device_.mac(), device_.address()};
}

// States

task<> queue_pair::modify(cpu& core, command_opcode opcode, const qpc& context,
                          std::uint32_t options) {
  modify_qp_in request;
  request.opcode = opcode;
  request.qpn = qpn_;
  request.opt_param_mask = options;
  request.qpc = context;
  std::array<std::uint8_t, modify_qp_in::Size> input{};
  request.pack(input.data());
  co_await device_.command(core, input);
}

task<> queue_pair::to_init(cpu& core) {
  qpc context;
  context.primary_address_path.vhca_port_num = 1;
  context.rre = 1;
  context.rwe = 1;
  co_await modify(core, command_opcode::Rst2InitQp, context);
}

task<> queue_pair::to_rtr(cpu& core, const queue_pair_address& peer,
                          const connection_options& options) {
  const parameters& params = core.params();
  peer_qpn_ = peer.qpn;
  qpc context;
  context.mtu = options.mtu;
  context.remote_qpn = peer.qpn;
  context.next_rcv_psn = peer.psn;
  context.log_rra_max = options.log_ra_max;
  context.min_rnr_nak = options.min_rnr_nak;
  ads& path = context.primary_address_path;
  path.grh = 1;
  path.src_addr_index = 0;
  path.hop_limit = options.hop_limit;
  path.tclass = static_cast<std::uint8_t>(params.wire.dscp << 2 | Ect0);
  path.rgid_rip = peer.address;
  path.udp_sport = udp_source_port(path.flow_label, qpn_, peer.qpn);
  path.eth_prio = static_cast<std::uint8_t>(params.wire.priority);
  path.vhca_port_num = 1;
  path.rmac = peer.mac;
  co_await modify(core, command_opcode::Init2RtrQp, context);
}

task<> queue_pair::to_rts(cpu& core, const connection_options& options) {
  qpc context;
  context.primary_address_path.ack_timeout = options.ack_timeout;
  context.retry_count = options.retry_count;
  context.rnr_retry = options.rnr_retry;
  context.next_send_psn = psn_;
  context.log_sra_max = options.log_ra_max;
  co_await modify(core, command_opcode::Rtr2RtsQp, context);
}

task<> queue_pair::to_error(cpu& core) {
  co_await device_.command(core, command_opcode::ToErrQp, qpn_);
}

task<> queue_pair::to_reset(cpu& core) {
  co_await device_.command(core, command_opcode::ToRstQp, qpn_);
  for (send_entry& each : sends_) {
    trace_.release(each.trace);
    each = {};
  }
  send_producer_ = send_consumer_ = 0;
  receive_producer_ = receive_consumer_ = 0;
  device_.posted().register_sq(qpn_, options_.log_sq_size);
  const std::array<std::uint8_t, qp_doorbell_record::Size> zeros{};
  device_.host().memory.write(record_, zeros.data(), zeros.size());
}

task<qpc> queue_pair::query(cpu& core) {
  std::array<std::uint8_t, cmd_in::Size> input{};
  cmd_in head;
  head.opcode = command_opcode::QueryQp;
  head.number = qpn_;
  head.pack(input.data());
  std::array<std::uint8_t, query_qp_out::Size> output{};
  co_await device_.command(core, input, output);
  co_return query_qp_out::unpack(output.data()).qpc;
}

// Sending

task<bool> queue_pair::post_send(cpu& core, const work_request& request) {
  co_return co_await post_send(core, std::span(&request, 1));
}

task<bool> queue_pair::post_send(cpu& core, std::span<const work_request> batch) {
  std::uint64_t wqebbs = 0;
  for (const work_request& each : batch) {
    const std::uint32_t units = wqe_units(each);
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
      history = core.spend(static_cast<ps_t>(params.cpu.post_ps), history);
      first = false;
    }
    history = build(core, each, history);
    co_await core.sync();
    write_ring(info.wqe_index);
    device_.posted().post(qpn_, info.wqe_index, history);
  }
  co_await ring_doorbell(core, history, batch.size());
  co_return true;
}

/// Builds the WQE at the producer index and moves the index behind it.
trace_ref queue_pair::build(cpu& core, const work_request& request, trace_ref history) {
  const parameters& params = core.params();
  const auto index = static_cast<std::uint16_t>(send_producer_);
  build_wqe(request, qpn_, index, device_.host().memory, wqe_);
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
         wqe_.ds * SegmentBytes <= MaxBlueFlameBytes;
}

task<> queue_pair::ring_doorbell(cpu& core, trace_ref history, std::size_t requests) {
  host_memory& memory = device_.host().memory;
  history = core.spend(static_cast<ps_t>(core.params().cpu.dbrec_write_ps), history);
  co_await core.sync();
  std::array<std::uint8_t, 4> counter{};
  bytes::store_be<4>(counter.data(), send_producer_ & WqeIndexMask);
  memory.write(record_ + DoorbellSendWord, counter.data(), counter.size());

  if (uar_.shared()) {
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

queue_pair::send_entry queue_pair::retire_send(std::uint16_t wqe_counter) {
  for (;;) {
    send_entry& oldest = sends_[send_consumer_ & (send_size() - 1)];
    CARILLON_CHECK(send_consumer_ != send_producer_,
                   "QP {}: a CQE for WQE {:#06x}, which is not outstanding", qpn_, wqe_counter);
    const send_entry entry = std::exchange(oldest, {});
    send_consumer_ += entry.wqebbs;
    if (entry.wqe_index == wqe_counter) {
      return entry;
    }
    trace_.release(entry.trace);
  }
}

// Receiving

task<bool> queue_pair::post_receive(cpu& core, const receive_request& request) {
  if (receive_producer_ - receive_consumer_ >= receive_size()) {
    co_return false;
  }
  std::array<std::uint8_t, 4 * data_seg::Size> stride{};
  const std::uint32_t size = receive_stride();
  if (size > stride.size() || !build_receive_wqe(request, std::span(stride).first(size))) {
    co_return false;
  }
  const std::uint32_t slot = receive_producer_ & (receive_size() - 1);
  receives_[slot] = request.id;
  ++receive_producer_;
  core.spend(static_cast<ps_t>(core.params().cpu.wqe_build_ps));
  co_await core.sync();
  host_memory& memory = device_.host().memory;
  memory.write(receive_buffer_ + std::uint64_t{slot} * size, stride.data(), size);
  core.spend(static_cast<ps_t>(core.params().cpu.dbrec_write_ps));
  co_await core.sync();
  std::array<std::uint8_t, 4> counter{};
  bytes::store_be<4>(counter.data(), receive_producer_ & WqeIndexMask);
  memory.write(record_ + DoorbellReceiveWord, counter.data(), counter.size());
  co_return true;
}

std::uint64_t queue_pair::retire_receive(std::uint16_t wqe_counter) {
  CARILLON_CHECK(receive_consumer_ != receive_producer_,
                 "QP {}: a CQE for receive WQE {:#06x}, but none is posted", qpn_, wqe_counter);
  ++receive_consumer_;
  return receives_[wqe_counter & (receive_size() - 1)];
}

}  // namespace carillon
