// packet_builder and the virtual ports: frames for a port of the same NIC go back in, a port's VLAN
// is put on, and what does not come from the port does not leave.
//
// Times: a packet pushed in cycle 10 is taken in 11, its frame is visible 30 cycles later, in 41.
#include <gtest/gtest.h>

#include "gen/wqe.h"
#include "tb/common/packet_builder_bench.h"

namespace carillon {
namespace {

using namespace bench;

constexpr std::uint16_t Vf = 1;
constexpr std::uint64_t VfMac = OwnMac + 1;

class builder_ports : public packet_builder_bench {
 protected:
  builder_ports() { set(table); }

  static std::vector<vport> two_ports() {
    std::vector<vport> made(2, own_port());
    made[Vf].mac = VfMac;
    return made;
  }

  void set(const std::vector<vport>& wanted) { vports.write(0, vport_table(wanted)); }

  /// Of the VF, along `path`.
  packet_item of_vf(packet_item packet, const qpc_address& path) {
    packet.function = Vf;
    packet.qpn = next_qp_;
    paths.paths[next_qp_++] = path;
    return packet;
  }

  [[nodiscard]] std::uint64_t count_for(std::uint16_t function, counter which) const {
    return bench.nic.counters.value_for(function, which);
  }

  static qpc_address path_to(std::uint64_t mac) {
    qpc_address path = plain_path();
    path.rmac = mac;
    return path;
  }

  /// The packet of the VF along this path ends here, and leaves nothing behind.
  void expect_dropped(const qpc_address& path, counter why) {
    sink_frames();
    fill(10, of_vf(request(Write, 4096), path));
    packet_item answer = of_vf(acknowledge(), path);
    direct.at(100, std::move(answer));
    fill(200, request(Write, 64));  // the PF goes on
    bench.run(400);
    EXPECT_EQ(bench.count(why), 2U);
    EXPECT_EQ(count_for(Vf, why), 2U);
    EXPECT_EQ(count_for(0, why), 0U);
    ASSERT_EQ(frames->items.size(), 1U);
    EXPECT_EQ(frames->items[0].visible, 231U);
    EXPECT_TRUE(looped->items.empty());
    EXPECT_EQ(bench.nic.buffers.in_use(), 1U) << "that of the frame that the sink keeps";
    finish();
  }

  std::vector<vport> table = two_ports();

