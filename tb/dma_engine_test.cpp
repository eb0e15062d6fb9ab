// dma_engine: requests cut by the rules, tags and credits obeyed, completions put together in
// whatever order they come.
#include "dma_engine.h"

#include <algorithm>
#include <array>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "common/dma_bench.h"

namespace carillon {
namespace {

using bench::byte_at;
using bench::chain_of;
using bench::dma_bench;
using bench::dma_engine_bench;
using bench::waited_for;

using ranges_t = std::vector<byte_range>;

// Reads -------------------------------------------------------------------------------------------

TEST_P(dma_engine_bench,
       a_read_goes_out_when_it_is_visible_and_is_done_2_cycles_after_its_last_beat) {
  dma_bench& dma = make();
  dma.answer_all(100);
  dma_read item = dma.read(0x123000, 512, 77);
  const buffer_ref into = item.into;
  dma.payload.at(10, std::move(item));  // visible in 11
  dma.bench.run(300);
  ASSERT_EQ(dma.far.seen.size(), 1U);
  const auto& seen = dma.far.seen[0];
  EXPECT_EQ(seen.told, 11000U);
  EXPECT_EQ(seen.first, 11000U + 12000U);  // the link's delay
  EXPECT_EQ(seen.header.kind, tlp_kind::memory_read);
  EXPECT_EQ(seen.header.requester, 0x102U) << "the function on whose behalf it reads";
  EXPECT_EQ(touched(seen.header), (byte_range{0x123000, 512}));
  // Pushed in 111: 8 beats from 112 to 119.
  ASSERT_EQ(dma.filled.items.size(), 1U);
  EXPECT_EQ(dma.filled.items[0].visible, 121U);
  EXPECT_EQ(dma.filled.items[0].item.cookie, 77U);
  EXPECT_EQ(dma.filled.items[0].item.status, dma_status::ok);
  for (std::uint32_t i = 0; i < 512; ++i) {
    ASSERT_EQ(into.data()[16 + i], byte_at(0x123000 + i));
  }
  EXPECT_EQ(dma.bench.count(counter::DmaReads), 1U);
  EXPECT_EQ(dma.bench.count(counter::DmaReadBytes), 512U);
  // Its life has no hole, and is booked on the account of the client.
  const tracer& trace = dma.bench.context.trace;
  const auto chain = chain_of(trace, dma.filled.items[0].item.trace);
  ASSERT_FALSE(chain.empty());
  EXPECT_EQ(chain.back().end, 121000U);
  EXPECT_EQ(trace.name(chain.back().row), "payload_dma");
  EXPECT_EQ(trace.name(chain.back().place), "dma_engine");
  dma.finish();
}

TEST_P(dma_engine_bench, reads_are_cut_at_mrrs_and_at_4_kib) {
  parameters params;
  params.pcie.mrrs = 512;
  dma_bench& dma = make(params);
  dma.answer_all(20);
  dma.payload.at(10, dma.read(0x12f00, 2000));
  dma.payload.at(10, dma.read(0x20001, 1000));
  dma.payload.at(10, dma.read(0x30ffe, 5));
  dma.bench.run(500);
  EXPECT_EQ(dma.ranges(tlp_kind::memory_read), (ranges_t{{0x12f00, 256},
                                                         {0x13000, 512},
                                                         {0x13200, 512},
                                                         {0x13400, 512},
                                                         {0x13600, 208},
                                                         {0x20001, 511},
                                                         {0x20200, 489},
                                                         {0x30ffe, 2},
                                                         {0x31000, 3}}));
  EXPECT_EQ(dma.filled.items.size(), 3U);
  EXPECT_EQ(dma.bench.count(counter::DmaReads), 3U);
  EXPECT_EQ(dma.bench.count(counter::DmaReadBytes), 3005U);
  dma.finish();
}

TEST_P(dma_engine_bench, unaligned_pieces_land_where_they_belong) {
  parameters params;
  params.pcie.mrrs = 256;
  dma_bench& dma = make(params);
  dma.answer_all(20);
  dma.complete.cut = [](std::uint64_t address, std::uint32_t remaining) {
    return std::min<std::uint32_t>(remaining, 64 - address % 64);  // at every boundary
  };
  dma_read item = dma.read(0x40ffd, 700);
  const buffer_ref into = item.into;
  dma.payload.at(10, std::move(item));
  dma.bench.run(500);
  ASSERT_EQ(dma.filled.items.size(), 1U);
  for (std::uint32_t i = 0; i < 700; ++i) {
    ASSERT_EQ(into.data()[16 + i], byte_at(0x40ffd + i)) << i;
  }
  EXPECT_EQ(into.data()[15], 0) << "nothing in front";
  EXPECT_EQ(into.data()[716], 0) << "nothing behind";
  dma.finish();
}

TEST_P(dma_engine_bench, tags_run_out_and_come_back) {
  parameters params;
  params.pcie.tags = 4;
  dma_bench& dma = make(params);
  dma.answer_all(500);
  for (std::uint64_t i = 0; i < 10; ++i) {
    dma.payload.at(10, dma.read(0x1000 * i, 64, i));
  }
  dma.bench.run(400);
  EXPECT_EQ(dma.far.seen.size(), 4U);
  dma.bench.run(3000);
  ASSERT_EQ(dma.far.seen.size(), 10U);
  ASSERT_EQ(dma.filled.items.size(), 10U);
  // The first is answered in 512: its tag serves again in the same cycle.
  EXPECT_EQ(dma.far.seen[4].told, 512000U);
  std::map<std::uint16_t, unsigned> used;
  for (const auto& each : dma.far.seen) {
    EXPECT_LT(each.header.tag, 4U);
    ++used[each.header.tag];
  }
  EXPECT_EQ(used.size(), 4U);
  EXPECT_EQ(waited_for(dma.bench.context.trace, dma.filled.items[4].item.trace, "pcie_tag"),
            (512U - 15U) * 1000U);
  EXPECT_GE(dma.bench.count(counter::DmaTagWaits), 2U);
  dma.finish();
}

TEST_P(dma_engine_bench, completions_of_different_reads_interleave_and_split_at_any_boundary) {
  parameters params;
  params.pcie.mrrs = 1024;
  dma_bench& dma = make(params);
  random_stream random(2024, "completions");
  dma.complete.shuffle = &random;
  dma.complete.cut = [&random](std::uint64_t address, std::uint32_t remaining) {
    const auto to_boundary = static_cast<std::uint32_t>(64 - address % 64);
    const auto more = static_cast<std::uint32_t>(random.below(8) * 64);
    return std::min({remaining, to_boundary + more, 512U});
  };
  dma.far.then = [&](const recording_device::arrival& seen) {
    const byte_range range = touched(seen.header);
    dma.complete.answer(dma.bench.context.clock.now() + 50 + random.below(400), seen.header.tag,
                        range.address, range.bytes, seen.trace);
  };

  struct wanted {
    buffer_ref into;
    std::uint64_t address;
    std::uint32_t bytes;
  };

  std::vector<wanted> all;
  for (std::uint64_t i = 0; i < 60; ++i) {
    const std::uint64_t address = random.next() >> 24;
    const auto bytes = static_cast<std::uint32_t>(1 + random.below(4096));
    dma_read item = dma.read(address, bytes, i);
    all.push_back({item.into, address, bytes});
    (i % 2 == 0 ? dma.fetch : dma.payload).at(10 + i * 5, std::move(item));
  }
  dma.bench.run(20000);
  ASSERT_EQ(dma.fetched.items.size() + dma.filled.items.size(), 60U);
  for (const auto* each : {&dma.fetched, &dma.filled}) {
    for (const auto& done : each->items) {
      EXPECT_EQ(done.item.status, dma_status::ok);
      const wanted& want = all[done.item.cookie];
      EXPECT_EQ(done.item.cookie % 2, each == &dma.fetched ? 0U : 1U)
          << "the answer goes to who asked";
      for (std::uint32_t i = 0; i < want.bytes; ++i) {
        ASSERT_EQ(want.into.data()[16 + i], byte_at(want.address + i));
      }
      EXPECT_EQ(want.into.data()[16 + want.bytes], 0);
    }
  }
  dma.finish();
}

TEST_P(dma_engine_bench, an_answer_may_overtake_an_earlier_one) {
  dma_bench& dma = make();
  dma.fetch.at(10, dma.read(0x1000, 64, 1));
  dma.payload.at(11, dma.read(0x2000, 64, 2));
  dma.complete.answer(200, 1, 0x2000, 64);
  dma.complete.answer(300, 0, 0x1000, 64);
  dma.bench.run(500);
  ASSERT_EQ(dma.far.seen.size(), 2U);
  EXPECT_EQ(dma.far.seen[0].header.tag, 0U);
  EXPECT_EQ(dma.far.seen[1].header.tag, 1U);
  EXPECT_EQ(dma.filled.items.at(0).visible, 203U);
  EXPECT_EQ(dma.fetched.items.at(0).visible, 303U);
  dma.finish();
}

// Writes ------------------------------------------------------------------------------------------

TEST_P(dma_engine_bench,
       writes_are_cut_at_mps_and_at_4_kib_and_the_last_one_carries_the_milestone) {
  dma_bench& dma = make();
  dma_write item = dma.write(0x50ffd, 1300);
  item.point = milestone::delivered;
  dma.post(10, std::move(item));
  dma.bench.run(300);
  // 3 bytes to the page, then 512, 512, 273.
  EXPECT_EQ(dma.ranges(tlp_kind::memory_write),
            (ranges_t{{0x50ffd, 3}, {0x51000, 512}, {0x51200, 512}, {0x51400, 273}}));
  std::vector<std::uint8_t> bytes;
  for (const auto& each : dma.far.seen) {
    EXPECT_EQ(each.header.requester, 0x104U);
    const byte_range range = touched(each.header);
    const auto lead = static_cast<std::ptrdiff_t>(range.address & 3);
    bytes.insert(bytes.end(), each.data.begin() + lead, each.data.begin() + lead + range.bytes);
  }
  ASSERT_EQ(bytes.size(), 1300U);
  for (std::uint32_t i = 0; i < 1300; ++i) {
    ASSERT_EQ(bytes[i], byte_at(0x50ffd + i)) << i;
  }
  EXPECT_EQ(dma.far.points, (std::vector<milestone>{milestone::count_, milestone::count_,
                                                    milestone::count_, milestone::delivered}));
  EXPECT_EQ(dma.bench.count(counter::DmaWrites), 1U);
  EXPECT_EQ(dma.bench.count(counter::DmaWriteBytes), 1300U);
  EXPECT_EQ(dma.bench.nic.buffers.in_use(), 0U);
  dma.finish();
}

TEST_P(dma_engine_bench, a_payload_is_never_overtaken_by_its_completion_entry) {
  dma_bench& dma = make();
  for (std::uint64_t i = 0; i < 6; ++i) {
    dma.post(10 + 70 * i, dma.write(0x100000 + 0x1000 * i, 4096));
    dma.cqes.at(11 + 70 * i, dma.write(0x900000 + 64 * i, 64));
  }
  dma.bench.run(3000);
  std::vector<std::uint64_t> order;
  for (const byte_range& each : dma.ranges(tlp_kind::memory_write)) {
    if (each.bytes == 64) {
      order.push_back(1000 + (each.address - 0x900000) / 64);
    } else if (order.empty() || order.back() != (each.address - 0x100000) / 0x1000) {
      order.push_back((each.address - 0x100000) / 0x1000);
    }
  }
  EXPECT_EQ(order,
            (std::vector<std::uint64_t>{0, 1000, 1, 1001, 2, 1002, 3, 1003, 4, 1004, 5, 1005}));
  dma.finish();
}

TEST_P(dma_engine_bench, a_payload_whose_beats_still_come_in_keeps_its_place) {
  // A slow core behind a fast link: a payload leaves in fewer cycles than its beats take to be
  // handed over.
  parameters params;
  params.core.clock_period_ps = 4000;
  dma_bench& dma = make(params, {flow_credits{8, 0}, flow_credits{}, flow_credits{}});
  unsigned seen = 0;
  dma.far.then = [&](const recording_device::arrival& each) {
    // The first eight are kept until cycle 200; from then on room comes back at once.
    const ps_t at = seen++ < 8 ? 200 * 4000 - 12000 - 1 : each.last;
    const auto bytes = static_cast<std::uint32_t>(each.data.size());
    dma.steps.at(std::max(at, now_ps()),
                 [&dma, bytes] { dma.far.port.consumed(tlp_class::posted, bytes); });
  };
  for (unsigned i = 0; i < 8; ++i) {
    dma.post(2, dma.write(0x10000 + 64 * i, 64));  // take all credits
  }
  dma.post(10, dma.write(0x20000, 4096));  // 64 beats, waits until 200
  dma.post(10, dma.write(0x30000, 4096));  // visible in 75, handed over after 264
  dma.cqes.at(100, dma.write(0x90000, 64));
  dma.bench.run(2000);
  const ranges_t seen_ranges = dma.ranges(tlp_kind::memory_write);
  ASSERT_EQ(seen_ranges.size(), 25U);
  EXPECT_EQ(seen_ranges[8].address, 0x20000U);
  EXPECT_EQ(seen_ranges[16].address, 0x30000U);
  EXPECT_EQ(seen_ranges[24].address, 0x90000U) << "the completion entry came last";
  dma.finish();
}

TEST_P(dma_engine_bench, everything_arrives_under_random_traffic_and_scarce_credits) {
  parameters params;
  params.pcie.tags = 8;
  params.pcie.mrrs = 512;
  params.pcie.mps = 256;
  dma_bench& dma = make(params, {flow_credits{6, 48}, flow_credits{3, 0}, flow_credits{1, 1}});
  random_stream random(515, "soak");
  dma.complete.shuffle = &random;
  dma.complete.cut = [&random](std::uint64_t address, std::uint32_t remaining) {
    return std::min(
        {remaining, static_cast<std::uint32_t>(64 - address % 64 + random.below(3) * 64), 256U});
  };
  std::map<std::uint64_t, std::uint8_t> memory;
  unsigned answered = 0;
  dma.far.then = [&](const recording_device::arrival& seen) {
    const byte_range range = touched(seen.header);
    const auto bytes = static_cast<std::uint32_t>(seen.data.size());
    tlp_class flow = tlp_class::completion;
    if (seen.header.kind == tlp_kind::memory_read) {
      flow = tlp_class::non_posted;
      dma.complete.answer(dma.bench.context.clock.now() + 20 + random.below(200), seen.header.tag,
                          range.address, range.bytes, seen.trace);
    } else if (seen.header.kind == tlp_kind::memory_write) {
      flow = tlp_class::posted;
      for (std::uint32_t i = 0; i < range.bytes; ++i) {
        memory[range.address + i] = seen.data[(range.address & 3) + i];
      }
    } else {
      ++answered;
    }
    dma.steps.at(seen.last + random.below(300'000),
                 [&dma, flow, bytes] { dma.far.port.consumed(flow, bytes); });
  };

  struct wanted {
    buffer_ref into;
    std::uint64_t address;
    std::uint32_t bytes;
  };

  std::vector<wanted> reads;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> writes;
  std::uint64_t at = 0x7000'0001;
  for (std::uint64_t i = 0; i < 80; ++i) {
    const cycle_t when = 10 + i * 40 + random.below(40);
    const auto bytes = static_cast<std::uint32_t>(1 + random.below(2000));
    dma_read item = dma.read(random.next() >> 30, bytes, i);
    reads.push_back({item.into, item.address, bytes});
    (random.below(2) == 0 ? dma.fetch : dma.payload).at(when, std::move(item));
    dma.post(when, dma.write(at, bytes));
    writes.emplace_back(at, bytes);
    at += bytes;
    dma.cqes.at(when + 5, dma.write(0x9000'0000 + 64 * i, 64));
    writes.emplace_back(0x9000'0000 + 64 * i, 64);
    mmio_answer answer;
    answer.length = 8;
    dma.registers.at(when, answer);
  }
  dma.bench.run(200000);
  EXPECT_EQ(answered, 80U);
  ASSERT_EQ(dma.fetched.items.size() + dma.filled.items.size(), 80U);
  for (const wanted& each : reads) {
    for (std::uint32_t i = 0; i < each.bytes; ++i) {
      ASSERT_EQ(each.into.data()[16 + i], byte_at(each.address + i));
    }
  }
  for (const auto& [address, bytes] : writes) {
    for (std::uint32_t i = 0; i < bytes; ++i) {
      ASSERT_EQ(memory[address + i], byte_at(address + i));
    }
  }
  dma.finish();
}

INSTANTIATE_TEST_SUITE_P(shuffle, dma_engine_bench, testing::Values(0, 77));

}  // namespace
}  // namespace carillon
