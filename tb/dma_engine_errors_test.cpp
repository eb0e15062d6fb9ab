// dma_engine: reads that fail, and completions that do not fit what was asked.
#include <algorithm>
#include <gtest/gtest.h>
#include <utility>
#include <vector>

#include "common/dma_bench.h"
#include "dma_engine.h"

namespace carillon {
namespace {

using bench::byte_at;
using bench::dma_bench;
using bench::dma_engine_bench;

// Read errors -------------------------------------------------------------------------------------

TEST_P(dma_engine_bench, refused_aborted_and_poisoned_reads_say_so_and_free_their_tags) {
  parameters params;
  params.pcie.tags = 1;
  dma_bench& dma = make(params);
  dma.fail_three_ways([&dma](cycle_t at, const tlp_header& header) {
    dma.complete.answer(at, header.tag, touched(header).address, 64);
  });
  for (std::uint64_t i = 0; i < 4; ++i) {
    dma.payload.at(10, dma.read(0x1000, 64, i));
  }
  dma.bench.run(500);
  ASSERT_EQ(dma.filled.items.size(), 4U);
  const dma_status expected[] = {dma_status::unsupported_request, dma_status::completer_abort,
                                 dma_status::poisoned, dma_status::ok};
  for (std::uint64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(dma.filled.items[i].item.cookie, i);
    EXPECT_EQ(dma.filled.items[i].item.status, expected[i]) << i;
  }
  EXPECT_EQ(dma.bench.count(counter::DmaErrors), 3U);
  dma.finish();
}

TEST_P(dma_engine_bench, a_read_of_which_one_request_fails_is_answered_when_all_are) {
  parameters params;
  params.pcie.mrrs = 128;
  dma_bench& dma = make(params);
  dma.payload.at(10, dma.read(0x1000, 256, 9));
  dma.complete.refuse(100, 0, completion_status::UnsupportedRequest, 128);
  dma.complete.answer(300, 1, 0x1080, 128);
  dma.bench.run(500);
  ASSERT_EQ(dma.filled.items.size(), 1U);
  EXPECT_EQ(dma.filled.items[0].visible, 304U);  // beats in 301 and 302
  EXPECT_EQ(dma.filled.items[0].item.status, dma_status::unsupported_request);
  EXPECT_EQ(dma.bench.count(counter::DmaErrors), 1U);
  dma.finish();
}

TEST_P(dma_engine_bench, a_request_may_fail_after_a_part_of_its_data) {
  parameters params;
  params.pcie.tags = 1;
  dma_bench& dma = make(params);
  dma.complete.cut = [](std::uint64_t, std::uint32_t remaining) {
    return std::min(remaining, 64U);
  };
  dma.complete.only = 1;  // 64 of 128 bytes
  dma.payload.at(10, dma.read(0x1000, 128, 9));
  dma.payload.at(10, dma.read(0x3000, 64, 10));
  dma.complete.answer(100, 0, 0x1000, 128);
  dma.complete.refuse(200, 0, completion_status::CompleterAbort, 64);
  dma.complete.answer(300, 0, 0x3000, 64);
  dma.bench.run(500);
  ASSERT_EQ(dma.filled.items.size(), 2U);
  EXPECT_EQ(dma.filled.items[0].item.status, dma_status::completer_abort);
  EXPECT_EQ(dma.filled.items[0].visible, 203U);
  EXPECT_EQ(dma.filled.items[1].item.status, dma_status::ok);
  dma.finish();
}

TEST_P(dma_engine_bench, an_unexpected_completion_is_counted_and_forgotten) {
  dma_bench& dma = make();
  dma.complete.answer(5, 3, 0x1000, 64);      // nothing was asked
  dma.complete.answer(6, 0x3ff, 0x1000, 64);  // no such tag
  dma.payload.at(50, dma.read(0x1000, 64));
  dma.complete.answer(100, 0, 0x1000, 64);
  dma.complete.answer(120, 0, 0x1000, 64);  // again
  dma.bench.run(500);
  EXPECT_EQ(dma.bench.count(counter::PcieRxUnexpectedCompletions), 3U);
  ASSERT_EQ(dma.filled.items.size(), 1U);
  EXPECT_EQ(dma.filled.items[0].item.status, dma_status::ok);
  dma.finish();
}

TEST_P(dma_engine_bench, the_first_error_of_a_read_counts) {
  parameters params;
  params.pcie.mrrs = 128;
  dma_bench& dma = make(params);
  dma.payload.at(10, dma.read(0x1000, 384, 9));
  dma.complete.poison(100, 2, 0x1100, 128);
  dma.complete.refuse(200, 0, completion_status::CompleterAbort, 128);
  dma.complete.refuse(300, 1, completion_status::UnsupportedRequest, 128);
  dma.bench.run(500);
  ASSERT_EQ(dma.filled.items.size(), 1U);
  EXPECT_EQ(dma.filled.items[0].item.status, dma_status::poisoned);
  EXPECT_EQ(dma.filled.items[0].visible, 303U);
  EXPECT_EQ(dma.bench.count(counter::DmaErrors), 1U);
  dma.finish();
}

TEST_P(dma_engine_bench, poisoned_data_is_not_used) {
  dma_bench& dma = make();
  dma_read item = dma.read(0x1000, 64);
  const buffer_ref into = item.into;
  dma.payload.at(10, std::move(item));
  dma.complete.poison(100, 0, 0x1000, 64);
  dma.bench.run(500);
  ASSERT_EQ(dma.filled.items.size(), 1U);
  for (std::uint32_t i = 0; i < 64; ++i) {
    ASSERT_EQ(into.data()[16 + i], 0) << i;
  }
  dma.finish();
}

TEST_P(dma_engine_bench, a_retry_status_is_no_answer_to_a_read_of_memory) {
  // CRS belongs to configuration requests; for others it is as good as "unsupported".
  dma_bench& dma = make();
  dma.payload.at(10, dma.read(0x1000, 64));
  dma.complete.refuse(100, 0, completion_status::ConfigRetry, 64);
  dma.bench.run(500);
  ASSERT_EQ(dma.filled.items.size(), 1U);
  EXPECT_EQ(dma.filled.items[0].item.status, dma_status::unsupported_request);
  dma.finish();
}

// Completions that name an outstanding tag and do not fit its read: PCIe lets the requester treat
// them as unexpected.

TEST_P(dma_engine_bench,
       a_completion_that_does_not_fit_its_read_is_unexpected_and_changes_nothing) {
  dma_bench& dma = make();
  dma_read item = dma.read(0x1000, 128, 5);
  const buffer_ref into = item.into;
  dma.payload.at(10, std::move(item));
  dma.complete.answer(100, 0, 0x1000, 64);                       // says 64 bytes are left
  dma.complete.answer(120, 0, 0x1000, 192);                      // more than was asked for
  dma.complete.answer(140, 0, 0x1040, 128);                      // not where the read begins
  dma.complete.refuse(160, 0, completion_status::Success, 128);  // without data
  dma.complete.overflow(180, 0, 0x1000, 128);  // one dword more than its byte count
  dma.complete.answer(300, 0, 0x1000, 128);
  dma.bench.run(500);
  EXPECT_EQ(dma.bench.count(counter::PcieRxUnexpectedCompletions), 5U);
  ASSERT_EQ(dma.filled.items.size(), 1U);
  EXPECT_EQ(dma.filled.items[0].item.status, dma_status::ok);
  EXPECT_EQ(dma.filled.items[0].visible, 304U);
  for (std::uint32_t i = 0; i < 128; ++i) {
    ASSERT_EQ(into.data()[16 + i], byte_at(0x1000 + i)) << i;
  }
  EXPECT_EQ(into.data()[16 + 128], 0) << "nothing behind";
  dma.finish();
}

TEST_P(dma_engine_bench, a_piece_that_comes_twice_is_unexpected) {
  dma_bench& dma = make();
  dma.complete.cut = [](std::uint64_t, std::uint32_t remaining) {
    return std::min(remaining, 64U);
  };
  dma.complete.only = 1;
  dma.payload.at(10, dma.read(0x1000, 128, 5));
  dma.complete.answer(100, 0, 0x1000, 128);
  dma.complete.answer(120, 0, 0x1000, 128);  // the first half again
  dma.complete.answer(140, 0, 0x1040, 64);
  dma.bench.run(500);
  EXPECT_EQ(dma.bench.count(counter::PcieRxUnexpectedCompletions), 1U);
  ASSERT_EQ(dma.filled.items.size(), 1U);
  EXPECT_EQ(dma.filled.items[0].item.status, dma_status::ok);
  EXPECT_EQ(dma.filled.items[0].visible, 143U);
  dma.finish();
}

TEST_P(dma_engine_bench, a_read_that_got_only_what_does_not_fit_times_out) {
  parameters params;
  params.pcie.completion_timeout_ps = 50'000'000;
  dma_bench& dma = make(params);
  dma.payload.at(10, dma.read(0x1000, 128, 5));
  dma.complete.answer(100, 0, 0x1000, 64);
  dma.bench.run(60'000);
  ASSERT_EQ(dma.filled.items.size(), 1U);
  EXPECT_EQ(dma.filled.items[0].item.status, dma_status::timeout);
  EXPECT_EQ(dma.bench.count(counter::DmaTimeouts), 1U);
  dma.finish();
}

TEST_P(dma_engine_bench, a_part_of_a_late_answer_does_not_set_its_tag_free) {
  parameters params;
  params.pcie.completion_timeout_ps = 50'000'000;
  params.pcie.tags = 1;
  dma_bench& dma = make(params);
  dma.complete.cut = [](std::uint64_t, std::uint32_t remaining) {
    return std::min(remaining, 64U);
  };
  dma.payload.at(10, dma.read(0x1000, 128, 5));
  dma.payload.at(51'000, dma.read(0x2000, 64, 6));
  dma.complete.only = 1;
  dma.complete.answer(60'000, 0, 0x1000, 128);  // 64 of 128
  dma.complete.answer(70'000, 0, 0x1040, 64);   // the rest: the tag is free
  dma.complete.answer(70'100, 0, 0x2000, 64);
  dma.bench.run(80'000);
  EXPECT_EQ(dma.bench.count(counter::PcieRxUnexpectedCompletions), 2U);
  ASSERT_EQ(dma.far.seen.size(), 2U);
  EXPECT_EQ(dma.far.seen[1].told, 70'001'000U);
  ASSERT_EQ(dma.filled.items.size(), 2U);
  EXPECT_EQ(dma.filled.items[1].item.status, dma_status::ok);
  dma.finish();
}

INSTANTIATE_TEST_SUITE_P(shuffle, dma_engine_bench, testing::Values(0, 77));

}  // namespace
}  // namespace carillon
