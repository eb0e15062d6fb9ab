// packet_builder: the bytes of every kind of packet against the formats, typed here by hand, with
// sums by zlib; and when its beats leave.
#include "packet_builder.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <vector>

#include "common/random.h"
#include "tb/common/packet_builder_bench.h"

namespace carillon {
namespace {

using namespace bench;

TEST_P(packet_builder_bench, a_4_kib_write_is_4170_bytes_in_66_beats_30_cycles_later) {
  sink_frames();
  fill(10, request(Write, 4096));  // visible in 11
  bench.run(300);
  ASSERT_EQ(frames->items.size(), 1U);
  EXPECT_EQ(frames->items[0].visible, 41U);
  const frame_item& item = frames->items[0].item;
  EXPECT_EQ(item.length, 4170U);  // 14 + 20 + 8 + 12 + 16 + 4096 + 4
  EXPECT_EQ(ports.frames.busy_until(), 41U + 66);
  EXPECT_EQ(item.priority, 3);
  EXPECT_TRUE(item.first && item.last);
  expect_sums(item);
  const bytes_t frame = bytes_of(item);
  EXPECT_EQ(number(frame, 0, 6), PeerMac);
  EXPECT_EQ(number(frame, 6, 6), OwnMac);
  EXPECT_EQ(number(frame, 12, 2), 0x0800U);
  EXPECT_EQ(frame[14], 0x45);
  EXPECT_EQ(frame[15], 24 << 2 | 2);
  EXPECT_EQ(number(frame, 16, 2), 4156U);  // all but the Ethernet header
  EXPECT_EQ(frame[22], 64);                // TTL
  EXPECT_EQ(frame[23], 17);
  EXPECT_EQ(number(frame, 26, 4), 0x0a000001U);
  EXPECT_EQ(number(frame, 30, 4), 0x0a000002U);
  EXPECT_EQ(number(frame, 34, 2), 0xc123U);
  EXPECT_EQ(number(frame, 36, 2), 4791U);
  EXPECT_EQ(number(frame, 38, 2), 4136U);
  EXPECT_EQ(number(frame, 40, 2), 0U);
  EXPECT_EQ(frame[42], 0x0a);  // RC WRITE ONLY
  EXPECT_EQ(frame[43], 0x40);  // no solicited event, migrated, no pad, version 0
  EXPECT_EQ(number(frame, 44, 2), 0x8001U);
  EXPECT_EQ(number(frame, 47, 3), 0xabcdefU);
  EXPECT_EQ(frame[50], 0);  // no acknowledge asked for
  EXPECT_EQ(number(frame, 51, 3), 0x123456U);
  EXPECT_EQ(number(frame, 54, 8), 0x1122334455667788ULL);
  EXPECT_EQ(number(frame, 62, 4), 0x99aabbccU);
  EXPECT_EQ(number(frame, 66, 4), 0x10203U);
  for (std::uint32_t i = 0; i < 4096; ++i) {
    ASSERT_EQ(frame[70 + i], payload_byte(i)) << i;
  }
  const auto chain = chain_of(bench.context.trace, item.trace);
  EXPECT_EQ(chain.front().begin, 10000U);
  for (const span& each : chain) {
    EXPECT_NE(each.kind, span_kind::wait);
  }
  finish();
}

TEST_P(packet_builder_bench, every_verb_position_and_immediate_has_its_opcode_and_headers) {
  sink_frames();

  struct kind {
    std::uint8_t verb;
    bool first;
    bool last;
    std::uint8_t opcode;
    bool reth;
    bool immediate;
  };

  const std::vector<kind> kinds = {
      {Send, true, false, 0x00, false, false},      {Send, false, false, 0x01, false, false},
      {Send, false, true, 0x02, false, false},      {SendImm, true, false, 0x00, false, false},
      {SendImm, false, false, 0x01, false, false},  {SendImm, false, true, 0x03, false, true},
      {Send, true, true, 0x04, false, false},       {SendImm, true, true, 0x05, false, true},
      {Write, true, false, 0x06, true, false},      {Write, false, false, 0x07, false, false},
      {Write, false, true, 0x08, false, false},     {WriteImm, true, false, 0x06, true, false},
      {WriteImm, false, false, 0x07, false, false}, {WriteImm, false, true, 0x09, false, true},
      {Write, true, true, 0x0a, true, false},       {WriteImm, true, true, 0x0b, true, true}};
  for (const std::uint8_t service : {std::uint8_t{0}, std::uint8_t{1}}) {  // RC, UC
    for (const kind& each : kinds) {
      packet_item packet = request(each.verb, 1024, each.first, each.last);
      packet.service = service;
      fill(10, std::move(packet));
    }
  }
  bench.run(2000);
  ASSERT_EQ(frames->items.size(), 32U);
  for (std::size_t i = 0; i < 32; ++i) {
    const kind& each = kinds[i % 16];
    const frame_item& item = frames->items[i].item;
    const bytes_t frame = bytes_of(item);
    EXPECT_EQ(frame[42], each.opcode + (i < 16 ? 0 : 0x20)) << i;
    EXPECT_EQ(item.length, 58U + (each.reth ? 16 : 0) + (each.immediate ? 4 : 0) + 1024) << i;
    std::size_t at = 54;
    if (each.reth) {
      EXPECT_EQ(number(frame, at, 8), 0x1122334455667788ULL);
      at += 16;
    }
    if (each.immediate) {
      EXPECT_EQ(number(frame, at, 4), 0xdeadbeefU);
      at += 4;
    }
    EXPECT_EQ(frame[at], payload_byte(0));
    EXPECT_EQ(frame[at + 1023], payload_byte(1023));
    EXPECT_EQ(item.first, each.first);
    EXPECT_EQ(item.last, each.last);
    expect_sums(item);
  }
  finish();
}

TEST_P(packet_builder_bench, pads_to_whole_dwords_with_zeros) {
  sink_frames();
  for (std::uint32_t length = 21; length <= 24; ++length) {
    packet_item packet = request(Send, length);
    std::fill_n(packet.frame.data() + PayloadOffset + length, 8, std::uint8_t{0xee});
    fill(10, std::move(packet));
  }
  bench.run(200);
  ASSERT_EQ(frames->items.size(), 4U);
  for (std::uint32_t i = 0; i < 4; ++i) {
    const frame_item& item = frames->items[i].item;
    const bytes_t frame = bytes_of(item);
    EXPECT_EQ(item.length, 54U + 24 + 4);
    EXPECT_EQ(frame[43] >> 4 & 3, 3 - i) << "pad count";
    for (std::uint32_t pad = 21 + i; pad < 24; ++pad) {
      EXPECT_EQ(frame[54 + pad], 0);
    }
    expect_sums(item);
  }
  finish();
}

TEST_P(packet_builder_bench, a_send_without_data_is_filled_to_the_smallest_frame) {
  sink_frames();
  direct.at(10, request(Send, 0));
  bench.run(100);
  ASSERT_EQ(frames->items.size(), 1U);
  EXPECT_EQ(frames->items[0].visible, 41U);
  const frame_item& item = frames->items[0].item;
  EXPECT_EQ(item.length, 60U);
  const bytes_t frame = bytes_of(item);
  EXPECT_EQ(number(frame, 16, 2), 44U);  // IP knows nothing of the filling
  EXPECT_EQ(number(frame, 58, 2), 0U);
  expect_sums(item);
  finish();
}

TEST_P(packet_builder_bench, flags_of_the_base_header_follow_the_packet) {
  sink_frames();
  packet_item packet = request(Send, 4);
  packet.solicited = true;
  packet.ack_request = true;
  fill(10, std::move(packet));
  bench.run(100);
  const bytes_t frame = bytes_of(frames->items.at(0).item);
  EXPECT_EQ(frame[43], 0xc0);
  EXPECT_EQ(frame[50], 0x80);
  finish();
}

TEST_P(packet_builder_bench, inline_data_comes_from_the_work_request_at_the_packets_offset) {
  sink_frames();
  direct.at(10, in_line(220));
  direct.at(10, in_line(256, 512));
  bench.run(100);
  ASSERT_EQ(frames->items.size(), 2U);
  EXPECT_EQ(frames->items[0].visible, 41U);
  const bytes_t first = bytes_of(frames->items[0].item);
  const bytes_t second = bytes_of(frames->items[1].item);
  for (std::uint32_t i = 0; i < 220; ++i) {
    ASSERT_EQ(first[54 + i], payload_byte(i));
  }
  for (std::uint32_t i = 0; i < 256; ++i) {
    ASSERT_EQ(second[54 + i], payload_byte(512 + i));
  }
  expect_sums(frames->items[0].item);
  expect_sums(frames->items[1].item);
  finish();
}

TEST_P(packet_builder_bench, acknowledges_carry_syndrome_and_message_number) {
  sink_frames();
  direct.at(10, acknowledge());
  bench.run(100);
  ASSERT_EQ(frames->items.size(), 1U);
  const frame_item& item = frames->items[0].item;
  EXPECT_EQ(frames->items[0].visible, 41U);
  EXPECT_EQ(item.length, 62U);  // 14 + 20 + 8 + 12 + 4 + 4
  EXPECT_FALSE(item.first) << "an acknowledge is no first or last bit of a message";
  EXPECT_FALSE(item.last);
  const bytes_t frame = bytes_of(item);
  EXPECT_EQ(frame[42], 0x11);
  EXPECT_EQ(number(frame, 47, 3), 0xabcdefU);
  EXPECT_EQ(frame[50], 0);
  EXPECT_EQ(number(frame, 51, 3), 0x42U);
  EXPECT_EQ(number(frame, 54, 4), 0x1f010203U);
  expect_sums(item);
  finish();
}

/// As the annex on RoCEv2 has it: BECN, no ACK asked for, 16 zero bytes. The class is its own, the
/// ECN field the path's.
TEST_P(packet_builder_bench, a_cnp_has_its_own_class_and_priority) {
  sink_frames();
  qpc_address path = plain_path();
  path.vlan_valid = 1;
  path.vlan_id = 0x123;
  path.eth_prio = 3;
  paths.paths[Qp] = path;
  packet_item packet;
  packet.source = packet_source::acknowledge;
  packet.wqe_opcode = 0x81;
  packet.qpn = Qp;
  packet.syndrome = 48;
  packet.msn = 6;
  packet.payload = 16;
  packet.is_inline = true;
  packet.body = bench.nic.buffers.take();
  std::fill_n(packet.body.data(), 16, std::uint8_t{0});
  direct.at(10, packet);
  bench.run(100);
  ASSERT_EQ(frames->items.size(), 1U);
  const frame_item& item = frames->items[0].item;
  EXPECT_EQ(item.priority, 6);
  const bytes_t frame = bytes_of(item);
  ASSERT_EQ(frame.size(), 14U + 4 + 20 + 8 + 12 + 16 + 4);
  EXPECT_EQ(number(frame, 14, 2), 0xc123U);      // priority 6, VLAN 0x123
  EXPECT_EQ(frame[19], 48 << 2 | 2);             // DSCP 48, ECT(0)
  EXPECT_EQ(number(frame, 46, 4), 0x81408001U);  // opcode, migration state, P_Key
  EXPECT_EQ(number(frame, 50, 4), 0x40abcdefU);  // BECN, destination QP
  EXPECT_EQ(number(frame, 54, 4), 0U);           // no ACK, PSN 0
  EXPECT_EQ(number(frame, 58, 8), 0U);
  EXPECT_EQ(number(frame, 66, 8), 0U);
  expect_sums(item, 18);
  finish();
}

TEST_P(packet_builder_bench, the_path_decides_tag_addresses_class_and_ports) {
  sink_frames();
  qpc_address path = plain_path();
  path.vlan_valid = 1;
  path.vlan_id = 0x123;
  path.eth_prio = 5;
  path.ip_version = 6;
  path.tclass = 48 << 2 | 1;
  path.hop_limit = 7;
  path.flow_label = 0xabcde;
  path.udp_sport = 0xfedc;
  path.pkey = 0xffff;
  path.remote_qpn = 0x17;
  for (std::uint8_t i = 0; i < 16; ++i) {
    path.src_ip[i] = static_cast<std::uint8_t>(0x20 + i);
    path.dst_ip[i] = static_cast<std::uint8_t>(0x60 + i);
  }
  paths.paths[Qp] = path;
  fill(10, request(Write, 100));
  bench.run(100);
  ASSERT_EQ(frames->items.size(), 1U);
  const frame_item& item = frames->items[0].item;
  EXPECT_EQ(item.priority, 5);
  EXPECT_EQ(item.length, 14U + 4 + 40 + 8 + 12 + 16 + 100 + 4);
  const bytes_t frame = bytes_of(item);
  EXPECT_EQ(number(frame, 12, 2), 0x8100U);
  EXPECT_EQ(number(frame, 14, 2), 0xa123U);  // priority 5, VLAN 0x123
  EXPECT_EQ(number(frame, 16, 2), 0x86ddU);
  EXPECT_EQ(number(frame, 18, 4), 0x6c1abcdeU);  // version 6, class 0xc1, flow label
  EXPECT_EQ(number(frame, 22, 2), 8U + 12 + 16 + 100 + 4);
  EXPECT_EQ(frame[24], 17);
  EXPECT_EQ(frame[25], 7);
  for (std::size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(frame[26 + i], 0x20 + i);
    EXPECT_EQ(frame[42 + i], 0x60 + i);
  }
  EXPECT_EQ(number(frame, 58, 2), 0xfedcU);
  EXPECT_EQ(number(frame, 60, 2), 4791U);
  EXPECT_EQ(frame[66], 0x0a);
  EXPECT_EQ(number(frame, 68, 2), 0xffffU);
  EXPECT_EQ(number(frame, 71, 3), 0x17U);
  const std::uint32_t icrc = icrc_by_zlib(frame, 18, frame.size() - 4);
  for (unsigned i = 0; i < 4; ++i) {
    EXPECT_EQ(frame[frame.size() - 4 + i], static_cast<std::uint8_t>(icrc >> (8 * i)));
  }
  EXPECT_EQ(item.fcs, crc(frame));
  finish();
}

TEST_P(packet_builder_bench, the_largest_frame_fits_66_beats) {
  sink_frames();
  qpc_address path = plain_path();
  path.vlan_valid = 1;
  path.ip_version = 6;
  paths.paths[Qp] = path;
  fill(10, request(WriteImm, 4096));
  bench.run(200);
  EXPECT_EQ(frames->items.at(0).item.length, 14U + 4 + 40 + 8 + 12 + 16 + 4 + 4096 + 4);  // 4198
  EXPECT_EQ(ports.frames.busy_until(), 41U + 66);
  finish();
}

TEST_P(packet_builder_bench, packets_of_4_kib_follow_each_other_without_a_bubble) {
  sink_frames();
  for (unsigned i = 0; i < 8; ++i) {
    fill(10, request(Write, 4096));
  }
  bench.run(1000);
  ASSERT_EQ(frames->items.size(), 8U);
  for (unsigned i = 0; i < 8; ++i) {
    EXPECT_EQ(frames->items[i].visible, 41U + 66 * i);
  }
  // The payload of the second is there in 75; its headers make every frame two beats longer than
  // its payload.
  EXPECT_EQ(waited_for(bench.context.trace, frames->items[1].item.trace, "frame_port"), 2000U);
  finish();
}

TEST_P(packet_builder_bench, small_frames_follow_each_other_without_a_bubble) {
  sink_frames();
  for (unsigned i = 0; i < 12; ++i) {
    fill(10, request(Write, 64));  // 138 bytes: 3 beats
  }
  bench.run(300);
  ASSERT_EQ(frames->items.size(), 12U);
  for (unsigned i = 0; i < 12; ++i) {
    EXPECT_EQ(frames->items[i].visible, 41U + 3 * i);
  }
  finish();
}

TEST_P(packet_builder_bench, of_two_packets_that_granted_first_goes_first) {
  sink_frames();
  packet_item older = request(Write, 4096);
  packet_item newer = in_line(16);
  fill(20, std::move(older));  // both visible in 21
  direct.at(20, std::move(newer));
  packet_item second_older = in_line(32);
  packet_item second_newer = request(Write, 64);
  fill(300, std::move(second_newer));
  direct.at(300, std::move(second_older));
  bench.run(600);
  ASSERT_EQ(frames->items.size(), 4U);
  EXPECT_EQ(frames->items[0].visible, 51U);
  EXPECT_EQ(frames->items[0].item.length, 4170U);
  EXPECT_EQ(frames->items[1].item.length, 54U + 16 + 4);
  // The second was taken when the first's 64 beats were in, in 86 since the frame port is busy
  // until 117.
  EXPECT_EQ(frames->items[1].visible, 117U);
  EXPECT_EQ(waited_for(bench.context.trace, frames->items[1].item.trace, "arbiter"), 64000U);
  EXPECT_EQ(waited_for(bench.context.trace, frames->items[1].item.trace, "frame_port"), 2000U);
  EXPECT_EQ(frames->items[2].item.length, 54U + 32 + 4);
  EXPECT_EQ(frames->items[2].visible, 331U);
  EXPECT_EQ(frames->items[3].item.length, 54U + 16 + 64 + 4);
  EXPECT_EQ(frames->items[3].visible, 333U);  // 90 bytes before it: 2 beats
  finish();
}

TEST_P(packet_builder_bench, a_packet_past_payload_dma_never_cuts_into_one_that_is_being_taken) {
  sink_frames();
  fill(20, request(Write, 4096));  // taken from 21 to 84
  fill(20, request(Write, 4096));  // visible in 85
  packet_item between = acknowledge();
  direct.at(50, std::move(between));  // granted last
  bench.run(600);
  ASSERT_EQ(frames->items.size(), 3U);
  EXPECT_EQ(frames->items[2].item.length, 62U) << "both 4 KiB packets were granted before it";
  EXPECT_EQ(frames->items[2].visible, 51U + 132);
  finish();
}

TEST_P(packet_builder_bench, a_late_context_line_delays_its_frame_and_no_other) {
  sink_frames();
  paths.first_delay = 24;  // asked in 12, there in 36 instead of 16
  fill(10, request(Write, 4096));
  fill(10, request(Write, 4096));
  bench.run(400);
  ASSERT_EQ(frames->items.size(), 2U);
  EXPECT_EQ(frames->items[0].visible, 61U);  // 36 and what is left of 30 behind a lookup of 5
  EXPECT_EQ(frames->items[1].visible, 127U);
  finish();
}

TEST_P(packet_builder_bench, waits_for_the_context_ram_have_names) {
  sink_frames();
  paths.opens = 400;
  for (unsigned i = 0; i < 4; ++i) {
    direct.at(10, acknowledge());
  }
  for (unsigned i = 0; i < 10; ++i) {
    direct.at(500, acknowledge());
  }
  bench.run(1000);
  ASSERT_EQ(frames->items.size(), 14U);
  EXPECT_EQ(paths.served, 14U);
  // Requests in 12, taken in 400, lines in 404: frames 25 cycles later.
  EXPECT_EQ(frames->items[0].visible, 429U);
  EXPECT_EQ(frames->items[1].visible, 430U);
  finish();
}

TEST_P(packet_builder_bench, without_room_for_the_largest_frame_a_packet_waits) {
  sink_frames(500);
  for (unsigned i = 0; i < 6; ++i) {
    fill(10, request(Write, 4096));
  }
  bench.run(4000);
  ASSERT_EQ(frames->items.size(), 6U);
  // Four fill 264 beats; the fifth is visible in 267 and gets the beats of the first, taken in 500,
  // in 566.
  EXPECT_EQ(waited_for(bench.context.trace, frames->items[4].item.trace, "credit:frames"),
            (566U - 275U) * 1000U);
  EXPECT_EQ(frames->items[4].visible, 596U);
  for (const auto& each : frames->items) {
    expect_sums(each.item);
  }
  finish();
}

TEST_P(packet_builder_bench, a_poisoned_packet_never_reaches_the_wire) {
  sink_frames();
  packet_item bad = request(Write, 4096);
  bad.poisoned = true;
  fill(10, std::move(bad));
  fill(10, request(Write, 64));
  bench.run(400);
  ASSERT_EQ(frames->items.size(), 1U);
  EXPECT_EQ(frames->items[0].item.length, 138U);
  EXPECT_EQ(frames->items[0].visible, 105U);  // taken in 75 when the beats of the first are in
  EXPECT_EQ(bench.count(counter::PayloadReadErrors), 1U);
  EXPECT_EQ(bench.nic.buffers.in_use(), 1U) << "the buffer of the poisoned one is free";
  finish();
}

TEST_P(packet_builder_bench, a_packet_of_an_earlier_life_of_its_qp_never_reaches_the_wire) {
  sink_frames();
  paths.paths.at(Qp).life = 3;
  packet_item stale = request(Write, 4096);
  stale.life = 2;
  stale.function = 1;
  fill(10, std::move(stale));
  packet_item old_answer = acknowledge();
  old_answer.life = 4;  // the count runs modulo 256: only the same is the same
  direct.at(20, old_answer);
  packet_item fresh = request(Write, 64);
  fresh.life = 3;
  fill(10, std::move(fresh));
  bench.run(400);
  ASSERT_EQ(frames->items.size(), 1U);
  EXPECT_EQ(frames->items[0].item.length, 138U);
  EXPECT_EQ(bench.count(counter::TxStalePackets), 2U);
  EXPECT_EQ(bench.nic.counters.value_for(1, counter::TxStalePackets), 1U);
  EXPECT_EQ(bench.nic.buffers.in_use(), 1U) << "the buffers of the stale ones are free";
  finish();
}

TEST_P(packet_builder_bench, a_path_is_looked_up_on_behalf_of_the_packets_function) {
  sink_frames();
  packet_item packet = request(Write, 64);
  packet.function = 9;
  fill(10, std::move(packet));
  bench.run(400);
  EXPECT_EQ(paths.functions, (std::vector<std::uint16_t>{9}));
  finish();
}

TEST_P(packet_builder_bench, a_packet_whose_path_cannot_be_read_never_reaches_the_wire) {
  sink_frames();
  paths.readable = false;
  packet_item packet = request(Write, 4096);
  packet.function = 9;
  fill(10, std::move(packet));
  direct.at(50, acknowledge());
  bench.run(400);
  EXPECT_TRUE(frames->items.empty());
  EXPECT_EQ(bench.count(counter::TxPathUnreadable), 2U);
  EXPECT_EQ(bench.nic.counters.value_for(9, counter::TxPathUnreadable), 1U);
  EXPECT_EQ(bench.count(counter::PayloadReadErrors), 0U);
  EXPECT_EQ(bench.nic.buffers.in_use(), 0U);
  finish();
}

TEST_P(packet_builder_bench, every_frame_is_right_under_random_traffic_and_back_pressure) {
  sink_frames(7);
  paths.delay = 11;
  random_stream random(31337, "packet_builder");
  std::vector<std::uint32_t> lengths;
  for (unsigned i = 0; i < 120; ++i) {
    const auto at = 10 + i * 30;
    if (random.below(2) == 0) {
      const auto bytes = static_cast<std::uint32_t>(1 + random.below(4096));
      fill(at, request(Send, bytes));
      lengths.push_back(58 + (bytes + 3) / 4 * 4);
    } else {
      direct.at(at, acknowledge());
      lengths.push_back(62);
    }
  }
  bench.run(30000);
  ASSERT_EQ(frames->items.size(), lengths.size());
  std::vector<std::uint32_t> seen;
  for (const auto& each : frames->items) {
    seen.push_back(std::max(each.item.length, 60U));
    expect_sums(each.item);
  }
  std::sort(seen.begin(), seen.end());
  std::sort(lengths.begin(), lengths.end());
  for (std::uint32_t& each : lengths) {
    each = std::max(each, 60U);
  }
  EXPECT_EQ(seen, lengths);
  finish();
}

INSTANTIATE_TEST_SUITE_P(shuffle, packet_builder_bench, testing::Values(0, 77));

}  // namespace
}  // namespace carillon
