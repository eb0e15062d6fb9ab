// The requester's rules on the wire: one host and NIC against a scripted peer. Each case is named
// after its rule; the comment says where the rule is public. "RoCE rules" are those of the
// InfiniBand transport as its public descriptions and implementations give them (Linux rdma_rxe,
// the RoCEv2 annex); "mlx5" is the public driver interface.
#include <algorithm>
#include <gtest/gtest.h>

#include "tb/common/peer_bench.h"

namespace carillon {
namespace {

using bench::bytes_t;
using bench::OwnPsn;
using bench::pattern;
using bench::peer_bench;
using bench::seen_packet;

constexpr std::uint64_t Us = 1000000;  ///< in ps

/// MTU 1024, no ACK timer unless the case sets one.
peer_bench::options plain() {
  peer_bench::options wanted;
  wanted.connection.mtu = mtu_code::Mtu1024;
  wanted.connection.ack_timeout = 0;
  return wanted;
}

/// PSNs of what the NIC sent.
std::vector<std::uint32_t> psns(const peer_bench& b) {
  std::vector<std::uint32_t> result;
  for (const seen_packet& each : b.packets) {
    result.push_back(each.psn());
  }
  return result;
}

std::vector<bth_opcode> opcodes(const peer_bench& b) {
  std::vector<bth_opcode> result;
  for (const seen_packet& each : b.packets) {
    result.push_back(each.opcode());
  }
  return result;
}

std::vector<cqe_syndrome> syndromes(const peer_bench& b) {
  std::vector<cqe_syndrome> result;
  for (const completion& each : b.sends) {
    result.push_back(each.syndrome);
  }
  return result;
}

using ops = std::vector<bth_opcode>;
using numbers = std::vector<std::uint32_t>;
using outcomes = std::vector<cqe_syndrome>;

/// Posts one request of `length` bytes against a peer that acknowledges, and waits for its CQE.
void exchange(peer_bench& b, wqe_opcode opcode, std::uint32_t length) {
  b.acknowledges_everything();
  b.run([opcode, length](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    bench.put(0, pattern(length));
    work_request what = bench.request(opcode, length);
    what.imm = 0xa1b2c3d4;
    what.invalidate_key = 0xa1b2c3d4;
    what.solicited = true;
    co_await bench.post(core, what);
    co_await bench.send_completions(core);
  });
  ASSERT_EQ(b.sends.size(), 1U);
  EXPECT_EQ(b.sends[0].syndrome, cqe_syndrome::None);
}

/// The payloads of all packets, one after the other.
bytes_t carried(const peer_bench& b) {
  bytes_t all;
  for (const seen_packet& each : b.packets) {
    const bytes_t part = each.payload();
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

// Cutting messages into packets -----------------------------------------------------------------

// RoCE rules, packetisation: n = max(1, ceil(L / MTU)); one packet is ONLY.
TEST(requester_rules, a_message_up_to_the_mtu_is_one_only_packet) {
  peer_bench b;
  exchange(b, wqe_opcode::Send, 1024);
  EXPECT_EQ(opcodes(b), (ops{bth_opcode::RcSendOnly}));
  EXPECT_EQ(carried(b), pattern(1024));
}

// FIRST and MIDDLE carry exactly the MTU, LAST the rest.
TEST(requester_rules, a_longer_message_is_first_middle_last) {
  peer_bench b;
  exchange(b, wqe_opcode::Send, 2 * 1024 + 1);
  EXPECT_EQ(opcodes(b),
            (ops{bth_opcode::RcSendFirst, bth_opcode::RcSendMiddle, bth_opcode::RcSendLast}));
  EXPECT_EQ(b.packets[0].parsed.payload, 1024U);
  EXPECT_EQ(b.packets[1].parsed.payload, 1024U);
  EXPECT_EQ(b.packets[2].parsed.payload, 1U);
  EXPECT_EQ(carried(b), pattern(2049));
}

TEST(requester_rules, a_message_of_two_packets_has_no_middle) {
  peer_bench b;
  exchange(b, wqe_opcode::RdmaWrite, 1025);
  EXPECT_EQ(opcodes(b), (ops{bth_opcode::RcWriteFirst, bth_opcode::RcWriteLast}));
}

// A message without data is still one packet.
TEST(requester_rules, an_empty_send_is_one_packet_without_payload) {
  peer_bench b;
  exchange(b, wqe_opcode::Send, 0);
  EXPECT_EQ(opcodes(b), (ops{bth_opcode::RcSendOnly}));
  EXPECT_EQ(b.packets[0].parsed.payload, 0U);
}

TEST(requester_rules, an_empty_write_announces_length_zero) {
  peer_bench b;
  exchange(b, wqe_opcode::RdmaWrite, 0);
  EXPECT_EQ(opcodes(b), (ops{bth_opcode::RcWriteOnly}));
  EXPECT_EQ(b.packets[0].parsed.remote.dma_length, 0U);
}

// Pad count: (4 - length % 4) % 4 zero bytes.
TEST(requester_rules, the_payload_is_padded_to_whole_dwords) {
  peer_bench b;
  exchange(b, wqe_opcode::Send, 5);
  EXPECT_EQ(b.packets[0].parsed.base.pad_count, 3U);
  EXPECT_EQ(b.packets[0].parsed.payload, 5U);
}

// RETH is in the first packet of a WRITE only, with the length of the whole message.
TEST(requester_rules, only_the_first_packet_of_a_write_says_where_it_goes) {
  peer_bench b;
  exchange(b, wqe_opcode::RdmaWrite, 3000);
  ASSERT_EQ(b.packets.size(), 3U);
  EXPECT_TRUE(b.packets[0].parsed.opcode->has_reth);
  EXPECT_EQ(b.packets[0].parsed.remote.va, 0x70000U);
  EXPECT_EQ(b.packets[0].parsed.remote.rkey, 0x4242U);
  EXPECT_EQ(b.packets[0].parsed.remote.dma_length, 3000U);
  EXPECT_FALSE(b.packets[1].parsed.opcode->has_reth);
  EXPECT_FALSE(b.packets[2].parsed.opcode->has_reth);
}

// ImmDt is in the last packet only.
TEST(requester_rules, the_immediate_comes_with_the_last_packet) {
  peer_bench b;
  exchange(b, wqe_opcode::SendImmediate, 1500);
  EXPECT_EQ(opcodes(b), (ops{bth_opcode::RcSendFirst, bth_opcode::RcSendLastImmediate}));
  EXPECT_EQ(b.packets[1].parsed.immediate, 0xa1b2c3d4U);
}

TEST(requester_rules, a_write_with_immediate_has_both_headers_in_one_packet) {
  peer_bench b;
  exchange(b, wqe_opcode::RdmaWriteImmediate, 100);
  EXPECT_EQ(opcodes(b), (ops{bth_opcode::RcWriteOnlyImmediate}));
  EXPECT_EQ(b.packets[0].parsed.immediate, 0xa1b2c3d4U);
  EXPECT_EQ(b.packets[0].parsed.remote.dma_length, 100U);
}

// IETH is in the last packet only.
TEST(requester_rules, the_key_to_invalidate_comes_with_the_last_packet) {
  peer_bench b;
  exchange(b, wqe_opcode::SendInvalidate, 1500);
  EXPECT_EQ(opcodes(b), (ops{bth_opcode::RcSendFirst, bth_opcode::RcSendLastInvalidate}));
  EXPECT_EQ(b.packets[1].parsed.invalidate_rkey, 0xa1b2c3d4U);
}

// The solicited event bit is set on the last packet of a SEND or WRITE with immediate only.
TEST(requester_rules, solicited_is_said_in_the_last_packet_only) {
  peer_bench b;
  exchange(b, wqe_opcode::Send, 1500);
  EXPECT_EQ(b.packets[0].parsed.base.se, 0U);
  EXPECT_EQ(b.packets[1].parsed.base.se, 1U);
}

// AckReq at the latest on the last packet of a message.
TEST(requester_rules, the_last_packet_asks_for_an_acknowledge) {
  peer_bench b;
  exchange(b, wqe_opcode::Send, 2500);
  EXPECT_EQ(b.packets.back().parsed.base.ack_req, 1U);
}

// Every path MTU from 256 to 4096.
class requester_mtu : public testing::TestWithParam<unsigned> {};

TEST_P(requester_mtu, first_and_middle_packets_carry_exactly_the_path_mtu) {
  const unsigned code = GetParam();
  const std::uint32_t mtu = 128U << code;
  peer_bench b;
  b.acknowledges_everything();
  b.run([code, mtu](peer_bench& bench, cpu& core) -> task<> {
    peer_bench::options wanted = plain();
    wanted.connection.mtu = static_cast<mtu_code>(code);
    co_await bench.connect(core, wanted);
    bench.put(0, pattern(2 * mtu + 7));
    co_await bench.post(core, bench.request(wqe_opcode::RdmaWrite, 2 * mtu + 7));
    co_await bench.send_completions(core);
  });
  ASSERT_EQ(b.packets.size(), 3U);
  EXPECT_EQ(b.packets[0].parsed.payload, mtu);
  EXPECT_EQ(b.packets[1].parsed.payload, mtu);
  EXPECT_EQ(b.packets[2].parsed.payload, 7U);
  EXPECT_EQ(carried(b), pattern(2 * mtu + 7));
}

INSTANTIATE_TEST_SUITE_P(code, requester_mtu, testing::Values(1U, 2U, 3U, 4U, 5U));

// A gather list is one message: its pieces follow each other.
TEST(requester_rules, thirty_pieces_are_one_message) {
  peer_bench b;
  b.acknowledges_everything();
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    peer_bench::options wanted = plain();
    wanted.qp.log_sq_size = 6;
    co_await bench.connect(core, wanted);
    bench.put(0, pattern(30 * 100));
    work_request what = bench.request(wqe_opcode::Send, 0);
    for (std::uint32_t i = 0; i < 30; ++i) {
      what.add({bench.buffer.address + i * 100, 50, bench.buffer.key});
    }
    co_await bench.post(core, what);
    co_await bench.send_completions(core);
  });
  const bytes_t memory = pattern(30 * 100);
  bytes_t expected;
  for (std::size_t i = 0; i < 30; ++i) {
    expected.insert(expected.end(), memory.begin() + static_cast<std::ptrdiff_t>(i * 100),
                    memory.begin() + static_cast<std::ptrdiff_t>(i * 100 + 50));
  }
  EXPECT_EQ(carried(b), expected);
}

// PSNs -------------------------------------------------------------------------------------------

// One PSN a request packet, consecutive over messages.
TEST(requester_rules, psns_count_packets_over_messages) {
  peer_bench b;
  b.acknowledges_everything();
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    co_await bench.post(core, bench.request(wqe_opcode::Send, 2000));
    co_await bench.post(core, bench.request(wqe_opcode::Send, 10));
    co_await bench.send_completions(core, 2);
  });
  EXPECT_EQ(psns(b), (numbers{OwnPsn, OwnPsn + 1, OwnPsn + 2}));
}

