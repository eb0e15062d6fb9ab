// The command line of the perftest tests: the flags of linux-rdma/perftest and what they default
// to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/perftest_spec.h"

namespace CLI {
class App;
}

namespace carillon {

/// As the user wrote it; what was not given has no value.
struct perftest_options {
  std::string test;
  std::string server;
  std::string device = "mlx5_0";
  std::string connection = "RC";
  std::string atomic_type = "FETCH_AND_ADD";
  std::string duration;
  std::string simulate;
  std::string json_file;
  std::optional<std::uint32_t> size;
  std::optional<std::uint64_t> iterations;
  std::optional<std::uint64_t> warmup;
  std::optional<std::uint32_t> qps;
  std::optional<std::uint32_t> tx_depth;
  std::optional<std::uint32_t> rx_depth;
  std::optional<std::uint32_t> post_list;
  std::optional<std::uint32_t> cq_mod;
  std::optional<std::uint32_t> inline_bytes;
  std::optional<std::uint32_t> mtu;
  std::optional<std::uint32_t> outs;
  std::optional<std::uint32_t> gid_index;
  std::optional<std::uint32_t> qp_timeout;
  std::optional<std::uint32_t> service_level;
  std::optional<std::uint32_t> ib_port;
  std::optional<std::uint32_t> port;
  bool all_sizes = false;
  bool no_peak = false;
  bool cpu_frequency = false;
  bool bidirectional = false;
  bool gbits = false;
  bool out_json = false;
  bool immediate = false;
  bool full_duration = false;
  bool blueflame = false;
  bool doorbell = false;
};

/// Index in PerftestNames; nothing if it is none of them.
std::optional<std::size_t> find_perftest(std::string_view name);

/// Adds perftest's own flags; SERVER too, but not TEST.
void add_perftest_flags(CLI::App& app, perftest_options& to);

/// `-N` alone cancels the peak, `-N COUNT` asks for so many warm-ups: CLI11 could not tell COUNT
/// from a server's address.
std::vector<std::string> with_warmups(const std::vector<std::string>& arguments);

/// What a test of these options does. Throws config_error, which begins with the flag, for what
/// cannot be. With -a it is that of the first size.
perftest_spec resolve_perftest(const perftest_options& options);

/// The sizes of -a, or the one.
std::vector<std::uint32_t> perftest_sizes(const perftest_options& options);

/// The same from one line, "ib_write_lat -s 2 -n 1000": for scenarios. Throws config_error.
perftest_options parse_perftest_line(const std::string& line);

/// "10", "0.5", "2ms", "500us" in ps; seconds without a unit. Throws config_error naming `flag`.
ps_t parse_duration(const std::string& text, std::string_view flag);

}  // namespace carillon
