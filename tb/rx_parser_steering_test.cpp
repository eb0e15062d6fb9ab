// rx_parser's steering: a frame belongs to the virtual port with its destination and VLAN, and only
// QPs of that port's function may be reached by it.
//
// Ports 0..3 are enabled; the QPs of the bench are of function 3, whose port has PortMac.
#include <gtest/gtest.h>

#include "tb/common/rx_parser_bench.h"

namespace carillon {
namespace {

using namespace bench;

constexpr std::uint16_t OtherFunction = 1;
constexpr std::uint64_t OtherMac = PortMac - Function + OtherFunction;

class rx_steering : public rx_parser_bench {
 protected:
  rx_steering()
      : responder(bench, ports.requests, ports.commits, lines, 1),
        requester("requester", bench, ports.responses) {}

  void set_ports(const std::vector<vport>& wanted, cycle_t t = 0) {
    vports.write(t, vport_table(wanted));
  }

  [[nodiscard]] std::uint64_t count_for(std::uint16_t function, counter which) const {
    return bench.nic.counters.value_for(function, which);
  }

  /// The lines of the QP as the context RAM has them.
  [[nodiscard]] std::array<std::uint8_t, BeatBytes> responder_line(std::uint32_t qpn = Qpn) {
    std::array<std::uint8_t, BeatBytes> line{};
    ram.get<qpc_responder>(context_kind::qpc_responder, qpn).pack(line.data());
    return line;
  }