/// A peer that serves READs from the pattern and acknowledges the rest.
void serve_reads(peer_bench& b, std::uint32_t mtu = 1024) {
  b.answer = [&b, mtu](const seen_packet& got) {
    if (got.opcode() != bth_opcode::RcReadRequest) {
      b.send(b.acknowledge(got.psn()));
      return;
    }
    const std::uint32_t length = got.parsed.remote.dma_length;
    const bytes_t data = pattern(length);
    const std::uint32_t count = std::max(1U, (length + mtu - 1) / mtu);
    for (std::uint32_t i = 0; i < count; ++i) {
      const bool first = i == 0;
      const bool last = i + 1 == count;
      packet_description out = b.acknowledge(got.psn() + i);
      out.opcode = first && last ? bth_opcode::RcReadResponseOnly
                   : first       ? bth_opcode::RcReadResponseFirst
                   : last        ? bth_opcode::RcReadResponseLast
                                 : bth_opcode::RcReadResponseMiddle;
      const std::size_t from = std::size_t{i} * mtu;
      b.send(out, bytes_t(data.begin() + static_cast<std::ptrdiff_t>(from),
                          data.begin() + static_cast<std::ptrdiff_t>(
                                             std::min<std::size_t>(from + mtu, length))));
    }
  };
}