 private:
  std::uint32_t next_qp_ = 0x40;
};

// Loopback ----------------------------------------------------------------------------------------

TEST_P(builder_ports, a_frame_for_a_port_of_this_nic_goes_back_in_when_it_would_have_left) {
  sink_frames();
  paths.paths[Qp] = path_to(VfMac);
  fill(10, request(Write, 4096));
  bench.run(300);
  EXPECT_TRUE(frames->items.empty());
  ASSERT_EQ(looped->items.size(), 1U);
  EXPECT_EQ(looped->items[0].visible, 41U);
  EXPECT_EQ(ports.loopback.busy_until(), 41U + 66);
  const frame_item& item = looped->items[0].item;
  EXPECT_TRUE(item.looped);
  EXPECT_EQ(item.function, 0);
  EXPECT_EQ(item.length, 4170U);
  EXPECT_EQ(number(bytes_of(item), 0, 6), VfMac);
  EXPECT_EQ(number(bytes_of(item), 6, 6), OwnMac);
  expect_sums(item);
  EXPECT_EQ(count_for(0, counter::TxLoopbackPackets), 1U);
  EXPECT_EQ(count_for(0, counter::TxLoopbackBytes), 4170U);
  EXPECT_EQ(bench.count(counter::TxLoopbackPackets), 1U);
  finish();
}

TEST_P(builder_ports, a_frame_for_the_functions_own_port_goes_back_in_too) {
  sink_frames();
  fill(10, of_vf(request(Write, 64), path_to(VfMac)));
  bench.run(300);
  ASSERT_EQ(looped->items.size(), 1U);
  EXPECT_EQ(number(bytes_of(looped->items[0].item), 6, 6), VfMac) << "the port's address";
  EXPECT_EQ(count_for(Vf, counter::TxLoopbackPackets), 1U);
  finish();
}

TEST_P(builder_ports, a_queue_pair_of_which_loopback_is_forced_sends_nothing_to_the_wire) {
  sink_frames();
  qpc_address path = path_to(PeerMac);
  path.loopback = 1;
  fill(10, of_vf(request(Write, 64), path));
  bench.run(300);
  EXPECT_TRUE(frames->items.empty());
  EXPECT_EQ(looped->items.size(), 1U);
  finish();
}

TEST_P(builder_ports, an_address_in_another_vlan_is_not_a_port_of_this_nic) {
  table[Vf].vlan = 7;
  set(table);
  sink_frames();
  paths.paths[Qp] = path_to(VfMac);
  fill(10, request(Write, 64));
  bench.run(300);
  EXPECT_EQ(frames->items.size(), 1U);
  EXPECT_TRUE(looped->items.empty());
  EXPECT_FALSE(frames->items[0].item.looped);
  finish();
}

TEST_P(builder_ports, a_port_that_is_down_is_not_reached_inside) {
  table[Vf].enabled = false;
  set(table);
  sink_frames();
  paths.paths[Qp] = path_to(VfMac);
  fill(10, request(Write, 64));
  bench.run(300);
  EXPECT_EQ(frames->items.size(), 1U);
  EXPECT_TRUE(looped->items.empty());
  finish();
}

TEST_P(builder_ports, frames_to_the_wire_and_back_share_the_datapath_in_the_order_of_grants) {
  sink_frames();
  for (unsigned i = 0; i < 8; ++i) {
    packet_item packet = request(Write, 4096);
    if (i % 2 == 1) {
      packet.qpn = Qp + 1;
    }
    fill(10, std::move(packet));
  }
  paths.paths[Qp + 1] = path_to(VfMac);
  bench.run(1000);
  ASSERT_EQ(frames->items.size(), 4U);
  ASSERT_EQ(looped->items.size(), 4U);
  for (unsigned i = 0; i < 4; ++i) {
    EXPECT_EQ(frames->items[i].visible, 41U + 66 * (2 * i));
    EXPECT_EQ(looped->items[i].visible, 41U + 66 * (2 * i + 1));
  }
  EXPECT_EQ(waited_for(bench.context.trace, looped->items[0].item.trace, "frame_port"), 2000U);
  finish();
}

TEST_P(builder_ports, small_looped_frames_follow_each_other_without_a_bubble) {
  sink_frames();
  paths.paths[Qp] = path_to(VfMac);
  for (unsigned i = 0; i < 12; ++i) {
    fill(10, request(Write, 64));  // 138 bytes: 3 beats
  }
  bench.run(300);
  ASSERT_EQ(looped->items.size(), 12U);
  for (unsigned i = 0; i < 12; ++i) {
    EXPECT_EQ(looped->items[i].visible, 41U + 3 * i);
  }
  finish();
}

TEST_P(builder_ports, what_waits_for_the_wire_gives_its_room_on_the_way_back_home) {
  sink_frames(500);  // the wire takes a frame every 500 cycles
  for (unsigned i = 0; i < 6; ++i) {
    fill(10, request(Write, 4096));
  }
  packet_item last = request(Write, 4096);
  last.qpn = Qp + 1;
  paths.paths[Qp + 1] = path_to(VfMac);
  fill(10, std::move(last));
  bench.run(6000);
  EXPECT_EQ(frames->items.size(), 6U);
  ASSERT_EQ(looped->items.size(), 1U);
  EXPECT_EQ(waited_for(bench.context.trace, looped->items[0].item.trace, "credit:loopback"), 0U);
  finish();
}

// VLAN --------------------------------------------------------------------------------------------

TEST_P(builder_ports, the_vlan_of_a_port_is_put_on_with_the_ports_priority) {
  table[Vf].vlan = 0x123;
  table[Vf].priority = 6;
  set(table);
  sink_frames();
  fill(10, of_vf(request(Write, 64), plain_path()));
  direct.at(100, of_vf(acknowledge(), plain_path()));
  bench.run(300);
  ASSERT_EQ(frames->items.size(), 2U);
  for (const auto& each : frames->items) {
    const bytes_t frame = bytes_of(each.item);
    EXPECT_EQ(number(frame, 12, 4), 0x8100c123U) << "priority 6, VLAN 0x123";
    EXPECT_EQ(number(frame, 16, 2), 0x0800U);
    EXPECT_EQ(each.item.priority, 6);
    EXPECT_EQ(each.item.fcs, crc(frame));
  }
  EXPECT_EQ(frames->items[0].item.length, 138U + 4);
  finish();
}

TEST_P(builder_ports, without_the_check_the_ports_vlan_replaces_what_the_queue_pair_says) {
  table[Vf].vlan = 0x123;
  table[Vf].spoof_check = false;
  set(table);
  sink_frames();
  qpc_address path = plain_path();
  path.vlan_valid = 1;
  path.vlan_id = 0x456;
  path.eth_prio = 5;
  fill(10, of_vf(request(Write, 64), path));
  bench.run(300);
  ASSERT_EQ(frames->items.size(), 1U);
  EXPECT_EQ(number(bytes_of(frames->items[0].item), 12, 4), 0x81000123U);
  finish();
}

TEST_P(builder_ports, ports_of_one_vlan_reach_each_other_inside) {
  table[0].vlan = 7;
  table[Vf].vlan = 7;
  set(table);
  sink_frames();
  fill(10, of_vf(request(Write, 64), path_to(OwnMac)));
  bench.run(300);
  ASSERT_EQ(looped->items.size(), 1U);
  EXPECT_EQ(number(bytes_of(looped->items[0].item), 12, 4), 0x81000007U);
  finish();
}

TEST_P(builder_ports, a_datagram_gets_the_ports_vlan_and_loops_by_its_own_destination) {
  table[0].vlan = 7;
  table[Vf].vlan = 7;
  table[Vf].priority = 2;
  set(table);
  sink_frames();
  packet_item packet = request(Send, 0);
  packet.service = static_cast<std::uint8_t>(qp_service::Ud);
  datagram_seg to;
  to.rmac = OwnMac;
  to.sl = 10;
  to.rgid = gid_of_ipv4(0x0a000001);
  to.dest_qpn = 0x55;
  packet.body = bench.nic.buffers.take();
  to.pack(packet.body.data());
  direct.at(10, of_vf(std::move(packet), path_to(PeerMac)));
  bench.run(300);
  ASSERT_EQ(looped->items.size(), 1U);
  const bytes_t frame = bytes_of(looped->items[0].item);
  EXPECT_EQ(number(frame, 0, 6), OwnMac);
  EXPECT_EQ(number(frame, 12, 4), 0x81004007U);
  finish();
}

// Spoof check -------------------------------------------------------------------------------------

TEST_P(builder_ports, the_source_address_is_that_of_the_path) {
  sink_frames();
  qpc_address path = plain_path();
  path.smac = OwnMac;
  paths.paths[Qp] = path;
  fill(10, request(Write, 64));
  table[Vf].spoof_check = false;
  set(table);
  path.smac = 0x02cafe000001;
  fill(10, of_vf(request(Write, 64), path));
  bench.run(300);
  ASSERT_EQ(frames->items.size(), 2U);
  EXPECT_EQ(number(bytes_of(frames->items[0].item), 6, 6), OwnMac);
  EXPECT_EQ(number(bytes_of(frames->items[1].item), 6, 6), 0x02cafe000001U)
      << "a port that is not checked sends as it likes";
  finish();
}

TEST_P(builder_ports, another_ports_address_as_source_is_dropped_and_counted) {
  qpc_address path = plain_path();
  path.smac = OwnMac;
  expect_dropped(path, counter::TxSpoofDrops);
}

TEST_P(builder_ports, another_ports_address_does_not_loop_back_either) {
  qpc_address path = path_to(VfMac);
  path.smac = OwnMac;
  expect_dropped(path, counter::TxSpoofDrops);
}

TEST_P(builder_ports, another_vlan_than_the_ports_is_dropped_and_counted) {
  table[Vf].vlan = 7;
  set(table);
  qpc_address path = plain_path();
  path.vlan_valid = 1;
  path.vlan_id = 8;
  expect_dropped(path, counter::TxSpoofDrops);
}

TEST_P(builder_ports, an_address_that_is_not_in_the_gid_table_is_dropped_and_counted) {
  table[Vf].sources.resize(2);
  table[Vf].sources[1] = {true, plain_path().src_ip};
  set(table);
  expect_dropped(plain_path(), counter::TxSpoofDrops);  // its GID index is 0
}

TEST_P(builder_ports, an_address_of_the_gid_table_may_leave) {
  table[Vf].sources.resize(2);
  table[Vf].sources[1] = {true, plain_path().src_ip};
  set(table);
  sink_frames();
  qpc_address path = plain_path();
  path.gid_index = 1;
  fill(10, of_vf(request(Write, 64), path));
  bench.run(300);
  EXPECT_EQ(frames->items.size(), 1U);
  EXPECT_EQ(bench.count(counter::TxSpoofDrops), 0U);
  finish();
}

TEST_P(builder_ports, a_port_that_is_down_sends_nothing) {
  table[Vf].enabled = false;
  set(table);
  expect_dropped(plain_path(), counter::TxVportDownDrops);
}

TEST_P(builder_ports, the_function_of_a_frame_goes_with_it) {
  sink_frames();
  fill(10, of_vf(request(Write, 64), plain_path()));
  bench.run(300);
  ASSERT_EQ(frames->items.size(), 1U);
  EXPECT_EQ(frames->items[0].item.function, Vf);
}

INSTANTIATE_TEST_SUITE_P(shuffle, builder_ports, testing::Values(0, 1, 2));

}  // namespace
}  // namespace carillon
