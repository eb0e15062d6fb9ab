// The commands that create, destroy and query queue pairs, and what the pipeline is told of them.
// State transitions are in qp_transitions.cpp.
#include "common/error.h"
#include "gen/wqe.h"
#include "pcie_endpoint/commands.h"

namespace carillon {

namespace {

constexpr std::uint64_t RecordAlignment = 8;

bool is_transition(command_opcode opcode) {
  switch (opcode) {
    case command_opcode::Rst2InitQp:
    case command_opcode::Init2InitQp:
    case command_opcode::Init2RtrQp:
    case command_opcode::Rtr2RtsQp:
    case command_opcode::Rts2RtsQp:
    case command_opcode::Sqerr2RtsQp:
    case command_opcode::Rts2SqdQp:
    case command_opcode::Sqd2RtsQp:
    case command_opcode::ToErrQp:
    case command_opcode::ToRstQp:
      return true;
    default:
      return false;
  }
}

std::uint64_t receive_bytes(const qpc& context) {
  return context.rq_type != rq_type::Own
             ? 0
             : std::uint64_t{1} << (context.log_rq_size + context.log_rq_stride + LogRqStrideBase);
}

bool options_of_others(const create_qp_in& in) {
  const qpc& context = in.qpc;
  return in.qpc_ext != 0 || in.input_qpn != 0 || in.wq_umem_valid != 0 ||
         context.dbr_umem_valid != 0 || context.no_sq != 0 ||
         (context.rq_type != rq_type::Own && context.rq_type != rq_type::Srq &&
          context.rq_type != rq_type::None) ||
         context.cs_req != 0 || context.cs_res != 0  // data in CQEs
         || context.cd_master != 0 || context.cd_slave_send != 0 || context.cd_slave_receive != 0;
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

// What the pipeline is told, and what it tells

void command_core::tell_owners(std::uint32_t qpn, const qp_record& qp) {
  qp_command& told = effects_.qp.emplace();
  told.qpn = qpn;
  told.state = static_cast<std::uint8_t>(qp.common.state);
  told.service = static_cast<std::uint8_t>(qp.context.st);
  told.log_sq_size = qp.common.log_sq_size;
  told.log_rq_size = qp.common.log_rq_size;
  told.send_psn = qp.requester.next_send_psn;
  told.receive_psn = qp.responder.next_rcv_psn;
  told.ipv6 = qp.address.ip_version == 6;
  told.tagged = qp.address.vlan_valid != 0;
  told.priority = static_cast<std::uint8_t>(qp.address.eth_prio);
  qp.common.pack(told.common.data());
  qp.requester.pack(told.requester.data());
  qp.responder.pack(told.responder.data());
}

std::vector<context_read> command_core::lines_wanted(std::uint16_t function,
                                                     command_input input) const {
  std::vector<context_read> wanted;
  if (input.size() < cmd_in::Size) {
    return wanted;
  }
  const cmd_in head = cmd_in::unpack(input.data());
  const auto want = [&](const auto& table, std::initializer_list<context_kind> kinds) {
    const auto found = table.find(head.number);
    if (found == table.end() || found->second.function != function) {
      return;
    }
    for (const context_kind kind : kinds) {
      context_read& read = wanted.emplace_back();
      read.kind = kind;
      read.index = head.number;
    }
  };
  if (is_transition(head.opcode) || head.opcode == command_opcode::QueryQp) {
    want(tables_.qps, {context_kind::qpc_common, context_kind::qpc_responder});
  } else if (head.opcode == command_opcode::QueryMkey) {
    want(tables_.mkeys, {context_kind::mkey});
  }
  return wanted;
}

void command_core::observe(context_kind kind, std::uint32_t index,
                           const std::array<std::uint8_t, BeatBytes>& line) {
  if (kind == context_kind::mkey) {
    const auto found = tables_.mkeys.find(index);
    CARILLON_CHECK(found != tables_.mkeys.end(),
                   "pcie_endpoint: a line of memory key {}, which does not exist", index);
    // The RAM lays an invalidation over the key.
    found->second.context.free = mkey_line::unpack(line.data()).valid != 0 ? 0 : 1;
    return;
  }
  const auto found = tables_.qps.find(index);
  CARILLON_CHECK(found != tables_.qps.end(), "pcie_endpoint: a line of QP {}, which does not exist",
                 index);
  qp_record& qp = found->second;
  if (kind == context_kind::qpc_common) {
    // The RAM lays the pipeline's error bits over the state.
    qp.common.state = qpc_common::unpack(line.data()).state;
    qp.context.state = to_host(qp.common.state);
  } else if (kind == context_kind::qpc_responder) {
    qp.responder = qpc_responder::unpack(line.data());
    // What commands set is ours to say, whoever writes the line.
    qp.responder.min_rnr_nak = qp.context.min_rnr_nak;
    qp.context.next_rcv_psn = qp.responder.next_rcv_psn;
    qp.context.rmsn = qp.responder.rmsn;
    qp.context.hw_rq_counter = qp.responder.rq_consumer;
    qp.context.sw_rq_counter = qp.responder.rq_db_rec;
  }
}

// Commands

command_core::failure command_core::check_qp(const create_qp_in& in) const {
  const qpc& wanted = in.qpc;
  if (owned(tables_.pds, wanted.pd) == nullptr) {
    return fail(command_status::BadResource, command_syndrome::NoPd);
  }
  if (!mine().uar_pages.contains(wanted.uar_page)) {
    return fail(command_status::BadResource, command_syndrome::NoUar);
  }
  if (owned(tables_.cqs, wanted.cqn_snd) == nullptr ||
      owned(tables_.cqs, wanted.cqn_rcv) == nullptr) {
    return fail(command_status::BadResource, command_syndrome::NoCq);
  }
  if (wanted.rq_type == rq_type::Srq && owned(tables_.srqs, wanted.srqn_rmpn_xrqn) == nullptr) {
    return fail(command_status::BadResource, command_syndrome::NoSrq);
  }
  if (wanted.st != qpc_service::Rc && wanted.st != qpc_service::Uc &&
      wanted.st != qpc_service::Ud) {
    return fail(command_status::BadParameter, command_syndrome::Service);
  }
  if (options_of_others(in)) {
    return fail(command_status::BadParameter, command_syndrome::Option);
  }
  if (wanted.log_sq_size > limits_.log_max_qp_size ||
      wanted.log_rq_size > limits_.log_max_qp_size) {
    return fail(command_status::LimitExceeded, command_syndrome::QueueSize);
  }
  // With signatures on, a receive WQE begins with a segment that holds its own.
  const bool too_narrow =
      wanted.wq_signature != 0 && wanted.rq_type == rq_type::Own && wanted.log_rq_stride == 0;
  if (too_narrow || receive_bytes(wanted) % WqebbBytes != 0 ||
      wanted.dbr_addr % RecordAlignment != 0) {
    return fail(command_status::BadParameter, command_syndrome::QueueLayout);
  }
  return std::nullopt;
}

command_result command_core::create_qp(command_input input, std::uint8_t* output) {
  if (input.size() < create_qp_in::Size) {
    return fail(command_status::BadInputLength, command_syndrome::InputLength);
  }
  const create_qp_in in = create_qp_in::unpack(input.data());
  if (const failure refused = check_qp(in)) {
    return *refused;
  }
  const qpc& wanted = in.qpc;
  const std::uint64_t before_send_queue = receive_bytes(wanted);
  const std::uint64_t bytes = before_send_queue + (std::uint64_t{WqebbBytes} << wanted.log_sq_size);
  command_result why;
  const auto base = contiguous_base(input, {bytes, wanted.log_page_size, wanted.page_offset}, why);
  if (!base) {
    return why;
  }
  const std::uint32_t qpn = mine().numbers[table_kind::qps].take();
  if (qpn == 0) {
    return full();
  }
  count_qp(wanted, 1);
  qp_record& qp = tables_.qps[qpn];
  qp.function = caller_;
  qp.context = wanted;
  qp.context.state = qpc_state::Reset;
  qp.created = qp.context;
  qpc_common& common = qp.common;
  common.state = qp_state::Reset;
  common.service = static_cast<qp_service>(wanted.st);
  common.valid = 1;
  common.log_sq_size = wanted.log_sq_size;
  common.sig_enable = wanted.wq_signature;
  common.pd = wanted.pd;
  common.function_id = caller_;
  common.uar_page = wanted.uar_page;
  common.wqe_base_addr = *base + before_send_queue;
  common.cq_num_send = wanted.cqn_snd;
  common.cq_num_recv = wanted.cqn_rcv;
  common.dbr_addr = wanted.dbr_addr;
  common.user_index = wanted.user_index;
  switch (wanted.rq_type) {
    case rq_type::Own:
      common.log_rq_size = wanted.log_rq_size;
      common.log_rq_stride = wanted.log_rq_stride;
      common.rq_base_addr = *base;
      break;
    case rq_type::Srq:
      common.srq = 1;
      common.rq_base_addr = wanted.srqn_rmpn_xrqn;
      break;
    default:
      common.no_rq = 1;
      break;
  }
  qp.address.life = next_life(qpn);
  write_line(context_kind::qpc_address, qpn, qp.address);
  write_line(context_kind::qpc_requester, qpn, qp.requester);
  write_line(context_kind::qpc_responder, qpn, qp.responder);
  write_line(context_kind::qpc_common, qpn, common);
  tell_owners(qpn, qp);
  return created(qpn, output);
}

/// A QP refers to its PD, its CQs and its SRQ.
void command_core::count_qp(const qpc& context, int change) {
  const auto count = [change](std::uint32_t& users) {
    users += static_cast<std::uint32_t>(change);
  };
  count(tables_.pds.at(context.pd).users);
  count(tables_.cqs.at(context.cqn_snd).users);
  count(tables_.cqs.at(context.cqn_rcv).users);
  if (context.rq_type == rq_type::Srq) {
    count(tables_.srqs.at(context.srqn_rmpn_xrqn).users);
  }
}

command_result command_core::destroy_qp(std::uint32_t number) {
  qp_record* qp = owned(tables_.qps, number);
  if (qp == nullptr) {
    return fail(command_status::BadResource, command_syndrome::NoQp);
  }
  count_qp(qp->created, -1);
  // First the line that says that there is a QP, so that nobody sees half of one.
  write_line(context_kind::qpc_common, number, qpc_common{});
  write_line(context_kind::qpc_address, number, qpc_address{.life = next_life(number)});
  write_line(context_kind::qpc_requester, number, qpc_requester{});
  write_line(context_kind::qpc_responder, number, qpc_responder{});
  qp->common.state = qp_state::Reset;
  tell_owners(number, *qp);
  effects_.qp->common = {};
  effects_.qp->requester = {};
  effects_.qp->responder = {};
  tables_.qps.erase(number);
  mine().numbers[table_kind::qps].give_back(number);
  return done();
}

command_result command_core::query_qp(std::uint32_t number, std::uint8_t* output) {
  const qp_record* qp = owned(tables_.qps, number);
  if (qp == nullptr) {
    return fail(command_status::BadResource, command_syndrome::NoQp);
  }
  query_qp_out answer;
  answer.qpc = qp->context;
  answer.pack(output);
  return {.output_bytes = query_qp_out::Size};
}

}  // namespace carillon