// A READ of L bytes takes as many PSNs as its response has packets.
TEST(requester_rules, a_read_takes_the_psns_of_its_responses) {
  peer_bench b;
  serve_reads(b);
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    co_await bench.post(core, bench.request(wqe_opcode::RdmaRead, 2500, 0x1000));
    co_await bench.post(core, bench.request(wqe_opcode::Send, 10));
    co_await bench.send_completions(core, 2);
  });
  EXPECT_EQ(opcodes(b), (ops{bth_opcode::RcReadRequest, bth_opcode::RcSendOnly}));
  EXPECT_EQ(psns(b), (numbers{OwnPsn, OwnPsn + 3}));
}

TEST(requester_rules, an_empty_read_takes_one_psn) {
  peer_bench b;
  serve_reads(b);
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    co_await bench.post(core, bench.request(wqe_opcode::RdmaRead, 0));
    co_await bench.post(core, bench.request(wqe_opcode::Send, 10));
    co_await bench.send_completions(core, 2);
  });
  EXPECT_EQ(psns(b), (numbers{OwnPsn, OwnPsn + 1}));
}

// PSNs are modulo 2^24.
TEST(requester_rules, psns_wrap_behind_the_24th_bit) {
  peer_bench b;
  b.acknowledges_everything();
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    peer_bench::options wanted = plain();
    wanted.connection.psn = 0xfffffe;
    co_await bench.connect(core, wanted);
    co_await bench.post(core, bench.request(wqe_opcode::Send, 3 * 1024));
    co_await bench.post(core, bench.request(wqe_opcode::Send, 1));
    co_await bench.send_completions(core, 2);
  });
  EXPECT_EQ(psns(b), (numbers{0xfffffe, 0xffffff, 0, 1}));
  EXPECT_EQ(syndromes(b), (outcomes{cqe_syndrome::None, cqe_syndrome::None}));
}

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

