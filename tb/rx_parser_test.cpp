// rx_parser: one verdict a packet, nothing before the ICRC is known, one request of a QP at a time.
#include "rx_parser.h"

#include <gtest/gtest.h>

#include "tb/common/rx_parser_bench.h"

namespace carillon {
namespace {

using namespace bench;

TEST_P(rx_parser_bench, a_short_packet_is_visible_nine_cycles_after_its_first_beat) {
  deciding_responder responder(bench, ports.requests, ports.commits, lines, 1);
  sink<rx_packet> requester("requester", bench, ports.responses);
  // 14+20+8+12+16+64+4 = 138 bytes, 3 beats; pushed in 10, taken in 11: the lookup decides, not the
  // ICRC (11 + 3 + 3).
  send(10, request(100, 64));
  bench.run(100);
  ASSERT_EQ(responder.items.size(), 1U);
  EXPECT_EQ(responder.items[0].visible, 20U);
  const rx_packet& packet = responder.items[0].item;
  EXPECT_EQ(packet.verdict, rx_verdict::accept);
  EXPECT_EQ(packet.qpn, Qpn);
  EXPECT_EQ(packet.function, 3);
  EXPECT_EQ(packet.bth_opcode, 0x0a);
  EXPECT_EQ(packet.psn, 100U);
  EXPECT_TRUE(packet.ack_request);
  EXPECT_EQ(packet.remote_address, 0x123456789abcU);
  EXPECT_EQ(packet.rkey, 0x4400U);
  EXPECT_EQ(packet.dma_length, 64U);
  EXPECT_EQ(packet.payload, 64U);
  EXPECT_EQ(packet.bytes.data()[packet.payload_offset + 5], 5);
  EXPECT_EQ(qpc_responder::unpack(packet.responder.data()).next_rcv_psn, 100U);
  bench.context.check_drained();
}

TEST_P(rx_parser_bench, a_long_packet_is_visible_four_cycles_after_its_last_beat) {
  deciding_responder responder(bench, ports.requests, ports.commits, lines, 1);
  sink<rx_packet> requester("requester", bench, ports.responses);
  // 4096 bytes: 4170 on the wire, 66 beats, taken in 11..76.
  send(10, request(100, 4096));
  bench.run(200);
  ASSERT_EQ(responder.items.size(), 1U);
  EXPECT_EQ(responder.items[0].visible, 80U);
  bench.context.check_drained();
}

TEST_P(rx_parser_bench, full_packets_of_one_qp_follow_at_line_rate) {
  deciding_responder responder(bench, ports.requests, ports.commits, lines, 1);
  sink<rx_packet> requester("requester", bench, ports.responses);
  for (std::uint32_t i = 0; i < 8; ++i) {
    send(10, request(100 + i, 4096));
  }
  bench.run(1000);
  ASSERT_EQ(responder.items.size(), 8U);
  for (std::uint32_t i = 0; i < 8; ++i) {
    EXPECT_EQ(responder.items[i].item.verdict, rx_verdict::accept) << i;
    EXPECT_EQ(responder.items[i].item.psn, 100 + i);
    // 66 beats apart; the lookup waits a cycle for the commit, in the shadow of the beats.
    EXPECT_EQ(responder.items[i].visible, 80U + 66 * i);
  }
  bench.context.check_drained();
}

TEST_P(rx_parser_bench, a_second_short_request_of_a_qp_waits_for_the_commit_of_the_first) {
  deciding_responder responder(bench, ports.requests, ports.commits, lines, 1);
  sink<rx_packet> requester("requester", bench, ports.responses);
  send(10, request(100, 0));  // 74 bytes, 2 beats: taken in 11, looked up from 14, visible in 20
  send(10,
       request(
           101,
           0));  // taken in 13; the commit is visible in 21: 4 + 1 cycles from there, visible in 27
  send(10, request(100, 0, OtherQpn));  // another QP, in order behind it
  bench.run(100);
  ASSERT_EQ(responder.items.size(), 3U);
  EXPECT_EQ(responder.items[0].visible, 20U);
  EXPECT_EQ(responder.items[1].visible, 27U);
  EXPECT_EQ(responder.items[2].visible, 28U);
  EXPECT_EQ(waited_for(bench.context.trace, responder.items[1].item.trace, "qp_busy"), 5000U);
  EXPECT_EQ(responder.items[1].item.verdict, rx_verdict::accept);
  bench.context.check_drained();
}

TEST_P(rx_parser_bench, verdicts_go_where_they_belong) {
  deciding_responder responder(bench, ports.requests, ports.commits, lines, 1);
  sink<rx_packet> requester("requester", bench, ports.responses);
  qpc_common init = common();
  init.state = qp_state::Init;
  ram.set(context_kind::qpc_common, 0x50, init);
  ram.set(context_kind::qpc_responder, 0x50, qpc_responder{});
  send(10, request(102, 8));
  send(20, request(99, 8));
  send(30, request(0, 8, 0x999));
  send(40, request(0, 8, 0x50));
  send(50, ack(5));
  bench.run(200);
  ASSERT_EQ(responder.items.size(), 4U);
  EXPECT_EQ(responder.items[0].item.verdict, rx_verdict::gap);
  EXPECT_EQ(responder.items[1].item.verdict, rx_verdict::duplicate);
  EXPECT_EQ(responder.items[2].item.verdict, rx_verdict::no_qp);
  EXPECT_EQ(responder.items[3].item.verdict, rx_verdict::bad_state);
  ASSERT_EQ(requester.items.size(), 1U);
  EXPECT_EQ(requester.items[0].item.verdict, rx_verdict::response);
  EXPECT_EQ(requester.items[0].item.syndrome, 31);
  EXPECT_EQ(requester.items[0].item.msn, 7U);
  EXPECT_EQ(requester.items[0].item.psn, 5U);
  EXPECT_EQ(bench.count(counter::RxDropNoQp), 1U);
  EXPECT_EQ(bench.count(counter::RxDropBadState), 1U);
  bench.context.check_drained();
}

TEST_P(rx_parser_bench, what_is_not_for_us_is_dropped_by_name_and_frees_the_qp) {
  deciding_responder responder(bench, ports.requests, ports.commits, lines, 1);
  sink<rx_packet> requester("requester", bench, ports.responses);
  frame_item bad_icrc = frame_of(request(100, 64));
  bad_icrc.bytes.data()[bad_icrc.offset + 90] ^= 0x40;
  frame_item not_ip = frame_of(request(100, 64));
  not_ip.bytes.data()[not_ip.offset + 12] = 0x88;
  frame_item not_udp = frame_of(request(100, 64));
  not_udp.bytes.data()[not_udp.offset + 14 + 9] = 6;
  frame_item other_port = frame_of(request(100, 64));
  other_port.bytes.data()[other_port.offset + 14 + 20 + 3] = 80;
  packet_description other_partition = request(100, 64);
  other_partition.pkey = 0x1234;
  send(10, std::move(bad_icrc));
  send(10, std::move(not_ip));
  send(10, std::move(not_udp));
  send(10, std::move(other_port));
  send(10, other_partition);
  send(10, request(100, 64));
  bench.run(200);
  ASSERT_EQ(responder.items.size(), 1U);
  EXPECT_EQ(responder.items[0].item.verdict, rx_verdict::accept);
  EXPECT_EQ(bench.count(counter::RxDropIcrc), 1U);
  EXPECT_EQ(bench.count(counter::RxDropEthertype), 1U);
  EXPECT_EQ(bench.count(counter::RxDropProtocol), 1U);
  EXPECT_EQ(bench.count(counter::RxDropUdpPort), 1U);
  EXPECT_EQ(bench.count(counter::RxDropPkey), 1U);
  bench.context.check_drained();
}

TEST_P(rx_parser_bench, back_pressure_reaches_the_frames_and_every_wait_has_a_name) {
  deciding_responder responder(bench, ports.requests, ports.commits, lines, 37);
  sink<rx_packet> requester("requester", bench, ports.responses, 11);
  for (std::uint32_t i = 0; i < 20; ++i) {
    send(10, request(100 + i, i * 13));
    send(10, request(100 + i, 700, OtherQpn));
    send(10, ack(i));
  }
  bench.run(5000);
  ASSERT_EQ(responder.items.size(), 40U);
  for (const auto& each : responder.items) {
    EXPECT_EQ(each.item.verdict, rx_verdict::accept);
  }
  EXPECT_EQ(requester.items.size(), 20U);
  bench.context.check_drained();
}

TEST_P(rx_parser_bench, responses_that_cannot_leave_take_no_lines_of_the_requests_behind_them) {
  deciding_responder responder(bench, ports.requests, ports.commits, lines, 1);
  sink<rx_packet> requester("requester", bench, ports.responses, 97);
  for (std::uint32_t i = 0; i < 8; ++i) {
    send(10, ack(i));  // more than the stream holds
  }
  send(10, request(100, 8, OtherQpn));
  send(10, request(100, 8));
  bench.run(2000);
  EXPECT_EQ(requester.items.size(), 8U);
  ASSERT_EQ(responder.items.size(), 2U);
  EXPECT_EQ(responder.items[0].item.verdict, rx_verdict::accept);
  EXPECT_EQ(responder.items[1].item.verdict, rx_verdict::accept);
  bench.context.check_drained();
}

TEST(rx_parser_core, psn_space_is_modular) {
  EXPECT_EQ(verdict_of_psn(5, 5), rx_verdict::accept);
  EXPECT_EQ(verdict_of_psn(0, 0xffffff), rx_verdict::gap);
  EXPECT_EQ(verdict_of_psn(0xffffff, 0), rx_verdict::duplicate);
  EXPECT_EQ(verdict_of_psn(0x7fffff, 0), rx_verdict::gap);
  EXPECT_EQ(verdict_of_psn(0x800000, 0), rx_verdict::duplicate);
}

TEST(rx_parser_core, every_refusal_of_the_header_fsm_has_a_counter) {
  for (std::size_t i = 1; i < ParseErrorCount; ++i) {
    EXPECT_NO_THROW(counter_of(static_cast<parse_error>(i))) << i;
  }
}

TEST(rx_parser_core, states_that_receive) {
  const opcode_info& write = *find_opcode(bth_opcode::RcWriteOnly);
  const opcode_info& ack = *find_opcode(bth_opcode::RcAcknowledge);
  const opcode_info& datagram = *find_opcode(bth_opcode::UdSendOnly);
  qpc_common common;
  qpc_responder line;
  EXPECT_EQ(look_up(write, 0, false, common, line), rx_verdict::no_qp);
  EXPECT_EQ(look_up(write, 0, true, common, line), rx_verdict::no_qp);
  common.valid = 1;
  const auto verdict = [&](const opcode_info& opcode, qp_state state) {
    common.state = state;
    return look_up(opcode, 0, true, common, line);
  };
  EXPECT_EQ(verdict(write, qp_state::Reset), rx_verdict::bad_state);
  EXPECT_EQ(verdict(write, qp_state::Init), rx_verdict::bad_state);
  EXPECT_EQ(verdict(write, qp_state::Rtr), rx_verdict::accept);
  EXPECT_EQ(verdict(write, qp_state::Rts), rx_verdict::accept);
  EXPECT_EQ(verdict(write, qp_state::Sqd), rx_verdict::accept);
  EXPECT_EQ(verdict(write, qp_state::Err), rx_verdict::bad_state);
  EXPECT_EQ(verdict(ack, qp_state::Rtr), rx_verdict::bad_state);
  EXPECT_EQ(verdict(ack, qp_state::Rts), rx_verdict::response);
  EXPECT_EQ(verdict(datagram, qp_state::Rts), rx_verdict::bad_state);
  line.error = 1;
  EXPECT_EQ(verdict(write, qp_state::Rts), rx_verdict::bad_state);
}

// P_Key rule: the low 15 bits agree and one of both is that of a full member.
TEST_P(rx_parser_bench, two_limited_members_of_a_partition_do_not_talk) {
  deciding_responder responder(bench, ports.requests, ports.commits, lines, 1);
  sink<rx_packet> responses("requester", bench, ports.responses);
  qpc_common limited = common();
  limited.pkey = 0x1234;
  ram.set(context_kind::qpc_common, Qpn, limited);
  packet_description packet = request(100, 16);
  packet.pkey = 0x1234;
  send(10, packet);
  packet.pkey = 0x9234;
  send(60, packet);
  bench.run(300);
  EXPECT_EQ(bench.count(counter::RxDropPkey), 1U);
  ASSERT_EQ(responder.items.size(), 1U);
}

TEST_P(rx_parser_bench, an_atomic_brings_its_address_and_operands) {
  deciding_responder responder(bench, ports.requests, ports.commits, lines, 1);
  sink<rx_packet> responses("requester", bench, ports.responses);
  packet_description packet = request(100, 0);
  packet.opcode = bth_opcode::RcCompareSwap;
  packet.atomic = {0x1122334455667788, 0x99aabbcc, 0x0102030405060708, 0x1112131415161718};
  send(10, packet);
  bench.run(200);
  ASSERT_EQ(responder.items.size(), 1U);
  const rx_packet& got = responder.items[0].item;
  EXPECT_EQ(got.remote_address, 0x1122334455667788U);
  EXPECT_EQ(got.rkey, 0x99aabbccU);
  EXPECT_EQ(got.swap_add, 0x0102030405060708U);
  EXPECT_EQ(got.compare, 0x1112131415161718U);
}

TEST_P(rx_parser_bench, a_send_with_invalidate_brings_the_key) {
  deciding_responder responder(bench, ports.requests, ports.commits, lines, 1);
  sink<rx_packet> responses("requester", bench, ports.responses);
  packet_description packet = request(100, 8);
  packet.opcode = bth_opcode::RcSendOnlyInvalidate;
  packet.invalidate_rkey = 0xcafe01;
  send(10, packet);
  bench.run(200);
  ASSERT_EQ(responder.items.size(), 1U);
  EXPECT_EQ(responder.items[0].item.imm, 0xcafe01U);
}

TEST_P(rx_parser_bench, a_read_response_goes_to_the_requester_with_its_data) {
  deciding_responder responder(bench, ports.requests, ports.commits, lines, 1);
  sink<rx_packet> responses("requester", bench, ports.responses);
  packet_description packet = ack(55);
  packet.opcode = bth_opcode::RcReadResponseOnly;
  packet.payload = 33;
  send(10, packet);
  bench.run(200);
  ASSERT_EQ(responses.items.size(), 1U);
  const rx_packet& got = responses.items[0].item;
  EXPECT_EQ(got.verdict, rx_verdict::response);
  EXPECT_EQ(got.payload, 33U);
  EXPECT_EQ(got.msn, 7U);
}

TEST_P(rx_parser_bench, an_atomic_response_brings_the_original_value) {
  deciding_responder responder(bench, ports.requests, ports.commits, lines, 1);
  sink<rx_packet> responses("requester", bench, ports.responses);
  packet_description packet = ack(55);
  packet.opcode = bth_opcode::RcAtomicAcknowledge;
  packet.atomic_result.original = 0x0102030405060708;
  send(10, packet);
  bench.run(200);
  ASSERT_EQ(responses.items.size(), 1U);
  EXPECT_EQ(responses.items[0].item.atomic_result, 0x0102030405060708U);
}

TEST_P(rx_parser_bench, a_datagram_is_accepted_whatever_its_psn) {
  deciding_responder responder(bench, ports.requests, ports.commits, lines, 1);
  sink<rx_packet> responses("requester", bench, ports.responses);
  qpc_common datagrams = common();
  datagrams.service = qp_service::Ud;
  ram.set(context_kind::qpc_common, Qpn, datagrams);
  packet_description packet = request(77777, 16);
  packet.opcode = bth_opcode::UdSendOnly;
  packet.datagram = {0x11223344, 0x98};
  send(10, packet);
  bench.run(200);
  ASSERT_EQ(responder.items.size(), 1U);
  const rx_packet& got = responder.items[0].item;
  EXPECT_EQ(got.verdict, rx_verdict::accept);
  EXPECT_EQ(got.qkey, 0x11223344U);
  EXPECT_EQ(got.source_qpn, 0x98U);
  EXPECT_FALSE(got.ipv6);
  EXPECT_EQ(got.bytes.data()[got.ip_offset], 0x45) << "an IPv4 header of five dwords";
}

INSTANTIATE_TEST_SUITE_P(shuffle, rx_parser_bench, testing::Values(0, 77));

}  // namespace
}  // namespace carillon
