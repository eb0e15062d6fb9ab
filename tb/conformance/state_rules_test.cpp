// What a queue pair does in each of its states and on the way between them, on the wire and in its
// CQs: one host and NIC against a scripted peer.
//
// "mlx5" is the public driver interface with its table of transitions; what each state may do are
// the RoCE rules: RESET nothing, INIT takes receive WQEs but no packets, RTR receives and answers,
// RTS sends too, SQD begins no new send WQE, SQER flushes the send queue alone, ERR flushes all.
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <tuple>

#include "host/event_queue.h"
#include "tb/common/state_steps.h"

namespace carillon::bench::states {
namespace {

// Before RTS --------------------------------------------------------------------------------------

class state_before_rts : public testing::TestWithParam<std::tuple<qpc_state, doorbell_mode>> {};

TEST_P(state_before_rts, sends_are_dropped_and_counted) {
  const auto& [state, mode] = GetParam();
  peer_bench b;
  b.acknowledges_everything();
  b.run([to = state, how = mode](peer_bench& bench, cpu& core) -> task<> {
    peer_bench::options wanted = plain();
    wanted.qp.doorbell = how;
    co_await connect_fresh(bench, core, wanted);
    co_await bring_up(core, *bench.qp, to);
    co_await bench.post(core, send_of(bench, 1));
    co_await bench.wait_ns(core, LongNs);
    co_await collect(bench, core);
    EXPECT_TRUE(bench.packets.empty());
    EXPECT_TRUE(bench.sends.empty());
    EXPECT_EQ((co_await bench.qp->query(core)).state, to);
    co_await bench.qp->to_reset(core);
    co_await bring_up(core, *bench.qp, qpc_state::Rts);
    co_await bench.post(core, send_of(bench, 2));
    co_await bench.wait_ns(core, LongNs);
    co_await collect(bench, core);
  });
  EXPECT_EQ(b.count(counter::WqeDroppedState), 1U);
  EXPECT_EQ(psns(b), (numbers{OwnPsn}));
  EXPECT_EQ(ids(b.sends), (numbers{2}));
  EXPECT_EQ(syndromes(b.sends), (numbers{0}));
}

INSTANTIATE_TEST_SUITE_P(
    of, state_before_rts,
    testing::Combine(testing::Values(qpc_state::Reset, qpc_state::Init, qpc_state::Rtr),
                     testing::Values(doorbell_mode::automatic, doorbell_mode::doorbell_only)));

TEST(state_rules, init_takes_receives_and_rtr_serves_them) {
  peer_bench b;
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    co_await connect_fresh(bench, core, plain());
    const packet_description message = bench.packet(bth_opcode::RcSendOnly, PeerPsn);
    bench.send(message, pattern(100));
    co_await bench.wait_ns(core, LongNs);
    co_await bring_up(core, *bench.qp, qpc_state::Init);
    co_await bench.post_receive(core, 200);
    bench.send(message, pattern(100));
    co_await bench.wait_ns(core, LongNs);
    EXPECT_TRUE(bench.packets.empty());
    EXPECT_EQ(bench.count(counter::RxDropBadState), 2U);
    co_await bench.qp->to_rtr(core, peer(), plain().connection);
    bench.send(message, pattern(100));
    co_await bench.wait_ns(core, LongNs);
    co_await collect(bench, core);
  });
  ASSERT_EQ(b.packets.size(), 1U);
  EXPECT_EQ(b.packets[0].syndrome(), 0x1f);
  EXPECT_EQ(syndromes(b.receives), (numbers{0}));
  EXPECT_EQ(b.get(0x8000, 100), pattern(100));
}

struct refused_step {
  const char* name;
  qpc_state from;
  task<> (*step)(queue_pair& qp, cpu& core);
};

class state_refused : public testing::TestWithParam<refused_step> {};

// mlx5, table of transitions: what is not in it is refused and changes nothing.
TEST_P(state_refused, is_no_transition) {
  peer_bench b;
  bool refused = false;
  qpc_state after = qpc_state::Reset;
  b.run([&](peer_bench& bench, cpu& core) -> task<> {
    co_await connect_fresh(bench, core, plain());
    co_await bring_up(core, *bench.qp, GetParam().from);
    try {
      co_await GetParam().step(*bench.qp, core);
    } catch (const command_refused& error) {
      refused = error.status == command_status::BadQpState;
    }
    after = (co_await bench.qp->query(core)).state;
  });
  EXPECT_TRUE(refused);
  EXPECT_EQ(after, GetParam().from);
}