  deciding_responder responder;
  sink<rx_packet> requester;
};

TEST_P(rx_steering, a_frame_for_nobodys_address_is_dropped_and_counted) {
  packet_description packet = request(100, 16);
  packet.mac_destination = PortMac + 1;
  send(10, packet);
  packet.mac_destination = 0xffffffffffff;
  send(10, packet);
  bench.run(200);
  EXPECT_TRUE(responder.items.empty());
  EXPECT_EQ(bench.count(counter::RxSteerOverflow), 2U);
  for (std::uint16_t function = 0; function < 4; ++function) {
    EXPECT_EQ(count_for(function, counter::RxSteerOverflow), 0U) << "it is nobody's";
    EXPECT_EQ(count_for(function, counter::RxPackets), 0U);
  }
  bench.context.check_drained();
}

TEST_P(rx_steering, a_queue_pair_of_another_function_than_the_ports_is_not_touched) {
  const auto before = responder_line();
  packet_description packet = request(100, 16);
  packet.mac_destination = OtherMac;
  send(10, packet);
  packet_description answer = ack(5);
  answer.mac_destination = OtherMac;
  send(30, answer);
  bench.run(200);
  EXPECT_TRUE(responder.items.empty()) << "nobody NAKs";
  EXPECT_TRUE(requester.items.empty());
  EXPECT_EQ(responder_line(), before);
  EXPECT_EQ(bench.count(counter::RxSteerOwner), 2U);
  EXPECT_EQ(count_for(OtherFunction, counter::RxSteerOwner), 2U) << "the port that was addressed";
  EXPECT_EQ(count_for(Function, counter::RxSteerOwner), 0U);
  EXPECT_EQ(count_for(Function, counter::RxPackets), 0U);
  bench.context.check_drained();
}

TEST_P(rx_steering, a_frame_for_anothers_queue_pair_holds_its_owners_up_by_one_lookup_at_most) {
  packet_description alien = request(100, 0);
  alien.mac_destination = OtherMac;
  send(10, alien);                      // 74 bytes, 2 beats: taken in 11, dropped in 19
  send(10, request(100, 0));            // taken in 13; looked up in 20, visible in 26
  send(10, request(100, 0, OtherQpn));  // in order behind it
  bench.run(200);
  ASSERT_EQ(responder.items.size(), 2U);
  EXPECT_EQ(responder.items[0].visible, 26U);
  EXPECT_EQ(responder.items[0].item.verdict, rx_verdict::accept);
  EXPECT_EQ(responder.items[1].visible, 27U);
  bench.context.check_drained();
}

TEST_P(rx_steering, the_lookup_is_the_chips_own_so_that_it_sees_whose_the_queue_pair_is) {
  struct spy : stream_tap<context_read> {
    void on_take(cycle_t /*t*/, const context_read& item) override {
      functions.push_back(item.function);
    }

    std::vector<std::uint16_t> functions;
  };

  spy common_reads;
  spy responder_reads;
  ports.common_reads.tap(&common_reads);
  ports.responder_reads.tap(&responder_reads);
  packet_description alien = request(100, 0);
  alien.mac_destination = OtherMac;
  send(10, alien);
  send(60, request(100, 0));
  bench.run(200);
  EXPECT_EQ(common_reads.functions, (std::vector<std::uint16_t>{0, 0}));
  EXPECT_EQ(responder_reads.functions, (std::vector<std::uint16_t>{0, 0}));
}

TEST_P(rx_steering, frames_for_a_port_with_a_vlan_must_carry_its_tag) {
  std::vector<vport> wanted = four_ports();
  wanted[Function].vlan = 7;
  set_ports(wanted);
  packet_description packet = request(100, 16);
  send(10, packet);  // no tag
  packet.tagged = true;
  packet.vid = 8;
  send(30, packet);
  packet.vid = 7;
  packet.pcp = 5;
  send(50, packet);
  bench.run(200);
  EXPECT_EQ(bench.count(counter::RxSteerOverflow), 2U);
  ASSERT_EQ(responder.items.size(), 1U);
  EXPECT_EQ(responder.items[0].item.priority, 5);
  EXPECT_EQ(responder.items[0].item.function, Function);
  bench.context.check_drained();
}

TEST_P(rx_steering, a_promiscuous_port_takes_unknown_destinations_for_its_own_queue_pairs) {
  std::vector<vport> wanted = four_ports();
  wanted[Function].promiscuous = true;
  set_ports(wanted);
  packet_description packet = request(100, 16);
  packet.mac_destination = 0x02aabbccddee;
  send(10, packet);
  bench.run(200);
  ASSERT_EQ(responder.items.size(), 1U);
  EXPECT_EQ(responder.items[0].item.function, Function);
  EXPECT_EQ(count_for(Function, counter::RxPackets), 1U);
}

TEST_P(rx_steering, what_claims_to_come_from_one_of_our_ports_does_not_come_by_the_wire) {
  packet_description packet = request(100, 16);
  packet.mac_source = OtherMac;
  send(10, packet);
  frame_item looped = frame_of(packet);
  looped.looped = true;
  send(40, std::move(looped));
  bench.run(200);
  EXPECT_EQ(bench.count(counter::RxSteerSource), 1U);
  ASSERT_EQ(responder.items.size(), 1U) << "the looped one";
  bench.context.check_drained();
}

TEST_P(rx_steering, a_port_that_goes_down_takes_no_frame_from_the_next_cycle_on) {
  std::vector<vport> wanted = four_ports();
  wanted[Function].enabled = false;
  send(10, request(100, 0));  // taken in 11
  send(12, request(101, 0));  // taken in 13
  send(14, request(102, 0));  // taken in 15
  bench.run(13);
  set_ports(wanted, 13);  // read from 14 on
  bench.run(200);
  EXPECT_EQ(responder.items.size(), 2U);
  EXPECT_EQ(bench.count(counter::RxSteerOverflow), 1U);
}

TEST_P(rx_steering, each_function_has_its_own_packets_bytes_and_drops) {
  qpc_common foreign = common();
  foreign.function_id = OtherFunction;
  ram.set(context_kind::qpc_common, 0x60, foreign);
  ram.set(context_kind::qpc_responder, 0x60, qpc_responder{});
  packet_description packet = request(0, 16, 0x60);
  packet.mac_destination = OtherMac;
  send(10, packet);  // 14 + 20 + 8 + 12 + 16 + 16 + 4 = 90 bytes
  send(30, request(100, 8));
  packet_description partition = request(101, 8);
  partition.pkey = 0x8765;
  send(50, partition);
  send(70, request(0, 8, 0x999));
  frame_item damaged = frame_of(request(101, 8));
  damaged.bytes.data()[PayloadOffset] ^= 1;
  send(90, std::move(damaged));
  frame_item fragment = frame_of(request(101, 8));
  fragment.bytes.data()[fragment.offset + 14 + 6] |= 0x20;  // more fragments
  send(110, std::move(fragment));
  bench.run(300);
  EXPECT_EQ(count_for(OtherFunction, counter::RxPackets), 1U);
  EXPECT_EQ(count_for(OtherFunction, counter::RxBytes), 90U);
  EXPECT_EQ(count_for(Function, counter::RxPackets), 5U);
  EXPECT_EQ(count_for(Function, counter::RxBytes), 5 * 82U);
  for (const counter drop :
       {counter::RxDropPkey, counter::RxDropNoQp, counter::RxDropIcrc, counter::RxDropIpFragment}) {
    EXPECT_EQ(count_for(Function, drop), 1U);
    EXPECT_EQ(count_for(OtherFunction, drop), 0U);
    EXPECT_EQ(bench.count(drop), 1U);
  }
  EXPECT_EQ(bench.count(counter::RxPackets), 0U) << "the chip's are rx_mac's to count";
  bench.context.check_drained();
}

TEST_P(rx_steering, the_verdict_of_a_steered_packet_is_as_early_as_ever) {
  send(10, request(100, 64));  // 138 bytes, 3 beats: taken in 11, 9 cycles
  packet_description alien = request(101, 64);
  alien.mac_destination = PortMac + 1;
  send(13, alien);             // taken in 14, gone in 17
  send(16, request(101, 64));  // taken in 17
  bench.run(200);
  ASSERT_EQ(responder.items.size(), 2U);
  EXPECT_EQ(responder.items[0].visible, 20U);
  // Its lookup waits for the commit, visible in 21, as if nothing had been between them.
  EXPECT_EQ(responder.items[1].visible, 27U);
}

INSTANTIATE_TEST_SUITE_P(shuffle, rx_steering, testing::Values(0, 1, 2));

}  // namespace
}  // namespace carillon
