// The words of the tests about queue pairs: contexts for every step, and ways into every state.
#pragma once

#include "tb/common/command_bench.h"

namespace carillon::bench {

using enum command_opcode;

/// Queue pairs and contexts that are right for every step to RTS.
class qp_commands : public commands {
 protected:
  using commands::commands;

  /// A QP with all that it needs; the numbers are the first ones.
  std::uint32_t make_qp(qpc_service service = qpc_service::Rc) {
    prepare();
    return another_qp(service);
  }

  std::uint32_t another_qp(qpc_service service = qpc_service::Rc) {
    create_qp_in in = qp_request(pd, uar, cqn);
    in.qpc.st = service;
    return make(packed(in, {0x4000}));
  }

  static qpc init_context() {
    qpc wanted;
    wanted.rwe = 1;
    wanted.q_key = 0x11223344;
    wanted.primary_address_path.vhca_port_num = 1;
    return wanted;
  }

  static qpc rtr_context() {
    qpc wanted;
    wanted.mtu = mtu_code::Mtu1024;
    wanted.remote_qpn = 0x123;
    wanted.next_rcv_psn = 0xabcdef;
    wanted.min_rnr_nak = 12;
    wanted.log_rra_max = 3;
    ads& path = wanted.primary_address_path;
    path.rgid_rip = ip(2);
    path.rmac = 0x020000000002;
    path.udp_sport = 0xc001;
    path.hop_limit = 64;
    path.tclass = 24 << 2 | 2;
    path.eth_prio = 3;
    return wanted;
  }

  static qpc rts_context() {
    qpc wanted;
    wanted.next_send_psn = 0x111111;
    wanted.retry_count = 7;
    wanted.rnr_retry = 6;
    wanted.log_sra_max = 2;
    wanted.log_ack_req_freq = 5;
    wanted.primary_address_path.ack_timeout = 14;
    return wanted;
  }

  /// A context that is right for every transition.
  static qpc any_context() {
    qpc wanted = rtr_context();
    wanted.next_send_psn = 0x111111;
    return wanted;
  }

  void to_rtr(std::uint32_t qpn) {
    make(modify(Rst2InitQp, qpn, init_context()));
    make(modify(Init2RtrQp, qpn, rtr_context()));
  }

  void to_rts(std::uint32_t qpn) {
    to_rtr(qpn);
    make(modify(Rtr2RtsQp, qpn, rts_context()));
  }

  /// The pipeline has put the QP into this state.
  void fell_into(std::uint32_t qpn, qp_state state) {
    qpc_common common = core.tables().qps.at(qpn).common;
    common.state = state;
    observe(context_kind::qpc_common, qpn, common);
  }

  void bring_to(std::uint32_t qpn, qp_state state) {
    make(simple(ToRstQp, qpn));
    switch (state) {
      case qp_state::Reset:
        return;
      case qp_state::Init:
        make(modify(Rst2InitQp, qpn, init_context()));
        return;
      case qp_state::Rtr:
        to_rtr(qpn);
        return;
      case qp_state::Rts:
        to_rts(qpn);
        return;
      case qp_state::Sqd:
        to_rts(qpn);
        make(modify(Rts2SqdQp, qpn, {}));
        return;
      default:
        to_rts(qpn);
        fell_into(qpn, state);
        return;
    }
  }

  qpc query(std::uint32_t qpn) {
    make(simple(QueryQp, qpn));
    return query_qp_out::unpack(output.data()).qpc;
  }

  [[nodiscard]] qp_state state() const { return line<qpc_common>(context_kind::qpc_common).state; }
};

}  // namespace carillon::bench