task<> into_rtr(queue_pair& qp, cpu& core) {
  const queue_pair_address whom = peer();
  const connection_options how = plain().connection;
  co_await qp.to_rtr(core, whom, how);
}

task<> into_rts(queue_pair& qp, cpu& core) {
  const connection_options how = plain().connection;
  co_await qp.to_rts(core, how);
}

task<> into_init(queue_pair& qp, cpu& core) {
  const connection_options how = plain().connection;
  co_await qp.to_init(core, how);
}

task<> into_sqd(queue_pair& qp, cpu& core) {
  co_await qp.to_sqd(core);
}

task<> out_of_sqd(queue_pair& qp, cpu& core) {
  co_await qp.from_sqd(core);
}

task<> out_of_sqer(queue_pair& qp, cpu& core) {
  co_await qp.sqer_to_rts(core);
}

INSTANTIATE_TEST_SUITE_P(step, state_refused,
                         testing::Values(refused_step{"reset_to_rtr", qpc_state::Reset, into_rtr},
                                         refused_step{"reset_to_rts", qpc_state::Reset, into_rts},
                                         refused_step{"init_to_rts", qpc_state::Init, into_rts},
                                         refused_step{"init_to_sqd", qpc_state::Init, into_sqd},
                                         refused_step{"rtr_to_sqd", qpc_state::Rtr, into_sqd},
                                         refused_step{"rtr_to_rtr", qpc_state::Rtr, into_rtr},
                                         refused_step{"rts_to_init", qpc_state::Rts, into_init},
                                         refused_step{"rts_to_rtr", qpc_state::Rts, into_rtr},
                                         refused_step{"rts_out_of_sqd", qpc_state::Rts, out_of_sqd},
                                         refused_step{"rts_out_of_sqer", qpc_state::Rts,
                                                      out_of_sqer}),
                         [](const auto& each) { return std::string(each.param.name); });

// SQD ---------------------------------------------------------------------------------------------

numbers drained(const std::vector<event>& events) {
  numbers result;
  for (const event& each : events) {
    if (each.kind == event_type::SqDrained) {
      result.push_back(each.number);
    }
  }
  return result;
}

task<> take_events(event_queue& from, cpu& core, std::vector<event>& into) {
  event one;
  while (co_await from.poll(core, std::span(&one, 1)) != 0) {
    into.push_back(one);
  }
}

// What has begun is finished, what has not waits; the event comes with the last acknowledge.
TEST(state_rules, sqd_finishes_what_has_begun_and_then_tells) {
  peer_bench b;
  b.answer = [&b](const seen_packet& got) {
    if (got.parsed.base.ack_req != 0) {
      const bool last = got.opcode() == bth_opcode::RcSendLast;
      b.send(b.acknowledge(got.psn()), {}, last ? 2 * LongNs : 0);
    }
  };
  std::vector<event> events;
  b.run([&events](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    auto eq = co_await event_queue::create(bench.driver, core, *bench.uar, 8, QueueEvents);
    co_await bench.post(core, long_send(bench, 1));
    co_await bench.post(core, send_of(bench, 2));
    co_await bench.qp->to_sqd(core);
    EXPECT_GT(bench.packets.size(), 0U);
    EXPECT_LT(bench.packets.size(), LongPackets) << "it was to be caught in the middle";
    co_await bench.wait_ns(core, 2 * LongNs);
    EXPECT_EQ(bench.packets.size(), LongPackets);
    co_await take_events(*eq, core, events);
    EXPECT_TRUE(drained(events).empty()) << "the last packet is not acknowledged";
    co_await bench.wait_ns(core, 2 * LongNs);
    co_await take_events(*eq, core, events);
    EXPECT_EQ(drained(events), (numbers{bench.qp->qpn()}));
    co_await collect(bench, core);
    EXPECT_EQ(ids(bench.sends), (numbers{1}));
    EXPECT_EQ((co_await bench.qp->query(core)).state, qpc_state::Sqd);
    co_await bench.qp->from_sqd(core);
    co_await bench.wait_ns(core, LongNs);
    co_await collect(bench, core);
    co_await take_events(*eq, core, events);
  });
  ASSERT_EQ(b.packets.size(), LongPackets + 1);
  EXPECT_EQ(b.packets.back().psn(), OwnPsn + LongPackets);
  EXPECT_EQ(syndromes(b.sends), (numbers{0, 0}));
  EXPECT_EQ(drained(events).size(), 1U);
}

