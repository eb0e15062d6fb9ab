// responder: its cores, without time.
#include <gtest/gtest.h>

#include "gen/wqe.h"
#include "responder/receive_queue.h"
#include "responder/rules.h"
#include "responder/saved_requests.h"
#include "responder/shared_receive_queue.h"

namespace carillon {
namespace {

// Opcode sequence and lengths (RoCEv2/IBTA rules): FIRST follows LAST or ONLY, MIDDLE and LAST
// continue the same verb; FIRST and MIDDLE carry the MTU (256 here), LAST 1 to MTU, ONLY 0 to MTU;
// a WRITE carries what it announced.
struct step_case {
  bth_opcode opcode;
  std::uint32_t payload;
  std::uint32_t dma_length;
  bool in_message;
  bth_verb verb;
  std::uint32_t so_far;
  std::uint32_t announced;
  bool good;
};

constexpr bth_verb Send = bth_verb::Send;
constexpr bth_verb Write = bth_verb::Write;

const step_case Steps[] = {
    // Opcode sequence
    {bth_opcode::RcSendFirst, 256, 0, false, Send, 0, 0, true},
    {bth_opcode::RcSendFirst, 256, 0, true, Send, 256, 0, false},
    {bth_opcode::RcSendMiddle, 256, 0, true, Send, 256, 0, true},
    {bth_opcode::RcSendMiddle, 256, 0, false, Send, 0, 0, false},
    {bth_opcode::RcSendMiddle, 256, 0, true, Write, 256, 900, false},
    {bth_opcode::RcSendLast, 1, 0, false, Send, 0, 0, false},
    {bth_opcode::RcSendLast, 1, 0, true, Write, 256, 257, false},
    {bth_opcode::RcSendLastImmediate, 1, 0, true, Send, 256, 0, true},
    {bth_opcode::RcSendLastInvalidate, 1, 0, true, Send, 256, 0, true},
    {bth_opcode::RcSendLastInvalidate, 1, 0, false, Send, 0, 0, false},
    {bth_opcode::RcSendOnly, 0, 0, true, Send, 256, 0, false},
    {bth_opcode::RcSendOnlyImmediate, 0, 0, true, Write, 256, 300, false},
    {bth_opcode::RcSendOnlyInvalidate, 8, 0, false, Send, 0, 0, true},
    {bth_opcode::RcWriteFirst, 256, 300, true, Send, 256, 0, false},
    {bth_opcode::RcWriteMiddle, 256, 0, true, Send, 256, 0, false},
    {bth_opcode::RcWriteMiddle, 256, 0, false, Send, 0, 0, false},
    {bth_opcode::RcWriteLast, 1, 0, true, Send, 256, 0, false},
    {bth_opcode::RcWriteLastImmediate, 1, 0, true, Write, 256, 257, true},
    {bth_opcode::RcWriteOnly, 8, 8, true, Write, 256, 300, false},
    {bth_opcode::RcWriteOnlyImmediate, 8, 8, false, Send, 0, 0, true},
    {bth_opcode::RcReadRequest, 0, 8, false, Send, 0, 0, true},
    {bth_opcode::RcReadRequest, 0, 8, true, Send, 256, 0, false},
    {bth_opcode::RcReadRequest, 0, 8, true, Write, 256, 300, false},
    {bth_opcode::RcFetchAdd, 0, 0, false, Send, 0, 0, true},
    {bth_opcode::RcFetchAdd, 0, 0, true, Send, 256, 0, false},
    {bth_opcode::RcCompareSwap, 0, 0, true, Write, 256, 300, false},
    // Lengths
    {bth_opcode::RcSendOnly, 0, 0, false, Send, 0, 0, true},
    {bth_opcode::RcSendOnly, 256, 0, false, Send, 0, 0, true},
    {bth_opcode::RcSendOnly, 257, 0, false, Send, 0, 0, false},
    {bth_opcode::RcSendFirst, 255, 0, false, Send, 0, 0, false},
    {bth_opcode::RcSendFirst, 257, 0, false, Send, 0, 0, false},
    {bth_opcode::RcSendMiddle, 255, 0, true, Send, 256, 0, false},
    {bth_opcode::RcSendLast, 0, 0, true, Send, 256, 0, false},
    {bth_opcode::RcSendLast, 1, 0, true, Send, 256, 0, true},
    {bth_opcode::RcSendLast, 256, 0, true, Send, 256, 0, true},
    {bth_opcode::RcSendLast, 257, 0, true, Send, 256, 0, false},
    {bth_opcode::RcWriteFirst, 256, 256, false, Send, 0, 0, false},
    {bth_opcode::RcWriteFirst, 256, 257, false, Send, 0, 0, true},
    {bth_opcode::RcWriteFirst, 256, 0x80000000, false, Send, 0, 0, true},
    {bth_opcode::RcWriteFirst, 256, 0x80000001, false, Send, 0, 0, false},
    {bth_opcode::RcWriteMiddle, 256, 0, true, Write, 256, 512, false},
    {bth_opcode::RcWriteMiddle, 256, 0, true, Write, 256, 513, true},
    {bth_opcode::RcWriteLast, 1, 0, true, Write, 256, 257, true},
    {bth_opcode::RcWriteLast, 2, 0, true, Write, 256, 257, false},
    {bth_opcode::RcWriteLast, 1, 0, true, Write, 256, 258, false},
    {bth_opcode::RcWriteOnly, 8, 8, false, Send, 0, 0, true},
    {bth_opcode::RcWriteOnly, 8, 9, false, Send, 0, 0, false},
    {bth_opcode::RcWriteOnly, 0, 0, false, Send, 0, 0, true},
    {bth_opcode::RcReadRequest, 0, 0, false, Send, 0, 0, true},
    {bth_opcode::RcReadRequest, 0, 0x80000000, false, Send, 0, 0, true},
    {bth_opcode::RcReadRequest, 0, 0x80000001, false, Send, 0, 0, false},
    // A SEND of 2^31 bytes is the longest.
    {bth_opcode::RcSendLast, 256, 0, true, Send, 0x7fffff00, 0, true},
    {bth_opcode::RcSendLast, 1, 0, true, Send, 0x80000000, 0, false},
};

qpc_common allowing_all(mtu_code mtu = mtu_code::Mtu256) {
  qpc_common common;
  common.mtu = mtu;
  common.rwe = common.rre = common.rae = 1;
  return common;
}

rx_packet packet_of(bth_opcode opcode, std::uint32_t payload = 0, std::uint32_t dma_length = 0) {
  rx_packet packet;
  packet.bth_opcode = static_cast<std::uint8_t>(opcode);
  packet.payload = payload;
  packet.dma_length = dma_length;
  packet.remote_address = 0x1000;
  return packet;
}

TEST(responder_core, opcode_sequence_and_lengths) {
  for (const step_case& each : Steps) {
    qpc_responder line;
    line.in_message = each.in_message ? 1 : 0;
    line.cur_verb = each.verb;
    line.cur_bytes = each.so_far;
    line.cur_length = each.announced;
    const request_step step =
        step_request(packet_of(each.opcode, each.payload, each.dma_length), allowing_all(), line);
    EXPECT_EQ(step.fault, each.good ? request_fault::none : request_fault::invalid)
        << to_string(each.opcode) << " " << each.payload << " after " << each.so_far;
  }
}

TEST(responder_core, every_mtu_is_the_length_of_first_and_middle_packets) {
  for (std::uint32_t code = 1; code <= 5; ++code) {
    const std::uint32_t mtu = 128U << code;  // codes 1 to 5: 256 to 4096
    const qpc_common common = allowing_all(static_cast<mtu_code>(code));
    const auto fault = [&](bth_opcode opcode, std::uint32_t payload) {
      qpc_responder line;
      line.in_message = opcode == bth_opcode::RcSendLast ? 1 : 0;
      return step_request(packet_of(opcode, payload), common, line).fault;
    };
    EXPECT_EQ(fault(bth_opcode::RcSendFirst, mtu), request_fault::none) << mtu;
    EXPECT_EQ(fault(bth_opcode::RcSendFirst, mtu - 1), request_fault::invalid) << mtu;
    EXPECT_EQ(fault(bth_opcode::RcSendOnly, mtu), request_fault::none) << mtu;
    EXPECT_EQ(fault(bth_opcode::RcSendOnly, mtu + 1), request_fault::invalid) << mtu;
    EXPECT_EQ(fault(bth_opcode::RcSendLast, mtu), request_fault::none) << mtu;
    EXPECT_EQ(fault(bth_opcode::RcSendLast, mtu + 1), request_fault::invalid) << mtu;
    // A READ of L bytes takes max(1, ceil(L / MTU)) PSNs.
    EXPECT_EQ(read_packets(0, common.mtu), 1U);
    EXPECT_EQ(read_packets(1, common.mtu), 1U);
    EXPECT_EQ(read_packets(mtu, common.mtu), 1U);
    EXPECT_EQ(read_packets(mtu + 1, common.mtu), 2U);
    EXPECT_EQ(read_packets(0x80000000, common.mtu), 0x80000000U / mtu);
  }
}

TEST(responder_core, psn_and_msn_wrap_at_24_bits) {
  qpc_responder line;
  line.next_rcv_psn = 0xffffff;
  line.rmsn = 0xffffff;
  request_step step = step_request(packet_of(bth_opcode::RcSendOnly), allowing_all(), line);
  EXPECT_EQ(step.next.next_rcv_psn, 0U);
  EXPECT_EQ(step.next.rmsn, 0U);
  step = step_request(packet_of(bth_opcode::RcReadRequest, 0, 700), allowing_all(), line);
  EXPECT_EQ(step.next.next_rcv_psn, 2U);  // 0xffffff + 3
  EXPECT_EQ(step.next.rmsn, 0U);
}

TEST(responder_core, the_msn_counts_messages_not_packets) {
  qpc_responder line;
  line.rmsn = 7;
  EXPECT_EQ(step_request(packet_of(bth_opcode::RcSendFirst, 256), allowing_all(), line).next.rmsn,
            7U);
  line.in_message = 1;
  EXPECT_EQ(step_request(packet_of(bth_opcode::RcSendLast, 1), allowing_all(), line).next.rmsn, 8U);
}

TEST(responder_core, an_accepted_packet_ends_the_gap) {
  qpc_responder line;
  line.nak_sent = 1;
  line.rnr_sent = 1;
  const request_step step = step_request(packet_of(bth_opcode::RcSendOnly), allowing_all(), line);
  EXPECT_EQ(step.next.nak_sent, 0);
  EXPECT_EQ(step.next.rnr_sent, 0);
}

TEST(responder_core, each_operation_needs_the_qps_permission) {
  const auto fault = [](bth_opcode opcode, const qpc_common& common) {
    return step_request(packet_of(opcode), common, {}).fault;
  };
  qpc_common none = allowing_all();
  none.rwe = none.rre = none.rae = 0;
  for (const bth_opcode opcode : {bth_opcode::RcWriteOnly, bth_opcode::RcReadRequest,
                                  bth_opcode::RcFetchAdd, bth_opcode::RcCompareSwap}) {
    EXPECT_EQ(fault(opcode, none), request_fault::invalid) << to_string(opcode);
    EXPECT_EQ(fault(opcode, allowing_all()), request_fault::none) << to_string(opcode);
  }
  EXPECT_EQ(fault(bth_opcode::RcSendOnly, none), request_fault::none);
  qpc_common without_queue = allowing_all();
  without_queue.no_rq = 1;
  EXPECT_EQ(fault(bth_opcode::RcSendOnly, without_queue), request_fault::invalid);
  EXPECT_EQ(fault(bth_opcode::RcWriteOnly, without_queue), request_fault::none);
  EXPECT_EQ(fault(bth_opcode::RcWriteOnlyImmediate, without_queue), request_fault::invalid);
  without_queue.srq = 1;  // it receives from there
  EXPECT_EQ(fault(bth_opcode::RcSendOnly, without_queue), request_fault::none);
}

TEST(responder_core, atomics_are_aligned_to_eight_bytes) {
  for (std::uint64_t offset = 0; offset < 8; ++offset) {
    rx_packet packet = packet_of(bth_opcode::RcCompareSwap);
    packet.remote_address = 0x1000 + offset;
    EXPECT_EQ(step_request(packet, allowing_all(), {}).fault,
              offset == 0 ? request_fault::none : request_fault::invalid);
  }
}

// NAK code and the syndrome of the receive WQE in use.
TEST(responder_core, every_fault_has_its_nak_and_its_syndrome) {
  struct expected {
    request_fault fault;
    nak_code nak;
    std::uint8_t syndrome;
  };

  const expected cases[] = {
      {request_fault::invalid, nak_code::InvalidRequest, 0x12},
      {request_fault::remote_access, nak_code::RemoteAccessError, 0x05},
      {request_fault::local_length, nak_code::InvalidRequest, 0x01},
      {request_fault::local_protection, nak_code::RemoteOperationalError, 0x04},
      {request_fault::local_access, nak_code::RemoteOperationalError, 0x11},
      {request_fault::local_operation, nak_code::RemoteOperationalError, 0x02},
      {request_fault::invalidation, nak_code::RemoteAccessError, 0x11},
      {request_fault::remote_operation, nak_code::RemoteOperationalError, 0x05},
  };
  for (const expected& each : cases) {
    EXPECT_EQ(refusal_of(each.fault).nak, each.nak);
    EXPECT_EQ(static_cast<std::uint8_t>(refusal_of(each.fault).syndrome), each.syndrome);
  }
}

// UC: what continues a message, what begins one, what is neither.
TEST(responder_core, an_unreliable_message_goes_on_only_with_the_next_psn) {
  qpc_common common = allowing_all();
  common.service = qp_service::Uc;
  qpc_responder line;
  line.in_message = 1;
  line.cur_verb = bth_verb::Send;
  line.cur_bytes = 256;
  line.next_rcv_psn = 50;
  const auto at = [&](bth_opcode opcode, std::uint32_t payload, std::uint32_t psn) {
    rx_packet packet = packet_of(opcode, payload, payload);
    packet.psn = psn;
    return step_request(packet, common, line);
  };
  request_step step = at(bth_opcode::UcSendLast, 8, 50);
  EXPECT_FALSE(step.ignored || step.abandons);
  EXPECT_EQ(step.next.next_rcv_psn, 51U);
  EXPECT_EQ(step.next.in_message, 0);
  step = at(bth_opcode::UcSendLast, 8, 51);  // one is missing
  EXPECT_TRUE(step.ignored && step.abandons);
  EXPECT_EQ(step.next.in_message, 0);
  step = at(bth_opcode::UcWriteLast, 8, 50);  // another verb
  EXPECT_TRUE(step.ignored && step.abandons);
  step = at(bth_opcode::UcSendOnly, 8, 0xffffff);  // any PSN begins
  EXPECT_FALSE(step.ignored);
  EXPECT_TRUE(step.abandons);
  EXPECT_EQ(step.next.next_rcv_psn, 0U);
  line.in_message = 0;
  step = at(bth_opcode::UcSendMiddle, 256, 50);  // the rest of a message that was given up
  EXPECT_TRUE(step.ignored);
  EXPECT_FALSE(step.abandons);
  EXPECT_FALSE(at(bth_opcode::UcSendOnly, 8, 50).abandons);
}

// mlx5: the XOR of all bytes of a signed WQE is 0xff.
TEST(responder_core, a_signature_covers_every_byte) {
  std::array<std::uint8_t, 32> wqe{};
  EXPECT_FALSE(signature_holds(wqe.data(), wqe.size()));
  wqe[4] = 0xff;
  EXPECT_TRUE(signature_holds(wqe.data(), wqe.size()));
  wqe[31] = 0x01;
  EXPECT_FALSE(signature_holds(wqe.data(), wqe.size()));
  wqe[4] = 0xfe;
  EXPECT_TRUE(signature_holds(wqe.data(), wqe.size()));
}

TEST(responder_core, scattering_ends_with_the_wqe_or_the_invalid_key) {
  std::array<std::uint8_t, 48> wqe{};
  const auto put = [&](unsigned at, std::uint32_t bytes, std::uint32_t lkey,
                       std::uint64_t address) {
    data_seg segment;
    segment.byte_count = bytes;
    segment.lkey = lkey;
    segment.address = address;
    segment.pack(wqe.data() + at * 16);
  };
  put(0, 100, 0x700, 0x1000);
  put(1, 0, 0x700, 0x2000);  // an empty segment is skipped
  put(2, 50, 0x900, 0x3000);
  scatter_list list;
  ASSERT_TRUE(scatter(wqe.data(), wqe.size(), 90, 60, list));
  ASSERT_EQ(list.count, 2U);
  EXPECT_EQ(list.piece[0].address, 0x105aU);
  EXPECT_EQ(list.piece[0].length, 10U);
  EXPECT_EQ(list.piece[0].key, 0x700U);
  EXPECT_EQ(list.piece[1].address, 0x3000U);
  EXPECT_EQ(list.piece[1].length, 50U);
  EXPECT_FALSE(scatter(wqe.data(), wqe.size(), 90, 61, list));
  put(1, 0, InvalidLkey, 0);
  EXPECT_FALSE(scatter(wqe.data(), wqe.size(), 90, 60, list));
  EXPECT_TRUE(scatter(wqe.data(), wqe.size(), 90, 10, list));
}

// Saved requests
// ----------------------------------------------------------------------------------------

saved_request read_of(std::uint32_t psn, std::uint32_t psns, std::uint32_t length) {
  return {true, bth_verb::ReadRequest, psn, psns, 0x1000, 0x700, length, false, 0};
}

TEST(responder_core, saved_requests_are_a_ring_of_what_was_agreed) {
  saved_requests saved;
  saved.start(1);
  saved.save(read_of(10, 1, 8));
  EXPECT_FALSE(saved.all_busy());
  saved.save(read_of(11, 1, 8));
  EXPECT_TRUE(saved.all_busy());
  saved.answered();
  EXPECT_FALSE(saved.all_busy());
  EXPECT_TRUE(saved.covers_read(10, 0x1000, 0x700, 8, 256));  // kept until it is recycled
  saved.save(read_of(12, 1, 8));
  EXPECT_FALSE(saved.covers_read(10, 0x1000, 0x700, 8, 256));
  EXPECT_TRUE(saved.covers_read(11, 0x1000, 0x700, 8, 256));
  EXPECT_TRUE(saved.covers_read(12, 0x1000, 0x700, 8, 256));
}

TEST(responder_core, a_saved_read_covers_what_lies_inside_it_at_the_same_psn) {
  saved_requests saved;
  saved.start(0);
  saved.save(read_of(0xfffffe, 4, 1000));
  const auto covers = [&](std::uint32_t psn, std::uint64_t address, std::uint32_t length) {
    return saved.covers_read(psn, address, 0x700, length, 256);
  };
  EXPECT_TRUE(covers(0xfffffe, 0x1000, 1000));
  EXPECT_TRUE(covers(0xfffffe, 0x1000, 256));
  EXPECT_FALSE(covers(0xfffffe, 0x1000, 1001));
  EXPECT_TRUE(covers(0, 0x1200, 488));
  EXPECT_FALSE(covers(0, 0x1200, 489));
  EXPECT_FALSE(covers(0, 0x1100, 8));  // the second packet's address
  EXPECT_TRUE(covers(1, 0x1300, 232));
  EXPECT_FALSE(covers(2, 0x1400, 0));  // behind it
  EXPECT_FALSE(covers(0xfffffd, 0xf00, 8));
  EXPECT_FALSE(saved.covers_read(0, 0x1200, 0x701, 8, 256));
}

TEST(responder_core, a_saved_atomic_has_a_result_once_it_was_executed) {
  saved_requests saved;
  saved.start(1);
  saved.save({true, bth_verb::FetchAdd, 20, 1, 0x1000, 0x700, 8, false, 0});
  EXPECT_FALSE(saved.result_of(20, bth_verb::FetchAdd, 0x1000));
  saved.answered(0x55);
  EXPECT_EQ(saved.result_of(20, bth_verb::FetchAdd, 0x1000), 0x55U);
  EXPECT_FALSE(saved.result_of(21, bth_verb::FetchAdd, 0x1000));
  EXPECT_FALSE(saved.result_of(20, bth_verb::CompareSwap, 0x1000));
  EXPECT_FALSE(saved.result_of(20, bth_verb::FetchAdd, 0x1008));
  saved.start(1);
  EXPECT_FALSE(saved.result_of(20, bth_verb::FetchAdd, 0x1000));
}

// Receive queues
// ----------------------------------------------------------------------------------------

TEST(responder_core, receive_batches_stop_at_the_ring_end_and_are_given_back_in_order) {
  buffer_pool pool;
  qpc_common common;
  common.log_rq_size = 3;
  common.log_rq_stride = 0;
  common.rq_base_addr = 0x1000;
  receive_queue queue;
  queue.configure(common);
  queue.start(0xfffe, 0xfffe);
  EXPECT_FALSE(queue.has_credit());
  queue.set_producer(4);  // six WQEs: slots 6, 7, 0..3
  ASSERT_TRUE(queue.next_read());
  EXPECT_EQ(queue.next_read()->address, 0x1000U + 6 * 16);
  EXPECT_EQ(queue.next_read()->count, 2);
  queue.begin_read(*queue.next_read(), pool.take());
  EXPECT_FALSE(queue.next_read());  // one at a time
  queue.end_read(dma_status::ok);
  ASSERT_TRUE(queue.next_read());
  EXPECT_EQ(queue.next_read()->address, 0x1000U);
  EXPECT_EQ(queue.next_read()->count, 4);
  queue.begin_read(*queue.next_read(), pool.take());
  queue.end_read(dma_status::ok);
  EXPECT_EQ(queue.consume(true), 0xfffe);
  EXPECT_EQ(queue.consume(true), 0xffff);
  EXPECT_EQ(queue.consume(true), 0);
  queue.finished(0xfffe);
  EXPECT_EQ(pool.in_use(), 2U);
  queue.finished(0xffff);
  EXPECT_EQ(pool.in_use(), 1U);
  EXPECT_EQ(queue.find(0xffff), nullptr);
  EXPECT_NE(queue.find(0), nullptr);
}

class shared_queue : public testing::Test {
 protected:
  shared_queue() {
    srq_line line;
    line.log_size = 4;
    line.log_stride = 1;  // 32 bytes
    line.base_addr = 0x8000;
    queue.start(line);
  }

