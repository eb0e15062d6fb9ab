// The state machine of queue pairs. What each transition allows is one table; what its attributes
// must be is one function a transition. Attributes that the service does not have are ignored, as
// the fields of a context always have some value; optional ones that it does not have are refused.
#include <algorithm>

#include "common/roce_packet.h"
#include "pcie_endpoint/commands.h"

namespace carillon {

namespace {

/// Options by service: what a command may ask for in opt_param_mask.
struct service_options {
  std::uint32_t rc = 0;
  std::uint32_t uc = 0;
  std::uint32_t ud = 0;

  [[nodiscard]] std::uint32_t of(qpc_service service) const {
    switch (service) {
      case qpc_service::Rc:
        return rc;
      case qpc_service::Uc:
        return uc;
      default:
        return ud;
    }
  }
};

constexpr std::uint32_t RemoteAccess = QpOptRre | QpOptRae | QpOptRwe;
constexpr std::uint32_t Place = QpOptPkeyIndex | QpOptPort;
constexpr service_options WhenRunning = {RemoteAccess | QpOptRnrTimeout, QpOptRwe, QpOptQkey};
/// A path's port is 1, or 0 where a driver does not say.
constexpr std::uint8_t OnlyPort = 1;

bool is_port(const ads& path) {
  return path.vhca_port_num <= OnlyPort;
}

/// DSCP and ECN as the path gives them, or as it forces them.
std::uint8_t traffic_class(const ads& path) {
  constexpr unsigned EcnBits = 2;
  constexpr unsigned EcnMask = 3;
  unsigned result = path.tclass;
  if (path.f_dscp != 0) {
    result = static_cast<unsigned>(path.dscp) << EcnBits | (result & EcnMask);
  }
  if (path.f_ecn != 0) {
    result = (result & ~EcnMask) | path.ecn;
  }
  return static_cast<std::uint8_t>(result);
}

}  // namespace

struct command_core::transition {
  command_opcode opcode;
  qp_state from;
  qp_state to;
  service_options options;

  static const transition* find(command_opcode opcode);
};

/// As the mlx5 driver has them, without what this chip does not have: a second path, migration, a
/// choice of ports of a bond, another SRQ or CQ. RTS to SQD is of the older drivers (and of the
/// verbs), which call the command so.
const command_core::transition* command_core::transition::find(command_opcode opcode) {
  using enum command_opcode;
  static constexpr std::array Table = {
      transition{Rst2InitQp, qp_state::Reset, qp_state::Init, {}},
      transition{Init2InitQp,
                 qp_state::Init,
                 qp_state::Init,
                 {RemoteAccess | Place, QpOptRwe | Place, QpOptQkey | Place}},
      transition{
          Init2RtrQp,
          qp_state::Init,
          qp_state::Rtr,
          {RemoteAccess | QpOptPkeyIndex, QpOptRwe | QpOptPkeyIndex, QpOptQkey | QpOptPkeyIndex}},
      transition{Rtr2RtsQp, qp_state::Rtr, qp_state::Rts, WhenRunning},
      transition{Rts2RtsQp, qp_state::Rts, qp_state::Rts, WhenRunning},
      transition{Sqerr2RtsQp, qp_state::Sqer, qp_state::Rts, WhenRunning},
      transition{Rts2SqdQp, qp_state::Rts, qp_state::Sqd, {}},
      transition{Sqd2RtsQp, qp_state::Sqd, qp_state::Rts, WhenRunning},
  };
  const auto* found = std::find_if(Table.begin(), Table.end(),
                                   [opcode](const auto& each) { return each.opcode == opcode; });
  return found != Table.end() ? found : nullptr;
}

// Attributes

command_core::failure command_core::set_pkey(qp_record& qp, const ads& path) const {
  if (path.pkey_index >= mine().pkeys.size()) {
    return fail(command_status::BadIndex, command_syndrome::NoPkey);
  }
  qp.context.primary_address_path.pkey_index = path.pkey_index;
  qp.common.pkey = mine().pkeys[path.pkey_index];
  return std::nullopt;
}

command_core::failure command_core::set_options(qp_record& qp, const qpc& wanted,
                                                std::uint32_t options) const {
  const ads& path = wanted.primary_address_path;
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
    // Once packets come the responder alone writes its line: it hears of this by its command.
    qp.context.min_rnr_nak = qp.responder.min_rnr_nak = wanted.min_rnr_nak;
  }
  if ((options & QpOptQkey) != 0) {
    qp.context.q_key = qp.common.qkey = wanted.q_key;
  }
  if ((options & QpOptPort) != 0) {
    if (!is_port(path)) {
      return fail(command_status::BadParameter, command_syndrome::Path);
    }
    qp.context.primary_address_path.vhca_port_num = path.vhca_port_num;
  }
  return (options & QpOptPkeyIndex) != 0 ? set_pkey(qp, path) : std::nullopt;
}

