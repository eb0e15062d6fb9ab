// The requester's rules on the wire: acknowledges, repetition, refusals, one host and NIC against a
// scripted peer. Each case is named after its rule; the comment says where the rule is public.
#include <algorithm>
#include <gtest/gtest.h>

#include "tb/common/requester_rules.h"

namespace carillon {
namespace {

using bench::bytes_t;
using bench::numbers;
using bench::once;
using bench::opcodes;
using bench::ops;
using bench::outcomes;
using bench::OwnPsn;
using bench::pattern;
using bench::peer_bench;
using bench::plain;
using bench::psns;
using bench::seen_packet;
using bench::syndromes;
using bench::Us;

// Acknowledges -----------------------------------------------------------------------------------

// ACK with PSN p completes all SENDs and WRITEs up to p.
TEST(requester_rules, one_acknowledge_completes_everything_before_it) {
  peer_bench b;
  b.answer = [&b](const seen_packet& got) {
    if (got.psn() == OwnPsn + 2) {
      b.send(b.acknowledge(got.psn()));
    }
  };
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    for (unsigned i = 0; i < 3; ++i) {
      co_await bench.post(core, bench.request(wqe_opcode::RdmaWrite, 8, i * 8));
    }
    co_await bench.send_completions(core, 3);
  });
  EXPECT_EQ(b.sends[0].id, 100U);
  EXPECT_EQ(b.sends[1].id, 108U);
  EXPECT_EQ(b.sends[2].id, 116U);
}

// An acknowledge of the first packet completes nothing of a longer message.
TEST(requester_rules, a_message_completes_with_its_last_packet) {
  peer_bench b;
  b.answer = [&b](const seen_packet& got) {
    b.send(b.acknowledge(got.psn()), {}, got.psn() == OwnPsn + 1 ? 50000 : 0);
  };
  ps_t completed = 0;
  b.run([&completed](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    co_await bench.post(core, bench.request(wqe_opcode::Send, 2000));
    co_await bench.send_completions(core);
    completed = core.time();
  });
  EXPECT_GT(completed, b.packets[1].arrived + 50 * Us);
}

// mlx5: a completion retires the unsignaled requests before it.
TEST(requester_rules, an_unsignaled_request_has_no_completion_of_its_own) {
  peer_bench b;
  b.acknowledges_everything();
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    work_request quiet = bench.request(wqe_opcode::RdmaWrite, 8, 0);
    quiet.signaled = false;
    co_await bench.post(core, quiet);
    co_await bench.post(core, bench.request(wqe_opcode::RdmaWrite, 8, 8));
    co_await bench.send_completions(core);
    co_await bench.wait_ns(core, 20000);
    EXPECT_FALSE(bench.send_cq->ready());
  });
  EXPECT_EQ(b.sends[0].id, 108U);
  EXPECT_EQ(b.packets.size(), 2U);
}

// An acknowledge of a PSN that was never sent is not one.
TEST(requester_rules, an_acknowledge_of_what_was_never_sent_is_ignored) {
  peer_bench b;
  b.answer = [&b](const seen_packet& got) {
    b.send(b.acknowledge(got.psn() + 5));
    b.send(b.acknowledge(got.psn()), {}, 30000);
  };
  ps_t completed = 0;
  b.run([&completed](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    co_await bench.post(core, bench.request(wqe_opcode::Send, 8));
    co_await bench.send_completions(core);
    completed = core.time();
  });
  EXPECT_GT(completed, b.packets[0].arrived + 30 * Us);
}

TEST(requester_rules, a_second_acknowledge_of_the_same_changes_nothing) {
  peer_bench b;
  b.answer = [&b](const seen_packet& got) {
    b.send(b.acknowledge(got.psn()));
    b.send(b.acknowledge(got.psn()));
    b.send(b.acknowledge(got.psn() - 1));
  };
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    co_await bench.post(core, bench.request(wqe_opcode::Send, 8));
    co_await bench.post(core, bench.request(wqe_opcode::Send, 8, 8));
    co_await bench.send_completions(core, 2);
    co_await bench.wait_ns(core, 20000);
    EXPECT_FALSE(bench.send_cq->ready());
  });
  EXPECT_EQ(b.packets.size(), 2U);
}

// Going back -------------------------------------------------------------------------------------

