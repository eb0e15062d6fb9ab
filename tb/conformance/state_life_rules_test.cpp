// How a queue pair ends and begins again: RESET, SQER, destruction, and what its neighbours see of
// it. One host and NIC against a scripted peer.
//
// "mlx5" is the public driver interface: 2RST, SQERR2RTS, DESTROY_QP; RESET forgets, SQER is of UC
// and UD only, and RC is brought back from ERR by RESET alone (RoCE rules).
#include <gtest/gtest.h>
#include <memory>
#include <string>

#include "tb/common/state_steps.h"

namespace carillon::bench::states {
namespace {

constexpr std::uint32_t NewPsn = 0x9000;

connection_options second_life() {
  connection_options how = plain().connection;
  how.psn = NewPsn;
  return how;
}

// RESET -------------------------------------------------------------------------------------------

TEST(state_life_rules, reset_forgets_work_completions_and_late_answers) {
  peer_bench b;
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    peer_bench::options wanted = plain();
    wanted.connection.ack_timeout = 5;  // 131 us
    co_await bench.connect(core, wanted);
    co_await bench.post_receive(core, 200, 1);
    co_await bench.post_receive(core, 200, 2);
    bench.send(bench.packet(bth_opcode::RcSendOnly, PeerPsn), pattern(100));
    co_await bench.post(core, send_of(bench, 3));
    co_await bench.post(core, send_of(bench, 4));
    bench.send(bench.acknowledge(OwnPsn), {}, LongNs / 2);
    co_await bench.wait_ns(core, LongNs);
    EXPECT_TRUE(bench.send_cq->ready()) << "3 has completed, and nobody has looked";
    EXPECT_TRUE(bench.receive_cq->ready());
    co_await bench.qp->to_reset(core);
    const std::size_t before = bench.packets.size();
    bench.send(bench.acknowledge(OwnPsn + 1));
    bench.send(bench.packet(bth_opcode::RcSendOnly, PeerPsn + 1), pattern(100));
    co_await bench.wait_ns(core, 20 * LongNs);
    co_await collect(bench, core);
    EXPECT_EQ(bench.packets.size(), before) << "neither timer nor answer";
    EXPECT_EQ((co_await bench.qp->query(core)).state, qpc_state::Reset);
  });
  EXPECT_TRUE(b.sends.empty());
  EXPECT_TRUE(b.receives.empty());
}

TEST(state_life_rules, a_queue_pair_works_again_after_reset) {
  peer_bench b;
  b.acknowledges_everything();
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    for (unsigned life = 0; life < 3; ++life) {
      for (unsigned i = 0; i < 70; ++i) {  // beyond the end of its ring
        co_await bench.post(core, send_of(bench, i));
        co_await bench.send_completions(core);
      }
      co_await bench.post_receive(core, 200, 0x8000);
      bench.send(bench.packet(bth_opcode::RcSendOnly, PeerPsn), pattern(100, life));
      co_await bench.receive_completions(core);
      EXPECT_EQ(bench.get(0x8000, 100), pattern(100, life));
      co_await bench.qp->to_reset(core);
      co_await bring_up(core, *bench.qp, qpc_state::Rts, second_life());
    }
  });
  EXPECT_EQ(syndromes(b.sends), numbers(210, 0));
  EXPECT_EQ(syndromes(b.receives), (numbers{0, 0, 0}));
  numbers requests;
  for (const seen_packet& each : b.packets) {
    if (!each.parsed.opcode->is_response) {
      requests.push_back(each.psn());
    }
  }
  ASSERT_EQ(requests.size(), 210U);
  for (unsigned i = 0; i < 210; ++i) {
    EXPECT_EQ(requests[i], (i < 70 ? OwnPsn : NewPsn) + i % 70);
  }
}

TEST(state_life_rules, after_an_error_an_rc_queue_pair_is_brought_back_by_reset) {
  peer_bench b;
  b.answer = [&b](const seen_packet& got) {
    b.send(b.acknowledge(got.psn(), got.psn() < NewPsn ? 0x63 : 0x1f));
  };
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    co_await bench.post(core, send_of(bench, 1));
    co_await bench.send_completions(core);
    co_await bench.qp->to_reset(core);
    co_await bring_up(core, *bench.qp, qpc_state::Rts, second_life());
    co_await bench.post(core, send_of(bench, 2));
    co_await bench.post_receive(core, 200, 3);
    co_await bench.send_completions(core);
    bench.answer = {};
    bench.send(bench.packet(bth_opcode::RcSendOnly, PeerPsn), pattern(100));
    co_await bench.receive_completions(core);
  });
  EXPECT_EQ(syndromes(b.sends), (numbers{0x14, 0}));
  EXPECT_EQ(syndromes(b.receives), (numbers{0}));
}