TEST(state_rules, sqd_holds_what_comes_and_rts_goes_on_without_a_jump) {
  peer_bench b;
  b.acknowledges_everything();
  std::vector<event> events;
  b.run([&events](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    auto eq = co_await event_queue::create(bench.driver, core, *bench.uar, 8, QueueEvents);
    for (unsigned round = 0; round < 3; ++round) {
      co_await bench.post(core, send_of(bench, 2 * round));
      co_await bench.wait_ns(core, LongNs);
      co_await bench.qp->to_sqd(core);
      co_await bench.post(core, send_of(bench, 2 * round + 1, 2000));
      co_await bench.wait_ns(core, LongNs);
      co_await take_events(*eq, core, events);
      EXPECT_EQ(drained(events).size(), round + 1) << "once each time";
      EXPECT_EQ(bench.packets.size(), 3 * round + 1);
      co_await bench.qp->from_sqd(core);
      co_await bench.wait_ns(core, LongNs);
    }
    co_await collect(bench, core);
  });
  EXPECT_EQ(psns(b), (numbers{OwnPsn, OwnPsn + 1, OwnPsn + 2, OwnPsn + 3, OwnPsn + 4, OwnPsn + 5,
                              OwnPsn + 6, OwnPsn + 7, OwnPsn + 8}));
  EXPECT_EQ(ids(b.sends), (numbers{0, 1, 2, 3, 4, 5}));
}

TEST(state_rules, sqd_still_receives_and_acknowledges) {
  peer_bench b;
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    co_await bench.qp->to_sqd(core);
    co_await bench.post_receive(core, 200);
    bench.send(bench.packet(bth_opcode::RcSendOnly, PeerPsn), pattern(100));
    co_await bench.wait_ns(core, LongNs);
    co_await collect(bench, core);
  });
  ASSERT_EQ(b.packets.size(), 1U);
  EXPECT_EQ(b.packets[0].syndrome(), 0x1f);
  EXPECT_EQ(syndromes(b.receives), (numbers{0}));
}

// ERR ---------------------------------------------------------------------------------------------

TEST(state_rules, error_flushes_both_queues_in_order_and_what_is_posted_late) {
  peer_bench b;
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    for (unsigned i = 1; i <= 3; ++i) {
      co_await bench.post(core, send_of(bench, i));
      co_await bench.post_receive(core, 8, i);
    }
    co_await bench.wait_ns(core, LongNs);
    co_await bench.qp->to_error(core);
    co_await bench.send_completions(core, 3);
    co_await bench.receive_completions(core, 3);
    co_await bench.post(core, send_of(bench, 4));
    co_await bench.post_receive(core, 8, 4);
    co_await bench.send_completions(core);
    co_await bench.receive_completions(core);
    bench.send(bench.packet(bth_opcode::RcSendOnly, PeerPsn), pattern(8));
    co_await bench.wait_ns(core, LongNs);
    co_await collect(bench, core);
  });
  EXPECT_EQ(ids(b.sends), (numbers{1, 2, 3, 4}));
  EXPECT_EQ(syndromes(b.sends), (numbers{5, 5, 5, 5}));
  EXPECT_EQ(ids(b.receives), (numbers{1, 2, 3, 4}));
  EXPECT_EQ(syndromes(b.receives), (numbers{5, 5, 5, 5}));
  EXPECT_EQ(psns(b), (numbers{OwnPsn, OwnPsn + 1, OwnPsn + 2})) << "nothing is answered any more";
}

TEST(state_rules, drain_gives_back_everything_that_was_posted) {
  peer_bench b;
  std::vector<completion> all;
  b.run([&all](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    for (unsigned i = 0; i < 16; ++i) {
      work_request what = send_of(bench, i);
      what.signaled = false;
      co_await bench.post(core, what);
      co_await bench.post_receive(core, 8, 100 + i);  // as many as there is room for
    }
    all = co_await bench.qp->drain(core);
  });
  numbers expected;
  numbers seen_sends;
  numbers seen_receives;
  for (const completion& each : all) {
    EXPECT_EQ(each.syndrome, cqe_syndrome::WrFlushed);
    (each.requester() ? seen_sends : seen_receives).push_back(static_cast<unsigned>(each.id) % 100);
  }
  for (unsigned i = 0; i < 16; ++i) {
    expected.push_back(i);
  }
  EXPECT_EQ(seen_sends, expected);
  EXPECT_EQ(seen_receives, expected);
}

