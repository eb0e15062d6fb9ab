// Whose requests dma_engine sends: those of functions that may master the bus, and nothing of one
// that is being reset.
#include <gtest/gtest.h>

#include "tb/common/dma_bench.h"

namespace carillon::bench {
namespace {

/// As the bench has them, but function `which` does not master the bus.
function_map without_master(std::uint16_t which) {
  function_map map = placed_functions(4);
  map.functions[which].bus_master = false;
  return map;
}

function_map with_reset(std::uint16_t which) {
  function_map map = without_master(which);
  map.functions[which].resetting = true;
  map.resets = 1;
  return map;
}

dma_read read_of(dma_bench& dma, std::uint16_t function, std::uint64_t cookie,
                 std::uint32_t length = 64) {
  dma_read item = dma.read(0x1000 * (cookie + 1), length, cookie);
  item.function = function;
  return item;
}

dma_write write_of(dma_bench& dma, std::uint16_t function, std::uint64_t address,
                   std::uint32_t length = 64) {
  dma_write item = dma.write(address, length);
  item.function = function;
  return item;
}

TEST_P(dma_engine_bench, requests_carry_the_routing_ID_of_their_function) {
  dma_bench& dma = make();
  function_map map = placed_functions(4);
  map.pf_id = 0x3b00;
  map.first_vf_offset = 0x80;
  map.vf_stride = 2;
  dma.functions.write(0, map);
  dma.payload.at(10, read_of(dma, 0, 0));
  dma.payload.at(20, read_of(dma, 3, 1));
  dma.answer_all(20);
  dma.bench.run(200);
  ASSERT_EQ(dma.far.seen.size(), 2U);
  EXPECT_EQ(dma.far.seen[0].header.requester, 0x3b00U);
  EXPECT_EQ(dma.far.seen[1].header.requester, 0x3b84U) << "PF + offset + 2 strides";
  dma.finish();
}

TEST_P(dma_engine_bench, writes_of_a_function_that_is_no_bus_master_are_dropped) {
  dma_bench& dma = make();
  dma.functions.write(0, without_master(2));
  dma.post(10, write_of(dma, 2, 0x1000));
  dma.post(11, write_of(dma, 1, 0x2000));
  dma.post(12, write_of(dma, 2, 0x3000, 4096));
  dma.post(80, write_of(dma, 0, 0x4000));
  dma.bench.run(400);
  EXPECT_EQ(dma.ranges(tlp_kind::memory_write),
            (std::vector<byte_range>{{0x2000, 64}, {0x4000, 64}}));
  EXPECT_EQ(dma.bench.count(counter::DmaWritesDropped), 2U);
  EXPECT_EQ(dma.bench.nic.counters.value_for(2, counter::DmaWritesDropped), 2U);
  EXPECT_EQ(dma.bench.count(counter::DmaWrites), 2U);
  dma.finish();
}

TEST_P(dma_engine_bench, reads_of_a_function_that_is_no_bus_master_are_answered_with_an_error) {
  dma_bench& dma = make();
  dma.functions.write(0, without_master(2));
  dma.answer_all(20);
  dma.payload.at(10, read_of(dma, 2, 7));
  dma.payload.at(10, read_of(dma, 1, 8));
  dma.bench.run(400);
  ASSERT_EQ(dma.filled.items.size(), 2U);
  EXPECT_EQ(dma.filled.items[0].item.cookie, 7U);
  EXPECT_EQ(dma.filled.items[0].item.status, dma_status::unsupported_request);
  // Visible in 11, answered at once: 2 cycles to the client.
  EXPECT_EQ(dma.filled.items[0].visible, 13U);
  EXPECT_EQ(dma.filled.items[1].item.status, dma_status::ok);
  EXPECT_EQ(dma.ranges(tlp_kind::memory_read), (std::vector<byte_range>{{0x9000, 64}}));
  EXPECT_EQ(dma.bench.nic.counters.value_for(2, counter::DmaReadsRefused), 1U);
  EXPECT_EQ(dma.bench.count(counter::DmaErrors), 1U);
  dma.finish();
}

TEST_P(dma_engine_bench, nor_is_anything_sent_for_a_function_that_does_not_exist) {
  dma_bench& dma = make();
  function_map map = placed_functions(4);
  map.vfs = 1;
  dma.functions.write(0, map);
  dma.post(10, write_of(dma, 2, 0x1000));
  dma.payload.at(10, read_of(dma, 3, 0));
  dma.bench.run(200);
  EXPECT_TRUE(dma.far.seen.empty());
  EXPECT_EQ(dma.bench.count(counter::DmaWritesDropped), 1U);
  EXPECT_EQ(dma.bench.count(counter::DmaReadsRefused), 1U);
  dma.finish();
}

TEST_P(dma_engine_bench, a_dropped_write_counts_for_the_reads_that_wait_for_it) {
  dma_bench& dma = make();
  dma.functions.write(0, without_master(2));
  dma.answer_all(20);
  dma_read after = read_of(dma, 1, 5);
  after.writes_before = 1;
  dma.payload.at(10, std::move(after));
  dma.post(50, write_of(dma, 2, 0x1000));
  dma.bench.run(400);
  ASSERT_EQ(dma.filled.items.size(), 1U) << "else it would wait for ever";
  dma.finish();
}

TEST_P(dma_engine_bench, dropped_writes_need_no_credits) {
  // One header credit, which never comes back: after the first write nothing can be sent.
  dma_bench& dma = make({}, {flow_credits{1, 64}, {}, {}});
  dma.functions.write(0, without_master(2));
  dma.post(10, write_of(dma, 1, 0x1000));
  dma.post(20, write_of(dma, 2, 0x2000));
  dma.post(30, write_of(dma, 2, 0x3000));
  dma.bench.run(200);
  EXPECT_EQ(dma.bench.count(counter::DmaWritesDropped), 2U);
  dma.finish();
}

TEST_P(dma_engine_bench, what_may_be_sent_is_cut_as_the_host_allows) {
  dma_bench& dma = make();
  function_map map = placed_functions(4);
  map.max_payload = 128;
  map.max_read = 256;
  dma.functions.write(0, map);
  dma.answer_all(20);
  dma.post(10, write_of(dma, 1, 0x1000, 256));
  dma.payload.at(10, read_of(dma, 1, 3, 512));
  dma.bench.run(400);
  EXPECT_EQ(dma.ranges(tlp_kind::memory_write),
            (std::vector<byte_range>{{0x1000, 128}, {0x1080, 128}}));
  EXPECT_EQ(dma.ranges(tlp_kind::memory_read),
            (std::vector<byte_range>{{0x4000, 256}, {0x4100, 256}}));
  dma.finish();
}

TEST_P(dma_engine_bench, no_more_reads_are_in_flight_than_the_host_allows_tags) {
  dma_bench& dma = make();
  function_map map = placed_functions(4);
  map.tags = 32;
  dma.functions.write(0, map);
  for (std::uint64_t i = 0; i < 40; ++i) {
    dma.payload.at(10, read_of(dma, 1, i));
  }
  dma.steps.at(300'000, [&] {
    EXPECT_EQ(dma.far.seen.size(), 32U);
    for (const auto& each : dma.far.seen) {
      EXPECT_LT(each.header.tag, 32U);
      dma.complete.answer(310, each.header.tag, touched(each.header).address, 64);
    }
    dma.answer_all(20);
  });
  dma.bench.run(1000);
  EXPECT_EQ(dma.filled.items.size(), 40U);
  dma.finish();
}

// Reset

TEST_P(dma_engine_bench, reads_in_flight_of_a_reset_function_are_answered_with_an_error_at_once) {
  dma_bench& dma = make();
  for (std::uint64_t i = 0; i < 4; ++i) {
    dma.payload.at(10, read_of(dma, i == 2 ? 1 : 2, i));
  }
  dma.steps.at(100'000, [&] {
    EXPECT_EQ(dma.far.seen.size(), 4U);
    EXPECT_TRUE(dma.filled.items.empty());
    dma.functions.write(100, with_reset(2));
    // The other function's is answered as ever.
    dma.complete.answer(320, dma.far.seen[2].header.tag, 0x3000, 64);
  });
  dma.bench.run(300);
  ASSERT_EQ(dma.filled.items.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(dma.filled.items[i].item.status, dma_status::unsupported_request);
    // Seen in 101, one a cycle, 2 cycles to the client.
    EXPECT_EQ(dma.filled.items[i].visible, 103 + i);
  }
  EXPECT_EQ(dma.bench.nic.counters.value_for(2, counter::DmaReadsRefused), 3U);
  dma.bench.run(200);
  ASSERT_EQ(dma.filled.items.size(), 4U);
  EXPECT_EQ(dma.filled.items[3].item.cookie, 2U);
  EXPECT_EQ(dma.filled.items[3].item.status, dma_status::ok);
}