// NAK 0x60 with PSN p: everything from p on is sent again.
TEST(requester_rules, a_sequence_nak_goes_back_to_its_psn) {
  peer_bench b;
  once(b, 4, [&b](const seen_packet& got) { b.send(b.acknowledge(got.psn() - 2, 0x60)); });
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    bench.put(0, pattern(4096));
    co_await bench.post(core, bench.request(wqe_opcode::Send, 4096));
    co_await bench.send_completions(core);
  });
  EXPECT_EQ(psns(b), (numbers{OwnPsn, OwnPsn + 1, OwnPsn + 2, OwnPsn + 3, OwnPsn + 1, OwnPsn + 2,
                              OwnPsn + 3}));
}

// Packets that are sent again are labelled by their place in the message, not by the restart.
TEST(requester_rules, a_message_that_goes_on_in_the_middle_keeps_its_labels) {
  peer_bench b;
  once(b, 3, [&b](const seen_packet& got) { b.send(b.acknowledge(got.psn() - 1, 0x60)); });
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    bench.put(0, pattern(3000));
    co_await bench.post(core, bench.request(wqe_opcode::RdmaWrite, 3000));
    co_await bench.send_completions(core);
  });
  EXPECT_EQ(opcodes(b),
            (ops{bth_opcode::RcWriteFirst, bth_opcode::RcWriteMiddle, bth_opcode::RcWriteLast,
                 bth_opcode::RcWriteMiddle, bth_opcode::RcWriteLast}));
  const bytes_t all = pattern(3000);
  EXPECT_EQ(b.packets[3].payload(), bytes_t(all.begin() + 1024, all.begin() + 2048));
  EXPECT_EQ(b.packets[4].payload(), bytes_t(all.begin() + 2048, all.end()));
}

// A NAK acknowledges everything before its PSN.
TEST(requester_rules, a_sequence_nak_acknowledges_what_is_before_it) {
  peer_bench b;
  b.answer = [&b](const seen_packet& got) {
    if (b.packets.size() == 2) {
      b.send(b.acknowledge(got.psn(), 0x60));  // the first one arrived
    } else if (b.packets.size() > 2) {
      b.send(b.acknowledge(got.psn()), {}, 100000);
    }
  };
  ps_t first = 0;
  b.run([&first](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    co_await bench.post(core, bench.request(wqe_opcode::Send, 8));
    co_await bench.post(core, bench.request(wqe_opcode::Send, 8, 8));
    co_await bench.send_completions(core);
    first = core.time();
    co_await bench.send_completions(core);
  });
  EXPECT_EQ(psns(b), (numbers{OwnPsn, OwnPsn + 1, OwnPsn + 1}));
  EXPECT_LT(first, b.packets[1].arrived + 50 * Us);
}

// RoCE rules: the timer of code n runs 4.096 us * 2^n; hardware may take up to four times as long.
TEST(requester_rules, without_an_answer_everything_is_sent_again_after_the_timeout) {
  peer_bench b;
  once(b, 1, [](const seen_packet&) {});
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    peer_bench::options wanted = plain();
    wanted.connection.ack_timeout = 4;  // 65.536 us
    co_await bench.connect(core, wanted);
    co_await bench.post(core, bench.request(wqe_opcode::Send, 8));
    co_await bench.send_completions(core);
  });
  ASSERT_EQ(psns(b), (numbers{OwnPsn, OwnPsn}));
  const ps_t waited = b.packets[1].arrived - b.packets[0].arrived;
  EXPECT_GE(waited, 65536000U);
  EXPECT_LE(waited, 4 * 65536000U);
}

// Timeout code 0: no timer.
TEST(requester_rules, timeout_code_zero_never_sends_again) {
  peer_bench b;
  b.answer = [&b](const seen_packet& got) { b.send(b.acknowledge(got.psn()), {}, 500000000); };
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    co_await bench.post(core, bench.request(wqe_opcode::Send, 8));
    co_await bench.send_completions(core);
  });
  EXPECT_EQ(b.packets.size(), 1U);
}

// retry_count attempts more, then the oldest request fails with 0x15.
TEST(requester_rules, the_retry_count_limits_timeouts) {
  peer_bench b;
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    peer_bench::options wanted = plain();
    wanted.connection.ack_timeout = 1;
    wanted.connection.retry_count = 3;
    co_await bench.connect(core, wanted);
    co_await bench.post(core, bench.request(wqe_opcode::Send, 8));
    co_await bench.send_completions(core);
  });
  EXPECT_EQ(b.packets.size(), 4U) << "once and three times again";
  EXPECT_EQ(syndromes(b), (outcomes{cqe_syndrome::TransportRetryExceeded}));
}

