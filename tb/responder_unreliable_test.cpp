// responder: UC and UD. Nothing is acknowledged, nothing is refused aloud.
//
// The rules are RoCEv2/IBTA's: a UC QP takes up again at the first packet of a message, whatever
// its PSN; a datagram's receive buffer begins with 40 bytes for the IP header.
#include <gtest/gtest.h>

#include "gen/wqe.h"
#include "tb/common/responder_bench.h"

namespace carillon::bench {
namespace {

class unreliable : public responder_bench {
 protected:
  unreliable() {
    common.service = qp_service::Uc;
    set_qp();
  }
};

TEST_P(unreliable, a_message_is_written_and_completed_without_an_acknowledge) {
  post_receive(0, 256, 256);
  send(10, packet(bth_opcode::UcSendFirst, 256));
  send(11, packet(bth_opcode::UcSendLastImmediate, 40));
  send(12, packet(bth_opcode::UcWriteOnly, 8));
  finish(500);
  EXPECT_EQ(completions(), "3 0");
  EXPECT_EQ(cqes.items[0].item.byte_count, 296U);
  EXPECT_EQ(cqes.items[0].item.imm, 0xcafe0001U);
  EXPECT_EQ(memory.written.size(), 3U);
  EXPECT_TRUE(responses.items.empty());
}

// FIRST, a lost MIDDLE, LAST; then a whole message with yet another PSN: it takes the receive WQE
// of the one that was given up.
TEST_P(unreliable, after_a_loss_the_next_message_takes_the_same_receive_wqe) {
  post_receive(0, 256, 256);
  post_receive(1, 256, 256);
  send(10, packet(bth_opcode::UcSendFirst, 256));
  packet(bth_opcode::UcSendMiddle, 256);  // lost
  send(11, packet(bth_opcode::UcSendLast, 8));
  psn[Qpn] = 5000;
  send(12, packet(bth_opcode::UcSendOnly, 16));
  send(13, packet(bth_opcode::UcSendOnly, 16));
  finish(600);
  EXPECT_EQ(completions(), "2 0, 2 1");
  EXPECT_EQ(cqes.items[0].item.byte_count, 16U);
  EXPECT_EQ(stored().next_rcv_psn, 5002U);
  EXPECT_EQ(bench.count(counter::UcMessagesDropped), 1U);
  EXPECT_EQ(bench.count(counter::RxDropUnreliable), 1U);
  EXPECT_TRUE(responses.items.empty());
  EXPECT_TRUE(errors.items.empty());
}

TEST_P(unreliable, a_first_packet_ends_a_message_whose_last_was_lost) {
  post_receive(0, 256, 256);
  send(10, packet(bth_opcode::UcSendFirst, 256));
  send(11, packet(bth_opcode::UcSendOnly, 16));
  finish(600);
  EXPECT_EQ(completions(), "2 0");
  EXPECT_EQ(bench.count(counter::UcMessagesDropped), 1U);
}

TEST_P(unreliable, packets_without_a_first_are_dropped_until_one_comes) {
  send(10, packet(bth_opcode::UcWriteMiddle, 256));
  send(11, packet(bth_opcode::UcWriteLast, 8));
  send(12, packet(bth_opcode::UcWriteOnly, 8));
  finish(300);
  EXPECT_EQ(memory.written.size(), 1U);
  EXPECT_EQ(bench.count(counter::RxDropUnreliable), 2U);
}

TEST_P(unreliable, a_message_that_breaks_the_rules_is_dropped_and_the_qp_lives_on) {
  send(10, packet(bth_opcode::UcWriteOnly, 257));
  rx_packet first = packet(bth_opcode::UcWriteFirst, 256);
  first.dma_length = 300;
  send(11, std::move(first));
  send(12, packet(bth_opcode::UcWriteLast, 45));  // one byte more than announced
  common.rwe = 0;
  set_qp(Qpn + 1);
  send(13, packet(bth_opcode::UcWriteOnly, 8, true, Qpn + 1));  // not allowed
  send(14, packet(bth_opcode::UcWriteOnly, 8));
  finish(300);
  EXPECT_EQ(memory.written.size(), 2U);  // the first packet and the last message
  EXPECT_EQ(bench.count(counter::RxDropUnreliable), 3U);
  EXPECT_TRUE(errors.items.empty());
}

TEST_P(unreliable, without_a_receive_wqe_the_whole_message_is_dropped) {
  send(10, packet(bth_opcode::UcSendFirst, 256));
  send(11, packet(bth_opcode::UcSendLast, 8));
  bench.run(500);
  post_receive(0, 256);
  send(510, packet(bth_opcode::UcSendOnly, 8));
  finish(500);
  EXPECT_EQ(completions(), "2 0");
  EXPECT_EQ(bench.count(counter::RxOutOfBuffer), 1U);
  EXPECT_EQ(bench.count(counter::RxDropUnreliable), 1U);
  EXPECT_TRUE(responses.items.empty());
}

TEST_P(unreliable, a_refused_key_drops_the_message_only) {
  rx_packet first = packet(bth_opcode::UcWriteFirst, 256);
  first.rkey = Rkey + 1;
  first.dma_length = 512;
  send_at_once(10, std::move(first));
  send_at_once(11, packet(bth_opcode::UcWriteLast, 256));
  send_at_once(12, packet(bth_opcode::UcWriteOnly, 8));
  finish(300);
  EXPECT_EQ(memory.written.size(), 1U);
  EXPECT_EQ(memory.written[0].write.length, 8U);
  EXPECT_EQ(bench.count(counter::RespRemoteAccessErrors), 1U);
  EXPECT_EQ(bench.count(counter::UcMessagesDropped), 1U);
  EXPECT_TRUE(errors.items.empty());
  EXPECT_TRUE(responses.items.empty());
}

// Receive WQEs of a queue complete in order: one that a refused message had taken would be missing.
TEST_P(unreliable, a_refused_write_with_immediate_takes_no_receive_wqe) {
  post_receive(0, 256);
  post_receive(1, 256);
  rx_packet wrong = packet(bth_opcode::UcWriteOnlyImmediate, 8);
  wrong.rkey = Rkey + 1;
  send(10, std::move(wrong));
  rx_packet first = packet(bth_opcode::UcWriteFirst, 256);
  first.rkey = Rkey + 1;
  first.dma_length = 264;
  send(11, std::move(first));
  send(12, packet(bth_opcode::UcWriteLastImmediate, 8));
  send(13, packet(bth_opcode::UcWriteOnlyImmediate, 8));
  rx_packet good = packet(bth_opcode::UcWriteFirst, 256);
  good.dma_length = 264;
  send(14, std::move(good));
  send(15, packet(bth_opcode::UcWriteLastImmediate, 8));
  finish(800);
  EXPECT_EQ(completions(), "1 0, 1 1");
  EXPECT_EQ(cqes.items[1].item.byte_count, 264U);
  EXPECT_EQ(memory.written.size(), 3U);
}

TEST_P(unreliable, a_message_longer_than_its_buffers_ends_the_qp_without_a_nak) {
  post_receive(0, 100);
  post_receive(1, 100);
  send(10, packet(bth_opcode::UcSendOnly, 101));
  finish(500);
  EXPECT_EQ(completions(), "14/1 0, 14/5 1");
  EXPECT_EQ(errors.items.size(), 1U);
  EXPECT_EQ(faults.items.size(), 1U);
  EXPECT_TRUE(responses.items.empty());
}

INSTANTIATE_TEST_SUITE_P(shuffle, unreliable, testing::Values(0, 77));

// UD
// ----------------------------------------------------------------------------------------------------

constexpr std::uint32_t Qkey = 0x11223344;
constexpr std::uint32_t IpAt = 14;

class datagrams : public responder_bench {
 protected:
  datagrams() {
    common.service = qp_service::Ud;
    common.qkey = Qkey;
    set_qp();
  }