/// Answers the n-th packet by `nth`, all others by an ACK.
void once(peer_bench& b, std::size_t n, const std::function<void(const seen_packet&)>& nth) {
  b.answer = [&b, n, nth](const seen_packet& got) {
    if (b.packets.size() == n) {
      nth(got);
    } else if (got.parsed.base.ack_req != 0 && b.packets.size() > n) {
      b.send(b.acknowledge(got.psn()));
    }
  };
}

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

// READ -------------------------------------------------------------------------------------------

TEST(requester_rules, the_data_of_a_read_lands_in_its_pieces) {
  peer_bench b;
  serve_reads(b);
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    work_request what = bench.request(wqe_opcode::RdmaRead, 100, 0x1000);
    what.add({bench.buffer.address + 0x3000, 2400, bench.buffer.key});
    co_await bench.post(core, what);
    co_await bench.send_completions(core);
  });
  const bytes_t data = pattern(2500);
  EXPECT_EQ(b.get(0x1000, 100), bytes_t(data.begin(), data.begin() + 100));
  EXPECT_EQ(b.get(0x3000, 2400), bytes_t(data.begin() + 100, data.end()));
  EXPECT_EQ(b.sends[0].bytes, 2500U);
}

/// Serves a READ of three packets but leaves out the n-th response of the first request.
void lose_response(peer_bench& b, std::uint32_t n) {
  b.answer = [&b, n](const seen_packet& got) {
    const bool again = b.packets.size() > 1;
    const std::uint32_t length = got.parsed.remote.dma_length;
    const std::uint32_t skipped = 2500 - length;
    const bytes_t data = pattern(2500);
    const std::uint32_t count = (length + 1023) / 1024;
    for (std::uint32_t i = 0; i < count; ++i) {
      if (!again && i == n) {
        continue;
      }
      packet_description out = b.acknowledge(got.psn() + i);
      const bool first = i == 0;
      const bool last = i + 1 == count;
      out.opcode = first && last ? bth_opcode::RcReadResponseOnly
                   : first       ? bth_opcode::RcReadResponseFirst
                   : last        ? bth_opcode::RcReadResponseLast
                                 : bth_opcode::RcReadResponseMiddle;
      const std::size_t from = skipped + std::size_t{i} * 1024;
      b.send(out, bytes_t(data.begin() + static_cast<std::ptrdiff_t>(from),
                          data.begin() + static_cast<std::ptrdiff_t>(
                                             std::min<std::size_t>(from + 1024, 2500))));
    }
  };
}