// Of a message that is being sent at that time nothing may come behind the first packet of the new
// life.
TEST(state_life_rules, reset_in_the_middle_of_a_message_ends_it) {
  peer_bench b;
  std::size_t old = 0;
  b.run([&old](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    co_await bench.post(core, long_send(bench, 1));
    co_await bench.qp->to_reset(core);
    old = bench.packets.size();
    EXPECT_GT(old, 0U);
    EXPECT_LT(old, LongPackets) << "it was to be caught in the middle";
    bench.acknowledges_everything();
    co_await bring_up(core, *bench.qp, qpc_state::Rts, second_life());
    co_await bench.post(core, send_of(bench, 2, 3000));
    co_await bench.send_completions(core);
    co_await bench.wait_ns(core, LongNs);
  });
  EXPECT_EQ(ids(b.sends), (numbers{2}));
  const numbers all = psns(b);
  const numbers last(all.end() - 3, all.end());
  EXPECT_EQ(last, (numbers{NewPsn, NewPsn + 1, NewPsn + 2}));
  // Granted (16), in payload DMA's buffers (64), and frames on their way to the wire.
  EXPECT_LE(all.size(), old + 16 + 64 + 8 + 3) << "what was in the pipeline, no more";
}

// The same with responses: a READ of the peer is forgotten.
TEST(state_life_rules, reset_in_the_middle_of_a_response_ends_it) {
  peer_bench b;
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    for (unsigned i = 0; i < 16; ++i) {
      bench.send(bench.remote(bth_opcode::RcReadRequest, PeerPsn + 64 * i, 65536));
    }
    co_await bench.wait_ns(core, 2000);
    co_await bench.qp->to_reset(core);
    EXPECT_GT(bench.packets.size(), 0U);
    EXPECT_LT(bench.packets.size(), 1024U) << "it was to be caught in the middle";
    co_await bring_up(core, *bench.qp, qpc_state::Rts, second_life());
    bench.packets.clear();
    bench.send(bench.remote(bth_opcode::RcReadRequest, PeerPsn, 100));
    co_await bench.wait_ns(core, LongNs);
  });
  ASSERT_EQ(b.packets.size(), 1U);
  EXPECT_EQ(b.packets[0].opcode(), bth_opcode::RcReadResponseOnly);
  EXPECT_EQ(b.packets[0].psn(), PeerPsn);
}

constexpr ps_t Delay = 100000000;

struct late_read {
  const char* name;
  read_kind kind;
};

class state_late_read : public testing::TestWithParam<late_read> {};

// What was read from memory for the old life, and comes in the new one, is for nobody.
TEST_P(state_late_read, of_the_old_life_means_nothing_in_the_new_one) {
  const bytes_t zeros(200);
  peer_bench b;
  b.acknowledges_everything();
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    peer_bench::options wanted = plain();
    wanted.qp.doorbell = doorbell_mode::doorbell_only;
    wanted.rights.remote_atomic = true;
    co_await bench.connect(core, wanted);
    bench.put(0x100, pattern(100, 4));
    read_fault_rule rule;
    rule.fault = read_fault::late;
    rule.kind = GetParam().kind;
    rule.count = 1;
    rule.delay = Delay;
    bench.host.bus.inject(rule);
    const ps_t begun = core.time();
    if (rule.kind == read_kind::wqe || rule.kind == read_kind::payload) {
      co_await bench.post(core, send_of(bench, 1, 100));
    } else if (rule.kind == read_kind::atomic) {
      packet_description add = bench.remote(bth_opcode::RcFetchAdd, PeerPsn, 8, 0x4000);
      add.atomic.swap_add = 1;
      bench.send(add);
    } else {
      co_await bench.post_receive(core, 200, 0x8000);
      bench.send(bench.packet(bth_opcode::RcSendOnly, PeerPsn), pattern(100, 1));
    }
    co_await bench.wait_ns(core, 2000);
    co_await bench.qp->to_reset(core);
    connection_options how = second_life();
    how.remote_atomic = true;
    co_await bring_up(core, *bench.qp, qpc_state::Rts, how);
    co_await bench.post_receive(core, 200, 0xa000);
    bench.send(bench.packet(bth_opcode::RcSendOnly, PeerPsn), pattern(100, 2));
    work_request what = send_of(bench, 2, 100);
    what.sges[0].address += 0x100;
    co_await bench.post(core, what);
    EXPECT_LT(core.time() - begun, Delay) << "the answer was to come later";
    co_await bench.wait_ns(core, 4 * LongNs);
    co_await collect(bench, core);
  });
  EXPECT_EQ(b.host.bus.injected(), 1U);
  EXPECT_EQ(ids(b.receives), (numbers{0xa000}));
  EXPECT_EQ(b.get(0xa000, 100), pattern(100, 2));
  EXPECT_EQ(b.get(0x8000, 200), zeros);
  EXPECT_EQ(b.get(0x4000, 200), zeros);
  EXPECT_EQ(ids(b.sends), (numbers{2}));
  EXPECT_EQ(syndromes(b.sends), (numbers{0}));
  bytes_t sent;
  for (const seen_packet& each : b.packets) {
    const bytes_t part = each.payload();
    sent.insert(sent.end(), part.begin(), part.end());
  }
  EXPECT_EQ(sent, pattern(100, 4)) << "and nothing of the old life";
}

