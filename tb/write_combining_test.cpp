// Write-combined stores to the device, by what limits them: the line buffers, the fence, and the
// stores that a core may make behind it. First each by hand, then all of them against a public
// measurement with the constants that the same source gives.
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "host/machine.h"
#include "tb/common/link_script.h"

namespace carillon {
namespace {

constexpr std::uint64_t Bar = 0x80000000;
constexpr std::uint64_t Line = 64;

task<> store_lines(cpu& core, std::uint64_t count, std::vector<ps_t>& times) {
  const std::vector<std::uint8_t> line(Line, 0x5a);
  for (std::uint64_t i = 0; i < count; ++i) {
    core.store_combined(Bar + i * Line, line);
    times.push_back(core.time());
  }
  co_return;
}

task<> fenced_messages(cpu& core, std::uint64_t bytes, unsigned count, bool fenced, ps_t& each) {
  const std::vector<std::uint8_t> line(Line, 0x5a);
  // The first ones find empty buffers.
  constexpr unsigned Before = 4;
  ps_t begin = 0;
  for (unsigned i = 0; i < Before + count; ++i) {
    if (i == Before) {
      begin = core.time();
    }
    for (std::uint64_t at = 0; at < bytes; at += Line) {
      core.store_combined(Bar + at, line);
    }
    if (fenced) {
      core.fence();
    }
    co_await core.sync();
  }
  each = (core.time() - begin) / count;
}

class write_combining : public testing::Test {
 protected:
  void build(const parameters& params) {
    context = std::make_unique<sim_context>(params, 1, 0);
    host = std::make_unique<machine>("host0", *context, tlps, 1);
    device = std::make_unique<recording_device>("device", *context);
    host->slot_port().connect(device->port);
  }

  void run(task<> program) {
    host->core(0).run(std::move(program));
    sc_core::sc_start();
    EXPECT_FALSE(host->core(0).busy());
  }

  /// Gb/s of messages of this size, one behind the other.
  double rate(const parameters& params, std::uint64_t bytes, bool fenced) {
    build(params);
    ps_t each = 0;
    run(fenced_messages(host->core(0), bytes, 40, fenced, each));
    return 8000.0 * static_cast<double>(bytes) / static_cast<double>(each);
  }

