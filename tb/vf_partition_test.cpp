// How the PF's driver divides the context RAM.

#include "host/vf_partition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "common/error.h"

namespace carillon {
namespace {

using testing::AllOf;
using testing::HasSubstr;

per_table<std::uint32_t> chip(std::uint32_t lines) {
  per_table<std::uint32_t> all;
  all.values.fill(lines);
  return all;
}

device_settings with_vfs(std::uint16_t vfs) {
  device_settings wanted;
  wanted.sriov = true;
  wanted.vfs = vfs;
  return wanted;
}

std::string refusal(const per_table<std::uint32_t>& lines, const device_settings& wanted) {
  try {
    plan_partitions(lines, wanted);
  } catch (const config_error& error) {
    return error.what();
  }
  return "fits";
}

TEST(vf_partitions, share_the_upper_half_evenly) {
  const auto plan = plan_partitions(chip(1024), with_vfs(4));
  ASSERT_EQ(plan.size(), 4U);
  for (std::uint32_t vf = 0; vf < 4; ++vf) {
    EXPECT_EQ(plan[vf][context_table::qps], (context_range{512 + vf * 128, 128}));
    EXPECT_EQ(plan[vf][context_table::mkeys], (context_range{512 + vf * 128, 128}));
  }
}

TEST(vf_partitions, follow_each_other_without_overlap_up_to_the_end) {
  device_settings wanted = with_vfs(3);
  wanted.vf.resize(2);
  wanted.vf[1].lines[context_table::qps] = 300;
  const auto plan = plan_partitions(chip(1024), wanted);
  // 512 - 300 = 212 are left for two: 106 each; 1024 - 512 = 512.
  EXPECT_EQ(plan[0][context_table::qps], (context_range{512, 106}));
  EXPECT_EQ(plan[1][context_table::qps], (context_range{618, 300}));
  EXPECT_EQ(plan[2][context_table::qps], (context_range{918, 106}));
}

TEST(vf_partitions, may_take_more_than_half_if_a_size_is_given) {
  device_settings wanted = with_vfs(2);
  wanted.vf.resize(2);
  for (vf_settings& each : wanted.vf) {
    each.lines[context_table::qps] = 504;
  }
  // 2 x 504 = 1024 - 16: exactly what the PF can spare.
  EXPECT_EQ(plan_partitions(chip(1024), wanted)[0][context_table::qps], (context_range{16, 504}));
  wanted.vf[0].lines[context_table::qps] = 505;
  EXPECT_THAT(refusal(chip(1024), wanted), HasSubstr("1009 lines of table qps"));
}

TEST(vf_partitions, are_refused_by_the_name_of_the_table_that_is_too_small) {
  per_table<std::uint32_t> lines = chip(1024);
  lines[context_table::cqs] = 32;
  EXPECT_EQ(refusal(lines, with_vfs(16)), "fits");
  EXPECT_THAT(refusal(lines, with_vfs(17)),
              AllOf(HasSubstr("17 VFs do not fit"), HasSubstr("need 17 lines of table cqs"),
                    HasSubstr("has 32"), HasSubstr("16 of them are the PF's")));
}

TEST(vf_partitions, do_without_event_queues_when_there_are_fewer_than_vfs) {
  per_table<std::uint32_t> lines = chip(1024);
  lines[context_table::eqs] = 64;
  const auto plan = plan_partitions(lines, with_vfs(33));
  EXPECT_EQ(plan[0][context_table::eqs], (context_range{0, 0}));
  EXPECT_EQ(plan[32][context_table::qps].count, 512U / 33);
}

TEST(vf_partitions, take_four_lines_of_64_bytes_a_qp_and_one_of_anything_else) {
  vf_partition part;
  part[context_table::qps] = {16, 8};
  part[context_table::cqs] = {16, 4};
  part[context_table::mkeys] = {16, 2};
  EXPECT_EQ(context_bytes(part), (8 * 4 + 4 + 2) * 64U);
}

}  // namespace
}  // namespace carillon
