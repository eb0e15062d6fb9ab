// Translation of the device's addresses: reads of a walk by hand, times, and the public closed
// form.

#include "host/iommu.h"

#include <gtest/gtest.h>

#include "common/context.h"
#include "common/error.h"

namespace carillon {
namespace {

constexpr ps_t Ns = 1000;
constexpr std::uint64_t Small = 4096;
constexpr std::uint64_t Large = 2 * 1024 * 1024;
constexpr std::uint64_t Huge = 1024 * 1024 * 1024;

parameters translating(std::uint64_t page = Small) {
  parameters params;
  params.host.iommu = true;
  params.host.page_bytes = static_cast<std::int64_t>(page);
  params.host.iommu_hit_ps = 0;
  return params;
}

struct bench {
  explicit bench(const parameters& params) : context(params, 1, 0), unit(context, "host0") {}

  /// How long the translation takes that begins then.
  ps_t takes(std::uint64_t address, ps_t now) {
    trace_ref nobody;
    return unit.translate(address, nobody, 0, now) - now;
  }

  sim_context context;
  iommu unit;
};

TEST(iommu_walk, reads_a_table_of_each_level) {
  EXPECT_EQ(bench(translating(Small)).unit.walk(0x100000000), 4U);
}

TEST(iommu_walk, of_large_pages_is_shorter) {
  EXPECT_EQ(bench(translating(Large)).unit.walk(0x100000000), 3U);
}

TEST(iommu_walk, of_huge_pages_is_shorter_still) {
  EXPECT_EQ(bench(translating(Huge)).unit.walk(0x100000000), 2U);
}

TEST(iommu_walk, knows_the_tables_of_neighbours) {
  bench with(translating());
  EXPECT_EQ(with.unit.walk(0x100000000), 4U);
  EXPECT_EQ(with.unit.walk(0x100001000), 1U);          // the same last table
  EXPECT_EQ(with.unit.walk(0x100000000 + Large), 2U);  // another last table of the same parent
  EXPECT_EQ(with.unit.walk(0x100000000 + Huge), 3U);
}

TEST(iommu, a_known_page_costs_a_hit) {
  parameters params = translating();
  params.host.iommu_hit_ps = 5 * Ns;
  bench with(params);
  EXPECT_EQ(with.takes(0x100000000, 0), (5 + 65 + 4 * 197) * Ns);
  EXPECT_EQ(with.takes(0x100000fff, 2000 * Ns), 5 * Ns);
  EXPECT_EQ(with.takes(0x100001000, 4000 * Ns), (5 + 65 + 197) * Ns);
  EXPECT_EQ(with.unit.stats().hits, 1U);
  EXPECT_EQ(with.unit.stats().misses, 2U);
  EXPECT_EQ(with.unit.stats().walk_reads, 5U);
}

TEST(iommu, a_walk_waits_for_the_walker) {
  bench with(translating());
  const ps_t first = with.takes(0x100000000, 0);
  // 100 ns later another page: the walker is free after the first walk.
  EXPECT_EQ(with.takes(0x100001000, 100 * Ns), first - 100 * Ns + (65 + 197) * Ns);
}

TEST(iommu, two_walkers_walk_side_by_side) {
  parameters params = translating();
  params.host.iommu_walkers = 2;
  bench with(params);
  with.takes(0x100000000, 0);
  EXPECT_EQ(with.takes(0x100001000, 100 * Ns), (65 + 197) * Ns);
}

TEST(iommu, forgets_the_page_used_longest_ago) {
  parameters params = translating();
  params.host.iotlb_entries = 2;
  params.host.iotlb_ways = 2;
  bench with(params);
  ps_t now = 0;
  const auto known = [&](std::uint64_t page) {
    now += 10'000 * Ns;
    return with.takes(0x100000000 + page * Small, now) == 0;
  };
  EXPECT_FALSE(known(1));
  EXPECT_FALSE(known(2));
  EXPECT_TRUE(known(1));
  EXPECT_FALSE(known(3));  // in the place of 2
  EXPECT_TRUE(known(1));
  EXPECT_FALSE(known(2));
}

TEST(iommu, streams_as_the_public_fit_says) {
  // Page by page through memory, one after the other: page / (65 ns + M * 197 ns), with M = 1 but
  // for every 512th page, which has another last table: M = 1 + 1 / 512 (and its parents').
  bench with(translating());
  ps_t now = 0;
  constexpr unsigned Pages = 5120;
  for (unsigned i = 0; i < Pages; ++i) {
    now += with.takes(0x100000000 + i * Small, now);
  }
  const double reads = static_cast<double>(with.unit.stats().walk_reads) / Pages;
  EXPECT_NEAR(reads, 1 + 1.0 / 512 + 2.0 / Pages, 1e-9);
  const double gbps = Pages * Small * 8.0 / (static_cast<double>(now) / 1000);
  EXPECT_NEAR(gbps, Small * 8 / (65 + reads * 197), 1e-6);
}

TEST(iommu, of_an_impossible_geometry_is_refused) {
  parameters params = translating();
  params.host.iotlb_entries = 12;
  params.host.iotlb_ways = 8;
  EXPECT_THROW(bench{params}, config_error);
}

}  // namespace
}  // namespace carillon
