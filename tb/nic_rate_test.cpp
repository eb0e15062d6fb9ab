// The message rate is the closed form: the minimum over the stages of outstanding / latency or 1 /
// initiation interval.
#include <algorithm>
#include <gtest/gtest.h>
#include <vector>

#include "cli/scenario_loader.h"
#include "cli/system.h"
#include "cli/workload.h"
#include "common/nic_run.h"
#include "gen/stages.h"

namespace carillon {
namespace {

/// When the messages' first bits left.
class departures final : public message_observer {
 public:
  void on_message(const message_record& message) override {
    if (message.reached(milestone::first_bit)) {
      times.push_back(message.time_of(milestone::first_bit));
    }
  }

  /// Messages per cycle of 1 ns over the middle half.
  [[nodiscard]] double rate() {
    std::sort(times.begin(), times.end());
    const std::size_t from = times.size() / 4;
    const std::size_t to = from * 3;
    return static_cast<double>(to - from) * 1000.0 / static_cast<double>(times[to] - times[from]);
  }

  std::vector<ps_t> times;
};

double measured_rate(std::vector<std::string> set) {
  // A core that posts for free, so that only the NIC can be the limit.
  for (const char* free : {"cpu.wqe_build_ps=0", "cpu.post_ps=0", "cpu.inline_copy_ps=0",
                           "cpu.dbrec_write_ps=0", "cpu.fence_ps=0", "workload.warmup=0"}) {
    set.emplace_back(free);
  }
  scenario_overrides overrides;
  overrides.set = set;
  const scenario what = load_scenario("scenarios/message_rate.toml", overrides);
  const run_point& point = what.points.front();
  system_model system(point, workload::cores(point.workload), {});
  departures seen;
  system.context.trace.observe(seen);
  workload traffic(system, point);
  traffic.start();
  system.run();
  traffic.check_finished();
  return seen.rate();
}

/// Of a 256-byte read, request to answer: 126 cycles for 64 bytes and three beats more.
constexpr double FetchRoundTrip = 126 + 3;

/// WQEBBs that fit between wqe_fetch and wqe_parser, over the time for which each is reserved: from
/// the grant to the cycle after the parser took it.
double fetch_rate() {
  namespace fetch = stage_spec::wqe_fetch;
  return fetch::Depth / (FetchRoundTrip + fetch::Done + fetch::GrantWqebbs);
}

/// One packet of a QP is between lookup and commit: the lookup, the verdict and the commit's way
/// back.
double receive_rate_of_one_qp() {
  return 1.0 / (stage_spec::rx_parser::Lookup + 2);
}

/// 8 bytes in a frame of 82 bytes: 2 beats, and 82 + 24 bytes of wire at 50 bytes a cycle.
double builder_rate() {
  return 1.0 / 2;
}

double wire_rate() {
  return 50.0 / (82 + 24);
}

TEST(nic_rate, eight_qps_send_at_the_rate_of_the_slowest_stage) {
  const double closed = std::min({fetch_rate(), builder_rate(), wire_rate()});
  const double rate =
      measured_rate({"workload.qps=8", "workload.batch=512", "workload.outstanding=512",
                     "workload.queue_depth=512", "workload.messages=4096"});
  EXPECT_NEAR(rate, closed, closed * 0.01);
}

TEST(nic_rate, one_qp_is_received_at_the_rate_of_its_psn_loop) {
  const json summary = run_with("message_rate");
  const double closed =
      std::min({fetch_rate(), builder_rate(), wire_rate(), receive_rate_of_one_qp()}) * 1e9;
  EXPECT_NEAR(summary.at("rates").at("messages_per_second").get<double>(), closed, closed * 0.01);
}

}  // namespace
}  // namespace carillon
