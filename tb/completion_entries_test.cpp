// completion: every byte of CQEs and EQEs, against arrays written by hand from mlx5's layouts.
#include <array>
#include <gtest/gtest.h>

#include "completion/cqe.h"
#include "completion/event_queues.h"

namespace carillon {
namespace {

using entry = std::array<std::uint8_t, 64>;

constexpr std::uint64_t Now = 0x0102030405060708;

// Fields that every test sets, each to a value of its own.
cqe_item item(cqe_opcode kind) {
  cqe_item cqe;
  cqe.cqn = 0x111111;  // not in the entry
  cqe.cqe_opcode = static_cast<std::uint8_t>(kind);
  cqe.qpn = 0xa1a2a3;
  cqe.wqe_counter = 0xb1b2;
  return cqe;
}

// mlx5's CQE: 0x18 GRH, SL and remote QPN; 0x20 SRQN; 0x24 immediate; 0x2c byte count; 0x30 time;
// 0x38 opcode of the WQE and QPN; 0x3c WQE counter; 0x3e signature; 0x3f kind, format, SE, owner.

TEST(completion_cqe, of_a_send_WQE_carries_its_opcode_and_index) {
  cqe_item cqe = item(cqe_opcode::Requester);
  cqe.wqe_opcode = 0x08;  // RDMA WRITE
  cqe.byte_count = 0x00c1c2c3;
  const entry expected = {0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,
                          0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,
                          0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,
                          0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,
                          0x00, 0xc1, 0xc2, 0xc3, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07,
                          0x08, 0x08, 0xa1, 0xa2, 0xa3, 0xb1, 0xb2, 0,    0x00};
  EXPECT_EQ(build_cqe(cqe, 4, 0, Now), expected);
}

TEST(completion_cqe, of_a_READ_and_of_an_atomic_counts_the_bytes_read) {
  cqe_item cqe = item(cqe_opcode::Requester);
  cqe.wqe_opcode = 0x12;  // fetch and add
  cqe.byte_count = 8;
  entry expected = {0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,
                    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,
                    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,
                    0,    0,    0,    0,    0,    0,    0,    0,    8,    0x01, 0x02, 0x03, 0x04,
                    0x05, 0x06, 0x07, 0x08, 0x12, 0xa1, 0xa2, 0xa3, 0xb1, 0xb2, 0,    0x00};
  EXPECT_EQ(build_cqe(cqe, 4, 0, Now), expected);
  cqe.wqe_opcode = 0x10;  // RDMA READ
  cqe.byte_count = 0x80000000;
  expected[0x2c] = 0x80;
  expected[0x2f] = 0;
  expected[0x38] = 0x10;
  EXPECT_EQ(build_cqe(cqe, 4, 0, Now), expected);
}

TEST(completion_cqe, of_a_received_SEND_carries_GRH_service_level_peer_and_SRQ) {
  cqe_item cqe = item(cqe_opcode::ResponderSend);
  cqe.grh = true;
  cqe.service_level = 0xd;
  cqe.remote_qpn = 0xe1e2e3;
  cqe.srqn = 0xf1f2f3;
  cqe.byte_count = 0x68;
  // 0x18: GRH 1 in bits 29:28, service level in 27:24
  const entry expected = {0,    0,    0,    0,    0, 0,    0,    0,    0,    0,    0,    0,    0,
                          0,    0,    0,    0,    0, 0,    0,    0,    0,    0,    0,    0x1d, 0xe1,
                          0xe2, 0xe3, 0,    0,    0, 0,    0,    0xf1, 0xf2, 0xf3, 0,    0,    0,
                          0,    0,    0,    0,    0, 0,    0,    0,    0x68, 0x01, 0x02, 0x03, 0x04,
                          0x05, 0x06, 0x07, 0x08, 0, 0xa1, 0xa2, 0xa3, 0xb1, 0xb2, 0,    0x20};
  EXPECT_EQ(build_cqe(cqe, 4, 0, Now), expected);
}

TEST(completion_cqe, of_a_received_SEND_with_immediate_carries_it_as_on_the_wire) {
  cqe_item cqe = item(cqe_opcode::ResponderSendImmediate);
  cqe.imm = 0xd1d2d3d4;
  cqe.remote_qpn = 0xe1e2e3;
  cqe.solicited = true;
  cqe.byte_count = 0x1000;
  // 0x3f: kind 3, format 0, SE 1, owner 1 in the ring's second turn
  const entry expected = {0,    0,    0,    0,    0, 0,    0,    0,    0,    0,    0,    0,    0,
                          0,    0,    0,    0,    0, 0,    0,    0,    0,    0,    0,    0x00, 0xe1,
                          0xe2, 0xe3, 0,    0,    0, 0,    0,    0,    0,    0,    0xd1, 0xd2, 0xd3,
                          0xd4, 0,    0,    0,    0, 0,    0,    0x10, 0,    0x01, 0x02, 0x03, 0x04,
                          0x05, 0x06, 0x07, 0x08, 0, 0xa1, 0xa2, 0xa3, 0xb1, 0xb2, 0,    0x33};
  EXPECT_EQ(build_cqe(cqe, 4, 16, Now), expected);
}

TEST(completion_cqe, of_a_received_SEND_with_invalidate_carries_the_key) {
  cqe_item cqe = item(cqe_opcode::ResponderSendInvalidate);
  cqe.imm = 0x00123456;
  cqe.byte_count = 1;
  const entry expected = {0,    0,    0,    0,    0, 0,    0,    0,    0,    0,    0,    0,    0,
                          0,    0,    0,    0,    0, 0,    0,    0,    0,    0,    0,    0,    0,
                          0,    0,    0,    0,    0, 0,    0,    0,    0,    0,    0x00, 0x12, 0x34,
                          0x56, 0,    0,    0,    0, 0,    0,    0,    1,    0x01, 0x02, 0x03, 0x04,
                          0x05, 0x06, 0x07, 0x08, 0, 0xa1, 0xa2, 0xa3, 0xb1, 0xb2, 0,    0x40};
  EXPECT_EQ(build_cqe(cqe, 4, 15, Now), expected);
}

TEST(completion_cqe, of_a_received_WRITE_with_immediate) {
  cqe_item cqe = item(cqe_opcode::ResponderWriteImmediate);
  cqe.imm = 0xd1d2d3d4;
  cqe.service_level = 6;
  cqe.byte_count = 0x20000;
  const entry expected = {0,    0,    0,    0,    0, 0,    0,    0,    0,    0,    0,    0,    0,
                          0,    0,    0,    0,    0, 0,    0,    0,    0,    0,    0,    0x06, 0,
                          0,    0,    0,    0,    0, 0,    0,    0,    0,    0,    0xd1, 0xd2, 0xd3,
                          0xd4, 0,    0,    0,    0, 0,    2,    0,    0,    0x01, 0x02, 0x03, 0x04,
                          0x05, 0x06, 0x07, 0x08, 0, 0xa1, 0xa2, 0xa3, 0xb1, 0xb2, 0,    0x11};
  EXPECT_EQ(build_cqe(cqe, 4, 0xfffff0, Now), expected);
}

TEST(completion_cqe, of_a_receive_WQE_has_no_send_opcode) {
  for (const cqe_opcode kind : {cqe_opcode::ResponderWriteImmediate, cqe_opcode::ResponderSend,
                                cqe_opcode::ResponderSendImmediate,
                                cqe_opcode::ResponderSendInvalidate, cqe_opcode::ResponderError}) {
    cqe_item cqe = item(kind);
    cqe.wqe_opcode = 0x0a;
    EXPECT_EQ(build_cqe(cqe, 4, 0, Now)[0x38], 0);
  }
}

// mlx5's error CQE: 0x20 SRQN, 0x36 vendor syndrome, 0x37 syndrome, 0x38 as above; no time.

TEST(completion_cqe, of_a_failed_send_WQE) {
  cqe_item cqe = item(cqe_opcode::RequesterError);
  cqe.wqe_opcode = 0x0b;  // SEND with immediate
  cqe.syndrome = 0x13;    // remote access
  cqe.vendor_syndrome = 0x88;
  cqe.byte_count = 0x1000;  // what was to be sent is not told
  cqe.imm = 0xd1d2d3d4;
  cqe.remote_qpn = 0xe1e2e3;
  const entry expected = {
      0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,    0,    0,    0,    0,    0,    0,    0,    0, 0,   0, 0,
      0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,    0,    0,    0,    0,    0,    0,    0,    0, 0,   0, 0,
      0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x88, 0x13, 0x0b, 0xa1, 0xa2, 0xa3, 0xb1, 0xb2, 0, 0xd1};
  EXPECT_EQ(build_cqe(cqe, 4, 16, Now), expected);
}

TEST(completion_cqe, of_a_failed_receive_WQE_carries_its_SRQ) {
  cqe_item cqe = item(cqe_opcode::ResponderError);
  cqe.syndrome = 0x05;  // flushed
  cqe.srqn = 0xf1f2f3;
  const entry expected = {
      0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,    0,    0,    0,    0,    0,    0,    0, 0,   0, 0,
      0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xf1, 0xf2, 0xf3, 0,    0,    0,    0,    0, 0,   0, 0,
      0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x05, 0,    0xa1, 0xa2, 0xa3, 0xb1, 0xb2, 0, 0xe0};
  EXPECT_EQ(build_cqe(cqe, 4, 0, Now), expected);
}

TEST(completion_cqe, of_128_bytes_has_its_64_in_the_second_half) {
  cqc_line line;
  line.log_cq_size = 3;
  line.base_addr = 0x100000;
  EXPECT_EQ(cqe_address(line, 9), 0x100040U);
  line.cqe128 = 1;
  EXPECT_EQ(cqe_address(line, 9), 0x1000c0U);
}

// mlx5's EQE: 0x01 kind, 0x03 detail; completion: 0x38 CQN; QP and SRQ: 0x34 kind of queue, 0x38
// its number; CQ error: 0x20 CQN, 0x2b syndrome (1 overrun); 0x3f owner.

TEST(completion_eqe, of_a_completion_names_the_CQ) {
  const entry expected = {0, 0x00, 0, 0, 0, 0, 0, 0, 0, 0,    0,    0,    0, 0, 0, 0,
                          0, 0,    0, 0, 0, 0, 0, 0, 0, 0,    0,    0,    0, 0, 0, 0,
                          0, 0,    0, 0, 0, 0, 0, 0, 0, 0,    0,    0,    0, 0, 0, 0,
                          0, 0,    0, 0, 0, 0, 0, 0, 0, 0xc1, 0xc2, 0xc3, 0, 0, 0, 0};
  EXPECT_EQ(build_eqe({.kind = event_type::Completion, .number = 0xc1c2c3}, 4, 15), expected);
}

TEST(completion_eqe, of_a_CQ_error_says_overrun) {
  const entry expected = {0, 0x04, 0,    0,    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                          0, 0,    0,    0,    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                          0, 0xc1, 0xc2, 0xc3, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0,
                          0, 0,    0,    0,    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  EXPECT_EQ(build_eqe({.kind = event_type::CqError, .number = 0xc1c2c3}, 4, 16), expected);
}

TEST(completion_eqe, of_a_queue_names_its_kind_and_number) {
  const entry expected = {0, 0x14, 0, 0x77, 0,    0, 0, 0, 0, 0,    0,    0,    0, 0, 0, 0,
                          0, 0,    0, 0,    0,    0, 0, 0, 0, 0,    0,    0,    0, 0, 0, 0,
                          0, 0,    0, 0,    0,    0, 0, 0, 0, 0,    0,    0,    0, 0, 0, 0,
                          0, 0,    0, 0,    0x02, 0, 0, 0, 0, 0xd1, 0xd2, 0xd3, 0, 0, 0, 0};
  EXPECT_EQ(
      build_eqe(
          {.kind = event_type::SrqLimit, .sub_type = 0x77, .queue_type = 2, .number = 0xd1d2d3}, 4,
          32),
      expected);
}

TEST(completion_eqe, valid_for_software_when_owner_and_turn_agree) {
  // Software starts with owner 1 everywhere and takes entry ci when ((owner ^ (ci >> log)) & 1) is
  // 0: so nothing is valid before the first turn writes 0, and the second writes 1.
  for (std::uint32_t ci = 0; ci < 12; ++ci) {
    const auto owner = build_eqe({}, 2, ci)[0x3f];
    EXPECT_EQ((owner ^ (ci >> 2)) & 1U, 0U) << ci;
    const std::uint8_t before = ci < 4 ? 1 : build_eqe({}, 2, ci - 4)[0x3f];
    EXPECT_EQ((before ^ (ci >> 2)) & 1U, 1U) << ci;
  }
}

}  // namespace
}  // namespace carillon