TEST_P(dma_engine_bench, a_late_completion_for_a_reset_function_is_dropped_and_frees_its_tag) {
  parameters params;
  params.pcie.tags = 1;
  dma_bench& dma = make(params);
  dma.payload.at(10, read_of(dma, 2, 0));
  dma.steps.at(100'000, [&] { dma.functions.write(100, with_reset(2)); });
  dma.payload.at(150, read_of(dma, 1, 1));
  dma.steps.at(200'000, [&] {
    ASSERT_EQ(dma.far.seen.size(), 1U) << "the tag rests";
    dma.complete.answer(210, dma.far.seen[0].header.tag, 0x1000, 64);
    dma.answer_all(20);
  });
  dma.bench.run(600);
  EXPECT_EQ(dma.far.seen.size(), 2U);
  ASSERT_EQ(dma.filled.items.size(), 2U);
  EXPECT_EQ(dma.filled.items[1].item.status, dma_status::ok);
  EXPECT_EQ(dma.bench.count(counter::PcieRxUnexpectedCompletions), 1U);
  dma.finish();
}

TEST_P(dma_engine_bench, the_rest_of_what_a_reset_function_sends_is_not_sent) {
  parameters params;
  params.pcie.mps = 128;
  params.pcie.mrrs = 128;
  dma_bench& dma = make(params);
  dma.post(10, write_of(dma, 2, 0x100000, 4096));  // 32 TLPs
  dma.payload.at(10, read_of(dma, 2, 0, 4096));
  dma.steps.at(40'000, [&] {
    EXPECT_GT(dma.far.seen.size(), 2U);
    dma.functions.write(40, with_reset(2));
  });
  dma.bench.run(1000);
  EXPECT_LT(dma.far.seen.size(), 64U);
  for (const auto& each : dma.far.seen) {
    EXPECT_LT(each.told, 41'000U);
  }
  ASSERT_EQ(dma.filled.items.size(), 1U);
  EXPECT_EQ(dma.filled.items[0].item.status, dma_status::unsupported_request);
}

