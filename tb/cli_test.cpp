// The command line as a user meets it: help, exit codes, messages, and outputs that cannot be
// written.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/subprocess.h"
#include "cli/text.h"
#include "common/error.h"
#include "gen/counters.h"
#include "gen/params.h"
#include "gen/registers.h"
#include "gen/stages.h"

namespace carillon {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

struct outcome {
  int code = 0;
  std::string out;
  std::string error;
};

outcome carillon_with(const std::vector<std::string>& arguments) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  outcome result;
  result.code = run_guarded(arguments);
  result.out = testing::internal::GetCapturedStdout();
  result.error = testing::internal::GetCapturedStderr();
  return result;
}

void expect_user_error(const std::vector<std::string>& arguments, const std::string& part) {
  const outcome result = carillon_with(arguments);
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.error, HasSubstr(part));
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(std::count(result.error.begin(), result.error.end(), '\n'), 1) << result.error;
}

TEST(cli, help_is_golden) {
  std::string text;
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"--help"},
                                                    {"run", "--help"},
                                                    {"perftest", "--help"},
                                                    {"devinfo", "--help"},
                                                    {"lockstep", "--help"},
                                                    {"config-space", "--help"},
                                                    {"sweep", "--help"},
                                                    {"report", "--help"},
                                                    {"compare", "--help"}}) {
    const outcome result = carillon_with(arguments);
    EXPECT_EQ(result.code, 0);
    text += "$ carillon " + arguments.front() + (arguments.size() > 1 ? " " + arguments[1] : "") +
            "\n" + result.out + "\n";
  }
  const fs::path golden = "tb/golden/help.txt";
  if (std::getenv("CARILLON_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(golden) << text;
  }
  std::ifstream in(golden);
  std::ostringstream expected;
  expected << in.rdbuf();
  EXPECT_EQ(text, expected.str()) << "CARILLON_UPDATE_GOLDEN=1 rewrites " << golden;
}

TEST(cli, mistakes_exit_2_with_one_message) {
  expect_user_error({}, "subcommand is required");
  expect_user_error({"rnu"}, "`run`");
  expect_user_error({"run"}, "SCENARIO");
  expect_user_error({"run", "absent.toml"}, "absent.toml");
  expect_user_error({"run", "scenarios"}, "is a folder");
  expect_user_error({"run", "scenarios/ping_pong.toml", "--sede=3"}, "`--seed`");
  expect_user_error({"run", "scenarios/ping_pong.toml", "--seed", "x"}, "--seed");
  expect_user_error({"run", "scenarios/ping_pong.toml", "--seed", "-1"}, "--seed");
  expect_user_error({"run", "scenarios/ping_pong.toml", "--trace-limit=-1"}, "--trace-limit");
  expect_user_error({"run", "scenarios/ping_pong.toml", "--trace-from", "99999999999999999999"},
                    "--trace-from");
  expect_user_error({"lockstep", "wqe_parser", "--transactions", "0"}, "from 1");
  expect_user_error({"run", "scenarios/ping_pong.toml", "--trace=sqlit"}, "`sqlite`");
  expect_user_error({"run", "scenarios/ping_pong.toml", "--rtl-clock", "never"}, "busy");
  expect_user_error({"run", "scenarios/ping_pong.toml", "--set", "cpu.nois=true"}, "`cpu.noise`");
  expect_user_error({"run", "scenarios/ping_pong.toml", "--set", "device.SRIOV_EN=true", "--set",
                     "device.NUM_OF_VFS=2"},
                    "2 VFs that nobody uses");
  expect_user_error({"config-space", "--vfs", "999"}, "--vfs");
  expect_user_error({"perftest"}, "TEST");
  expect_user_error({"perftest", "ib_wirte_lat"}, "`ib_write_lat`");
  expect_user_error({"perftest", "ib_write_lat", "-q", "4"}, "-q: only of a bandwidth test");
  expect_user_error({"ib_write_bw", "--report_gbit"}, "`--report_gbits`");
  expect_user_error({"ib_write_lat", "--profile", "cx7"}, "cx7-200g");
  expect_user_error({"run", "scenarios/ping_pong.toml", "--trace-from", "5", "--trace-to", "4"},
                    "--trace-from");
  expect_user_error({"run", "scenarios/ping_pong.toml", "--window", "m5:9"}, "both messages");
  expect_user_error({"run", "scenarios/sweeps/doorbell_crossover.toml"}, "`carillon sweep`");
  expect_user_error({"sweep", "scenarios/ping_pong.toml"}, "[sweep]");
  expect_user_error({"compare", "absent", "scenarios"}, "absent: there is no such folder");
  expect_user_error({"compare", "scenarios", "scenarios"}, "neither summary.json");
}

TEST(cli, a_report_without_python_says_what_to_install) {
  setenv("CARILLON_PYTHON", "/absent/python3", 1);
  expect_user_error({"report", "scenarios"}, "apt-get install python3-jinja2 python3-plotly");
  expect_user_error({"report", "scenarios"}, "/absent/python3 does not run");
  unsetenv("CARILLON_PYTHON");
  setenv("CARILLON_SCRIPTS", "/absent", 1);
  expect_user_error({"report", "scenarios"}, "/absent");
}

TEST(cli, an_output_folder_that_cannot_be_is_named) {
  expect_user_error({"run", "scenarios/ping_pong.toml", "--out", "/dev/null/x"}, "/dev/null/x");
}

