// The flags of the perftest tests: what they mean, what they default to (man page of
// linux-rdma/perftest), and the one message for what cannot be.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "cli/perftest_command.h"
#include "cli/perftest_options.h"
#include "cli/scenario_loader.h"
#include "common/error.h"

namespace carillon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

perftest_spec read(const std::string& line) {
  return resolve_perftest(parse_perftest_line(line));
}

std::string error_of(const std::string& line) {
  try {
    read(line);
  } catch (const config_error& error) {
    return error.what();
  }
  return "no error";
}

TEST(perftest_options, default_as_the_man_page_says) {
  const perftest_spec latency = read("ib_write_lat");
  EXPECT_EQ(latency.size, 2U);
  EXPECT_EQ(latency.iterations, 5000U);
  EXPECT_EQ(latency.tx_depth, 1U);
  EXPECT_EQ(latency.inline_bytes, 220U);
  EXPECT_EQ(latency.service, qpc_service::Rc);
  EXPECT_FALSE(latency.peak);
  const perftest_spec bandwidth = read("ib_send_bw");
  EXPECT_EQ(bandwidth.size, 65536U);
  EXPECT_EQ(bandwidth.iterations, 1000U);
  EXPECT_EQ(bandwidth.tx_depth, 128U);
  EXPECT_EQ(bandwidth.rx_depth, 512U);
  EXPECT_EQ(bandwidth.inline_bytes, 0U);
  EXPECT_EQ(bandwidth.qps, 1U);
  EXPECT_TRUE(bandwidth.peak);
  EXPECT_EQ(read("ib_read_lat").inline_bytes, 0U);
  EXPECT_EQ(read("ib_send_lat").inline_bytes, 236U);
  EXPECT_EQ(read("ib_send_lat -c UD").inline_bytes, 188U);
  EXPECT_EQ(read("ib_atomic_lat").size, 8U);
}