  tlp_pool tlps;
  std::unique_ptr<sim_context> context;
  std::unique_ptr<machine> host;
  std::unique_ptr<recording_device> device;
};

/// Round numbers: a line 4 ns, to the root complex 20 ns, a fence 5 ns.
parameters by_hand() {
  parameters params;
  params.cpu.wc_store_ps = 4'000;
  params.cpu.wc_flush_ps = 20'000;
  params.cpu.fence_ps = 5'000;
  params.cpu.wc_buffers = 3;
  return params;
}

using times = std::vector<ps_t>;

TEST_F(write_combining, buffers_that_are_free_at_once_limit_nothing) {
  build(by_hand());
  times seen;
  run(store_lines(host->core(0), 5, seen));
  EXPECT_EQ(seen, (times{4'000, 8'000, 12'000, 16'000, 20'000}));
}

TEST_F(write_combining, a_store_waits_for_a_buffer_that_is_still_busy) {
  parameters params = by_hand();
  params.cpu.wc_busy_ps = 42'000;
  build(params);
  times seen;
  run(store_lines(host->core(0), 5, seen));
  // The three buffers are given away at 4, 8 and 12 ns; the first is free at 46, the second at 50.
  EXPECT_EQ(seen, (times{4'000, 8'000, 12'000, 46'000, 50'000}));
}

TEST_F(write_combining, a_fence_waits_until_the_last_line_is_seen) {
  parameters params = by_hand();
  params.cpu.fence_drain_ps = 100'000;
  build(params);
  ps_t each = 0;
  run(fenced_messages(host->core(0), Line, 10, true, each));
  EXPECT_EQ(each, 4'000U + 20'000 + 100'000);
}

TEST_F(write_combining, a_fence_without_lines_does_not_drain) {
  parameters params = by_hand();
  params.cpu.fence_drain_ps = 100'000;
  build(params);
  ps_t each = 0;
  run(fenced_messages(host->core(0), 0, 10, true, each));
  EXPECT_EQ(each, 5'000U);
}

TEST_F(write_combining, stores_behind_a_fence_take_no_time_of_their_own) {
  parameters params = by_hand();
  params.cpu.fence_drain_ps = 100'000;
  params.cpu.stores_behind_fence = 8;
  build(params);
  ps_t each = 0;
  run(fenced_messages(host->core(0), Line, 10, true, each));
  // The line's 8 stores are made while the fence of the line before lasts.
  EXPECT_EQ(each, 20'000U + 100'000);
}

TEST_F(write_combining, more_stores_than_fit_behind_a_fence_wait_for_its_end) {
  parameters params = by_hand();
  params.cpu.fence_drain_ps = 100'000;
  params.cpu.stores_behind_fence = 8;
  build(params);
  ps_t each = 0;
  run(fenced_messages(host->core(0), 2 * Line, 10, true, each));
  EXPECT_EQ(each, 4'000U + 20'000 + 100'000) << "one line of two is stored before";
}

TEST_F(write_combining, what_is_stored_behind_a_fence_leaves_when_that_has_ended) {
  parameters params = by_hand();
  params.cpu.fence_drain_ps = 100'000;
  params.cpu.stores_behind_fence = 8;
  params.pcie.link_delay_ps = 1;
  build(params);
  ps_t each = 0;
  run(fenced_messages(host->core(0), Line, 1, true, each));
  ASSERT_EQ(device->seen.size(), 5U);
  EXPECT_EQ(device->seen[1].first - device->seen[0].first, 100'000U + 20'000);
}

// A public measurement of one core, in Gb/s: about 122 without a fence at any size from 64 B on,
// and with one sfence a message this curve, read off a plot in whole numbers. The same source gives
// about 10 line buffers, 217 ns one way for a store, about 42 stores behind a fence. Two are
// fitted: ten lines of 512 bits in 42 ns are 122 Gb/s; and 3 Gb/s at 128 B, 6 at 256 and 12 at 512
// are 341 ns each, which leaves the fence, published as about 100 ns, 125.
parameters measured() {
  parameters params;
  params.cpu.wc_buffers = 10;
  params.cpu.wc_busy_ps = 42'000;
  params.cpu.wc_store_ps = 2'700;  // eight stores of a 3 GHz core
  params.cpu.wc_flush_ps = 217'000;
  params.cpu.fence_drain_ps = 125'000;
  params.cpu.stores_behind_fence = 42;
  return params;
}

class unfenced_rate : public write_combining, public testing::WithParamInterface<std::uint64_t> {};

TEST_P(unfenced_rate, is_that_of_the_line_buffers_at_any_size) {
  EXPECT_NEAR(rate(measured(), GetParam(), false), 122, 1.22);
}

INSTANTIATE_TEST_SUITE_P(sizes, unfenced_rate, testing::Values(64, 1024, 8192));

struct fenced_point {
  std::uint64_t bytes;
  double gbps;
};

class fenced_rate : public write_combining, public testing::WithParamInterface<fenced_point> {};

TEST_P(fenced_rate, follows_the_measured_curve_within_15_percent) {
  const fenced_point point = GetParam();
  EXPECT_NEAR(rate(measured(), point.bytes, true), point.gbps, 0.15 * point.gbps);
}

INSTANTIATE_TEST_SUITE_P(sizes, fenced_rate,
                         testing::Values(fenced_point{128, 3}, fenced_point{256, 6},
                                         fenced_point{512, 12}, fenced_point{1024, 23},
                                         fenced_point{2048, 40}, fenced_point{4096, 62},
                                         fenced_point{8192, 84}));

// The plot's 1 Gb/s at 64 B is a whole number, and a line takes no longer than two: half of the
// next point is the greatest rate that still reads as 1.
TEST_F(write_combining, a_fenced_line_has_a_rate_that_reads_as_1_gbps) {
  const double gbps = rate(measured(), Line, true);
  EXPECT_LE(gbps, 1.5);
  EXPECT_GE(gbps, 0.5);
}

}  // namespace
}  // namespace carillon
