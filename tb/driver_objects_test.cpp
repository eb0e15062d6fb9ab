// Objects of every kind against the real command interface: what the driver says is what the device
// keeps.
#include "tb/common/driver_bench.h"

namespace carillon::bench {
namespace {

TEST_F(drivers, share_receives_and_report_events) {
  build({.qps = 2,
         .qp = {.wq_signature = true},
         .srq = shared_receive_options{.log_size = 4, .max_sges = 3, .limit = 2},
         .log_eq_size = 8});
  run(nothing);
  const session_side& side = connection->side(0);
  const auto srq = first->line<srq_line>(context_kind::srq, side.srq->srqn());
  EXPECT_EQ(srq.valid, 1U);
  EXPECT_EQ(srq.log_size, 4U);
  EXPECT_EQ(srq.log_stride, 2U) << "the link and three pieces: 64 bytes";
  EXPECT_EQ(srq.lwm, 2U);
  EXPECT_EQ(srq.base_addr, side.srq->buffer());
  EXPECT_EQ(srq.dbr_addr, side.srq->doorbell_record());
  const auto eq = first->line<eqc_line>(context_kind::eqc, side.events->eqn());
  EXPECT_EQ(eq.log_eq_size, 8U);
  EXPECT_EQ(eq.event_bitmask, QueueEvents);
  EXPECT_EQ(eq.base_addr, side.events->buffer());
  EXPECT_EQ(first->line<cqc_line>(context_kind::cqc, side.send_cq->cqn()).eqn, side.events->eqn());
  for (const auto& qp : side.qps) {
    const auto common = first->line<qpc_common>(context_kind::qpc_common, qp->qpn());
    EXPECT_EQ(common.state, qp_state::Rts);
    EXPECT_EQ(common.srq, 1U);
    EXPECT_EQ(common.rq_base_addr, side.srq->srqn());
    EXPECT_EQ(common.sig_enable, 1U);
    EXPECT_EQ(common.wqe_base_addr, qp->send_buffer());
  }
}

TEST_F(drivers, bring_up_datagrams_and_unreliable_connections) {
  build({.qp = {.service = qpc_service::Ud}, .connection = {.qkey = 0x1234}});
  run([&](cpu& core, session_side& side) -> task<> {
    co_await side.qps[0]->update(core, {.qkey = 0x5678});
    const auto uc =
        co_await queue_pair::create(side.adapter, core, side.pd, *side.uar, *side.send_cq,
                                    *side.receive_cq, {.service = qpc_service::Uc});
    co_await uc->to_init(core);
    co_await uc->to_rtr(core, connection->side(1).qps[0]->address(), {});
    co_await uc->to_rts(core, {});
    co_await uc->update(core, {.remote_write = false});
    EXPECT_EQ((co_await uc->query(core)).state, qpc_state::Rts);
    co_await uc->destroy(core);
  });
  const auto common =
      first->line<qpc_common>(context_kind::qpc_common, connection->side(0).qps[0]->qpn());
  EXPECT_EQ(common.state, qp_state::Rts);
  EXPECT_EQ(common.service, qp_service::Ud);
  EXPECT_EQ(common.qkey, 0x5678U);
}

TEST_F(drivers, stop_and_continue_a_send_queue) {
  build({.connection = {.remote_atomic = true}, .buffer_atomics = true});
  std::vector<qpc_state> states;
  run([&](cpu& core, session_side& side) -> task<> {
    queue_pair& qp = *side.qps[0];
    co_await qp.update(core, {.remote_read = false, .min_rnr_nak = 3});
    co_await qp.to_sqd(core);
    states.push_back((co_await qp.query(core)).state);
    co_await qp.from_sqd(core);
    states.push_back((co_await qp.query(core)).state);
    co_await qp.to_reset(core);
    co_await qp.to_init(core);
    states.push_back((co_await qp.query(core)).state);
  });
  EXPECT_EQ(states, (std::vector<qpc_state>{qpc_state::Sqd, qpc_state::Rts, qpc_state::Init}));
  const auto peer =
      second->line<qpc_common>(context_kind::qpc_common, connection->side(1).qps[0]->qpn());
  EXPECT_EQ(peer.rae, 1U);
}

TEST_F(drivers, register_scattered_pages_and_several_addresses) {
  build();
  memory_region region;
  memory_region bound;
  page_list pages;
  run([&](cpu& core, session_side& side) -> task<> {
    pages = page_list::scattered(side.adapter.host(), 0x7000000800, 20 * 4096, 12);
    region = co_await side.adapter.register_pages(
        core, side.pd, pages, 20 * 4096, {.local_write = false, .remote_atomic = true}, 0x42);
    bound = co_await side.adapter.register_memory(core, side.pd, side.buffer.address, 64, {}, 1,
                                                  side.qps[0]->qpn());
    co_await side.adapter.set_address(core, 1, {gid_of_ipv4(0x0a000063), 0x123});
    const auto qp = co_await queue_pair::create(side.adapter, core, side.pd, *side.uar,
                                                *side.send_cq, *side.receive_cq, {});
    co_await qp->to_init(core);
    co_await qp->to_rtr(core, connection->side(1).qps[0]->address(), {.gid_index = 1});
    const auto path = first->line<qpc_address>(context_kind::qpc_address, qp->qpn());
    EXPECT_EQ(path.vlan_valid, 1U);
    EXPECT_EQ(path.vlan_id, 0x123U);
    EXPECT_EQ(path.src_ip, gid_of_ipv4(0x0a000063));
  });
  const auto key = first->line<mkey_line>(context_kind::mkey, region.index());
  EXPECT_EQ(key.contiguous, 0U);
  EXPECT_EQ(key.start_addr, 0x7000000800U);
  EXPECT_EQ(key.variant, 0x42U);
  EXPECT_EQ(key.lw, 0U);
  EXPECT_EQ(key.a, 1U);
  // 20 pages' worth from the middle of a page: 21 entries, eight a line.
  ASSERT_EQ(pages.pages.size(), 21U);
  const auto last = first->line<mtt_line>(context_kind::mtt, key.mtt_base / 8 + 2);
  EXPECT_EQ(last.entry4, pages.pages[20] | 3);
  EXPECT_EQ(last.entry5, 0U);
  EXPECT_EQ(first->line<mkey_line>(context_kind::mkey, bound.index()).qpn,
            connection->side(0).qps[0]->qpn());
}

}  // namespace
}  // namespace carillon::bench
