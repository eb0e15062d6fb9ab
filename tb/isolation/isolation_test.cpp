// The isolation suite in short: every bin a few times, the same again in other orders of
// evaluation, and with holes in the device, which it must see. The long runs are
// isolation_slow_test.
#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>
#include <string>

#include "tb/isolation/shard.h"

namespace carillon::isolation {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST(isolation, refuses_counts_and_reports_every_kind_of_operation) {
  campaign_options options;
  options.least = 10;
  const campaign_report report = run_campaign(options);
  EXPECT_TRUE(report.ended) << "a program waits for ever";
  EXPECT_EQ(report.failed, 0U);
  EXPECT_THAT(report.failures, IsEmpty());
  EXPECT_GE(*std::min_element(report.done.begin(), report.done.end()), 10U);
  EXPECT_GE(report.operations, 2000U);
  EXPECT_GT(report.victim_messages, report.operations / 10);
}

TEST(isolation, is_the_same_for_the_same_seed_in_every_order_of_evaluation) {
  campaign_options options;
  options.least = 2;
  const std::string digest = digest_of(options);
  EXPECT_EQ(digest.size(), 16U) << digest;
  EXPECT_EQ(digest_of(options), digest);
  for (const std::uint64_t shuffle : {1, 2}) {
    options.shuffle = shuffle;
    EXPECT_EQ(digest_of(options), digest) << shuffle;
  }
  options.shuffle = 0;
  options.seed = 2;
  EXPECT_NE(digest_of(options), digest);
}

TEST(isolation, has_every_resource_and_every_offender_and_no_bin_twice) {
  std::set<std::string> names;
  std::set<std::string> resources;
  std::set<offence> offenders;
  for (const hostile_bin& each : all_bins()) {
    EXPECT_TRUE(names.insert(each.name()).second) << each.name();
    resources.insert(each.resource);
    offenders.insert(each.who);
  }
  EXPECT_THAT(resources,
              testing::UnorderedElementsAre("register", "configuration", "vector", "context",
                                            "function", "UAR page", "key", "wire address"));
  EXPECT_EQ(offenders.size(), 7U);
}

// Holes: what the administrator opens on purpose is no refusal any more, and the suite says so.

/// Everything that went wrong with such a hole, among the bins whose name has `only`.
std::string found_with(vf_settings hole, std::uint16_t index, const char* only) {
  campaign_options options;
  options.only = only;
  options.sabotage = [hole, index](cpu& core, tenant_house& house) {
    return house.admin().change(core, index, hole);
  };
  return digest_of(options);
}

TEST(isolation, sees_a_vf_that_is_trusted_and_should_not_be) {
  vf_settings hole;
  hole.trust = true;
  EXPECT_THAT(found_with(hole, Attacker - 1, "promiscuous mode"), HasSubstr("the status is 0"));
}

TEST(isolation, sees_a_spoof_check_that_does_not_check) {
  vf_settings hole;
  hole.spoof_check = false;
  EXPECT_THAT(found_with(hole, Attacker - 1, "a stale source"), HasSubstr("tx_spoof_drops"));
}

TEST(isolation, sees_rates_that_anybody_may_write) {
  vf_settings hole;
  hole.trust = true;
  EXPECT_THAT(found_with(hole, Attacker - 1, "rate without trust"), HasSubstr("register_denied"));
}

TEST(isolation, sees_a_port_that_is_up_and_should_be_down) {
  campaign_options options;
  options.only = "port of a disabled VF";
  options.sabotage = [](cpu& core, tenant_house& house) -> task<> {
    co_await house.of(Pf).driver->command(core, command_opcode::EnableHca, Ghost);
    co_await house.of(Ghost).driver->command(core, command_opcode::InitHca, 0);
  };
  EXPECT_THAT(digest_of(options), HasSubstr("of function 4"));
}

}  // namespace
}  // namespace carillon::isolation