void read_2500(peer_bench& b) {
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    peer_bench::options wanted = plain();
    wanted.connection.ack_timeout = 3;
    co_await bench.connect(core, wanted);
    co_await bench.post(core, bench.request(wqe_opcode::RdmaRead, 2500, 0x1000));
    co_await bench.send_completions(core);
  });
  EXPECT_EQ(syndromes(b), (outcomes{cqe_syndrome::None}));
  EXPECT_EQ(b.get(0x1000, 2500), pattern(2500));
}

// Implied NAK: a response beyond the expected one says that that one was lost. The retry asks for
// what is missing: address, length and PSN advanced.
TEST(requester_rules, a_read_goes_on_at_the_missing_response) {
  peer_bench b;
  lose_response(b, 1);
  read_2500(b);
  ASSERT_EQ(b.packets.size(), 2U);
  EXPECT_EQ(b.packets[1].psn(), OwnPsn + 1);
  EXPECT_EQ(b.packets[1].parsed.remote.va, 0x70000U + 1024);
  EXPECT_EQ(b.packets[1].parsed.remote.dma_length, 2500U - 1024);
}

TEST(requester_rules, a_read_whose_first_response_is_lost_starts_again) {
  peer_bench b;
  lose_response(b, 0);
  read_2500(b);
  ASSERT_EQ(b.packets.size(), 2U);
  EXPECT_EQ(b.packets[1].psn(), OwnPsn);
  EXPECT_EQ(b.packets[1].parsed.remote.va, 0x70000U);
  EXPECT_EQ(b.packets[1].parsed.remote.dma_length, 2500U);
}

TEST(requester_rules, a_read_whose_last_response_is_lost_is_asked_for_by_the_timer) {
  peer_bench b;
  lose_response(b, 2);
  read_2500(b);
  ASSERT_EQ(b.packets.size(), 2U);
  EXPECT_EQ(b.packets[1].psn(), OwnPsn + 2);
  EXPECT_EQ(b.packets[1].parsed.remote.dma_length, 2500U - 2048);
  EXPECT_GE(b.packets[1].arrived - b.packets[0].arrived, 32768000U);  // 4.096 us * 2^3
}

// A READ is answered by its response only. An ACK beyond it says that the response was lost.
TEST(requester_rules, an_acknowledge_beyond_a_read_is_an_implied_nak) {
  peer_bench b;
  b.answer = [&b](const seen_packet& got) {
    const auto reads = std::count_if(b.packets.begin(), b.packets.end(), [](const auto& each) {
      return each.opcode() == bth_opcode::RcReadRequest;
    });
    if (got.opcode() == bth_opcode::RcReadRequest && reads == 2) {
      packet_description out = b.acknowledge(got.psn());
      out.opcode = bth_opcode::RcReadResponseOnly;
      b.send(out, pattern(64));
    } else if (got.opcode() == bth_opcode::RcSendOnly) {
      b.send(b.acknowledge(got.psn()));
    }
  };
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    co_await bench.post(core, bench.request(wqe_opcode::RdmaRead, 64, 0x1000));
    co_await bench.post(core, bench.request(wqe_opcode::Send, 8));
    co_await bench.send_completions(core, 2);
  });
  EXPECT_EQ(opcodes(b), (ops{bth_opcode::RcReadRequest, bth_opcode::RcSendOnly,
                             bth_opcode::RcReadRequest, bth_opcode::RcSendOnly}));
  EXPECT_EQ(b.get(0x1000, 64), pattern(64));
}

TEST(requester_rules, a_response_that_comes_twice_is_taken_once) {
  peer_bench b;
  b.answer = [&b](const seen_packet& got) {
    packet_description out = b.acknowledge(got.psn());
    out.opcode = bth_opcode::RcReadResponseOnly;
    b.send(out, pattern(64, 1));
    b.send(out, pattern(64, 2));
  };
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    co_await bench.post(core, bench.request(wqe_opcode::RdmaRead, 64, 0x1000));
    co_await bench.send_completions(core);
    co_await bench.wait_ns(core, 20000);
  });
  EXPECT_EQ(b.get(0x1000, 64), pattern(64, 1));
}

