// [sweep]: which points a scenario asks for, and what is refused before anything runs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "cli/scenario_loader.h"
#include "common/error.h"

namespace carillon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

sweep_spec sweep(const std::string& text, const std::vector<std::string>& set = {}) {
  scenario_overrides overrides;
  overrides.set = set;
  return parse_scenario("[workload]\nsize = 8\n[sweep]\n" + text, "s.toml", overrides).sweep;
}

std::vector<std::string> labels(const sweep_spec& of) {
  std::vector<std::string> result;
  for (const sweep_point& each : expand(of)) {
    result.push_back(each.label);
  }
  return result;
}

std::string refusal(const std::string& text) {
  try {
    sweep(text);
  } catch (const config_error& error) {
    return error.what();
  }
  return "";
}

TEST(sweep_settings, a_grid_has_every_combination_the_last_axis_changing_fastest) {
  // By name `pcie` comes before `workload`; the order is that of the file.
  EXPECT_THAT(labels(sweep("workload.size = [2, 64]\npcie.generation = [4, 5]\n")),
              ElementsAre("size=2 generation=4", "size=2 generation=5", "size=64 generation=4",
                          "size=64 generation=5"));
}

TEST(sweep_settings, zipped_axes_advance_together) {
  EXPECT_THAT(
      labels(sweep("workload.size = [2, 64]\nworkload.submit = [\"doorbell\", "
                   "\"blueflame\"]\npcie.generation = [4, 5]\n"
                   "zip = [[\"workload.size\", \"pcie.generation\"]]\n")),
      ElementsAre("size=2 generation=4 submit=doorbell", "size=2 generation=4 submit=blueflame",
                  "size=64 generation=5 submit=doorbell", "size=64 generation=5 submit=blueflame"));
}

TEST(sweep_settings, one_at_a_time_changes_each_alone_after_the_base) {
  EXPECT_THAT(labels(sweep("mode = \"one_at_a_time\"\nworkload.size = [2, 64]\n"
                           "host.ddio = [true, false]\n")),
              ElementsAre("base", "size=2", "size=64", "ddio=true", "ddio=false"));
}

TEST(sweep_settings, a_key_that_set_names_is_fixed) {
  EXPECT_THAT(
      labels(sweep("workload.size = [2, 64]\npcie.generation = [4, 5]\n", {"workload.size=3"})),
      ElementsAre("generation=4", "generation=5"));
  EXPECT_TRUE(sweep("workload.size = [2, 64]\n", {"workload.size=3"}).empty());
}

TEST(sweep_settings, values_are_texts_that_set_takes) {
  const std::vector<sweep_point> points = expand(sweep("workload.inline = [true, \"auto\"]\n"));
  ASSERT_EQ(points.size(), 2);
  EXPECT_EQ(points[0].settings.front().key, "workload.inline");
  EXPECT_EQ(points[0].settings.front().value, "true");
  EXPECT_EQ(points[1].settings.front().value, "auto");
}

TEST(sweep_settings, a_key_that_cannot_be_set_is_refused_before_anything_runs) {
  EXPECT_THAT(refusal("workload.sizx = [2]\n"), HasSubstr("s.toml:4: workload.sizx"));
  EXPECT_THAT(refusal("workload.sizx = [2]\n"), HasSubstr("`size`"));
  EXPECT_THAT(refusal("pcie.generation = [4, 7]\n"), HasSubstr("7 is out of range"));
  EXPECT_THAT(refusal("workload.submit = [\"bell\"]\n"), HasSubstr("doorbell"));
  EXPECT_THAT(refusal("workload.size = [2, 2]\n"), HasSubstr("twice"));
  EXPECT_THAT(refusal("workload.size = []\n"), HasSubstr("empty"));
  EXPECT_THAT(refusal("workload.size = 2\n"), HasSubstr("a list"));
  EXPECT_THAT(refusal("mode = \"all\"\nworkload.size = [2]\n"), HasSubstr("one_at_a_time"));
  EXPECT_THAT(refusal("mode = \"grid\"\n"), HasSubstr("no key"));
}

TEST(sweep_settings, a_zip_that_cannot_be_is_refused) {
  const std::string axes = "workload.size = [2, 3]\npcie.generation = [3, 4, 5]\n";
  EXPECT_THAT(refusal(axes + "zip = [[\"workload.size\", \"pcie.generation\"]]\n"),
              HasSubstr("`workload.size` has 2 values, but `pcie.generation` has 3"));
  EXPECT_THAT(refusal(axes + "zip = [[\"workload.sizx\"]]\n"), HasSubstr("`workload.size`"));
  EXPECT_THAT(refusal(axes + "zip = [[\"workload.size\"], [\"workload.size\"]]\n"),
              HasSubstr("named twice"));
}

TEST(sweep_settings, trying_the_values_leaves_the_scenario_as_it_is) {
  const scenario what =
      parse_scenario("[workload]\nsize = 8\n[sweep]\nworkload.size = [2, 64]\n", "s.toml", {});
  EXPECT_EQ(what.points.front().workload.size, 8);
}

}  // namespace
}  // namespace carillon
