// What one test in the manner of linux-rdma/perftest does, as plain data.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/types.h"
#include "gen/contexts.h"

namespace carillon {

enum class perftest_verb : std::uint8_t { write, read, send, atomic };

/// A test's name on the command line, and what it is.
struct perftest_name {
  std::string_view name;
  perftest_verb verb;
  bool latency;
};

inline constexpr std::array<perftest_name, 8> PerftestNames = {{
    {"ib_write_lat", perftest_verb::write, true},
    {"ib_read_lat", perftest_verb::read, true},
    {"ib_send_lat", perftest_verb::send, true},
    {"ib_atomic_lat", perftest_verb::atomic, true},
    {"ib_write_bw", perftest_verb::write, false},
    {"ib_read_bw", perftest_verb::read, false},
    {"ib_send_bw", perftest_verb::send, false},
    {"ib_atomic_bw", perftest_verb::atomic, false},
}};

/// How a WQE gets to the NIC.
enum class perftest_submit : std::uint8_t { automatic, blueflame, doorbell };

struct perftest_spec {
  perftest_verb verb = perftest_verb::write;
  bool latency = true;
  std::string device = "mlx5_0";  ///< as it was named
  std::uint16_t function = 0;     ///< of both hosts: 0 the PF, n VF n - 1
  qpc_service service = qpc_service::Rc;
  std::uint32_t gid_index = 0;
  std::uint32_t size = 2;
  std::uint64_t iterations = 1000;  ///< of each queue pair
  std::uint64_t warmup = 0;         ///< before them, not measured
  ps_t duration = 0;                ///< instead of iterations, if not 0
  bool peak = false;                ///< also the best bandwidth of any stretch of messages
  std::uint32_t qps = 1;
  std::uint32_t tx_depth = 1;
  std::uint32_t rx_depth = 512;
  std::uint32_t post_list = 1;
  std::uint32_t cq_mod = 1;        ///< one completion for so many messages
  std::uint32_t inline_bytes = 0;  ///< messages up to this travel in the WQE
  std::uint32_t outs = 16;         ///< READs and atomics under way, at most
  bool bidirectional = false;
  bool compare_swap = false;  ///< atomics: else fetch and add
  bool immediate = false;     ///< writes with immediate data
  bool gbits = false;         ///< bandwidth in Gb/s, not MiB/s
  perftest_submit submit = perftest_submit::automatic;
  bool traced = true;  ///< every message's spans are recorded and checked

  /// Whether half the time between two posts is what is reported: one message each way.
  [[nodiscard]] bool half_round_trip() const {
    return verb == perftest_verb::write || verb == perftest_verb::send;
  }

  [[nodiscard]] bool inlined() const {
    return size != 0 && size <= inline_bytes && half_round_trip();
  }
};

}  // namespace carillon