/// A READ of 2000 bytes is answered by one packet.
cqe_syndrome answered_by(bth_opcode opcode, std::size_t bytes) {
  peer_bench b;
  b.answer = [&b, opcode, bytes](const seen_packet& got) {
    packet_description out = b.acknowledge(got.psn());
    out.opcode = opcode;
    b.send(out, pattern(bytes));
  };
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    co_await bench.post(core, bench.request(wqe_opcode::RdmaRead, 2000, 0x1000));
    co_await bench.send_completions(core);
  });
  return b.sends.at(0).syndrome;
}

// Unexpected opcode or length of a response: bad response error.
TEST(requester_rules, a_short_first_response_is_a_bad_response) {
  EXPECT_EQ(answered_by(bth_opcode::RcReadResponseFirst, 1000), cqe_syndrome::BadResponse);
}

TEST(requester_rules, an_only_response_to_a_longer_read_is_a_bad_response) {
  EXPECT_EQ(answered_by(bth_opcode::RcReadResponseOnly, 1024), cqe_syndrome::BadResponse);
}

TEST(requester_rules, a_middle_response_that_should_be_first_is_a_bad_response) {
  EXPECT_EQ(answered_by(bth_opcode::RcReadResponseMiddle, 1024), cqe_syndrome::BadResponse);
}

TEST(requester_rules, an_atomic_response_to_a_read_is_a_bad_response) {
  EXPECT_EQ(answered_by(bth_opcode::RcAtomicAcknowledge, 0), cqe_syndrome::BadResponse);
}

// max_rd_atomic READs and atomics are on the way at most.
TEST(requester_rules, reads_on_the_way_are_limited) {
  peer_bench b;
  b.answer = [&b](const seen_packet& got) {
    packet_description out = b.acknowledge(got.psn());
    out.opcode = bth_opcode::RcReadResponseOnly;
    b.send(out, pattern(8), 50000);
  };
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    peer_bench::options wanted = plain();
    wanted.connection.log_max_rd_atomic = 1;
    co_await bench.connect(core, wanted);
    for (unsigned i = 0; i < 3; ++i) {
      co_await bench.post(core, bench.request(wqe_opcode::RdmaRead, 8, i * 8));
    }
    co_await bench.send_completions(core, 3);
  });
  ASSERT_EQ(b.packets.size(), 3U);
  EXPECT_LT(b.packets[1].arrived, b.packets[0].arrived + 50 * Us);
  EXPECT_GT(b.packets[2].arrived, b.packets[0].arrived + 50 * Us) << "after the first response";
}

// A fence holds a request until all earlier READs and atomics are answered.
TEST(requester_rules, a_fence_waits_for_reads) {
  peer_bench b;
  b.answer = [&b](const seen_packet& got) {
    if (got.opcode() == bth_opcode::RcReadRequest) {
      packet_description out = b.acknowledge(got.psn());
      out.opcode = bth_opcode::RcReadResponseOnly;
      b.send(out, pattern(8), 50000);
    } else {
      b.send(b.acknowledge(got.psn()));
    }
  };
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    co_await bench.post(core, bench.request(wqe_opcode::RdmaRead, 8));
    work_request fenced = bench.request(wqe_opcode::Send, 8, 8);
    fenced.fence = true;
    co_await bench.post(core, fenced);
    co_await bench.send_completions(core, 2);
  });
  EXPECT_GT(b.packets[1].arrived, b.packets[0].arrived + 50 * Us);
}

TEST(requester_rules, without_a_fence_a_send_passes_an_unanswered_read) {
  peer_bench b;
  b.answer = [&b](const seen_packet& got) {
    if (got.opcode() == bth_opcode::RcReadRequest) {
      packet_description out = b.acknowledge(got.psn());
      out.opcode = bth_opcode::RcReadResponseOnly;
      b.send(out, pattern(8), 50000);
    } else {
      b.send(b.acknowledge(got.psn()), {}, 60000);
    }
  };
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    co_await bench.post(core, bench.request(wqe_opcode::RdmaRead, 8));
    co_await bench.post(core, bench.request(wqe_opcode::Send, 8, 8));
    co_await bench.send_completions(core, 2);
  });
  EXPECT_LT(b.packets[1].arrived, b.packets[0].arrived + 50 * Us);
  EXPECT_EQ(b.sends[0].id, 100U) << "completions keep the order of posting";
}

// Atomics ----------------------------------------------------------------------------------------

