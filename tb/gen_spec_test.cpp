// The generated headers against bytes written by hand: a frame from a real NIC, and single fields
// at the places that the format tables name. Round trips over every layout then say that no two
// fields share a bit and that reserved bits leave as zero.
#include <array>
#include <cstdint>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "gen/contexts.h"
#include "gen/tlp.h"
#include "gen/wire.h"
#include "gen/wqe.h"

namespace carillon {
namespace {

using byte_vector = std::vector<std::uint8_t>;

byte_vector bytes_of(const std::string& hex) {
  byte_vector out;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    out.push_back(static_cast<std::uint8_t>(std::stoul(hex.substr(i, 2), nullptr, 16)));
  }
  return out;
}

// A small generator of its own: the test must not lean on the code under test.
class dice {
 public:
  std::uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }

  void fill(byte_vector& to) {
    for (auto& b : to) {
      b = static_cast<std::uint8_t>(next() >> 32);
    }
  }

 private:
  std::uint64_t state_ = 0x9e3779b97f4a7c15;
};

template <class T>
byte_vector packed(const T& x) {
  byte_vector out(T::Size, 0xa5);  // pack() must overwrite every byte
  x.pack(out.data());
  return out;
}

// The bytes of a layout in which only the bits [first, first + width) are set, counted from the
// most significant bit of byte 0.
byte_vector ones(std::size_t size, unsigned first, unsigned width) {
  byte_vector out(size, 0);
  for (unsigned bit = first; bit < first + width; ++bit) {
    out[bit / 8] = static_cast<std::uint8_t>(out[bit / 8] | 0x80U >> bit % 8);
  }
  return out;
}

// Bit number of a place in the notation of the format tables: dword offset and first bit.
constexpr unsigned place(unsigned dword, unsigned msb) {
  return dword * 8 + 31 - msb;
}

template <class T, class M>
void expect_field(M T::*member, std::uint64_t all_ones, unsigned first, unsigned width) {
  T x;
  x.*member = static_cast<M>(all_ones);
  EXPECT_EQ(packed(x), ones(T::Size, first, width)) << T::Name << " bit " << first;
  EXPECT_EQ(T::unpack(ones(T::Size, first, width).data()), x) << T::Name << " bit " << first;
}

// ---------------------------------------------------------------------------- a frame from a NIC

// An acknowledge that a ConnectX sent, with VLAN tag.
const byte_vector Acknowledge = bytes_of(
    "10e2d5000000b8599f077e2a81000001080045020030"
    "9d4e4000401119e4c0aa0102c0aa0132fa4f12b7001c"
    "00001140ffff00deaded00cf7bf70000000259caeaf7");

TEST(gen_wire, reads_a_captured_frame) {
  const std::uint8_t* p = Acknowledge.data();
  const auto e = eth::unpack(p);
  EXPECT_EQ(e.dst, 0x10e2d5000000U);
  EXPECT_EQ(e.src, 0xb8599f077e2aU);
  EXPECT_EQ(e.ether_type, ethertype::Vlan);
  p += eth::Size;

  const auto tag = vlan_tag::unpack(p);
  EXPECT_EQ(tag.pcp, 0);
  EXPECT_EQ(tag.vid, 1);
  EXPECT_EQ(tag.ether_type, ethertype::Ipv4);
  p += vlan_tag::Size;

  const auto ip = ipv4::unpack(p);
  EXPECT_EQ(ip.version, 4);
  EXPECT_EQ(ip.ihl, 5);
  EXPECT_EQ(ip.dscp, 0);
  EXPECT_EQ(ip.ecn, ecn_code::Ect0);
  EXPECT_EQ(ip.total_length, 0x30);
  EXPECT_EQ(ip.id, 0x9d4e);
  EXPECT_EQ(ip.df, 1);
  EXPECT_EQ(ip.ttl, 64);
  EXPECT_EQ(ip.protocol, IpProtocolUdp);
  EXPECT_EQ(ip.checksum, 0x19e4);
  EXPECT_EQ(ip.src, 0xc0aa0102U);
  EXPECT_EQ(ip.dst, 0xc0aa0132U);
  p += ipv4::Size;

  const auto u = udp::unpack(p);
  EXPECT_EQ(u.src_port, 0xfa4f);
  EXPECT_EQ(u.dst_port, RoceUdpPort);
  EXPECT_EQ(u.length, 28);
  p += udp::Size;

  const auto b = bth::unpack(p);
  EXPECT_EQ(b.opcode, bth_opcode::RcAcknowledge);
  EXPECT_EQ(b.migreq, 1);
  EXPECT_EQ(b.pkey, DefaultPkey);
  EXPECT_EQ(b.dest_qpn, 0xdeadedU);
  EXPECT_EQ(b.ack_req, 0);
  EXPECT_EQ(b.psn, 0xcf7bf7U);
  p += bth::Size;

  const auto a = aeth::unpack(p);
  EXPECT_EQ(a.kind, aeth_kind::Ack);
  EXPECT_EQ(a.value, 0);
  EXPECT_EQ(a.msn, 2U);
}

