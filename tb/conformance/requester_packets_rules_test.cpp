// The requester's rules on the wire: packets and PSNs, one host and NIC against a scripted peer.
// Each case is named after its rule; the comment says where the rule is public.
#include <gtest/gtest.h>

#include "tb/common/requester_rules.h"

namespace carillon {
namespace {

using bench::bytes_t;
using bench::carried;
using bench::exchange;
using bench::numbers;
using bench::opcodes;
using bench::ops;
using bench::outcomes;
using bench::OwnPsn;
using bench::pattern;
using bench::peer_bench;
using bench::plain;
using bench::psns;
using bench::serve_reads;
using bench::syndromes;

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

}  // namespace
}  // namespace carillon
