// What a scenario asks for, as plain data: the loader fills it, system and workload consume it.
//
// A scenario is one run or several (`[[points]]`, or a list of sizes). Everything that may differ
// between runs is in run_point; each point is simulated in a process of its own, because SystemC
// elaborates once per process.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/twin.h"
#include "common/types.h"
#include "gen/params.h"
#include "host/pcie_faults.h"

namespace carillon {

enum class workload_kind : std::uint8_t {
  write_lat,  ///< keeps `outstanding` requests in flight and waits for CQEs; 1: one after the other
  ping_pong,  ///< node 0 writes, node 1 sees it in memory and answers; one_way is half a round trip
  stream,     ///< keeps `outstanding` requests in flight per QP as fast as they go: rates
};

enum class work_opcode : std::uint8_t { write, write_imm, send, send_imm };

enum class submit_mode : std::uint8_t { doorbell, blueflame };

enum class inline_mode : std::uint8_t { never, always, automatic };

const char* to_string(workload_kind kind);
const char* to_string(work_opcode opcode);
const char* to_string(submit_mode mode);
const char* to_string(inline_mode mode);

/// Whether the receiver must have posted a receive.
bool consumes_receive(work_opcode opcode);
/// Whether the sender says where in the receiver's memory the bytes go.
bool writes_memory(work_opcode opcode);

/// Other traffic from node 0 to node 1 while the measured one runs. It is not in the latency
/// statistics.
struct background_spec {
  std::uint32_t qps = 0;  ///< 0: none
  work_opcode opcode = work_opcode::write;
  std::uint32_t size = 4096;
  std::uint32_t outstanding = 1;  ///< per QP
};

struct workload_spec {
  workload_kind kind = workload_kind::write_lat;
  work_opcode opcode = work_opcode::write;
  std::uint32_t size = 64;         ///< payload bytes of a message
  std::uint64_t messages = 1;      ///< measured, over all QPs and both directions together
  std::uint64_t warmup = 0;        ///< before them, not measured
  std::uint32_t outstanding = 1;   ///< requests in flight per QP
  std::uint32_t qps = 1;           ///< per direction
  std::uint32_t queue_depth = 64;  ///< send queue size in WQEBBs, a power of two
  submit_mode submit = submit_mode::doorbell;
  inline_mode inline_data = inline_mode::automatic;
  std::uint32_t batch = 1;           ///< WQEs per doorbell
  std::uint32_t signaled_every = 1;  ///< every n-th WQE asks for a CQE
  bool both_directions = false;
  bool align_doorbell =
      false;            ///< the first symbol of each doorbell TLP arrives on a core clock edge
  bool verify = false;  ///< compare the receiver's memory with what was sent, byte for byte
  background_spec background;

  /// Whether the payload travels in the WQE: `automatic` inlines what fits into `limit` bytes.
  [[nodiscard]] bool inlined(std::uint32_t limit) const {
    return inline_data == inline_mode::always ||
           (inline_data == inline_mode::automatic && size <= limit);
  }
};

/// Everything that one simulation needs to know.
struct run_point {
  std::string label;  ///< empty when the scenario has only this one
  parameters params;
  std::map<std::string, impl_kind, std::less<>> impl;  ///< a stage that is not named is the model
  bool rtl_clock_always = false;
  std::uint64_t seed = 1;
  std::uint64_t shuffle = 0;
  workload_spec workload;
  std::vector<read_fault_rule> pcie_faults;
  std::map<std::string, std::string, std::less<>>
      set_by;  ///< key -> file:line or option, for reports

  [[nodiscard]] impl_kind impl_of(std::string_view stage) const {
    const auto found = impl.find(stage);
    return found == impl.end() ? impl_kind::model : found->second;
  }
};

/// What is written besides the summary.
struct trace_spec {
  bool sqlite = false;
  bool perfetto = false;
  bool stages = false;
  bool pcap = false;
  ps_t from = 0;
  ps_t to = NeverPs;
  std::uint64_t limit = 0;  ///< messages; 0: no limit

  [[nodiscard]] bool any() const { return sqlite || perfetto || stages || pcap; }
};

/// One line of `[expect]`: the value at `path` of the summary.
struct expectation {
  std::string path;   ///< dotted
  std::string where;  ///< file:line, for the message
  std::optional<std::string> text;
  std::optional<bool> flag;
  std::optional<double> value;
  double tolerance = 0;  ///< absolute, already computed from `percent`
  std::optional<double> min;
  std::optional<double> max;
};

struct scenario {
  std::string file;
  std::string name;
  std::string question;
  std::string profile = "reference";
  std::string report_path = "doorbell_to_wire";
  std::vector<run_point> points;  ///< never empty
  trace_spec trace;
  std::vector<expectation> expect;

  [[nodiscard]] bool single() const { return points.size() == 1 && points.front().label.empty(); }
};

}  // namespace carillon