TEST(gen_wire, writes_the_same_frame) {
  byte_vector out(Acknowledge.size() - IcrcBytes);
  std::uint8_t* p = out.data();
  eth{.dst = 0x10e2d5000000, .src = 0xb8599f077e2a, .ether_type = ethertype::Vlan}.pack(p);
  p += eth::Size;
  vlan_tag{.vid = 1, .ether_type = ethertype::Ipv4}.pack(p);
  p += vlan_tag::Size;
  ipv4 ip;
  ip.version = 4;
  ip.ihl = 5;
  ip.ecn = ecn_code::Ect0;
  ip.total_length = 0x30;
  ip.id = 0x9d4e;
  ip.df = 1;
  ip.ttl = 64;
  ip.protocol = 17;
  ip.checksum = 0x19e4;
  ip.src = 0xc0aa0102;
  ip.dst = 0xc0aa0132;
  ip.pack(p);
  p += ipv4::Size;
  udp{.src_port = 0xfa4f, .dst_port = 4791, .length = 28}.pack(p);
  p += udp::Size;
  bth b;
  b.opcode = bth_opcode::RcAcknowledge;
  b.migreq = 1;
  b.pkey = 0xffff;
  b.dest_qpn = 0xdeaded;
  b.psn = 0xcf7bf7;
  b.pack(p);
  p += bth::Size;
  aeth{.msn = 2}.pack(p);
  EXPECT_EQ(out, byte_vector(Acknowledge.begin(), Acknowledge.end() - IcrcBytes));
}

TEST(gen_wire, icrc_masks_cover_what_routers_change) {
  // IPv4: ToS, TTL, checksum. IPv6: traffic class, flow label, hop limit. UDP: checksum. BTH:
  // byte 4.
  EXPECT_EQ(byte_vector(ipv4::IcrcMask.begin(), ipv4::IcrcMask.end()),
            bytes_of("00ff000000000000ff00ffff0000000000000000"));
  byte_vector six(40, 0);
  six[0] = 0x0f;
  six[1] = six[2] = six[3] = six[7] = 0xff;
  EXPECT_EQ(byte_vector(ipv6::IcrcMask.begin(), ipv6::IcrcMask.end()), six);
  EXPECT_EQ(byte_vector(udp::IcrcMask.begin(), udp::IcrcMask.end()), bytes_of("000000000000ffff"));
  EXPECT_EQ(byte_vector(bth::IcrcMask.begin(), bth::IcrcMask.end()),
            bytes_of("00000000ff00000000000000"));
}

TEST(gen_wire, sizes_are_those_of_the_standards) {
  EXPECT_EQ(eth::Size, 14U);
  EXPECT_EQ(vlan_tag::Size, 4U);
  EXPECT_EQ(ipv4::Size, 20U);
  EXPECT_EQ(ipv6::Size, 40U);
  EXPECT_EQ(udp::Size, 8U);
  EXPECT_EQ(bth::Size, 12U);
  EXPECT_EQ(reth::Size, 16U);
  EXPECT_EQ(aeth::Size, 4U);
  EXPECT_EQ(atomiceth::Size, 28U);
  EXPECT_EQ(atomicacketh::Size, 8U);
  EXPECT_EQ(immdt::Size, 4U);
  EXPECT_EQ(ieth::Size, 4U);
  EXPECT_EQ(deth::Size, 8U);
  EXPECT_EQ(eth::Size + pfc::Size, MinFrameBytes);
}

TEST(gen_wire, pfc_times_stand_in_order_of_priority) {
  pfc x;
  x.opcode = 0x0101;
  x.enable = 0x18;
  x.quanta[3] = 0xffff;
  x.quanta[4] = 0x1234;
  const auto got = packed(x);
  EXPECT_EQ(byte_vector(got.begin(), got.begin() + 20),
            bytes_of("01010018000000000000ffff1234000000000000"));
}

