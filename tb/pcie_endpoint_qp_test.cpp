// The commands about queue pairs, without time: creation, the state machine with the attributes of
// every transition, query. Expected lines are the formats of docs/spec/contexts.toml filled in by
// hand from what the commands carry.
#include <map>
#include <set>
#include <utility>

#include "pcie_endpoint/commands.h"
#include "tb/common/command_bench.h"

namespace carillon {
namespace {

using bench::gid_request;
using bench::input;
using bench::ip;
using bench::ip6;
using bench::modify;
using bench::packed;
using bench::qp_request;
using bench::simple;
using bench::srq_request;
using enum command_opcode;

class qp_commands : public bench::commands {
 protected:
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

// Creation

TEST_F(qp_commands, a_qp_is_created_in_reset_with_the_receive_queue_before_the_send_queue) {
  EXPECT_EQ(make_qp(), 2U);  // 0 and 1 are the special queue pairs
  ASSERT_EQ(core.effects().lines.size(), 4U);
  EXPECT_EQ(core.effects().lines.back().kind, context_kind::qpc_common)
      << "the line that makes it valid comes last";
  qpc_common expected;
  expected.state = qp_state::Reset;
  expected.service = qp_service::Rc;
  expected.valid = 1;
  expected.log_sq_size = 4;
  expected.log_rq_size = 3;
  expected.log_rq_stride = 1;
  expected.pd = pd;
  expected.uar_page = uar;
  expected.rq_base_addr = 0x4000;
  expected.wqe_base_addr = 0x4100;
  expected.cq_num_send = cqn;
  expected.cq_num_recv = cqn;
  expected.dbr_addr = 0xa000;
  expected.user_index = 77;
  EXPECT_EQ(line<qpc_common>(context_kind::qpc_common), expected);
  ASSERT_TRUE(core.effects().qp.has_value());
  EXPECT_EQ(core.effects().qp->qpn, 2U);
  EXPECT_EQ(core.effects().qp->state, 0U);
  EXPECT_EQ(core.effects().qp->log_sq_size, 4U);
  EXPECT_EQ(qpc_common::unpack(core.effects().qp->common.data()), expected);
}

TEST_F(qp_commands, a_qp_of_a_shared_receive_queue_names_it_and_has_none_of_its_own) {
  prepare();
  const std::uint32_t srqn = make(packed(srq_request(pd), {0x6000}));
  create_qp_in in = qp_request(pd, uar, cqn);
  in.qpc.st = qpc_service::Ud;
  in.qpc.rq_type = rq_type::Srq;
  in.qpc.srqn_rmpn_xrqn = srqn;
  make(packed(in, {0x4000}));
  const auto common = line<qpc_common>(context_kind::qpc_common);
  EXPECT_EQ(common.srq, 1U);
  EXPECT_EQ(common.no_rq, 0U);
  EXPECT_EQ(common.rq_base_addr, srqn);
  EXPECT_EQ(common.wqe_base_addr, 0x4000U) << "the send queue alone is in the buffer";
  EXPECT_EQ(common.service, qp_service::Ud);
}

TEST_F(qp_commands, a_qp_without_a_receive_queue_has_its_send_queue_alone) {
  prepare();
  create_qp_in in = qp_request(pd, uar, cqn);
  in.qpc.rq_type = rq_type::None;
  make(packed(in, {0x4000}));
  const auto common = line<qpc_common>(context_kind::qpc_common);
  EXPECT_EQ(common.no_rq, 1U);
  EXPECT_EQ(common.srq, 0U);
  EXPECT_EQ(common.wqe_base_addr, 0x4000U);
}

TEST_F(qp_commands, signatures_are_switched_on_at_creation) {
  prepare();
  create_qp_in in = qp_request(pd, uar, cqn);
  in.qpc.wq_signature = 1;
  make(packed(in, {0x4000}));
  EXPECT_EQ(line<qpc_common>(context_kind::qpc_common).sig_enable, 1U);
  // A receive WQE of 16 bytes has no room for its signature and data.
  in.qpc.log_rq_stride = 0;
  refused(packed(in, {0x4000}), command_status::BadParameter, command_syndrome::QueueLayout);
}

TEST_F(qp_commands, a_qp_with_impossible_attributes_is_refused) {
  make_qp();
  const auto with = [&](auto change, const std::vector<std::uint64_t>& pages = {0x4000}) {
    create_qp_in in = qp_request(pd, uar, cqn);
    change(in, in.qpc);
    return packed(in, pages);
  };
  const auto resource = [&](auto change, command_syndrome why) {
    refused(with(change), command_status::BadResource, why);
  };
  const auto parameter = [&](auto change, command_syndrome why) {
    refused(with(change), command_status::BadParameter, why);
  };
  resource([](auto&, qpc& q) { q.pd = 99; }, command_syndrome::NoPd);
  resource([](auto&, qpc& q) { q.uar_page = 9; }, command_syndrome::NoUar);
  resource([](auto&, qpc& q) { q.cqn_rcv = 9; }, command_syndrome::NoCq);
  resource([](auto&, qpc& q) { q.cqn_snd = 9; }, command_syndrome::NoCq);
  resource([](auto&, qpc& q) { q.rq_type = rq_type::Srq; }, command_syndrome::NoSrq);
  parameter([](auto&, qpc& q) { q.st = qpc_service::Xrc; }, command_syndrome::Service);
  parameter([](auto&, qpc& q) { q.rq_type = rq_type::Crq; }, command_syndrome::Option);
  parameter([](auto&, qpc& q) { q.no_sq = 1; }, command_syndrome::Option);
  parameter([](auto&, qpc& q) { q.cs_req = 0x11; }, command_syndrome::Option);
  parameter([](auto&, qpc& q) { q.cs_res = 1; }, command_syndrome::Option);
  parameter([](auto&, qpc& q) { q.cd_master = 1; }, command_syndrome::Option);
  parameter([](auto&, qpc& q) { q.cd_slave_send = 1; }, command_syndrome::Option);
  parameter([](auto&, qpc& q) { q.cd_slave_receive = 1; }, command_syndrome::Option);
  parameter([](auto&, qpc& q) { q.dbr_umem_valid = 1; }, command_syndrome::Option);
  parameter([](auto& in, qpc&) { in.wq_umem_valid = 1; }, command_syndrome::Option);
  parameter([](auto& in, qpc&) { in.input_qpn = 5; }, command_syndrome::Option);
  parameter([](auto& in, qpc&) { in.qpc_ext = 1; }, command_syndrome::Option);
  parameter([](auto&, qpc& q) { q.dbr_addr = 0xa004; }, command_syndrome::QueueLayout);
  parameter([](auto&, qpc& q) { q.log_rq_size = q.log_rq_stride = 0; },
            command_syndrome::QueueLayout);
  // 128 WQEBBs and the receive queue need three pages: they must be said, and follow each other.
  const auto large = [](auto&, qpc& q) { q.log_sq_size = 7; };
  refused(with(large, {0x4000, 0x5000}), command_status::BadInputLength,
          command_syndrome::InputLength);
  refused(with(large, {0x4000, 0x6000, 0x8000}), command_status::BadParameter,
          command_syndrome::QueueLayout);
  EXPECT_EQ(make(with(large, {0x4000, 0x5000, 0x6000})), 3U);
  command_limits small = limits();
  small.log_max_qp_size = 3;
  small.log_max_qp = 2;  // QPs 2 and 3
  core = command_core(small);
  prepare();
  refused(with([](auto&, qpc&) {}), command_status::LimitExceeded, command_syndrome::QueueSize);
  const auto fits = [](auto&, qpc& q) { q.log_sq_size = 3; };
  make(with(fits));
  make(with(fits));
  refused(with(fits), command_status::NoResources, command_syndrome::TableFull);
}

TEST_F(qp_commands, objects_in_use_cannot_be_destroyed) {
  const std::uint32_t qpn = make_qp();
  const auto in_use = [&](command_opcode opcode, std::uint32_t number) {
    refused(simple(opcode, number), command_status::ResourceBusy, command_syndrome::InUse);
  };
  in_use(DeallocPd, pd);
  in_use(DestroyCq, cqn);
  in_use(DeallocUar, uar);
  make(simple(DestroyQp, qpn));
  EXPECT_EQ(line<qpc_common>(context_kind::qpc_common), qpc_common{});
  EXPECT_EQ(core.effects().qp->state, 0U);
  make(simple(DestroyCq, cqn));
  make(simple(DeallocPd, pd));
  make(simple(DeallocUar, uar));
  refused(simple(QueryQp, qpn), command_status::BadResource, command_syndrome::NoQp);
}

// The way to RTS

TEST_F(qp_commands, an_rc_qp_goes_to_rts_and_every_line_holds_what_the_commands_said) {
  const std::uint32_t qpn = make_qp();
  make(modify(Rst2InitQp, qpn, init_context()));
  EXPECT_EQ(state(), qp_state::Init);
  EXPECT_EQ(static_cast<unsigned>(state()), 2U);
  EXPECT_EQ(line<qpc_common>(context_kind::qpc_common).rwe, 1U);
  EXPECT_EQ(line<qpc_common>(context_kind::qpc_common).pkey, 0xffffU);

  make(modify(Init2RtrQp, qpn, rtr_context()));
  const auto common = line<qpc_common>(context_kind::qpc_common);
  EXPECT_EQ(static_cast<unsigned>(common.state), 3U);
  EXPECT_EQ(common.mtu, mtu_code::Mtu1024);
  EXPECT_EQ(common.remote_qpn, 0x123U);
  EXPECT_EQ(common.rwe, 1U);
  qpc_address address;
  address.ip_version = 4;
  address.eth_prio = 3;
  address.tclass = 0x62;
  address.hop_limit = 64;
  address.rmac = 0x020000000002;
  address.udp_sport = 0xc001;
  address.remote_qpn = 0x123;
  address.pkey = 0xffff;
  address.src_ip = ip(1);
  address.dst_ip = ip(2);
  EXPECT_EQ(line<qpc_address>(context_kind::qpc_address), address);
  qpc_responder responder;
  responder.min_rnr_nak = 12;
  responder.log_rra_max = 3;
  responder.next_rcv_psn = 0xabcdef;
  EXPECT_EQ(line<qpc_responder>(context_kind::qpc_responder), responder);
  EXPECT_EQ(core.effects().qp->receive_psn, 0xabcdefU);
  EXPECT_EQ(core.effects().lines.back().kind, context_kind::qpc_common) << "the state comes last";

  make(modify(Rtr2RtsQp, qpn, rts_context()));
  EXPECT_EQ(static_cast<unsigned>(state()), 4U);
  qpc_requester requester;
  requester.retry_count = requester.cur_retry_count = 7;
  requester.rnr_retry = requester.cur_rnr_retry = 6;
  requester.log_sra_max = 2;
  requester.ack_timeout = 14;
  requester.log_ack_req_freq = 5;
  requester.next_send_psn = requester.last_acked_psn = 0x111111;
  EXPECT_EQ(line<qpc_requester>(context_kind::qpc_requester), requester);
  EXPECT_EQ(core.effects().qp->state, 4U);
  EXPECT_EQ(core.effects().qp->send_psn, 0x111111U);
  EXPECT_EQ(qpc_requester::unpack(core.effects().qp->requester.data()), requester);
  EXPECT_EQ(qpc_responder::unpack(core.effects().qp->responder.data()), responder);

  const qpc seen = query(qpn);
  EXPECT_EQ(static_cast<unsigned>(seen.state), 3U) << "a host calls RTS 3";
  EXPECT_EQ(seen.next_send_psn, 0x111111U);
  EXPECT_EQ(seen.remote_qpn, 0x123U);
  EXPECT_EQ(seen.mtu, mtu_code::Mtu1024);
  EXPECT_EQ(seen.retry_count, 7U);
  EXPECT_EQ(seen.primary_address_path.ack_timeout, 14U);
  EXPECT_EQ(seen.primary_address_path.rgid_rip, ip(2));
  EXPECT_EQ(seen.primary_address_path.vhca_port_num, 1U) << "of RST2INIT";
}

TEST_F(qp_commands, a_uc_qp_allows_writes_alone_and_has_neither_timers_nor_reads) {
  const std::uint32_t qpn = make_qp(qpc_service::Uc);
  qpc wanted = init_context();
  wanted.rre = wanted.rae = 1;
  make(modify(Rst2InitQp, qpn, wanted));
  const auto common = line<qpc_common>(context_kind::qpc_common);
  EXPECT_EQ(common.rwe, 1U);
  EXPECT_EQ(common.rre, 0U);
  EXPECT_EQ(common.rae, 0U);
  make(modify(Init2RtrQp, qpn, rtr_context()));
  qpc_responder responder;
  responder.next_rcv_psn = 0xabcdef;
  EXPECT_EQ(line<qpc_responder>(context_kind::qpc_responder), responder);
  EXPECT_EQ(line<qpc_address>(context_kind::qpc_address).dst_ip, ip(2));
  make(modify(Rtr2RtsQp, qpn, rts_context()));
  qpc_requester requester;
  requester.next_send_psn = requester.last_acked_psn = 0x111111;
  EXPECT_EQ(line<qpc_requester>(context_kind::qpc_requester), requester);
}

TEST_F(qp_commands, a_ud_qp_has_a_queue_key_and_a_source_but_no_peer) {
  const std::uint32_t qpn = make_qp(qpc_service::Ud);
  make(modify(Rst2InitQp, qpn, init_context()));
  const auto common = line<qpc_common>(context_kind::qpc_common);
  EXPECT_EQ(common.qkey, 0x11223344U);
  EXPECT_EQ(common.rwe, 0U);
  qpc nothing;
  nothing.primary_address_path.eth_prio = 3;
  make(modify(Init2RtrQp, qpn, nothing));
  qpc_address address;
  address.ip_version = 4;
  address.eth_prio = 3;
  address.pkey = 0xffff;
  address.src_ip = ip(1);
  EXPECT_EQ(line<qpc_address>(context_kind::qpc_address), address);
  EXPECT_EQ(line<qpc_common>(context_kind::qpc_common).mtu, mtu_code::Mtu4096)
      << "datagrams as long as the port takes";
  EXPECT_EQ(line<qpc_common>(context_kind::qpc_common).remote_qpn, 0U);
  make(modify(Rtr2RtsQp, qpn, rts_context()));
  EXPECT_EQ(line<qpc_requester>(context_kind::qpc_requester).next_send_psn, 0x111111U);
  EXPECT_EQ(line<qpc_requester>(context_kind::qpc_requester).ack_timeout, 0U);
  EXPECT_EQ(query(qpn).q_key, 0x11223344U);
}

// Which transitions there are

// formats.md has it from the mlx5 driver; RTS to SQD is of the verbs. SQERR2RTS is for UC and UD.
TEST_F(qp_commands, only_the_transitions_of_the_table_are_allowed_and_others_change_nothing) {
  const std::map<command_opcode, std::pair<qp_state, qp_state>> table = {
      {Rst2InitQp, {qp_state::Reset, qp_state::Init}},
      {Init2InitQp, {qp_state::Init, qp_state::Init}},
      {Init2RtrQp, {qp_state::Init, qp_state::Rtr}},
      {Rtr2RtsQp, {qp_state::Rtr, qp_state::Rts}},
      {Rts2RtsQp, {qp_state::Rts, qp_state::Rts}},
      {Sqerr2RtsQp, {qp_state::Sqer, qp_state::Rts}},
      {Rts2SqdQp, {qp_state::Rts, qp_state::Sqd}},
      {Sqd2RtsQp, {qp_state::Sqd, qp_state::Rts}},
  };
  prepare();
  unsigned allowed = 0;
  for (const auto service : {qpc_service::Rc, qpc_service::Uc, qpc_service::Ud}) {
    const std::uint32_t qpn = another_qp(service);
    for (unsigned from = 0; from < 8; ++from) {
      for (const auto& [opcode, step] : table) {
        SCOPED_TRACE(testing::Message()
                     << to_string(service) << " " << to_string(opcode) << " from state " << from);
        bring_to(qpn, static_cast<qp_state>(from));
        const bool possible = opcode != Sqerr2RtsQp || service != qpc_service::Rc;
        if (static_cast<qp_state>(from) != step.first || !possible) {
          refused(modify(opcode, qpn, any_context()), command_status::BadQpState,
                  command_syndrome::Transition);
          continue;
        }
        ++allowed;
        make(modify(opcode, qpn, any_context()));
        EXPECT_EQ(state(), step.second);
        EXPECT_EQ(core.effects().qp->state, static_cast<unsigned>(step.second));
        EXPECT_EQ(query(qpn).state, to_host(step.second));
      }
      for (const auto& [opcode, to] :
           {std::pair{ToErrQp, qp_state::Err}, std::pair{ToRstQp, qp_state::Reset}}) {
        bring_to(qpn, static_cast<qp_state>(from));
        make(simple(opcode, qpn));
        EXPECT_EQ(state(), to);
        EXPECT_EQ(core.effects().qp->state, static_cast<unsigned>(to));
      }
    }
  }
  EXPECT_EQ(allowed, 3U * 8 - 1);
}

// The driver's table of optional attributes, without what the chip does not have.
TEST_F(qp_commands, only_the_optional_attributes_of_the_table_are_allowed) {
  const std::set<unsigned> access = {QpOptRre, QpOptRae, QpOptRwe};
  const std::set<unsigned> place = {QpOptPkeyIndex, QpOptPort};
  const auto both = [](std::set<unsigned> all, const std::set<unsigned>& more) {
    all.insert(more.begin(), more.end());
    return all;
  };

  struct row {
    command_opcode opcode;
    qp_state from;
    std::set<unsigned> rc, uc, ud;
  };

  const std::vector<row> table = {
      {Rst2InitQp, qp_state::Reset, {}, {}, {}},
      {Init2InitQp, qp_state::Init, both(access, place), both({QpOptRwe}, place),
       both({QpOptQkey}, place)},
      {Init2RtrQp,
       qp_state::Init,
       both(access, {QpOptPkeyIndex}),
       {QpOptRwe, QpOptPkeyIndex},
       {QpOptQkey, QpOptPkeyIndex}},
      {Rtr2RtsQp, qp_state::Rtr, both(access, {QpOptRnrTimeout}), {QpOptRwe}, {QpOptQkey}},
      {Rts2RtsQp, qp_state::Rts, both(access, {QpOptRnrTimeout}), {QpOptRwe}, {QpOptQkey}},
      {Sqerr2RtsQp, qp_state::Sqer, {}, {QpOptRwe}, {QpOptQkey}},
      {Rts2SqdQp, qp_state::Rts, {}, {}, {}},
      {Sqd2RtsQp, qp_state::Sqd, both(access, {QpOptRnrTimeout}), {QpOptRwe}, {QpOptQkey}},
  };
  prepare();
  for (const auto service : {qpc_service::Rc, qpc_service::Uc, qpc_service::Ud}) {
    const std::uint32_t qpn = another_qp(service);
    for (const row& each : table) {
      if (each.opcode == Sqerr2RtsQp && service == qpc_service::Rc) {
        continue;  // never allowed
      }
      const std::set<unsigned>& options = service == qpc_service::Rc   ? each.rc
                                          : service == qpc_service::Uc ? each.uc
                                                                       : each.ud;
      for (unsigned bit = 0; bit < 32; ++bit) {
        SCOPED_TRACE(testing::Message()
                     << to_string(service) << " " << to_string(each.opcode) << " option " << bit);
        bring_to(qpn, each.from);
        const input in = modify(each.opcode, qpn, any_context(), 1U << bit);
        if (options.contains(1U << bit)) {
          make(in);
        } else {
          refused(in, command_status::BadParameter, command_syndrome::Option);
        }
      }
    }
  }
}

// What attributes must be

TEST_F(qp_commands, an_impossible_path_is_refused) {
  const std::uint32_t qpn = make_qp();
  make(modify(Rst2InitQp, qpn, init_context()));
  const auto with = [&](auto change) {
    qpc wanted = rtr_context();
    change(wanted, wanted.primary_address_path);
    return modify(Init2RtrQp, qpn, wanted);
  };
  const auto parameter = [&](auto change, command_syndrome why) {
    refused(with(change), command_status::BadParameter, why);
  };
  parameter([](qpc& q, ads&) { q.mtu = static_cast<mtu_code>(6); }, command_syndrome::Mtu);
  parameter([](qpc& q, ads&) { q.mtu = static_cast<mtu_code>(0); }, command_syndrome::Mtu);
  parameter([](qpc&, ads& path) { path.rgid_rip = {}; }, command_syndrome::Path);
  parameter([](qpc&, ads& path) { path.rgid_rip = ip6(2); }, command_syndrome::Path);
  parameter([](qpc&, ads& path) { path.vhca_port_num = 2; }, command_syndrome::Path);
  refused(with([](qpc&, ads& path) { path.src_addr_index = 1; }), command_status::BadIndex,
          command_syndrome::NoGid);
  refused(with([](qpc&, ads& path) { path.src_addr_index = 16; }), command_status::BadIndex,
          command_syndrome::NoGid);
  // A GID that was deleted is none.
  make(packed(gid_request(0, {})));
  refused(with([](qpc&, ads&) {}), command_status::BadIndex, command_syndrome::NoGid);
}

TEST_F(qp_commands, a_ud_qp_needs_a_source_too) {
  const std::uint32_t qpn = make_qp(qpc_service::Ud);
  make(modify(Rst2InitQp, qpn, init_context()));
  make(packed(gid_request(0, {})));
  refused(modify(Init2RtrQp, qpn, {}), command_status::BadIndex, command_syndrome::NoGid);
}

TEST_F(qp_commands, more_reads_than_the_capabilities_say_are_refused) {
  const std::uint32_t qpn = make_qp();
  make(modify(Rst2InitQp, qpn, init_context()));
  qpc wanted = rtr_context();
  wanted.log_rra_max = 5;  // 32 of at most 16
  refused(modify(Init2RtrQp, qpn, wanted), command_status::BadParameter,
          command_syndrome::ReadLimit);
  wanted.log_rra_max = 4;
  make(modify(Init2RtrQp, qpn, wanted));
  wanted = rts_context();
  wanted.log_sra_max = 5;
  refused(modify(Rtr2RtsQp, qpn, wanted), command_status::BadParameter,
          command_syndrome::ReadLimit);
  wanted.log_sra_max = 4;
  make(modify(Rtr2RtsQp, qpn, wanted));
}

TEST_F(qp_commands, an_ipv6_path_takes_its_vlan_from_the_gid_entry) {
  const std::uint32_t qpn = make_qp();
  set_roce_address_in gid = gid_request(3, ip6(1));
  gid.roce_address.vlan_valid = 1;
  gid.roce_address.vlan_id = 0x234;
  make(packed(gid));
  make(modify(Rst2InitQp, qpn, init_context()));
  qpc wanted = rtr_context();
  wanted.primary_address_path.src_addr_index = 3;
  wanted.primary_address_path.rgid_rip = ip6(2);
  wanted.primary_address_path.flow_label = 0x54321;
  wanted.primary_address_path.fl = 1;
  make(modify(Init2RtrQp, qpn, wanted));
  const auto address = line<qpc_address>(context_kind::qpc_address);
  EXPECT_EQ(address.ip_version, 6U);
  EXPECT_EQ(address.gid_index, 3U);
  EXPECT_EQ(address.vlan_valid, 1U);
  EXPECT_EQ(address.vlan_id, 0x234U);
  EXPECT_EQ(address.src_ip, ip6(1));
  EXPECT_EQ(address.dst_ip, ip6(2));
  EXPECT_EQ(address.flow_label, 0x54321U);
  EXPECT_EQ(address.loopback, 1U);
}

TEST_F(qp_commands, forced_dscp_and_ecn_replace_their_part_of_the_traffic_class) {
  const auto tclass = [&](bool dscp, bool ecn) {
    const std::uint32_t qpn = another_qp();
    make(modify(Rst2InitQp, qpn, init_context()));
    qpc wanted = rtr_context();
    ads& path = wanted.primary_address_path;
    path.tclass = 0x62;  // DSCP 24, ECT(0)
    path.dscp = 46;
    path.ecn = 1;
    path.f_dscp = dscp ? 1 : 0;
    path.f_ecn = ecn ? 1 : 0;
    make(modify(Init2RtrQp, qpn, wanted));
    return line<qpc_address>(context_kind::qpc_address).tclass;
  };
  prepare();
  EXPECT_EQ(tclass(false, false), 0x62U);
  EXPECT_EQ(tclass(true, false), 0xbaU);  // 46 << 2 | 2
  EXPECT_EQ(tclass(false, true), 0x61U);
  EXPECT_EQ(tclass(true, true), 0xb9U);
}

TEST_F(qp_commands, the_p_key_is_that_of_the_index) {
  command_limits two = limits();
  two.pkeys = {0xffff, 0x8123};
  core = command_core(two);
  const std::uint32_t qpn = make_qp();
  qpc wanted = init_context();
  wanted.primary_address_path.pkey_index = 2;
  refused(modify(Rst2InitQp, qpn, wanted), command_status::BadIndex, command_syndrome::NoPkey);
  wanted.primary_address_path.pkey_index = 1;
  make(modify(Rst2InitQp, qpn, wanted));
  EXPECT_EQ(line<qpc_common>(context_kind::qpc_common).pkey, 0x8123U);
  make(modify(Init2RtrQp, qpn, rtr_context()));
  EXPECT_EQ(line<qpc_address>(context_kind::qpc_address).pkey, 0x8123U);
  EXPECT_EQ(query(qpn).primary_address_path.pkey_index, 1U) << "the path of RTR does not name it";

  bring_to(qpn, qp_state::Init);
  make(modify(Init2InitQp, qpn, wanted, QpOptPkeyIndex));
  EXPECT_EQ(line<qpc_common>(context_kind::qpc_common).pkey, 0x8123U);
  make(modify(Init2RtrQp, qpn, rtr_context(), QpOptPkeyIndex));  // index 0 again
  EXPECT_EQ(line<qpc_common>(context_kind::qpc_common).pkey, 0xffffU);
  EXPECT_EQ(line<qpc_address>(context_kind::qpc_address).pkey, 0xffffU);
}

TEST_F(qp_commands, a_port_that_is_not_there_is_refused) {
  const std::uint32_t qpn = make_qp();
  qpc wanted = init_context();
  wanted.primary_address_path.vhca_port_num = 2;
  refused(modify(Rst2InitQp, qpn, wanted), command_status::BadParameter, command_syndrome::Path);
  make(modify(Rst2InitQp, qpn, init_context()));
  refused(modify(Init2InitQp, qpn, wanted, QpOptPort), command_status::BadParameter,
          command_syndrome::Path);
}

TEST_F(qp_commands, options_change_what_they_name_and_nothing_else) {
  const std::uint32_t qpn = make_qp();
  to_rts(qpn);
  qpc_common expected = line<qpc_common>(context_kind::qpc_common);
  EXPECT_EQ(expected.rre, 0U);
  EXPECT_EQ(expected.rwe, 1U);
  qpc wanted;
  wanted.rre = wanted.rae = 1;
  make(modify(Rts2RtsQp, qpn, wanted, QpOptRre | QpOptRwe));
  expected.rre = 1;
  expected.rwe = 0;
  EXPECT_EQ(line<qpc_common>(context_kind::qpc_common), expected);
  EXPECT_EQ(core.effects().lines.size(), 1U);
  EXPECT_EQ(query(qpn).rre, 1U);
  EXPECT_EQ(query(qpn).rae, 0U);

  const std::uint32_t datagrams = another_qp(qpc_service::Ud);
  to_rts(datagrams);
  wanted.q_key = 0x55667788;
  make(modify(Rts2RtsQp, datagrams, wanted, QpOptQkey));
  EXPECT_EQ(line<qpc_common>(context_kind::qpc_common).qkey, 0x55667788U);
}

// Once packets come, the responder's line has one writer, which is the responder.
TEST_F(qp_commands, a_new_rnr_timer_reaches_the_responder_by_its_command_and_not_by_its_line) {
  const std::uint32_t qpn = make_qp();
  to_rts(qpn);
  qpc wanted;
  wanted.min_rnr_nak = 20;
  make(modify(Rts2RtsQp, qpn, wanted, QpOptRnrTimeout));
  EXPECT_FALSE(wrote(context_kind::qpc_responder));
  const auto told = [&] { return qpc_responder::unpack(core.effects().qp->responder.data()); };
  EXPECT_EQ(told().min_rnr_nak, 20U);
  // A line from before the change does not bring the old value back.
  qpc_responder left;
  left.min_rnr_nak = 12;
  left.next_rcv_psn = 0xabcdf0;
  observe(context_kind::qpc_responder, qpn, left);
  make(modify(Rts2RtsQp, qpn, {}));
  EXPECT_EQ(told().min_rnr_nak, 20U);
  EXPECT_EQ(told().next_rcv_psn, 0xabcdf0U);
  EXPECT_EQ(query(qpn).min_rnr_nak, 20U);
}

TEST_F(qp_commands, to_sqd_and_back_leaves_the_lines_of_both_sides_alone) {
  const std::uint32_t qpn = make_qp();
  to_rts(qpn);
  make(modify(Rts2SqdQp, qpn, any_context()));
  EXPECT_EQ(state(), qp_state::Sqd);
  EXPECT_EQ(core.effects().lines.size(), 1U);
  make(modify(Sqd2RtsQp, qpn, any_context()));
  EXPECT_EQ(state(), qp_state::Rts);
  EXPECT_EQ(core.effects().lines.size(), 1U);
  EXPECT_EQ(query(qpn).remote_qpn, 0x123U);
}

// Errors, reset, query

TEST_F(qp_commands, reset_leaves_what_the_qp_was_created_with) {
  const std::uint32_t qpn = make_qp(qpc_service::Ud);
  const qpc created = query(qpn);
  const qpc_common first = core.tables().qps.at(qpn).common;
  to_rts(qpn);
  make(simple(ToRstQp, qpn));
  EXPECT_EQ(core.effects().lines.front().kind, context_kind::qpc_common) << "the state goes first";
  EXPECT_EQ(line<qpc_common>(context_kind::qpc_common), first);
  EXPECT_EQ(line<qpc_address>(context_kind::qpc_address), qpc_address{});
  EXPECT_EQ(line<qpc_requester>(context_kind::qpc_requester), qpc_requester{});
  EXPECT_EQ(line<qpc_responder>(context_kind::qpc_responder), qpc_responder{});
  EXPECT_EQ(query(qpn), created);
  to_rts(qpn);
}

TEST_F(qp_commands, an_error_that_the_pipeline_set_is_what_the_next_command_sees) {
  const std::uint32_t qpn = make_qp();
  make(modify(Rst2InitQp, qpn, init_context()));
  fell_into(qpn, qp_state::Err);
  EXPECT_EQ(query(qpn).state, qpc_state::Err);
  refused(modify(Init2RtrQp, qpn, rtr_context()), command_status::BadQpState,
          command_syndrome::Transition);
}

TEST_F(qp_commands, a_query_shows_where_the_responder_is) {
  const std::uint32_t qpn = make_qp();
  to_rts(qpn);
  for (const command_opcode opcode : {QueryQp, Rts2RtsQp, ToErrQp, Rts2SqdQp}) {
    const auto reads = core.lines_wanted(0, simple(opcode, qpn));
    ASSERT_EQ(reads.size(), 2U);
    EXPECT_EQ(reads[0].kind, context_kind::qpc_common);
    EXPECT_EQ(reads[1].kind, context_kind::qpc_responder);
    EXPECT_EQ(reads[1].index, qpn);
  }
  qpc_responder left;
  left.next_rcv_psn = 0xabcdf7;
  left.rmsn = 5;
  left.rq_consumer = 3;
  left.rq_db_rec = 8;
  observe(context_kind::qpc_responder, qpn, left);
  const qpc seen = query(qpn);
  EXPECT_EQ(seen.next_rcv_psn, 0xabcdf7U);
  EXPECT_EQ(seen.rmsn, 5U);
  EXPECT_EQ(seen.hw_rq_counter, 3U);
  EXPECT_EQ(seen.sw_rq_counter, 8U);
}

TEST_F(qp_commands, a_transition_without_its_context_is_refused) {
  const std::uint32_t qpn = make_qp();
  input in = modify(Rst2InitQp, qpn, init_context());
  in.resize(in.size() - 8);
  refused(in, command_status::BadInputLength, command_syndrome::InputLength);
  refused(modify(Rst2InitQp, qpn + 1, init_context()), command_status::BadResource,
          command_syndrome::NoQp);
}

TEST_F(qp_commands, state_codes_translate_both_ways) {
  for (unsigned code = 0; code < 8; ++code) {
    EXPECT_EQ(to_chip(to_host(static_cast<qp_state>(code))), static_cast<qp_state>(code));
  }
}

}  // namespace
}  // namespace carillon
