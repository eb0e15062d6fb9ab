// What a model does and writes does not depend on how often it is looked at. It is woken when there
// is something to do; a twin in its place is looked at in other cycles.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <string>
#include <tuple>

#include "cli/subprocess.h"
#include "cosim/lockstep_bench.h"

namespace carillon {
namespace {

/// Runs the model alone: the digest covers every transfer and every span.
std::string result_of(lockstep_options options) {
  options.impl = impl_kind::model;
  const lockstep_report report = run_lockstep(options);
  return fmt::format("digest {:016x}, {} cycles", report.trace_digest, report.cycles);
}

class looks_lockstep : public testing::TestWithParam<std::tuple<std::string, std::uint64_t>> {};

TEST_P(looks_lockstep, at_a_model_change_nothing) {
  lockstep_options options;
  options.stage = std::get<0>(GetParam());
  options.seed = std::get<1>(GetParam());
  options.transactions = 1000;
  const std::string expected = run_in_child([&] { return result_of(options); });
  options.looks_until = 100000;
  EXPECT_EQ(result_of(options), expected);
}

INSTANTIATE_TEST_SUITE_P(stages, looks_lockstep,
                         testing::Combine(testing::ValuesIn(lockstep_stages()),
                                          testing::Values(std::uint64_t{5}, std::uint64_t{6})),
                         [](const auto& run) {
                           return fmt::format("{}_{}", std::get<0>(run.param),
                                              std::get<1>(run.param));
                         });

}  // namespace
}  // namespace carillon