TEST(gen_wire, rnr_timers_are_exact) {
  EXPECT_EQ(RnrTimerNs[0], 655'360'000U);
  EXPECT_EQ(RnrTimerNs[1], 10'000U);
  EXPECT_EQ(RnrTimerNs[14], 1'280'000U);
  EXPECT_EQ(RnrTimerNs[25], 61'440'000U);
  EXPECT_EQ(RnrTimerNs[31], 491'520'000U);
  for (std::size_t code = 2; code < RnrTimerNs.size(); ++code) {
    EXPECT_GT(RnrTimerNs[code], RnrTimerNs[code - 1]);
    EXPECT_LT(RnrTimerNs[code], RnrTimerNs[0]);
  }
}

TEST(gen_wire, opcodes_say_what_follows) {
  const auto* write = find_opcode(0x0b);
  ASSERT_NE(write, nullptr);
  EXPECT_EQ(write->code, bth_opcode::RcWriteOnlyImmediate);
  EXPECT_TRUE(write->has_reth && write->has_immdt && write->has_payload);
  EXPECT_FALSE(write->has_aeth || write->has_deth || write->is_response);
  EXPECT_EQ(write->extension_bytes, 20);
  EXPECT_TRUE(write->is_first() && write->is_last());

  const auto* middle = find_opcode(0x0e);
  ASSERT_NE(middle, nullptr);
  EXPECT_EQ(middle->verb, bth_verb::ReadResponse);
  EXPECT_FALSE(middle->has_aeth || middle->is_first() || middle->is_last());
  EXPECT_TRUE(middle->is_response);

  const auto* datagram = find_opcode(0x65);
  ASSERT_NE(datagram, nullptr);
  EXPECT_EQ(datagram->service, transport_service::Ud);
  EXPECT_EQ(datagram->extension_bytes, 12);

  EXPECT_EQ(find_opcode(0x12)->extension_bytes, 12);  // AETH and the original value
  EXPECT_EQ(find_opcode(0x13)->extension_bytes, 28);
  EXPECT_NE(find_opcode(0x81), nullptr);
  for (unsigned reserved : {0x15U, 0x18U, 0x2cU, 0x40U, 0x66U, 0x80U, 0xffU}) {
    EXPECT_EQ(find_opcode(static_cast<std::uint8_t>(reserved)), nullptr) << reserved;
  }
  for (unsigned code = 0; code < 12; ++code) {  // UC repeats the first twelve of RC
    const auto* rc = find_opcode(static_cast<std::uint8_t>(code));
    const auto* uc = find_opcode(static_cast<std::uint8_t>(code + 0x20));
    ASSERT_TRUE(rc != nullptr && uc != nullptr);
    EXPECT_EQ(rc->extension_bytes, uc->extension_bytes);
    EXPECT_EQ(rc->position, uc->position);
  }
}

// ------------------------------------------------------------------ fields at their places, by
// hand

TEST(gen_tlp, fields_are_where_the_bus_has_them) {
  expect_field(&tlp_mem64::fmt, 7, place(0x00, 31), 3);
  expect_field(&tlp_mem64::tc, 7, place(0x00, 22), 3);
  expect_field(&tlp_mem64::ep, 1, place(0x00, 14), 1);
  expect_field(&tlp_mem64::ro, 1, place(0x00, 13), 1);
  expect_field(&tlp_mem64::length, 0x3ff, place(0x00, 9), 10);
  expect_field(&tlp_mem64::requester, 0xffff, place(0x04, 31), 16);
  expect_field(&tlp_mem64::last_be, 0xf, place(0x04, 7), 4);
  expect_field(&tlp_cpl::status, 7, place(0x04, 15), 3);
  expect_field(&tlp_cpl::byte_count, 0xfff, place(0x04, 11), 12);
  expect_field(&tlp_cpl::lower_address, 0x7f, place(0x08, 6), 7);
  expect_field(&tlp_cpl::tag, 0xff, place(0x08, 15), 8);
}

TEST(gen_tlp, dllp_share_gives_the_published_bandwidth) {
  // Generation 5 x16 with MPS 512 carries 458.493 Gb/s of TLPs.
  double limit = 0;
  for (const auto& row : DllpInterval) {
    if (row.min_generation <= 5 && 5 <= row.max_generation && row.width == 16 &&
        row.max_payload == 512) {
      limit = row.ack_limit;
      EXPECT_EQ(row.ack_limit, row.fc_guide);
    }
  }
  const auto& gen5 = PcieGeneration[4];
  ASSERT_EQ(gen5.generation, 5);
  const double raw = gen5.megatransfers * 16e-3 * gen5.encoding_num / gen5.encoding_den;
  EXPECT_NEAR(raw * (1 - 16 / limit - 4.0 / 1538), 458.493, 0.001);
}

TEST(gen_wqe, control_segment_by_hand) {
  ctrl_seg x;
  x.wqe_index = 0x1234;
  x.opcode = wqe_opcode::RdmaWrite;
  x.qpn = 0xabcdef;
  x.ds = 4;
  x.fm = fence_mode::SmallAndFence;
  x.ce = completion_mode::Always;
  x.se = 1;
  x.imm = 0xcafef00d;
  EXPECT_EQ(packed(x), bytes_of("00123408abcdef040000008acafef00d"));
}

TEST(gen_wqe, fields_are_where_drivers_have_them) {
  expect_field(&raddr_seg::rkey, 0xffffffff, place(0x08, 31), 32);
  expect_field(&data_seg::inline_flag, 1, place(0x00, 31), 1);
  expect_field(&data_seg::lkey, 0xffffffff, place(0x04, 31), 32);
  expect_field(&data_seg::address, ~std::uint64_t{0}, 8 * 8, 64);
  expect_field(&inline_seg::byte_count, 0x3ff, place(0x00, 9), 10);
  expect_field(&datagram_seg::dest_qpn, 0xffffff, place(0x08, 23), 24);
  expect_field(&datagram_seg::udp_sport, 0xffff, 0x0e * 8, 16);
  expect_field(&datagram_seg::rmac, 0xffffffffffff, 0x14 * 8, 48);
  expect_field(&datagram_seg::tclass, 0xff, 0x1a * 8, 8);
  expect_field(&datagram_seg::hop_limit, 0xff, 0x1b * 8, 8);
  expect_field(&datagram_seg::gid_index, 0xff, place(0x1c, 27), 8);
  expect_field(&cqe64::rqpn, 0xffffff, place(0x18, 23), 24);
  expect_field(&cqe64::byte_cnt, 0xffffffff, 0x2c * 8, 32);
  expect_field(&cqe64::wqe_counter, 0xffff, 0x3c * 8, 16);
  expect_field(&cqe64::opcode, 0xf, 0x3f * 8, 4);
  expect_field(&cqe64::owner, 1, 0x3f * 8 + 7, 1);
  expect_field(&cqe_error::vendor_syndrome, 0xff, 0x36 * 8, 8);
  expect_field(&cqe_error::syndrome, 0xff, 0x37 * 8, 8);
  expect_field(&cqe_error::qpn, 0xffffff, 0x39 * 8, 24);
  expect_field(&eqe::kind, 0xff, 8, 8);
  expect_field(&eqe::sub_type, 0xff, 3 * 8, 8);
  expect_field(&eqe::owner, 1, 0x3f * 8 + 7, 1);
  EXPECT_EQ(cqe64::at::Owner, 0x3fU);
}

TEST(gen_contexts, commands_have_the_drivers_layout) {
  EXPECT_EQ(qpc::Size, 232U);
  EXPECT_EQ(ads::Size, 44U);
  EXPECT_EQ(create_qp_in::Size, 272U);
  expect_field(&qpc::state, 0xf, place(0x00, 31), 4);
  expect_field(&qpc::st, 0xff, place(0x00, 23), 8);
  expect_field(&qpc::pd, 0xffffff, place(0x04, 23), 24);
  expect_field(&qpc::log_sq_size, 0xf, place(0x08, 14), 4);
  expect_field(&qpc::next_send_psn, 0xffffff, place(0x78, 23), 24);
  expect_field(&qpc::min_rnr_nak, 0x1f, place(0x94, 28), 5);
  expect_field(&qpc::dbr_addr, ~std::uint64_t{0}, 0xa0 * 8, 64);
  expect_field(&ads::ack_timeout, 0x1f, place(0x08, 31), 5);
  expect_field(&ads::rmac, 0xffffffffffff, 0x26 * 8, 48);
  expect_field(&mkc::lw, 1, place(0x00, 11), 1);
  expect_field(&mkc::log_page_size, 0x3f, place(0x38, 5), 6);
  expect_field(&cqc::log_cq_size, 0x1f, place(0x0c, 28), 5);
  expect_field(&eqc::intr, 0xfff, place(0x14, 11), 12);
  expect_field(&nic_vport_context::mtu, 0xffff, place(0x24, 15), 16);
  expect_field(&nic_vport_context::permanent_address, 0xffffffffffff, 0xf6 * 8, 48);
}

TEST(gen_contexts, a_context_inside_a_command_keeps_its_place) {
  create_qp_in x;
  x.opcode = command_opcode::CreateQp;
  x.qpc.pd = 0xffffff;
  x.qpc.primary_address_path.ack_timeout = 0x1f;
  auto want = ones(create_qp_in::Size, place(0x18 + 0x04, 23), 24);
  want[0x00] = 0x05;                // opcode 0x500
  want[0x18 + 0x18 + 0x08] = 0xf8;  // qpc, path in it, dword of the timeout
  EXPECT_EQ(packed(x), want);
  EXPECT_EQ(create_qp_in::unpack(want.data()), x);
}

TEST(gen_contexts, chip_codes_and_widths_follow_the_description) {
  EXPECT_EQ(static_cast<int>(qp_state::Reset), 0);
  EXPECT_EQ(static_cast<int>(qp_state::Init), 2);
  EXPECT_EQ(static_cast<int>(qp_state::Rtr), 3);
  EXPECT_EQ(static_cast<int>(qp_state::Rts), 4);
  EXPECT_EQ(static_cast<int>(qp_state::Err), 7);
  EXPECT_EQ(QpStateWidth, 3U);
  expect_field(&qpc_common::state, 7, place(0x00, 31), 3);
  EXPECT_EQ(qpc_common::unpack(byte_vector(64, 0xff).data()).pd, 0xffffffU);
  EXPECT_EQ(qpc_common::unpack(byte_vector(64, 0xff).data()).cq_num_send, 0xffffffU);
  EXPECT_EQ(qpc_common::unpack(byte_vector(64, 0xff).data()).wqe_base_addr, ~std::uint64_t{0});
  EXPECT_EQ(qpc_responder::unpack(byte_vector(64, 0xff).data()).rq_db_rec, 0xffffffffU);
}

template <class... T>
bool all_are_lines(bytes::type_list<T...> /*types*/) {
  return ((T::Size == ContextLineBytes) && ...);
}

TEST(gen_contexts, chip_lines_have_64_bytes) {
  EXPECT_TRUE(all_are_lines(bytes::type_list<qpc_common, qpc_address, qpc_requester, qpc_responder,
                                             cqc_line, mkey_line>{}));
}

// ----------------------------------------------------------------------- every layout, round trips

template <class T>
void expect_round_trips(dice& random) {
  byte_vector reserved(T::Size, 0);
  if constexpr (requires { T::ReservedMask; }) {
    reserved.assign(T::ReservedMask.begin(), T::ReservedMask.end());
  }
  byte_vector in(T::Size);
  for (int i = 0; i < 50; ++i) {
    random.fill(in);
    byte_vector want = in;
    for (std::size_t j = 0; j < want.size(); ++j) {
      want[j] = static_cast<std::uint8_t>(want[j] & ~reserved[j]);
    }
    const T x = T::unpack(in.data());
    ASSERT_EQ(packed(x), want) << T::Name;
    ASSERT_EQ(T::unpack(want.data()), x) << T::Name;
  }
}

template <class... T>
void expect_all_round_trip(bytes::type_list<T...> /*types*/) {
  dice random;
  (expect_round_trips<T>(random), ...);
}

TEST(gen_layouts, round_trip_and_write_zeros_in_reserved_bits) {
  expect_all_round_trip(wire_layouts{});
  expect_all_round_trip(tlp_layouts{});
  expect_all_round_trip(wqe_layouts{});
  expect_all_round_trip(contexts_layouts{});
}

TEST(gen_layouts, too_large_a_value_does_not_reach_its_neighbours) {
  ctrl_seg x;
  x.ds = 0xff;         // 6 bits
  x.qpn = 0xffffffff;  // 24 bits
  EXPECT_EQ(packed(x), bytes_of("00000000ffffff3f0000000000000000"));
}

TEST(gen_layouts, any_set_finds_reserved_bits) {
  byte_vector frame(bth::Size, 0);
  EXPECT_FALSE(bytes::any_set(frame.data(), bth::ReservedMask));
  frame[5] = 0xff;  // destination QP
  EXPECT_FALSE(bytes::any_set(frame.data(), bth::ReservedMask));
  frame[8] = 0x40;  // as real frames have it
  EXPECT_TRUE(bytes::any_set(frame.data(), bth::ReservedMask));
}

}  // namespace
}  // namespace carillon