work_request atomic(peer_bench& b, wqe_opcode opcode) {
  work_request what = b.request(opcode, 8, 0x1000);
  what.swap_or_add = 0x1122334455667788;
  what.compare = 0x99;
  return what;
}

void answer_atomic(peer_bench& b, std::size_t from_packet = 1) {
  b.answer = [&b, from_packet](const seen_packet& got) {
    if (b.packets.size() < from_packet) {
      return;
    }
    packet_description out = b.acknowledge(got.psn());
    out.opcode = bth_opcode::RcAtomicAcknowledge;
    out.atomic_result.original = 0x0102030405060708;
    b.send(out);
  };
}

TEST(requester_rules, a_fetch_and_add_returns_the_original_value) {
  peer_bench b;
  answer_atomic(b);
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    co_await bench.post(core, atomic(bench, wqe_opcode::AtomicFetchAdd));
    co_await bench.send_completions(core);
  });
  EXPECT_EQ(opcodes(b), (ops{bth_opcode::RcFetchAdd}));
  EXPECT_EQ(b.packets[0].parsed.atomic.swap_add, 0x1122334455667788U);
  // A host integer, least significant byte first.
  EXPECT_EQ(b.get(0x1000, 8), (bytes_t{8, 7, 6, 5, 4, 3, 2, 1}));
  EXPECT_EQ(b.sends[0].bytes, 8U);
}

TEST(requester_rules, a_compare_and_swap_carries_both_operands) {
  peer_bench b;
  answer_atomic(b);
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    co_await bench.post(core, atomic(bench, wqe_opcode::AtomicCompareSwap));
    co_await bench.send_completions(core);
  });
  EXPECT_EQ(opcodes(b), (ops{bth_opcode::RcCompareSwap}));
  EXPECT_EQ(b.packets[0].parsed.atomic.swap_add, 0x1122334455667788U);
  EXPECT_EQ(b.packets[0].parsed.atomic.compare, 0x99U);
}

// A lost answer is asked for again with the same PSN, so that the peer can tell.
TEST(requester_rules, an_atomic_that_is_not_answered_is_sent_again_as_it_was) {
  peer_bench b;
  answer_atomic(b, 2);
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    peer_bench::options wanted = plain();
    wanted.connection.ack_timeout = 2;
    co_await bench.connect(core, wanted);
    co_await bench.post(core, atomic(bench, wqe_opcode::AtomicFetchAdd));
    co_await bench.send_completions(core);
  });
  EXPECT_EQ(psns(b), (numbers{OwnPsn, OwnPsn}));
  EXPECT_EQ(b.packets[0].frame, b.packets[1].frame);
}

TEST(requester_rules, a_plain_acknowledge_does_not_complete_an_atomic) {
  peer_bench b;
  b.answer = [&b](const seen_packet& got) {
    if (b.packets.size() == 1) {
      b.send(b.acknowledge(got.psn()));
      return;
    }
    packet_description out = b.acknowledge(got.psn());
    out.opcode = bth_opcode::RcAtomicAcknowledge;
    b.send(out);
  };
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    peer_bench::options wanted = plain();
    wanted.connection.ack_timeout = 2;
    co_await bench.connect(core, wanted);
    co_await bench.post(core, atomic(bench, wqe_opcode::AtomicFetchAdd));
    co_await bench.send_completions(core);
  });
  EXPECT_EQ(b.packets.size(), 2U);
}

// Local errors -----------------------------------------------------------------------------------

// A bad local key: 0x04, in the order of posting, nothing on the wire.
TEST(requester_rules, a_bad_local_key_fails_in_its_turn) {
  peer_bench b;
  b.acknowledges_everything();
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    co_await bench.post(core, bench.request(wqe_opcode::Send, 8));
    work_request wrong = bench.request(wqe_opcode::Send, 8, 8);
    wrong.sges[0].lkey ^= 0x100;
    co_await bench.post(core, wrong);
    co_await bench.post(core, bench.request(wqe_opcode::Send, 8, 16));
    co_await bench.send_completions(core, 3);
  });
  EXPECT_EQ(syndromes(b),
            (outcomes{cqe_syndrome::None, cqe_syndrome::LocalProtection, cqe_syndrome::WrFlushed}));
  EXPECT_EQ(b.packets.size(), 1U);
}

