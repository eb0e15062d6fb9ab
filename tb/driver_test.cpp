// Bringing a device up, and the way of a completion back to the program.
#include "tb/common/driver_bench.h"

namespace carillon::bench {
namespace {

// Bringing up

TEST_F(drivers, bring_two_hosts_up_through_registers_alone) {
  build();
  run(nothing);
  EXPECT_EQ(first->driver.mac(), FirstMac);
  EXPECT_EQ(second->driver.mac(), FirstMac + 1);
  EXPECT_EQ(first->driver.capabilities().num_uar_pages, 16U);
  // ENABLE, INIT, SET_ROCE_ADDRESS, PD, UAR, MKEY, two CQs, CREATE_QP, INIT, RTR, RTS.
  EXPECT_EQ(first->shared.counters.value(counter::Commands), 12U);
  EXPECT_EQ(first->shared.counters.value(counter::CommandErrors), 0U);
  EXPECT_EQ(first->shared.counters.value(counter::RegisterDenied), 0U);
  EXPECT_GT(first->host.core(0).time(), 12U * 50'000) << "commands take time";
  EXPECT_EQ(first->owner_drain.items.size(), 4U);
  EXPECT_EQ(first->completion_drain.items.size(), 2U);
}

TEST_F(drivers, connect_qps_to_each_other) {
  build({.qps = 2});
  run(nothing);
  for (unsigned i = 0; i < 2; ++i) {
    const queue_pair& mine = *connection->side(0).qps[i];
    const queue_pair& theirs = *connection->side(1).qps[i];
    const auto common = first->line<qpc_common>(context_kind::qpc_common, mine.qpn());
    EXPECT_EQ(common.state, qp_state::Rts);
    EXPECT_EQ(common.remote_qpn, theirs.qpn());
    EXPECT_EQ(common.wqe_base_addr, mine.send_buffer());
    EXPECT_EQ(common.dbr_addr, mine.doorbell_record());
    const auto sends = first->line<qpc_requester>(context_kind::qpc_requester, mine.qpn());
    const auto receives = second->line<qpc_responder>(context_kind::qpc_responder, theirs.qpn());
    EXPECT_EQ(sends.next_send_psn, receives.next_rcv_psn);
    const auto path = first->line<qpc_address>(context_kind::qpc_address, mine.qpn());
    EXPECT_EQ(path.rmac, FirstMac + 1);
    EXPECT_EQ(path.dst_ip, gid_of_ipv4(0x0a000002));
    EXPECT_EQ(path.udp_sport, udp_source_port(0, mine.qpn(), theirs.qpn()));
  }
  const memory_region& buffer = connection->side(0).buffer;
  const auto key = first->line<mkey_line>(context_kind::mkey, buffer.index());
  EXPECT_EQ(key.start_addr, buffer.address);
  EXPECT_EQ(key.len, buffer.length);
  EXPECT_EQ(key.pd, connection->side(0).pd);
}

TEST_F(drivers, see_the_device_state_by_query) {
  build();
  qpc seen;
  run([&](cpu& core, session_side& side) -> task<> {
    seen = co_await side.qps[0]->query(core);
    co_await side.qps[0]->to_error(core);
  });
  EXPECT_EQ(seen.state, qpc_state::Rts);
  EXPECT_EQ(seen.cqn_snd, connection->side(0).send_cq->cqn());
  EXPECT_EQ(first->line<qpc_common>(context_kind::qpc_common, 2).state, qp_state::Err);
}

TEST_F(drivers, say_which_command_was_refused_and_why) {
  build();
  std::string what;
  run([&](cpu& core, session_side& side) -> task<> {
    try {
      co_await side.adapter.register_memory(core, 99, 0x1000, 0x1000);
    } catch (const command_refused& refused) {
      what = refused.what();
    }
  });
  EXPECT_EQ(what, "the device refused CreateMkey: BadResource (NoPd)");
}

TEST_F(drivers, name_the_place_where_no_device_answers) {
  build();
  pci_bus wrong(first->host);
  wrong.adopt({{.bar0 = 0x70000000, .bar2 = 0x2000000000}});
  device nowhere(first->host, wrong, 0, first->shared.posted, gid_of_ipv4(1));
  std::string what;
  run([&](cpu& core, session_side& /*side*/) -> task<> {
    try {
      co_await nowhere.open(core);
    } catch (const config_error& error) {
      what = error.what();
    }
  });
  EXPECT_EQ(what, "no device answers at BAR0 0x70000000: it reads 0xffffffff");
}

// Completions

TEST_F(drivers, complete_unsignaled_work_with_the_next_signaled) {
  build({.log_cq_size = 2, .qp = {.doorbell = doorbell_mode::doorbell_only}});
  std::vector<completion> seen;
  run([&](cpu& core, session_side& side) -> task<> {
    first->uar.complete = true;
    queue_pair& qp = *side.qps[0];
    for (std::uint64_t id = 0; id < 12; ++id) {
      std::array<work_request, 2> batch = {write(8, 100 + id), write(8, 200 + id)};
      batch[0].signaled = false;
      co_await qp.post_send(core, batch);
      completion done;
      const unsigned count = co_await side.send_cq->wait(core, std::span(&done, 1));
      EXPECT_EQ(count, 1U);
      seen.push_back(done);
    }
    completion none;
    EXPECT_EQ(co_await side.send_cq->poll(core, std::span(&none, 1)), 0U);
    EXPECT_EQ(qp.free_wqebbs(), 64U);
  });
  // Twelve entries through a ring of four: the owner bit turns three times.
  ASSERT_EQ(seen.size(), 12U);
  for (std::uint64_t id = 0; id < 12; ++id) {
    EXPECT_EQ(seen[id].id, 200 + id);
    EXPECT_EQ(seen[id].wqe_counter, 2 * id + 1);
    EXPECT_EQ(seen[id].bytes, 77U);
    EXPECT_FALSE(seen[id].failed());
  }
  EXPECT_EQ(finished.all.size(), 24U);
}

TEST_F(drivers, report_the_syndrome_of_failed_work) {
  build();
  completion done;
  run([&](cpu& core, session_side& side) -> task<> {
    first->uar.complete = true;
    first->uar.opcode = cqe_opcode::RequesterError;
    first->uar.syndrome = static_cast<std::uint8_t>(cqe_syndrome::LocalProtection);
    co_await side.qps[0]->post_send(core, write(8, 5));
    co_await side.send_cq->wait(core, std::span(&done, 1));
  });
  EXPECT_TRUE(done.failed());
  EXPECT_EQ(done.syndrome, cqe_syndrome::LocalProtection);
  EXPECT_EQ(done.vendor_syndrome, 0x93U);
  EXPECT_EQ(done.id, 5U);
}

TEST_F(drivers, follow_a_message_from_the_post_to_the_poll_without_a_gap) {
  parameters params;
  params.cpu.post_ps = 20'000;
  params.cpu.wqe_build_ps = 10'000;
  params.cpu.dbrec_write_ps = 1'000;
  params.cpu.fence_ps = 25'000;
  params.cpu.mmio_store_ps = 5'000;
  params.cpu.poll_cqe_ps = 15'000;
  build({.qp = {.doorbell = doorbell_mode::doorbell_only}}, 1, params);
  ps_t begin = 0;
  ps_t end = 0;
  run([&](cpu& core, session_side& side) -> task<> {
    first->uar.complete = true;
    begin = core.time();
    co_await side.qps[0]->post_send(core, write(8));
    completion done;
    co_await side.send_cq->wait(core, std::span(&done, 1));
    end = core.time();
  });
  ASSERT_EQ(finished.all.size(), 1U);
  const message_record& message = finished.all[0];
  const std::vector<span> path = message.path(milestone::post, milestone::cqe_seen);
  ASSERT_FALSE(path.empty());
  ps_t sum = 0;
  for (const span& each : path) {
    sum += each.end - each.begin;
  }
  EXPECT_EQ(path.front().begin, begin);
  EXPECT_EQ(sum, message.time_of(milestone::cqe_seen) - begin);
  EXPECT_EQ(message.time_of(milestone::cqe_seen) + 1'000, end) << "then the CQ's record is written";
  // Entry and WQE are one service after the other; record, fence and store follow at once.
  EXPECT_EQ(path[0].end - begin, 20'000U);
  EXPECT_EQ(path[1].end - begin, 30'000U);
  EXPECT_EQ(path[2].end - begin, 31'000U);
  EXPECT_EQ(path[3].end - begin, 56'000U);
  EXPECT_EQ(path[4].end - begin, 61'000U);
  EXPECT_EQ(context->trace.name(path[4].place), "host0.cpu0");
  EXPECT_EQ(context->trace.name(path[5].place), "host0.root_complex");
  EXPECT_TRUE(message.reached(milestone::doorbell));
  EXPECT_TRUE(message.reached(milestone::cqe_written));
  // The poll is on the core's grid of 10 ns, and the CQE taken 15 ns later.
  const span& last = path.back();
  EXPECT_EQ(last.end - last.begin, 15'000U);
}

TEST_F(drivers, tell_the_nic_which_message_a_wqe_is) {
  build();
  trace_ref early;
  run([&](cpu& core, session_side& side) -> task<> {
    const std::array<work_request, 2> batch = {write(8), write(8)};
    co_await side.qps[0]->post_send(core, batch);
    early = first->shared.posted.find(side.qps[0]->qpn(), 0);
    EXPECT_NE(first->shared.posted.find(side.qps[0]->qpn(), 1).message, early.message);
    EXPECT_EQ(first->shared.posted.find(side.qps[0]->qpn(), 2).message, 0U);
    EXPECT_EQ(first->shared.posted.find(99, 0).message, 0U);
  });
  EXPECT_NE(early.message, 0U);
  EXPECT_EQ(rung(0).item.trace.message, early.message + 1) << "the doorbell is the last one's";
}

}  // namespace
}  // namespace carillon::bench
