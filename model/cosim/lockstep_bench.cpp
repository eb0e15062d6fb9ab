#include "cosim/lockstep_bench.h"

#include <algorithm>

#include "common/error.h"
#include "cosim/rtl_block.h"
#include "cosim/stage_benches.h"

namespace carillon {

namespace {

struct bench_entry {
  const char* stage;
  lockstep_report (*run)(const lockstep_options& options);
};

constexpr bench_entry Benches[] = {
    {"dcqcn", run_dcqcn_bench},
    {"packet_builder", run_packet_builder_bench},
    {"payload_dma", run_payload_dma_bench},
    {"pcie_rx", run_pcie_rx_bench},
    {"qpc_ram", run_qpc_ram_bench},
    {"rx_parser", run_rx_parser_bench},
    {"tx_mac", run_tx_mac_bench},
    {"tx_sched", run_tx_sched_bench},
    {"uar", run_uar_bench},
    {"wqe_fetch", run_wqe_fetch_bench},
    {"wqe_parser", run_wqe_parser_bench},
};

/// A bin that was hit is reachable, whatever the spec argues.
void refute_exclusions(const lockstep_report& report, const lockstep_options& options) {
  for (const coverage_bin& each : report.coverage) {
    if (!each.excluded.empty() && each.hits != 0) {
      throw model_error(fmt::format(
          "{}: coverage bin {} was hit {} times, but docs/spec/coverage.toml excludes it: {}\n"
          "  to repeat: {}",
          options.stage, each.name, each.hits, each.excluded, replay_command(options)));
    }
  }
}

}  // namespace

const char* to_string(bench_pattern pattern) {
  switch (pattern) {
    case bench_pattern::none:
      return "none";
    case bench_pattern::every_4th:
      return "every4th";
    case bench_pattern::random:
      return "random";
  }
  return "?";
}

bench_pattern parse_bench_pattern(std::string_view name) {
  for (const auto each : {bench_pattern::none, bench_pattern::every_4th, bench_pattern::random}) {
    if (name == to_string(each)) {
      return each;
    }
  }
  throw config_error(fmt::format("pattern '{}'; allowed: none, every4th, random", name));
}

std::uint64_t lockstep_report::hits(std::string_view bin) const {
  const auto found = std::find_if(coverage.begin(), coverage.end(),
                                  [bin](const coverage_bin& each) { return each.name == bin; });
  CARILLON_CHECK(found != coverage.end(), "no coverage bin '{}'", bin);
  return found->hits;
}

std::vector<std::string> lockstep_report::uncovered() const {
  std::vector<std::string> result;
  for (const coverage_bin& each : coverage) {
    if (each.hits == 0 && each.excluded.empty()) {
      result.push_back(each.name);
    }
  }
  return result;
}

std::size_t lockstep_report::countable() const {
  return static_cast<std::size_t>(
      std::count_if(coverage.begin(), coverage.end(),
                    [](const coverage_bin& each) { return each.excluded.empty(); }));
}

std::vector<std::string> lockstep_stages() {
  // A build may lack twins: those that were not asked for, and those that are not finished.
  const std::vector<std::string> built = rtl_registry::instance().stages();
  std::vector<std::string> result;
  for (const bench_entry& each : Benches) {
    if (std::find(built.begin(), built.end(), each.stage) != built.end()) {
      result.emplace_back(each.stage);
    }
  }
  return result;
}

std::string replay_command(const lockstep_options& options) {
  std::string text = fmt::format(
      "carillon lockstep {} --transactions {} --seed {} --source {} --sink {}", options.stage,
      options.transactions, options.seed, to_string(options.source), to_string(options.sink));
  text += options.rtl_clock_always ? " --rtl-clock always" : "";
  text += options.audit ? " --audit" : "";
  text += options.variant.empty() ? "" : " --variant " + options.variant;
  text += options.reset_seed == 0 ? "" : fmt::format(" --reset-seed {}", options.reset_seed);
  text += options.shuffle_seed == 0 ? "" : fmt::format(" --shuffle {}", options.shuffle_seed);
  return text;
}

lockstep_report run_lockstep(const lockstep_options& options) {
  for (const bench_entry& each : Benches) {
    if (options.stage == each.stage) {
      lockstep_report report = each.run(options);
      refute_exclusions(report, options);
      return report;
    }
  }
  std::string known;
  for (const std::string& each : lockstep_stages()) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", each);
  }
  throw config_error(
      fmt::format("stage '{}' has no lockstep bench; allowed: {}", options.stage, known));
}

}  // namespace carillon