TEST(cli, lists_hold_everything_in_the_specification) {
  const auto count = [](const char* what) {
    const outcome result = carillon_with({what, "--json"});
    EXPECT_EQ(result.code, 0);
    return nlohmann::json::parse(result.out).size();
  };
  EXPECT_EQ(count("stages"), StageTable.size());
  EXPECT_EQ(count("params"), ParamTable.size());
  EXPECT_EQ(count("registers"), RegisterTable.size());
  EXPECT_EQ(count("counters"), CounterTable.size());
  EXPECT_THAT(carillon_with({"stages"}).out, HasSubstr("stages 1 to 8: 470 cycles"));
  EXPECT_THAT(carillon_with({"params"}).out, HasSubstr("pcie.generation"));
  EXPECT_THAT(carillon_with({"registers"}).out, HasSubstr("0x"));
  EXPECT_THAT(carillon_with({"counters"}).out, HasSubstr("rx_out_of_buffer"));
  EXPECT_THAT(carillon_with({"version"}).out, HasSubstr("carillon "));
}

TEST(cli, counters_have_the_names_that_users_of_real_parts_know) {
  const auto list = nlohmann::json::parse(carillon_with({"counters", "--json"}).out);
  std::map<std::string, std::string> rdma;
  std::map<std::string, std::string> ethtool;
  for (const auto& each : list) {
    rdma[each["rdma"]] = each["name"];
    ethtool[each["ethtool"]] = each["name"];
  }
  // Names of the vendor's driver: its hw_counters, and ethtool -S.
  for (const char* name :
       {"out_of_buffer", "out_of_sequence", "duplicate_request", "packet_seq_err",
        "implied_nak_seq_err", "local_ack_timeout_err", "rnr_nak_retry_err",
        "req_remote_invalid_request", "req_remote_access_errors", "resp_cqe_error",
        "resp_cqe_flush_error", "resp_local_length_error", "rx_icrc_encapsulated"}) {
    EXPECT_TRUE(rdma.contains(name)) << name;
  }
  EXPECT_EQ(rdma["out_of_buffer"], "rx_out_of_buffer");
  EXPECT_EQ(ethtool["rx_out_of_buffer"], "rx_out_of_buffer");
}

TEST(cli, devinfo_lists_the_pf_and_each_vf) {
  const outcome result = carillon_with({"devinfo", "--vfs", "2"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.error, "");
  for (const char* part :
       {"hca_id:                         mlx5_0\n", "hca_id:                         mlx5_2\n",
        "vendor_id:                      0x15b3\n", "vendor_part_id:                 4129\n",
        "PF, 2 of 64 VFs enabled\n", "state:                          PORT_ACTIVE (4)\n",
        "active_mtu:                     4096 (5)\n", "link_layer:                     Ethernet\n",
        "0000:0000:0000:0000:0000:ffff:0a00:0001, RoCE v2\n"}) {
    EXPECT_THAT(result.out, HasSubstr(part));
  }
  EXPECT_THAT(result.out, testing::Not(HasSubstr("mlx5_3")));
}

TEST(cli, devinfo_is_there_for_programs_and_refuses_what_no_device_has) {
  expect_user_error({"devinfo", "--vfs", "65"}, "nic.total_vfs allows 64");
  expect_user_error({"devinfo", "absent.toml"}, "absent.toml");
  const outcome result = carillon_with({"devinfo", "--json"});
  const auto list = nlohmann::json::parse(result.out);
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0]["vendor_part_id"], 0x1021);
  EXPECT_EQ(list[0]["gids"]["0"]["type"], "RoCE v2");
}

TEST(cli, what_is_printed_to_a_full_disk_is_an_error) {
  // In a child, whose standard output can be spoilt.
  const std::string code = run_in_child([] {
    if (std::freopen("/dev/full", "w", stdout) == nullptr) {
      return std::string("no /dev/full");
    }
    return std::to_string(run_guarded({"params"}));
  });
  EXPECT_EQ(code, "2");
}

TEST(subprocess, hands_results_and_failures_back) {
  EXPECT_EQ(run_in_child([] { return std::string(1000000, 'x'); }), std::string(1000000, 'x'));
  EXPECT_EQ(run_in_child([] { return std::string(); }), "");
  EXPECT_THROW(run_in_child([]() -> std::string { throw output_error("disk"); }), output_error);
  EXPECT_THROW(run_in_child([]() -> std::string { throw model_error("bug"); }), model_error);
  EXPECT_THROW(run_in_child([]() -> std::string { std::_Exit(5); }), model_error);
  try {
    run_in_child([]() -> std::string { throw config_error("wrong key"); });
    FAIL();
  } catch (const output_error&) {
    FAIL();
  } catch (const config_error& error) {
    EXPECT_STREQ(error.what(), "wrong key");
  }
}

TEST(text, nearest_names) {
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("seed", "sede"), 1U);  // neighbours swapped
  EXPECT_EQ(closest("mps", {"pcie.mps", "pcie.mrrs"}), "pcie.mps");
  EXPECT_EQ(closest("zebra", {"pcie.mps", "wire.mtu"}), "");
  EXPECT_EQ(any_of({"a", "b", "c"}), "a, b or c");
  EXPECT_EQ(grouped(1234567), "1,234,567");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(trimmed(470.0), "470");
  EXPECT_EQ(trimmed(0.1239), "0.124");
}

}  // namespace
}  // namespace carillon
