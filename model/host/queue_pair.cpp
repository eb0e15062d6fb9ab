// The life of a queue pair: creation, states, end. Its work is in queue_pair_work.cpp.
#include "host/queue_pair.h"

#include <array>
#include <string>

#include "common/random.h"
#include "common/roce_packet.h"
#include "host/queue_memory.h"

namespace carillon {

namespace {

constexpr std::uint32_t PsnMask = 0xffffff;
/// ECN-capable transport: what RoCE packets carry unless a switch has marked them.
constexpr std::uint8_t Ect0 = 2;
constexpr std::size_t CollectBatch = 16;

std::uint8_t traffic_class_of(const connection_options& options, const parameters& params) {
  return options.traffic_class.value_or(static_cast<std::uint8_t>(params.wire.dscp << 2 | Ect0));
}

std::uint8_t priority_of(const connection_options& options, const parameters& params) {
  return options.priority.value_or(static_cast<std::uint8_t>(params.wire.priority));
}

void set_access(qpc& context, const connection_options& options) {
  context.rre = options.remote_read ? 1 : 0;
  context.rwe = options.remote_write ? 1 : 0;
  context.rae = options.remote_atomic ? 1 : 0;
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
      receive_stride_(receive_stride(options.max_receive_sges, options.wq_signature ? 1 : 0)),
      sends_(send_size()),
      receives_(receive_size()) {}

queue_pair::~queue_pair() {
  for (const send_entry& each : sends_) {
    trace_.release(each.trace);
  }
  if (device_.find(qpn_) == this) {
    device_.enter(qpn_, nullptr);
  }
}

task<std::unique_ptr<queue_pair>> queue_pair::create(device& owner, cpu& core, std::uint32_t pd,
                                                     uar_handle& uar, completion_queue& send_cq,
                                                     completion_queue& receive_cq,
                                                     const queue_pair_options& options) {
  const unsigned most = owner.capabilities().log_max_qp_size;
  if (options.log_sq_size > most || options.log_rq_size > most ||
      options.max_receive_sges > receive_request::MaxSges) {
    throw config_error(
        fmt::format("a QP with queues of 2^{} and 2^{} entries and receives of {} pieces; allowed: "
                    "up to 2^{} entries, {} pieces",
                    options.log_sq_size, options.log_rq_size, options.max_receive_sges, most,
                    receive_request::MaxSges));
  }
  std::unique_ptr<queue_pair> qp(new queue_pair(owner, pd, uar, send_cq, receive_cq, options));
  machine& host = owner.host();
  // One buffer, the receive queue first. The send queue begins on a WQEBB.
  const std::uint64_t receive_bytes = std::uint64_t{qp->receive_stride_} * qp->receive_size();
  if (receive_bytes % WqebbBytes != 0) {
    throw config_error(fmt::format("a receive queue of {} bytes; allowed: a multiple of {}",
                                   receive_bytes, WqebbBytes));
  }
  ++uar.queue_pairs;
  const queue_memory buffer =
      allocate_queue(host, receive_bytes + (std::uint64_t{WqebbBytes} << options.log_sq_size));
  qp->receive_buffer_ = buffer.address;
  qp->send_buffer_ = buffer.address + receive_bytes;
  qp->record_ = host.allocate(qp_doorbell_record::Size);

  create_qp_in request;
  request.opcode = command_opcode::CreateQp;
  request.qpc = qp->context_for(buffer);
  const auto input = with_page(request, buffer.address);
  const command_reply reply = co_await owner.command(core, input);

  qp->qpn_ = reply.number;
  random_stream random(host.context().seed, fmt::format("{}/qp{}/psn", host.name(), reply.number));
  qp->psn_ = static_cast<std::uint32_t>(random.next()) & PsnMask;
  owner.enter(reply.number, qp.get());
  owner.posted().register_sq(reply.number, options.log_sq_size);
  co_return qp;
}

qpc queue_pair::context_for(const queue_memory& buffer) const {
  qpc context;
  context.st = options_.service;
  context.pm_state = path_migration_state::Migrated;
  context.wq_signature = options_.wq_signature ? 1 : 0;
  context.pd = pd_;
  context.uar_page = uar_.number;
  context.log_sq_size = static_cast<std::uint8_t>(options_.log_sq_size);
  if (options_.srq != nullptr) {
    context.rq_type = rq_type::Srq;
    context.srqn_rmpn_xrqn = options_.srq->srqn();
  } else {
    context.log_rq_size = static_cast<std::uint8_t>(options_.log_rq_size);
    context.log_rq_stride =
        static_cast<std::uint8_t>(log2_ceil_of(receive_stride_) - LogRqStrideBase);
  }
  context.log_page_size = buffer.log_page_size;
  context.cqn_snd = send_cq_.cqn();
  context.cqn_rcv = receive_cq_.cqn();
  context.dbr_addr = record_;
  return context;
}

queue_pair_address queue_pair::address(unsigned gid_index) const {
  return {qpn_, psn_, device_.mac(), device_.address(gid_index), qkey_};
}

address_handle queue_pair::handle_of(const queue_pair_address& peer,
                                     const connection_options& options) const {
  const parameters& params = device_.host().context().params;
  address_handle to;
  to.mac = peer.mac;
  to.address = peer.address;
  to.qpn = peer.qpn;
  to.qkey = peer.qkey;
  to.gid_index = options.gid_index;
  to.traffic_class = traffic_class_of(options, params);
  to.hop_limit = options.hop_limit;
  to.priority = priority_of(options, params);
  to.flow_label = options.flow_label;
  return to;
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

task<> queue_pair::to_init(cpu& core, const connection_options& options) {
  psn_ = options.psn.value_or(psn_) & PsnMask;
  qpc context;
  context.primary_address_path.vhca_port_num = 1;
  context.primary_address_path.pkey_index = options.pkey_index;
  if (datagram()) {
    qkey_ = options.qkey;
    context.q_key = options.qkey;
  } else {
    set_access(context, options);
  }
  co_await modify(core, command_opcode::Rst2InitQp, context);
}

ads queue_pair::path_to(const queue_pair_address& peer, const connection_options& options) const {
  const parameters& params = device_.host().context().params;
  ads path;
  path.pkey_index = options.pkey_index;
  path.grh = 1;
  path.src_addr_index = options.gid_index;
  path.hop_limit = options.hop_limit;
  path.tclass = traffic_class_of(options, params);
  path.flow_label = options.flow_label;
  path.rgid_rip = peer.address;
  path.udp_sport = udp_source_port(options.flow_label, qpn_, peer.qpn);
  path.eth_prio = priority_of(options, params);
  path.vhca_port_num = 1;
  path.rmac = peer.mac;
  return path;
}

task<> queue_pair::to_rtr(cpu& core, const queue_pair_address& peer,
                          const connection_options& options) {
  qpc context;
  context.mtu = options.mtu;
  // Datagrams name their peer themselves; the QP says where they come from.
  context.primary_address_path = path_to(datagram() ? queue_pair_address{} : peer, options);
  if (!datagram()) {
    context.remote_qpn = peer.qpn;
    context.next_rcv_psn = peer.psn;
  }
  if (options_.service == qpc_service::Rc) {
    context.log_rra_max = options.log_max_dest_rd_atomic;
    context.min_rnr_nak = options.min_rnr_nak;
  }
  co_await modify(core, command_opcode::Init2RtrQp, context);
  if (device_.observer() != nullptr) {
    device_.observer()->on_connect(*this, peer);
  }
}

task<> queue_pair::to_rts(cpu& core, const connection_options& options) {
  psn_ = options.psn.value_or(psn_) & PsnMask;
  qpc context;
  context.next_send_psn = psn_;
  if (options_.service == qpc_service::Rc) {
    context.primary_address_path.ack_timeout = options.ack_timeout;
    context.retry_count = options.retry_count;
    context.rnr_retry = options.rnr_retry;
    context.log_sra_max = options.log_max_rd_atomic;
  }
  co_await modify(core, command_opcode::Rtr2RtsQp, context);
}

task<> queue_pair::update(cpu& core, const connection_options& options) {
  qpc context;
  std::uint32_t changed = 0;
  switch (options_.service) {
    case qpc_service::Rc:
      set_access(context, options);
      context.min_rnr_nak = options.min_rnr_nak;
      changed = QpOptRre | QpOptRwe | QpOptRae | QpOptRnrTimeout;
      break;
    case qpc_service::Uc:
      set_access(context, options);
      changed = QpOptRwe;
      break;
    default:
      context.q_key = options.qkey;
      changed = QpOptQkey;
      break;
  }
  co_await modify(core, command_opcode::Rts2RtsQp, context, changed);
  if (datagram()) {
    qkey_ = options.qkey;
  }
}

task<> queue_pair::to_sqd(cpu& core) {
  co_await modify(core, command_opcode::Rts2SqdQp, {});
}

task<> queue_pair::from_sqd(cpu& core) {
  co_await modify(core, command_opcode::Sqd2RtsQp, {});
}

task<> queue_pair::sqer_to_rts(cpu& core) {
  co_await modify(core, command_opcode::Sqerr2RtsQp, {});
}

task<> queue_pair::to_error(cpu& core) {
  co_await device_.command(core, command_opcode::ToErrQp, qpn_);
}

task<> queue_pair::to_reset(cpu& core) {
  co_await device_.command(core, command_opcode::ToRstQp, qpn_);
  forget_work();
}

void queue_pair::forget_work() {
  send_cq_.clean(*this);
  if (&receive_cq_ != &send_cq_) {
    receive_cq_.clean(*this);
  }
  for (send_entry& each : sends_) {
    trace_.release(each.trace);
    each = {};
  }
  send_producer_ = send_consumer_ = 0;
  receive_producer_ = receive_consumer_ = 0;
  invalidated_ = false;
  device_.posted().register_sq(qpn_, options_.log_sq_size);
  const std::array<std::uint8_t, qp_doorbell_record::Size> zeros{};
  device_.host().memory.write(record_, zeros.data(), zeros.size());
}

task<> queue_pair::destroy(cpu& core) {
  co_await device_.command(core, command_opcode::DestroyQp, qpn_);
  forget_work();
  device_.enter(qpn_, nullptr);
  --uar_.queue_pairs;
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

// Draining

/// Queues complete in order, even in the error state: once a marker behind all work has come back,
/// everything has.
task<std::vector<completion>> queue_pair::drain(cpu& core) {
  std::vector<completion> seen;
  markers last;
  co_await to_error(core);
  work_request nothing;
  nothing.opcode = wqe_opcode::Nop;
  while (!co_await post_send(core, nothing)) {
    co_await collect(core, send_cq_, last, seen);
  }
  const std::uint32_t sends = send_producer_;
  last.send = static_cast<std::uint16_t>(sends - 1);
  if (options_.srq == nullptr) {
    while (!co_await post_receive(core, receive_request{})) {
      co_await collect(core, receive_cq_, last, seen);
    }
    last.receive = static_cast<std::uint16_t>(receive_producer_ - 1);
  }
  const std::uint32_t receives = receive_producer_;
  while (send_consumer_ != sends) {
    co_await collect(core, send_cq_, last, seen);
  }
  while (receive_consumer_ != receives) {
    co_await collect(core, receive_cq_, last, seen);
  }
  co_return seen;
}

bool queue_pair::is_marker(const completion& entry, const markers& last) const {
  if (entry.qpn != qpn_) {
    return false;
  }
  if (entry.requester()) {
    return last.send && entry.wqe_counter == *last.send;
  }
  return last.receive && ((entry.wqe_counter ^ *last.receive) & (receive_size() - 1)) == 0;
}

task<> queue_pair::collect(cpu& core, completion_queue& from, const markers& last,
                           std::vector<completion>& into) {
  std::array<completion, CollectBatch> entries;
  const unsigned found = co_await from.wait(core, entries);
  for (unsigned i = 0; i < found; ++i) {
    if (!is_marker(entries[i], last)) {
      into.push_back(entries[i]);
    }
  }
}

}  // namespace carillon