INSTANTIATE_TEST_SUITE_P(of, state_late_read,
                         testing::Values(late_read{"wqe", read_kind::wqe},
                                         late_read{"record", read_kind::record},
                                         late_read{"receive_wqe", read_kind::receive_wqe},
                                         late_read{"atomic", read_kind::atomic},
                                         late_read{"payload", read_kind::payload}),
                         [](const auto& each) { return std::string(each.param.name); });

// SQER --------------------------------------------------------------------------------------------

class state_sqer : public testing::TestWithParam<qpc_service> {};

TEST_P(state_sqer, goes_on_without_a_jump_and_receives_all_the_time) {
  peer_bench b;
  b.run([service = GetParam()](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain(service));
    packet_description message = bench.packet(
        service == qpc_service::Ud ? bth_opcode::UdSendOnly : bth_opcode::UcSendOnly, PeerPsn);
    message.datagram.qkey = 0x11111111;
    for (unsigned round = 0; round < 3; ++round) {
      co_await bench.post_receive(core, 200, round);
      co_await bench.post(core, send_of(bench, 10 * round));
      work_request bad = send_of(bench, 10 * round + 1);
      bad.sges[0].lkey ^= 0x100;
      co_await bench.post(core, bad);
      co_await bench.post(core, send_of(bench, 10 * round + 2));
      co_await bench.send_completions(core, 3);
      EXPECT_EQ((co_await bench.qp->query(core)).state, qpc_state::Sqer);
      co_await bench.post(core, send_of(bench, 10 * round + 3));
      bench.send(message, pattern(100));
      message.psn += 1;
      co_await bench.send_completions(core);
      co_await bench.receive_completions(core);
      co_await bench.qp->sqer_to_rts(core);
    }
    co_await bench.post(core, send_of(bench, 30));
    co_await bench.send_completions(core);
  });
  EXPECT_EQ(ids(b.sends), (numbers{0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23, 30}));
  EXPECT_EQ(syndromes(b.sends), (numbers{0, 4, 5, 5, 0, 4, 5, 5, 0, 4, 5, 5, 0}));
  EXPECT_EQ(psns(b), (numbers{OwnPsn, OwnPsn + 1, OwnPsn + 2, OwnPsn + 3}));
  EXPECT_EQ(syndromes(b.receives), (numbers{0, 0, 0}));
}

INSTANTIATE_TEST_SUITE_P(service, state_sqer, testing::Values(qpc_service::Uc, qpc_service::Ud));

// Destruction -------------------------------------------------------------------------------------

TEST(state_life_rules, destruction_ends_what_is_outstanding_and_frees_the_number) {
  peer_bench b;
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    peer_bench::options wanted = plain();
    wanted.connection.ack_timeout = 5;  // 131 us
    co_await bench.connect(core, wanted);
    const std::uint32_t number = bench.qp->qpn();
    co_await bench.post_receive(core, 200, 1);
    co_await bench.post(core, long_send(bench, 2));
    co_await bench.post(core, send_of(bench, 3));
    co_await bench.qp->destroy(core);
    EXPECT_LT(bench.packets.size(), LongPackets) << "it was to be caught in the middle";
    co_await bench.wait_ns(core, LongNs);
    const std::size_t before = bench.packets.size();
    EXPECT_LT(before, LongPackets);
    bench.send(bench.acknowledge(OwnPsn));
    bench.send(bench.packet(bth_opcode::RcSendOnly, PeerPsn), pattern(100));
    co_await bench.wait_ns(core, 20 * LongNs);
    EXPECT_EQ(bench.packets.size(), before) << "neither timer nor answer";
    EXPECT_EQ(bench.count(counter::RxDropNoQp), 2U);
    co_await collect(bench, core);
    EXPECT_TRUE(bench.sends.empty());
    EXPECT_TRUE(bench.receives.empty());
    bench.acknowledges_everything();
    bench.qp = co_await queue_pair::create(bench.driver, core, bench.pd, *bench.uar, *bench.send_cq,
                                           *bench.receive_cq, wanted.qp);
    EXPECT_EQ(bench.qp->qpn(), number);
    co_await bring_up(core, *bench.qp, qpc_state::Rts, second_life());
    co_await bench.post(core, send_of(bench, 4));
    co_await bench.send_completions(core);
    co_await bench.wait_ns(core, LongNs);
    co_await collect(bench, core);
  });
  EXPECT_EQ(ids(b.sends), (numbers{4}));
  EXPECT_EQ(syndromes(b.sends), (numbers{0}));
  EXPECT_EQ(b.packets.back().psn(), NewPsn);
}