/// Place, and access rights (UC: WRITE alone) or the queue key.
command_core::failure command_core::set_init(qp_record& qp, const qpc& wanted) const {
  switch (qp.context.st) {
    case qpc_service::Rc:
      return set_options(qp, wanted, RemoteAccess | Place);
    case qpc_service::Uc:
      return set_options(qp, wanted, QpOptRwe | Place);
    default:
      return set_options(qp, wanted, QpOptQkey | Place);
  }
}

/// The source of what the QP sends: an entry of the GID table.
command_core::failure command_core::set_source(qp_record& qp, const ads& path) const {
  const function_record& function = mine();
  if (path.src_addr_index >= function.gids.size() || !function.gids[path.src_addr_index].valid) {
    return fail(command_status::BadIndex, command_syndrome::NoGid);
  }
  const roce_addr_layout& source = function.gids[path.src_addr_index].address;
  if (failure refused = check_source(source)) {
    return refused;
  }
  const std::uint8_t tclass = traffic_class(path);
  if (failure refused = check_class(path, tclass)) {
    return refused;
  }
  // An entry that says nothing of its own is the port's.
  const port_record& port = function.port;
  const bool tagged = source.vlan_valid != 0 || port.vlan.has_value();
  qpc_address& address = qp.address;
  address = {.life = address.life};
  address.ip_version = is_ipv4_gid(source.source_l3_address) ? 4 : 6;
  address.smac = source.source_mac != 0 ? source.source_mac : port.context.permanent_address;
  address.vlan_valid = tagged ? 1 : 0;
  address.vlan_id = source.vlan_valid != 0 ? source.vlan_id : port.vlan.value_or(0);
  address.gid_index = path.src_addr_index;
  address.src_ip = source.source_l3_address;
  address.pkey = qp.common.pkey;
  address.eth_prio = path.eth_prio;
  address.tclass = tclass;
  address.hop_limit = path.hop_limit;
  address.flow_label = path.flow_label;
  address.udp_sport = path.udp_sport;
  address.loopback = path.fl;
  return std::nullopt;
}

/// RC and UC: path, MTU, peer, first PSN; RC: what it grants the peer's READs, and its RNR timer. A
/// UD QP has a path for each work request: here only what they do not say.
command_core::failure command_core::set_rtr(qp_record& qp, const qpc& wanted) const {
  const bool datagrams = qp.context.st == qpc_service::Ud;
  const bool reliable = qp.context.st == qpc_service::Rc;
  const ads& path = wanted.primary_address_path;
  const mtu_code mtu = datagrams && wanted.mtu == mtu_code{} ? mtu_code::Mtu4096 : wanted.mtu;
  if (mtu < mtu_code::Mtu256 || mtu > mtu_code::Mtu4096) {
    return fail(command_status::BadParameter, command_syndrome::Mtu);
  }
  if (reliable && wanted.log_rra_max > limits_.log_max_rd_atomic) {
    return fail(command_status::BadParameter, command_syndrome::ReadLimit);
  }
  if (failure refused = set_source(qp, path)) {
    return refused;
  }
  if (!is_port(path)) {
    return fail(command_status::BadParameter, command_syndrome::Path);
  }
  qp.responder = {};
  qp.common.mtu = mtu;
  // The place was set before and stays.
  ads taken = path;
  taken.pkey_index = qp.context.primary_address_path.pkey_index;
  taken.vhca_port_num = qp.context.primary_address_path.vhca_port_num;
  qp.context.primary_address_path = taken;
  qp.context.mtu = mtu;
  if (datagrams) {
    return std::nullopt;
  }
  const bool no_address = path.rgid_rip == std::array<std::uint8_t, 16>{};
  if (no_address || is_ipv4_gid(path.rgid_rip) != is_ipv4_gid(qp.address.src_ip)) {
    return fail(command_status::BadParameter, command_syndrome::Path);
  }
  qp.address.dst_ip = path.rgid_rip;
  qp.address.rmac = path.rmac;
  qp.address.remote_qpn = wanted.remote_qpn;
  qp.common.remote_qpn = wanted.remote_qpn;
  qp.context.remote_qpn = wanted.remote_qpn;
  qp.responder.next_rcv_psn = wanted.next_rcv_psn;
  qp.context.next_rcv_psn = wanted.next_rcv_psn;
  if (reliable) {
    qp.responder.min_rnr_nak = wanted.min_rnr_nak;
    qp.context.min_rnr_nak = wanted.min_rnr_nak;
    qp.responder.log_rra_max = wanted.log_rra_max;
    qp.context.log_rra_max = wanted.log_rra_max;
  }
  return std::nullopt;
}

