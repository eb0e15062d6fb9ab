// Faults in whole runs: what a scenario's [[fault]] rules do to latencies, and what is told of
// them.

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <unistd.h>

#include "cli/runner.h"
#include "cli/scenario_loader.h"
#include "cli/subprocess.h"

namespace carillon {
namespace {

namespace fs = std::filesystem;

const std::string Base = R"(
[workload]
messages = 8
warmup = 1
size = 4096
inline = false
align_doorbell = true
)";

/// In a process of its own, since SystemC elaborates once per process.
json run(const std::string& text, std::uint64_t shuffle = 0, const fs::path& out = {}) {
  scenario_overrides overrides;
  overrides.shuffle = shuffle;
  scenario what = parse_scenario(text, "s.toml", overrides);
  what.trace.pcap = !out.empty();
  json result = json::parse(run_in_child([&] {
    return simulate(what, what.points.at(0), {out, false}).dump();
  }));
  result.erase("stats");
  return result;
}

double latency(const json& summary, const char* path, const char* which) {
  return summary["latency"][path][which].get<double>();
}

// 1 us is a whole number of cycles, so nothing but the acknowledge's way changes.
TEST(fault_run, a_delayed_acknowledge_delays_the_completion_by_just_that) {
  const json plain = run(Base);
  const json late =
      run(Base + "[[fault]]\ndo = \"delay\"\nopcode = \"acknowledge\"\nby_ns = 1000\n");
  for (const char* which : {"min", "max"}) {
    EXPECT_EQ(latency(late, "post_to_cqe", which), latency(plain, "post_to_cqe", which) + 1000);
    EXPECT_EQ(latency(late, "doorbell_to_wire", which), latency(plain, "doorbell_to_wire", which));
  }
  EXPECT_EQ(late["faults"]["delay"], 9);  // an acknowledge a message, warm-up and all
  EXPECT_EQ(late["faults"]["host1_to_host0"]["delay"], 9);
  EXPECT_EQ(late["faults"]["host0_to_host1"]["delay"], 0);
  EXPECT_EQ(late["faults"]["rules"]["0"]["do"], "delay");
  EXPECT_EQ(late["faults"]["rules"]["0"]["matched"], 9);
  EXPECT_EQ(late["faults"]["rules"]["0"]["applied"], 9);
  EXPECT_FALSE(plain.contains("faults"));
}

TEST(fault_run, rules_that_never_act_change_nothing) {
  json plain = run(Base);
  json watched = run(Base + "[[fault]]\ndo = \"drop\"\npsn = 16777215\nqpn = 0\n");
  EXPECT_EQ(watched["faults"]["drop"], 0);
  watched.erase("faults");
  EXPECT_EQ(watched.dump(), plain.dump());
}

TEST(fault_run, a_duplicate_is_seen_and_thrown_away) {
  const json twice = run(Base + "[[fault]]\ndo = \"duplicate\"\nopcode = \"request\"\n");
  EXPECT_EQ(twice["faults"]["duplicate"], 9);
  EXPECT_EQ(twice["counters"]["nic1"]["rx_packets"], 18);
  EXPECT_EQ(twice["counters"]["nic1"]["duplicate_request"], 9);
  EXPECT_EQ(twice["messages"], 8);
}

TEST(fault_run, results_do_not_depend_on_the_order_of_evaluation) {
  const std::string text = R"(
[workload]
kind = "stream"
messages = 200
size = 256
outstanding = 8
qps = 2
directions = "both"
[[fault]]
do = "duplicate"
probability = 0.2
by_ns = 40
[[fault]]
do = "delay"
opcode = "acknowledge"
probability = 0.5
by_ns = 300
)";
  const fs::path folder =
      fs::temp_directory_path() / ("carillon_faults_" + std::to_string(getpid()));
  const auto lines = [](const fs::path& file) {
    std::ifstream in(file);
    std::ostringstream content;
    content << in.rdbuf();
    return content.str();
  };
  const json plain = run(text, 0, folder / "0");
  EXPECT_GT(plain["faults"]["duplicate"], 0);
  EXPECT_GT(plain["faults"]["delay"], 0);
  for (const std::uint64_t shuffle : {1, 2, 3}) {
    const fs::path own = folder / std::to_string(shuffle);
    EXPECT_EQ(run(text, shuffle, own).dump(), plain.dump()) << shuffle;
    EXPECT_EQ(lines(own / "faults.json"), lines(folder / "0" / "faults.json")) << shuffle;
    EXPECT_EQ(lines(own / "wire.pcapng"), lines(folder / "0" / "wire.pcapng")) << shuffle;
  }
  EXPECT_NE(lines(folder / "0" / "faults.json").find("\"action\":\"delay\""), std::string::npos);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace carillon
