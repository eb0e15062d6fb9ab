// What a network does over time, for plots: every interval a sample of queues, pauses and rates, to
// series.csv in the output folder. A line for each value that is another one than before.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/output_file.h"
#include "cli/system.h"
#include "cli/traffic.h"
#include "common/timeline.h"

namespace carillon {

class series_output final : private timed {
 public:
  /// Samples from now on, for as long as a program runs.
  series_output(system_model& system, const traffic& programs, const workload_spec& workload,
                const std::filesystem::path& folder, ps_t interval);

  void close();

 private:
  struct rate {
    std::uint64_t bytes = 0;  ///< up to the last sample
    std::size_t series = 0;
  };

  std::size_t add(std::string name);
  void on_time(ps_t now, std::uint64_t what) override;
  void sample(ps_t now);
  void sample_network(ps_t now);
  void put(ps_t now, std::size_t series, double value);
  void put_rate(ps_t now, rate& of, std::uint64_t bytes);

  system_model& system_;
  const traffic& programs_;
  ps_t interval_;
  output_file file_;
  std::vector<std::string> names_;
  std::vector<double> last_;  ///< by series
  std::size_t network_ = 0;   ///< the first series of the switches
  std::vector<rate> sent_;
  std::vector<rate> received_;
  std::vector<rate> flows_;
  std::vector<std::size_t> paused_;
};

}  // namespace carillon
