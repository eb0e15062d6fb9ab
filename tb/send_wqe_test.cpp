// The bytes of WQEs, each against bytes written by hand from the mlx5 layouts.
#include "host/send_wqe.h"

#include <gtest/gtest.h>
#include <numeric>
#include <string_view>
#include <vector>

#include "host/receive_wqe.h"

namespace carillon {
namespace {

using byte_list = std::vector<std::uint8_t>;

/// Hexadecimal digits, spaces and line ends between them as one likes.
byte_list hex(std::string_view text) {
  byte_list result;
  std::string digits;
  for (const char each : text) {
    if (each != ' ' && each != '\n') {
      digits += each;
    }
  }
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    result.push_back(static_cast<std::uint8_t>(std::stoul(digits.substr(i, 2), nullptr, 16)));
  }
  return result;
}

/// As the WQE of QP 0x123456 at index 0xfffe.
byte_list wqe_of(const work_request& request, wqe_place place = {}) {
  host_memory memory;
  const std::string_view text = "carillon rings";
  memory.write(0x1000, text.data(), text.size());
  place.qpn = 0x123456;
  place.wqe_index = 0xfffe;
  built_wqe wqe;
  wqe.bytes.fill(0xee);
  build_wqe(request, place, memory, wqe);
  EXPECT_EQ(wqe.ds, wqe_units(request, place.datagram));
  return {wqe.bytes.begin(), wqe.bytes.begin() + wqe.ds * 16};
}

work_request request_of(wqe_opcode opcode) {
  work_request request;
  request.opcode = opcode;
  request.imm = 0x11223344;
  request.invalidate_key = 0x55667788;
  request.remote_address = 0x0102030405060708;
  request.rkey = 0x99aabbcc;
  request.swap_or_add = 0x1112131415161718;
  request.compare = 0x2122232425262728;
  return request;
}

work_request with_two_pieces(wqe_opcode opcode) {
  return request_of(opcode).add({0x3000, 0x10, 0x701}).add({0x4000, 0x20, 0x802});
}

constexpr std::string_view TwoPieces =
    "00000010 00000701 0000000000003000 00000020 00000802 0000000000004000";
constexpr std::string_view Remote = "0102030405060708 99aabbcc 00000000";

byte_list join(std::initializer_list<std::string_view> parts) {
  byte_list result;
  for (const std::string_view each : parts) {
    const byte_list bytes = hex(each);
    result.insert(result.end(), bytes.begin(), bytes.end());
  }
  return result;
}

struct opcode_case {
  const char* name;
  wqe_opcode opcode;
  std::string_view control;
  bool remote;
};

class opcodes : public testing::TestWithParam<opcode_case> {};

// mlx5: {opmod, index, opcode}, {QPN, ds}, {signature, 0, 0, fm_ce_se}, {immediate or key}; then
// the remote address of WRITE and READ; then a pointer for each piece. CE 2 is 0x08 in the last
// byte.
TEST_P(opcodes, make_the_segments_of_their_work) {
  const opcode_case& tested = GetParam();
  const byte_list wqe = wqe_of(with_two_pieces(tested.opcode));
  EXPECT_EQ(wqe, tested.remote ? join({tested.control, Remote, TwoPieces})
                               : join({tested.control, TwoPieces}));
}

INSTANTIATE_TEST_SUITE_P(
    all, opcodes,
    testing::Values(
        opcode_case{"send", wqe_opcode::Send, "00fffe0a 12345603 00000008 00000000", false},
        opcode_case{"send_immediate", wqe_opcode::SendImmediate,
                    "00fffe0b 12345603 00000008 11223344", false},
        opcode_case{"send_invalidate", wqe_opcode::SendInvalidate,
                    "00fffe01 12345603 00000008 55667788", false},
        opcode_case{"write", wqe_opcode::RdmaWrite, "00fffe08 12345604 00000008 00000000", true},
        opcode_case{"write_immediate", wqe_opcode::RdmaWriteImmediate,
                    "00fffe09 12345604 00000008 11223344", true},
        opcode_case{"read", wqe_opcode::RdmaRead, "00fffe10 12345604 00000008 00000000", true}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(send_wqes, of_a_compare_and_swap_carry_both_operands_and_one_pointer) {
  const work_request request = request_of(wqe_opcode::AtomicCompareSwap).add({0x3000, 8, 0x701});
  EXPECT_EQ(wqe_of(request),
            join({"00fffe11 12345604 00000008 00000000", Remote,
                  "1112131415161718 2122232425262728", "00000008 00000701 0000000000003000"}));
  EXPECT_EQ(request.length(), 8U);
}

TEST(send_wqes, of_a_fetch_and_add_compare_with_nothing) {
  const work_request request = request_of(wqe_opcode::AtomicFetchAdd).add({0x3000, 8, 0x701});
  EXPECT_EQ(wqe_of(request),
            join({"00fffe12 12345604 00000008 00000000", Remote,
                  "1112131415161718 0000000000000000", "00000008 00000701 0000000000003000"}));
}

TEST(send_wqes, without_data_are_one_segment) {
  EXPECT_EQ(wqe_of(with_two_pieces(wqe_opcode::LocalInvalidate)),
            hex("00fffe1b 12345601 00000008 55667788"));
  EXPECT_EQ(wqe_of(with_two_pieces(wqe_opcode::Nop)), hex("00fffe00 12345601 00000008 00000000"));
  EXPECT_EQ(with_two_pieces(wqe_opcode::Nop).length(), 0U);
  EXPECT_EQ(with_two_pieces(wqe_opcode::LocalInvalidate).length(), 0U);
}

TEST(send_wqes, leave_out_pieces_of_no_bytes) {
  work_request request = request_of(wqe_opcode::Send);
  request.add({0x3000, 0x10, 0x701}).add({0x5000, 0, 0x903}).add({0x4000, 0x20, 0x802});
  EXPECT_EQ(wqe_of(request), join({"00fffe0a 12345603 00000008 00000000", TwoPieces}));
}

TEST(send_wqes, have_inline_data_behind_a_count_and_are_padded_with_zeros) {
  work_request request = request_of(wqe_opcode::RdmaWrite);
  request.is_inline = true;
  request.add({0x1000, 8, 0}).add({0x2000, 0, 0}).add({0x1008, 6, 0});
  // 14 bytes and their header are 18: two units of 16.
  EXPECT_EQ(wqe_of(request), join({"00fffe08 12345604 00000008 00000000", Remote,
                                   "8000000e 636172696c6c6f6e2072696e6773 0000000000000000000000"
                                   "000000"}));
}

TEST(send_wqes, say_when_they_want_completions_and_events) {
  work_request request = request_of(wqe_opcode::Send);
  const auto last_byte = [&] { return static_cast<unsigned>(wqe_of(request)[11]); };
  EXPECT_EQ(last_byte(), 0x08U);
  request.signaled = false;
  EXPECT_EQ(last_byte(), 0x00U) << "a CQE on error only";
  request.event = true;
  EXPECT_EQ(last_byte(), 0x0cU) << "CQE and EQE";
  request.solicited = true;
  EXPECT_EQ(last_byte(), 0x0eU);
}

TEST(send_wqes, say_what_they_wait_for) {
  work_request request = request_of(wqe_opcode::Send);
  request.signaled = false;
  const auto fence = [&](fence_mode least = fence_mode::None) {
    wqe_place place;
    place.fence = least;
    return wqe_of(request, place)[11] >> 5;
  };
  EXPECT_EQ(fence(), 0);
  EXPECT_EQ(fence(fence_mode::InitiatorSmall), 1);
  request.fence = true;
  EXPECT_EQ(fence(fence_mode::InitiatorSmall), 4) << "IBV_SEND_FENCE is 4 << 5";
  request.strong_ordering = true;
  EXPECT_EQ(fence(), 3);
}

TEST(send_wqes, of_datagrams_name_their_peer) {
  work_request request = request_of(wqe_opcode::SendImmediate);
  request.add({0x3000, 0x10, 0x701});
  address_handle& to = request.to;
  to.mac = 0x0200aabbccdd;
  to.address = gid_of_ipv4(0x0a000002);
  to.qpn = 0xabcdef;
  to.qkey = 0x80010000;
  to.gid_index = 3;
  to.traffic_class = 0x6a;
  to.hop_limit = 17;
  to.priority = 3;
  to.flow_label = 0x4000;
  wqe_place place;
  place.datagram = true;
  // Extended address (bit 31 of the QPN's dword), SL = priority << 1, UDP port 0xc001: flow label
  // 0x4000 folded to 14 bits is 1.
  EXPECT_EQ(wqe_of(request, place),
            join({"00fffe0b 12345605 00000008 11223344",
                  "80010000 00000000 80abcdef 0600c001 00000000 0200aabb ccdd 6a11 00304000",
                  "00000000 00000000 0000ffff 0a000002", "00000010 00000701 0000000000003000"}));
}

TEST(send_wqes, of_datagrams_take_their_port_from_the_qp_numbers_without_a_flow_label) {
  work_request request = request_of(wqe_opcode::Send);
  request.to.qpn = 0xabcdef;
  wqe_place place;
  place.datagram = true;
  // The rule's published value for QPNs 0x123456 and 0xabcdef.
  const byte_list wqe = wqe_of(request, place);
  EXPECT_EQ(wqe[16 + 14], 0xc3);
  EXPECT_EQ(wqe[16 + 15], 0xc8);
}

TEST(send_wqes, of_datagrams_carry_inline_data_behind_the_address) {
  work_request request = request_of(wqe_opcode::Send);
  request.is_inline = true;
  request.add({0x1000, 8, 0});
  wqe_place place;
  place.datagram = true;
  const byte_list wqe = wqe_of(request, place);
  ASSERT_EQ(wqe.size(), 80U);
  EXPECT_EQ(byte_list(wqe.begin() + 64, wqe.end()), hex("80000008 636172696c6c6f6e 00000000"));
}

TEST(send_wqes, are_signed_so_that_all_bytes_together_give_ff) {
  wqe_place place;
  place.signature = true;
  // By hand, of the bytes that do not cancel: 00^ff^fe^0a = 0b; 12^34^56^01 = 71; 08; their sum 72.
  const byte_list wqe = wqe_of(request_of(wqe_opcode::Send), place);
  EXPECT_EQ(wqe, hex("00fffe0a 12345601 8d000008 00000000"));
  for (const wqe_opcode opcode : {wqe_opcode::RdmaRead, wqe_opcode::SendImmediate}) {
    const byte_list signed_wqe = wqe_of(with_two_pieces(opcode), place);
    EXPECT_EQ(std::accumulate(signed_wqe.begin(), signed_wqe.end(), 0, std::bit_xor<>()), 0xff);
  }
}

TEST(send_wqes, have_the_size_of_their_segments) {
  work_request request;
  request.opcode = wqe_opcode::Send;
  EXPECT_EQ(wqe_units(request), 1U);
  request.add({0, 8, 1}).add({0, 0, 1}).add({0, 8, 1});
  EXPECT_EQ(wqe_units(request), 3U) << "an empty piece has no segment";
  EXPECT_EQ(wqe_units(request, true), 6U) << "an address is three units";
  request.opcode = wqe_opcode::RdmaWriteImmediate;
  EXPECT_EQ(wqe_units(request), 4U);
  request.is_inline = true;
  request.sges[2].length = 4;  // 4 + 12 bytes are one unit
  EXPECT_EQ(wqe_units(request), 3U);
  request.sges[2].length = 5;
  EXPECT_EQ(wqe_units(request), 4U);
  request.sges[2].length = 1024;
  EXPECT_GT(wqe_units(request), MaxWqeUnits);
}

TEST(send_wqes, hold_thirty_pieces_and_no_more) {
  work_request request = request_of(wqe_opcode::RdmaRead);
  for (int i = 0; i < 30; ++i) {
    request.add({0x1000, 8, 1});
  }
  EXPECT_EQ(wqe_units(request), 32U);
  EXPECT_EQ(request.length(), 240U);
  request.add({0x1000, 8, 1});
  EXPECT_GT(wqe_units(request), MaxWqeUnits);
}

// Receive WQEs

byte_list receive_of(const receive_request& request, std::size_t stride, receive_head head) {
  byte_list wqe(stride, 0xee);
  EXPECT_TRUE(build_receive_wqe(request, wqe, head));
  return wqe;
}

TEST(receive_wqes, end_early_by_the_invalid_key) {
  receive_request request;
  request.add({0x3000, 0x10, 0x701}).add({0x5000, 0, 0x903}).add({0x4000, 0x20, 0x802});
  EXPECT_EQ(receive_of(request, 64, receive_head::none),
            join({TwoPieces, "00000000 00000100 0000000000000000",
                  "0000000000000000"
                  "0000000000000000"}));
  EXPECT_EQ(receive_of({}, 16, receive_head::none), hex("00000000 00000100 0000000000000000"));
}

TEST(receive_wqes, that_fill_the_stride_have_no_end) {
  receive_request request;
  request.add({0x3000, 0x10, 0x701}).add({0x4000, 0x20, 0x802});
  EXPECT_EQ(receive_of(request, 32, receive_head::none), join({TwoPieces}));
  byte_list stride(16);
  EXPECT_FALSE(build_receive_wqe(request, stride)) << "two pieces in a stride for one";
}

TEST(receive_wqes, are_signed_in_the_fifth_byte_of_their_first_segment) {
  receive_request request;
  request.add({0x3000, 0x10, 0x701});
  byte_list wqe(64);
  ASSERT_TRUE(build_receive_wqe(request, wqe, receive_head::signature));
  sign_receive_wqe(wqe);
  // 10 ^ 07 ^ 01 ^ 30 of the pointer, 01 of the end: 27; its complement is d8.
  EXPECT_EQ(wqe, join({"00000000 d8000000 0000000000000000", "00000010 00000701 0000000000003000",
                       "00000000 00000100 0000000000000000", "0000000000000000 0000000000000000"}));
}

TEST(receive_wqes, keep_the_link_of_a_shared_queue_in_front) {
  receive_request request;
  request.add({0x3000, 0x10, 0x701});
  byte_list wqe(32, 0xee);
  ASSERT_TRUE(build_receive_wqe(request, wqe, receive_head::next));
  EXPECT_EQ(byte_list(wqe.begin(), wqe.begin() + 16), byte_list(16, 0xee)) << "the caller's";
  EXPECT_EQ(byte_list(wqe.begin() + 16, wqe.end()), hex("00000010 00000701 0000000000003000"));
}

TEST(receive_wqes, have_strides_of_a_power_of_two) {
  EXPECT_EQ(receive_stride(1, 0), 16U);
  EXPECT_EQ(receive_stride(3, 0), 64U);
  EXPECT_EQ(receive_stride(3, 1), 64U);
  EXPECT_EQ(receive_stride(4, 1), 128U);
  EXPECT_EQ(receive_stride(32, 0), 512U);
  EXPECT_EQ(receive_stride(0, 0), 16U);
  receive_request full;
  for (int i = 0; i < 32; ++i) {
    full.add({0x1000, 8, 1});
  }
  byte_list stride(512);
  EXPECT_TRUE(build_receive_wqe(full, stride));
  full.add({0x1000, 8, 1});
  byte_list larger(1024);
  EXPECT_FALSE(build_receive_wqe(full, larger));
}

}  // namespace
}  // namespace carillon