// A sequence NAK counts against the retry count too.
TEST(requester_rules, the_retry_count_limits_sequence_naks) {
  peer_bench b;
  b.answer = [&b](const seen_packet& got) { b.send(b.acknowledge(got.psn(), 0x60)); };
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    peer_bench::options wanted = plain();
    wanted.connection.retry_count = 2;
    co_await bench.connect(core, wanted);
    co_await bench.post(core, bench.request(wqe_opcode::Send, 8));
    co_await bench.send_completions(core);
  });
  EXPECT_EQ(b.packets.size(), 3U);
  EXPECT_EQ(syndromes(b), (outcomes{cqe_syndrome::TransportRetryExceeded}));
}

// Progress fills the retry counter again.
TEST(requester_rules, progress_renews_the_retry_count) {
  peer_bench b;
  // Every packet is refused twice before it is acknowledged: more than two refusals in all.
  b.answer = [&b](const seen_packet& got) {
    const auto times = std::count_if(b.packets.begin(), b.packets.end(),
                                     [&](const auto& each) { return each.psn() == got.psn(); });
    b.send(times <= 2 ? b.acknowledge(got.psn(), 0x60) : b.acknowledge(got.psn()));
  };
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    peer_bench::options wanted = plain();
    wanted.connection.retry_count = 2;
    co_await bench.connect(core, wanted);
    for (unsigned i = 0; i < 3; ++i) {
      co_await bench.post(core, bench.request(wqe_opcode::Send, 8));
      co_await bench.send_completions(core);
    }
  });
  EXPECT_EQ(b.packets.size(), 9U);
  EXPECT_EQ(syndromes(b), (outcomes{cqe_syndrome::None, cqe_syndrome::None, cqe_syndrome::None}));
}

// Receiver not ready -----------------------------------------------------------------------------

// The timer codes of the RNR NAK, in units of 10 us (RoCE rules; rdma_rxe has 61.410 ms for code
// 25, a slip).
constexpr std::array<std::uint32_t, 32> RnrTimer = {
    65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,   32,
    48,    64,   96,   128,  192,  256,   384,   512,   768,   1024, 1536,
    2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};

class requester_rnr : public testing::TestWithParam<unsigned> {};

TEST_P(requester_rnr, an_rnr_nak_holds_the_queue_pair_for_the_coded_time) {
  const unsigned code = GetParam();
  peer_bench b;
  once(b, 1, [&b, code](const seen_packet& got) {
    b.send(b.acknowledge(got.psn(), static_cast<std::uint8_t>(0x20 | code)));
  });
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    co_await bench.post(core, bench.request(wqe_opcode::Send, 8));
    co_await bench.send_completions(core);
  });
  ASSERT_EQ(psns(b), (numbers{OwnPsn, OwnPsn}));
  const ps_t waited = b.packets[1].arrived - b.packets[0].arrived;
  const ps_t least = ps_t{RnrTimer[code]} * 10 * Us;
  EXPECT_GE(waited, least);
  EXPECT_LE(waited, least + 20 * Us) << "not much longer";
  EXPECT_EQ(syndromes(b), (outcomes{cqe_syndrome::None}));
}

INSTANTIATE_TEST_SUITE_P(code, requester_rnr, testing::Range(0U, 32U));

TEST(requester_rules, rnr_retries_are_limited) {
  peer_bench b;
  b.answer = [&b](const seen_packet& got) { b.send(b.acknowledge(got.psn(), 0x21)); };
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    peer_bench::options wanted = plain();
    wanted.connection.rnr_retry = 2;
    co_await bench.connect(core, wanted);
    co_await bench.post(core, bench.request(wqe_opcode::Send, 8));
    co_await bench.send_completions(core);
  });
  EXPECT_EQ(b.packets.size(), 3U);
  EXPECT_EQ(syndromes(b), (outcomes{cqe_syndrome::RnrRetryExceeded}));
}

