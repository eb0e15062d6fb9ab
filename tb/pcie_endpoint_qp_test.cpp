// The commands about queue pairs, without time: creation, the lines on the way to RTS, reset,
// query. Expected lines are the formats of docs/spec/contexts.toml filled in by hand from what the
// commands carry.
#include "pcie_endpoint/commands.h"
#include "tb/common/qp_command_bench.h"

namespace carillon {
namespace {

using bench::input;
using bench::ip;
using bench::modify;
using bench::packed;
using bench::qp_request;
using bench::simple;
using bench::srq_request;
using enum command_opcode;

class qp_commands : public bench::qp_commands {};

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
  EXPECT_EQ(qpc_common::unpack(core.effects().qp->common.data()), qpc_common{});
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
  address.smac = 0x020000000001;  // the GID entry has none: the port's
  address.life = 1;               // CREATE_QP began it
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
  address.smac = 0x020000000001;
  address.life = 1;
  EXPECT_EQ(line<qpc_address>(context_kind::qpc_address), address);
  EXPECT_EQ(line<qpc_common>(context_kind::qpc_common).mtu, mtu_code::Mtu4096)
      << "datagrams as long as the port takes";
  EXPECT_EQ(line<qpc_common>(context_kind::qpc_common).remote_qpn, 0U);
  make(modify(Rtr2RtsQp, qpn, rts_context()));
  EXPECT_EQ(line<qpc_requester>(context_kind::qpc_requester).next_send_psn, 0x111111U);
  EXPECT_EQ(line<qpc_requester>(context_kind::qpc_requester).ack_timeout, 0U);
  EXPECT_EQ(query(qpn).q_key, 0x11223344U);
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
  EXPECT_EQ(line<qpc_address>(context_kind::qpc_address), qpc_address{.life = 2});
  EXPECT_EQ(line<qpc_requester>(context_kind::qpc_requester), qpc_requester{});
  EXPECT_EQ(line<qpc_responder>(context_kind::qpc_responder), qpc_responder{});
  EXPECT_EQ(query(qpn), created);
  to_rts(qpn);
}

// tx_sched counts the times that it hears RST, so these are the times that count here.
TEST_F(qp_commands, every_reset_begins_another_life_of_the_number_also_the_next_qps) {
  const std::uint32_t qpn = make_qp();
  const auto life = [this] { return line<qpc_address>(context_kind::qpc_address).life; };
  EXPECT_EQ(life(), 1U) << "CREATE_QP";
  to_rtr(qpn);
  EXPECT_EQ(core.tables().qps.at(qpn).address.life, 1U) << "a path is no new life";
  make(simple(ToErrQp, qpn));
  make(simple(ToRstQp, qpn));
  EXPECT_EQ(life(), 2U);
  make(simple(ToRstQp, qpn));
  EXPECT_EQ(life(), 3U);
  make(simple(DestroyQp, qpn));
  EXPECT_EQ(life(), 4U) << "packets of the QP that was are not built";
  EXPECT_EQ(another_qp(), qpn);
  EXPECT_EQ(life(), 5U);
  another_qp();
  EXPECT_EQ(life(), 1U) << "another number has lives of its own";
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