/// The first PSN; RC: its timers, its retries and how many READs it may have outstanding.
command_core::failure command_core::set_rts(qp_record& qp, const qpc& wanted) const {
  const bool reliable = qp.context.st == qpc_service::Rc;
  if (reliable && wanted.log_sra_max > limits_.log_max_rd_atomic) {
    return fail(command_status::BadParameter, command_syndrome::ReadLimit);
  }
  qpc& context = qp.context;
  qp.requester = {};
  qp.requester.next_send_psn = wanted.next_send_psn;
  qp.requester.last_acked_psn = wanted.next_send_psn;
  context.next_send_psn = wanted.next_send_psn;
  context.last_acked_psn = wanted.next_send_psn;
  if (reliable) {
    context.primary_address_path.ack_timeout = wanted.primary_address_path.ack_timeout;
    context.retry_count = context.cur_retry_count = wanted.retry_count;
    context.rnr_retry = context.cur_rnr_retry = wanted.rnr_retry;
    context.log_sra_max = wanted.log_sra_max;
    context.log_ack_req_freq = wanted.log_ack_req_freq;
    qp.requester.retry_count = qp.requester.cur_retry_count = wanted.retry_count;
    qp.requester.rnr_retry = qp.requester.cur_rnr_retry = wanted.rnr_retry;
    qp.requester.log_sra_max = wanted.log_sra_max;
    qp.requester.ack_timeout = wanted.primary_address_path.ack_timeout;
    qp.requester.log_ack_req_freq = wanted.log_ack_req_freq;
  }
  return std::nullopt;
}

command_core::failure command_core::apply(const transition& step, qp_record& qp,
                                          const modify_qp_in& wanted) const {
  // Only the send queue of UC and UD fails alone.
  const bool cannot_be = step.from == qp_state::Sqer && qp.context.st == qpc_service::Rc;
  if (qp.common.state != step.from || cannot_be) {
    return fail(command_status::BadQpState, command_syndrome::Transition);
  }
  if ((wanted.opt_param_mask & ~step.options.of(qp.context.st)) != 0) {
    return fail(command_status::BadParameter, command_syndrome::Option);
  }
  // A change of the P_Key comes before the path, which has it in its line.
  if (failure refused = set_options(qp, wanted.qpc, wanted.opt_param_mask)) {
    return refused;
  }
  failure refused;
  switch (step.opcode) {
    case command_opcode::Rst2InitQp:
      refused = set_init(qp, wanted.qpc);
      break;
    case command_opcode::Init2RtrQp:
      refused = set_rtr(qp, wanted.qpc);
      break;
    case command_opcode::Rtr2RtsQp:
      refused = set_rts(qp, wanted.qpc);
      break;
    default:
      break;
  }
  qp.common.state = step.to;
  qp.context.state = to_host(step.to);
  return refused;
}

// Commands

command_result command_core::modify_qp(const cmd_in& head, command_input input) {
  const transition* step = transition::find(head.opcode);
  if (step == nullptr) {
    return fail(command_status::BadOperation, command_syndrome::UnknownCommand);
  }
  qp_record* known = owned(tables_.qps, head.number);
  if (known == nullptr) {
    return fail(command_status::BadResource, command_syndrome::NoQp);
  }
  if (input.size() < modify_qp_in::Size) {
    return fail(command_status::BadInputLength, command_syndrome::InputLength);
  }
  // Changes are made on a copy, so that a refused command leaves nothing behind.
  qp_record qp = *known;
  if (const failure refused = apply(*step, qp, modify_qp_in::unpack(input.data()))) {
    return *refused;
  }
  if (step->opcode == command_opcode::Init2RtrQp) {
    write_line(context_kind::qpc_address, head.number, qp.address);
    write_line(context_kind::qpc_responder, head.number, qp.responder);
  } else if (step->opcode == command_opcode::Rtr2RtsQp) {
    write_line(context_kind::qpc_requester, head.number, qp.requester);
  }
  // The state last: who sees it sees the other lines too.
  write_line(context_kind::qpc_common, head.number, qp.common);
  *known = qp;
  tell_owners(head.number, qp);
  return done();
}

command_result command_core::fail_qp(std::uint32_t number) {
  qp_record* qp = owned(tables_.qps, number);
  if (qp == nullptr) {
    return fail(command_status::BadResource, command_syndrome::NoQp);
  }
  qp->common.state = qp_state::Err;
  qp->context.state = qpc_state::Err;
  write_line(context_kind::qpc_common, number, qp->common);
  tell_owners(number, *qp);
  return done();
}

/// What CREATE_QP gave stays.
command_result command_core::reset_qp(std::uint32_t number) {
  qp_record* qp = owned(tables_.qps, number);
  if (qp == nullptr) {
    return fail(command_status::BadResource, command_syndrome::NoQp);
  }
  qp->context = qp->created;
  qp->address = {.life = next_life(number)};
  qp->requester = {};
  qp->responder = {};
  qp->rate = {};
  qpc_common& common = qp->common;
  common.state = qp_state::Reset;
  common.mtu = {};
  common.remote_qpn = 0;
  common.pkey = 0;
  common.qkey = 0;
  common.rre = common.rwe = common.rae = 0;
  // The state first: nobody works on a QP whose other lines are being cleared.
  write_line(context_kind::qpc_common, number, common);
  write_line(context_kind::qpc_address, number, qp->address);
  write_line(context_kind::qpc_requester, number, qp->requester);
  write_line(context_kind::qpc_responder, number, qp->responder);
  tell_owners(number, *qp);
  return done();
}

}  // namespace carillon
