// What a scenario asks for, as plain data: the loader fills it, system and workload consume it.
//
// A scenario is one run or several (`[[points]]`, or a list of sizes). Everything that may differ
// between runs is in run_point; each point is simulated in a process of its own, because SystemC
// elaborates once per process.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/network_spec.h"
#include "cli/perftest_spec.h"
#include "cli/sweep_spec.h"
#include "common/twin.h"
#include "common/types.h"
#include "fabric/fault_rule.h"
#include "gen/contexts.h"
#include "gen/params.h"
#include "host/function_settings.h"
#include "host/pcie_faults.h"

namespace carillon {

enum class workload_kind : std::uint8_t {
  write_lat,  ///< keeps `outstanding` requests in flight and waits for CQEs; 1: one after the other
  ping_pong,  ///< node 0 writes, node 1 sees it in memory and answers; one_way is half a round trip
  stream,     ///< keeps `outstanding` requests in flight per QP as fast as they go: rates
  mixed,      ///< every kind of request, of random size and scattering, in both directions
  incast,     ///< all other hosts send to host 0
  all_to_all,  ///< each host sends to each other one
  shift,       ///< each host sends to the one `stride` numbers on
};

enum class work_opcode : std::uint8_t {
  write,
  write_imm,
  send,
  send_imm,
  send_invalidate,
  read,
  compare_swap,
  fetch_add
};

inline constexpr std::size_t WorkOpcodes = 8;

enum class submit_mode : std::uint8_t { doorbell, blueflame };

enum class inline_mode : std::uint8_t { never, always, automatic };

/// How a program waits for completions.
enum class waiting_mode : std::uint8_t { poll, event };

const char* to_string(workload_kind kind);
const char* to_string(work_opcode opcode);
const char* to_string(submit_mode mode);
const char* to_string(inline_mode mode);
const char* to_string(waiting_mode mode);

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

/// What a `mixed` workload draws from.
struct mixed_spec {
  std::array<std::uint32_t, WorkOpcodes> weights = {4, 1, 4, 1, 0, 2, 1, 1};  ///< by work_opcode
  qpc_service service = qpc_service::Rc;
  std::uint32_t max_sges = 4;
  std::uint32_t unsignaled = 30;             ///< percent of the requests that ask for no completion
  std::uint32_t fenced = 5;                  ///< percent of the requests with a fence
  std::uint32_t receives = 16;               ///< receive requests posted ahead for each QP
  bool shared_receives = false;              ///< the QPs of a host share one receive queue
  bool scattered = false;                    ///< buffers are page lists over scattered pages
  bool signature = false;                    ///< WQEs are signed
  std::uint64_t receiver_pause_ps = 500000;  ///< between looks at the receive CQ
};

/// Attributes of every connection; what is not set is the driver's default.
struct connection_spec {
  std::uint32_t ack_timeout = 14;  ///< 4.096 us * 2^n, 0 is never
  std::uint32_t retry_count = 7;
  std::uint32_t rnr_retry = 7;  ///< 7 is for ever
  std::uint32_t min_rnr_nak = 12;
  std::uint32_t log_max_rd_atomic = 4;
  std::uint32_t log_max_dest_rd_atomic = 4;
};

/// Where a tenant's traffic goes.
enum class tenant_peer : std::uint8_t {
  host1,     ///< to a function of the other host
  loopback,  ///< to another function of the same device
};

/// What a tenant's program does wrong, on purpose.
enum class tenant_mistake : std::uint8_t {
  none,
  foreign_pd,           ///< its buffer's key belongs to another protection domain than its QPs
  unregistered_memory,  ///< it has given its buffer's key up before it uses it
  foreign_qp,           ///< it sends to its peer's address, but to the next tenant's QP
};

const char* to_string(tenant_peer peer);
const char* to_string(tenant_mistake mistake);

/// One `[[tenant]]`: `count` tenants alike. What it does not say is as `[workload]` says.
struct tenant_table {
  std::uint32_t count = 1;
  std::optional<work_opcode> opcode;
  std::optional<std::uint32_t> size;
  std::optional<std::uint64_t> messages;
  std::optional<std::uint64_t> warmup;
  std::optional<std::uint32_t> outstanding;
  std::optional<std::uint32_t> qps;
  std::optional<std::uint32_t> queue_depth;
  std::optional<submit_mode> submit;
  std::optional<std::uint8_t> priority;   ///< that its QPs ask for
  std::optional<std::uint32_t> mtu;       ///< path MTU of its own end ...
  std::optional<std::uint32_t> peer_mtu;  ///< ... and of the peer's
  tenant_peer peer = tenant_peer::host1;
  tenant_mistake mistake = tenant_mistake::none;
  bool background = false;  ///< runs as long as others do, not measured
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
  waiting_mode completions = waiting_mode::poll;
  std::uint32_t moderation_count = 0;   ///< completions an event; 0: their number does not matter
  std::uint32_t moderation_period = 0;  ///< us an event waits for them; 0: for ever
  bool both_directions = false;
  bool align_doorbell =
      false;               ///< the first symbol of each doorbell TLP arrives on a core clock edge
  bool verify = false;     ///< send bytes that differ, and compare them at the receiver
  bool scoreboard = true;  ///< judge memory and completions by the independent reference
  background_spec background;
  mixed_spec mixed;
  connection_spec connection;
  std::uint32_t tenants = 0;      ///< at least so many; 0 and no table: the traffic of one user
  std::uint64_t duration_ns = 0;  ///< of flows: post for so long; 0: `messages` each
  std::vector<std::uint64_t> starts_ns;  ///< of flows: when the n-th host that sends begins; rest 0
  std::uint64_t measure_from_ns = 0;     ///< of flows: what comes earlier is warm-up; 0: nothing
  std::uint32_t stride = 1;              ///< of a `shift`
  std::vector<std::uint8_t> priorities;  ///< of flows: QPs in turn; empty: the default
  bool wait_for_function = false;    ///< a tenant that finds no VF waits for one instead of failing
  std::vector<tenant_table> tenant;  ///< the first tenants, in order

  /// Traffic over all hosts of the network, not just two of them.
  [[nodiscard]] bool flows() const {
    return kind == workload_kind::incast || kind == workload_kind::all_to_all ||
           kind == workload_kind::shift;
  }

  [[nodiscard]] bool has_tenants() const { return tenants != 0 || !tenant.empty(); }

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
  std::optional<perftest_spec> perftest;  ///< instead of the workload
  std::vector<fault_rule> faults;
  std::vector<read_fault_rule> pcie_faults;
  std::vector<device_settings> devices{2};  ///< by host
  network_spec network;
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
  bool waves = false;  ///< of the RTL
  ps_t from = 0;
  ps_t to = NeverPs;
  std::uint32_t first_message = 0;  ///< with last_message: only these ids, and what is theirs
  std::uint32_t last_message = std::numeric_limits<std::uint32_t>::max();
  std::uint64_t limit = 0;  ///< messages; 0: no limit
  ps_t series = 0;          ///< between samples of the network; 0: none

  [[nodiscard]] bool any() const {
    return sqlite || perfetto || stages || pcap || waves || series != 0;
  }
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
  sweep_spec sweep;  ///< empty: there is nothing left to sweep

  [[nodiscard]] bool single() const { return points.size() == 1 && points.front().label.empty(); }
};

}  // namespace carillon
