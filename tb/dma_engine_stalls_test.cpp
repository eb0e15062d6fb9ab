// dma_engine: whose turn it is, what each class of requests waits for, and that every wait has a
// name.
#include <gtest/gtest.h>
#include <vector>

#include "common/dma_bench.h"
#include "dma_engine.h"

namespace carillon {
namespace {

using bench::dma_bench;
using bench::dma_engine_bench;
using bench::waited_for;

using ranges_t = std::vector<byte_range>;

// Turns, credits, reasons -------------------------------------------------------------------------

TEST_P(dma_engine_bench, reads_and_writes_take_turns) {
  dma_bench& dma = make(slow_link());
  dma.answer_all(20);
  for (std::uint64_t i = 0; i < 4; ++i) {
    dma.post(10, dma.write(0x1000 * i, 64));
    dma.payload.at(10, dma.read(0x1000 * i, 64));
  }
  dma.bench.run(5000);
  EXPECT_EQ(dma.kinds(), "WRWRWRWR");
  dma.finish();
}

TEST_P(dma_engine_bench, register_answers_go_first_and_say_what_was_read) {
  dma_bench& dma = make(slow_link());
  mmio_answer good;
  good.function = 3;
  good.requester = 0x10;
  good.tag = 0x2a;
  good.length = 4;
  good.lower_address = 0x14;
  good.data = {1, 2, 3, 4};
  mmio_answer bad = good;
  bad.tag = 0x2b;
  bad.status = 1;  // unsupported request
  for (std::uint64_t i = 0; i < 3; ++i) {
    dma.post(10, dma.write(0x1000 * i, 64));
  }
  dma.registers.at(12, good);
  dma.registers.at(13, bad);
  dma.bench.run(3000);
  EXPECT_EQ(dma.kinds(), "WCCWW");
  const auto& first = dma.far.seen.at(1);
  EXPECT_EQ(first.header.completer, 0x103U);
  EXPECT_EQ(first.header.requester, 0x10U);
  EXPECT_EQ(first.header.tag, 0x2aU);
  EXPECT_EQ(first.header.status, completion_status::Success);
  EXPECT_EQ(first.header.byte_count, 4U);
  EXPECT_EQ(first.header.lower_address, 0x14U);
  EXPECT_EQ(first.data, (std::vector<std::uint8_t>{1, 2, 3, 4}));
  const auto& second = dma.far.seen.at(2);
  EXPECT_EQ(second.header.tag, 0x2bU);
  EXPECT_EQ(second.header.status, completion_status::UnsupportedRequest);
  EXPECT_TRUE(second.data.empty());
  dma.finish();
}

TEST_P(dma_engine_bench, without_posted_credits_reads_go_on) {
  dma_bench& dma = make({}, {flow_credits{1, 4}, flow_credits{}, flow_credits{}});
  dma.answer_all(20);
  dma.post(10, dma.write(0x1000, 64));  // uses all
  dma.post(10, dma.write(0x2000, 64));
  for (std::uint64_t i = 0; i < 5; ++i) {
    dma.payload.at(20, dma.read(0x1000 * i, 64));
  }
  dma.steps.at(500'000, [&] { dma.far.port.consumed(tlp_class::posted, 64); });
  dma.steps.at(600'000, [&] { dma.far.port.consumed(tlp_class::posted, 64); });
  dma.bench.run(1000);
  EXPECT_EQ(dma.kinds(), "WRRRRRW");
  // Home in 512 ns, exactly on an edge: usable in the cycle after.
  EXPECT_EQ(dma.far.seen.back().told, 513000U);
  // In cycle 21 it was a read's turn; in all others the write looked for credits.
  EXPECT_EQ(waited_for(dma.bench.context.trace, dma.far.seen.back().trace, "arbiter"), 1000U);
  EXPECT_EQ(waited_for(dma.bench.context.trace, dma.far.seen.back().trace, "pcie_credit"),
            (513U - 12U - 1U) * 1000U);
  EXPECT_EQ(dma.bench.count(counter::DmaCreditWaits), 1U);
  dma.finish();
}

TEST_P(dma_engine_bench, without_non_posted_credits_writes_go_on) {
  dma_bench& dma = make({}, {flow_credits{}, flow_credits{1, 0}, flow_credits{}});
  dma.answer_all(20);
  dma.payload.at(10, dma.read(0x1000, 64));
  dma.payload.at(10, dma.read(0x2000, 64));
  for (std::uint64_t i = 0; i < 5; ++i) {
    dma.post(20, dma.write(0x1000 * i, 64));
  }
  dma.steps.at(500'500, [&] { dma.far.port.consumed(tlp_class::non_posted, 0); });
  dma.bench.run(1000);
  EXPECT_EQ(dma.kinds(), "RWWWWWR");
  EXPECT_EQ(dma.far.seen.back().told, 513000U);
  // The writes of 84 bytes take 1.47 ns each: in 21 the first of them had the turn, in 24 the link
  // was still busy.
  EXPECT_EQ(waited_for(dma.bench.context.trace, dma.filled.items.at(1).item.trace, "link"), 2000U);
  EXPECT_EQ(waited_for(dma.bench.context.trace, dma.filled.items.at(1).item.trace, "pcie_credit"),
            (513U - 12U - 2U) * 1000U);
  dma.finish();
}

TEST_P(dma_engine_bench, without_completion_credits_only_answers_wait) {
  dma_bench& dma = make({}, {flow_credits{}, flow_credits{}, flow_credits{1, 1}});
  mmio_answer answer;
  answer.length = 8;
  dma.registers.at(10, answer);
  dma.registers.at(11, answer);
  dma.post(20, dma.write(0x1000, 64));
  dma.steps.at(500'500, [&] { dma.far.port.consumed(tlp_class::completion, 8); });
  dma.bench.run(1000);
  EXPECT_EQ(dma.kinds(), "CWC");
  EXPECT_EQ(waited_for(dma.bench.context.trace, dma.far.seen.back().trace, "pcie_credit"),
            (513U - 12U) * 1000U);
  dma.finish();
}

TEST_P(dma_engine_bench, a_write_needs_exactly_the_credits_of_its_dwords) {
  // 32 units are 512 bytes: a whole MPS fits, and so do 509 bytes behind 3 that are not enabled.
  dma_bench& dma = make({}, {flow_credits{2, 32}, flow_credits{}, flow_credits{}});
  dma.post(10, dma.write(0x1000, 512));
  dma.post(10, dma.write(0x2003, 509));
  dma.steps.at(200'000, [&] { dma.far.port.consumed(tlp_class::posted, 512); });
  dma.bench.run(1000);
  EXPECT_EQ(dma.ranges(tlp_kind::memory_write), (ranges_t{{0x1000, 512}, {0x2003, 509}}));
  dma.finish();
}

TEST_P(dma_engine_bench, every_wait_has_a_name) {
  // On the slow link a 64-byte write below 4 GiB takes 12 + 64 + 8 bytes of 4 ns: 336 cycles; a
  // read 20 bytes: 80.
  parameters params = slow_link();
  params.pcie.mrrs = 128;
  dma_bench& dma = make(params);
  dma.answer_all(20);
  dma.post(10, dma.write(0x1000, 64));        // sent in 11, the link is busy until 347
  dma.cqes.at(11, dma.write(0x2000, 64));     // visible in 12: link
  dma.post(12, dma.write(0x3000, 64));        // visible in 13, behind the completion entry: order
  dma.payload.at(13, dma.read(0x4000, 256));  // two requests, visible in 14: its turn in 347
  dma.fetch.at(14, dma.read(0x5000, 64));     // visible in 15: behind it
  dma.bench.run(10000);
  const tracer& trace = dma.bench.context.trace;
  EXPECT_EQ(dma.kinds(), "WRWRWR");
  const auto waits = [&](trace_ref ref, const char* reason) {
    return waited_for(trace, ref, reason);
  };
  // R in 347 to 427, W to 763, R to 843, W to 1179, R.
  const trace_ref cqe = dma.far.seen[2].trace;
  EXPECT_EQ(waits(cqe, "link"), (427U - 12U) * 1000U);
  const trace_ref second = dma.far.seen[4].trace;
  EXPECT_EQ(waits(second, "order"), (427U - 13U) * 1000U);
  EXPECT_EQ(waits(second, "link"), (843U - 427U) * 1000U);
  const trace_ref fetch = dma.fetched.items.at(0).item.trace;
  EXPECT_EQ(waits(fetch, "order"), (347U - 15U) * 1000U);
  EXPECT_EQ(waits(fetch, "splitting"), (763U - 347U) * 1000U);
  EXPECT_EQ(waits(fetch, "link"), (1179U - 763U) * 1000U);
  // The second request of the split read waits for the link on its own account.
  EXPECT_EQ(waits(dma.far.seen[3].trace, "link"), (347U - 14U + 763U - 347U) * 1000U);
  dma.finish();
}

TEST_P(dma_engine_bench, on_a_fast_link_two_that_want_the_same_cycle_take_turns) {
  // A read of 24 bytes takes 0.42 ns: the link is free again in the next cycle, one TLP a cycle is
  // the engine's own limit.
  dma_bench& dma = make();
  dma.answer_all(100);
  dma.payload.at(10, dma.read(0x1000, 64));
  dma.fetch.at(10, dma.read(0x2000, 64));
  dma.post(10, dma.write(0x3000, 4));
  dma.bench.run(500);
  EXPECT_EQ(dma.kinds(), "WRR");
  EXPECT_EQ(dma.far.seen[0].told, 11000U);
  EXPECT_EQ(dma.far.seen[1].told, 12000U);
  EXPECT_EQ(dma.far.seen[2].told, 13000U);
  // Of the two reads the client listed first was first.
  EXPECT_EQ(waited_for(dma.bench.context.trace, dma.fetched.items.at(0).item.trace, "arbiter"),
            1000U);
  EXPECT_EQ(waited_for(dma.bench.context.trace, dma.filled.items.at(0).item.trace, "order"), 1000U);
  EXPECT_EQ(waited_for(dma.bench.context.trace, dma.filled.items.at(0).item.trace, "arbiter"),
            1000U);
  dma.finish();
}

INSTANTIATE_TEST_SUITE_P(shuffle, dma_engine_bench, testing::Values(0, 77));

}  // namespace
}  // namespace carillon