TEST(state_rules, error_from_init_flushes_the_receives) {
  peer_bench b;
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    co_await connect_fresh(bench, core, plain());
    co_await bring_up(core, *bench.qp, qpc_state::Init);
    co_await bench.post_receive(core, 8, 1);
    co_await bench.post_receive(core, 8, 2);
    co_await bench.qp->to_error(core);
    co_await bench.receive_completions(core, 2);
  });
  EXPECT_EQ(ids(b.receives), (numbers{1, 2}));
  EXPECT_EQ(syndromes(b.receives), (numbers{5, 5}));
}

TEST(state_rules, an_idle_queue_pair_in_error_has_nothing_to_report) {
  peer_bench b;
  b.acknowledges_everything();
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    co_await bench.post(core, send_of(bench, 1));
    co_await bench.send_completions(core);
    co_await bench.qp->to_error(core);
    co_await bench.wait_ns(core, LongNs);
    co_await collect(bench, core);
  });
  EXPECT_EQ(syndromes(b.sends), (numbers{0}));
  EXPECT_TRUE(b.receives.empty());
}

// Nobody sends again for a queue pair in ERR: neither the ACK timer nor that of an RNR NAK.
class state_timer : public testing::TestWithParam<bool> {};

TEST_P(state_timer, ends_with_the_error_state) {
  const bool rnr = GetParam();
  peer_bench b;
  b.answer = [&b, rnr](const seen_packet& got) {
    if (rnr) {
      b.send(b.acknowledge(got.psn(), 0x20 | 12));  // 0.64 ms
    }
  };
  b.run([rnr](peer_bench& bench, cpu& core) -> task<> {
    peer_bench::options wanted = plain();
    wanted.connection.ack_timeout = rnr ? 0 : 7;  // 0.5 ms
    co_await bench.connect(core, wanted);
    co_await bench.post(core, send_of(bench, 1));
    co_await bench.post(core, send_of(bench, 2));
    co_await bench.wait_ns(core, LongNs);
    co_await bench.qp->to_error(core);
    co_await bench.send_completions(core, 2);
    co_await bench.wait_ns(core, 2000000);
    co_await collect(bench, core);
  });
  EXPECT_LE(b.packets.size(), 2U);
  EXPECT_EQ(ids(b.sends), (numbers{1, 2}));
  EXPECT_EQ(syndromes(b.sends), (numbers{5, 5}));
}

INSTANTIATE_TEST_SUITE_P(rnr, state_timer, testing::Bool());

// RoCE rules: an error of one side of an RC queue pair is the end of the other side too.
TEST(state_rules, a_failed_request_of_the_peer_flushes_the_send_queue) {
  peer_bench b;
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    co_await bench.post_receive(core, 8, 1);
    co_await bench.post(core, send_of(bench, 2));
    packet_description bad = bench.remote(bth_opcode::RcWriteOnly, PeerPsn, 8);
    bad.remote.rkey ^= 1;
    bench.send(bad, pattern(8));
    co_await bench.send_completions(core);
    co_await bench.receive_completions(core);
    EXPECT_EQ((co_await bench.qp->query(core)).state, qpc_state::Err);
  });
  EXPECT_EQ(b.packets.back().syndrome(), 0x62);
  EXPECT_EQ(syndromes(b.sends), (numbers{5}));
  EXPECT_EQ(syndromes(b.receives), (numbers{5}));
}

TEST(state_rules, a_failed_send_flushes_the_receive_queue) {
  peer_bench b;
  b.answer = [&b](const seen_packet& got) { b.send(b.acknowledge(got.psn(), 0x61)); };
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    co_await bench.post_receive(core, 8, 1);
    co_await bench.post(core, send_of(bench, 2));
    co_await bench.send_completions(core);
    co_await bench.receive_completions(core);
    EXPECT_EQ((co_await bench.qp->query(core)).state, qpc_state::Err);
  });
  EXPECT_EQ(syndromes(b.sends), (numbers{0x12}));
  EXPECT_EQ(syndromes(b.receives), (numbers{5}));
}

}  // namespace
}  // namespace carillon::bench::states
