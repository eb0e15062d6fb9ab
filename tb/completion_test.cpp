// completion: CQEs in mlx5's format, in order, with the owner bit of their turn of the ring.
#include "completion.h"

#include <algorithm>
#include <gtest/gtest.h>

#include "common/completion_bench.h"

namespace carillon {
namespace {

using bench::completion_bench;

TEST_P(completion_bench, a_cqe_is_written_ten_cycles_after_the_request) {
  requester.at(10, item(7));  // taken in 11
  bench.run(100);
  ASSERT_EQ(dma.written.size(), 1U);
  const auto& seen = dma.written[0];
  EXPECT_EQ(seen.visible, 21U);
  EXPECT_EQ(seen.write.address, Base);
  EXPECT_EQ(seen.write.function, 4);
  EXPECT_EQ(seen.write.length, 64U);
  EXPECT_EQ(seen.write.point, milestone::cqe_written);
  EXPECT_EQ(bench.context.trace.end_of(seen.write.trace), bench.context.clock.time_of(seen.cycle));
  // Offsets of the format: byte count 0x2c, opcode and QPN 0x38, index 0x3c, opcode and owner 0x3f.
  EXPECT_EQ(dma.at(Base + 0x2f), 64);
  EXPECT_EQ(dma.at(Base + 0x38), 0x08);
  EXPECT_EQ(dma.at(Base + 0x3b), 0x31);
  EXPECT_EQ(dma.at(Base + 0x3d), 7);
  EXPECT_EQ(dma.at(Base + 0x3f), 0x00);
  EXPECT_EQ(bench.count(counter::Cqes), 1U);
  bench.context.check_drained();
}

TEST_P(completion_bench, an_error_has_its_own_layout) {
  cqe_item failed = item(0x1234);
  failed.cqe_opcode = static_cast<std::uint8_t>(cqe_opcode::RequesterError);
  failed.syndrome = static_cast<std::uint8_t>(cqe_syndrome::LocalProtection);
  failed.vendor_syndrome = 0x51;
  requester.at(10, failed);
  bench.run(100);
  EXPECT_EQ(dma.at(Base + 0x36), 0x51);
  EXPECT_EQ(dma.at(Base + 0x37), 0x04);
  EXPECT_EQ(dma.at(Base + 0x3c), 0x12);
  EXPECT_EQ(dma.at(Base + 0x3d), 0x34);
  EXPECT_EQ(dma.at(Base + 0x3f), 0xd0);
  EXPECT_EQ(bench.count(counter::CqeErrors), 1U);
  bench.context.check_drained();
}

TEST_P(completion_bench, a_receive_completion_carries_immediate_and_solicited) {
  cqe_item received = item(3);
  received.cqe_opcode = static_cast<std::uint8_t>(cqe_opcode::ResponderSendImmediate);
  received.wqe_opcode = 0;
  received.imm = 0xdeadbeef;
  received.solicited = true;
  received.remote_qpn = 0x77;
  responder.at(10, received);
  bench.run(100);
  EXPECT_EQ(dma.at(Base + 0x1b), 0x77);
  EXPECT_EQ(dma.at(Base + 0x24), 0xde);
  EXPECT_EQ(dma.at(Base + 0x27), 0xef);
  EXPECT_EQ(dma.at(Base + 0x3f), 0x32);  // opcode 3, solicited
  bench.context.check_drained();
}

TEST_P(completion_bench, of_two_in_one_cycle_the_responders_goes_first) {
  requester.at(10, item(1));
  responder.at(10, item(2));
  bench.run(100);
  ASSERT_EQ(dma.written.size(), 2U);
  EXPECT_EQ(dma.at(Base + 0x3d), 2);
  EXPECT_EQ(dma.at(Base + 64 + 0x3d), 1);
  EXPECT_EQ(dma.written[1].visible, 22U);
  EXPECT_EQ(bench::waited_for(bench.context.trace, dma.written[1].write.trace, "arbiter"), 1000U);
  bench.context.check_drained();
}

TEST_P(completion_bench, the_owner_bit_turns_with_the_ring) {
  ram.set(context_kind::cqc, Cqn, cq_line(2));
  // Four entries; the reader keeps up: the record is read whenever the ring looks full.
  consumed(4);
  for (std::uint16_t i = 0; i < 7; ++i) {
    requester.at(10 + 300 * i, item(i));
  }
  bench.run(4000);
  ASSERT_EQ(dma.written.size(), 7U);
  for (unsigned i = 0; i < 7; ++i) {
    EXPECT_EQ(dma.written[i].write.address, Base + 64 * (i % 4));
    EXPECT_EQ(dma.written[i].write.from.data()[0x3f] & 1, i < 4 ? 0 : 1) << i;
  }
  EXPECT_EQ(dma.read.size(), 1U);  // after the fourth, in time for the fifth
  EXPECT_EQ(dma.written[4].visible, 10U + 300 * 4 + 11);
  bench.context.check_drained();
}

TEST_P(completion_bench, a_full_cq_is_looked_at_once_more_and_then_loses_cqes) {
  ram.set(context_kind::cqc, Cqn, cq_line(1));
  for (std::uint16_t i = 0; i < 4; ++i) {
    requester.at(10, item(i));
  }
  bench.run(2000);
  EXPECT_EQ(dma.written.size(), 2U);
  EXPECT_EQ(dma.read.size(), 2U);
  EXPECT_EQ(bench.count(counter::CqOverruns), 1U);
  EXPECT_EQ(bench.count(counter::CqesDropped), 2U);
  bench.context.check_drained();
}

TEST_P(completion_bench, a_cqe_waits_for_a_record_that_makes_room) {
  ram.set(context_kind::cqc, Cqn, cq_line(1));
  requester.at(10, item(0));
  requester.at(11, item(1));
  requester.at(200, item(2));
  bench.run(190);
  EXPECT_EQ(dma.read.size(), 1U);  // read ahead: it found nothing consumed
  consumed(2);
  bench.run(2000);
  ASSERT_EQ(dma.written.size(), 3U);
  EXPECT_EQ(dma.read.size(), 2U);
  // Line in 206, record asked then and taken by the DMA engine in 207, answered in 307: visible in
  // 312.
  EXPECT_EQ(dma.written[2].visible, 312U);
  EXPECT_EQ(bench.count(counter::CqOverruns), 0U);
  bench.context.check_drained();
}

// dma_engine may answer all of them within a few cycles, when a function is reset.
TEST_P(completion_bench, no_more_records_are_asked_for_than_there_is_room_for_answers) {
  constexpr unsigned Cqs = 20;
  const unsigned room = ports.records.depth();
  ASSERT_LT(room, Cqs);
  for (std::uint16_t i = 0; i < Cqs; ++i) {
    // One entry each: full with the first CQE, and so its record is read in advance.
    ram.set(context_kind::cqc, 100U + i, cq_line(0));
    requester.at(20 + i, item(0, 100U + i));
  }
  std::size_t most = 0;
  for (cycle_t t = 0; t < 600; ++t) {
    bench.run(1);
    const std::size_t asked = dma.read.size() + ports.record_reads.size();
    const auto answered = std::count_if(dma.read.begin(), dma.read.end(), [t](const auto& each) {
      return each.first + DmaDelay <= t + 1;
    });
    most = std::max(most, asked - static_cast<std::size_t>(answered));
  }
  EXPECT_LE(most, room);
  EXPECT_EQ(dma.read.size(), Cqs);
  bench.context.check_drained();
}

TEST_P(completion_bench, ignore_overrun_writes_on) {
  cqc_line line = cq_line(1);
  line.oi = 1;
  ram.set(context_kind::cqc, Cqn, line);
  for (std::uint16_t i = 0; i < 5; ++i) {
    requester.at(10, item(i));
  }
  bench.run(500);
  EXPECT_EQ(dma.written.size(), 5U);
  EXPECT_TRUE(dma.read.empty());
  bench.context.check_drained();
}

TEST_P(completion_bench, a_cq_that_does_not_exist_loses_its_cqe_and_a_new_one_starts_again) {
  requester.at(10, item(0, 0x55));
  requester.at(20, item(1));
  commands.at(50, {{}, Cqn});
  requester.at(60, item(2));
  bench.run(200);
  EXPECT_EQ(bench.count(counter::CqesDropped), 1U);
  ASSERT_EQ(dma.written.size(), 2U);
  EXPECT_EQ(dma.written[1].write.address, Base);
  bench.context.check_drained();
}

INSTANTIATE_TEST_SUITE_P(shuffle, completion_bench, testing::Values(0, 77));

}  // namespace
}  // namespace carillon