// Neighbours --------------------------------------------------------------------------------------

// Whatever happens to one queue pair, its neighbour sends, is acknowledged and receives.
enum class fate : std::uint8_t { nak, local_error, remote_error, error, reset, destroyed, sqd };

class state_neighbour : public testing::TestWithParam<fate> {};

TEST_P(state_neighbour, notices_nothing) {
  constexpr std::uint32_t OtherQpn = 0x00beef;
  constexpr unsigned Messages = 40;
  peer_bench b;
  std::unique_ptr<queue_pair> other;
  b.answer = [&b, &other](const seen_packet& got) {
    if (got.parsed.base.ack_req == 0) {
      return;
    }
    packet_description out = b.acknowledge(got.psn());
    if (got.parsed.base.dest_qpn == OtherQpn) {
      out.dest_qpn = other->qpn();
    } else if (GetParam() == fate::nak) {
      out = b.acknowledge(got.psn(), 0x61);
    }
    b.send(out);
  };
  b.run([&other](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    other = co_await queue_pair::create(bench.driver, core, bench.pd, *bench.uar, *bench.send_cq,
                                        *bench.receive_cq, plain().qp);
    const connection_options how = second_life();
    const queue_pair_address whom = peer(OtherQpn);
    co_await other->to_init(core, how);
    co_await other->to_rtr(core, whom, how);
    co_await other->to_rts(core, how);
    receive_request into;
    into.add({bench.buffer.address + 0x8000, 200, bench.buffer.key});
    EXPECT_TRUE(co_await other->post_receive(core, into));
    co_await bench.post_receive(core, 200);
    for (unsigned i = 0; i < Messages; ++i) {
      EXPECT_TRUE(co_await other->post_send(core, send_of(bench, i, 5000)));
      if (i == Messages / 2) {
        work_request what = long_send(bench, 100);
        what.sges[29].lkey ^= GetParam() == fate::local_error ? 0x100 : 0;
        co_await bench.post(core, what);
        packet_description wrong = bench.remote(bth_opcode::RcWriteOnly, PeerPsn, 8);
        wrong.remote.rkey ^= 1;
        switch (GetParam()) {
          case fate::nak:
          case fate::local_error:
            break;
          case fate::remote_error:
            bench.send(wrong, pattern(8));
            break;
          case fate::error:
            co_await bench.qp->to_error(core);
            break;
          case fate::reset:
            co_await bench.qp->to_reset(core);
            break;
          case fate::destroyed:
            co_await bench.qp->destroy(core);
            break;
          case fate::sqd:
            co_await bench.qp->to_sqd(core);
            break;
        }
      }
    }
    packet_description message = bench.packet(bth_opcode::RcSendOnly, PeerPsn);
    message.dest_qpn = other->qpn();
    bench.send(message, pattern(100));
    co_await bench.wait_ns(core, 4 * LongNs);
    co_await collect(bench, core);
  });
  numbers of_other;
  unsigned received = 0;
  for (const completion& each : b.sends) {
    if (each.qpn == other->qpn()) {
      of_other.push_back(static_cast<unsigned>(each.id));
      EXPECT_EQ(each.syndrome, cqe_syndrome::None);
    } else if (GetParam() != fate::sqd) {
      EXPECT_NE(each.syndrome, cqe_syndrome::None);
    }
  }
  for (const completion& each : b.receives) {
    received += each.qpn == other->qpn() && each.syndrome == cqe_syndrome::None ? 1 : 0;
  }
  numbers all;
  numbers expected;
  for (unsigned i = 0; i < Messages; ++i) {
    all.push_back(i);
  }
  EXPECT_EQ(of_other, all);
  EXPECT_EQ(received, 1U);
  numbers sent;
  for (const seen_packet& each : b.packets) {
    if (each.parsed.base.dest_qpn == OtherQpn && !each.parsed.opcode->is_response) {
      sent.push_back(each.psn());
    }
  }
  for (unsigned i = 0; i < 5 * Messages; ++i) {
    expected.push_back(NewPsn + i);
  }
  EXPECT_EQ(sent, expected) << "each packet once, in order";
}

INSTANTIATE_TEST_SUITE_P(fate, state_neighbour,
                         testing::Values(fate::nak, fate::local_error, fate::remote_error,
                                         fate::error, fate::reset, fate::destroyed, fate::sqd));

}  // namespace
}  // namespace carillon::bench::states