// Messages are at most 2^31 bytes.
TEST(requester_rules, a_message_beyond_two_gigabytes_is_a_local_length_error) {
  peer_bench b;
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    work_request what = bench.request(wqe_opcode::RdmaWrite, 0x40000000);
    what.add({bench.buffer.address, 0x40000001, bench.buffer.key});
    co_await bench.post(core, what);
    co_await bench.send_completions(core);
  });
  EXPECT_EQ(syndromes(b), (outcomes{cqe_syndrome::LocalLength}));
}

// Services ---------------------------------------------------------------------------------------

// UC asks for no acknowledge and completes when the data has left memory.
TEST(requester_rules, an_unreliable_connection_completes_without_an_acknowledge) {
  peer_bench b;
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    peer_bench::options wanted = plain();
    wanted.qp.service = qpc_service::Uc;
    co_await bench.connect(core, wanted);
    bench.put(0, pattern(2000));
    co_await bench.post(core, bench.request(wqe_opcode::RdmaWrite, 2000));
    co_await bench.send_completions(core);
  });
  EXPECT_EQ(opcodes(b), (ops{bth_opcode::UcWriteFirst, bth_opcode::UcWriteLast}));
  EXPECT_EQ(carried(b), pattern(2000));
  EXPECT_EQ(syndromes(b), (outcomes{cqe_syndrome::None}));
}

TEST(requester_rules, an_unreliable_connection_has_no_reads) {
  peer_bench b;
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    peer_bench::options wanted = plain();
    wanted.qp.service = qpc_service::Uc;
    co_await bench.connect(core, wanted);
    co_await bench.post(core, bench.request(wqe_opcode::RdmaRead, 8));
    co_await bench.send_completions(core);
  });
  EXPECT_EQ(syndromes(b), (outcomes{cqe_syndrome::LocalQpOperation}));
}

// UC and UD: a local error stops the send queue only; SQERR2RTS makes it go on.
TEST(requester_rules, a_local_error_of_an_unreliable_connection_stops_its_send_queue_only) {
  peer_bench b;
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    peer_bench::options wanted = plain();
    wanted.qp.service = qpc_service::Uc;
    co_await bench.connect(core, wanted);
    work_request wrong = bench.request(wqe_opcode::Send, 8);
    wrong.sges[0].lkey ^= 0x100;
    co_await bench.post(core, wrong);
    co_await bench.send_completions(core);
    EXPECT_EQ((co_await bench.qp->query(core)).state, qpc_state::Sqer);
    co_await bench.post(core, bench.request(wqe_opcode::Send, 8));
    co_await bench.send_completions(core);
    co_await bench.qp->sqer_to_rts(core);
    co_await bench.post(core, bench.request(wqe_opcode::Send, 8));
    co_await bench.send_completions(core);
  });
  EXPECT_EQ(syndromes(b),
            (outcomes{cqe_syndrome::LocalProtection, cqe_syndrome::WrFlushed, cqe_syndrome::None}));
}

// States -----------------------------------------------------------------------------------------

TEST(requester_rules, the_error_state_flushes_what_is_outstanding) {
  peer_bench b;
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    co_await bench.post(core, bench.request(wqe_opcode::Send, 8));
    co_await bench.post(core, bench.request(wqe_opcode::Send, 8));
    co_await bench.wait_ns(core, 5000);
    co_await bench.qp->to_error(core);
    co_await bench.send_completions(core, 2);
  });
  EXPECT_EQ(syndromes(b), (outcomes{cqe_syndrome::WrFlushed, cqe_syndrome::WrFlushed}));
}

TEST(requester_rules, sqd_holds_new_work_until_rts) {
  peer_bench b;
  b.acknowledges_everything();
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    co_await bench.qp->to_sqd(core);
    co_await bench.post(core, bench.request(wqe_opcode::Send, 8));
    co_await bench.wait_ns(core, 20000);
    EXPECT_TRUE(bench.packets.empty());
    co_await bench.qp->from_sqd(core);
    co_await bench.send_completions(core);
  });
  EXPECT_EQ(b.packets.size(), 1U);
  EXPECT_EQ(syndromes(b), (outcomes{cqe_syndrome::None}));
}

}  // namespace
}  // namespace carillon