  /// Reads the next WQE, which names `next`.
  void read(std::uint16_t next, dma_status status = dma_status::ok) {
    buffer_ref bytes = pool.take();
    srq_next_seg link;
    link.next_wqe_index = next;
    link.pack(bytes.data());
    queue.begin_read(std::move(bytes));
    queue.end_read(status);
  }

  buffer_pool pool;
  shared_wqe_queue queue;
};

TEST_F(shared_queue, follows_the_links) {
  EXPECT_FALSE(queue.has_credit());
  EXPECT_FALSE(queue.wants_read());
  queue.set_producer(3);
  EXPECT_EQ(queue.next_address(), 0x8000U);
  read(9);
  EXPECT_EQ(queue.next_address(), 0x8000U + 9 * 32);
  read(4);
  read(1);
  EXPECT_FALSE(queue.wants_read());  // the next one was not posted
  EXPECT_EQ(queue.find(0)->index, 0);
  EXPECT_EQ(queue.find(1)->index, 9);
  EXPECT_EQ(queue.find(2)->index, 4);
  EXPECT_EQ(queue.find(3), nullptr);
  EXPECT_EQ(queue.consume(), 0);
  EXPECT_EQ(queue.available(), 2);
}

TEST_F(shared_queue, keeps_a_wqe_until_its_message_is_done_in_any_order) {
  queue.set_producer(3);
  read(1);
  read(2);
  read(3);
  for (std::uint16_t i = 0; i < 3; ++i) {
    EXPECT_EQ(queue.consume(), i);
  }
  queue.finished(1);
  EXPECT_EQ(pool.in_use(), 3U);
  queue.finished(0);
  EXPECT_EQ(pool.in_use(), 1U);
  EXPECT_EQ(queue.find(2)->index, 2);
  queue.finished(2);
  EXPECT_EQ(pool.in_use(), 0U);
}

TEST_F(shared_queue, forgets_a_wqe_whose_message_ended_before_it_was_read) {
  queue.set_producer(2);
  EXPECT_EQ(queue.consume(), 0);
  EXPECT_EQ(queue.consume(), 1);
  queue.finished(1);
  read(1);
  read(2);
  EXPECT_EQ(pool.in_use(), 2U);
  queue.finished(0);
  EXPECT_EQ(pool.in_use(), 0U);
}

TEST_F(shared_queue, reads_only_so_far_ahead) {
  queue.set_producer(16);
  for (unsigned i = 0; i < shared_wqe_queue::Ahead; ++i) {
    ASSERT_TRUE(queue.wants_read()) << i;
    read(static_cast<std::uint16_t>(i + 1));
  }
  EXPECT_FALSE(queue.wants_read());
  queue.consume();
  EXPECT_TRUE(queue.wants_read());
}

TEST_F(shared_queue, ends_with_a_link_that_leads_nowhere) {
  queue.set_producer(3);
  read(16);  // sixteen WQEs: 0 to 15
  EXPECT_TRUE(queue.broken());
  EXPECT_FALSE(queue.has_credit());
  EXPECT_FALSE(queue.wants_read());
  EXPECT_EQ(queue.find(0)->status, dma_status::ok);
  ASSERT_NE(queue.find(1), nullptr);  // was perhaps taken before
  EXPECT_TRUE(queue.find(1)->arrived);
  EXPECT_NE(queue.find(1)->status, dma_status::ok);
}

TEST_F(shared_queue, ends_with_a_read_that_fails) {
  queue.set_producer(3);
  read(1, dma_status::poisoned);
  EXPECT_TRUE(queue.broken());
  EXPECT_EQ(queue.find(0)->status, dma_status::poisoned);
}

}  // namespace
}  // namespace carillon
