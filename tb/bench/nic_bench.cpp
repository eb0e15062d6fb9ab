// How many messages a second the whole model simulates: 64 B WRITEs by doorbell, the payload read
// from host memory, between two NICs, from post to CQE.
//
// SystemC elaborates once a process, so every repetition runs in a child. Counted is what passes
// between the completions of the first message and of the last: bringing up the devices is not part
// of a message.
#include <array>
#include <benchmark/benchmark.h>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

#include <systemc>

#include "cli/runner.h"
#include "cli/scenario.h"
#include "cli/summary.h"
#include "common/error.h"

namespace carillon {
namespace {

constexpr std::uint64_t Messages = 20'000;

struct effort {
  double seconds = 0;
  double messages = 0;
  double wakes = 0;
  double kernel_events = 0;
  double tlps = 0;
};

scenario writes(std::uint32_t outstanding) {
  scenario result;
  result.name = "nic_bench";
  result.report_path = "post_to_cqe";
  run_point& point = result.points.emplace_back();
  point.workload.kind = outstanding == 1 ? workload_kind::write_lat : workload_kind::stream;
  point.workload.size = 64;
  point.workload.messages = Messages;
  point.workload.outstanding = outstanding;
  point.workload.inline_data = inline_mode::never;
  return result;
}

effort simulated(std::uint32_t outstanding) {
  const scenario what = writes(outstanding);
  run_options options;
  options.progress = false;
  const json stats = simulate(what, what.points.front(), options).at("stats");
  effort result;
  result.messages = static_cast<double>(Messages - 1);
  result.seconds = stats.at("wall_seconds").get<double>();
  result.wakes = stats.at("wakes").get<double>();
  result.kernel_events = stats.at("kernel_events").get<double>();
  result.tlps = stats.at("tlps").get<double>();
  return result;
}

/// Simulates in a child process.
effort in_a_child(std::uint32_t outstanding) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) {
    throw std::runtime_error(std::strerror(errno));
  }
  const pid_t child = fork();
  if (child == 0) {
    try {
      const effort spent = simulated(outstanding);
      const bool told = write(ends[1], &spent, sizeof spent) == sizeof spent;
      _exit(told ? 0 : 1);
    } catch (const std::exception& error) {
      fmt::print(stderr, "nic_bench: {}\n", error.what());
      _exit(1);
    }
  }
  close(ends[1]);
  effort result;
  const bool told = child > 0 && read(ends[0], &result, sizeof result) == sizeof result;
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!told || status != 0) {
    throw std::runtime_error("the simulation failed");
  }
  return result;
}

void write_64(benchmark::State& state) {
  effort sum;
  for (auto _ : state) {
    try {
      const effort each = in_a_child(static_cast<std::uint32_t>(state.range(0)));
      state.SetIterationTime(each.seconds);
      sum.seconds += each.seconds;
      sum.messages += each.messages;
      sum.wakes += each.wakes;
      sum.kernel_events += each.kernel_events;
      sum.tlps += each.tlps;
    } catch (const std::exception& error) {
      state.SkipWithError(error.what());
      return;
    }
  }
  state.counters["messages/s"] = sum.messages / sum.seconds;
  state.counters["wakes"] = sum.wakes / sum.messages;
  state.counters["kernel_events"] = sum.kernel_events / sum.messages;
  state.counters["tlps"] = sum.tlps / sum.messages;
}

BENCHMARK(write_64)
    ->ArgName("outstanding")
    ->Arg(1)
    ->Arg(16)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond)
    ->MinTime(2.0);

}  // namespace
}  // namespace carillon

int sc_main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

int main(int argc, char** argv) {
  setenv("SC_COPYRIGHT_MESSAGE", "DISABLE", 1);
  return sc_core::sc_elab_and_sim(argc, argv);
}