TEST_P(dma_engine_bench, requests_that_come_after_the_reset_began_are_not_sent_either) {
  dma_bench& dma = make();
  dma.steps.at(100'000, [&] { dma.functions.write(100, with_reset(2)); });
  dma.post(110, write_of(dma, 2, 0x1000));
  dma.payload.at(110, read_of(dma, 2, 0));
  dma.bench.run(300);
  EXPECT_TRUE(dma.far.seen.empty());
  dma.finish();
}

// Errors

TEST_P(dma_engine_bench, errors_are_reported_to_the_function_whose_read_it_was) {
  parameters params;
  params.pcie.completion_timeout_ps = 50'000'000;
  dma_bench& dma = make(params);
  dma.fail_three_ways([](cycle_t, const tlp_header&) {});  // the fourth is never answered
  for (std::uint64_t i = 0; i < 4; ++i) {
    dma.payload.at(10 + 100 * i, read_of(dma, static_cast<std::uint16_t>(i + 1), i));
  }
  dma.complete.answer(1000, 77, 0x1000, 64);  // nobody's
  dma.bench.run(60'000);
  ASSERT_EQ(dma.reported.items.size(), 5U);
  const auto is = [&](std::size_t index, std::uint16_t function, pcie_error_kind kind) {
    const pcie_error& error = dma.reported.items[index].item;
    EXPECT_EQ(error.function, function) << index;
    EXPECT_EQ(error.kind, kind) << index;
  };
  is(0, 1, pcie_error_kind::refused);
  is(1, 2, pcie_error_kind::aborted);
  is(2, 3, pcie_error_kind::poisoned_completion);
  is(3, 0, pcie_error_kind::unexpected_completion);
  is(4, 4, pcie_error_kind::completion_timeout);
}

INSTANTIATE_TEST_SUITE_P(shuffle, dma_engine_bench, testing::Values(0, 77));

}  // namespace
}  // namespace carillon::bench
