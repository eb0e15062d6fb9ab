// What a network does over time, for plots: every interval a sample of queues, pauses, rates and
// what rate control makes of them, to series.csv in the output folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "cli/output_file.h"
#include "cli/system.h"
#include "cli/traffic.h"
#include "common/rate_items.h"
#include "common/timeline.h"

namespace carillon {

class series_output final : private timed {
 public:
  /// Samples from now on, for as long as a program runs.
  series_output(system_model& system, const traffic& programs, const workload_spec& workload,
                const std::filesystem::path& folder, ps_t interval);

  void close();

 private:
  struct line {
    std::string name;  ///< "kind,name"
    double last = 0;
    bool begun = false;
  };

  struct rate {
    std::uint64_t bytes = 0;  ///< up to the last sample
    std::size_t series = 0;
  };

  struct queue_pair {
    std::uint32_t qpn = 0;
    std::size_t first = 0;  ///< of its series: current rate, target, alpha
  };

  struct adapter {
    std::string name;
    rate sent;
    rate received;
    std::size_t pauses = 0;  ///< first of eight
    std::size_t cnps = 0;    ///< sent, and handled
    std::vector<queue_pair> queue_pairs;
  };

  std::size_t add(std::string_view kind, std::string name);
  void on_time(ps_t now, std::uint64_t what) override;
  void sample(ps_t now);
  void sample_adapter(ps_t now, const nic& from, adapter& to);
  void sample_rates(ps_t now, const nic& from, adapter& to);
  void sample_network(ps_t now);
  void put(ps_t now, std::size_t series, double value);
  void put_rate(ps_t now, rate& of, std::uint64_t bytes);
  void write(ps_t time, const line& of, double value);

  system_model& system_;
  const traffic& programs_;
  ps_t interval_;
  ps_t begin_;
  output_file file_;
  std::vector<line> lines_;
  std::size_t network_ = 0;  ///< the first series of the switches
  std::vector<adapter> adapters_;
  std::vector<rate> flows_;
  std::vector<qp_rate> found_;  ///< by one sample
};

}  // namespace carillon
