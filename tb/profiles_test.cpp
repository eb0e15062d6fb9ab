// Profiles: what the files in scenarios/profiles promise, and the messages for those that are
// wrong.

#include "cli/profiles.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string>

#include "cli/scenario_loader.h"
#include "common/error.h"

namespace carillon {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::HasSubstr;
using testing::IsSupersetOf;

/// A folder with a profile `mine`, away from all others.
class own_profile : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        fs::path(testing::TempDir()) /
        (std::string("profiles_") + testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_ / "profiles");
  }

  void TearDown() override { fs::remove_all(folder_); }

  scenario read(const std::string& profile, const std::string& text = "profile = \"mine\"\n") {
    std::ofstream(folder_ / "profiles" / "mine.toml") << profile;
    return parse_scenario(text, (folder_ / "s.toml").string());
  }

  std::string error_of(const std::string& profile) {
    try {
      read(profile);
    } catch (const config_error& wrong) {
      return wrong.what();
    }
    return "no error";
  }

  fs::path folder_;
};

const std::string Good =
    "description = \"x\"\n[parameters.wire]\nrate_gbps = 100\n[provenance]\n\"wire.rate_gbps\" = "
    "\"documented\"\n";

TEST_F(own_profile, sets_parameters) {
  const scenario what = read(Good);
  EXPECT_EQ(what.profile, "mine");
  EXPECT_EQ(what.points.front().params.wire.rate_gbps, 100);
  EXPECT_EQ(what.points.front().set_by.at("wire.rate_gbps"), "profile mine");
}

TEST_F(own_profile, may_be_named_in_the_scenarios_section) {
  EXPECT_EQ(read(Good, "[scenario]\nprofile = \"mine\"\n").points.front().params.wire.rate_gbps,
            100);
}

TEST_F(own_profile, is_what_the_scenario_changes) {
  const scenario what = read(Good, "profile = \"mine\"\n[parameters.wire]\nrate_gbps = 200\n");
  EXPECT_EQ(what.points.front().params.wire.rate_gbps, 200);
}

TEST_F(own_profile, says_of_each_value_where_it_is_from) {
  EXPECT_THAT(error_of("[parameters.wire]\nrate_gbps = 100\n"),
              HasSubstr("mine.toml:2: wire.rate_gbps: has no line in [provenance]"));
  EXPECT_THAT(error_of("[provenance]\n\"wire.mtu\" = \"x\"\n"),
              HasSubstr("mine.toml:2: provenance.wire.mtu: the profile does not set"));
  EXPECT_THAT(error_of("[provenance]\n\"wire.mtu\" = \"\"\n"), HasSubstr("says nothing"));
}

TEST_F(own_profile, mistakes_name_its_file_and_line) {
  EXPECT_THAT(error_of("[parameters.wire]\nrate_gbs = 100\n"),
              HasSubstr("mine.toml:2: parameters.wire.rate_gbs: unknown parameter"));
  EXPECT_THAT(error_of("[parameters.wire]\nrate_gbps = 123\n"), HasSubstr("mine.toml:2"));
  EXPECT_THAT(error_of("[parametres]\n"), HasSubstr("did you mean `parameters`?"));
  EXPECT_THAT(error_of("rate_gbps = = 1\n"), HasSubstr("mine.toml:1"));
}

TEST(profiles, are_found_and_read) {
  EXPECT_THAT(known_profiles("s.toml"),
              IsSupersetOf({"reference", "cx7-200g", "cx7-400g", "cx6dx-100g", "erdma-cloud"}));
  for (const std::string& name : known_profiles("s.toml")) {
    scenario_overrides overrides;
    overrides.profile = name;
    EXPECT_NO_THROW(parse_scenario("[workload]\n", "s.toml", overrides)) << name;
  }
}

TEST(profiles, reference_is_the_defaults) {
  scenario_overrides overrides;
  overrides.profile = "reference";
  EXPECT_TRUE(parse_scenario("[workload]\n", "s.toml", overrides).points.front().set_by.empty());
}

TEST(profiles, of_the_cx7_fits_two_parameters) {
  scenario_overrides overrides;
  overrides.profile = "cx7-200g";
  const scenario what = parse_scenario("[workload]\n", "s.toml", overrides);
  const auto& set_by = what.points.front().set_by;
  // The base path and the host read; the rate is the port's.
  EXPECT_EQ(set_by.size(), 3U);
  for (const char* name : {"wire.rate_gbps", "wire.delay_ps", "host.memory_read_ps"}) {
    EXPECT_EQ(set_by.count(name), 1U) << name;
  }
}

/// Parameters whose values differ.
std::set<std::string> differences(const parameters& a, const parameters& b) {
  std::set<std::string> found;
  for (const param_desc& each : ParamTable) {
    if (get_param(a, each.name) != get_param(b, each.name)) {
      found.emplace(each.name);
    }
  }
  return found;
}

TEST(profiles, of_the_cx7_at_400_gbps_differs_from_that_at_200_in_one_fitted_parameter_of_the_nic) {
  scenario_overrides slower;
  slower.profile = "cx7-200g";
  scenario_overrides faster;
  faster.profile = "cx7-400g";
  const auto params = [](const scenario_overrides& overrides) {
    return parse_scenario("[workload]\n", "s.toml", overrides).points.front().params;
  };
  // The port, the base path; and of the host, for the latency table.
  EXPECT_EQ(differences(params(slower), params(faster)),
            (std::set<std::string>{"wire.rate_gbps", "wire.delay_ps", "cpu.noise_interval_ps",
                                   "cpu.noise_duration_ps", "numa.load_permille", "numa.queue_ps",
                                   "sharing.preempted_permille", "iommu.scattered"}));
}

TEST(latency_table, has_rows_by_doorbell_that_differ_in_placement_and_sharing_alone) {
  const scenario table = load_scenario("scenarios/latency_table.toml", {});
  const std::map<std::string, std::set<std::string>> rows = {
      {"host", {}},
      {"vf_aligned", {"iommu.enabled"}},
      {"vf_cross_numa", {"iommu.enabled", "host.core_node", "host.memory_node"}},
      {"shared_device", {"sharing.tenants"}},
  };
  const run_point& host = table.points.front();
  std::size_t seen = 0;
  for (const run_point& each : table.points) {
    const auto row = rows.find(each.label);
    if (row == rows.end()) {
      continue;
    }
    ++seen;
    SCOPED_TRACE(each.label);
    EXPECT_EQ(differences(host.params, each.params), row->second);
    EXPECT_TRUE(each.params.cpu.noise);
    ASSERT_TRUE(each.perftest.has_value());
    EXPECT_EQ(each.perftest->submit, perftest_submit::doorbell);
    EXPECT_TRUE(each.perftest->inlined());
  }
  EXPECT_EQ(seen, rows.size());
}

TEST(profiles, that_do_not_exist_are_refused_with_those_that_do) {
  scenario_overrides overrides;
  overrides.profile = "cx7";
  try {
    parse_scenario("[workload]\n", "s.toml", overrides);
    FAIL();
  } catch (const config_error& wrong) {
    EXPECT_THAT(wrong.what(), HasSubstr("there is no profile `cx7`"));
    EXPECT_THAT(wrong.what(), HasSubstr("cx7-200g"));
  }
}

}  // namespace
}  // namespace carillon
