// The commands about queue pairs: creation, state transitions, query.
#include "common/error.h"
#include "common/roce_packet.h"
#include "gen/wqe.h"
#include "pcie_endpoint/commands.h"

namespace carillon {

namespace {

/// The code of an inline scatter mode in the chip: 0, 1 for 32 bytes, 2 for 64.
std::uint8_t scatter_code(std::uint8_t host) {
  return host & 0x3;
}

}  // namespace

qp_state to_chip(qpc_state state) {
  switch (state) {
    case qpc_state::Reset:
      return qp_state::Reset;
    case qpc_state::Init:
      return qp_state::Init;
    case qpc_state::Rtr:
      return qp_state::Rtr;
    case qpc_state::Rts:
      return qp_state::Rts;
    case qpc_state::Sqer:
      return qp_state::Sqer;
    case qpc_state::Sqd:
      return qp_state::Sqd;
    case qpc_state::SqDraining:
      return qp_state::SqDraining;
    case qpc_state::Err:
    case qpc_state::Suspended:
      return qp_state::Err;
  }
  return qp_state::Err;
}

qpc_state to_host(qp_state state) {
  switch (state) {
    case qp_state::Reset:
      return qpc_state::Reset;
    case qp_state::Sqer:
      return qpc_state::Sqer;
    case qp_state::Init:
      return qpc_state::Init;
    case qp_state::Rtr:
      return qpc_state::Rtr;
    case qp_state::Rts:
      return qpc_state::Rts;
    case qp_state::Sqd:
      return qpc_state::Sqd;
    case qp_state::SqDraining:
      return qpc_state::SqDraining;
    case qp_state::Err:
      return qpc_state::Err;
  }
  return qpc_state::Err;
}

void command_core::tell_owners(std::uint32_t qpn, const qp_record& qp) {
  qp_command& told = effects_.qp.emplace();
  told.qpn = qpn;
  told.state = static_cast<std::uint8_t>(qp.common.state);
  told.service = static_cast<std::uint8_t>(qp.context.st);
  told.log_sq_size = qp.common.log_sq_size;
  told.log_rq_size = qp.common.log_rq_size;
  told.send_psn = qp.requester.next_send_psn;
  told.receive_psn = qp.responder.next_rcv_psn;
  qp.common.pack(told.common.data());
  qp.requester.pack(told.requester.data());
  qp.responder.pack(told.responder.data());
}

void command_core::observe(context_kind kind, std::uint32_t qpn,
                           const std::array<std::uint8_t, BeatBytes>& line) {
  const auto found = qps_.find(qpn);
  CARILLON_CHECK(found != qps_.end(), "pcie_endpoint: a line of QP {}, which does not exist", qpn);
  qp_record& qp = found->second;
  if (kind == context_kind::qpc_common) {
    // The RAM lays the pipeline's error bits over the state.
    qp.common.state = qpc_common::unpack(line.data()).state;
    qp.context.state = to_host(qp.common.state);
  } else if (kind == context_kind::qpc_responder) {
    qp.responder = qpc_responder::unpack(line.data());
    qp.context.next_rcv_psn = qp.responder.next_rcv_psn;
    qp.context.rmsn = qp.responder.rmsn;
    qp.context.hw_rq_counter = qp.responder.rq_consumer;
  }
}

command_result command_core::create_qp(std::span<const std::uint8_t> input, std::uint8_t* output) {
  if (input.size() < create_qp_in::Size) {
    return fail(command_status::BadInputLength, command_syndrome::InputLength);
  }
  qpc wanted = qpc::unpack(input.data() + create_qp_in::at::Qpc);
  pd_record* pd = owned(pds_, wanted.pd);
  if (pd == nullptr) {
    return fail(command_status::BadResource, command_syndrome::NoPd);
  }
  if (!functions_[caller_].uar_pages.contains(wanted.uar_page)) {
    return fail(command_status::BadResource, command_syndrome::NoUar);
  }
  const bool no_rq = wanted.rq_type == rq_type::None;
  cq_record* send_cq = owned(cqs_, wanted.cqn_snd);
  cq_record* receive_cq = owned(cqs_, wanted.cqn_rcv);
  if (send_cq == nullptr || receive_cq == nullptr) {
    return fail(command_status::BadResource, command_syndrome::NoCq);
  }
  if (wanted.st != qpc_service::Rc && wanted.st != qpc_service::Uc) {
    return fail(command_status::BadParameter, command_syndrome::Service);
  }
  if (wanted.no_sq != 0 || (wanted.rq_type != rq_type::Own && !no_rq) ||
      wanted.wq_signature != 0 || wanted.cs_req != 0 || wanted.cs_res != 0) {
    return fail(command_status::BadParameter, command_syndrome::Option);
  }
  if (wanted.log_sq_size > limits_.log_max_qp_size ||
      wanted.log_rq_size > limits_.log_max_qp_size) {
    return fail(command_status::LimitExceeded, command_syndrome::QueueSize);
  }
  const std::uint64_t receive_bytes =
      no_rq ? 0 : std::uint64_t{1} << (wanted.log_rq_size + wanted.log_rq_stride + LogRqStrideBase);
  const std::uint64_t send_bytes = std::uint64_t{WqebbBytes} << wanted.log_sq_size;
  if (receive_bytes % WqebbBytes != 0) {
    return fail(command_status::BadParameter, command_syndrome::QueueLayout);
  }
  command_result why;
  const auto base = contiguous_base(input, receive_bytes + send_bytes, wanted.log_page_size,
                                    wanted.page_offset, why);
  if (!base) {
    return why;
  }
  const std::uint32_t qpn = qp_numbers_.take();
  if (qpn == 0) {
    return fail(command_status::NoResources, command_syndrome::TableFull);
  }
  ++pd->users;
  ++send_cq->users;
  ++receive_cq->users;
  wanted.state = qpc_state::Reset;
  qp_record& qp = qps_[qpn];
  qp.function = caller_;
  qp.context = wanted;
  qpc_common& common = qp.common;
  common.state = qp_state::Reset;
  common.service = static_cast<qp_service>(wanted.st);
  common.valid = 1;
  common.log_sq_size = wanted.log_sq_size;
  common.log_rq_size = wanted.log_rq_size;
  common.log_rq_stride = wanted.log_rq_stride;
  common.no_rq = no_rq ? 1 : 0;
  common.cs_req = scatter_code(wanted.cs_req);
  common.cs_res = scatter_code(wanted.cs_res);
  common.pd = wanted.pd;
  common.function_id = caller_;
  common.uar_page = wanted.uar_page;
  common.rq_base_addr = no_rq ? 0 : *base;
  common.wqe_base_addr = *base + receive_bytes;
  common.cq_num_send = wanted.cqn_snd;
  common.cq_num_recv = wanted.cqn_rcv;
  common.dbr_addr = wanted.dbr_addr;
  common.user_index = wanted.user_index;
  write_line(context_kind::qpc_address, qpn, qp.address);
  write_line(context_kind::qpc_requester, qpn, qp.requester);
  write_line(context_kind::qpc_responder, qpn, qp.responder);
  write_line(context_kind::qpc_common, qpn, common);
  tell_owners(qpn, qp);
  cmd_out{.number = qpn}.pack(output);
  return {.output_bytes = cmd_out::Size};
}

void command_core::set_options(qp_record& qp, const qpc& wanted, std::uint32_t options) {
  if ((options & QpOptRre) != 0) {
    qp.context.rre = qp.common.rre = wanted.rre;
  }
  if ((options & QpOptRwe) != 0) {
    qp.context.rwe = qp.common.rwe = wanted.rwe;
  }
  if ((options & QpOptRae) != 0) {
    qp.context.rae = qp.common.rae = wanted.rae;
  }
  if ((options & QpOptRnrTimeout) != 0) {
    qp.context.min_rnr_nak = wanted.min_rnr_nak;
  }
}

command_core::failure command_core::set_init(qp_record& qp, const qpc& wanted,
                                             std::uint32_t /*options*/) {
  // The PKEY table has one entry; the index must say so.
  if (wanted.primary_address_path.pkey_index != 0) {
    return fail(command_status::BadParameter, command_syndrome::Option);
  }
  qp.context.primary_address_path = wanted.primary_address_path;
  qp.common.pkey = DefaultPkey;
  set_options(qp, wanted, QpOptRre | QpOptRwe | QpOptRae);
  qp.common.state = qp_state::Init;
  return std::nullopt;
}

command_core::failure command_core::set_rtr(qp_record& qp, const qpc& wanted,
                                            std::uint32_t options) {
  const ads& path = wanted.primary_address_path;
  const auto mtu = static_cast<std::uint8_t>(wanted.mtu);
  if (mtu < static_cast<std::uint8_t>(mtu_code::Mtu256) ||
      mtu > static_cast<std::uint8_t>(mtu_code::Mtu4096)) {
    return fail(command_status::BadParameter, command_syndrome::Mtu);
  }
  const function_record& mine = functions_[caller_];
  if (path.src_addr_index >= mine.gids.size() || !mine.gids[path.src_addr_index].valid) {
    return fail(command_status::BadIndex, command_syndrome::NoGid);
  }
  const roce_addr_layout& source = mine.gids[path.src_addr_index].address;
  const bool ipv4 = is_ipv4_gid(path.rgid_rip);
  if (ipv4 != is_ipv4_gid(source.source_l3_address)) {
    return fail(command_status::BadParameter, command_syndrome::NoGid);
  }
  qp.context.primary_address_path = path;
  qp.context.mtu = wanted.mtu;
  qp.context.remote_qpn = wanted.remote_qpn;
  qp.context.next_rcv_psn = wanted.next_rcv_psn;
  qp.context.log_rra_max = wanted.log_rra_max;
  qp.context.min_rnr_nak = wanted.min_rnr_nak;
  set_options(qp, wanted, options & (QpOptRre | QpOptRwe | QpOptRae));

  qpc_address& address = qp.address;
  address.ip_version = ipv4 ? 4 : 6;
  address.vlan_valid = source.vlan_valid;
  address.vlan_id = source.vlan_id;
  address.eth_prio = path.eth_prio;
  address.gid_index = path.src_addr_index;
  address.loopback = path.fl;
  address.tclass = path.tclass;
  if (path.f_dscp != 0) {
    address.tclass = static_cast<std::uint8_t>(path.dscp << 2 | (address.tclass & 3));
  }
  if (path.f_ecn != 0) {
    address.tclass = static_cast<std::uint8_t>((address.tclass & ~3U) | path.ecn);
  }
  address.hop_limit = path.hop_limit;
  address.rmac = path.rmac;
  address.udp_sport = path.udp_sport;
  address.remote_qpn = wanted.remote_qpn;
  address.pkey = qp.common.pkey;
  address.src_ip = source.source_l3_address;
  address.dst_ip = path.rgid_rip;
  address.flow_label = path.flow_label;

  qp.responder = {};
  qp.responder.min_rnr_nak = wanted.min_rnr_nak;
  qp.responder.log_rra_max = wanted.log_rra_max;
  qp.responder.next_rcv_psn = wanted.next_rcv_psn;

  qp.common.mtu = wanted.mtu;
  qp.common.remote_qpn = wanted.remote_qpn;
  qp.common.state = qp_state::Rtr;
  return std::nullopt;
}

command_core::failure command_core::set_rts(qp_record& qp, const qpc& wanted,
                                            std::uint32_t options) {
  qpc& context = qp.context;
  context.primary_address_path.ack_timeout = wanted.primary_address_path.ack_timeout;
  context.retry_count = wanted.retry_count;
  context.rnr_retry = wanted.rnr_retry;
  context.next_send_psn = wanted.next_send_psn;
  context.log_sra_max = wanted.log_sra_max;
  context.log_ack_req_freq = wanted.log_ack_req_freq;
  set_options(qp, wanted, options & (QpOptRre | QpOptRwe | QpOptRae));

  qp.requester = {};
  qp.requester.retry_count = wanted.retry_count;
  qp.requester.cur_retry_count = wanted.retry_count;
  qp.requester.rnr_retry = wanted.rnr_retry;
  qp.requester.cur_rnr_retry = wanted.rnr_retry;
  qp.requester.log_sra_max = wanted.log_sra_max;
  qp.requester.ack_timeout = wanted.primary_address_path.ack_timeout;
  qp.requester.next_send_psn = wanted.next_send_psn;
  qp.requester.last_acked_psn = wanted.next_send_psn;
  qp.requester.log_ack_req_freq = wanted.log_ack_req_freq;
  qp.common.state = qp_state::Rts;
  return std::nullopt;
}

command_result command_core::modify_qp(const cmd_in& head, std::span<const std::uint8_t> input) {
  qp_record* known = owned(qps_, head.number);
  if (known == nullptr) {
    return fail(command_status::BadResource, command_syndrome::NoQp);
  }
  const bool with_context =
      head.opcode != command_opcode::ToErrQp && head.opcode != command_opcode::ToRstQp;
  if (with_context && input.size() < modify_qp_in::Size) {
    return fail(command_status::BadInputLength, command_syndrome::InputLength);
  }
  const modify_qp_in wanted = with_context ? modify_qp_in::unpack(input.data()) : modify_qp_in{};
  const std::uint32_t options = wanted.opt_param_mask;
  const auto from = [&](qp_state state) { return known->common.state == state; };
  const command_result wrong = fail(command_status::BadQpState, command_syndrome::Transition);

  // Changes are made on a copy, so that a refused command leaves nothing behind.
  qp_record qp = *known;
  failure refused;
  switch (head.opcode) {
    case command_opcode::Rst2InitQp:
      refused = from(qp_state::Reset) ? set_init(qp, wanted.qpc, options) : failure(wrong);
      break;
    case command_opcode::Init2InitQp:
      if (!from(qp_state::Init)) {
        return wrong;
      }
      set_options(qp, wanted.qpc, options & (QpOptRre | QpOptRwe | QpOptRae));
      break;
    case command_opcode::Init2RtrQp:
      refused = from(qp_state::Init) ? set_rtr(qp, wanted.qpc, options) : failure(wrong);
      break;
    case command_opcode::Rtr2RtsQp:
      refused = from(qp_state::Rtr) ? set_rts(qp, wanted.qpc, options) : failure(wrong);
      break;
    case command_opcode::Rts2RtsQp:
      if (!from(qp_state::Rts)) {
        return wrong;
      }
      set_options(qp, wanted.qpc, options & (QpOptRre | QpOptRwe | QpOptRae));
      break;
    case command_opcode::ToErrQp:
      qp.common.state = qp_state::Err;
      break;
    default:  // ToRstQp: what CREATE_QP gave stays
      qp.address = {};
      qp.requester = {};
      qp.responder = {};
      qp.common.state = qp_state::Reset;
      qp.common.mtu = {};
      qp.common.remote_qpn = 0;
      qp.common.pkey = 0;
      qp.common.rre = qp.common.rwe = qp.common.rae = 0;
      break;
  }
  if (refused) {
    return *refused;
  }
  qp.context.state = to_host(qp.common.state);
  const std::uint32_t qpn = head.number;
  switch (head.opcode) {
    case command_opcode::Init2RtrQp:
      write_line(context_kind::qpc_address, qpn, qp.address);
      write_line(context_kind::qpc_responder, qpn, qp.responder);
      write_line(context_kind::qpc_common, qpn, qp.common);
      break;
    case command_opcode::Rtr2RtsQp:
      write_line(context_kind::qpc_requester, qpn, qp.requester);
      write_line(context_kind::qpc_common, qpn, qp.common);
      break;
    case command_opcode::ToRstQp:
      // The state first: nobody works on a QP whose other lines are being cleared.
      write_line(context_kind::qpc_common, qpn, qp.common);
      write_line(context_kind::qpc_address, qpn, qp.address);
      write_line(context_kind::qpc_requester, qpn, qp.requester);
      write_line(context_kind::qpc_responder, qpn, qp.responder);
      break;
    default:
      write_line(context_kind::qpc_common, qpn, qp.common);
      break;
  }
  *known = qp;
  tell_owners(qpn, qp);
  return {.output_bytes = cmd_out::Size};
}

command_result command_core::query_qp(const cmd_in& head, std::uint8_t* output) {
  const qp_record* qp = owned(qps_, head.number);
  if (qp == nullptr) {
    return fail(command_status::BadResource, command_syndrome::NoQp);
  }
  qpc context = qp->context;
  context.rre = qp->common.rre;
  context.rwe = qp->common.rwe;
  context.rae = qp->common.rae;
  query_qp_out answer;
  answer.qpc = context;
  answer.pack(output);
  return {.output_bytes = query_qp_out::Size};
}

}  // namespace carillon