TEST(perftest_options, read_the_recipes_as_they_are_written_down) {
  const perftest_spec latency = read("ib_write_lat -d mlx5_0 -F -x 3 -n 100000 -N 10000 -q 1");
  EXPECT_EQ(latency.iterations, 100000U);
  EXPECT_EQ(latency.warmup, 10000U);
  EXPECT_EQ(latency.gid_index, 3U);
  EXPECT_EQ(latency.function, 0U);
  const perftest_spec bandwidth =
      read("ib_write_bw -d mlx5_0 -F --report_gbits -x 3 -q 4 -D 10 -s 65536");
  EXPECT_EQ(bandwidth.qps, 4U);
  EXPECT_TRUE(bandwidth.gbits);
  EXPECT_EQ(bandwidth.size, 65536U);
  EXPECT_EQ(bandwidth.duration, 2'000'000'000U);  // 2 ms of the 10 s
}

TEST(perftest_options, simulate_as_much_of_a_duration_as_is_asked_for) {
  EXPECT_EQ(read("ib_write_bw -D 500us").duration, 500'000'000U);
  EXPECT_EQ(read("ib_write_bw -D 1 --simulate 5ms").duration, 5'000'000'000U);
  EXPECT_EQ(read("ib_write_bw -D 0.25 --full_duration").duration, 250'000'000'000U);
}

TEST(perftest_options, n_alone_cancels_the_peak_and_with_a_count_warms_up) {
  EXPECT_FALSE(read("ib_write_bw -N").peak);
  EXPECT_EQ(read("ib_write_bw -N").warmup, 0U);
  EXPECT_EQ(read("ib_write_bw -N 100").warmup, 100U);
  EXPECT_FALSE(read("ib_write_bw -N 192.168.0.1").peak);
  EXPECT_FALSE(read("ib_write_bw -n 20001").peak);
  EXPECT_TRUE(read("ib_write_bw -n 20000").peak);
}

TEST(perftest_options, moderate_completions_of_small_messages) {
  EXPECT_EQ(read("ib_write_bw -s 8192").cq_mod, 100U);
  EXPECT_EQ(read("ib_write_bw -s 8193").cq_mod, 1U);
  EXPECT_EQ(read("ib_write_bw -s 64 -t 32").cq_mod, 32U);
  EXPECT_EQ(read("ib_write_bw -s 64 -Q 4").cq_mod, 4U);
  // A list ends with the WQE that is signaled.
  EXPECT_EQ(read("ib_write_bw -s 64 -l 32").cq_mod, 32U);
}

TEST(perftest_options, know_transports_and_atomics) {
  EXPECT_EQ(read("ib_send_bw -c UD -s 1024").service, qpc_service::Ud);
  EXPECT_EQ(read("ib_write_bw -c UC").service, qpc_service::Uc);
  EXPECT_TRUE(read("ib_atomic_lat -A CMP_AND_SWAP").compare_swap);
  EXPECT_EQ(read("ib_read_bw -o 4").outs, 4U);
  EXPECT_TRUE(read("ib_write_bw -b").bidirectional);
  EXPECT_EQ(read("ib_write_lat --doorbell").submit, perftest_submit::doorbell);
}

TEST(perftest_options, all_sizes_are_the_powers_of_two) {
  const std::vector<std::uint32_t> sizes = perftest_sizes(parse_perftest_line("ib_write_bw -a"));
  ASSERT_EQ(sizes.size(), 23U);
  EXPECT_EQ(sizes.front(), 2U);
  EXPECT_EQ(sizes.back(), 8388608U);
  EXPECT_EQ(perftest_sizes(parse_perftest_line("ib_send_lat -a -c UD -m 1024")).back(), 1024U);
}

TEST(perftest_options, a_device_is_a_function) {
  EXPECT_EQ(read("ib_write_lat -d mlx5_5").function, 5U);
  EXPECT_THAT(error_of("ib_write_lat -d eth0"), HasSubstr("-d: there is no device `eth0`"));
  EXPECT_THAT(error_of("ib_write_lat -d mlx5_257"), HasSubstr("mlx5_256"));
}

TEST(perftest_options, mistakes_name_the_flag) {
  EXPECT_THAT(error_of("ib_wirte_lat"), HasSubstr("did you mean `ib_write_lat`?"));
  EXPECT_THAT(error_of("ib_write_lat -n 4"), HasSubstr("from 5"));
  EXPECT_THAT(error_of("ib_write_lat -s 8388609"), HasSubstr("8388608"));
  EXPECT_THAT(error_of("ib_write_lat -q 2"), HasSubstr("-q: only of a bandwidth test"));
  EXPECT_THAT(error_of("ib_write_lat -t 2"), HasSubstr("-t: "));
  EXPECT_THAT(error_of("ib_write_lat -b"), HasSubstr("-b: "));
  EXPECT_THAT(error_of("ib_read_lat -I 8"), HasSubstr("-I: "));
  EXPECT_THAT(error_of("ib_read_lat -c UC"), HasSubstr("-c: UC has no READ"));
  EXPECT_THAT(error_of("ib_write_lat -c UD"), HasSubstr("-c: UD has SENDs only"));
  EXPECT_THAT(error_of("ib_write_lat -c XRC"), HasSubstr("RC, UC or UD"));
  EXPECT_THAT(error_of("ib_send_lat -c UD -s 4097"), HasSubstr("-s: a datagram of 4097"));
  EXPECT_THAT(error_of("ib_write_bw -m 1000"), HasSubstr("-m: 1000"));
  EXPECT_THAT(error_of("ib_write_bw -l 256"), HasSubstr("-l: a list of 256"));
  EXPECT_THAT(error_of("ib_write_bw -D 10 -n 10"), HasSubstr("-D: not together with -n"));
  EXPECT_THAT(error_of("ib_write_bw -D x"), HasSubstr("-D: `x`"));
  EXPECT_THAT(error_of("ib_write_bw --simulate 1ms"), HasSubstr("only with -D"));
  EXPECT_THAT(error_of("ib_write_bw -a -s 8"), HasSubstr("-a: not together with -s"));
  EXPECT_THAT(error_of("ib_atomic_bw -s 16"), HasSubstr("8 bytes"));
  EXPECT_THAT(error_of("ib_write_bw -o 4"), HasSubstr("-o: "));
  EXPECT_THAT(error_of("ib_read_bw -o 3"), HasSubstr("power of two"));
  EXPECT_THAT(error_of("ib_write_bw --blueflame --doorbell"), HasSubstr("--blueflame"));
  EXPECT_THAT(error_of("ib_write_bw --frobnicate"), HasSubstr("frobnicate"));
}

TEST(perftest_command_line, is_a_command_or_the_name_of_the_test) {
  EXPECT_THAT(with_perftest({"ib_write_lat", "-s", "8"}),
              ElementsAre("perftest", "ib_write_lat", "-s", "8"));
  EXPECT_THAT(with_perftest({"perftest", "ib_write_lat", "-N", "10"}),
              ElementsAre("perftest", "ib_write_lat", "--warmup=10"));
  EXPECT_THAT(with_perftest({"run", "-N", "10"}), ElementsAre("run", "-N", "10"));
}

TEST(perftest_section, makes_a_scenario_run_a_test) {
  const run_point point =
      parse_scenario("[perftest]\ncommand = \"ib_write_lat -m 1024 -d mlx5_2\"\n", "s.toml")
          .points.front();
  ASSERT_TRUE(point.perftest.has_value());
  EXPECT_EQ(point.perftest->size, 2U);
  EXPECT_EQ(point.params.wire.mtu, 1024);
  EXPECT_EQ(point.devices[1].enabled_vfs(), 2U);
}

TEST(perftest_section, mistakes_name_the_line) {
  const auto error = [](const std::string& text) -> std::string {
    try {
      parse_scenario(text, "s.toml");
    } catch (const config_error& wrong) {
      return wrong.what();
    }
    return "no error";
  };
  EXPECT_THAT(error("[perftest]\ncommand = \"ib_write_lat -q 2\"\n"),
              HasSubstr("s.toml:2: perftest.command: -q: only of a bandwidth test"));
  EXPECT_THAT(error("[perftest]\ncomand = \"x\"\n"), HasSubstr("did you mean `command`?"));
  EXPECT_THAT(error("[perftest]\ncommand = \"ib_write_lat -a\"\n"), HasSubstr("s.toml:2"));
}

}  // namespace
}  // namespace carillon