// rnr_retry 7 is for ever.
TEST(requester_rules, rnr_retry_seven_has_no_limit) {
  peer_bench b;
  b.answer = [&b](const seen_packet& got) {
    b.send(b.packets.size() <= 30 ? b.acknowledge(got.psn(), 0x21) : b.acknowledge(got.psn()));
  };
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    peer_bench::options wanted = plain();
    wanted.connection.rnr_retry = 7;
    co_await bench.connect(core, wanted);
    co_await bench.post(core, bench.request(wqe_opcode::Send, 8));
    co_await bench.send_completions(core);
  });
  EXPECT_EQ(b.packets.size(), 31U);
  EXPECT_EQ(syndromes(b), (outcomes{cqe_syndrome::None}));
}

TEST(requester_rules, an_rnr_nak_acknowledges_what_is_before_it) {
  peer_bench b;
  once(b, 2, [&b](const seen_packet& got) { b.send(b.acknowledge(got.psn(), 0x21)); });
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    co_await bench.post(core, bench.request(wqe_opcode::RdmaWrite, 8));
    co_await bench.post(core, bench.request(wqe_opcode::Send, 8, 8));
    co_await bench.send_completions(core, 2);
  });
  EXPECT_EQ(psns(b), (numbers{OwnPsn, OwnPsn + 1, OwnPsn + 1}));
}

// Errors from the peer ---------------------------------------------------------------------------

/// The peer refuses the second of three requests by `syndrome`.
outcomes refused(std::uint8_t syndrome) {
  peer_bench b;
  b.answer = [&b, syndrome](const seen_packet& got) {
    if (got.psn() == OwnPsn + 1) {
      b.send(b.acknowledge(got.psn(), syndrome));
    }
  };
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    for (unsigned i = 0; i < 3; ++i) {
      co_await bench.post(core, bench.request(wqe_opcode::RdmaWrite, 8, i * 8));
    }
    co_await bench.send_completions(core, 3);
    const qpc state = co_await bench.qp->query(core);
    EXPECT_EQ(state.state, qpc_state::Err);
  });
  return syndromes(b);
}

// NAK codes 1, 2, 3; the refused request has the error, the one before it is done, the rest is
// flushed.
TEST(requester_rules, nak_invalid_request_is_a_remote_invalid_request_error) {
  EXPECT_EQ(refused(0x61), (outcomes{cqe_syndrome::None, cqe_syndrome::RemoteInvalidRequest,
                                     cqe_syndrome::WrFlushed}));
}

TEST(requester_rules, nak_remote_access_is_a_remote_access_error) {
  EXPECT_EQ(refused(0x62),
            (outcomes{cqe_syndrome::None, cqe_syndrome::RemoteAccess, cqe_syndrome::WrFlushed}));
}

TEST(requester_rules, nak_remote_operation_is_a_remote_operation_error) {
  EXPECT_EQ(refused(0x63),
            (outcomes{cqe_syndrome::None, cqe_syndrome::RemoteOperation, cqe_syndrome::WrFlushed}));
}

TEST(requester_rules, what_is_posted_after_the_error_is_flushed_too) {
  peer_bench b;
  b.answer = [&b](const seen_packet& got) { b.send(b.acknowledge(got.psn(), 0x62)); };
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    co_await bench.post(core, bench.request(wqe_opcode::RdmaWrite, 8));
    co_await bench.send_completions(core);
    co_await bench.post(core, bench.request(wqe_opcode::RdmaWrite, 8));
    co_await bench.send_completions(core);
  });
  EXPECT_EQ(syndromes(b), (outcomes{cqe_syndrome::RemoteAccess, cqe_syndrome::WrFlushed}));
  EXPECT_EQ(b.packets.size(), 1U);
}

// An unsignaled request that fails has a completion nevertheless (mlx5 ce 0: a CQE on error).
TEST(requester_rules, a_failure_is_reported_though_nobody_asked_for_a_completion) {
  peer_bench b;
  b.answer = [&b](const seen_packet& got) { b.send(b.acknowledge(got.psn(), 0x62)); };
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    work_request quiet = bench.request(wqe_opcode::RdmaWrite, 8);
    quiet.signaled = false;
    co_await bench.post(core, quiet);
    co_await bench.send_completions(core);
  });
  EXPECT_EQ(syndromes(b), (outcomes{cqe_syndrome::RemoteAccess}));
}

}  // namespace
}  // namespace carillon
