// [[pcie_fault]] in scenarios: what is understood, what is refused, and that it reaches the host.
#include "cli/pcie_fault_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "cli/runner.h"
#include "cli/scenario_loader.h"
#include "common/error.h"
#include "tb/common/nic_run.h"

namespace carillon {
namespace {

using testing::AllOf;
using testing::HasSubstr;

scenario read(const std::string& faults) {
  return parse_scenario("[workload]\n" + faults, "s.toml");
}

std::string error_of(const std::string& faults) {
  try {
    read("[[pcie_fault]]\n" + faults);
  } catch (const config_error& error) {
    return error.what();
  }
  return "no error";
}

TEST(pcie_fault_settings, every_key_arrives) {
  const scenario what = read(R"(
[[pcie_fault]]
do = "late"
kind = "receive_wqe"
address = [0x1000, 0x1fff]
length = [16, 64]
nth = 2
every = 5
count = 7
probability = 0.5
host = 1
delay_ns = 60
[[pcie_fault]]
do = "no_completion"
length = 8
)");
  const auto& rules = what.points.at(0).pcie_faults;
  ASSERT_EQ(rules.size(), 2U);
  EXPECT_EQ(rules[0].fault, read_fault::late);
  EXPECT_EQ(rules[0].kind, read_kind::receive_wqe);
  EXPECT_EQ(rules[0].first, 0x1000U);
  EXPECT_EQ(rules[0].last, 0x1fffU);
  EXPECT_EQ(rules[0].min_bytes, 16U);
  EXPECT_EQ(rules[0].max_bytes, 64U);
  EXPECT_EQ(rules[0].nth, 2U);
  EXPECT_EQ(rules[0].every, 5U);
  EXPECT_EQ(rules[0].count, 7U);
  EXPECT_EQ(rules[0].probability, 0.5);
  EXPECT_EQ(rules[0].host, 1U);
  EXPECT_EQ(rules[0].delay, 60'000U);
  EXPECT_EQ(rules[1].fault, read_fault::never);
  EXPECT_EQ(rules[1].min_bytes, 8U);
  EXPECT_EQ(rules[1].max_bytes, 8U);
  EXPECT_EQ(rules[1].host, std::nullopt);
}

TEST(pcie_fault_settings, each_fault_and_each_kind_has_its_word) {
  const std::pair<const char*, read_fault> faults[] = {
      {"unsupported_request", read_fault::unsupported_request},
      {"completer_abort", read_fault::completer_abort},
      {"poison", read_fault::poisoned},
      {"no_completion", read_fault::never},
      {"unexpected_completion", read_fault::stray},
  };
  for (const auto& [word, fault] : faults) {
    const scenario what = read(std::string("[[pcie_fault]]\ndo = \"") + word + "\"\n");
    EXPECT_EQ(what.points[0].pcie_faults.at(0).fault, fault) << word;
  }
  const std::pair<const char*, read_kind> kinds[] = {
      {"any", read_kind::any},         {"wqe", read_kind::wqe},
      {"payload", read_kind::payload}, {"record", read_kind::record},
      {"atomic", read_kind::atomic},   {"cq_record", read_kind::cq_record},
      {"context", read_kind::context},
  };
  for (const auto& [word, kind] : kinds) {
    const scenario what =
        read(std::string("[[pcie_fault]]\ndo = \"poison\"\nkind = \"") + word + "\"\n");
    EXPECT_EQ(what.points[0].pcie_faults.at(0).kind, kind) << word;
  }
}

TEST(pcie_fault_settings, what_makes_no_sense_is_refused_with_its_line) {
  EXPECT_THAT(error_of("nth = 1"), AllOf(HasSubstr("s.toml:2"), HasSubstr("needs do")));
  EXPECT_THAT(error_of("do = \"poisn\""), AllOf(HasSubstr("s.toml:3"), HasSubstr("poison")));
  EXPECT_THAT(error_of("do = \"poison\"\nevry = 2"), HasSubstr("did you mean `every`"));
  EXPECT_THAT(error_of("do = \"late\""), HasSubstr("late needs delay_ns"));
  EXPECT_THAT(error_of("do = \"poison\"\ndelay_ns = 5"), HasSubstr("only late has delay_ns"));
  EXPECT_THAT(error_of("do = \"poison\"\nhost = 2"), HasSubstr("allowed: 0 to 1"));
  EXPECT_THAT(error_of("do = \"poison\"\nprobability = 0.0"), HasSubstr("above 0, up to 1"));
  EXPECT_THAT(error_of("do = \"poison\"\naddress = [2, 1]"), HasSubstr("2 is above 1"));
  EXPECT_THAT(error_of("do = \"poison\"\nlength = [1, 2, 3]"), HasSubstr("two ends"));
  EXPECT_THAT(error_of("do = \"poison\"\nnth = 0"), HasSubstr("nth"));
}

/// The reference path with one more section.
json run_reference(const std::string& section) {
  const scenario what = parse_scenario(R"(
[workload]
size = 4096
inline = false
align_doorbell = true
messages = 3
warmup = 1
)" + section,
                                       "s.toml");
  run_options options;
  options.progress = false;
  return simulate(what, what.points.at(0), options);
}

// The stage table: 470 cycles, 150 of them the fetch, 200 the payload.

TEST(pcie_fault_settings, a_late_wqe_costs_the_fetch_its_delay) {
  const json summary =
      run_reference("[[pcie_fault]]\ndo = \"late\"\nkind = \"wqe\"\nhost = 0\ndelay_ns = 100\n");
  EXPECT_EQ(cycles(summary, "wqe_fetch"), 250);
  EXPECT_EQ(cycles(summary, "payload_dma"), 200);
  EXPECT_EQ(total(summary), 570);
}

TEST(pcie_fault_settings, a_fault_of_the_other_host_changes_nothing) {
  const json summary = run_reference(
      "[[pcie_fault]]\ndo = \"late\"\nkind = \"payload\"\nhost = 1\ndelay_ns = 100\n");
  EXPECT_EQ(total(summary), 470);
}

TEST(pcie_fault_settings, the_timer_of_the_completion_time_out_is_no_part_of_the_run) {
  // 10 ms after the last read nothing is left to do.
  const json summary = run_reference("");
  EXPECT_LT(summary.at("simulated_ns").get<double>(), 1e6);
}

}  // namespace
}  // namespace carillon