  rx_packet datagram(std::uint32_t payload, bool ipv6 = false) {
    rx_packet out = packet(bth_opcode::UdSendOnly, payload);
    out.qkey = Qkey;
    out.source_qpn = 0x4567;
    out.ipv6 = ipv6;
    out.ip_offset = IpAt;
    out.priority = 3;
    for (std::uint32_t i = 0; i < 40; ++i) {
      out.bytes.data()[IpAt + i] = static_cast<std::uint8_t>(0xa0 + i);
    }
    return out;
  }
};

TEST_P(datagrams, an_ipv6_header_is_the_first_40_bytes_of_the_buffer) {
  post_receive(0, 256);
  send(10, datagram(30, true));
  finish(500);
  EXPECT_TRUE(memory_holds(LocalIova, 40, 0xa0));
  EXPECT_TRUE(memory_holds(LocalIova + 40, 30, 0));
  EXPECT_EQ(completions(), "2 0");
  const cqe_item& cqe = cqes.items[0].item;
  EXPECT_EQ(cqe.byte_count, 70U);  // the 40 bytes included
  EXPECT_TRUE(cqe.grh);
  EXPECT_EQ(cqe.remote_qpn, 0x4567U);
  EXPECT_EQ(cqe.service_level, 3);
  EXPECT_TRUE(responses.items.empty());
}

TEST_P(datagrams, an_ipv4_header_is_the_last_20_of_the_40_bytes) {
  post_receive(0, 256);
  for (std::uint32_t i = 0; i < 20; ++i) {
    memory.at(LocalIova + i) = 0xee;
  }
  send(10, datagram(30));
  finish(500);
  for (std::uint32_t i = 0; i < 20; ++i) {
    EXPECT_EQ(memory.at(LocalIova + i), 0) << i;
  }
  EXPECT_TRUE(memory_holds(LocalIova + 20, 20, 0xa0));
  EXPECT_TRUE(memory_holds(LocalIova + 40, 30, 0));
  EXPECT_EQ(cqes.items[0].item.byte_count, 70U);
}

TEST_P(datagrams, header_and_bytes_are_scattered_like_one_message) {
  post_receive(0, 50, 200);
  send(10, datagram(100));
  finish(500);
  ASSERT_EQ(memory.written.size(), 2U);
  EXPECT_EQ(memory.written[0].write.length, 50U);
  EXPECT_EQ(memory.written[1].write.length, 90U);
  EXPECT_TRUE(memory_holds(LocalIova + 40, 10, 0));
  EXPECT_TRUE(memory_holds(LocalIova + 0x100, 90, 10));
}

TEST_P(datagrams, each_packet_is_a_message_whatever_its_psn) {
  post_receive(0, 256);
  post_receive(1, 256);
  rx_packet immediate = datagram(8);
  immediate.bth_opcode = static_cast<std::uint8_t>(bth_opcode::UdSendOnlyImmediate);
  immediate.imm = 0x1234;
  immediate.psn = 9;
  immediate.solicited = true;
  send(10, datagram(0));
  send(11, std::move(immediate));
  finish(600);
  EXPECT_EQ(completions(), "2 0, 3 1");
  EXPECT_EQ(cqes.items[0].item.byte_count, 40U);
  EXPECT_EQ(cqes.items[1].item.imm, 0x1234U);
  EXPECT_TRUE(cqes.items[1].item.solicited);
}

TEST_P(datagrams, another_queue_key_is_dropped_without_a_word) {
  post_receive(0, 256);
  rx_packet wrong = datagram(8);
  wrong.qkey = Qkey + 1;
  send(10, std::move(wrong));
  send(11, datagram(8));
  finish(500);
  EXPECT_EQ(completions(), "2 0");
  EXPECT_EQ(bench.count(counter::QkeyViolations), 1U);
  EXPECT_EQ(bench.count(counter::RxDropUnreliable), 0U);
}

TEST_P(datagrams, without_a_receive_wqe_it_is_dropped) {
  send(10, datagram(8));
  finish(500);
  EXPECT_EQ(bench.count(counter::RxOutOfBuffer), 1U);
  EXPECT_TRUE(responses.items.empty());
  EXPECT_EQ(parser.committed.size(), 1U);
}

TEST_P(datagrams, the_largest_is_the_mtu) {
  post_receive(0, 256, 256);
  send(10, datagram(256));
  send(11, datagram(257));
  finish(600);
  EXPECT_EQ(completions(), "2 0");
  EXPECT_EQ(cqes.items[0].item.byte_count, 296U);
  EXPECT_EQ(bench.count(counter::RxDropUnreliable), 1U);
}

// The 40 bytes count: a buffer without room for them is too short.
TEST_P(datagrams, a_buffer_without_room_for_the_40_bytes_is_a_local_length_error) {
  post_receive(0, 47);
  send(10, datagram(8));
  finish(500);
  EXPECT_EQ(completions(), "14/1 0");
  EXPECT_TRUE(responses.items.empty());
}

TEST_P(datagrams, the_frame_itself_stays_as_it_was) {
  post_receive(0, 256);
  rx_packet original = datagram(8);
  const buffer_ref frame = original.bytes;
  std::array<std::uint8_t, 100> before{};
  std::copy_n(frame.data(), before.size(), before.begin());
  send(10, std::move(original));
  finish(500);
  EXPECT_TRUE(std::equal(before.begin(), before.end(), frame.data()));
}

INSTANTIATE_TEST_SUITE_P(shuffle, datagrams, testing::Values(0, 77));

}  // namespace
}  // namespace carillon::bench
