// `carillon lockstep`: every stage that has a twin gets its turn, and what goes wrong is told.
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

#include "cli/junit.h"
#include "cli/lockstep_command.h"
#include "common/error.h"
#include "cosim/coverage.h"
#include "cosim/rtl_block.h"
#include "gen/coverage.h"
#include "gen/stages.h"
#include "tb/common/mutant_blocks.h"

namespace carillon {
namespace {

namespace fs = std::filesystem;

using ::testing::HasSubstr;
using ::testing::Not;

std::string junit_file() {
  return (fs::temp_directory_path() / fmt::format("carillon_junit_{}.xml", getpid())).string();
}

struct outcome {
  int code = 0;
  std::string out;
  std::string error;
  std::string junit;
};

outcome run(lockstep_arguments arguments) {
  arguments.junit = junit_file();
  outcome result;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  result.code = run_lockstep_command(arguments);
  result.out = testing::internal::GetCapturedStdout();
  result.error = testing::internal::GetCapturedStderr();
  std::ostringstream text;
  text << std::ifstream(arguments.junit).rdbuf();
  result.junit = text.str();
  fs::remove(arguments.junit);
  return result;
}

lockstep_arguments of(const char* stage, std::uint64_t transactions) {
  lockstep_arguments arguments;
  arguments.options.stage = stage;
  arguments.options.transactions = transactions;
  return arguments;
}

TEST(lockstep_command, has_a_bench_and_bins_for_every_twin) {
  const std::vector<std::string> benches = lockstep_stages();
  for (const stage_desc& each : StageTable) {
    EXPECT_EQ(std::find(benches.begin(), benches.end(), each.name) != benches.end(), each.twin_done)
        << each.name << ": enter its bench in model/cosim/lockstep_bench.cpp";
  }
  for (const std::string& each : benches) {
    EXPECT_FALSE(coverage(each).bins().empty());
  }
}

TEST(lockstep_command, all_runs_every_stage_that_has_a_bench) {
  const outcome result = run(of("all", 500));
  EXPECT_EQ(result.code, 0);
  for (const std::string& each : lockstep_stages()) {
    EXPECT_THAT(result.out, testing::ContainsRegex(each + " +agrees +500"));
    EXPECT_THAT(result.junit, HasSubstr("name=\"" + each + "\""));
  }
  EXPECT_THAT(result.junit, HasSubstr("failures=\"0\""));
  EXPECT_EQ(result.error, "");
}

TEST(lockstep_command, a_mismatch_exits_3_and_is_the_text_of_the_failure) {
  register_mutants();
  lockstep_arguments arguments = of("wqe_parser", 20000);
  arguments.options.variant = "slots";
  const outcome result = run(arguments);
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(result.error, HasSubstr("wqe_parser: lockstep mismatch in cycle"));
  EXPECT_THAT(result.junit, HasSubstr("failures=\"1\""));
  EXPECT_THAT(result.junit, HasSubstr("<failure message=\"wqe_parser: lockstep mismatch in cycle"));
  EXPECT_THAT(result.junit, HasSubstr("last transfers:\n"));
}

TEST(lockstep_command, too_little_coverage_exits_1_and_names_the_bins) {
  lockstep_arguments arguments = of("wqe_parser", 20);
  arguments.min_coverage = 99;
  const outcome result = run(arguments);
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.error, HasSubstr("not hit: beats.16"));
  EXPECT_THAT(result.junit, HasSubstr("failures=\"1\""));
}

TEST(lockstep_command, writes_the_waves_of_the_cycles_asked_for) {
  const fs::path folder = fs::temp_directory_path() / fmt::format("carillon_waves_{}", getpid());
  const auto size_of = [&](cycle_t from, cycle_t to) {
    lockstep_arguments arguments = of("wqe_parser", 200);
    arguments.options.waves = folder.string();
    arguments.options.waves_from = from;
    arguments.options.waves_to = to;
    EXPECT_EQ(run(arguments).code, 0);
    const auto size = fs::file_size(folder / "wqe_parser.fst");
    fs::remove_all(folder);
    return size;
  };
  if (!rtl_has_waves()) {
    GTEST_SKIP() << "built with CARILLON_WAVES=OFF";
  }
  EXPECT_GT(size_of(100, 300), size_of(100, 110));
}

TEST(junit, escapes_what_xml_reserves) {
  const std::string text = render_junit({"s", {{"a<b", 1.5, "x & \"y\"\n\x1b[0m>"}, {"good"}}});
  EXPECT_THAT(text, HasSubstr("tests=\"2\" failures=\"1\" time=\"1.500\""));
  EXPECT_THAT(text, HasSubstr("name=\"a&lt;b\""));
  EXPECT_THAT(text, HasSubstr("<failure message=\"x &amp; &quot;y&quot;\">"
                              "x &amp; &quot;y&quot;\n?[0m&gt;</failure>"));
  EXPECT_THAT(text, HasSubstr("name=\"good\" time=\"0.000\"/>"));
}

TEST(coverage, counts_by_name_and_by_number_of_a_bin) {
  coverage cover("wqe_parser");
  cover.hit("origin.blueflame");
  cover.hit(coverage_spec::wqe_parser::bin::OriginBlueflame);
  cover.hit_if(false, coverage_spec::wqe_parser::bin::OriginFetched);
  EXPECT_EQ(cover.bins()[0].hits, 0U);
  EXPECT_EQ(cover.bins()[1].hits, 2U);
  EXPECT_TRUE(cover.has("beats.16"));
  EXPECT_FALSE(cover.has("beats.17"));
  EXPECT_THROW(cover.hit("beats.17"), model_error);
}

TEST(coverage, of_a_stage_without_bins_says_where_they_belong) {
  try {
    coverage cover("responder");
    FAIL();
  } catch (const model_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("docs/spec/coverage.toml has no bins of responder"));
  }
}

TEST(coverage, excluded_bins_do_not_count) {
  lockstep_report report;
  report.coverage = {{"a", 1, ""}, {"b", 0, ""}, {"c", 0, "argued"}};
  EXPECT_EQ(report.countable(), 2U);
  EXPECT_THAT(report.uncovered(), testing::ElementsAre("b"));
}

}  // namespace
}  // namespace carillon
